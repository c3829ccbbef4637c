"""Loops whose turns touch different elements of an array: no flag need order those turns for its sake.

The attribute ``independent`` of a kernel names the loops that are so for all arrays, by their indices, but for those
that ``reused`` names with the loop: workspaces whose parts each turn uses again. For other loops,
an array is so when on one axis every load and store of it in the body has one range that moves by at least its length
from turn to turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from pypto.ir.index import Bounds, Index, IndexOperation, Symbol, bounds, subtract, symbols
from pypto.ir.nodes import For, Kernel, Load, Range, Region, Store, walk
from pypto.ir.passes.layout import symbol_ranges

Independent = dict[int, tuple[str, ...]]
"""By identity of a loop: the arrays, as ``gm:`` and their names."""


def independent_loops(kernel: Kernel) -> Independent:
    """Return for each loop of `kernel` the arrays of which its turns touch different elements."""
    names = dict(kernel.attributes).get("independent", ())
    everywhere = set(names) if isinstance(names, tuple) else set()
    reused = dict(kernel.attributes).get("reused", ())
    assert isinstance(reused, tuple)
    loops = [item for item in walk(kernel.body) if isinstance(item, For)]
    ranges = symbol_ranges(kernel) if loops else {}
    found: Independent = {}
    for loop in loops:
        regions = _regions(loop)
        stays = {name for name in regions if (loop.index.name, name) in reused}
        moving = {name: items for name, items in regions.items() if name not in stays}
        kept = [name for name, items in moving.items() if loop.index.name in everywhere or _moves(loop, items, ranges)]
        found[id(loop)] = tuple(f"gm:{name}" for name in kept)
    return found


def apart_arrays(kernel: Kernel) -> frozenset[str]:
    """Return the arrays that `kernel` only stores to, outside of loops, and each time to other elements."""
    stored: dict[str, list[Region]] = {}
    for item in kernel.body:
        if isinstance(item, Store):
            stored.setdefault(item.target, []).append(item.region)
    inner = walk(tuple(item for item in kernel.body if not isinstance(item, Load | Store)))
    touched = {item.source for item in walk(kernel.body) if isinstance(item, Load)}
    touched |= {item.target for item in inner if isinstance(item, Store)}
    return frozenset(
        name
        for name, regions in stored.items()
        if name not in touched and all(_are_apart(*pair) for pair in itertools.combinations(regions, 2))
    )


def _are_apart(first: Region, second: Region) -> bool:
    """Return whether two regions have no element in common, as far as numbers tell."""
    return any(map(_ranges_apart, first, second))


def _ranges_apart(first: Range, second: Range) -> bool:
    distance = subtract(second.offset, first.offset)
    ahead = first if isinstance(distance, int) and distance >= 0 else second
    if not isinstance(distance, int) or not isinstance(ahead.extent, int) or min(first.step, second.step) < 1:
        return False
    return abs(distance) > (ahead.extent - 1) * ahead.step


def _regions(loop: For) -> dict[str, list[Region]]:
    found: dict[str, list[Region]] = {}
    for item in walk(loop.body):
        if isinstance(item, Load):
            found.setdefault(item.source, []).append(item.region)
        elif isinstance(item, Store):
            found.setdefault(item.target, []).append(item.region)
    return found


def _moves(loop: For, regions: list[Region], ranges: dict[Symbol, Bounds]) -> bool:
    first = regions[0]
    return any(
        all(region[axis] == item for region in regions) and _apart(loop, item, ranges)
        for axis, item in enumerate(first)
    )


def _apart(loop: For, item: Range, ranges: dict[Symbol, Bounds]) -> bool:
    """Return whether the range moves by at least its length in each turn."""
    factor = coefficient(item.offset, loop.index, ranges)
    extent = bounds(item.extent, ranges)
    if factor is None or extent is None:
        return False
    length = (extent[1] - 1) * abs(item.step) + 1
    others = symbols(item.offset) - {loop.index}
    inner = {inner.index for inner in walk(loop.body) if isinstance(inner, For)}
    return abs(factor) * loop.step >= length and not others & inner


def coefficient(index: Index, symbol: Symbol, ranges: Mapping[Symbol, Bounds] | None = None) -> int | None:
    """Return c of an index that is c times `symbol` plus something without it; None for any other form.

    With `ranges` of symbols, i % n is i where that is always below n.
    """
    if index == symbol:
        return 1
    if isinstance(index, int | Symbol) or symbol not in symbols(index):
        return 0
    assert isinstance(index, IndexOperation)
    left, right = coefficient(index.left, symbol, ranges), coefficient(index.right, symbol, ranges)
    if left is None or right is None:
        return None
    if index.operator in ("+", "-"):
        return left + right if index.operator == "+" else left - right
    if index.operator == "%" and isinstance(index.right, int):
        found = bounds(index.left, ranges or {})
        return left if found is not None and found[0] >= 0 and found[1] < index.right else None
    if index.operator == "*" and isinstance(index.right, int):
        return left * index.right
    if index.operator == "*" and isinstance(index.left, int):
        return right * index.left
    return None
