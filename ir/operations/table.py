"""The operation table: every operation of the IR, one record each.

To add one: a record here, its LLVM rule (`codegen/llvm/rules`), its AscendC rule (`codegen/ascendc/rules`), its
public function (`pypto/language`). `tests/ir/test_operations.py` fails until all are there. docs/architecture.md
walks through an example.
"""

from __future__ import annotations

import numpy as np

from pypto.ir.dtypes import ALL, BOOL, F32, F64, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Pipe
from pypto.ir.operations import hardware, meanings, rules
from pypto.ir.operations.definition import Category, Cost, InferTypes, Meaning, OperationDefinition

FLOATS = (F32, F64)
INTEGERS = (U8, I8, I16, I32, I64)
NUMBERS = FLOATS + INTEGERS
BITS = (*INTEGERS, BOOL)
VALUES = (*NUMBERS, BOOL)

ULP = "4 ulp"
SUM_BOUND = "c * eps * sum|x| * log2(n)"


def _unary(
    name: str, meaning: Meaning, cost: Cost, text: str, dtypes: tuple[DType, ...] = FLOATS, bound: str = ULP
) -> OperationDefinition:
    return OperationDefinition(
        name, ("x",), Category.ELEMENTWISE, rules.elementwise(), meaning, cost, text, dtypes, bound
    )


def _binary(
    name: str, meaning: Meaning, cost: Cost, text: str, dtypes: tuple[DType, ...] = NUMBERS, bound: str = "exact"
) -> OperationDefinition:
    return OperationDefinition(
        name, ("x", "y"), Category.ELEMENTWISE, rules.elementwise(), meaning, cost, text, dtypes, bound
    )


def _comparison(name: str, meaning: Meaning, text: str) -> OperationDefinition:
    return OperationDefinition(
        name, ("x", "y"), Category.ELEMENTWISE, rules.comparison, meaning, Cost(1, 1), text, VALUES
    )


def _reduction(
    name: str, infer: InferTypes, meaning: Meaning, text: str, dtypes: tuple[DType, ...], bound: str
) -> OperationDefinition:
    return OperationDefinition(
        name, ("x",), Category.REDUCTION, infer, meaning, Cost(1, 2), text, dtypes, bound, attributes=("axes",)
    )


def _view(name: str, infer: InferTypes, meaning: Meaning, text: str, *attributes: str) -> OperationDefinition:
    return OperationDefinition(
        name, ("x",), Category.VIEW, infer, meaning, Cost(0, 1), text, ALL, attributes=attributes
    )


def _synchronisation(name: str, text: str, pipe: Pipe, *attributes: str) -> OperationDefinition:
    return OperationDefinition(
        name,
        (),
        Category.SYNCHRONISATION,
        rules.nothing,
        meanings.no_effect,
        Cost(0, 0),
        text,
        (),
        attributes=attributes,
        pipe=pipe,
    )


_RECORDS = (
    # functions of one value
    _unary("neg", meanings.negate, Cost(1, 1), "-x; integers wrap", NUMBERS, "exact"),
    _unary("abs", meanings.absolute, Cost(1, 1), "|x|; the smallest integer stays", NUMBERS, "exact"),
    _unary("not", meanings.bitwise_not, Cost(1, 1), "~x: complement of the bits, or of a bool", BITS, "exact"),
    _unary("exp", meanings.through_double(np.exp), Cost(14, 2), "e to the power x"),
    _unary("log", meanings.through_double(np.log), Cost(16, 2), "natural logarithm; NaN below 0, -inf at 0"),
    _unary("sqrt", meanings.through_double(np.sqrt), Cost(4, 2), "square root; NaN below 0", bound="0.5 ulp"),
    _unary("rsqrt", meanings.through_double(meanings.rsqrt), Cost(6, 3), "1 / sqrt(x)"),
    _unary("reciprocal", meanings.through_double(meanings.reciprocal), Cost(4, 1), "1 / x", bound="0.5 ulp"),
    _unary("tanh", meanings.through_double(np.tanh), Cost(20, 10), "hyperbolic tangent"),
    _unary("erf", meanings.through_double(meanings.erf), Cost(24, 20), "error function"),
    _unary("sigmoid", meanings.through_double(meanings.sigmoid), Cost(18, 6), "1 / (1 + exp(-x))"),
    # functions of two values
    _binary("add", meanings.add, Cost(1, 1), "x + y; integers wrap"),
    _binary("sub", meanings.subtract, Cost(1, 1), "x - y; integers wrap"),
    _binary("mul", meanings.multiply, Cost(1, 1), "x * y; integers wrap"),
    _binary("div", meanings.divide, Cost(4, 2), "x / y of floats", FLOATS, "0.5 ulp"),
    _binary("floor_div", meanings.floor_divide, Cost(8, 6), "floor of x / y; integers by 0 give 0, as NumPy's"),
    _binary(
        "remainder", meanings.remainder, Cost(10, 8), "x - floor(x / y) * y, with the sign of y; integers by 0 give 0"
    ),
    _binary("pow", meanings.power, Cost(40, 40), "x to the power y", FLOATS, ULP),
    _binary("maximum", meanings.maximum, Cost(1, 1), "the larger; NaN if either is NaN", VALUES),
    _binary("minimum", meanings.minimum, Cost(1, 1), "the smaller; NaN if either is NaN", VALUES),
    _binary("and", np.bitwise_and, Cost(1, 1), "x & y", BITS),
    _binary("or", np.bitwise_or, Cost(1, 1), "x | y", BITS),
    _binary("xor", np.bitwise_xor, Cost(1, 1), "x ^ y", BITS),
    # comparisons
    _comparison("eq", np.equal, "x == y"),
    _comparison("ne", np.not_equal, "x != y; true for NaN"),
    _comparison("lt", np.less, "x < y"),
    _comparison("le", np.less_equal, "x <= y"),
    _comparison("gt", np.greater, "x > y"),
    _comparison("ge", np.greater_equal, "x >= y"),
    # choice and conversion
    OperationDefinition(
        "where",
        ("condition", "x", "y"),
        Category.ELEMENTWISE,
        rules.where,
        np.where,
        Cost(1, 2),
        "x where the condition holds, else y",
        VALUES,
    ),
    OperationDefinition(
        "cast",
        ("x",),
        Category.ELEMENTWISE,
        rules.cast,
        meanings.cast,
        Cost(1, 1),
        "x in another dtype: floats round to nearest even, float to integer truncates and saturates (NaN gives 0)",
        ALL,
        attributes=("dtype",),
    ),
    # reductions
    _reduction("sum", rules.reduction, meanings.sum_, "sum over axes", NUMBERS, SUM_BOUND),
    _reduction("mean", rules.reduction, meanings.mean, "arithmetic mean over axes; NaN of nothing", FLOATS, SUM_BOUND),
    _reduction("max", rules.ordered_reduction, meanings.max_, "largest over axes; NaN wins", VALUES, "exact"),
    _reduction("min", rules.ordered_reduction, meanings.min_, "smallest over axes; NaN wins", VALUES, "exact"),
    # views
    _view("reshape", rules.reshape, meanings.reshape, "the same elements in row-major order in another shape", "shape"),
    _view("transpose", rules.transpose, meanings.transpose, "axes in another order", "permutation"),
    _view("broadcast_to", rules.broadcast_to, meanings.broadcast_to, "axes of extent 1 repeated", "shape"),
    _view("slice", rules.slice_, meanings.slice_, "a region: (offset, extent, step) per axis", "ranges"),
    # assembly
    OperationDefinition(
        "insert",
        ("base", "piece"),
        Category.ASSEMBLY,
        rules.insert,
        meanings.insert,
        Cost(0, 1),
        "base with a region replaced by piece: (offset, extent, step) per axis",
        ALL,
        attributes=("ranges",),
    ),
    OperationDefinition(
        "pad",
        ("x",),
        Category.ASSEMBLY,
        rules.pad,
        meanings.pad,
        Cost(0, 1),
        "x with elements of a constant value before and after each axis",
        ALL,
        attributes=("high", "low", "value"),
    ),
    OperationDefinition(
        "concat",
        ("pieces",),
        Category.ASSEMBLY,
        rules.concat,
        meanings.concat,
        Cost(0, 1),
        "pieces one after another along an axis",
        ALL,
        attributes=("axis",),
        variadic=True,
    ),
    # values without operands
    OperationDefinition(
        "constant",
        (),
        Category.CONSTANT,
        rules.constant,
        meanings.constant,
        Cost(0, 0),
        "a number, in every element of a shape (default: a scalar)",
        ALL,
        attributes=("dtype", "shape", "value"),
        optional=("shape",),
    ),
    OperationDefinition(
        "undefined",
        (),
        Category.CONSTANT,
        rules.constant,
        meanings.undefined,
        Cost(0, 0),
        "memory that nothing was written to yet",
        ALL,
        attributes=("dtype", "shape"),
    ),
    OperationDefinition(
        "index",
        (),
        Category.CONSTANT,
        rules.constant,
        meanings.index_value,
        Cost(0, 0),
        "the value of an index expression, as a scalar",
        (I64,),
        attributes=("dtype", "value"),
    ),
    # synchronisation
    _synchronisation(
        "set_flag", "raise flag `id` from pipe `source` to pipe `destination`", Pipe.S, "destination", "id", "source"
    ),
    _synchronisation("wait_flag", "wait for flag `id`, then lower it", Pipe.S, "destination", "id", "source"),
    _synchronisation("pipe_barrier", "wait until everything issued to `pipe` has finished", Pipe.S, "pipe"),
)

TABLE: dict[str, OperationDefinition] = {record.name: record for record in _RECORDS + hardware.RECORDS}
