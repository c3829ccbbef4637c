"""What a traced body does with its parameters, and which of its statements matter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from pypto.ir.index import Index, Symbol, evaluate, symbols
from pypto.ir.nodes import (
    For,
    If,
    Load,
    Operation,
    Parameter,
    Range,
    Region,
    Role,
    Statement,
    Store,
    TileType,
    Value,
    operands,
    results,
    walk,
    whole,
)

Body = tuple[Statement, ...]


def live_values(body: Body) -> set[str]:
    """Return the names of the values that reach a store."""
    sources: dict[str, tuple[Value, ...]] = {}
    pending: list[str] = []
    for statement in walk(body):
        if isinstance(statement, Store):
            pending.append(statement.value.name)
        elif isinstance(statement, For):
            for position, result in enumerate(statement.results):
                inputs = (statement.initial[position], statement.yielded[position])
                sources[result.name] = inputs
                sources[statement.carried[position].name] = inputs
        elif isinstance(statement, If):
            for position, result in enumerate(statement.results):
                sources[result.name] = (statement.then_yielded[position], statement.else_yielded[position])
        else:
            for result in results(statement):
                sources[result.name] = operands(statement)
    live: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in live:
            live.add(name)
            pending += (value.name for value in sources.get(name, ()))
    return live


def prune(body: Body, live: set[str]) -> Body:
    """Return `body` without operations and loads that no store needs, and without loops and branches that do
    nothing.
    """
    kept: list[Statement] = []
    for statement in body:
        if isinstance(statement, (Operation, Load)):
            if any(result.name in live for result in results(statement)):
                kept.append(statement)
        elif isinstance(statement, For):
            inner = prune(statement.body, live)
            if inner or any(result.name in live for result in statement.results):
                kept.append(_prune_carried(replace(statement, body=inner), live))
        elif isinstance(statement, If):
            then_body, else_body = prune(statement.then_body, live), prune(statement.else_body, live)
            if then_body or else_body or any(result.name in live for result in statement.results):
                kept.append(_prune_results(replace(statement, then_body=then_body, else_body=else_body), live))
        else:
            kept.append(statement)
    return tuple(kept)


def _prune_carried(loop: For, live: set[str]) -> For:
    """Drop state that no store needs."""
    keep = [
        position
        for position, (carried, result) in enumerate(zip(loop.carried, loop.results, strict=True))
        if carried.name in live or result.name in live
    ]
    return replace(
        loop,
        carried=_pick(loop.carried, keep),
        initial=_pick(loop.initial, keep),
        yielded=_pick(loop.yielded, keep),
        results=_pick(loop.results, keep),
    )


def _prune_results(choice: If, live: set[str]) -> If:
    keep = [position for position, result in enumerate(choice.results) if result.name in live]
    return replace(
        choice,
        then_yielded=_pick(choice.then_yielded, keep),
        else_yielded=_pick(choice.else_yielded, keep),
        results=_pick(choice.results, keep),
    )


def _pick(values: tuple[Value, ...], keep: list[int]) -> tuple[Value, ...]:
    return tuple(values[position] for position in keep)


# -- roles


@dataclass(slots=True)
class _Reads:
    """Which parameters' entry values are read, going through a body in program order."""

    types: dict[str, TileType]
    live: set[str]
    turns: dict[Symbol, bool] = field(default_factory=dict)
    stored: dict[str, list[Region]] = field(default_factory=dict)
    entry: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def body(self, body: Iterable[Statement]) -> None:
        for statement in body:
            if isinstance(statement, Load):
                self._load(statement)
            elif isinstance(statement, Store):
                self.written.add(statement.target)
                if not statement.clip:
                    self.stored.setdefault(statement.target, []).append(statement.region)
            elif isinstance(statement, For):
                self._inside(statement.body, statement if _runs(statement) else None)
            elif isinstance(statement, If):
                self._inside(statement.then_body, None)
                self._inside(statement.else_body, None)

    def _load(self, load: Load) -> None:
        type_, stored = self.types[load.source], self.stored.get(load.source, [])
        covered = any(_covers(region, load.region, type_) for region in stored) or _cover_together(
            stored, load.region, type_
        )
        if load.result.name in self.live and not covered:
            self.entry.add(load.source)

    def _inside(self, body: Body, loop: For | None) -> None:
        """Go through a nested body; what it stores counts afterwards only where it surely ran and the region is
        fixed.
        """
        before = {name: list(regions) for name, regions in self.stored.items()}
        self.body(body)
        after = self.stored
        self.stored = before
        if loop is not None:
            for name, regions in after.items():
                over = [_over_all_turns(region, loop) for region in regions]
                self.stored[name] = [region for region in over if region is not None]


def _over_all_turns(region: Region, loop: For) -> Region | None:
    """Return what a store with offsets ``index * c + d`` writes in all turns, None where that is no region."""
    assert isinstance(loop.start, int)
    assert isinstance(loop.stop, int)
    moving = [axis for axis, item in enumerate(region) if not isinstance(item.offset, int)]
    if not moving:
        return region
    (axis, *others) = moving
    item = region[axis]
    turns = range(loop.start, loop.stop, loop.step)
    if others or symbols(item.offset) != {loop.index} or not isinstance(item.extent, int) or item.step != 1:
        return None
    offsets = [evaluate(item.offset, {loop.index: turn}) for turn in turns]
    if any(not 0 <= after - before <= item.extent for before, after in pairwise(offsets)):
        return None
    whole_range = Range(offsets[0], offsets[-1] + item.extent - offsets[0])
    return (*region[:axis], whole_range, *region[axis + 1 :])


def _cover_together(stored: list[Region], loaded: Region, type_: TileType) -> bool:
    """Return whether every element of `loaded` lies in one of several regions, all made of numbers."""
    fixed = [region for region in stored if _is_fixed(region)]
    if len(fixed) < 2 or not _is_fixed(loaded) or not all(isinstance(extent, int) for extent in type_.shape):
        return False
    # Elements of an axis that lie in the same regions need one representative only.
    members = [
        np.unique(np.stack([np.isin(_numbers(loaded[axis]), _numbers(region[axis])) for region in fixed]), axis=1)
        for axis in range(len(loaded))
    ]
    return all(
        any(all(row) for row in zip(*columns, strict=True)) for columns in product(*(item.T for item in members))
    )


def _is_fixed(region: Region) -> bool:
    return all(isinstance(item.offset, int) and isinstance(item.extent, int) for item in region)


def _numbers(item: Range) -> NDArray[np.int64]:
    return evaluate(item.offset, {}) + item.step * np.arange(evaluate(item.extent, {}), dtype=np.int64)


def _runs(loop: For) -> bool:
    return isinstance(loop.start, int) and isinstance(loop.stop, int) and loop.start < loop.stop


def _covers(stored: Region, loaded: Region, type_: TileType) -> bool:
    """Return whether every element of `loaded` lies in `stored` for certain."""
    if stored == loaded or stored == whole(type_):
        return True
    for outer, inner in zip(stored, loaded, strict=True):
        if outer == inner:
            continue
        numbers = (outer.offset, outer.extent, inner.offset, inner.extent)
        if not all(isinstance(number, int) for number in numbers) or not _contains(*numbers, outer.step, inner.step):
            return False
    return True


def _contains(
    offset: Index, extent: Index, inner_offset: Index, inner_extent: Index, step: int, inner_step: int
) -> bool:
    assert isinstance(offset, int)
    assert isinstance(extent, int)
    assert isinstance(inner_offset, int)
    assert isinstance(inner_extent, int)
    outer = range(offset, offset + step * extent, step)
    inner = range(inner_offset, inner_offset + inner_step * inner_extent, inner_step)
    return not inner or (inner[0] in outer and inner[-1] in outer and (len(inner) == 1 or inner_step % step == 0))


def with_roles(parameters: tuple[Parameter, ...], body: Body, live: set[str]) -> tuple[Parameter, ...]:
    """Return `parameters` with the role that `body` gives each: INOUT when its entry value reaches a result."""
    reads = _Reads({item.name: item.type for item in parameters}, live)
    reads.body(body)

    def role(name: str) -> Role:
        if name not in reads.written:
            return Role.IN
        return Role.INOUT if name in reads.entry else Role.OUT

    return tuple(replace(item, role=role(item.name)) for item in parameters)
