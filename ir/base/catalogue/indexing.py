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
        "index {value} at position {position} of the indices of {operation} is no element of an axis of {extent}",
        "{advice}",
    ),
    "index-rank": Entry(
        "a tile of {rank} axes is indexed by one of {other} along one of its axes",
        "give the indices {rank} axes too, extents of 1 broadcast: `indices.reshape(...)` or `indices[:, None]`",
    ),
    "arange-number": Entry(
        "arange takes numbers known while the kernel is traced, not {number!r}",
        "give Python numbers or elements of `.shape`; add a scalar argument to the result instead",
    ),
    "correction-kind": Entry(
        "the correction of a variance is {correction!r}, not a number",
        "write correction=1 for the sample variance, 0 for that of all elements",
    ),
    "count-kind": Entry(
        "{what} is {number!r}, and has to be a whole number known while the kernel is traced",
        "give a Python int of at least 1, or 0 where nothing is meant",
    ),
    "index-extents": Entry(
        "indices of shape {index} reach over axis {axis} of a tile of shape {shape}",
        "make axis {axis} of the indices no longer than that of the tile",
    ),
    "matrix-needed": Entry(
        "{function} takes a tile of at least two axes, and this one has {rank}", "add an axis: `x[None, :]`"
    ),
    "loss-reduction": Entry("a loss cannot be reduced by {reduction!r}", "write reduction='mean', 'sum' or 'none'"),
    "norm-channels": Entry(
        "{function} normalises channels, which are axis 1, and the tile has {rank} axes", "add an axis: `x[None, :]`"
    ),
    "norm-groups": Entry(
        "{groups!r} groups do not divide {channels} channels", "give a number of groups that divides the channels"
    ),
    "norm-training": Entry(
        "batch_norm with training=True changes running statistics, which kernels do not",
        "use it for inference, or compute `pypto.mean` and `pypto.var` of the batch and write them out",
    ),
    "pad-mode": Entry(
        "pad fills with a constant and has no mode {mode!r}",
        "leave mode out; for reflected or repeated edges join slices: `pypto.concat([x[2:0:-1], x])`",
    ),
    "rotary-width": Entry(
        "rotary_embedding turns pairs of the last axis, which has {width} elements, by angles of shape {angles}",
        "make the last axis even, and that of cos and sin as long or half as long",
    ),
    "roll-shifts": Entry("shifts {shifts} are not as many as axes {axes}", "give one shift for each axis"),
    "scatter-reduce": Entry(
        "scatter does not combine by {reduce!r}", "leave reduce out to replace elements, or write reduce='add'"
    ),
    "split-sizes": Entry(
        "pieces of sizes {sizes} do not make axis {axis} of extent {extent}", "give sizes that add up to {extent}"
    ),
    "squeeze-extent": Entry(
        "axis {axis} has extent {extent} and cannot be dropped", "name axes of extent 1 only, or pick one element of it"
    ),
    "too-many-wanted": Entry(
        "{count} elements are wanted along axis {axis}, which has {extent}", "ask for at most {extent} of them"
    ),
}
