"""x to the power y, with the special cases of C's pow (Annex F.10.4.4), which are NumPy's."""

from __future__ import annotations

import math

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math.exponential import exponential
from pypto.codegen.llvm.math.lanes import Lanes
from pypto.codegen.llvm.math.library import by_library
from pypto.codegen.llvm.math.logarithm import logarithm


def power(builder: FunctionBuilder, x: Register, y: Register) -> Register:
    """x^y. f32 is computed as e^(y log|x|) in double, whose error stays far below the rounding to f32."""
    if x.element == "double":
        return by_library(builder, "pow", x, y)
    lanes = Lanes(builder, "double", x.lanes)
    base, exponent = builder.convert("fpext", x, "double"), builder.convert("fpext", y, "double")
    return builder.convert("fptrunc", _power(lanes, base, exponent), "float")


def _power(lanes: Lanes, x: Register, y: Register) -> Register:
    magnitude = lanes.absolute(x)
    size = exponential(lanes.builder, lanes.multiply(y, logarithm(lanes.builder, magnitude)))
    signed = _with_sign(lanes, size, x, y)
    return _select_ones(lanes, signed, x, y, magnitude)


def _with_sign(lanes: Lanes, size: Register, x: Register, y: Register) -> Register:
    """The sign of x for odd y, plus for even y, NaN for negative finite x and y that is not an integer."""
    zero = lanes.number(0.0)
    whole = _is_whole(lanes, y)
    odd = lanes.builder.binary("and", whole, _not(lanes, _is_whole(lanes, lanes.multiply(y, lanes.number(0.5)))))
    signed = lanes.select(odd, lanes.copy_sign_by_bits(size, x), size)
    negative = lanes.compare("olt", x, zero)
    finite = lanes.compare("ogt", x, lanes.number(-math.inf))
    undefined = lanes.builder.binary("and", lanes.builder.binary("and", negative, finite), _not(lanes, whole))
    return lanes.select(undefined, lanes.number(math.nan), signed)


def _is_whole(lanes: Lanes, y: Register) -> Register:
    """True for integers and infinities, which count as even."""
    return lanes.compare("oeq", lanes.builder.intrinsic("floor", (y,), lanes.element, lanes.lanes), y)


def _not(lanes: Lanes, condition: Register) -> Register:
    return lanes.builder.binary("xor", condition, Register(_true(lanes.lanes), "i1", lanes.lanes))


def _true(lanes: int) -> str:
    return "true" if lanes == 1 else "splat (i1 true)"


def _select_ones(lanes: Lanes, value: Register, x: Register, y: Register, magnitude: Register) -> Register:
    """1 for y = 0 and for x = 1, whatever the other is, and for x = -1 with infinite y."""
    one = lanes.number(1.0)
    infinite = lanes.compare("oeq", lanes.absolute(y), lanes.number(math.inf))
    unit = lanes.builder.binary("and", lanes.compare("oeq", magnitude, one), infinite)
    certain = lanes.builder.binary("or", lanes.compare("oeq", x, one), lanes.compare("oeq", y, lanes.number(0.0)))
    return lanes.select(lanes.builder.binary("or", unit, certain), one, value)
