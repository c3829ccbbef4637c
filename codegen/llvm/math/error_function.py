"""The error function."""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.exponential import less_one
from pypto.codegen.llvm.math.lanes import Lanes
from pypto.codegen.llvm.math.library import by_library

_END = 3.93  # erf rounds to 1 from here on


def erf(builder: FunctionBuilder, x: Register) -> Register:
    """erf(x), the sign of zero kept. f64 is the C library's.

    With m = -|x| and a minimax P, log(1 - erf(|x|)) = m + m P(m); so erf(|x|) = -(e^(m + m P(m)) - 1), without
    cancellation near 0 and without a division.
    """
    if x.element == "double":
        return by_library(builder, "erf", x)
    lanes = Lanes.of(builder, x)
    m = lanes.at_least(lanes.negate(lanes.absolute(x)), -_END)
    exponent = lanes.multiply_add(m, lanes.polynomial(m, coefficients.ERF_F32), m)
    return lanes.copy_sign(less_one(lanes, exponent), x)
