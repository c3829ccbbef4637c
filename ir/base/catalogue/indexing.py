"""Mistakes in indices held by tiles, in sorting, and in the shapes that go with them."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "empty-indexed": Entry(
        "axis {axis} of a tile of shape {shape} is empty, so that no index can be an element of it",
        "index a tile with at least one element along axis {axis}, or use an empty tile of indices",
    ),
    "index-dtype": Entry(
        "indices have dtype {dtype}; they must be whole numbers",
        "convert them with `pypto.cast(indices, 'int64')`; to choose by a mask write `pypto.where(mask, x, y)`",
    ),
    "index-out-of-range": Entry(
        "index {value} at position {position} of the indices of {operation} is no element of an axis of extent {extent}",
        "{advice}",
    ),
    "index-rank": Entry(
        "a tile of {rank} axes is indexed by one of {other} along one of its axes",
        "give the indices {rank} axes too, extents of 1 broadcast: `indices.reshape(...)` or `indices[:, None]`",
    ),
    "too-many-wanted": Entry(
        "{count} elements are wanted along axis {axis}, which has {extent}", "ask for at most {extent} of them"
    ),
}
