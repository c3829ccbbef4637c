"""Which of several mistakes a user made when Python asks a tile for a truth value, a number or an iterator."""

from __future__ import annotations

import re

from pypto.ir.base.errors import UserError
from pypto.tracing.context import Tracer

_COMPARED = r"[^<>=!,()]+"
_CHAINED = re.compile(rf"{_COMPARED}(<=?|>=?){_COMPARED}(<=?|>=?){_COMPARED}")
_MATHEMATICAL = (
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees erf erfc exp exp2 expm1 floor fmod "
    "gcd hypot isfinite isinf isnan log log10 log1p log2 max maximum mean min minimum pow radians remainder sin sinh "
    "sqrt sum tan tanh trunc"
)
_MATH = {name: name for name in _MATHEMATICAL.split()} | {
    "fabs": "abs", "fmax": "maximum", "fmin": "minimum", "fsum": "sum",
}  # fmt: skip


def truth_error(tracer: Tracer) -> UserError:
    """Return the error for ``bool(tile)``, which the source line explains."""
    location = tracer.location()
    text = location.source_line() or ""
    stripped = text.strip()
    asked = text[location.column - 1 : location.end_column - 1] if location.column else text
    if stripped.startswith("while "):
        return UserError("tile-while", location)
    if re.search(r"\b(max|min)\(", asked) and "pypto." not in asked:
        return UserError("tile-builtin", location, function="max" if "max(" in asked else "min")
    if location.column and re.search(r"\b(and|or)\b", asked):
        return UserError("tile-and-or", location)
    if re.search(r"\bnot\b", asked):
        return UserError("tile-not", location)
    if _CHAINED.search(asked):
        return UserError("tile-chained", location)
    if re.search(r"\b(and|or)\b", text):
        return UserError("tile-and-or", location)
    return UserError("tile-bool", location)


def number_error(tracer: Tracer, function: str) -> UserError:
    """Return the error for ``float(tile)`` and the like, or for ``math.exp(tile)``, which asks for a float."""
    location = tracer.location()
    text = location.source_line() or ""
    found = re.search(r"\bmath\.(\w+)\(", text)
    if found and function == "float" and not re.search(r"\bfloat\(", text):
        name = found.group(1)
        instead = f"pypto.{_MATH[name]}" if name in _MATH else "the pypto function of that name"
        return UserError("math-function", location, function=f"math.{name}", instead=instead)
    return UserError("tile-as-number", location, function=function)


def iteration_error(tracer: Tracer) -> UserError:
    """Return the error for iterating over a tile; the builtins sum, max and min iterate."""
    location = tracer.location()
    text = location.source_line() or ""
    asked = text[location.column - 1 : location.end_column - 1] if location.column else text
    found = re.search(r"(?<![\w.])(sum|max|min)\(", asked)
    if found:
        return UserError("tile-builtin", location, function=found.group(1))
    return UserError("tile-iter", location)
