"""Elementwise instructions on whole padded rows, and arithmetic of numbers in registers."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.ascendc.emission import Emission, only_result
from pypto.codegen.ascendc.expressions import register_type
from pypto.ir import index
from pypto.ir.base.errors import CompilerBug
from pypto.ir.dtypes import BF16, BOOL, F16, F32, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Operation, Value
from pypto.ir.passes.layout import stored_rank

Rule = Callable[[Emission, Operation], None]

LANES = 64
"""Elements of four bytes in one repeat."""

BLOCK = 32

REGISTER_EXPRESSIONS = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "neg": "(-{0})",
    "maximum": "({0} > {1} ? {0} : {1})",
    "minimum": "({0} < {1} ? {0} : {1})",
    "eq": "({0} == {1})",
    "ne": "({0} != {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "gt": "({0} > {1})",
    "ge": "({0} >= {1})",
}


def in_register(emission: Emission, operation: Operation) -> bool:
    """Write the operation on numbers in registers, if it is one."""
    result = only_result(operation)
    if result.buffer is not None:
        return False
    operands = [emission.register(value) for value in operation.operands]
    type_ = register_type(result.dtype)
    if operation.name == "cast":
        expression = f"static_cast<{type_}>({operands[0]})"
    else:
        expression = REGISTER_EXPRESSIONS[operation.name].format(*operands)
    emission.line(f"const {type_} {emission.name_register(result)} = {expression};")
    return True


def unary(function: str) -> Rule:
    def rule(emission: Emission, operation: Operation) -> None:
        if not in_register(emission, operation):
            result, (operand,) = only_result(operation), operation.operands
            emission.call(function, emission.tensor(result), emission.tensor(operand), emission.count(result))

    return rule


def binary(function: str, with_number: str = "", number: str = "{}") -> Rule:
    """A tensor and a tensor, or a tensor and a number in a register."""

    def rule(emission: Emission, operation: Operation) -> None:
        if in_register(emission, operation):
            return
        result, (left, right) = only_result(operation), operation.operands
        if any(value.buffer and value.shape != result.shape for value in (left, right)):
            row_by_row(emission, function, operation)
            return
        name, second = function, emission.tensor(right) if right.buffer else ""
        if right.buffer is None:
            name, second = with_number, number.format(emission.register(right))
        emission.call(name, emission.tensor(result), emission.tensor(left), second, emission.count(result))

    return rule


def row_by_row(emission: Emission, function: str, operation: Operation) -> None:
    """A repeat for each row, an instruction for every 64 columns: a source of one row has stride 0."""
    result = only_result(operation)
    last = stored_rank(result.shape) - 1
    columns, rows = result.shape[last], emission.index(index.product(result.shape[:last]))
    pitch = emission.strides(result)[last - 1] * result.dtype.bytes // BLOCK
    values = (result, *operation.operands)
    strides = ", ".join(str(pitch if value.shape == result.shape else 0) for value in values)
    repeats = (f"static_cast<uint8_t>({rows})", f"{{1, 1, 1, {strides}}}")
    if isinstance(columns, int) and columns <= LANES:
        mask = f"static_cast<uint64_t>({columns})"
        emission.call(function, *map(emission.tensor, values), mask, *repeats)
        return
    with emission.steps(columns, LANES) as column:
        whole = isinstance(columns, int) and columns % LANES == 0
        width = LANES if whole else index.minimum(LANES, index.subtract(columns, column))
        mask = f"static_cast<uint64_t>({emission.index(width)})"
        emission.call(function, *(emission.tensor(value, column) for value in values), mask, *repeats)


def as_bits(emission: Emission, value: Value) -> tuple[str, str]:
    """Return a tile as 16-bit words and how many there are: comparison bits, or the bits of integers."""
    if value.dtype == BOOL:
        words = emission.rounded(emission.elements(value), 64)
        return emission.as_type(value, "uint16_t"), emission.index(index.floor_divide(words, 16))
    words = index.multiply(emission.elements(value), value.dtype.bytes // 2)
    return emission.as_type(value, "uint16_t"), emission.index(words)


def bitwise(function: str) -> Rule:
    def rule(emission: Emission, operation: Operation) -> None:
        target, count = as_bits(emission, only_result(operation))
        operands = [as_bits(emission, value)[0] for value in operation.operands]
        emission.call(function, target, *operands, count)

    return rule


def comparison(mode: str) -> Rule:
    def rule(emission: Emission, operation: Operation) -> None:
        if in_register(emission, operation):
            return
        left, right = operation.operands
        target, count = emission.tensor(only_result(operation)), emission.whole_count(left)
        function = "Compare" if right.buffer else "CompareScalar"
        second = emission.tensor(right) if right.buffer else emission.register(right)
        emission.call(function, target, emission.tensor(left), second, f"AscendC::CMPMODE::{mode}", count)

    return rule


def where(emission: Emission, operation: Operation) -> None:
    """Select takes floats; integers pass through it as bits."""
    result, (condition, left, right) = only_result(operation), operation.operands

    def show(value: Value) -> str:
        return emission.tensor(value) if value.dtype == F32 else emission.as_type(value, "float")

    mode = "VSEL_TENSOR_TENSOR_MODE" if right.buffer else "VSEL_TENSOR_SCALAR_MODE"
    second = show(right) if right.buffer else emission.register(right)
    arguments = (show(result), emission.tensor(condition), show(left), second)
    emission.call("Select", *arguments, f"AscendC::SELMODE::{mode}", emission.count(result))


ROUNDING: dict[tuple[DType, DType], str] = {
    (F32, I32): "CAST_TRUNC",
    (F32, F16): "CAST_RINT",
    (F32, BF16): "CAST_RINT",
    (F32, I16): "CAST_RINT",
    (F16, F32): "CAST_NONE",
    (BF16, F32): "CAST_NONE",
    (I32, F32): "CAST_RINT",
    (I16, F32): "CAST_NONE",
    (I32, I64): "CAST_NONE",
    (I64, I32): "CAST_NONE",
    (I8, F16): "CAST_NONE",
    (U8, F16): "CAST_NONE",
    (BOOL, F16): "CAST_NONE",
    (F16, I8): "CAST_RINT",
    (F16, U8): "CAST_RINT",
    (F16, BOOL): "CAST_RINT",
}
"""The conversions that the vector core has among those that `decompose` leaves. Narrow integers arrive whole."""


def cast(emission: Emission, operation: Operation) -> None:
    if in_register(emission, operation):
        return
    result, (operand,) = only_result(operation), operation.operands
    mode = ROUNDING.get((operand.dtype, result.dtype))
    if mode is None:
        raise CompilerBug("ascendc", f"no instruction casts {operand.dtype} to {result.dtype}")
    arguments = (emission.tensor(result), emission.tensor(operand), f"AscendC::RoundMode::{mode}")
    emission.call("Cast", *arguments, emission.count(result))


def floor_divide(emission: Emission, operation: Operation) -> None:
    """i32 by a power of two: an arithmetic shift."""
    result, (left, right) = only_result(operation), operation.operands
    shift = f"Log2({emission.register(right)})"
    emission.helpers.add("Log2")
    emission.call("ShiftRight", emission.tensor(result), emission.tensor(left), shift, emission.count(result))


def by_elements(function: str) -> Rule:
    """A device function of ours for each pair of elements, through the scalar unit."""

    def rule(emission: Emission, operation: Operation) -> None:
        result, (left, right) = only_result(operation), operation.operands
        emission.helpers.add(function)
        with emission.loops(result.shape[: stored_rank(result.shape)]) as positions:
            offset = emission.index(emission.offset(result, positions))
            elements = [f"{emission.tensor(value)}.GetValue({offset})" for value in (left, right)]
            emission.line(f"{emission.tensor(result)}.SetValue({offset}, {function}({', '.join(elements)}));")

    return rule


def rounding(mode: str) -> Rule:
    def rule(emission: Emission, operation: Operation) -> None:
        result, (operand,) = only_result(operation), operation.operands
        arguments = (emission.tensor(result), emission.tensor(operand), f"AscendC::RoundMode::{mode}")
        emission.call("Cast", *arguments, emission.count(result))

    return rule


def copy(emission: Emission, operation: Operation) -> None:
    """Whole 32-byte blocks; comparison bits as bytes."""
    result, (operand,) = only_result(operation), operation.operands
    if emission.buffer(result).dtype == BOOL:
        count = emission.rounded(index.floor_divide(emission.rounded(emission.elements(result), 64), 8), 32)
    else:
        count = emission.rounded(emission.elements(result), 32 // emission.buffer(result).dtype.bytes)
    shown = f"static_cast<uint32_t>({emission.index(count)})"
    emission.call("DataCopy", emission.tensor(result), emission.tensor(operand), shown)


RULES: dict[str, Rule] = {
    "abs": unary("Abs"),
    "exp": unary("Exp"),
    "log": unary("Ln"),
    "sqrt": unary("Sqrt"),
    "neg": unary("-"),
    "add": binary("Add", "Adds"),
    "sub": binary("Sub", "Adds", "-({})"),
    "mul": binary("Mul", "Muls"),
    "div": binary("Div"),
    "maximum": binary("Max", "Maxs"),
    "minimum": binary("Min", "Mins"),
    "and": bitwise("And"),
    "or": bitwise("Or"),
    "not": bitwise("Not"),
    "eq": comparison("EQ"),
    "ne": comparison("NE"),
    "lt": comparison("LT"),
    "le": comparison("LE"),
    "gt": comparison("GT"),
    "ge": comparison("GE"),
    "where": where,
    "cast": cast,
    "floor_div": floor_divide,
    "floor": rounding("CAST_FLOOR"),
    "ceil": rounding("CAST_CEIL"),
    "round": rounding("CAST_RINT"),
    "trunc": rounding("CAST_TRUNC"),
    "copy": copy,
    "gcd": by_elements("GreatestDivisor"),
    "pow": by_elements("IntegerPower"),
    "shift_left": by_elements("ShiftedLeft"),
    "shift_right": by_elements("ShiftedRight"),
}
