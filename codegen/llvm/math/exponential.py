"""exp, exp2, expm1, the logistic function, tanh, sinh and cosh, from one range reduction.

x = n log(2) + r with an integer n and |r| <= log(2) / 2 (Cody and Waite: log(2) in two terms), e^x = 2^n e^r, and
e^r = 1 + r + r^2 P(r) with a minimax P (`coefficients`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.lanes import Lanes


@dataclass(frozen=True, slots=True)
class _Constants:
    """Per format: log(2) in two terms, coefficients of P (fitted for e^r and for e^r - 1), the ends outside which e^x
    rounds to 0 or overflows; where tanh has become 1 and e^x - 1 has become -1; and for 2^x: coefficients and ends."""

    high: float
    low: float
    tail: tuple[float, ...]
    tail_less_one: tuple[float, ...]
    underflow: float
    overflow: float
    tanh_end: float
    less_one_end: float
    base_two: tuple[float, ...]
    base_two_ends: tuple[float, float]


_CONSTANTS = {
    "float": _Constants(
        coefficients.LOG2_HIGH_F32,
        coefficients.LOG2_LOW_F32,
        coefficients.EXP_F32,
        coefficients.EXPM1_F32,
        underflow=-104.0,
        overflow=89.0,
        tanh_end=9.02,
        less_one_end=-18.0,
        base_two=coefficients.EXP2_F32,
        base_two_ends=(-151.0, 129.0),
    ),
    "double": _Constants(
        coefficients.LOG2_HIGH_F64,
        coefficients.LOG2_LOW_F64,
        coefficients.EXP_F64,
        coefficients.EXPM1_F64,
        underflow=-746.0,
        overflow=710.0,
        tanh_end=19.1,
        less_one_end=-40.0,
        base_two=coefficients.EXP2_F64,
        base_two_ends=(-1076.0, 1025.0),
    ),
}
_SCALEF = {
    ("float", 16): "ps.512", ("float", 8): "ps.256", ("float", 4): "ps.128",
    ("double", 8): "pd.512", ("double", 4): "pd.256", ("double", 2): "pd.128",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Reduced:
    """x = n log(2) + r. `shifted` is n + 1.5 * 2^mantissa_bits: its low bits are n."""

    n: Register
    shifted: Register
    r: Register


def _reduce(lanes: Lanes, x: Register) -> _Reduced:
    constants = _CONSTANTS[lanes.element]
    magic = lanes.number(lanes.format.magic)
    shifted = lanes.multiply_add(x, lanes.number(1.0 / math.log(2.0)), magic)
    n = lanes.subtract(shifted, magic)
    r = lanes.multiply_add(n, lanes.number(-constants.high), x)
    return _Reduced(n, shifted, lanes.multiply_add(n, lanes.number(-constants.low), r))


def _power_of_two(lanes: Lanes, exponent: Register) -> Register:
    """2^exponent for an integer in the low bits, within the range of normal numbers; higher bits are dropped."""
    shifted = lanes.on_bits("shl", exponent, lanes.format.mantissa_bits)
    return lanes.from_bits(lanes.on_bits("add", shifted, lanes.format.one_bits))


def _scale(lanes: Lanes, value: Register, reduced: _Reduced) -> Register:
    """value * 2^n, rounded once, by two factors, the first exact: n may lie outside the exponent's range."""
    variant = _SCALEF.get((lanes.element, lanes.lanes))
    if lanes.builder.has_scalef and variant is not None:
        return _scale_by_instruction(lanes, value, reduced.n, variant)
    half = lanes.to_bits(lanes.multiply_add(reduced.n, lanes.number(0.5), lanes.number(lanes.format.magic)))
    rest = lanes.on_bits("sub", lanes.to_bits(reduced.shifted), half)
    return lanes.multiply(lanes.multiply(value, _power_of_two(lanes, half)), _power_of_two(lanes, rest))


def _scale_by_instruction(lanes: Lanes, value: Register, n: Register, variant: str) -> Register:
    """AVX-512's vscalef."""
    symbol, type_ = f"llvm.x86.avx512.mask.scalef.{variant}", value.type
    mask = "i16" if lanes.lanes == 16 else "i8"
    rounding = variant.endswith("512")  # the widest form takes a rounding mode; 4 is the current one
    parameters = f"{type_}, {type_}, {type_}, {mask}" + (", i32" if rounding else "")
    lanes.builder.declarations.add(f"declare {type_} @{symbol}({parameters})")
    arguments = f"{value.typed}, {n.typed}, {type_} zeroinitializer, {mask} -1" + (", i32 4" if rounding else "")
    return lanes.builder.emit(f"call {type_} @{symbol}({arguments})", lanes.element, lanes.lanes)


def _exponential_of_reduced(lanes: Lanes, r: Register) -> Register:
    return lanes.polynomial(r, (1.0, 1.0, *_CONSTANTS[lanes.element].tail))


def _exponential(lanes: Lanes, x: Register) -> Register:
    """e^x for x that `underflow` and `overflow` bound, or NaN."""
    reduced = _reduce(lanes, x)
    return _scale(lanes, _exponential_of_reduced(lanes, reduced.r), reduced)


def exponential(builder: FunctionBuilder, x: Register) -> Register:
    """e^x: 0 at -inf, inf at inf, NaN at NaN; subnormal results are rounded once."""
    lanes = Lanes.of(builder, x)
    constants = _CONSTANTS[lanes.element]
    return _exponential(lanes, lanes.at_least(lanes.at_most(x, constants.overflow), constants.underflow))


def power_of_two(builder: FunctionBuilder, x: Register) -> Register:
    """2^x, exact for integers: x = n + r with |r| <= 1/2, 2^r = 1 + r Q(r)."""
    lanes = Lanes.of(builder, x)
    constants, magic = _CONSTANTS[lanes.element], lanes.number(lanes.format.magic)
    low, high = constants.base_two_ends
    bounded = lanes.at_least(lanes.at_most(x, high), low)
    shifted = lanes.add(bounded, magic)
    n = lanes.subtract(shifted, magic)
    r = lanes.subtract(bounded, n)
    return _scale(lanes, lanes.polynomial(r, (1.0, *constants.base_two)), _Reduced(n, shifted, r))


def sigmoid(builder: FunctionBuilder, x: Register) -> Register:
    """1 / (1 + e^-x), as e^x / (1 + e^x) for negative x: nothing overflows, small results stay precise."""
    lanes = Lanes.of(builder, x)
    magnitude = lanes.negate(lanes.absolute(x))
    small = _exponential(lanes, lanes.at_least(magnitude, _CONSTANTS[lanes.element].underflow))
    one = lanes.number(1.0)
    negative = lanes.compare("olt", x, lanes.number(0.0))
    return lanes.divide(lanes.select(negative, small, one), lanes.add(one, small))


def _less_one_of_reduced(lanes: Lanes, r: Register) -> Register:
    tail = lanes.polynomial(r, _CONSTANTS[lanes.element].tail_less_one)
    return lanes.multiply_add(lanes.multiply(r, r), tail, r)


def less_one(lanes: Lanes, x: Register) -> Register:
    """e^x - 1 for x <= 0 (and not far below: 2^n is a normal number), or NaN.

    2^n (e^r - 1) + (2^n - 1) does not cancel: results near 0 keep their relative precision.
    """
    reduced = _reduce(lanes, x)
    grown = _less_one_of_reduced(lanes, reduced.r)
    scale = _power_of_two(lanes, lanes.to_bits(reduced.shifted))
    return lanes.multiply_add(scale, grown, lanes.subtract(scale, lanes.number(1.0)))


def tanh(builder: FunctionBuilder, x: Register) -> Register:
    """tanh(x), the sign of zero kept: tanh(a) = -m / (m + 2) with m = e^(-2a) - 1 and a = |x|."""
    lanes = Lanes.of(builder, x)
    bounded = lanes.at_most(lanes.absolute(x), _CONSTANTS[lanes.element].tanh_end)
    minus = less_one(lanes, lanes.multiply(bounded, lanes.number(-2.0)))
    return lanes.copy_sign(lanes.divide(minus, lanes.add(minus, lanes.number(2.0))), x)


def exponential_less_one(builder: FunctionBuilder, x: Register) -> Register:
    """e^x - 1 for any x, the sign of zero kept: twice 2^(n-1) (e^r - 1) + (2^(n-1) - 1/2), as 2^n may overflow."""
    lanes = Lanes.of(builder, x)
    constants = _CONSTANTS[lanes.element]
    reduced = _reduce(lanes, lanes.at_least(lanes.at_most(x, constants.overflow), constants.less_one_end))
    scale = _power_of_two(lanes, lanes.on_bits("sub", lanes.to_bits(reduced.shifted), 1))
    below = lanes.subtract(scale, lanes.number(0.5))
    half = lanes.multiply_add(scale, _less_one_of_reduced(lanes, reduced.r), below)
    tiny = lanes.compare("olt", lanes.absolute(x), lanes.number(2.0 ** -(lanes.format.mantissa_bits + 2)))
    return lanes.copy_sign(lanes.select(tiny, x, lanes.add(half, half)), x)


def _half_exponential(lanes: Lanes, x: Register) -> Register:
    """e^x / 2 for x >= 0, finite as far as sinh and cosh are."""
    reduced = _reduce(lanes, lanes.at_most(x, _CONSTANTS[lanes.element].overflow + 1.0))
    one = lanes.number(1.0)
    halved = _Reduced(lanes.subtract(reduced.n, one), lanes.subtract(reduced.shifted, one), reduced.r)
    return _scale(lanes, _exponential_of_reduced(lanes, reduced.r), halved)


def sinh(builder: FunctionBuilder, x: Register) -> Register:
    """sinh(x) of f32: an odd polynomial below 1, above it h - 1 / (4 h) with h = e^|x| / 2."""
    lanes = Lanes.of(builder, x)
    square = lanes.multiply(x, x)
    near = lanes.multiply_add(lanes.multiply(x, square), lanes.polynomial(square, coefficients.SINH_F32), x)
    half = _half_exponential(lanes, lanes.absolute(x))
    far = lanes.subtract(half, lanes.divide(lanes.number(0.25), half))
    is_near = lanes.compare("olt", lanes.absolute(x), lanes.number(1.0))
    return lanes.copy_sign(lanes.select(is_near, near, far), x)


def cosh(builder: FunctionBuilder, x: Register) -> Register:
    """cosh(x) of f32: h + 1 / (4 h) with h = e^|x| / 2."""
    lanes = Lanes.of(builder, x)
    half = _half_exponential(lanes, lanes.absolute(x))
    return lanes.add(half, lanes.divide(lanes.number(0.25), half))
