"""Records of the elementwise operations: functions, comparisons, choice, conversion."""

from __future__ import annotations

import numpy as np

from pypto.ir.dtypes import ALL
from pypto.ir.operations import meanings, rules
from pypto.ir.operations.definition import Category, Cost, OperationDefinition
from pypto.ir.operations.records import BITS, FLOATS, NUMBERS, ULP, VALUES, binary, comparison, unary

RECORDS = (
    # functions of one value
    unary("neg", meanings.negate, Cost(1, 1), "-x; integers wrap", NUMBERS, "exact"),
    unary("abs", meanings.absolute, Cost(1, 1), "|x|; the smallest integer stays", NUMBERS, "exact"),
    unary("not", meanings.bitwise_not, Cost(1, 1), "~x: complement of the bits, or of a bool", BITS, "exact"),
    unary("exp", meanings.through_double(np.exp), Cost(14, 2), "e to the power x"),
    unary("log", meanings.through_double(np.log), Cost(16, 2), "natural logarithm; NaN below 0, -inf at 0"),
    unary("sqrt", meanings.through_double(np.sqrt), Cost(4, 2), "square root; NaN below 0", bound="0.5 ulp"),
    unary("rsqrt", meanings.through_double(meanings.rsqrt), Cost(6, 3), "1 / sqrt(x)"),
    unary("reciprocal", meanings.through_double(meanings.reciprocal), Cost(4, 1), "1 / x", bound="0.5 ulp"),
    unary("tanh", meanings.through_double(np.tanh), Cost(20, 10), "hyperbolic tangent"),
    unary("erf", meanings.through_double(meanings.erf), Cost(24, 20), "error function"),
    unary("sigmoid", meanings.through_double(meanings.sigmoid), Cost(18, 6), "1 / (1 + exp(-x))"),
    # functions of two values
    binary("add", meanings.add, Cost(1, 1), "x + y; integers wrap"),
    binary("sub", meanings.subtract, Cost(1, 1), "x - y; integers wrap"),
    binary("mul", meanings.multiply, Cost(1, 1), "x * y; integers wrap"),
    binary("div", meanings.divide, Cost(4, 2), "x / y of floats", FLOATS, "0.5 ulp"),
    binary("floor_div", meanings.floor_divide, Cost(8, 6), "floor of x / y; integers by 0 give 0, as NumPy's"),
    binary(
        "remainder", meanings.remainder, Cost(10, 8), "x - floor(x / y) * y, with the sign of y; integers by 0 give 0"
    ),
    binary("pow", meanings.power, Cost(40, 40), "x to the power y", FLOATS, ULP),
    binary("maximum", meanings.maximum, Cost(1, 1), "the larger; NaN if either is NaN", VALUES),
    binary("minimum", meanings.minimum, Cost(1, 1), "the smaller; NaN if either is NaN", VALUES),
    binary("and", np.bitwise_and, Cost(1, 1), "x & y", BITS),
    binary("or", np.bitwise_or, Cost(1, 1), "x | y", BITS),
    binary("xor", np.bitwise_xor, Cost(1, 1), "x ^ y", BITS),
    # comparisons
    comparison("eq", np.equal, "x == y"),
    comparison("ne", np.not_equal, "x != y; true for NaN"),
    comparison("lt", np.less, "x < y"),
    comparison("le", np.less_equal, "x <= y"),
    comparison("gt", np.greater, "x > y"),
    comparison("ge", np.greater_equal, "x >= y"),
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
)
