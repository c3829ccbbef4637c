"""Shifts, powers and greatest common divisors of integers."""

from __future__ import annotations

from pypto.codegen.llvm.builder import Register
from pypto.codegen.llvm.math.branching import Registers, any_lane, repeat
from pypto.codegen.llvm.rules.context import Context


def _count_fits(context: Context) -> Register:
    """True for counts below the width; a negative count is a large unsigned one."""
    return context.builder.compare("icmp ult", context.y, context.number(context.dtype.bits))


def shift_left(context: Context) -> Register:
    """0 where the count is negative or not below the width."""
    builder, fits, zero = context.builder, _count_fits(context), context.number(0)
    shifted = builder.binary("shl", context.x, builder.select(fits, context.y, zero))
    return builder.select(fits, shifted, zero)


def shift_right(context: Context) -> Register:
    """Arithmetic: the sign in every bit where the count is negative or not below the width; u8: 0 there."""
    builder, fits = context.builder, _count_fits(context)
    if context.dtype.kind == "signed":
        last = context.number(context.dtype.bits - 1)
        return builder.binary("ashr", context.x, builder.select(fits, context.y, last))
    zero = context.number(0)
    return builder.select(fits, builder.binary("lshr", context.x, builder.select(fits, context.y, zero)), zero)


def integer_power(context: Context) -> Register:
    """x multiplied y times, wrapping, by squaring; for negative y what is left of 1 / x^-y: 1, -1 or 0, as torch's."""
    builder, zero, one = context.builder, context.number(0), context.number(1)
    negative = _negative(context, context.y)

    def step(values: Registers) -> tuple[Registers, Register]:
        result, base, exponent = values
        odd = _is_odd(context, exponent)
        result = builder.select(odd, builder.binary("mul", result, base), result)
        exponent = builder.binary("lshr", exponent, one)
        again = any_lane(builder, builder.compare("icmp ne", exponent, zero))
        return (result, builder.binary("mul", base, base), exponent), again

    exponent = context.y if negative is None else builder.select(negative, zero, context.y)
    result = repeat(builder, (one, context.x, exponent), step)[0]
    return result if negative is None else builder.select(negative, _inverse_power(context), result)


def _negative(context: Context, value: Register) -> Register | None:
    if context.dtype.kind == "unsigned":
        return None
    return context.builder.compare("icmp slt", value, context.number(0))


def _is_odd(context: Context, value: Register) -> Register:
    builder = context.builder
    return builder.compare("icmp ne", builder.binary("and", value, context.number(1)), context.number(0))


def _inverse_power(context: Context) -> Register:
    builder, one, minus_one = context.builder, context.number(1), context.number(-1)
    is_one = builder.compare("icmp eq", context.x, one)
    is_minus_one = builder.compare("icmp eq", context.x, minus_one)
    sign = builder.select(_is_odd(context, context.y), minus_one, one)
    return builder.select(is_one, one, builder.select(is_minus_one, sign, context.number(0)))


def greatest_common_divisor(context: Context) -> Register:
    """Euclid's, on magnitudes: lanes that have finished wait for the others. gcd(x, 0) is |x|."""
    builder, zero, one = context.builder, context.number(0), context.number(1)

    def step(values: Registers) -> tuple[Registers, Register]:
        large, small = values
        finished = builder.compare("icmp eq", small, zero)
        divisor = builder.select(finished, one, small)
        rest = builder.select(finished, zero, _unsigned_rest(context, large, divisor))
        again = any_lane(builder, builder.compare("icmp ne", rest, zero))
        return (builder.select(finished, large, small), rest), again

    large, _ = repeat(builder, (_magnitude(context, context.x), _magnitude(context, context.y)), step)
    return large


def _magnitude(context: Context, value: Register) -> Register:
    """|value| as an unsigned number: the smallest integer's too."""
    negative = _negative(context, value)
    if negative is None:
        return value
    return context.builder.select(negative, context.builder.binary("sub", context.number(0), value), value)


def _unsigned_rest(context: Context, x: Register, y: Register) -> Register:
    """x % y; up to 32 bits in vectors by a float type in which the rounded quotient truncates rightly.

    See `division`: a quotient that is no integer is further from the next one than the rounding of 24 or 53 bits.
    """
    builder, bits = context.builder, context.dtype.bits
    if bits == 64 or x.lanes == 1:
        return builder.binary("urem", x, y)
    over, under = (builder.convert("uitofp", value, "double" if bits == 32 else "float") for value in (x, y))
    quotient = builder.convert("fptoui", builder.binary("fdiv", over, under), "i32")
    if bits != 32:
        quotient = builder.convert("trunc", quotient, x.element)
    return builder.binary("sub", x, builder.binary("mul", quotient, y))
