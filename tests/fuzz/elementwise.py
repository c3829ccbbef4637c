"""The oracle's elementwise functions beyond those of `shadow`, and the namespace of all of them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import special

from fuzz import shadow
from fuzz.shadow import (
    EPSILON,
    STORAGE,
    Refused,
    Shadow,
    bitwise,
    checked,
    convert,
    is_float,
    pair,
    require_exact,
    smooth,
    stepwise,
)


def whole(function: Callable[..., Any]) -> Callable[[Shadow], Shadow]:
    """Make floor, ceil, round or trunc, from exact values only; integers stay."""

    def apply(x: Shadow) -> Shadow:
        require_exact(x)
        return Shadow(function(x.value), 0.0, x.dtype) if is_float(x.dtype) else Shadow(x.value.copy(), 0.0, x.dtype)

    return apply


def test(function: Callable[..., Any]) -> Callable[[Shadow], Shadow]:
    """Make a function with bool results, from exact values only."""

    def apply(x: Shadow) -> Shadow:
        require_exact(x)
        return Shadow(function(x.value), 0.0, "bool")

    return apply


def logical(function: Callable[..., Any]) -> Callable[..., Shadow]:
    def apply(left: Any, right: Any) -> Shadow:
        x, y, _ = pair(left, right)
        require_exact(x, y)
        return Shadow(function(x.value, y.value), 0.0, "bool")

    return apply


def sign(x: Shadow) -> Shadow:
    require_exact(x)
    if x.dtype == "bool":
        return Shadow(x.value.copy(), 0.0, x.dtype)
    return Shadow(np.where(x.value == 0, np.abs(x.value), np.sign(x.value)).astype(x.value.dtype), 0.0, x.dtype)


def copysign(left: Any, right: Any) -> Shadow:
    """From a second operand that is exact."""
    x, y, dtype = pair(left, right)
    require_exact(y)
    if not is_float(dtype):
        raise Refused("the sign of an integer")
    if np.isnan(y.value).any():
        raise Refused("the sign of NaN")
    return Shadow(np.copysign(x.value, y.value), x.error.copy(), dtype)


def of_two(function: Callable[..., Any], exact: bool) -> Callable[..., Shadow]:
    """Make a function of two floats whose slopes are at most 1, or that takes exact values only."""

    def apply(left: Any, right: Any) -> Shadow:
        x, y, dtype = pair(left, right)
        if not is_float(dtype):
            x, y, dtype = convert(x, "float32"), convert(y, "float32"), "float32"
        if exact:
            require_exact(x, y)
        with np.errstate(all="ignore"):
            return checked(function(x.value, y.value), x.error + y.error, dtype, 4.0)

    return apply


def composite(function: Callable[..., Any], slope: float, absolute: float = 0.0) -> Callable[[Shadow], Shadow]:
    """Make an activation: a few rounded steps of its own, some of them as large as `absolute` times x.

    The generator gives it no settings but those that `function` has built in.
    """
    inner = smooth(function, lambda x, y: slope, 16.0)

    def apply(x: Shadow, *settings: float) -> Shadow:
        result = inner(x)
        size = np.where(np.isfinite(x.value), np.abs(x.value) + 1.0, 0.0)
        return checked(result.value, result.error + absolute * EPSILON[x.dtype] * size, x.dtype, 0.0)

    return apply


def softplus(x: Any) -> Any:
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


def shift(function: Callable[..., Any]) -> Callable[[Any, Any], Shadow]:
    def apply(left: Any, right: Any) -> Shadow:
        x, y, dtype = pair(left, right)
        if dtype == "bool":
            raise Refused("shifts of bools")
        return bitwise(function)(x, y)

    return apply


left_shift, right_shift = shift(np.left_shift), shift(np.right_shift)
Shadow.__lshift__ = left_shift  # type: ignore[attr-defined]
Shadow.__rshift__ = right_shift  # type: ignore[attr-defined]


def gcd(left: Any, right: Any) -> Shadow:
    x, y, dtype = pair(left, right)
    if dtype not in STORAGE or is_float(dtype) or dtype == "bool":
        raise Refused("divisors of what is no integer")
    return Shadow(np.gcd(x.value, y.value), 0.0, dtype)


PYPTO = SimpleNamespace(
    **{name: value for name, value in vars(shadow.PYPTO).items() if name != "nn"},
    exp2=smooth(np.exp2, lambda x, y: y),
    expm1=smooth(np.expm1, lambda x, y: y + 1),
    log2=smooth(np.log2, lambda x, y: 1.5 / np.abs(x), pole=True),
    log10=smooth(np.log10, lambda x, y: 0.5 / np.abs(x), pole=True),
    log1p=smooth(np.log1p, lambda x, y: 1 / np.abs(1 + x)),
    cbrt=smooth(np.cbrt, lambda x, y: np.abs(y / x), pole=True),
    sin=smooth(np.sin, lambda x, y: 1.0),
    cos=smooth(np.cos, lambda x, y: 1.0),
    atan=smooth(np.arctan, lambda x, y: 1.0),
    asin=smooth(np.arcsin, lambda x, y: 1 / np.sqrt(1 - x * x)),
    acos=smooth(np.arccos, lambda x, y: 1 / np.sqrt(1 - x * x)),
    sinh=smooth(np.sinh, lambda x, y: np.cosh(x)),
    cosh=smooth(np.cosh, lambda x, y: np.abs(np.sinh(x))),
    asinh=smooth(np.arcsinh, lambda x, y: 1.0),
    erfc=smooth(special.erfc, lambda x, y: 1.13, 8.0),
    floor=whole(np.floor),
    ceil=whole(np.ceil),
    round=whole(np.rint),
    trunc=whole(np.trunc),
    sign=sign,
    copysign=copysign,
    isnan=test(np.isnan),
    isfinite=test(np.isfinite),
    isinf=test(np.isinf),
    logical_not=test(np.logical_not),
    logical_and=logical(np.logical_and),
    logical_or=logical(np.logical_or),
    logical_xor=logical(np.logical_xor),
    fmod=stepwise(np.fmod),
    atan2=of_two(np.arctan2, exact=True),
    hypot=of_two(np.hypot, exact=False),
    left_shift=left_shift,
    right_shift=right_shift,
    gcd=gcd,
    nn=SimpleNamespace(
        **vars(shadow.PYPTO.nn),
        leaky_relu=composite(lambda x: np.where(x > 0, x, x * 0.25), 1.0),
        elu=composite(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), 1.0),
        silu=composite(lambda x: x * special.expit(x), 1.1),
        softplus=composite(softplus, 1.0),
        mish=composite(lambda x: x * np.tanh(softplus(x)), 1.1),
        hardswish=composite(lambda x: x * np.clip(x + 3, 0, 6) / 6, 1.5, absolute=8.0),
    ),
)
"""What stands for the module `pypto` in a random kernel."""
