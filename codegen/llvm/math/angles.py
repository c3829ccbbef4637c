"""Angles reduced to a quarter of a turn: x = n pi/2 + r with |r| <= pi/4, for every finite f32.

Angles below `LIMIT` go by pi/2 as a sum of three numbers (Cody and Waite), each step exact or rounded relative to what
is left of it. Larger ones go by the fraction of x times 2/pi to 192 bits (Payne and Hanek), in doubles: each product of
24 by 24 bits is exact, and so is its rest by 4. Which way a lane takes does not depend on the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.branching import every_lane, unless
from pypto.codegen.llvm.math.lanes import Lanes

LIMIT = 1e5


@dataclass(frozen=True, slots=True)
class Angle:
    """`quarters`: an i32 whose low two bits are those of n. `rest`: r, in f32; NaN for infinite x."""

    quarters: Register
    rest: Register


def reduced(builder: FunctionBuilder, x: Register) -> Angle:
    """Reduce an f32. Ends in another block than it began in."""
    lanes = Lanes.of(builder, x)
    quick = _in_single(lanes, x) if builder.has_fma else _in_double(lanes, x)
    small = lanes.compare("olt", lanes.absolute(x), lanes.number(LIMIT))

    def slow() -> tuple[Register, ...]:
        angle = _of_any_size(lanes, x)
        pairs = (quick.quarters, angle.quarters), (quick.rest, angle.rest)
        return tuple(builder.select(small, *pair) for pair in pairs)

    return Angle(*unless(builder, every_lane(builder, small), (quick.quarters, quick.rest), slow))


def _nearest(lanes: Lanes, x: Register) -> tuple[Register, Register]:
    """Return x * 2/pi rounded to an integer, as it is and shifted by the format's magic number."""
    magic = lanes.number(lanes.format.magic)
    shifted = lanes.multiply_add(x, lanes.number(2.0 / math.pi), magic)
    return lanes.subtract(shifted, magic), shifted


def _less_multiple(lanes: Lanes, x: Register, n: Register, parts: tuple[float, ...]) -> Register:
    for part in parts:
        x = lanes.multiply_add(n, lanes.number(-part), x)
    return x


def _in_single(lanes: Lanes, x: Register) -> Angle:
    """With fused steps: the first is exact, as n pi/2 has 24 bits after the point and r is below 1."""
    n, shifted = _nearest(lanes, x)
    return Angle(lanes.to_bits(shifted), _less_multiple(lanes, x, n, coefficients.HALF_PI_F32))


def _in_double(lanes: Lanes, x: Register) -> Angle:
    """Without them: the products of n (16 bits) and parts of 33 bits are exact in double."""
    wide = Lanes(lanes.builder, "double", lanes.lanes)
    value = lanes.builder.convert("fpext", x, "double")
    n, shifted = _nearest(wide, value)
    return _narrowed(wide, shifted, _less_multiple(wide, value, n, coefficients.HALF_PI_PARTS))


def _narrowed(wide: Lanes, shifted: Register, rest: Register) -> Angle:
    builder = wide.builder
    return Angle(builder.convert("trunc", wide.to_bits(shifted), "i32"), builder.convert("fptrunc", rest, "float"))


def _of_any_size(lanes: Lanes, x: Register) -> Angle:
    """The quarters of the parts' products add up with what each sum loses (Knuth's two-sum) kept apart."""
    wide = Lanes(lanes.builder, "double", lanes.lanes)
    value = lanes.builder.convert("fpext", x, "double")
    total, lost = wide.number(0.0), wide.number(0.0)
    for part in coefficients.TWO_OVER_PI_PARTS:
        total, error = _two_sum(wide, total, _rest_by_four(wide, wide.multiply(value, wide.number(part))))
        lost = wide.add(lost, error)
    magic = wide.number(wide.format.magic)
    shifted = wide.add(total, magic)
    fraction = wide.add(wide.subtract(total, wide.subtract(shifted, magic)), lost)
    return _narrowed(wide, shifted, wide.multiply(fraction, wide.number(math.pi / 2)))


def _rest_by_four(wide: Lanes, product: Register) -> Register:
    quarter = wide.multiply(product, wide.number(0.25))
    whole = wide.builder.intrinsic("floor", (quarter,), wide.element, wide.lanes)
    return wide.multiply(wide.subtract(quarter, whole), wide.number(4.0))


def _two_sum(wide: Lanes, left: Register, right: Register) -> tuple[Register, Register]:
    total = wide.add(left, right)
    taken = wide.subtract(total, left)
    error = wide.add(wide.subtract(left, wide.subtract(total, taken)), wide.subtract(right, taken))
    return total, error
