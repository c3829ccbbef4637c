"""Integers and booleans on a core that adds, multiplies and compares i32 for equality, and knows bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pypto.ir.dtypes import BOOL, F32, I8, I16, I32, U8, DType
from pypto.ir.nodes import Value

if TYPE_CHECKING:
    from pypto.ir.passes.decompose import Decomposer

Rule = Callable[..., Value]

KEEPS_RANGE = frozenset(("and", "or", "xor", "maximum", "minimum", "max", "min", "where"))
"""Operations whose result lies in the range of a narrow integer type when the operands do."""


def number(rewriter: Decomposer, dtype: DType, value: float | int) -> Value:
    return rewriter.call("constant", dtype=dtype, value=float(value) if dtype.is_float else value)


def wrap(rewriter: Decomposer, result: Value, name: str, dtype: DType | None) -> Value:
    """Return the i32 `result` of an operation on values of `dtype` as that type would hold it."""
    if dtype not in (I8, U8, I16) or result.dtype != I32 or name in KEEPS_RANGE:
        return result
    return fit(rewriter, result, dtype)


def fit(rewriter: Decomposer, value: Value, dtype: DType) -> Value:
    """Return the i32 `value` modulo 2 to the number of bits of `dtype`: signs by shifting up and down again."""
    if dtype == I32 or value.dtype != I32:
        return value
    if dtype == U8:
        high = rewriter.call("floor_div", value, number(rewriter, I32, 256))
        return rewriter.call("sub", value, rewriter.call("mul", high, number(rewriter, I32, 256)))
    shift = 1 << (32 - dtype.bits)
    raised = rewriter.call("mul", value, number(rewriter, I32, shift))
    return rewriter.call("floor_div", raised, number(rewriter, I32, shift))


def as_number(rewriter: Decomposer, value: Value, dtype: DType) -> Value:
    """Return a boolean as 1 and 0."""
    if rewriter.in_register(value):
        return rewriter.call("cast", value, dtype=dtype)
    return rewriter.call("where", value, number(rewriter, dtype, 1), number(rewriter, dtype, 0))


def is_nonzero(rewriter: Decomposer, value: Value) -> Value:
    if value.dtype == BOOL:
        return value
    if value.dtype == I32 and not rewriter.in_register(value):
        return rewriter.call("not", rewriter.call("eq", value, number(rewriter, I32, 0)))
    return rewriter.call("ne", value, number(rewriter, value.dtype, 0))


def _negate(rewriter: Decomposer, x: Value) -> Value:
    return rewriter.call("mul", x, number(rewriter, I32, -1))


def _absolute(rewriter: Decomposer, x: Value) -> Value:
    return rewriter.call("maximum", x, _negate(rewriter, x))


def _complement(rewriter: Decomposer, x: Value) -> Value:
    return rewriter.call("sub", number(rewriter, I32, -1), x)


def _bitwise_xor(rewriter: Decomposer, x: Value, y: Value) -> Value:
    either, both = rewriter.call("or", x, y), rewriter.call("and", x, y)
    return rewriter.call("sub", either, both)


def _not_equal(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return rewriter.call("not", rewriter.call("eq", x, y))


def _at_least(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return rewriter.call("eq", rewriter.call("maximum", x, y), x)


def _at_most(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return rewriter.call("eq", rewriter.call("minimum", x, y), x)


def _less(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return rewriter.call("not", _at_least(rewriter, x, y))


def _greater(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return rewriter.call("not", _at_most(rewriter, x, y))


def _is_power_of_two(rewriter: Decomposer, value: Value) -> bool:
    found = rewriter.constant_of(value)
    return found is not None and found > 0 and int(found) & (int(found) - 1) == 0


def _floor_divide(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """By a power of two: an arithmetic shift."""
    return rewriter.call("floor_div", x, y) if _is_power_of_two(rewriter, y) else divided(rewriter, x, y)[0]


def _remainder(rewriter: Decomposer, x: Value, y: Value) -> Value:
    if _is_power_of_two(rewriter, y):
        return rewriter.call("sub", x, rewriter.call("mul", rewriter.call("floor_div", x, y), y))
    return divided(rewriter, x, y)[1]


def divided(rewriter: Decomposer, x: Value, y: Value) -> tuple[Value, Value]:
    """Return quotient (rounded down) and remainder of i32; 0 and 0 for a divisor of 0.

    Two rounds of f32 division: the first is off by less than 2**10, as each step rounds to 24 bits, the second leaves a
    remainder within one divisor of the right one; then one divisor is added where the sign is wrong, or taken away.
    """
    first = _rough_quotient(rewriter, x, y)
    rest = rewriter.call("sub", x, rewriter.call("mul", first, y))
    second = _rough_quotient(rewriter, rest, y)
    quotient = rewriter.call("add", first, second)
    rest = rewriter.call("sub", rest, rewriter.call("mul", second, y))
    zero, one = number(rewriter, I32, 0), number(rewriter, I32, 1)
    below, wrong = _less(rewriter, y, zero), _less(rewriter, rest, zero)
    wrong = _both(rewriter, _differ(rewriter, below, wrong), _not_equal(rewriter, rest, zero))
    quotient = rewriter.call("where", wrong, rewriter.call("sub", quotient, one), quotient)
    rest = rewriter.call("where", wrong, rewriter.call("add", rest, y), rest)
    over = _choose(rewriter, below, _at_most(rewriter, rest, y), _at_least(rewriter, rest, y))
    over = _both(rewriter, over, _not_equal(rewriter, y, zero))
    quotient = rewriter.call("where", over, rewriter.call("add", quotient, one), quotient)
    rest = rewriter.call("where", over, rewriter.call("sub", rest, y), rest)
    nothing = rewriter.call("eq", y, zero)
    return rewriter.call("where", nothing, zero, quotient), rewriter.call("where", nothing, zero, rest)


def _rough_quotient(rewriter: Decomposer, x: Value, y: Value) -> Value:
    floats = [rewriter.call("cast", value, dtype=F32) for value in (x, y)]
    return rewriter.call("cast", rewriter.call("div", *floats), dtype=I32)


def _shift_left(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """By a constant: a product with a power of two; nothing is left by a negative one or one from 32."""
    places = _places(rewriter, y)
    if places is None:
        return rewriter.call("shift_left", x, y)
    factor = 1 << places if 0 <= places < 31 else -(1 << 31) if places == 31 else 0
    return rewriter.call("mul", x, number(rewriter, I32, factor))


def _shift_right(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """By a constant: a rounded quotient of a power of two; only the sign is left by a negative one or one from 31."""
    places = _places(rewriter, y)
    if places is None:
        return rewriter.call("shift_right", x, y)
    if 0 <= places < 31:
        return rewriter.call("floor_div", x, number(rewriter, I32, 1 << places))
    half = rewriter.call("floor_div", x, number(rewriter, I32, 1 << 30))
    return rewriter.call("floor_div", half, number(rewriter, I32, 1 << 30))


def _places(rewriter: Decomposer, y: Value) -> int | None:
    places = rewriter.constant_of(y)
    if places is None:
        return None
    return int(places)


def _fmod(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """The remainder, moved by y to the sign of x."""
    zero = number(rewriter, I32, 0)
    rest = _remainder(rewriter, x, y)
    apart = _differ(rewriter, _less(rewriter, x, zero), _less(rewriter, y, zero))
    moved = _both(rewriter, apart, _not_equal(rewriter, rest, zero))
    return rewriter.call("where", moved, rewriter.call("sub", rest, y), rest)


INTEGER_RULES: dict[str, Rule] = {
    "fmod": _fmod,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "neg": _negate,
    "abs": _absolute,
    "not": _complement,
    "xor": _bitwise_xor,
    "ne": _not_equal,
    "ge": _at_least,
    "le": _at_most,
    "lt": _less,
    "gt": _greater,
    "floor_div": _floor_divide,
    "remainder": _remainder,
}


def _both(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return rewriter.call("and", x, y)


def _either(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return rewriter.call("or", x, y)


def _complement_bits(rewriter: Decomposer, x: Value) -> Value:
    return rewriter.call("not", x)


def _differ(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return _both(rewriter, _either(rewriter, x, y), _complement_bits(rewriter, _both(rewriter, x, y)))


def _same(rewriter: Decomposer, x: Value, y: Value) -> Value:
    return _complement_bits(rewriter, _differ(rewriter, x, y))


def _choose(rewriter: Decomposer, condition: Value, x: Value, y: Value) -> Value:
    taken = _both(rewriter, condition, x)
    return _either(rewriter, taken, _both(rewriter, _complement_bits(rewriter, condition), y))


BOOLEAN_RULES: dict[str, Rule] = {
    "where": _choose,
    "xor": _differ,
    "ne": _differ,
    "eq": _same,
    "maximum": _either,
    "minimum": _both,
    "lt": lambda rewriter, x, y: _both(rewriter, _complement_bits(rewriter, x), y),
    "gt": lambda rewriter, x, y: _both(rewriter, x, _complement_bits(rewriter, y)),
    "le": lambda rewriter, x, y: _either(rewriter, _complement_bits(rewriter, x), y),
    "ge": lambda rewriter, x, y: _either(rewriter, x, _complement_bits(rewriter, y)),
}
