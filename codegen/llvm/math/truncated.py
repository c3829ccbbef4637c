"""C's fmod: the exact rest of a division whose quotient is rounded toward zero."""

from __future__ import annotations

import math

from pypto.codegen.llvm.builder import FunctionBuilder, Register
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
    return _unless(lanes, _all_simple(lanes, quotient, y), quick, x, y)


def _quick(lanes: Lanes, quotient: Register, x: Register, y: Register) -> Register:
    """x - quotient * y, and one y back where rounding made the quotient too large; a zero has the sign of x."""
    rest = lanes.multiply_add(lanes.negate(quotient), y, x)
    towards_x = lanes.copy_sign(y, x)
    crossed = lanes.compare("olt", lanes.multiply(lanes.copy_sign(lanes.number(1.0), x), rest), lanes.number(0.0))
    return lanes.copy_sign(lanes.select(crossed, lanes.add(rest, towards_x), rest), x)


def _all_simple(lanes: Lanes, quotient: Register, y: Register) -> Register:
    """True when every lane has a quotient that fits the significand and a finite y."""
    size, limit = lanes.absolute(quotient), lanes.number(2.0**lanes.format.mantissa_bits)
    small = lanes.compare("olt", size, limit)
    finite = lanes.compare("olt", lanes.absolute(y), lanes.number(math.inf))
    simple = lanes.builder.binary("and", small, finite)
    if lanes.lanes == 1:
        return simple
    return lanes.builder.call(f"llvm.vector.reduce.and.v{lanes.lanes}i1", (simple,), "i1")


def _unless(lanes: Lanes, simple: Register, quick: Register, x: Register, y: Register) -> Register:
    builder = lanes.builder
    before, slow, done = builder.block, builder.fresh("library"), builder.fresh("divided")
    builder.branch(simple, done, slow)
    builder.label(slow)
    exact = builder.binary("frem", x, y)
    builder.jump(done)
    builder.label(done)
    choices = f"[ {quick.text}, %{before} ], [ {exact.text}, %{slow} ]"
    return builder.emit(f"phi {quick.type} {choices}", quick.element, quick.lanes)
