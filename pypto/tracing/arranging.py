"""Stacking, splitting, turning and numbering of tiles."""

from __future__ import annotations

import math
import operator
from typing import Any

from pypto.ir.dtypes import F32, I32, I64, DType, compute_type
from pypto.tracing.context import Tracer, require
from pypto.tracing.elementwise import apply, convert, select
from pypto.tracing.extents import as_extent
from pypto.tracing.ordered import count_along, one_axis, whole_number
from pypto.tracing.shaping import a_tile, axes_of, broadcasted, concatenated, dtype_of, reshaped
from pypto.tracing.tiles import Tile
from pypto.tracing.values import cast


def widened(tile: Tile, axis: Any) -> Tile:
    """Return a view with new axes of extent 1 at the places `axis` (a number or several) has in the result."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = axes_of(tile.tracer, tuple(given), tile.rank + len(given))
    rest = iter((slice(None),) * tile.rank)
    return tile[tuple(None if place in places else next(rest) for place in range(tile.rank + len(given)))]


def squeezed(tile: Tile, axis: Any) -> Tile:
    """Return a view without axes of extent 1: those of `axis`, or all; raises UserError ``squeeze-extent``."""
    if axis is None:
        axes = tuple(number for number, extent in enumerate(tile.extents) if extent == 1)
    else:
        axes = axes_of(tile.tracer, axis, tile.rank)
    for number in axes:
        if tile.extents[number] != 1:
            raise tile.tracer.error("squeeze-extent", axis=number, extent=tile.extents[number])
    return tile[tuple(0 if number in axes else slice(None) for number in range(tile.rank))]


def stacked(tiles: Any, axis: Any) -> Tile:
    """Return tiles of one shape along a new axis."""
    tracer = require("pypto.stack")
    if not isinstance(tiles, (tuple, list)) or not tiles:
        raise tracer.error("concat-pieces")
    pieces = [a_tile(item, "pypto.stack") for item in tiles]
    place = one_axis(tracer, axis, pieces[0].rank + 1)
    for piece in pieces[1:]:
        if piece.extents != pieces[0].extents:
            raise tracer.error("concat-shapes", first=pieces[0].shape, other=piece.shape, axis=place)
    return concatenated([widened(piece, place) for piece in pieces], place)


def flipped(tile: Tile, axis: Any) -> Tile:
    """Return a view with the elements along axes in reverse order; None reverses all."""
    axes = axes_of(tile.tracer, axis, tile.rank)
    if not tile.rank:
        return tile
    return tile[tuple(slice(None, None, -1) if number in axes else slice(None) for number in range(tile.rank))]


def rolled(tile: Tile, shift: Any, axis: Any) -> Tile:
    """Return a new tile with elements moved along axes; those that leave come in at the other end."""
    tracer = tile.tracer
    if axis is None:
        return reshaped(rolled(reshaped(tile, -1), shift, 0), tile.extents)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise tracer.error("roll-shifts", shifts=tuple(shifts), axes=tuple(axes))
    for amount, item in zip(shifts, axes, strict=True):
        tile = _rolled_one(tile, operator.index(amount), one_axis(tracer, item, tile.rank))
    return tile.copy()


def _rolled_one(tile: Tile, shift: int, axis: int) -> Tile:
    extent = count_along(tile, (axis,))
    if extent == 0 or shift % extent == 0:
        return tile
    cut = extent - shift % extent
    around = (slice(None),) * axis
    return concatenated([tile[(*around, slice(cut, None))], tile[(*around, slice(None, cut))]], axis)


def moved(tile: Tile, source: Any, destination: Any) -> Tile:
    """numpy.moveaxis: a view with some axes at other places."""
    tracer, rank = tile.tracer, tile.rank
    sources = [one_axis(tracer, item, rank) for item in (source if isinstance(source, (tuple, list)) else (source,))]
    given = destination if isinstance(destination, (tuple, list)) else (destination,)
    places = [one_axis(tracer, item, rank) for item in given]
    if len(sources) != len(places) or len(set(sources)) < len(sources) or len(set(places)) < len(places):
        raise tracer.error("transpose-axes", axes=(source, destination), rank=rank)
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return tile.transposed(tuple(order))


def swapped(tile: Tile, first: Any, second: Any) -> Tile:
    """A view with two axes exchanged."""
    left, right = (one_axis(tile.tracer, item, tile.rank) for item in (first, second))
    order = list(range(tile.rank))
    order[left], order[right] = right, left
    return tile.transposed(tuple(order))


def pieces_of(tile: Tile, sizes: list[int], axis: int) -> tuple[Tile, ...]:
    """Return views of a tile one after another along an axis."""
    around, start, found = (slice(None),) * axis, 0, []
    for size in sizes:
        found.append(tile[(*around, slice(start, start + size))])
        start += size
    return tuple(found)


def split(tile: Tile, sizes: Any, axis: Any) -> tuple[Tile, ...]:
    """torch.split: pieces of one size, the last may be smaller, or of the sizes listed."""
    tracer = tile.tracer
    number = one_axis(tracer, axis, tile.rank)
    extent = count_along(tile, (number,))
    if isinstance(sizes, (tuple, list)):
        listed = [whole_number(tracer, "sizes", item) for item in sizes]
        if sum(listed) != extent:
            raise tracer.error("split-sizes", sizes=tuple(listed), axis=number, extent=extent)
        return pieces_of(tile, listed, number)
    size = whole_number(tracer, "the size of a piece", sizes)
    if size == 0:
        raise tracer.error("count-kind", what="the size of a piece", number=0)
    return pieces_of(tile, [min(size, extent - start) for start in range(0, extent, size)] or [0], number)


def copied(tile: Tile) -> Tile:
    """Return a tile of its own with the elements of `tile`."""
    return Tile.of_value(tile.tracer, tile.read(), tile.dtype_)


def repeated(tile: Tile, repeats: Any, axis: Any) -> Tile:
    """numpy.repeat: each element several times, one behind the other; None takes all in row-major order."""
    tracer = tile.tracer
    if axis is None:
        tile, axis = reshaped(tile, -1), 0
    number, count = one_axis(tracer, axis, tile.rank), whole_number(tracer, "repeats", repeats)
    shape = tile.extents
    wide = copied(broadcasted(widened(tile, number + 1), (*shape[: number + 1], count, *shape[number + 1 :])))
    total = count_along(tile, (number,)) * count
    return reshaped(wide, (*shape[:number], total, *shape[number + 1 :]))


def tiled(tile: Tile, counts: Any) -> Tile:
    """numpy.tile: copies of the whole tile beside each other."""
    tracer = tile.tracer
    listed = [
        whole_number(tracer, "repeats", item) for item in (counts if isinstance(counts, (tuple, list)) else (counts,))
    ]
    while len(listed) < tile.rank:
        listed.insert(0, 1)
    shape = (*(1,) * (len(listed) - tile.rank), *tile.extents)
    pairs = tuple(item for extent in shape for item in (1, extent))
    wide = tuple(item for count, extent in zip(listed, shape, strict=True) for item in (count, extent))
    copies = copied(broadcasted(reshaped(tile, pairs), wide))
    extents = [as_extent(extent) for extent in shape]
    whole = tuple(
        count * extent if isinstance(extent, int) else count * count_along(tile, (number - len(shape) + tile.rank,))
        for number, (count, extent) in enumerate(zip(listed, extents, strict=True))
    )
    return reshaped(copies, whole)


# -- numbers


def numbered(tracer: Tracer, extent: Any, dtype: DType = I64) -> Tile:
    """Return 0, 1, 2, ... in one axis."""
    tracer.note("iota", extent, dtype.name)
    shape = (*(1,) * len(tracer.hidden), extent)
    value = tracer.emit("iota", (), axis=len(tracer.hidden), dtype=dtype, shape=shape)
    return Tile.of_value(tracer, value, dtype)


def number_range(start: Any, stop: Any, step: Any, dtype: Any) -> Tile:
    """numpy.arange of numbers; whole ones are i64, others f32."""
    tracer = require("pypto.arange")
    first, last = (0, start) if stop is None else (start, stop)
    first, last, by = (_number(tracer, item) for item in (first, last, step))
    if by == 0:
        raise tracer.error("slice-step", step=0)
    is_whole = all(isinstance(item, int) for item in (first, last, by))
    found = (I64 if is_whole else F32) if dtype is None else dtype_of(tracer, dtype)
    count = max(0, math.ceil((last - first) / by))
    if is_whole or found.is_integer:
        numbers = numbered(tracer, count, I64 if found.bits == 64 or found.is_float else I32)
        return convert(numbers * int(by) + int(first), found)
    wide = compute_type(found)
    real = Tile.of_value(tracer, cast(tracer, numbered(tracer, count, I32).read(), wide), wide)
    return convert(real * float(by) + float(first), found)


def _number(tracer: Tracer, item: Any) -> int | float:
    extent = None if isinstance(item, Tile) else as_extent(item)
    if isinstance(extent, int):
        return extent
    if isinstance(item, float) and math.isfinite(item):
        return item
    raise tracer.error("arange-number", number=item)


def triangle(tile: Tile, diagonal: Any, lower: bool) -> Tile:
    """Return the tile with zeros above (or below) a diagonal of the last two axes."""
    tracer = tile.tracer
    if tile.rank < 2:
        raise tracer.error("matrix-needed", function="tril" if lower else "triu", rank=tile.rank)
    rows, columns = (numbered(tracer, extent, I32) for extent in tile.extents[-2:])
    kept = apply("ge" if lower else "le", rows[:, None] + operator.index(diagonal), columns[None, :])
    return select(kept, tile, tile.filled(0))
