"""Comparing an array with what the reference gives: bounds, and a sentence about the first element outside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def difference(name: str, got: Array, wanted: Array, relative: float, absolute: float) -> str | None:
    """Return None when `got` is near `wanted`, else a sentence with the first element that is not, got and expected.

    Near: equal, both NaN, or apart by at most ``absolute + relative * |wanted|``; with `relative` 0 only equal.
    """
    if relative > 0.0 and _surely_near(got, wanted, relative, absolute):
        return None
    allowed: Any = 0
    if relative == 0.0:
        wrong = got != wanted
    else:
        left, right = got.astype(np.float64), wanted.astype(np.float64)
        allowed = absolute + relative * np.where(np.isfinite(right), np.abs(right), 0.0)
        with np.errstate(invalid="ignore"):
            near = (left == right) | (np.isnan(left) & np.isnan(right)) | (np.abs(left - right) <= allowed)
        wrong = ~near
    if not wrong.any():
        return None
    place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    index = ", ".join(str(int(item)) for item in place)
    bound = "exactly" if relative == 0.0 else f"within {float(np.broadcast_to(allowed, wrong.shape)[place]):.3g}"
    return (
        f"{name}[{index}] is {got[place]}, the reference gives {wanted[place]} and they must agree {bound}; "
        f"{int(wrong.sum())} of {wrong.size} elements differ"
    )


def _surely_near(got: Array, wanted: Array, relative: float, absolute: float) -> bool:
    """Return whether all elements are within half the bounds and finite: arithmetic with an error far below a half."""
    dtype = np.float32 if got.dtype.itemsize <= 4 else np.float64
    left: Array = got.astype(dtype, copy=False)
    right: Array = wanted.astype(dtype, copy=False)
    with np.errstate(all="ignore"):
        bound = np.abs(right)
        bound *= dtype(0.5 * relative)
        bound += dtype(0.5 * absolute)
        return bool(((np.abs(left - right) <= bound) & (bound < np.inf)).all())
