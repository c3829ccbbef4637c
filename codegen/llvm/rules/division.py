"""floor_div and remainder, with NumPy's results for every pair of operands."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.codegen.llvm.builder import Register
from pypto.codegen.llvm.math.lanes import Lanes
from pypto.codegen.llvm.math.truncated import truncated_remainder
from pypto.codegen.llvm.rules.context import Context


@dataclass(frozen=True, slots=True)
class _Quotient:
    """x = quotient * y + rest, toward zero. `adjust`: rest and y differ in sign, so the floor is one less."""

    quotient: Register
    rest: Register
    adjust: Register


# -- integers


def _safe_divisor(context: Context, zero_divisor: Register) -> Register:
    """y, or 1 where the machine would trap: y = 0, and the smallest integer by -1 (it wraps to itself, as by 1)."""
    builder, unsafe = context.builder, zero_divisor
    if context.dtype.kind == "signed":
        smallest = builder.compare("icmp eq", context.x, context.number(-(1 << (context.dtype.bits - 1))))
        minus_one = builder.compare("icmp eq", context.y, context.number(-1))
        unsafe = builder.binary("or", unsafe, builder.binary("and", smallest, minus_one))
    return builder.select(unsafe, context.number(1), context.y)


def _truncated(context: Context, divisor: Register) -> Register:
    """x / divisor toward zero. 8, 16 and 32 bits go through a float type in which the rounded quotient truncates
    rightly.

    A quotient that is no integer lies at least 1 / |divisor| away from the next one, which is 1 / |x| of its size, more
    than the rounding of 24 bits (for |x| < 2^16) or 53 bits (for |x| < 2^32).
    """
    builder, bits = context.builder, context.dtype.bits
    signed = "s" if context.dtype.kind == "signed" else "u"
    if bits == 64 or context.x.lanes == 1:
        return builder.binary(f"{signed}div", context.x, divisor)
    wide = "double" if bits == 32 else "float"
    over, under = (builder.convert(f"{signed}itofp", value, wide) for value in (context.x, divisor))
    quotient = builder.binary("fdiv", over, under)
    if bits == 32:
        return builder.convert("fptosi", quotient, "i32")
    return builder.convert("trunc", builder.convert("fptosi", quotient, "i32"), context.x.element)


def _divide_integers(context: Context, divisor: Register) -> _Quotient:
    builder = context.builder
    quotient = _truncated(context, divisor)
    rest = builder.binary("sub", context.x, builder.binary("mul", quotient, divisor))
    differ = builder.compare("icmp slt", builder.binary("xor", rest, divisor), context.number(0))
    inexact = builder.compare("icmp ne", rest, context.number(0))
    return _Quotient(quotient, rest, builder.binary("and", differ, inexact))


def _integer_result(context: Context, remainder: bool) -> Register:
    builder, zero = context.builder, context.number(0)
    zero_divisor = builder.compare("icmp eq", context.y, zero)
    divisor = _safe_divisor(context, zero_divisor)
    parts = _divide_integers(context, divisor)
    result = parts.rest if remainder else parts.quotient
    if context.dtype.kind == "signed":
        step = divisor if remainder else context.number(-1)
        result = builder.select(parts.adjust, builder.binary("add", result, step), result)
    return builder.select(zero_divisor, zero, result)


# -- floats


def _divide_floats(lanes: Lanes, x: Register, y: Register) -> _Quotient:
    """`rest` is C's fmod, exact however large the quotient; `quotient` is (x - rest) / y."""
    zero = lanes.number(0.0)
    rest = truncated_remainder(lanes.builder, x, y)
    quotient = lanes.divide(lanes.subtract(x, rest), y)
    below = lanes.builder.binary("xor", lanes.compare("olt", y, zero), lanes.compare("olt", rest, zero))
    return _Quotient(quotient, rest, lanes.builder.binary("and", below, lanes.compare("une", rest, zero)))


def _remainder_of_floats(lanes: Lanes, x: Register, y: Register) -> Register:
    """fmod moved to the sign of y; a zero takes the sign of y. By 0 it is NaN."""
    parts = _divide_floats(lanes, x, y)
    moved = lanes.select(parts.adjust, lanes.add(parts.rest, y), parts.rest)
    exact = lanes.compare("oeq", parts.rest, lanes.number(0.0))
    return lanes.select(exact, lanes.copy_sign(lanes.number(0.0), y), moved)


def _floor_of_floats(lanes: Lanes, x: Register, y: Register) -> Register:
    """The quotient that belongs to the remainder, to the nearest integer; x / y itself when y is 0."""
    parts = _divide_floats(lanes, x, y)
    zero, one = lanes.number(0.0), lanes.number(1.0)
    quotient = lanes.select(parts.adjust, lanes.subtract(parts.quotient, one), parts.quotient)
    floor = lanes.builder.intrinsic("floor", (quotient,), lanes.element, lanes.lanes)
    above = lanes.compare("ogt", lanes.subtract(quotient, floor), lanes.number(0.5))
    floor = lanes.select(above, lanes.add(floor, one), floor)
    plain = lanes.divide(x, y)
    signed_zero = lanes.copy_sign(zero, plain)
    result = lanes.select(lanes.compare("oeq", quotient, zero), signed_zero, floor)
    return lanes.select(lanes.compare("oeq", y, zero), plain, result)


def floor_divide(context: Context) -> Register:
    if context.dtype.is_float:
        return _floor_of_floats(Lanes.of(context.builder, context.x), context.x, context.y)
    return _integer_result(context, remainder=False)


def remainder(context: Context) -> Register:
    if context.dtype.is_float:
        return _remainder_of_floats(Lanes.of(context.builder, context.x), context.x, context.y)
    return _integer_result(context, remainder=True)


def truncated(context: Context) -> Register:
    """C's fmod: the rest of a division toward zero, with the sign of x; integers by 0 give 0."""
    builder, x, y = context.builder, context.x, context.y
    if context.dtype.is_float:
        return truncated_remainder(builder, x, y)
    zero = context.number(0)
    zero_divisor = builder.compare("icmp eq", y, zero)
    parts = _divide_integers(context, _safe_divisor(context, zero_divisor))
    return builder.select(zero_divisor, zero, parts.rest)
