"""The natural logarithm: x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), log(x) = k log(2) + log(1 + f)."""

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


def _sum_single(lanes: Lanes, split: _Split) -> Register:
    """log(1 + f) = f - f^2 / 2 + f^3 P(f), with k log(2) in two terms."""
    f = split.f
    square = lanes.multiply(f, f)
    tail = lanes.multiply(lanes.multiply(f, square), lanes.polynomial(f, coefficients.LOG_F32))
    tail = lanes.multiply_add(split.k, lanes.number(coefficients.LOG2_LOW_F32), tail)
    tail = lanes.multiply_add(square, lanes.number(-0.5), tail)
    return lanes.multiply_add(split.k, lanes.number(coefficients.LOG2_HIGH_F32), lanes.add(f, tail))


def _sum_double(lanes: Lanes, split: _Split) -> Register:
    """log(1 + f) = 2 atanh(s), s = f / (2 + f); as 2 s = f - s f, it is f - (h - s (h + s^2 P(s^2))), h = f^2 / 2."""
    f = split.f
    s = lanes.divide(f, lanes.add(f, lanes.number(2.0)))
    z = lanes.multiply(s, s)
    half_square = lanes.multiply(lanes.multiply(f, f), lanes.number(0.5))
    inner = lanes.multiply_add(z, lanes.polynomial(z, coefficients.LOG_F64), half_square)
    low = lanes.multiply(split.k, lanes.number(coefficients.LOG2_LOW_F64))
    tail = lanes.subtract(half_square, lanes.multiply_add(s, inner, low))
    return lanes.multiply_add(split.k, lanes.number(coefficients.LOG2_HIGH_F64), lanes.subtract(f, tail))


def logarithm(builder: FunctionBuilder, x: Register) -> Register:
    """log(x): NaN below 0, -inf at either zero, inf at inf, NaN at NaN; subnormal arguments count."""
    lanes = Lanes.of(builder, x)
    split = _split(lanes, x)
    finite = _sum_single(lanes, split) if lanes.element == "float" else _sum_double(lanes, split)
    zero = lanes.number(0.0)
    below = lanes.select(lanes.compare("oeq", x, zero), lanes.number(-math.inf), lanes.number(math.nan))
    bounded = lanes.select(lanes.compare("olt", x, lanes.number(math.inf)), finite, x)
    return lanes.select(lanes.compare("ole", x, zero), below, bounded)
