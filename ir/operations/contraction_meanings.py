"""NumPy meanings of the contractions: floats add up in float64 and round once, integers wrap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pypto.ir.operations.meanings import Array, quiet


def _wide(x: Array) -> Array:
    """Return `x` in a type in which its products add up exactly enough: float64 for f32 and for 8 bits."""
    return x.astype(np.float64) if x.dtype.kind == "f" or x.dtype.itemsize == 1 else x


def _narrow(total: Array, dtype: np.dtype[Any]) -> Array:
    """Round floats to `dtype`; sums of products of 8 bits are whole numbers and wrap to i32."""
    if dtype.itemsize == 1:
        return total.astype(np.int64).astype(np.int32)
    return total.astype(dtype)


@quiet
def matmul(x: Array, y: Array) -> Array:
    return _narrow(np.asarray(np.matmul(_wide(x), _wide(y))), x.dtype)


@quiet
def convolution(x: Array, w: Array, dilation: tuple[int, int], stride: tuple[int, int]) -> Array:
    """The windows of x, as rows of a matrix, times the kernels."""
    reach = tuple(step * (size - 1) + 1 for step, size in zip(dilation, w.shape[-2:], strict=True))
    windows = sliding_window_view(x, reach, axis=(-2, -1))
    windows = windows[..., :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    rows = np.moveaxis(windows, -5, -3)  # [.., oh, ow, c, p, q]
    count = w.shape[-3] * w.shape[-2] * w.shape[-1]
    rows = rows.reshape(*rows.shape[:-5], rows.shape[-5] * rows.shape[-4], count)
    columns = w.reshape(*w.shape[:-3], count)
    total = np.asarray(np.matmul(_wide(columns), np.swapaxes(_wide(rows), -1, -2)))
    return _narrow(total.reshape(*total.shape[:-1], *windows.shape[-4:-2]), x.dtype)


@quiet
def attention(query: Array, key: Array, value: Array, mask: Array, causal: bool, scale: float) -> Array:
    """softmax(query key^T scale + mask) value; a row whose scores are all -inf gives 0."""
    dtype = query.dtype
    query, key, value, mask = (np.asarray(item, np.float64) for item in (query, key, value, mask))
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * scale + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, -np.inf)
    if scores.shape[-1] == 0:
        return np.zeros((*scores.shape[:-1], value.shape[-1]), dtype)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(largest == -np.inf, 0.0, largest))
    total = weights.sum(-1, keepdims=True)
    return np.asarray(np.matmul(weights / np.where(total == 0.0, 1.0, total), value)).astype(dtype)
