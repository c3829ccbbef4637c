"""Positions of extremes, scans, sorting. `axis` is one number, negative from the end; torch's `dim` is the same.

Each raises UserError ``axis-range``, ``axis-kind``, ``both-keywords`` or ``function-keyword``.
"""

from __future__ import annotations

from typing import Any

from pypto.tracing import ordered
from pypto.tracing.ordered import Ordered
from pypto.tracing.shaping import a_tile
from pypto.tracing.tiles import Tile


def argmax(x: Tile, axis: int | None = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Where the largest element is, as i64: the first NaN if there is one, else the first of equals.

    None looks through all elements in row-major order. An empty axis raises UserError ``empty-reduction``.
    """
    return ordered.position("argmax", x, axis, keepdims, torch_names)


def argmin(x: Tile, axis: int | None = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Where the smallest element is, as i64: the first NaN if there is one, else the first of equals.

    None looks through all elements in row-major order. An empty axis raises UserError ``empty-reduction``.
    """
    return ordered.position("argmin", x, axis, keepdims, torch_names)


def cumsum(x: Tile, axis: int | None = None, **torch_names: Any) -> Tile:
    """Sums of the elements up to each one; None takes all in row-major order. Integers and bools sum in i64."""
    return ordered.scan("cumsum", x, axis, torch_names)


def cumprod(x: Tile, axis: int | None = None, **torch_names: Any) -> Tile:
    """Products of the elements up to each one, from left to right; integers and bools multiply in i64."""
    return ordered.scan("cumprod", x, axis, torch_names)


def argsort(x: Tile, axis: int | None = -1, descending: bool = False, stable: bool = True, **torch_names: Any) -> Tile:
    """Positions in the order of the elements, as i64: always stable; NaN is the largest.

    Descending order starts with NaN, and equals keep their order too. None takes all elements in row-major order.
    """
    tile, number, down = _sorted_axis("pypto.argsort", x, axis, descending, torch_names)
    return ordered.order(tile, number, down)


def sort(x: Tile, axis: int | None = -1, descending: bool = False, stable: bool = True, **torch_names: Any) -> Ordered:
    """``(values, indices)`` in order, as torch.sort; see `argsort`. numpy.sort of a tile gives the values alone."""
    tile, number, down = _sorted_axis("pypto.sort", x, axis, descending, torch_names)
    return ordered.ordered(tile, number, down)


def topk(x: Tile, k: int, axis: int = -1, largest: bool = True, **torch_names: Any) -> Ordered:
    """``(values, indices)`` of the k largest elements (or smallest), in order; of equals the first ones.

    torch's `sorted` may be given; the result is in order anyway. NaN is the largest. Raises UserError
    ``too-many-wanted`` where the axis is shorter, ``count-kind``.
    """
    tile = a_tile(x, "pypto.topk")
    defaults = {"axis": -1, "sorted": True}
    found = ordered.settled(tile.tracer, {"axis": axis, "sorted": True}, defaults, torch_names)
    count = ordered.whole_number(tile.tracer, "k", k)
    return ordered.ordered(tile, found["axis"], bool(largest), count)


def _sorted_axis(what: str, x: Tile, axis: Any, descending: Any, others: dict[str, Any]) -> tuple[Tile, Any, Any]:
    tile = a_tile(x, what)
    given, defaults = {"axis": axis, "descending": descending}, {"axis": -1, "descending": False}
    found = ordered.settled(tile.tracer, given, defaults, others)
    if found["axis"] is None:
        return tile.reshape(-1), 0, found["descending"]
    return tile, found["axis"], found["descending"]
