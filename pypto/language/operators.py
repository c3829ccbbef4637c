"""Python's operators as functions, under NumPy's and torch's names; comparisons, bits, truth values, choices.

Raises as the functions of `mathematics` do, and UserError ``unsupported-dtype`` for bits of floats.
"""

from __future__ import annotations

from typing import Any

from pypto.ir.index import make
from pypto.tracing import functions
from pypto.tracing.context import require
from pypto.tracing.elementwise import apply, select
from pypto.tracing.indices import IndexValue, as_index
from pypto.tracing.tiles import Tile

Operand = Any
"""A tile, a number, a block id or a loop index."""


# -- arithmetic


def add(x: Operand, y: Operand, alpha: bool | int | float = 1) -> Tile:
    """x + y, or x + alpha * y as in torch; integers wrap."""
    return apply("add", x, y if alpha == 1 else apply("mul", y, alpha))


def subtract(x: Operand, y: Operand, alpha: bool | int | float = 1) -> Tile:
    """x - y, or x - alpha * y as in torch; integers wrap."""
    return apply("sub", x, y if alpha == 1 else apply("mul", y, alpha))


def multiply(x: Operand, y: Operand) -> Tile:
    """x * y; integers wrap."""
    return apply("mul", x, y)


def divide(x: Operand, y: Operand, rounding_mode: str | None = None) -> Tile:
    """x / y, of integers as f32; `rounding_mode` "floor" or "trunc" rounds the quotient, as in torch.

    Raises UserError ``rounding-mode`` for another word.
    """
    if rounding_mode is None:
        return apply("div", x, y)
    if rounding_mode == "floor":
        return apply("floor_div", x, y)
    if rounding_mode != "trunc":
        raise require("pypto.divide").error("rounding-mode", rounding=rounding_mode, allowed="'floor', 'trunc', None")
    return functions.truncated_quotient(x, y)


def floor_divide(x: Operand, y: Operand) -> Tile:
    """The floor of x / y; integers by 0 give 0, as NumPy's."""
    return apply("floor_div", x, y)


def remainder(x: Operand, y: Operand) -> Tile:
    """x - floor(x / y) * y, with the sign of y; integers by 0 give 0, as NumPy's."""
    return apply("remainder", x, y)


def fmod(x: Operand, y: Operand) -> Tile:
    """x - trunc(x / y) * y, exactly, with the sign of x; integers by 0 give 0, as NumPy's."""
    return apply("fmod", x, y)


def gcd(x: Operand, y: Operand) -> Tile:
    """The greatest common divisor of two integers, not negative."""
    return apply("gcd", x, y)


# -- comparisons


def equal(x: Operand, y: Operand) -> Tile:
    """x == y, elementwise."""
    return apply("eq", x, y)


def not_equal(x: Operand, y: Operand) -> Tile:
    """x != y; true for NaN."""
    return apply("ne", x, y)


def less(x: Operand, y: Operand) -> Tile:
    """x < y."""
    return apply("lt", x, y)


def less_equal(x: Operand, y: Operand) -> Tile:
    """x <= y."""
    return apply("le", x, y)


def greater(x: Operand, y: Operand) -> Tile:
    """x > y."""
    return apply("gt", x, y)


def greater_equal(x: Operand, y: Operand) -> Tile:
    """x >= y."""
    return apply("ge", x, y)


def isnan(x: Operand) -> Tile:
    """True for NaN."""
    return functions.is_nan(x)


def isinf(x: Operand) -> Tile:
    """True for both infinities."""
    return functions.is_infinite(x)


def isfinite(x: Operand) -> Tile:
    """True for everything but NaN and the infinities."""
    return functions.is_finite(x)


# -- bits and truth values


def bitwise_and(x: Operand, y: Operand) -> Tile:
    """x & y of integers or bools."""
    return apply("and", x, y)


def bitwise_or(x: Operand, y: Operand) -> Tile:
    """x | y of integers or bools."""
    return apply("or", x, y)


def bitwise_xor(x: Operand, y: Operand) -> Tile:
    """x ^ y of integers or bools."""
    return apply("xor", x, y)


def bitwise_not(x: Operand) -> Tile:
    """~x: the complement of the bits, or of a bool."""
    return apply("not", x)


def left_shift(x: Operand, y: Operand) -> Tile:
    """x << y of integers; 0 where y is negative or not below the width, as NumPy's."""
    return apply("shift_left", x, y)


def right_shift(x: Operand, y: Operand) -> Tile:
    """x >> y of integers, keeping the sign; 0 or -1 where y is negative or not below the width, as NumPy's."""
    return apply("shift_right", x, y)


def logical_and(x: Operand, y: Operand) -> Tile:
    """Whether both are true; everything but zeros is, NaN too."""
    return functions.logical("and", x, y)


def logical_or(x: Operand, y: Operand) -> Tile:
    """Whether one of the two is true."""
    return functions.logical("or", x, y)


def logical_xor(x: Operand, y: Operand) -> Tile:
    """Whether one of the two is true and the other is not."""
    return functions.logical("xor", x, y)


def logical_not(x: Operand) -> Tile:
    """Whether x is a zero, or false."""
    return functions.logical_not(x)


# -- choices


def maximum(x: Operand, y: Operand) -> Any:
    """The larger of each two elements; NaN if either is NaN. Of block ids, indices and numbers: an index."""
    return _extreme("maximum", "max", x, y)


def minimum(x: Operand, y: Operand) -> Any:
    """The smaller of each two elements; NaN if either is NaN. Of block ids, indices and numbers: an index."""
    return _extreme("minimum", "min", x, y)


def _extreme(name: str, operator: str, x: Operand, y: Operand) -> Any:
    tracer = require(f"pypto.{name}")
    left, right = as_index(x), as_index(y)
    if left is None or right is None:
        return apply(name, x, y)
    expression = make(operator, left, right)
    return expression if isinstance(expression, int) else IndexValue(tracer, expression)


def fmax(x: Operand, y: Operand) -> Tile:
    """The larger of each two elements; a number beside NaN."""
    return functions.extreme_number("maximum", x, y)


def fmin(x: Operand, y: Operand) -> Tile:
    """The smaller of each two elements; a number beside NaN."""
    return functions.extreme_number("minimum", x, y)


def clip(x: Operand, low: Operand = None, high: Operand = None, **other_names: Operand) -> Tile:
    """x, not below `low` and not above `high`; None is no bound. NaN stays. Where low > high the result is high.

    As numpy.clip and torch.clamp, with their names of the bounds too (``a_min``, ``a_max``, ``min``, ``max``):
    ``minimum(maximum(x, low), high)``. Raises UserError ``function-keyword`` or ``both-keywords``.
    """
    return functions.clipped(x, *functions.bounds_of(low, high, other_names))


def where(condition: Operand, x: Operand, y: Operand) -> Tile:
    """x where the bool tile `condition` holds, else y; all three broadcast. Both sides are computed.

    Raises UserError ``condition-dtype`` for a condition that is not bool.
    """
    return select(condition, x, y)


sub, mul = subtract, multiply
div = true_divide = divide
floor_div = floor_divide
mod = remainder
eq, ne, lt, le, gt, ge = equal, not_equal, less, less_equal, greater, greater_equal
invert = bitwise_invert = bitwise_not
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
clamp = clip
