"""Elementwise functions made of the table's operations, and what NumPy's functions are called here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pypto.ir.base.errors import nearest
from pypto.ir.dtypes import BOOL, F32, DType
from pypto.tracing.elementwise import Operand, apply, convert, normal, power, result_type, select, tracer_of
from pypto.tracing.tiles import Tile

WHOLE = ("floor", "ceil", "round", "trunc")
ROUNDINGS = {"nearest": "round", "floor": "floor", "ceil": "ceil", "trunc": None, "round": "away"}
"""How a float becomes an integer, and the operation that comes before the cast, which truncates."""


def dtype_of_operand(x: Operand, what: str) -> DType:
    """Return the dtype that an operand has by itself."""
    return result_type((normal(tracer_of((x,), what), x),))


def copied(x: Operand, dtype: DType) -> Tile:
    """Return a new tile with the elements of `x`, which has `dtype` already."""
    return x.copy() if isinstance(x, Tile) else convert(x, dtype)


def real(x: Operand, what: str) -> Tile:
    """Return a tile of a float dtype: integers become f32."""
    dtype = dtype_of_operand(x, what)
    return x if isinstance(x, Tile) and dtype.is_float else convert(x, dtype if dtype.is_float else F32)


def to_whole(name: str, x: Operand) -> Tile:
    """Apply ``floor``, ``ceil``, ``round`` or ``trunc``; integers stay as they are."""
    dtype = dtype_of_operand(x, f"pypto.{name}")
    return apply(name, x) if dtype.is_float else copied(x, dtype)


def half_away(x: Operand) -> Tile:
    """Round to the nearest whole number, halves away from zero; exact for every float."""
    whole = apply("trunc", x)
    rest = apply("abs", apply("sub", x, whole))
    return select(apply("lt", rest, 0.5), whole, apply("add", whole, copy_sign(1.0, x)))


def sign(x: Operand) -> Tile:
    """-1, 0 or 1; NaN stays, of -0.0 the result is 0."""
    dtype = dtype_of_operand(x, "pypto.sign")
    if dtype == BOOL:
        return copied(x, dtype)
    if dtype.kind == "unsigned":
        return apply("minimum", x, 1)
    if dtype.is_integer:
        return apply("minimum", apply("maximum", x, -1), 1)
    return select(apply("gt", x, 0.0), 1.0, select(apply("lt", x, 0.0), -1.0, apply("abs", x)))


def is_nan(x: Operand) -> Tile:
    return apply("ne", x, x)


def is_infinite(x: Operand) -> Tile:
    dtype = dtype_of_operand(x, "pypto.isinf")
    return apply("eq", apply("abs", x), math.inf) if dtype.is_float else apply("ne", x, x)


def is_finite(x: Operand) -> Tile:
    dtype = dtype_of_operand(x, "pypto.isfinite")
    return apply("lt", apply("abs", x), math.inf) if dtype.is_float else apply("eq", x, x)


def sign_bit(x: Operand) -> Tile:
    """True below zero and for -0.0."""
    dtype = dtype_of_operand(x, "pypto.signbit")
    return apply("signbit", x) if dtype.is_float else apply("lt", x, 0)


def copy_sign(x: Operand, y: Operand) -> Tile:
    """|x| with the sign of y."""
    dtype = result_type(tuple(normal(tracer_of((x, y), "pypto.copysign"), item) for item in (x, y)))
    dtype = dtype if dtype.is_float else F32
    own = isinstance(x, Tile) and x.dtype_ == dtype  # converting would round what f16 and bf16 tiles keep in f32
    size = apply("abs", x if own else convert(x, dtype))
    return select(sign_bit(y), apply("neg", size), size)


def truth(x: Operand) -> Operand:
    """True for everything but zeros; for NaN too."""
    return x if dtype_of_operand(x, "a logical function") == BOOL else apply("ne", x, 0)


def logical(name: str, x: Operand, y: Operand) -> Tile:
    """``and``, ``or``, ``xor`` of truth values."""
    return apply(name, truth(x), truth(y))


def logical_not(x: Operand) -> Tile:
    return apply("not", truth(x))


def extreme_number(name: str, x: Operand, y: Operand) -> Tile:
    """``maximum`` or ``minimum`` where NaN loses against a number."""
    chosen = apply(name, x, y)
    if not chosen.dtype_.is_float:
        return chosen
    return select(is_nan(x), y, select(is_nan(y), x, chosen))


def log_of_sum(x: Operand, y: Operand) -> Tile:
    """log(e^x + e^y) without overflow."""
    distance = apply("abs", apply("sub", x, y))
    grown = apply("log1p", apply("exp", apply("neg", distance)))
    apart = apply("add", apply("maximum", x, y), grown)
    return select(apply("eq", x, y), apply("add", x, math.log(2.0)), apart)


def rounded_to(x: Operand, decimals: int = 0) -> Tile:
    """x to `decimals` places (before the point when negative), ties to even, as NumPy: scaled, rounded, scaled back."""
    if decimals == 0 or not dtype_of_operand(x, "pypto.round").is_float:
        return to_whole("round", x)
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return apply("div", apply("round", apply("mul", x, factor)), factor)
    return apply("mul", apply("round", apply("div", x, factor)), factor)


def clipped(x: Operand, low: Operand, high: Operand) -> Tile:
    """``minimum(maximum(x, low), high)``; None is no bound."""
    result = x if low is None else apply("maximum", x, low)
    if high is not None:
        return apply("minimum", result, high)
    return copied(result, dtype_of_operand(result, "pypto.clip")) if result is x else result


def bounds_of(low: Operand, high: Operand, names: dict[str, Operand]) -> tuple[Operand, Operand]:
    """Return the bounds of a clip, given by NumPy's (``a_min``, ``min``) or torch's names."""
    found = {"low": low, "high": high}
    for name, value in names.items():
        side = {"a_min": "low", "min": "low", "a_max": "high", "max": "high"}.get(name)
        tracer = tracer_of((value,), "pypto.clip")
        if side is None:
            raise tracer.error("function-keyword", keyword=name, hint=nearest(name, ("min", "max", "a_min", "a_max")))
        if found[side] is not None:
            raise tracer.error("both-keywords", first=side, second=name)
        found[side] = value
    return found["low"], found["high"]


def truncated_quotient(x: Operand, y: Operand) -> Tile:
    """x / y without its fraction; of integers exactly, and 0 by 0."""
    dtype = result_type(tuple(normal(tracer_of((x, y), "pypto.divide"), item) for item in (x, y)))
    if dtype.is_float or dtype == BOOL:
        return apply("trunc", apply("div", x, y))
    whole = apply("floor_div", x, y)
    inexact = apply("ne", apply("remainder", x, y), 0)
    low = apply("and", inexact, apply("lt", whole, 0))
    return apply("add", whole, convert(low, dtype))


def cast_rounded(x: Operand, dtype: DType, rounding: str | None) -> Tile:
    """Return x in `dtype`; `rounding` says how a float becomes an integer.

    Raises UserError ``cast-rounding`` for another word, or where only the nearest number of `dtype` will do.
    """
    tracer = tracer_of((x,), "pypto.cast")
    if rounding is not None and rounding not in ROUNDINGS:
        raise tracer.error("rounding-mode", rounding=rounding, allowed=", ".join(map(repr, ROUNDINGS)))
    source = dtype_of_operand(x, "pypto.cast")
    if rounding is None or not source.is_float:
        if rounding not in (None, "nearest") and dtype.is_float:
            raise tracer.error("cast-rounding", rounding=rounding, dtype=dtype)
        return convert(x, dtype)
    if not dtype.is_integer:
        if rounding == "nearest":
            return convert(x, dtype)
        raise tracer.error("cast-rounding", rounding=rounding, dtype=dtype)
    operation = ROUNDINGS[rounding]
    whole = x if operation is None else half_away(x) if operation == "away" else apply(operation, x)
    return convert(whole, dtype)


def _operation(name: str) -> Callable[..., Tile]:
    return lambda *operands: apply(name, *operands)


def _degrees(factor: float) -> Callable[[Operand], Tile]:
    return lambda x: apply("mul", real(x, "a conversion of angles"), factor)


to_radians, to_degrees = _degrees(math.pi / 180.0), _degrees(180.0 / math.pi)

_SAME_MEANING: dict[str, str] = {
    "absolute": "abs", "add": "add", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "cbrt": "cbrt", "cos": "cos", "cosh": "cosh", "divide": "div", "equal": "eq", "exp": "exp",
    "exp2": "exp2", "expm1": "expm1", "fabs": "abs", "floor_divide": "floor_div", "fmod": "fmod", "gcd": "gcd",
    "greater": "gt", "greater_equal": "ge", "hypot": "hypot", "invert": "not", "left_shift": "shift_left", "less": "lt",
    "less_equal": "le", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "maximum": "maximum",
    "minimum": "minimum", "multiply": "mul", "negative": "neg", "not_equal": "ne", "reciprocal": "reciprocal",
    "remainder": "remainder", "right_shift": "shift_right", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "subtract": "sub", "tan": "tan", "tanh": "tanh",
}  # fmt: skip

UFUNCS: dict[str, Callable[..., Tile]] = {
    **{name: _operation(operation) for name, operation in _SAME_MEANING.items()},
    **{name: (lambda x, operation=name: to_whole(operation, x)) for name in ("floor", "ceil", "trunc")},
    "copysign": copy_sign,
    "deg2rad": to_radians,
    "degrees": to_degrees,
    "float_power": power,
    "fmax": lambda x, y: extreme_number("maximum", x, y),
    "fmin": lambda x, y: extreme_number("minimum", x, y),
    "isfinite": is_finite,
    "isinf": is_infinite,
    "isnan": is_nan,
    "logaddexp": log_of_sum,
    "logical_and": lambda x, y: logical("and", x, y),
    "logical_not": logical_not,
    "logical_or": lambda x, y: logical("or", x, y),
    "logical_xor": lambda x, y: logical("xor", x, y),
    "positive": lambda x: copied(x, dtype_of_operand(x, "np.positive")),
    "power": power,
    "rad2deg": to_degrees,
    "radians": to_radians,
    "rint": lambda x: to_whole("round", x),
    "sign": sign,
    "signbit": sign_bit,
    "square": lambda x: apply("mul", x, x),
}
"""What stands for NumPy's universal functions, by their names."""

ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "around": rounded_to,
    "fix": lambda x: to_whole("trunc", x),
    "round": rounded_to,
}
"""And for its other elementwise functions."""
