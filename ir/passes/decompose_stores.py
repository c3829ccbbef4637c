"""Stores whose neighbours are apart in memory: the copy engine writes whole runs of bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pypto.ir.base.errors import UserError
from pypto.ir.index import Extent, add
from pypto.ir.nodes import Load, Range, Region, Store
from pypto.ir.passes.forms import is_dense
from pypto.ir.passes.layout import stored_rank

if TYPE_CHECKING:
    from pypto.ir.passes.decompose import Decomposer


def append_store(rewriter: Decomposer, store: Store) -> None:
    """Append `store`, or where its elements are apart: load what lies between too, insert the value, store all of it.

    Raises UserError ``strided-store`` in a kernel of explicit blocks: other blocks may write what lies between.
    """
    shape = rewriter.kernel.parameter(store.target).type.shape
    rank = stored_rank(store.value.shape)
    if is_dense(store.region, rank, shape) or store.clip:
        rewriter.builder.append(store)
        return
    axis = rank - 1
    if rewriter.kernel.grid:
        details = {"array": store.target, "step": store.region[axis].step, "axis": axis}
        raise UserError("strided-store", store.location, **details)
    rewriter.read_back.add(store.target)
    covering, ranges = _cover(store.region, axis, shape)
    type_ = replace(store.value.type, shape=tuple(item.extent for item in covering))
    base = rewriter.builder.value(type_)
    rewriter.builder.append(Load(base, store.target, covering, None, store.location))
    value = rewriter.call("insert", base, store.value, ranges=ranges)
    rewriter.builder.append(replace(store, region=covering, value=value))


def _cover(region: Region, axis: int, shape: tuple[Extent, ...]) -> tuple[Region, tuple[tuple[Extent, ...], ...]]:
    """Return the smallest region of runs around `region`, and where in it the elements of `region` are."""
    covering: list[Range] = list(region[:axis])
    ranges: list[tuple[Extent, ...]] = [(0, item.extent, 1) for item in region[:axis]]
    item = region[axis]
    assert isinstance(item.extent, int), "extents are cut after this pass"
    span = (item.extent - 1) * abs(item.step) + 1
    first = item.offset if item.step > 0 else add(item.offset, (item.extent - 1) * item.step)
    covering.append(Range(first, span))
    ranges.append((0 if item.step > 0 else span - 1, item.extent, item.step))
    for place, size in zip(region[axis + 1 :], shape[axis + 1 :], strict=True):
        covering.append(Range(0, size))
        ranges.append((place.offset, 1, 1))
    return tuple(covering), tuple(ranges)
