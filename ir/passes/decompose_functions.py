"""Functions of f32 that the vector core has no instruction for, made of those it has (Exp, Ln, Sqrt, Div, Mul, Add).

Rsqrt and Reciprocal instructions exist but are approximate: Sqrt and Div are used instead. Polynomial coefficients are
minimax fits made for this file; the errors beside them are those of the approximation alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from pypto.ir.dtypes import F32
from pypto.ir.nodes import Value
from pypto.ir.passes import decompose_mathematics
from pypto.ir.passes.decompose_integers import number
from pypto.ir.passes.decompose_powers import power

if TYPE_CHECKING:
    from pypto.ir.passes.decompose import Decomposer

Rule = Callable[..., Value]

TANH_LIMIT = 0.64
TANH = (-0.33333271741867065, 0.13331152498722076, -0.05371410399675369, 0.020551711320877075, -0.00560390530154109)
"""(tanh(x) / x - 1) / x**2 in powers of x**2 for \\|x\\| <= TANH_LIMIT; error 5.4e-9 relative to tanh."""

ERF_LIMIT = 1.0
ERF = (
    1.1283791065216064, -0.3761262595653534, 0.1128358542919159, -0.026853810995817184, 0.005188327748328447,
    -0.0008010192541405559, 7.853857823647559e-05,
)  # fmt: skip
"""erf(x) / x in powers of x**2 for \\|x\\| <= 1; error 1.2e-9."""

ERFC_LIMIT = 4.0
LOG_ERFC = (
    0.0002043598797172308, -1.129661202430725, -0.6330395936965942, -0.10863899439573288, 0.025373555719852448,
    -0.004282382782548666, 0.0004637880192603916, -2.5314808226539753e-05, 2.513266679216031e-07,
)  # fmt: skip
"""log(1 - erf(x)) in powers of x for 1 <= x <= 4, beyond which erf is 1 in f32; error of erf below 1e-10."""

LARGEST_POWER = 16
"""Largest whole exponent that is multiplied out."""


def _one(rewriter: Decomposer) -> Value:
    return number(rewriter, F32, 1.0)


def _polynomial(rewriter: Decomposer, coefficients: tuple[float, ...], x: Value) -> Value:
    """Horner's scheme; `coefficients` start with the constant."""
    result = rewriter.call("mul", x, number(rewriter, F32, coefficients[-1]))
    for coefficient in coefficients[-2:0:-1]:
        result = rewriter.call("add", result, number(rewriter, F32, coefficient))
        result = rewriter.call("mul", result, x)
    return rewriter.call("add", result, number(rewriter, F32, coefficients[0]))


def _with_sign_of(rewriter: Decomposer, magnitude: Value, x: Value) -> Value:
    negative = rewriter.call("lt", x, number(rewriter, F32, 0.0))
    return rewriter.call("where", negative, _negate(rewriter, magnitude), magnitude)


def _negate(rewriter: Decomposer, x: Value) -> Value:
    return rewriter.call("mul", x, number(rewriter, F32, -1.0))


def _reciprocal(rewriter: Decomposer, x: Value) -> Value:
    return rewriter.call("div", _one(rewriter), x)


def _reciprocal_root(rewriter: Decomposer, x: Value) -> Value:
    return _reciprocal(rewriter, rewriter.call("sqrt", x))


def _sigmoid(rewriter: Decomposer, x: Value) -> Value:
    """1 / (1 + exp(-x)); exp overflows to infinity far below 0, where the quotient is then 0."""
    grown = rewriter.call("exp", _negate(rewriter, x))
    return _reciprocal(rewriter, rewriter.call("add", grown, _one(rewriter)))


def _tanh(rewriter: Decomposer, x: Value) -> Value:
    """A polynomial near 0, where 1 - 2 / (exp(2|x|) + 1) would cancel."""
    square = rewriter.call("mul", x, x)
    bend = rewriter.call("mul", square, _polynomial(rewriter, TANH, square))
    near = rewriter.call("mul", x, rewriter.call("add", bend, _one(rewriter)))
    size = rewriter.call("abs", x)
    grown = rewriter.call("exp", rewriter.call("mul", size, number(rewriter, F32, 2.0)))
    rest = rewriter.call("div", number(rewriter, F32, 2.0), rewriter.call("add", grown, _one(rewriter)))
    far = _with_sign_of(rewriter, rewriter.call("sub", _one(rewriter), rest), x)
    return rewriter.call("where", rewriter.call("le", size, number(rewriter, F32, TANH_LIMIT)), near, far)


def _erf(rewriter: Decomposer, x: Value) -> Value:
    """A polynomial near 0, elsewhere 1 - exp(p(|x|)) with the sign of x."""
    near = rewriter.call("mul", x, _polynomial(rewriter, ERF, rewriter.call("mul", x, x)))
    size = rewriter.call("abs", x)
    clamped = rewriter.call("minimum", size, number(rewriter, F32, ERFC_LIMIT))
    complement = rewriter.call("exp", _polynomial(rewriter, LOG_ERFC, clamped))
    far = _with_sign_of(rewriter, rewriter.call("sub", _one(rewriter), complement), x)
    return rewriter.call("where", rewriter.call("le", size, number(rewriter, F32, ERF_LIMIT)), near, far)


def _floor_divide(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """floor(x / y), where a tiny negative quotient is -1 although it rounds to -0, and infinite x give NaN."""
    quotient = rewriter.call("floor", rewriter.call("div", x, y))
    is_zero = rewriter.call("eq", quotient, number(rewriter, F32, 0.0))
    tiny = rewriter.call("and", is_zero, _point_apart(rewriter, x, y))
    quotient = rewriter.call("where", tiny, number(rewriter, F32, -1.0), quotient)
    undefined = rewriter.call("and", _is_infinite(rewriter, x), rewriter.call("ne", y, number(rewriter, F32, 0.0)))
    return rewriter.call("where", undefined, number(rewriter, F32, math.nan), quotient)


def _point_apart(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """Whether x is not 0 and x and y have different signs."""
    zero = number(rewriter, F32, 0.0)
    up = rewriter.call("and", rewriter.call("gt", x, zero), rewriter.call("lt", y, zero))
    down = rewriter.call("and", rewriter.call("lt", x, zero), rewriter.call("gt", y, zero))
    return rewriter.call("or", up, down)


def _is_infinite(rewriter: Decomposer, x: Value) -> Value:
    return rewriter.call("eq", rewriter.call("abs", x), number(rewriter, F32, math.inf))


def _remainder(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """x - floor(x / y) * y: as exact as the quotient; by an infinite y, x or y itself."""
    quotient = _floor_divide(rewriter, x, y)
    result = rewriter.call("sub", x, rewriter.call("mul", quotient, y))
    divisor = rewriter.constant_of(y)
    if divisor is not None and math.isfinite(divisor):
        return result
    whole = rewriter.call("where", _point_apart(rewriter, x, y), y, x)
    finite = rewriter.call("lt", rewriter.call("abs", x), number(rewriter, F32, math.inf))
    return rewriter.call("where", rewriter.call("and", _is_infinite(rewriter, y), finite), whole, result)


def _power(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """By multiplication where the exponent is a small whole number."""
    exponent = rewriter.constant_of(y)
    if exponent == 0.5:
        return rewriter.call("sqrt", x)
    if exponent is None or exponent != int(exponent) or not 1 <= abs(exponent) <= LARGEST_POWER:
        return decompose_mathematics.as_rule(power)(rewriter, x, y)
    result = _whole_power(rewriter, x, abs(int(exponent)))
    return result if exponent > 0 else _reciprocal(rewriter, result)


def _whole_power(rewriter: Decomposer, x: Value, exponent: int) -> Value:
    if exponent == 1:
        return x
    half = _whole_power(rewriter, x, exponent // 2)
    square = rewriter.call("mul", half, half)
    return rewriter.call("mul", square, x) if exponent % 2 else square


def mean(rewriter: Decomposer, operand: Value, axes: tuple[object, ...]) -> Value:
    """The sum over the count; a division unless the count is a power of two, whose reciprocal is exact."""
    extents = [operand.shape[axis] for axis in axes if isinstance(axis, int)]
    count = math.prod(extent for extent in extents if isinstance(extent, int))
    total = rewriter.reduce_axes("sum", operand, axes)
    if count & (count - 1) == 0:
        return rewriter.call("mul", total, number(rewriter, F32, 1.0 / count))
    return rewriter.call("div", total, number(rewriter, F32, count))


def _divide(rewriter: Decomposer, x: Value, y: Value) -> Value:
    """By a power of two whose reciprocal is a normal number: a multiplication, just as exact."""
    divisor = rewriter.constant_of(y)
    if (
        divisor
        and math.isfinite(divisor)
        and math.frexp(divisor)[0] in (0.5, -0.5)
        and 2**-126 <= abs(divisor) <= 2**126
    ):
        return rewriter.call("mul", x, number(rewriter, F32, 1.0 / divisor))
    return rewriter.call("div", x, y)


RULES: dict[str, Rule] = {
    **decompose_mathematics.RULES,
    "div": _divide,
    "floor_div": _floor_divide,
    "neg": _negate,
    "rsqrt": _reciprocal_root,
    "reciprocal": _reciprocal,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "erf": _erf,
    "remainder": _remainder,
    "pow": _power,
}
