"""Choosing elements of tiles by the numbers in other tiles, and writing to the places they name."""

from __future__ import annotations

from typing import Any

from pypto.ir.dtypes import I32, I64, compute_type
from pypto.ir.nodes import Value
from pypto.ir.operations.rules import show_shape
from pypto.tracing.context import Tracer
from pypto.tracing.elementwise import as_value, normal, result_type
from pypto.tracing.ordered import one_axis
from pypto.tracing.shaping import a_tile, reshaped
from pypto.tracing.tiles import Tile
from pypto.tracing.values import Shape, cast, common_shape, full, join_hidden, put, reform, spread, take


def index_tile(operand: Any, what: str) -> Tile:
    """Return a tile of whole numbers; raises UserError ``index-dtype``."""
    tile = a_tile(operand, what)
    if not tile.dtype_.is_integer:
        raise tile.tracer.error("index-dtype", dtype=tile.dtype_)
    return tile


def index_value(tile: Tile) -> Value:
    """Return indices as a value with all axes, in i32 or i64."""
    value = full(tile.tracer, tile.read(), tile.rank)
    return value if value.dtype in (I32, I64) else cast(tile.tracer, value, I64)


def chosen(tile: Tile, indices: Tile, axis: int, wrap: bool) -> Tile:
    """Elements of a tile along an axis; the indices have as many axes, the other ones broadcast."""
    tracer = tile.tracer
    _check_rank(tracer, tile, indices)
    around = tuple((*item.extents[:axis], 1, *item.extents[axis + 1 :]) for item in (tile, indices))
    common_shape(tracer, around)
    _check_not_empty(tracer, tile, indices, axis)
    tracer.note("gather", tile.key, indices.key, axis, wrap)
    operands = (full(tracer, tile.read(), tile.rank), index_value(indices))
    value = tracer.emit("gather", operands, axis=len(tracer.hidden) + axis, wrap=wrap)
    return Tile.of_value(tracer, value, tile.dtype_)


def _check_rank(tracer: Tracer, tile: Tile, other: Tile) -> None:
    if tile.rank != other.rank:
        raise tracer.error("index-rank", rank=tile.rank, other=other.rank)


def _check_not_empty(tracer: Tracer, tile: Tile, indices: Tile, axis: int) -> None:
    if tile.extents[axis] == 0 and 0 not in indices.extents:
        raise tracer.error("empty-indexed", axis=axis, shape=show_shape(tile.extents))


def taken(tile: Tile, indices: Tile, axis: int, wrap: bool) -> Tile:
    """numpy.take: the axis is replaced by all axes of the indices."""
    tracer = tile.tracer
    before, after = tile.extents[:axis], tile.extents[axis + 1 :]
    _check_not_empty(tracer, tile, indices, axis)
    tracer.note("take", tile.key, indices.key, axis, wrap)
    numbers = index_value(indices)
    flat = reform(tracer, numbers, (_size(indices),))
    placed = reform(tracer, flat, (*(1,) * len(before), _size(indices), *(1,) * len(after)))
    value = tracer.emit(
        "gather", (full(tracer, tile.read(), tile.rank), placed), axis=len(tracer.hidden) + axis, wrap=wrap
    )
    return Tile.of_value(tracer, reform(tracer, value, (*before, *indices.extents, *after)), tile.dtype_)


def _size(indices: Tile) -> Any:
    return indices.extents[0] if indices.rank == 1 else indices.size


def smaller(tile: Tile, other: Tile, axis: int) -> tuple[Any, ...] | None:
    """Return the part of a tile that `other` reaches on the axes beside `axis`; None when that is all.

    Raises UserError ``index-extents``.
    """
    tracer = tile.tracer
    _check_rank(tracer, tile, other)
    if all(a == b for number, (a, b) in enumerate(zip(tile.extents, other.extents, strict=True)) if number != axis):
        return None
    for number, (mine, theirs) in enumerate(zip(tile.extents, other.extents, strict=True)):
        if number != axis and isinstance(mine, int) and isinstance(theirs, int) and theirs > mine:
            raise tracer.error(
                "index-extents", index=show_shape(other.extents), shape=show_shape(tile.extents), axis=number
            )
    return tuple(
        (0, mine if number == axis else theirs, 1)
        for number, (mine, theirs) in enumerate(zip(tile.extents, other.extents, strict=True))
    )


def gathered(tile: Tile, axis: Any, indices: Tile) -> Tile:
    """torch.gather: the result has the shape of the indices, which reach over the first elements of the other axes."""
    number = one_axis(tile.tracer, axis, tile.rank)
    part = smaller(tile, indices, number)
    if part is not None:
        tile = tile[tuple(slice(0, extent) for _, extent, _ in part)]
    return chosen(tile, indices, number, wrap=False)


def scattered(name: str, tile: Tile, axis: Any, indices: Tile, updates: Any, along: bool = False) -> Tile:
    """Return the tile with updates written to, or added at, the places that the indices name.

    `along`: the indices have one axis, that of `axis`, and whole slices are written.
    """
    tracer = tile.tracer
    number = one_axis(tracer, axis, tile.rank)
    updates = normal(tracer, updates)
    result = result_type((tile, updates))
    if result != tile.dtype_:
        raise tracer.error("in-place-dtype", target=tile.dtype_, value=result)
    if along:
        indices = _spread_index(tile, indices, number)
    tracer.note(name, tile.key, indices.key, updates.key if isinstance(updates, Tile) else repr(updates), number)
    part = None if along else smaller(tile, indices, number)
    base = full(tracer, tile.read(), tile.rank)
    inner = base if part is None else take(tracer, base, part)
    value = _scatter(tracer, name, inner, number, indices, _updates(tile, updates, indices, number, along))
    if part is not None:
        value = put(tracer, base, value, part)
    return Tile.of_value(tracer, value, tile.dtype_)


def _spread_index(tile: Tile, indices: Tile, axis: int) -> Tile:
    if indices.rank > 1:
        raise tile.tracer.error("index-rank", rank=1, other=indices.rank)
    return reshaped(indices, tuple(-1 if number == axis else 1 for number in range(tile.rank)))


def _updates(tile: Tile, updates: Any, indices: Tile, axis: int, along: bool) -> Value:
    """Return the updates as a value with all axes; torch's may be larger than the indices."""
    tracer = tile.tracer
    if isinstance(updates, Tile) and updates.rank:
        _check_rank(tracer, tile, updates)
        wanted = indices.extents if not along else _along_shape(tile, indices, axis)
        for number, (theirs, mine) in enumerate(zip(wanted, updates.extents, strict=True)):
            if isinstance(mine, int) and isinstance(theirs, int) and (theirs > mine or (along and theirs != mine)):
                raise tracer.error(
                    "index-extents", index=show_shape(wanted), shape=show_shape(updates.extents), axis=number
                )
        if wanted != updates.extents:
            updates = updates[tuple(slice(0, extent) for extent in wanted)]
    return full(tracer, as_value(tracer, updates, compute_type(tile.dtype_)), tile.rank)


def _along_shape(tile: Tile, indices: Tile, axis: int) -> Shape:
    return (*tile.extents[:axis], indices.extents[axis], *tile.extents[axis + 1 :])


def _scatter(tracer: Tracer, name: str, base: Value, axis: int, indices: Tile, updates: Value) -> Value:
    numbers = index_value(indices)
    visible = base.shape[len(tracer.hidden) :]
    if visible[axis] == 0 and 0 not in indices.extents:
        raise tracer.error("empty-indexed", axis=axis, shape=show_shape(visible))
    whole = spread(tracer, base, visible, join_hidden(tracer, base, numbers, updates))
    return tracer.emit(name, (whole, numbers, updates), axis=len(tracer.hidden) + axis, wrap=False)


def by_tile(tile: Tile, key: Any) -> Tile | None:
    """Return ``t[index]``, ``t[:, index]`` ...: a tile of whole numbers among whole slices; None for other keys."""
    items = key if isinstance(key, tuple) else (key,)
    tiles = [position for position, item in enumerate(items) if isinstance(item, Tile)]
    if len(tiles) != 1 or not items[tiles[0]].dtype_.is_integer:
        return None
    (place,) = tiles
    others = [item for item in items if not isinstance(item, Tile)]
    if any(not _is_whole(item) for item in others) or others.count(Ellipsis) > 1:
        return None
    after = len(items) - place - 1
    axis = tile.rank - 1 - after if Ellipsis in items[:place] else place
    if not 0 <= axis < tile.rank or len(items) - (Ellipsis in others) > tile.rank:
        return None
    return taken(tile, items[place], axis, wrap=True)


def _is_whole(item: Any) -> bool:
    if item is Ellipsis:
        return True
    return isinstance(item, slice) and (item.start, item.stop, item.step) == (None, None, None)
