"""f16 and bf16 to f32 and back.

On the bit patterns, where the machine has no instruction for it or one that flushes subnormals (bf16 on x86).
"""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math.lanes import Lanes

_SIGN = 0x8000_0000
_INFINITY = 0x7F80_0000


def widen(builder: FunctionBuilder, x: Register) -> Register:
    """f16 or bf16 to f32, exactly."""
    if x.element == "half" and builder.has_half:
        return builder.convert("fpext", x, "float")
    lanes = Lanes(builder, "float", x.lanes)
    bits = builder.convert("zext", builder.convert("bitcast", x, "i16"), "i32")
    if x.element == "bfloat":
        return lanes.from_bits(lanes.on_bits("shl", bits, 16))
    return _widen_half(lanes, bits)


def _widen_half(lanes: Lanes, bits: Register) -> Register:
    """Three cases by the exponent: re-biased; infinity and NaN, re-biased twice; subnormal, an integer times 2^-24."""
    builder = lanes.builder
    magnitude = lanes.on_bits("and", bits, 0x7FFF)
    moved = lanes.on_bits("add", lanes.on_bits("shl", magnitude, 13), (127 - 15) << 23)
    special = lanes.on_bits("add", moved, (127 - 15) << 23)
    tiny = lanes.multiply(builder.convert("sitofp", magnitude, "float"), lanes.number(2.0**-24))
    is_special = builder.compare("icmp ugt", magnitude, lanes.integer(0x7BFF))
    is_tiny = builder.compare("icmp ult", magnitude, lanes.integer(0x0400))
    result = builder.select(is_tiny, lanes.to_bits(tiny), builder.select(is_special, special, moved))
    sign = lanes.on_bits("shl", lanes.on_bits("and", bits, 0x8000), 16)
    return lanes.from_bits(lanes.on_bits("or", result, sign))


def narrow(builder: FunctionBuilder, x: Register, target: str) -> Register:
    """f32 to ``half`` or ``bfloat``: to the nearest, ties to even; NaN stays NaN."""
    if target == "half" and builder.has_half:
        return builder.convert("fptrunc", _unfolded(builder, x), target)
    lanes = Lanes.of(builder, x)
    bits = lanes.to_bits(x)
    result = _narrow_to_half(lanes, bits) if target == "half" else _narrow_to_bfloat(lanes, bits)
    return builder.convert("bitcast", builder.convert("trunc", result, "i16"), target)


def _unfolded(builder: FunctionBuilder, x: Register) -> Register:
    """Keep LLVM from folding a scalar's steps double, float, half into one, for which x86 has a library call only."""
    if x.lanes > 1:
        return x
    return builder.convert("bitcast", builder.opaque(builder.convert("bitcast", x, "i32")), "float")


def _rounded(lanes: Lanes, bits: Register, shift: int) -> Register:
    """Drop the low `shift` bits: add just under half, and one more when the kept part is odd."""
    odd = lanes.on_bits("and", lanes.on_bits("lshr", bits, shift), 1)
    raised = lanes.on_bits("add", lanes.on_bits("add", bits, (1 << (shift - 1)) - 1), odd)
    return lanes.on_bits("lshr", raised, shift)


def _narrow_to_bfloat(lanes: Lanes, bits: Register) -> Register:
    magnitude = lanes.on_bits("and", bits, _SIGN - 1)
    quiet = lanes.on_bits("lshr", lanes.on_bits("or", bits, 0x0040_0000), 16)
    is_nan = lanes.builder.compare("icmp ugt", magnitude, lanes.integer(_INFINITY))
    return lanes.builder.select(is_nan, quiet, _rounded(lanes, bits, 16))


def _narrow_to_half(lanes: Lanes, bits: Register) -> Register:
    """Normal results by re-biasing and rounding the pattern (which carries into infinity by itself); subnormal ones by
    adding 0.5, whose last place is 2^-24; NaN keeps the top of its payload."""
    builder = lanes.builder
    magnitude = lanes.on_bits("and", bits, _SIGN - 1)
    huge = builder.compare("icmp ugt", magnitude, lanes.integer((127 + 16) << 23))
    bounded = builder.select(huge, lanes.integer((127 + 16) << 23), magnitude)
    normal = _rounded(lanes, lanes.on_bits("sub", bounded, (127 - 15) << 23), 13)
    half = lanes.number(0.5)
    tiny = lanes.on_bits("sub", lanes.to_bits(lanes.add(lanes.from_bits(magnitude), half)), 126 << 23)
    payload = lanes.on_bits("and", lanes.on_bits("lshr", magnitude, 13), 0x03FF)
    is_tiny = builder.compare("icmp ult", magnitude, lanes.integer((127 - 14) << 23))
    is_nan = builder.compare("icmp ugt", magnitude, lanes.integer(_INFINITY))
    result = builder.select(is_nan, lanes.on_bits("or", payload, 0x7E00), builder.select(is_tiny, tiny, normal))
    sign = lanes.on_bits("lshr", lanes.on_bits("and", bits, _SIGN), 16)
    return lanes.on_bits("or", result, sign)
