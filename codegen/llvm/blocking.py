"""How much of the parallel axes one item takes: single positions, or blocks of the contiguous axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from pypto.codegen.llvm import affine, contraction_shape
from pypto.codegen.llvm.evaluation import Indexing
from pypto.codegen.llvm.merging import contiguity
from pypto.codegen.llvm.program import Access, Axis, Outer, Task
from pypto.codegen.llvm.tiling import Wanted
from pypto.ir.index import Symbol

ITEM_ELEMENTS = 16384
"""Elements of the largest task that one item works on, about; so that its local arrays stay in the near caches."""
ITEM_COST = 400_000
"""Evaluated nodes, over all elements, that one item has at most, about."""
SHORTEST_BLOCK = 512
"""Shortest block of a contiguous axis, where local arrays allow: long enough for the prefetcher and the page tables."""
NARROWEST_BLOCK = 64
"""Shortest block of a contiguous axis at all: a few cache lines."""
LOCAL_BYTES = 1 << 21
"""Bytes of local arrays that a block may ask for before it becomes shorter than `SHORTEST_BLOCK`."""
SQUARE = 64
"""Block of both axes when some arrays are contiguous along one and some along the other."""


def choose(
    all_tasks: list[Task],
    parallel: set[Symbol],
    private: set[str],
    indexing: Indexing,
    number: int,
    wanted: Wanted,
) -> tuple[Outer, ...]:
    """Return the axes that the items of phase `number` walk; `private` names the local arrays that only it uses.

    The blocks and the order that the schedule wants win over those that suit the tasks.
    """
    extents = {axis.symbol: axis.extent for task in all_tasks for axis in task.axes}
    blocks = contraction_shape.blocks(all_tasks, parallel, extents)
    if blocks is None:
        blocks = _blocks(all_tasks, parallel, private, extents)
    blocks.update((symbol, size) for symbol, size in wanted.blocks.items() if symbol in parallel)
    place = {symbol: position for position, symbol in enumerate(wanted.order)}
    outers = []
    for symbol in sorted(parallel, key=lambda item: (place.get(item, -1), item in blocks, item.name)):
        extent = extents[symbol]
        lower, upper = Symbol(f"{symbol.name}.from{number}"), Symbol(f"{symbol.name}.to{number}")
        indexing.ranges[lower] = (0, max(0, extent - 1))
        outers.append(Outer(symbol, extent, blocks.get(symbol, 1), lower, upper))
    return tuple(outers)


def _blocks(
    all_tasks: list[Task], parallel: set[Symbol], private: set[str], extents: Mapping[Symbol, int]
) -> dict[Symbol, int]:
    """Return the lengths of the blocks of the axes that are cut into blocks."""
    weights = contiguity(all_tasks)
    ordered = sorted(weights, key=lambda symbol: (-weights[symbol], symbol.name))
    if not ordered or ordered[0] not in parallel:
        return {}
    first = ordered[0]
    second = next((item for item in ordered[1:] if item in parallel and 2 * weights[item] >= weights[first]), None)
    if second is not None and min(extents[first], extents[second]) > SQUARE:
        return {first: SQUARE, second: SQUARE}
    wanted = _wanted(all_tasks, parallel, _bytes_along(all_tasks, first, parallel, private))
    return {first: min(wanted, extents[first])}


def _wanted(all_tasks: list[Task], parallel: set[Symbol], local_bytes: int) -> int:
    inner = max(math.prod(axis.extent for axis in task.axes if axis.symbol not in parallel) for task in all_tasks)
    nodes = sum(len(task.nodes) for task in all_tasks)
    elements = min(ITEM_ELEMENTS, ITEM_COST // max(1, nodes))
    wanted = max(SHORTEST_BLOCK, elements // max(1, inner))
    if local_bytes * wanted > LOCAL_BYTES:
        wanted = min(wanted, max(NARROWEST_BLOCK, LOCAL_BYTES // local_bytes))
    # A multiple of every vector loop's step, so that the whole blocks have no rest.
    step = 256 if wanted >= 256 else NARROWEST_BLOCK
    return wanted // step * step


def _bytes_along(all_tasks: list[Task], symbol: Symbol, parallel: set[Symbol], private: set[str]) -> int:
    """Return the bytes of private local arrays for one position of an axis."""
    sizes: dict[str, int] = {}
    form = affine.symbol(symbol)
    forms = {affine.symbol(item) for item in parallel}
    for access in (access for task in all_tasks for access in (*task.reads, task.target)):
        if access.array.name in private and form in access.index:
            kept = [
                extent for extent, index in zip(access.array.shape, access.index, strict=True) if index not in forms
            ]
            sizes[access.array.name] = math.prod(kept) * access.array.dtype.bytes
    return sum(sizes.values())


def cut(axis: Axis, outers: Mapping[Symbol, Outer]) -> Axis:
    """Return the loop that is left of an axis inside one item."""
    outer = outers.get(axis.symbol)
    if outer is None or outer.block == outer.extent:
        return axis
    lower = affine.symbol(outer.lower)
    upper = affine.add(lower, affine.number(outer.block)) if outer.is_even else affine.symbol(outer.upper)
    return replace(axis, extent=outer.block, lower=lower, upper=upper)


def is_walked(axis: Axis, outers: Mapping[Symbol, Outer]) -> bool:
    """True when an item has more than one position of an axis."""
    outer = outers.get(axis.symbol)
    return outer is None or outer.block > 1


def private_arrays(all_tasks: list[Task], shared: set[str]) -> set[str]:
    """Return the names of the local arrays that no other phase accesses."""
    accesses: list[Access] = [access for task in all_tasks for access in (*task.reads, task.target)]
    return {access.array.name for access in accesses if access.array.is_local} - shared
