"""NumPy meanings: what each operation computes, exactly. The reference interpreter and eager mode run these.

Operands arrive in the dtypes of the IR (never f16 or bf16 except for `cast`). Those of exp and its kind
are in `functions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import DType

Array = NDArray[Any]


def quiet(function: Callable[..., Array]) -> Callable[..., Array]:
    """Silence floating-point and overflow warnings: special values are part of the meaning."""

    def wrapped(*arguments: Any, **attributes: Any) -> Array:
        with np.errstate(all="ignore"):
            return function(*arguments, **attributes)

    return wrapped


@quiet
def negate(x: Array) -> Array:
    return np.asarray(np.negative(x))


@quiet
def absolute(x: Array) -> Array:
    return np.abs(x)


def bitwise_not(x: Array) -> Array:
    return np.logical_not(x) if x.dtype == np.bool_ else np.invert(x)


@quiet
def add(x: Array, y: Array) -> Array:
    return np.add(x, y)


@quiet
def subtract(x: Array, y: Array) -> Array:
    return np.subtract(x, y)


@quiet
def multiply(x: Array, y: Array) -> Array:
    return np.multiply(x, y)


@quiet
def divide(x: Array, y: Array) -> Array:
    return np.divide(x, y)


@quiet
def floor_divide(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y)


@quiet
def remainder(x: Array, y: Array) -> Array:
    return np.remainder(x, y)


@quiet
def cast(x: Array, dtype: DType) -> Array:
    """Float to integer truncates toward zero and saturates, NaN gives 0; narrowing floats round to nearest even.

    NumPy leaves out-of-range conversions undefined; saturation is the choice that every target makes alike.
    """
    if dtype.is_integer and x.dtype.kind not in "iub":
        return _saturate(np.trunc(x.astype(np.float64)), dtype)
    if dtype.is_narrow_float and x.dtype != np.float32:
        return x.astype(np.float32).astype(dtype.numpy)
    return x.astype(dtype.numpy)


def _saturate(x: Array, dtype: DType) -> Array:
    information = np.iinfo(dtype.numpy)
    inside = (x >= information.min) & (x < float(information.max) + (1.0 if dtype.bits < 64 else 0.0))
    result = np.where(inside, x, 0).astype(dtype.numpy)
    result = np.where(x < information.min, information.min, result)
    return np.where((x > 0) & ~inside, information.max, result).astype(dtype.numpy)


def identity(x: Array) -> Array:
    return x


def maximum(x: Array, y: Array) -> Array:
    return np.maximum(x, y)


def minimum(x: Array, y: Array) -> Array:
    return np.minimum(x, y)


@quiet
def sum_(x: Array, axes: tuple[int, ...]) -> Array:
    wide = np.float64 if x.dtype.kind == "f" else x.dtype
    return np.asarray(np.sum(x, axis=axes, keepdims=True, dtype=wide)).astype(x.dtype)


@quiet
def mean(x: Array, axes: tuple[int, ...]) -> Array:
    count = math.prod(x.shape[axis] for axis in axes)
    total = np.asarray(np.sum(x, axis=axes, keepdims=True, dtype=np.float64))
    return np.asarray(np.true_divide(total, count)).astype(x.dtype)


def max_(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(np.max(x, axis=axes, keepdims=True))


def min_(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(np.min(x, axis=axes, keepdims=True))


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape)


def transpose(x: Array, permutation: tuple[int, ...]) -> Array:
    return x.transpose(permutation)


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    return np.asarray(np.broadcast_to(x, shape))


def selection(ranges: tuple[tuple[int, int, int], ...]) -> tuple[Any, ...]:
    """Return the NumPy index of (offset, extent, step) ranges."""
    return np.ix_(*(offset + step * np.arange(extent) for offset, extent, step in ranges))


def slice_(x: Array, ranges: tuple[tuple[int, int, int], ...]) -> Array:
    return np.asarray(x[selection(ranges)])


def insert(base: Array, piece: Array, ranges: tuple[tuple[int, int, int], ...]) -> Array:
    result = base.copy()
    result[selection(ranges)] = piece
    return result


@quiet
def pad(x: Array, low: tuple[int, ...], high: tuple[int, ...], value: float) -> Array:
    if not low:  # NumPy cannot pad an array without axes
        return x
    return np.pad(x, tuple(zip(low, high, strict=True)), constant_values=np.asarray(value).astype(x.dtype))


def concat(*pieces: Array, axis: int) -> Array:
    return np.concatenate(pieces, axis=axis)


@quiet
def constant(dtype: DType, value: float, shape: tuple[int, ...] = ()) -> Array:
    return np.full(shape, np.asarray(value).astype(dtype.numpy))


def undefined(dtype: DType, shape: tuple[int, ...]) -> Array:
    """Memory nobody wrote: NaN for floats, so that a value that leaks is seen."""
    return np.full(shape, np.nan if dtype.is_float else 0, dtype.numpy)


def iota(axis: int, dtype: DType, shape: tuple[int, ...]) -> Array:
    numbers = np.arange(shape[axis], dtype=np.int64).astype(dtype.numpy)
    return np.broadcast_to(numbers.reshape([-1] + [1] * (len(shape) - axis - 1)), shape).copy()


def index_value(value: int, dtype: DType) -> Array:
    return np.asarray(value, dtype.numpy)


def no_effect(**attributes: Any) -> None:
    """Synchronisation has no effect on values when statements run in program order."""
