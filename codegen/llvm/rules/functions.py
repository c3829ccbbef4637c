"""Rules of the functions of floats."""

from __future__ import annotations

from pypto.codegen.llvm.builder import Register
from pypto.codegen.llvm.math import error_function, exponential, logarithm, power
from pypto.codegen.llvm.math.lanes import Lanes
from pypto.codegen.llvm.rules.context import Context


def exp(context: Context) -> Register:
    return exponential.exponential(context.builder, context.x)


def sigmoid(context: Context) -> Register:
    return exponential.sigmoid(context.builder, context.x)


def log(context: Context) -> Register:
    return logarithm.logarithm(context.builder, context.x)


def tanh(context: Context) -> Register:
    return exponential.tanh(context.builder, context.x)


def erf(context: Context) -> Register:
    return error_function.erf(context.builder, context.x)


def pow_(context: Context) -> Register:
    return power.power(context.builder, context.x, context.y)


def sqrt(context: Context) -> Register:
    x = context.x
    return context.builder.intrinsic("sqrt", (x,), x.element, x.lanes)


def reciprocal(context: Context) -> Register:
    """A division: the machine's approximations are not right for subnormals and infinities."""
    lanes = Lanes.of(context.builder, context.x)
    return lanes.divide(lanes.number(1.0), context.x)


def rsqrt(context: Context) -> Register:
    """1 / sqrt(x): inf at 0, -inf at -0, NaN below."""
    lanes = Lanes.of(context.builder, context.x)
    return lanes.divide(lanes.number(1.0), sqrt(context))
