"""From what stands in square brackets to regions: NumPy's basic indexing, with offsets that may depend on indices."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from pypto.ir.index import Extent, Index, add, multiply
from pypto.tracing.context import Tracer
from pypto.tracing.extents import SymbolicExtent, specialise, valid_numbers
from pypto.tracing.indices import IndexValue, as_index, constant_difference, extremes
from pypto.tracing.values import Shape


@dataclass(frozen=True, slots=True)
class Picked:
    """What one item of a key does to an axis: a range of it; `dropped` for a single number; axis None adds an axis."""

    axis: int | None
    offset: Index = 0
    extent: Extent = 1
    step: int = 1
    dropped: bool = False


def resolve(tracer: Tracer, key: Any, shape: Shape) -> list[Picked]:
    """Return one `Picked` per axis of `shape` and per new axis, in the order of the result.

    Raises UserError ``index-count``, ``index-kind``, ``index-range``, ``slice-step``, ``slice-extent`` or
    ``slice-range``.
    """
    if not shape and isinstance(key, slice) and (key.start, key.stop, key.step) == (None, None, None):
        key = ()  # `out[:] = value` writes a 0-d output as it writes any other
    items = _expanded(tracer, key if isinstance(key, tuple) else (key,), len(shape))
    picked, axis = [], 0
    for item in items:
        if item is None:
            picked.append(Picked(None))
            continue
        picked.append(_pick(tracer, item, axis, shape))
        axis += 1
    return picked


def _expanded(tracer: Tracer, items: tuple[Any, ...], rank: int) -> list[Any]:
    """Replace the Ellipsis and add whole slices for the axes that are not named."""
    named = sum(1 for item in items if item is not None and item is not Ellipsis)
    dots = [position for position, item in enumerate(items) if item is Ellipsis]
    if named > rank or len(dots) > 1:
        raise tracer.error("index-count", given=named, rank=rank)
    position = dots[0] if dots else len(items)
    return [*items[:position], *[slice(None)] * (rank - named), *items[position + (1 if dots else 0) :]]


def _pick(tracer: Tracer, item: Any, axis: int, shape: Shape) -> Picked:
    if isinstance(item, slice):
        return _pick_slice(tracer, item, axis, shape)
    index = None if isinstance(item, bool) else as_index(item)
    if index is None:
        raise tracer.error("index-kind", kind=_kind(item))
    if isinstance(index, int):
        return _pick_number(tracer, index, axis, shape)
    check_region(tracer, index, 1, 1, shape[axis], axis)
    return Picked(axis, index, 1, 1, dropped=True)


def _kind(item: Any) -> str:
    from pypto.tracing.tiles import Tile

    return "a tile" if isinstance(item, Tile) else f"a {type(item).__name__}"


def _pick_number(tracer: Tracer, index: int, axis: int, shape: Shape) -> Picked:
    extent = shape[axis]
    if not isinstance(extent, int):
        specialise(tracer, extent)
    if not -extent <= index < extent:
        raise tracer.error("index-range", index=index, axis=axis, extent=extent, use=valid_numbers(extent))
    return Picked(axis, index % extent, 1, 1, dropped=True)


def _pick_slice(tracer: Tracer, item: slice, axis: int, shape: Shape) -> Picked:
    extent = shape[axis]
    if item.start is None and item.stop is None and item.step in (None, 1):
        return Picked(axis, 0, extent, 1)
    step = _step(tracer, item.step)
    if isinstance(item.start, IndexValue) or isinstance(item.stop, IndexValue):
        return _pick_moving(tracer, item, step, axis, extent)
    start, stop = _bound(tracer, item.start), _bound(tracer, item.stop)
    if not isinstance(extent, int):
        specialise(tracer, extent)
    numbers = range(*slice(start, stop, step).indices(extent))
    return Picked(axis, numbers.start if numbers else 0, len(numbers), step)


def _step(tracer: Tracer, step: Any) -> int:
    if step is None:
        return 1
    if isinstance(step, SymbolicExtent):
        specialise(tracer, step.extent)
    try:
        number = operator.index(step) if not isinstance(step, IndexValue) else 0
    except TypeError:
        raise tracer.error("index-kind", kind=_kind(step)) from None
    if number == 0:
        raise tracer.error("slice-step", step=step)
    return number


def _bound(tracer: Tracer, bound: Any) -> int | None:
    if bound is None:
        return None
    if isinstance(bound, SymbolicExtent):
        specialise(tracer, bound.extent)
    index = as_index(bound)
    if not isinstance(index, int):
        raise tracer.error("index-kind", kind=_kind(bound))
    return index


def _pick_moving(tracer: Tracer, item: slice, step: int, axis: int, extent: Extent) -> Picked:
    """A slice whose offset depends on a block id or loop index: its extent must be a constant."""
    start = as_index(0 if item.start is None else item.start)
    stop = as_index(item.stop) if item.stop is not None else extent
    if start is None or stop is None:
        raise tracer.error("index-kind", kind=_kind(item.start if start is None else item.stop))
    length = constant_difference(stop, start)
    if length is None or step < 1:
        raise tracer.error("slice-extent", start=start, stop=stop)
    count = max(0, -(-length // step))
    check_region(tracer, start, count, step, extent, axis)
    return Picked(axis, start, count, step)


def check_region(tracer: Tracer, offset: Index, count: int, step: int, extent: Extent, axis: int) -> None:
    """Raise UserError ``slice-range`` where a region certainly leaves its axis in some turn or block that runs."""
    if not isinstance(extent, int) or count == 0 or tracer.conditional:
        return
    found, exact = extremes(tracer, offset)
    if found is None or not exact:
        return
    low, high = found[0], found[1] + (count - 1) * step
    if low < 0 or high >= extent:
        raise tracer.error("slice-range", low=low, high=high, axis=axis, extent=extent)


def composed(outer: tuple[Index, Extent, int], inner: Picked) -> tuple[Index, Extent, int]:
    """Return the range of a storage axis that `inner` picks out of the range `outer`."""
    offset, _, step = outer
    return add(offset, multiply(inner.offset, step)), inner.extent, step * inner.step
