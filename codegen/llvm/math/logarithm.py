"""Logarithms: x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), log(x) = k log(2) + log(1 + f)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.lanes import Lanes

_ROOT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}


@dataclass(frozen=True, slots=True)
class _Split:
    """x = 2^k (1 + f)."""

    k: Register
    f: Register


def _split(lanes: Lanes, x: Register) -> _Split:
    """Split a positive finite number; a subnormal one is scaled to a normal one first."""
    format_ = lanes.format
    small = lanes.compare("olt", x, lanes.number(format_.smallest_normal))
    scaled = lanes.select(small, lanes.multiply(x, lanes.number(2.0**format_.mantissa_bits)), x)
    bits = lanes.to_bits(scaled)
    offset = lanes.on_bits("sub", bits, _ROOT_HALF_BITS[lanes.element])
    exponent = lanes.on_bits("ashr", offset, format_.mantissa_bits)
    one_and_f = lanes.from_bits(lanes.on_bits("sub", bits, lanes.on_bits("shl", exponent, format_.mantissa_bits)))
    shift = lanes.select(small, lanes.number(-float(format_.mantissa_bits)), lanes.number(0.0))
    k = lanes.add(_to_float(lanes, exponent), shift)
    return _Split(k, lanes.subtract(one_and_f, lanes.number(1.0)))


def _to_float(lanes: Lanes, exponent: Register) -> Register:
    """Convert a small integer; 64-bit ones by the magic number, as few machines convert vectors of them."""
    if lanes.element == "float":
        return lanes.builder.convert("sitofp", exponent, lanes.element)
    shifted = lanes.from_bits(lanes.on_bits("add", exponent, lanes.format.magic_bits))
    return lanes.subtract(shifted, lanes.number(lanes.format.magic))


def _tail_single(lanes: Lanes, f: Register, low: Register | None) -> Register:
    """log(1 + f) - f = -f^2 / 2 + f^3 P(f), plus `low`."""
    square = lanes.multiply(f, f)
    tail = lanes.multiply(lanes.multiply(f, square), lanes.polynomial(f, coefficients.LOG_F32))
    if low is not None:
        tail = lanes.add(tail, low)
    return lanes.multiply_add(square, lanes.number(-0.5), tail)


def _tail_double(lanes: Lanes, f: Register, low: Register | None) -> Register:
    """log(1 + f) = 2 atanh(s), s = f / (2 + f); as 2 s = f - s f, it is f - (h - s (h + s^2 P(s^2))), h = f^2 / 2."""
    s = lanes.divide(f, lanes.add(f, lanes.number(2.0)))
    z = lanes.multiply(s, s)
    half_square = lanes.multiply(lanes.multiply(f, f), lanes.number(0.5))
    inner = lanes.multiply_add(z, lanes.polynomial(z, coefficients.LOG_F64), half_square)
    product = lanes.multiply(s, inner) if low is None else lanes.multiply_add(s, inner, low)
    return lanes.subtract(product, half_square)


def _tail(lanes: Lanes, f: Register, low: Register | None = None) -> Register:
    return (_tail_single if lanes.element == "float" else _tail_double)(lanes, f, low)


_LOG2 = {
    "float": (coefficients.LOG2_HIGH_F32, coefficients.LOG2_LOW_F32),
    "double": (coefficients.LOG2_HIGH_F64, coefficients.LOG2_LOW_F64),
}


def _sum(lanes: Lanes, split: _Split, low: Register | None = None) -> Register:
    """k log(2) + log(1 + f) + low, with log(2) in two terms."""
    first, second = (lanes.number(value) for value in _LOG2[lanes.element])
    rest = lanes.multiply(split.k, second) if low is None else lanes.multiply_add(split.k, second, low)
    return lanes.multiply_add(split.k, first, lanes.add(split.f, _tail(lanes, split.f, rest)))


def _with_ends(lanes: Lanes, x: Register, finite: Register) -> Register:
    """NaN below 0, -inf at either zero, x itself at inf and NaN."""
    zero = lanes.number(0.0)
    below = lanes.select(lanes.compare("oeq", x, zero), lanes.number(-math.inf), lanes.number(math.nan))
    bounded = lanes.select(lanes.compare("olt", x, lanes.number(math.inf)), finite, x)
    return lanes.select(lanes.compare("ole", x, zero), below, bounded)


def logarithm(builder: FunctionBuilder, x: Register) -> Register:
    """log(x): NaN below 0, -inf at either zero, inf at inf, NaN at NaN; subnormal arguments count."""
    lanes = Lanes.of(builder, x)
    return _with_ends(lanes, x, _sum(lanes, _split(lanes, x)))


def base_two(builder: FunctionBuilder, x: Register) -> Register:
    """log2(x), exact for powers of two: k + log(1 + f) / log(2)."""
    lanes = Lanes.of(builder, x)
    split = _split(lanes, x)
    natural = lanes.add(split.f, _tail(lanes, split.f))
    return _with_ends(lanes, x, lanes.multiply_add(natural, lanes.number(1.0 / math.log(2.0)), split.k))


def base_ten(builder: FunctionBuilder, x: Register) -> Register:
    """log10(x) as k log10(2) + log(1 + f) / log(10), with log10(2) in two terms."""
    lanes = Lanes.of(builder, x)
    split = _split(lanes, x)
    natural = lanes.add(split.f, _tail(lanes, split.f))
    first, second = (lanes.number(value) for value in _LOG10_OF_2[lanes.element])
    small = lanes.multiply_add(split.k, second, lanes.multiply(natural, lanes.number(1.0 / math.log(10.0))))
    return _with_ends(lanes, x, lanes.multiply_add(split.k, first, small))


_LOG10_OF_2 = {
    "float": (coefficients.LOG10_2_HIGH_F32, coefficients.LOG10_2_LOW_F32),
    "double": (coefficients.LOG10_2_HIGH_F64, coefficients.LOG10_2_LOW_F64),
}


def of_one_plus(builder: FunctionBuilder, x: Register) -> Register:
    """log(1 + x), the sign of zero kept: log(u) + c / u with u = 1 + x rounded and c what the rounding lost.

    Where u lies between sqrt(1/2) and sqrt(2), x itself is f.
    """
    lanes = Lanes.of(builder, x)
    one = lanes.number(1.0)
    u = lanes.add(x, one)
    split = _split(lanes, u)
    near = lanes.compare("oeq", split.k, lanes.number(0.0))
    lost = lanes.divide(lanes.subtract(x, lanes.subtract(u, one)), u)
    low = lanes.select(near, lanes.number(0.0), lost)
    finite = _sum(lanes, _Split(split.k, lanes.select(near, x, split.f)), low)
    return lanes.copy_sign(_with_ends(lanes, u, finite), x)
