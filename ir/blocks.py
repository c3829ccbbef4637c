"""Are the blocks of an explicit SPMD kernel independent? Checked by going through all block ids and loop turns.

Offsets are made of block ids, loop indices and constants, so every region is known before a launch. Reported: a
region that leaves its array, an element that two blocks write, and an element that one block reads and another
writes.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.index import Symbol, evaluate
from pypto.ir.nodes import Condition, For, If, Kernel, Load, Region, Statement, Store

Values = Mapping[Symbol, int]
Interval = tuple[int, int, int]  # first element, one past the last, distance between elements


@dataclass(frozen=True, slots=True)
class Access:
    """One region that one block touches."""

    array: str
    block: int
    intervals: tuple[Interval, ...]
    is_write: bool
    location: Location


def check_blocks(kernel: Kernel) -> None:
    """Raise UserError ``block-bounds``, ``block-overlap`` or ``block-race`` when blocks leave an array or meet.

    Does nothing for a kernel without a grid. Extents must be numbers.
    """
    if not kernel.grid:
        return
    accesses = defaultdict(list)
    for access in block_accesses(kernel):
        accesses[access.array].append(access)
    for array in accesses.values():
        _check_array(array)


def block_accesses(kernel: Kernel) -> Iterator[Access]:
    """Yield every region that some block of a grid touches, block by block; extents must be numbers.

    Raises UserError ``block-bounds`` for a region that leaves its array.
    """
    shapes = {parameter.name: parameter.type.shape for parameter in kernel.parameters if not parameter.scalar}
    counts = [range(evaluate(axis.extent, {})) for axis in kernel.grid]
    for number, identifiers in enumerate(itertools.product(*counts)):
        values = {axis.symbol: identifier for axis, identifier in zip(kernel.grid, identifiers, strict=True)}
        for statement, turn in _executed(kernel.body, values):
            array = statement.source if isinstance(statement, Load) else statement.target
            if array not in shapes:
                continue
            clips = statement.fill is not None if isinstance(statement, Load) else statement.clip
            shape = tuple(evaluate(extent, {}) for extent in shapes[array])
            intervals = _intervals(statement, array, statement.region, shape, turn, number, clips=clips)
            yield Access(array, number, intervals, isinstance(statement, Store), statement.location)


def _executed(body: tuple[Statement, ...], values: Values) -> Iterator[tuple[Load | Store, Values]]:
    """Yield every load and store that runs, with the values of the indices at that moment."""
    for statement in body:
        if isinstance(statement, (Load, Store)):
            yield statement, values
        elif isinstance(statement, For):
            for index in range(evaluate(statement.start, values), evaluate(statement.stop, values), statement.step):
                yield from _executed(statement.body, {**values, statement.index: index})
        elif isinstance(statement, If):
            chosen = statement.then_body if holds(statement.condition, values) else statement.else_body
            yield from _executed(chosen, values)


def holds(condition: Condition, values: Values) -> bool:
    """Return whether an index condition is true under `values`."""
    left, right = evaluate(condition.left, values), evaluate(condition.right, values)
    return {"<": left < right, "<=": left <= right, "==": left == right, "!=": left != right}[condition.comparison]


def _intervals(
    statement: Load | Store,
    array: str,
    region: Region,
    shape: tuple[int, ...],
    values: Values,
    block: int,
    *,
    clips: bool,
) -> tuple[Interval, ...]:
    result = []
    for axis, (range_, size) in enumerate(zip(region, shape, strict=True)):
        first, extent = evaluate(range_.offset, values), evaluate(range_.extent, values)
        last = first + (extent - 1) * range_.step
        low, high = min(first, last), max(first, last) + 1
        if extent and not clips and (low < 0 or high > size):
            raise UserError(
                "block-bounds", statement.location, block=block, first=low, last=high - 1, axis=axis, array=array,
                extent=size,
            )  # fmt: skip
        result.append((max(low, 0), min(high, size), abs(range_.step)) if extent else (0, 0, 1))
    return tuple(result)


def _check_array(accesses: list[Access]) -> None:
    """Paint all written regions with their block's number, then look what the others write or read there."""
    writes = [access for access in accesses if access.is_write and _size(access)]
    if not writes:
        return
    edges = _edges(accesses)
    owner = np.full([max(len(axis) - 1, 0) for axis in edges], -1, np.int64)
    source: dict[int, Access] = {}
    for access in writes:
        cells = owner[_cells(access, edges)]
        _complain("block-overlap", access, cells, source)
        owner[_cells(access, edges)] = access.block
        source[access.block] = access
    for access in accesses:
        if not access.is_write and _size(access):
            _complain("block-race", access, owner[_cells(access, edges)], source)


def _complain(name: str, access: Access, cells: NDArray[np.int64], source: Mapping[int, Access]) -> None:
    others = cells[(cells != -1) & (cells != access.block)]
    if others.size:
        other = int(others.flat[0])
        where = access.location if name == "block-race" else source[other].location
        raise UserError(
            name, where, array=access.array, block=access.block, other=other, region=_show(access),
            other_region=_show(source[other]),
        )  # fmt: skip


def _show(access: Access) -> str:
    parts = [f"{low}:{high}" + (f":{step}" if step > 1 else "") for low, high, step in access.intervals]
    return f"[{', '.join(parts)}]"


def _size(access: Access) -> int:
    return math.prod(max(0, high - low) for low, high, _ in access.intervals)


def _edges(accesses: list[Access]) -> list[NDArray[np.int64]]:
    """Return, for each axis, the positions between which all regions are constant; every element when a region
    has a step.
    """
    edges = []
    for axis in range(len(accesses[0].intervals)):
        points = {point for access in accesses for point in access.intervals[axis][:2]}
        if any(access.intervals[axis][2] > 1 for access in accesses):
            points = set(range(min(points), max(points) + 1))
        edges.append(np.array(sorted(points)))
    return edges


def _cells(access: Access, edges: list[NDArray[np.int64]]) -> tuple[slice, ...]:
    return tuple(
        slice(int(np.searchsorted(axis, low)), int(np.searchsorted(axis, high)), step if step > 1 else None)
        for (low, high, step), axis in zip(access.intervals, edges, strict=True)
    )
