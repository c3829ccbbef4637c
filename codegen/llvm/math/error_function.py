"""The error function."""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.exponential import less_one
from pypto.codegen.llvm.math.lanes import Lanes

# Where erf has become 1, and coefficients of P.
_CONSTANTS = {"float": (3.93, coefficients.ERF_F32), "double": (5.93, coefficients.ERF_F64)}


def erf(builder: FunctionBuilder, x: Register) -> Register:
    """erf(x), the sign of zero kept.

    With m = -|x| and a minimax P, log(1 - erf(|x|)) = m + m P(m); so erf(|x|) = -(e^(m + m P(m)) - 1), without
    cancellation near 0 and without a division.
    """
    lanes = Lanes.of(builder, x)
    end, tail = _CONSTANTS[lanes.element]
    m = lanes.at_least(lanes.negate(lanes.absolute(x)), -end)
    exponent = lanes.multiply_add(m, lanes.polynomial(m, tail), m)
    return lanes.copy_sign(less_one(lanes, exponent), x)
