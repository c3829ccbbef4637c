"""sin, cos, tan of f32 and their inverses; f64 is the C library's."""

from __future__ import annotations

import math

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.angles import reduced
from pypto.codegen.llvm.math.lanes import Lanes

_HALF_PI, _HALF_PI_LOW = coefficients.HALF_PI_F32[:2]


def _odd(lanes: Lanes, t: Register, tail: tuple[float, ...]) -> Register:
    """t + t^3 P(t^2)."""
    square = lanes.multiply(t, t)
    return lanes.multiply_add(lanes.multiply(t, square), lanes.polynomial(square, tail), t)


def _sine_and_cosine(lanes: Lanes, r: Register) -> tuple[Register, Register]:
    z = lanes.multiply(r, r)
    cosine = lanes.multiply_add(z, lanes.number(-0.5), lanes.number(1.0))
    tail = lanes.polynomial(z, coefficients.COS_F32)
    return _odd(lanes, r, coefficients.SIN_F32), lanes.multiply_add(lanes.multiply(z, z), tail, cosine)


def _wave(lanes: Lanes, quarters: Register, r: Register) -> Register:
    """sin(quarters * pi/2 + r)."""
    sine, cosine = _sine_and_cosine(lanes, r)
    odd = lanes.builder.compare("icmp ne", lanes.on_bits("and", quarters, 1), lanes.integer(0))
    sign = lanes.on_bits("shl", lanes.on_bits("and", quarters, 2), 30)
    chosen = lanes.to_bits(lanes.select(odd, cosine, sine))
    return lanes.from_bits(lanes.on_bits("xor", chosen, sign))


def _keep_zero(lanes: Lanes, x: Register, result: Register) -> Register:
    return lanes.select(lanes.compare("oeq", x, lanes.number(0.0)), x, result)


def sin(builder: FunctionBuilder, x: Register) -> Register:
    """sin(x) of any f32, the sign of zero kept; NaN at infinities."""
    lanes, angle = Lanes.of(builder, x), reduced(builder, x)
    return _keep_zero(lanes, x, _wave(lanes, angle.quarters, angle.rest))


def cos(builder: FunctionBuilder, x: Register) -> Register:
    """cos(x) of any f32; NaN at infinities."""
    lanes, angle = Lanes.of(builder, x), reduced(builder, x)
    return _wave(lanes, lanes.on_bits("add", angle.quarters, 1), angle.rest)


def tan(builder: FunctionBuilder, x: Register) -> Register:
    """tan(x) of any f32, -1 / tan(r) after an odd number of quarters; the sign of zero kept."""
    lanes, angle = Lanes.of(builder, x), reduced(builder, x)
    tangent = _odd(lanes, angle.rest, coefficients.TAN_F32)
    odd = builder.compare("icmp ne", lanes.on_bits("and", angle.quarters, 1), lanes.integer(0))
    inverse = lanes.divide(lanes.number(-1.0), tangent)
    return _keep_zero(lanes, x, lanes.select(odd, inverse, tangent))


def _half_pi_less(lanes: Lanes, value: Register, times: float = 1.0) -> Register:
    """times * pi/2 - value, with pi/2 in two terms."""
    rest = lanes.subtract(value, lanes.number(times * _HALF_PI_LOW))
    return lanes.subtract(lanes.number(times * _HALF_PI), rest)


def _arc_sine(lanes: Lanes, magnitude: Register) -> tuple[Register, Register]:
    """Return p, and whether the magnitude is at most 1/2: then p is its arc sine, else pi/2 - 2 p is.

    asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)); a square root of a negative number gives NaN above 1.
    """
    half = lanes.number(0.5)
    small = lanes.compare("ole", magnitude, half)
    other = lanes.multiply(lanes.subtract(lanes.number(1.0), magnitude), half)
    root = lanes.builder.intrinsic("sqrt", (other,), lanes.element, lanes.lanes)
    return _odd(lanes, lanes.select(small, magnitude, root), coefficients.ASIN_F32), small


def asin(builder: FunctionBuilder, x: Register) -> Register:
    """asin(x), the sign of zero kept; NaN beyond 1."""
    lanes = Lanes.of(builder, x)
    part, small = _arc_sine(lanes, lanes.absolute(x))
    far = _half_pi_less(lanes, lanes.add(part, part))
    return lanes.copy_sign(lanes.select(small, part, far), x)


def acos(builder: FunctionBuilder, x: Register) -> Register:
    """acos(x): pi/2 - asin(x), without cancellation near 1; NaN beyond 1."""
    lanes = Lanes.of(builder, x)
    part, small = _arc_sine(lanes, lanes.absolute(x))
    middle = _half_pi_less(lanes, lanes.copy_sign(part, x))
    twice = lanes.add(part, part)
    negative = lanes.compare("olt", x, lanes.number(0.0))
    end = lanes.select(negative, _half_pi_less(lanes, twice, 2.0), twice)
    return lanes.select(small, middle, end)


def atan(builder: FunctionBuilder, x: Register) -> Register:
    """atan(x), the sign of zero kept: atan(a) = pi/2 - atan(1 / a) above 1."""
    lanes = Lanes.of(builder, x)
    magnitude, one = lanes.absolute(x), lanes.number(1.0)
    large = lanes.compare("ogt", magnitude, one)
    part = _odd(lanes, lanes.select(large, lanes.divide(one, magnitude), magnitude), coefficients.ATAN_F32)
    return lanes.copy_sign(lanes.select(large, _half_pi_less(lanes, part), part), x)


def atan2(lanes: Lanes, y: Register, x: Register) -> Register:
    """The angle of the point (x, y) for f32 numbers in double, whose quotients neither overflow nor underflow.

    Special cases are C's (Annex F.10.1.4): the signs of zeros count, infinities are on the axes and diagonals.
    """
    up, right = lanes.absolute(y), lanes.absolute(x)
    steep = lanes.compare("ogt", up, right)
    quotient = lanes.divide(lanes.select(steep, right, up), lanes.select(steep, up, right))
    zero, one = lanes.number(0.0), lanes.number(1.0)
    equal = lanes.select(lanes.compare("oeq", up, zero), zero, one)
    part = _odd(lanes, lanes.select(lanes.compare("oeq", up, right), equal, quotient), coefficients.ATAN_F32)
    angle = lanes.select(steep, lanes.subtract(lanes.number(math.pi / 2), part), part)
    negative = lanes.builder.compare("icmp slt", lanes.to_bits(x), lanes.integer(0))
    angle = lanes.select(negative, lanes.subtract(lanes.number(math.pi), angle), angle)
    return lanes.copy_sign_by_bits(angle, y)
