"""Functions of f32 that are computed in double, where simple formulas are exact enough; rounded to f32 once."""

from __future__ import annotations

import math
from collections.abc import Callable

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.exponential import exponential
from pypto.codegen.llvm.math.lanes import Lanes
from pypto.codegen.llvm.math.logarithm import logarithm

WideFunction = Callable[..., Register]

_NEAR = 2.0**-9
"""Below it two terms of the series of asinh and atanh are exact to 2^-36."""


def through_double(builder: FunctionBuilder, function: WideFunction, *operands: Register) -> Register:
    """Apply a function of lanes and doubles to f32 operands."""
    wide = Lanes(builder, "double", operands[0].lanes)
    values = [builder.convert("fpext", operand, "double") for operand in operands]
    return builder.convert("fptrunc", function(wide, *values), "float")


def _root(lanes: Lanes, x: Register) -> Register:
    return lanes.builder.intrinsic("sqrt", (x,), lanes.element, lanes.lanes)


def _log(lanes: Lanes, x: Register) -> Register:
    return logarithm(lanes.builder, x)


def cbrt(lanes: Lanes, x: Register) -> Register:
    """The cube root, with the sign of x: e^(log|x| / 3)."""
    third = lanes.multiply(_log(lanes, lanes.absolute(x)), lanes.number(1.0 / 3.0))
    return lanes.copy_sign_by_bits(exponential(lanes.builder, third), x)


def precise_cbrt(lanes: Lanes, x: Register) -> Register:
    """The cube root of a double: `cbrt` and a step of Newton's, at a size where cubes keep clear of the ends."""
    large = lanes.compare("ogt", lanes.absolute(x), lanes.number(1.0))
    scale = lanes.select(large, lanes.number(2.0**-3), lanes.number(2.0**120))
    scaled = lanes.multiply(x, scale)
    root = cbrt(lanes, scaled)
    square = lanes.multiply(root, root)
    excess = lanes.multiply_add(square, root, lanes.negate(scaled))
    better = lanes.subtract(root, lanes.divide(excess, lanes.multiply(square, lanes.number(3.0))))
    plain = lanes.compare("one", lanes.multiply(x, lanes.number(0.0)), x)  # neither 0, infinite nor NaN
    back = lanes.select(large, lanes.number(2.0), lanes.number(2.0**-40))
    return lanes.multiply(lanes.select(plain, better, root), back)


def hypot(lanes: Lanes, x: Register, y: Register) -> Register:
    """sqrt(x^2 + y^2), which cannot overflow in double; inf beside anything, NaN too, is inf."""
    root = _root(lanes, lanes.add(lanes.multiply(x, x), lanes.multiply(y, y)))
    infinity = lanes.number(math.inf)
    first, second = (lanes.compare("oeq", lanes.absolute(value), infinity) for value in (x, y))
    return lanes.select(lanes.builder.binary("or", first, second), infinity, root)


def _near_zero(lanes: Lanes, x: Register, third: float, far: Register) -> Register:
    """x + third x^3 near 0, elsewhere `far` with the sign of x."""
    cube = lanes.multiply(lanes.multiply(x, x), x)
    near = lanes.multiply_add(cube, lanes.number(third), x)
    small = lanes.compare("olt", lanes.absolute(x), lanes.number(_NEAR))
    return lanes.copy_sign_by_bits(lanes.select(small, near, far), x)


def asinh(lanes: Lanes, x: Register) -> Register:
    """log(|x| + sqrt(x^2 + 1)) with the sign of x."""
    magnitude = lanes.absolute(x)
    root = _root(lanes, lanes.multiply_add(x, x, lanes.number(1.0)))
    return _near_zero(lanes, x, -1.0 / 6.0, _log(lanes, lanes.add(magnitude, root)))


def acosh(lanes: Lanes, x: Register) -> Register:
    """log(x + sqrt(x^2 - 1)), NaN below 1; x^2 of an f32 is exact."""
    root = _root(lanes, lanes.subtract(lanes.multiply(x, x), lanes.number(1.0)))
    below = lanes.compare("olt", x, lanes.number(1.0))
    return lanes.select(below, lanes.number(math.nan), _log(lanes, lanes.add(x, root)))


def atanh(lanes: Lanes, x: Register) -> Register:
    """log((1 + |x|) / (1 - |x|)) / 2 with the sign of x; NaN beyond 1."""
    magnitude, one = lanes.absolute(x), lanes.number(1.0)
    ratio = lanes.divide(lanes.add(one, magnitude), lanes.subtract(one, magnitude))
    return _near_zero(lanes, x, 1.0 / 3.0, lanes.multiply(_log(lanes, ratio), lanes.number(0.5)))


def erfc(lanes: Lanes, x: Register) -> Register:
    """1 - erf(x), precise where it is small: t e^(P(t) - a^2) with a = |x|, t = 2 / (2 + a); 2 less that below 0."""
    magnitude, two = lanes.at_most(lanes.absolute(x), 10.1), lanes.number(2.0)
    t = lanes.divide(two, lanes.add(two, magnitude))
    square = lanes.multiply(magnitude, magnitude)
    exponent = lanes.subtract(lanes.polynomial(t, coefficients.ERFC), square)
    small = lanes.multiply(t, exponential(lanes.builder, exponent))
    return lanes.select(lanes.compare("olt", x, lanes.number(0.0)), lanes.subtract(two, small), small)
