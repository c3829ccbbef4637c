"""Stacking, splitting, turning and numbering of tiles, under NumPy's and torch's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.ir.dtypes import I32
from pypto.tracing import arranging, ordered
from pypto.tracing.context import require
from pypto.tracing.ordered import settled, whole_number
from pypto.tracing.shaping import a_tile, new_tile, one_name
from pypto.tracing.tiles import Tile

Axes = Any
"""A whole number, negative from the end, or several of them."""


def stack(tiles: Sequence[Tile], axis: int = 0, **torch_names: Any) -> Tile:
    """Tiles of one shape along a new axis. Raises UserError ``concat-pieces`` or ``concat-shapes``."""
    axis = one_name(require("pypto.stack"), "axis", axis, 0, torch_names, "dim")
    return arranging.stacked(tiles, axis)


def squeeze(x: Tile, axis: Axes = None, **torch_names: Any) -> Tile:
    """A view without axes of extent 1: those of `axis`, or all. Raises UserError ``squeeze-extent``."""
    tile = a_tile(x, "pypto.squeeze")
    return arranging.squeezed(tile, settled(tile.tracer, {"axis": axis}, {"axis": None}, torch_names)["axis"])


def unsqueeze(x: Tile, axis: int | None = None, **torch_names: Any) -> Tile:
    """A view with a new axis of extent 1, at place `axis` (or `dim`) of the result."""
    tile = a_tile(x, "pypto.unsqueeze")
    return arranging.widened(tile, settled(tile.tracer, {"axis": axis}, {"axis": None}, torch_names)["axis"])


def expand_dims(x: Tile, axis: Axes) -> Tile:
    """A view with new axes of extent 1, at places `axis` of the result (NumPy's name)."""
    return arranging.widened(a_tile(x, "pypto.expand_dims"), axis)


def swapaxes(x: Tile, axis1: int, axis2: int) -> Tile:
    """A view with two axes exchanged."""
    return arranging.swapped(a_tile(x, "pypto.swapaxes"), axis1, axis2)


def moveaxis(x: Tile, source: Axes, destination: Axes) -> Tile:
    """A view with axes moved to other places. Raises UserError ``transpose-axes``."""
    return arranging.moved(a_tile(x, "pypto.moveaxis"), source, destination)


def flip(x: Tile, axis: Axes = None, **torch_names: Any) -> Tile:
    """A view with the elements along axes (None: all) in reverse order; torch calls the axes `dims`."""
    tile = a_tile(x, "pypto.flip")
    return arranging.flipped(tile, one_name(tile.tracer, "axis", axis, None, torch_names, "dims"))


def roll(x: Tile, shift: Any, axis: Axes = None, **torch_names: Any) -> Tile:
    """Elements moved on by `shift` along `axis` (torch: `shifts`, `dims`); None rolls all in row-major order.

    Raises UserError ``roll-shifts``.
    """
    tile = a_tile(x, "pypto.roll")
    return arranging.rolled(tile, shift, one_name(tile.tracer, "axis", axis, None, torch_names, "dims"))


def split(x: Tile, split_size: Any, axis: int = 0, **torch_names: Any) -> tuple[Tile, ...]:
    """torch.split: views of `split_size` elements along `axis` each (the last may be shorter), or of the sizes listed.

    Raises UserError ``split-sizes``. numpy.split of a tile has NumPy's meaning.
    """
    tile = a_tile(x, "pypto.split")
    return arranging.split(tile, split_size, one_name(tile.tracer, "axis", axis, 0, torch_names, "dim"))


def chunk(x: Tile, chunks: int, axis: int = 0, **torch_names: Any) -> tuple[Tile, ...]:
    """torch.chunk: at most `chunks` views of one size along `axis`, the last may be shorter."""
    tile = a_tile(x, "pypto.chunk")
    number = ordered.one_axis(tile.tracer, one_name(tile.tracer, "axis", axis, 0, torch_names, "dim"), tile.rank)
    count = max_of_one(whole_number(tile.tracer, "chunks", chunks))
    size = -(-ordered.count_along(tile, (number,)) // count)
    return arranging.split(tile, max_of_one(size), number)


def max_of_one(number: int) -> int:
    """Return `number`, but at least 1."""
    return number if number > 1 else 1


def repeat(x: Tile, repeats: int, axis: int | None = None, **torch_names: Any) -> Tile:
    """numpy.repeat and torch.repeat_interleave: each element `repeats` times, one behind the other along `axis`."""
    tile = a_tile(x, "pypto.repeat")
    return arranging.repeated(tile, repeats, one_name(tile.tracer, "axis", axis, None, torch_names, "dim"))


repeat_interleave = repeat


def tril(x: Tile, diagonal: int = 0, **numpy_names: Any) -> Tile:
    """x with zeros above a diagonal of the last two axes (0: the main one, negative: below). NumPy calls it `k`."""
    tile = a_tile(x, "pypto.tril")
    return arranging.triangle(tile, one_name(tile.tracer, "diagonal", diagonal, 0, numpy_names, "k"), lower=True)


def triu(x: Tile, diagonal: int = 0, **numpy_names: Any) -> Tile:
    """x with zeros below a diagonal of the last two axes (0: the main one, positive: above). NumPy calls it `k`."""
    tile = a_tile(x, "pypto.triu")
    return arranging.triangle(tile, one_name(tile.tracer, "diagonal", diagonal, 0, numpy_names, "k"), lower=False)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: object = None) -> Tile:
    """Numbers from `start` (default 0) below `stop`, `step` apart: i64 for whole ones, else f32.

    Floats are ``start + i * step`` with both operations rounded. Raises UserError ``arange-number``.
    """
    return arranging.number_range(start, stop, step, dtype)


def eye(n: int, m: int | None = None, dtype: object = "float32") -> Tile:
    """A matrix of n rows and m columns (default n) with ones on the main diagonal."""
    from pypto.tracing.elementwise import apply
    from pypto.tracing.shaping import cast_named

    tracer = require("pypto.eye")
    rows = arranging.numbered(tracer, whole_number(tracer, "rows", n), I32)
    columns = arranging.numbered(tracer, whole_number(tracer, "columns", n if m is None else m), I32)
    return cast_named(apply("eq", rows[:, None], columns[None, :]), dtype)


def zeros_like(x: Tile, dtype: object = None) -> Tile:
    """A new tile of zeros in the shape, and unless `dtype` is given the dtype, of x."""
    return _like("pypto.zeros_like", x, 0, dtype)


def ones_like(x: Tile, dtype: object = None) -> Tile:
    """A new tile of ones in the shape, and unless `dtype` is given the dtype, of x."""
    return _like("pypto.ones_like", x, 1, dtype)


def full_like(x: Tile, value: bool | int | float, dtype: object = None) -> Tile:
    """A new tile of `value` in the shape, and unless `dtype` is given the dtype, of x."""
    return _like("pypto.full_like", x, value, dtype)


def empty_like(x: Tile, dtype: object = None) -> Tile:
    """A new tile that nothing was written to yet, in the shape, and unless `dtype` is given the dtype, of x."""
    return _like("pypto.empty_like", x, None, dtype)


def _like(what: str, x: Tile, value: bool | int | float | None, dtype: object) -> Tile:
    tile = a_tile(x, what)
    return new_tile(what, tile.extents, value, tile.dtype if dtype is None else dtype)
