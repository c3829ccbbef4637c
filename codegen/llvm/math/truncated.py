"""C's fmod: the exact rest of a division whose quotient is rounded toward zero."""

from __future__ import annotations

import math

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math.branching import every_lane, unless
from pypto.codegen.llvm.math.lanes import Lanes


def truncated_remainder(builder: FunctionBuilder, x: Register, y: Register) -> Register:
    """fmod(x, y), exact, with the sign of x; NaN for infinite x or y = 0.

    A quotient that fits the significand is off by one at most, and the fused x - quotient * y is exact. Vectors in
    which another occurs (or an infinite y, or no fused instruction) go to the C library. Ends in another block than
    it began in.
    """
    if not builder.has_fma:
        return builder.binary("frem", x, y)
    lanes = Lanes.of(builder, x)
    quotient = builder.intrinsic("trunc", (lanes.divide(x, y),), x.element, x.lanes)
    quick = _quick(lanes, quotient, x, y)
    simple = every_lane(builder, _simple(lanes, quotient, y))
    return unless(builder, simple, (quick,), lambda: (builder.binary("frem", x, y),))[0]


def _quick(lanes: Lanes, quotient: Register, x: Register, y: Register) -> Register:
    """x - quotient * y, and one y back where rounding made the quotient too large; a zero has the sign of x."""
    rest = lanes.multiply_add(lanes.negate(quotient), y, x)
    towards_x = lanes.copy_sign(y, x)
    crossed = lanes.compare("olt", lanes.multiply(lanes.copy_sign(lanes.number(1.0), x), rest), lanes.number(0.0))
    return lanes.copy_sign(lanes.select(crossed, lanes.add(rest, towards_x), rest), x)


def _simple(lanes: Lanes, quotient: Register, y: Register) -> Register:
    """True for lanes with a quotient that fits the significand and a finite y."""
    size, limit = lanes.absolute(quotient), lanes.number(2.0**lanes.format.mantissa_bits)
    small = lanes.compare("olt", size, limit)
    finite = lanes.compare("olt", lanes.absolute(y), lanes.number(math.inf))
    return lanes.builder.binary("and", small, finite)
