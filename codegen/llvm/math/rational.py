"""tanh and erf of f32 as x N(x^2) / D(x^2), minimax.

Coefficients are positive: nothing cancels, and results near 0 keep their relative precision.
"""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.math import coefficients
from pypto.codegen.llvm.math.lanes import Lanes


def _odd_rational(
    builder: FunctionBuilder, x: Register, end: float, numerator: tuple[float, ...], denominator: tuple[float, ...]
) -> Register:
    """An odd function that rounds to 1 from `end` on."""
    lanes = Lanes.of(builder, x)
    bounded = lanes.at_most(lanes.absolute(x), end)
    square = lanes.multiply(bounded, bounded)
    over = lanes.multiply(bounded, lanes.polynomial(square, numerator))
    quotient = lanes.divide(over, lanes.polynomial(square, denominator))
    return lanes.copy_sign(lanes.at_most(quotient, 1.0), x)


def tanh_single(builder: FunctionBuilder, x: Register) -> Register:
    """tanh(x) of f32; the sign of zero is kept."""
    return _odd_rational(builder, x, 9.02, coefficients.TANH_F32_NUMERATOR, coefficients.TANH_F32_DENOMINATOR)


def erf_single(builder: FunctionBuilder, x: Register) -> Register:
    """The error function of f32; the sign of zero is kept."""
    return _odd_rational(builder, x, 3.93, coefficients.ERF_F32_NUMERATOR, coefficients.ERF_F32_DENOMINATOR)
