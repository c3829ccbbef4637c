"""How sums stay accurate, and how partial results become one.

A plain accumulator adds at most `CHAIN` numbers; such partial sums enter a total with its rounding error kept apart
(the exact error of an addition: Knuth, TAOCP 2, 4.2.2, theorem C). The order of every addition is a function of the
shape alone.
"""

from __future__ import annotations

from pypto.codegen.llvm import rules
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.ir.dtypes import DType

CHAIN = 32
"""Most additions in a row in one plain accumulator."""


def is_compensated(reduction: str, dtype: DType, additions: int) -> bool:
    """True when a reduction with that many numbers per accumulator keeps the error of its total."""
    return reduction == "sum" and dtype.is_float and additions > CHAIN


def identity(reduction: str, dtype: DType, lanes: int) -> Register:
    return constant(rules.reduction_identity(reduction, dtype), rules.element(dtype), lanes)


def add_exactly(
    builder: FunctionBuilder, total: Register, error: Register, term: Register
) -> tuple[Register, Register]:
    """Return ``total + term`` and the error with that of this addition."""
    following = builder.binary("fadd", total, term)
    part = builder.binary("fsub", following, total)
    rest = builder.binary("fsub", total, builder.binary("fsub", following, part))
    lost = builder.binary("fadd", rest, builder.binary("fsub", term, part))
    return following, builder.binary("fadd", error, lost)


def settle(builder: FunctionBuilder, total: Register, error: Register) -> Register:
    """Return total plus error; the total alone where it is infinite or NaN, when the error is NaN."""
    corrected = builder.binary("fadd", total, error)
    zero = constant(0.0, error.element, error.lanes)
    is_known = builder.compare("fcmp ord", error, zero)
    return builder.select(is_known, corrected, total)


def tree(builder: FunctionBuilder, reduction: str, dtype: DType, parts: list[Register]) -> Register:
    """Combine neighbours until one is left."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [rules.combine(builder, reduction, dtype, left, right) for left, right in pairs]
        parts = joined + parts[len(joined) * 2 :]
    return parts[0]


def across(builder: FunctionBuilder, reduction: str, dtype: DType, value: Register) -> Register:
    """Combine the lanes of a vector: the upper half with the lower half until one is left."""
    while value.lanes > 1:
        half = value.lanes // 2
        low, high = _part(builder, value, 0, half), _part(builder, value, half, half)
        value = rules.combine(builder, reduction, dtype, low, high)
    return value


def _part(builder: FunctionBuilder, value: Register, first: int, lanes: int) -> Register:
    if lanes == 1:
        return builder.emit(f"extractelement {value.typed}, i64 {first}", value.element)
    order = ", ".join(f"i32 {number}" for number in range(first, first + lanes))
    return builder.emit(
        f"shufflevector {value.typed}, {value.type} poison, <{lanes} x i32> <{order}>", value.element, lanes
    )
