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

    With a = |x| and a minimax P, log(1 - erf(a)) = a P(a); so erf(a) = -(e^(a P(a)) - 1), without cancellation near 0
    and without a division.
    """
    if x.element == "double":
        return by_library(builder, "erf", x)
    lanes = Lanes.of(builder, x)
    bounded = lanes.at_most(lanes.absolute(x), _END)
    exponent = lanes.multiply(bounded, lanes.polynomial(bounded, coefficients.ERF_F32))
    return lanes.copy_sign(less_one(lanes, exponent), x)
