"""Reductions over any axes, with NumPy's keyword names (axis, keepdims) or torch's (dim, keepdim).

`axis` is a number (negative from the end), several, or None for all. Reduced axes vanish unless `keepdims`. Each
raises UserError ``axis-range``, ``axis-twice``, ``axis-kind``, ``both-keywords`` or ``function-keyword``.
"""

from __future__ import annotations

from typing import Any

from pypto.tracing.shaping import reduce_named
from pypto.tracing.tiles import Tile

Axis = Any
"""None, a whole number, or several of them."""


def sum(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Sum; of nothing 0. Integers and bools sum in i64; f16 and bf16 in f32, f32 in f32."""
    return reduce_named("sum", x, axis, keepdims, torch_names)


def mean(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Arithmetic mean; of nothing NaN. The mean of integers is f32."""
    return reduce_named("mean", x, axis, keepdims, torch_names)


def max(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Largest element; NaN if any is NaN. An empty axis raises UserError ``empty-reduction``."""
    return reduce_named("max", x, axis, keepdims, torch_names)


def min(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Smallest element; NaN if any is NaN. An empty axis raises UserError ``empty-reduction``."""
    return reduce_named("min", x, axis, keepdims, torch_names)
