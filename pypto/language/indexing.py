"""Elements chosen by tiles of whole numbers.

A number that is no element of its axis raises UserError ``index-out-of-range`` when the kernel runs; outputs are then
partly written. Numbers below 0 count from the end in the functions that NumPy has (`take`, `take_along_axis`, ``t[i]``)
and are mistakes in those that torch has. Indices that are no whole numbers raise UserError ``index-dtype``.
"""

from __future__ import annotations

from typing import Any

from pypto.tracing import indexed
from pypto.tracing.indexed import index_tile
from pypto.tracing.indices import as_index
from pypto.tracing.ordered import one_axis, settled
from pypto.tracing.shaping import a_tile
from pypto.tracing.tiles import Tile


def take(x: Tile, indices: Any, axis: int | None = None, **torch_names: Any) -> Tile:
    """numpy.take: `axis` is replaced by the axes of the indices; None takes from all elements in row-major order.

    `indices` is a tile or one number (also a block id or loop index).
    """
    tile = a_tile(x, "pypto.take")
    axis = settled(tile.tracer, {"axis": axis}, {"axis": None}, torch_names)["axis"]
    if axis is None:
        tile, axis = tile.reshape(-1), 0
    number = one_axis(tile.tracer, axis, tile.rank)
    if not isinstance(indices, Tile) and as_index(indices) is not None:
        return tile[(*(slice(None),) * number, indices)]
    return indexed.taken(tile, index_tile(indices, "pypto.take"), number, wrap=True)


def take_along_axis(x: Tile, indices: Tile, axis: int | None = -1) -> Tile:
    """numpy.take_along_axis: the indices have as many axes as x, and all but `axis` broadcast."""
    tile, numbers = a_tile(x, "pypto.take_along_axis"), index_tile(indices, "pypto.take_along_axis")
    if axis is None:
        tile, axis = tile.reshape(-1), 0
    return indexed.chosen(tile, numbers, one_axis(tile.tracer, axis, tile.rank), wrap=True)


def gather(x: Tile, dim: int, index: Tile) -> Tile:
    """torch.gather: ``out[i, j] = x[index[i, j], j]`` for dim 0; the result has the shape of `index`.

    On the other axes `index` may be shorter than x. Raises UserError ``index-rank`` or ``index-extents``.
    """
    return indexed.gathered(a_tile(x, "pypto.gather"), dim, index_tile(index, "pypto.gather"))


def index_select(x: Tile, dim: int, index: Tile) -> Tile:
    """torch.index_select: slices of x along an axis, in the order of a 1-D tile of numbers."""
    tile, numbers = a_tile(x, "pypto.index_select"), index_tile(index, "pypto.index_select")
    if numbers.rank > 1:
        raise tile.tracer.error("index-rank", rank=1, other=numbers.rank)
    return indexed.taken(tile, numbers.reshape(-1), one_axis(tile.tracer, dim, tile.rank), wrap=False)


def scatter(x: Tile, dim: int, index: Tile, src: Any, reduce: str | None = None) -> Tile:
    """torch.scatter: x with ``out[index[i, j], j] = src[i, j]`` for dim 0; of several for one place the last counts.

    `src` may be a number. With ``reduce="add"`` as `scatter_add`. Raises UserError ``scatter-reduce``.
    """
    tile = a_tile(x, "pypto.scatter")
    if reduce not in (None, "add", "sum"):
        raise tile.tracer.error("scatter-reduce", reduce=reduce)
    name = "scatter" if reduce is None else "scatter_add"
    return indexed.scattered(name, tile, dim, index_tile(index, "pypto.scatter"), src)


def scatter_add(x: Tile, dim: int, index: Tile, src: Any) -> Tile:
    """torch.scatter_add: x with ``out[index[i, j], j] += src[i, j]`` for dim 0, in the order of the indices.

    The order of additions is fixed, so that the bits are the same on every run.
    """
    tile = a_tile(x, "pypto.scatter_add")
    return indexed.scattered("scatter_add", tile, dim, index_tile(index, "pypto.scatter_add"), src)


def index_add(x: Tile, dim: int, index: Tile, source: Any, alpha: bool | int | float = 1) -> Tile:
    """torch.index_add: x with slices of `alpha` * source added along an axis where a 1-D tile says, in its order."""
    tile = a_tile(x, "pypto.index_add")
    updates = source if alpha == 1 else source * alpha
    return indexed.scattered("scatter_add", tile, dim, index_tile(index, "pypto.index_add"), updates, along=True)


def index_copy(x: Tile, dim: int, index: Tile, source: Any) -> Tile:
    """torch.index_copy: x with slices replaced by those of `source` where a 1-D tile says; of several the last."""
    tile = a_tile(x, "pypto.index_copy")
    return indexed.scattered("scatter", tile, dim, index_tile(index, "pypto.index_copy"), source, along=True)


def one_hot(x: Tile, num_classes: int) -> Tile:
    """torch.nn.functional.one_hot: a new last axis with 1 at the place of each number and 0 elsewhere, as i64."""
    from pypto.tracing.arranging import widened
    from pypto.tracing.ordered import whole_number
    from pypto.tracing.shaping import new_tile

    tile = index_tile(x, "pypto.one_hot")
    count = whole_number(tile.tracer, "num_classes", num_classes)
    zeros = new_tile("pypto.one_hot", (*tile.extents, count), 0, "int64")
    return indexed.scattered("scatter", zeros, -1, widened(tile, -1), 1)
