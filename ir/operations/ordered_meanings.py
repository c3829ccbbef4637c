"""NumPy meanings of the operations that depend on the order of elements: products, scans, positions, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.operations.meanings import quiet

Array = NDArray[Any]


@quiet
def prod(x: Array, axes: tuple[int, ...]) -> Array:
    wide = np.float64 if x.dtype.kind == "f" else x.dtype
    return np.asarray(np.prod(x, axis=axes, keepdims=True, dtype=wide)).astype(x.dtype)


def any_(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(np.any(x, axis=axes, keepdims=True))


def all_(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(np.all(x, axis=axes, keepdims=True))


@quiet
def cumsum(x: Array, axis: int) -> Array:
    """Sums in f64 of f32, so that only the last rounding counts."""
    wide = np.float64 if x.dtype.kind == "f" else x.dtype
    return np.cumsum(x, axis=axis, dtype=wide).astype(x.dtype)


@quiet
def cumprod(x: Array, axis: int) -> Array:
    """From left to right, each product rounded."""
    return np.cumprod(x, axis=axis, dtype=x.dtype)


def argmax(x: Array, axis: int) -> Array:
    return np.asarray(np.argmax(x, axis=axis, keepdims=True), np.int64)


def argmin(x: Array, axis: int) -> Array:
    return np.asarray(np.argmin(x, axis=axis, keepdims=True), np.int64)


def argsort(x: Array, axis: int, count: int, descending: bool) -> Array:
    """The first `count` positions in order; NaN is the largest value, equals keep their order."""
    if descending:
        backward = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(backward, axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    return np.take(order, np.arange(count), axis=axis).astype(np.int64)
