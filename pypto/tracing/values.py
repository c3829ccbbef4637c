"""IR values with hidden axes: lining up ranks, broadcasting, casting.

A value's shape is hidden axes, then visible ones. The number of hidden axes is the tracer's; a value that does not
depend on a hidden axis has extent 1 there. A plain number is a value of shape () whatever the hidden axes are.
"""

from __future__ import annotations

import math

from pypto.ir.dtypes import DType, compute_type
from pypto.ir.index import Extent
from pypto.ir.nodes import Value
from pypto.ir.operations.rules import broadcast_extent, show_shapes
from pypto.tracing.context import Number, Tracer

Shape = tuple[Extent, ...]
Ranges = tuple[tuple[Extent, Extent, int], ...]
"""One (offset, extent, step) per axis."""


def visible_shape(tracer: Tracer, value: Value) -> Shape:
    return value.shape[len(tracer.hidden) :]


def hidden_shape(tracer: Tracer, value: Value) -> Shape:
    """Return the hidden extents of a value; all 1 for a plain number."""
    count = len(tracer.hidden)
    return value.shape[:count] if value.type.rank else (1,) * count


def constant(tracer: Tracer, dtype: DType, number: Number) -> Value:
    """Return a number as a value of shape () in the compute type of `dtype`."""
    dtype = compute_type(dtype)
    value: Number = float(number) if dtype.is_float else bool(number) if dtype.kind == "bool" else int(number)
    return tracer.emit("constant", (), dtype=dtype, value=value)


def filled(tracer: Tracer, dtype: DType, number: Number, shape: Shape) -> Value:
    """Return a value of visible `shape` with `number` in every element."""
    full = (1,) * len(tracer.hidden) + shape
    if not full:
        return constant(tracer, dtype, number)
    dtype = compute_type(dtype)
    value: Number = float(number) if dtype.is_float else bool(number) if dtype.kind == "bool" else int(number)
    return tracer.emit("constant", (), dtype=dtype, shape=full, value=value)


def cast(tracer: Tracer, value: Value, dtype: DType) -> Value:
    """Return `value` in exactly `dtype`, itself where it is already."""
    return value if value.dtype == dtype else tracer.emit("cast", (value,), dtype=dtype)


def rounded(tracer: Tracer, value: Value, dtype: DType) -> Value:
    """Return `value` rounded to `dtype`, in the compute type of `dtype`."""
    return cast(tracer, cast(tracer, value, dtype), compute_type(dtype))


def lift(tracer: Tracer, value: Value, rank: int) -> Value:
    """Return `value` with visible rank `rank`: axes of extent 1 between hidden and visible ones where they are
    needed.
    """
    if not tracer.hidden or value.type.rank == 0:
        return value
    return full(tracer, value, rank)


def full(tracer: Tracer, value: Value, rank: int) -> Value:
    """As `lift`, but with every axis there, also for plain numbers and without hidden axes."""
    shape = hidden_shape(tracer, value), visible_shape(tracer, value)
    wanted = (*shape[0], *(1,) * (rank - len(shape[1])), *shape[1])
    return value if value.shape == wanted else tracer.emit("reshape", (value,), shape=wanted)


def spread(tracer: Tracer, value: Value, shape: Shape, hidden: Shape | None = None) -> Value:
    """Return `value` broadcast to visible `shape` exactly (and to `hidden` extents, or its own)."""
    wanted = (*(hidden_shape(tracer, value) if hidden is None else hidden), *shape)
    if value.shape == wanted:
        return value
    if tracer.hidden or value.type.rank:
        value = full(tracer, value, len(shape))
    return value if value.shape == wanted else tracer.emit("broadcast_to", (value,), shape=wanted)


def join_hidden(tracer: Tracer, *values: Value) -> Shape:
    """Return the hidden extents that all values broadcast to."""
    joined: list[Extent] = [1] * len(tracer.hidden)
    for value in values:
        for axis, extent in enumerate(hidden_shape(tracer, value)):
            common = broadcast_extent(joined[axis], extent)
            assert common is not None, "hidden extents are those of the tracer or 1"
            joined[axis] = common
    return tuple(joined)


def common_shape(tracer: Tracer, shapes: tuple[Shape, ...]) -> Shape:
    """Return the shape that visible `shapes` broadcast to; raises UserError ``shape-mismatch``."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result: list[Extent] = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            common = broadcast_extent(result[axis], extent)
            if common is None:
                raise tracer.error("shape-mismatch", shapes=show_shapes(shapes))
            result[axis] = common
    return tuple(result)


def is_whole(ranges: Ranges, shape: Shape) -> bool:
    """Return whether `ranges` select an array of `shape` as it is."""
    return all(
        offset == 0 and step == 1 and extent == size for (offset, extent, step), size in zip(ranges, shape, strict=True)
    )


def take(tracer: Tracer, value: Value, ranges: Ranges) -> Value:
    """Return the visible region `ranges` of a value that has all its axes."""
    hidden = hidden_shape(tracer, value)
    if is_whole(ranges, visible_shape(tracer, value)):
        return value
    return tracer.emit("slice", (value,), ranges=(*((0, extent, 1) for extent in hidden), *ranges))


def put(tracer: Tracer, base: Value, piece: Value, ranges: Ranges) -> Value:
    """Return `base` with its visible region `ranges` replaced by `piece`."""
    hidden = join_hidden(tracer, base, piece)
    shape = visible_shape(tracer, base)
    piece = spread(tracer, piece, tuple(extent for _, extent, _ in ranges), hidden)
    if is_whole(ranges, shape):
        return piece
    base = spread(tracer, base, shape, hidden)
    return tracer.emit("insert", (base, piece), ranges=(*((0, extent, 1) for extent in hidden), *ranges))


def permute(tracer: Tracer, value: Value, order: tuple[int, ...]) -> Value:
    """Return `value` with its visible axes in another order."""
    if order == tuple(range(len(order))):
        return value
    count = len(tracer.hidden)
    return tracer.emit("transpose", (value,), permutation=(*range(count), *(count + axis for axis in order)))


def reform(tracer: Tracer, value: Value, shape: Shape) -> Value:
    """Return `value` reshaped to visible `shape`."""
    wanted = (*hidden_shape(tracer, value), *shape)
    return value if value.shape == wanted else tracer.emit("reshape", (value,), shape=wanted)


def elements(shape: Shape) -> int | None:
    """Return the number of elements, or None for a shape with unknown extents."""
    known = [extent for extent in shape if isinstance(extent, int)]
    return math.prod(known) if len(known) == len(shape) else None
