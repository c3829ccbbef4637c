"""Methods of tiles that are functions of `pypto` under the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _named(name: str) -> Callable[..., Any]:
    """Return the method that calls ``pypto.<name>`` with the tile first."""

    def method(tile: Any, *operands: Any, **keywords: Any) -> Any:
        from pypto import language

        return getattr(language, name)(tile, *operands, **keywords)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tile.{name}", f"As `pypto.{name}`."
    return method


class ElementwiseMethods:
    """What NumPy's and torch's arrays have as methods, elementwise."""

    __slots__ = ()

    abs = _named("abs")
    absolute = _named("abs")
    acos = _named("acos")
    acosh = _named("acosh")
    asin = _named("asin")
    asinh = _named("asinh")
    atan = _named("atan")
    atan2 = _named("atan2")
    atanh = _named("atanh")
    ceil = _named("ceil")
    clamp = _named("clip")
    clip = _named("clip")
    copysign = _named("copysign")
    cos = _named("cos")
    cosh = _named("cosh")
    erf = _named("erf")
    erfc = _named("erfc")
    exp = _named("exp")
    exp2 = _named("exp2")
    expm1 = _named("expm1")
    floor = _named("floor")
    fmod = _named("fmod")
    hypot = _named("hypot")
    isfinite = _named("isfinite")
    isinf = _named("isinf")
    isnan = _named("isnan")
    log = _named("log")
    log10 = _named("log10")
    log1p = _named("log1p")
    log2 = _named("log2")
    logical_and = _named("logical_and")
    logical_not = _named("logical_not")
    logical_or = _named("logical_or")
    logical_xor = _named("logical_xor")
    maximum = _named("maximum")
    minimum = _named("minimum")
    neg = _named("neg")
    pow = _named("pow")
    reciprocal = _named("reciprocal")
    remainder = _named("remainder")
    round = _named("round")
    rsqrt = _named("rsqrt")
    sigmoid = _named("sigmoid")
    sign = _named("sign")
    signbit = _named("signbit")
    sin = _named("sin")
    sinh = _named("sinh")
    sqrt = _named("sqrt")
    square = _named("square")
    tan = _named("tan")
    tanh = _named("tanh")
    trunc = _named("trunc")
