"""Shapes, dtypes and new tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.ir.dtypes import F32
from pypto.tracing.context import require
from pypto.tracing.shaping import (
    a_tile,
    broadcasted,
    cast_named,
    concatenated,
    new_tile,
    one_name,
    permuted,
    reshaped,
)
from pypto.tracing.tiles import Tile

Shape = Any
"""A whole number or a sequence of them (elements of `.shape` included)."""


def cast(x: Any, dtype: object, rounding: str | None = None) -> Tile:
    """x in another dtype: narrowing floats round to nearest even, float to integer truncates and saturates, NaN
    gives 0.

    `dtype` is a name ("float16", "f16"), a NumPy or torch dtype, or bool, int (i64), float (f32). `rounding` says how
    a float becomes an integer: "trunc" (default), "floor", "ceil", "nearest" (ties to even) or "round" (ties away from
    zero); floats take "nearest" only. Raises UserError ``no-such-dtype``, ``rounding-mode`` or ``cast-rounding``.
    """
    return cast_named(x, dtype, rounding)


def reshape(x: Tile, shape: Shape) -> Tile:
    """The same elements in another shape, in row-major order; one extent may be -1. A view where NumPy's is.

    Raises UserError ``reshape-size`` or ``shape-kind``.
    """
    return reshaped(a_tile(x, "pypto.reshape"), shape)


def transpose(x: Tile, axes: Sequence[int] | None = None) -> Tile:
    """A view with axes in another order (default: reversed). Raises UserError ``transpose-axes``."""
    return permuted(x, axes)


def broadcast_to(x: Tile, shape: Shape) -> Tile:
    """A read-only view with axes of extent 1 repeated. Raises UserError ``shape-mismatch`` or ``broadcast-write``."""
    return broadcasted(x, shape)


def concat(tiles: Sequence[Tile], axis: int = 0, **torch_names: Any) -> Tile:
    """Tiles one after another along `axis` (or `dim`); dtypes promote. Raises UserError ``concat-shapes``."""
    axis = one_name(require("pypto.concat"), "axis", axis, 0, torch_names, "dim")
    return concatenated(tiles, axis)


def empty(shape: Shape, dtype: object = F32) -> Tile:
    """A local tile that nothing was written to yet. Reading such an element raises UserError ``read-unwritten``."""
    return new_tile("pypto.empty", shape, None, dtype)


def zeros(shape: Shape, dtype: object = F32) -> Tile:
    """A local tile of zeros."""
    return new_tile("pypto.zeros", shape, 0, dtype)


def ones(shape: Shape, dtype: object = F32) -> Tile:
    """A local tile of ones."""
    return new_tile("pypto.ones", shape, 1, dtype)


def full(shape: Shape, value: bool | int | float, dtype: object = F32) -> Tile:
    """A local tile with `value` everywhere. Raises UserError ``number-range`` where it does not fit `dtype`."""
    return new_tile("pypto.full", shape, value, dtype)
