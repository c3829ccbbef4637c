"""Functions of numbers: shapes broadcast as NumPy's, dtypes promote as torch's, Python numbers keep a tile's dtype.

f16 and bf16 tiles are computed in f32. Functions with real values (exp, sin, ...) take integers as f32. Every
function raises UserError ``outside-tile-function`` outside a tile function, ``operand-kind`` for an argument that
is neither tile nor number, and ``shape-mismatch`` for shapes that do not broadcast. Error bounds: docs/numerics.md.
"""

from __future__ import annotations

from typing import Any

from pypto.tracing import elementwise, functions
from pypto.tracing.elementwise import apply
from pypto.tracing.tiles import Tile

Operand = Any
"""A tile, a number, a block id or a loop index."""


# -- signs and rounding


def abs(x: Operand) -> Tile:
    """|x| of a tile of any number dtype; the smallest integer stays as it is (it has no positive counterpart)."""
    return apply("abs", x)


def neg(x: Operand) -> Tile:
    """-x, with the sign of zero; integers wrap."""
    return apply("neg", x)


def positive(x: Operand) -> Tile:
    """A new tile with the same elements."""
    return functions.UFUNCS["positive"](x)


def sign(x: Operand) -> Tile:
    """-1, 0 or 1 in the dtype of x; NaN at NaN, 0 at -0.0."""
    return functions.sign(x)


def signbit(x: Operand) -> Tile:
    """True below zero and for -0.0."""
    return functions.sign_bit(x)


def copysign(x: Operand, y: Operand) -> Tile:
    """|x| with the sign of y, zeros' signs included; integers are taken as f32."""
    return functions.copy_sign(x, y)


def floor(x: Operand) -> Tile:
    """The largest whole number not above x, in the dtype of x; integers stay."""
    return functions.to_whole("floor", x)


def ceil(x: Operand) -> Tile:
    """The smallest whole number not below x, in the dtype of x; integers stay."""
    return functions.to_whole("ceil", x)


def trunc(x: Operand) -> Tile:
    """x without its fraction, in the dtype of x; integers stay."""
    return functions.to_whole("trunc", x)


def round(x: Operand, decimals: int = 0) -> Tile:
    """x to `decimals` places, ties to even as NumPy and torch; integers stay."""
    return functions.rounded_to(x, decimals)


# -- exponentials, logarithms, roots


def exp(x: Operand) -> Tile:
    """e to the power x."""
    return apply("exp", x)


def exp2(x: Operand) -> Tile:
    """2 to the power x, exact for whole x."""
    return apply("exp2", x)


def expm1(x: Operand) -> Tile:
    """exp(x) - 1, precise near 0."""
    return apply("expm1", x)


def log(x: Operand) -> Tile:
    """Natural logarithm; NaN below 0, -inf at 0."""
    return apply("log", x)


def log2(x: Operand) -> Tile:
    """Logarithm to base 2, exact for powers of two; NaN below 0, -inf at 0."""
    return apply("log2", x)


def log10(x: Operand) -> Tile:
    """Logarithm to base 10; NaN below 0, -inf at 0."""
    return apply("log10", x)


def log1p(x: Operand) -> Tile:
    """log(1 + x), precise near 0; NaN below -1, -inf at -1."""
    return apply("log1p", x)


def logaddexp(x: Operand, y: Operand) -> Tile:
    """log(exp(x) + exp(y)) without overflow."""
    return functions.log_of_sum(x, y)


def sqrt(x: Operand) -> Tile:
    """Square root, correctly rounded; NaN below 0, -0.0 at -0.0."""
    return apply("sqrt", x)


def rsqrt(x: Operand) -> Tile:
    """1 / sqrt(x)."""
    return apply("rsqrt", x)


def cbrt(x: Operand) -> Tile:
    """Cube root, with the sign of x."""
    return apply("cbrt", x)


def square(x: Operand) -> Tile:
    """x * x."""
    return apply("mul", x, x)


def reciprocal(x: Operand) -> Tile:
    """1 / x; integers are taken as f32."""
    return apply("reciprocal", x)


def pow(x: Operand, y: Operand) -> Tile:
    """x to the power y; an integer tile to a negative constant raises UserError ``integer-power``.

    An integer to a negative element is 1, -1 or 0, what is left of 1 / x^-y, as torch's.
    """
    return elementwise.power(x, y)


def hypot(x: Operand, y: Operand) -> Tile:
    """sqrt(x^2 + y^2) without overflow; infinity beside anything gives infinity."""
    return apply("hypot", x, y)


# -- angles


def sin(x: Operand) -> Tile:
    """Sine of x in radians, exact range reduction for every size; NaN at infinity."""
    return apply("sin", x)


def cos(x: Operand) -> Tile:
    """Cosine of x in radians, exact range reduction for every size; NaN at infinity."""
    return apply("cos", x)


def tan(x: Operand) -> Tile:
    """Tangent of x in radians, exact range reduction for every size; NaN at infinity."""
    return apply("tan", x)


def asin(x: Operand) -> Tile:
    """Arc sine in radians; NaN beyond 1."""
    return apply("asin", x)


def acos(x: Operand) -> Tile:
    """Arc cosine in radians; NaN beyond 1."""
    return apply("acos", x)


def atan(x: Operand) -> Tile:
    """Arc tangent in radians."""
    return apply("atan", x)


def atan2(y: Operand, x: Operand) -> Tile:
    """The angle of the point (x, y) in radians, -pi to pi; the signs of zeros count, as in C."""
    return apply("atan2", y, x)


def deg2rad(x: Operand) -> Tile:
    """x * pi / 180."""
    return functions.to_radians(x)


def rad2deg(x: Operand) -> Tile:
    """x * 180 / pi."""
    return functions.to_degrees(x)


# -- hyperbolic and error functions


def sinh(x: Operand) -> Tile:
    """Hyperbolic sine."""
    return apply("sinh", x)


def cosh(x: Operand) -> Tile:
    """Hyperbolic cosine."""
    return apply("cosh", x)


def tanh(x: Operand) -> Tile:
    """Hyperbolic tangent."""
    return apply("tanh", x)


def asinh(x: Operand) -> Tile:
    """Inverse hyperbolic sine."""
    return apply("asinh", x)


def acosh(x: Operand) -> Tile:
    """Inverse hyperbolic cosine; NaN below 1."""
    return apply("acosh", x)


def atanh(x: Operand) -> Tile:
    """Inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond."""
    return apply("atanh", x)


def erf(x: Operand) -> Tile:
    """Error function (NIST DLMF 7.2.1)."""
    return apply("erf", x)


def erfc(x: Operand) -> Tile:
    """1 - erf(x), precise where it is small (NIST DLMF 7.2.2)."""
    return apply("erfc", x)


def sigmoid(x: Operand) -> Tile:
    """1 / (1 + exp(-x)), without overflow."""
    return apply("sigmoid", x)


absolute = fabs = abs
power = pow
negative = neg
rint = round
fix = trunc

arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
radians, degrees = deg2rad, rad2deg
