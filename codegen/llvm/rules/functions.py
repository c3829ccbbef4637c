"""Rules of the functions of floats."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.llvm.builder import Register
from pypto.codegen.llvm.math import error_function, exponential, logarithm, power, trigonometric
from pypto.codegen.llvm.math import through_double as wide
from pypto.codegen.llvm.math.lanes import Lanes
from pypto.codegen.llvm.math.library import by_library
from pypto.codegen.llvm.math.through_double import WideFunction, through_double
from pypto.codegen.llvm.rules.context import Context, Rule
from pypto.codegen.llvm.rules.integers import integer_power

LaneFunction = Callable[..., Register]


def _function(function: LaneFunction) -> Rule:
    """A function of f32 and f64 alike."""
    return lambda context: function(context.builder, *context.operands)


def _single(function: LaneFunction, symbol: str) -> Rule:
    """A function of f32; the C library's `symbol` for f64."""

    def rule(context: Context) -> Register:
        if context.dtype.bits == 64:
            return by_library(context.builder, symbol, *context.operands)
        return function(context.builder, *context.operands)

    return rule


def _wide(function: WideFunction, symbol: str) -> Rule:
    """A function of f32 computed in double; the C library's `symbol` for f64."""
    return _single(lambda builder, *operands: through_double(builder, function, *operands), symbol)


def _cbrt(context: Context) -> Register:
    if context.dtype.bits == 64:
        return wide.precise_cbrt(Lanes.of(context.builder, context.x), context.x)
    return through_double(context.builder, wide.cbrt, context.x)


def pow_(context: Context) -> Register:
    if context.dtype.is_float:
        return power.power(context.builder, context.x, context.y)
    return integer_power(context)


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


def rounded(intrinsic: str) -> Rule:
    """To a whole number, by one instruction where the machine has it."""
    return lambda context: context.builder.intrinsic(intrinsic, (context.x,), context.x.element, context.x.lanes)


def signbit(context: Context) -> Register:
    lanes = Lanes.of(context.builder, context.x)
    return context.builder.compare("icmp slt", lanes.to_bits(context.x), lanes.integer(0))


RULES: dict[str, Rule] = {
    "acos": _single(trigonometric.acos, "acos"),
    "acosh": _wide(wide.acosh, "acosh"),
    "asin": _single(trigonometric.asin, "asin"),
    "asinh": _wide(wide.asinh, "asinh"),
    "atan": _single(trigonometric.atan, "atan"),
    "atan2": _wide(trigonometric.atan2, "atan2"),
    "atanh": _wide(wide.atanh, "atanh"),
    "cbrt": _cbrt,
    "ceil": rounded("ceil"),
    "cos": _single(trigonometric.cos, "cos"),
    "cosh": _single(exponential.cosh, "cosh"),
    "erf": _function(error_function.erf),
    "erfc": _wide(wide.erfc, "erfc"),
    "exp": _function(exponential.exponential),
    "exp2": _function(exponential.power_of_two),
    "expm1": _function(exponential.exponential_less_one),
    "floor": rounded("floor"),
    "hypot": _wide(wide.hypot, "hypot"),
    "log": _function(logarithm.logarithm),
    "log10": _function(logarithm.base_ten),
    "log1p": _function(logarithm.of_one_plus),
    "log2": _function(logarithm.base_two),
    "pow": pow_,
    "reciprocal": reciprocal,
    "round": rounded("rint"),
    "rsqrt": rsqrt,
    "sigmoid": _function(exponential.sigmoid),
    "signbit": signbit,
    "sin": _single(trigonometric.sin, "sin"),
    "sinh": _single(exponential.sinh, "sinh"),
    "sqrt": sqrt,
    "tan": _single(trigonometric.tan, "tan"),
    "tanh": _function(exponential.tanh),
    "trunc": rounded("trunc"),
}
