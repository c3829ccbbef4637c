"""Which tiles are ordered by links and barriers, and which pairs of tiles need an order because they share elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pypto.graph import Graph
from pypto.ir.base.locations import Location
from pypto.links import Link, Wait
from pypto.program import Program
from pypto.tile_regions import StageTiles, conflicts, stage_tiles

Pairs = NDArray[np.bool_]
"""Which tiles of one stage (rows) come before which tiles of another (columns)."""

StagePair = tuple[int, int]
HAZARDS = {(True, False): "read-after-write", (False, True): "write-after-read", (True, True): "write-after-write"}


@dataclass(frozen=True, slots=True)
class Hazard:
    """Tiles of stage `second` touch elements of `array` that tiles of the earlier stage `first` touch too, and one of
    them writes. `pairs`: which tiles. Locations: a statement of each stage that touches the array.
    """

    first: int
    second: int
    array: str
    kind: str
    pairs: Pairs
    first_location: Location
    second_location: Location


def find_hazards(graph: Graph, program: Program) -> tuple[list[StageTiles], list[Hazard]]:
    """Return the tiles of each stage, and the hazards between stages by later stage, earlier stage and array."""
    stages = [
        stage_tiles(stage, meaning, kernel, _arrays(names, kernel_names))
        for stage, meaning, kernel, names, kernel_names in zip(
            graph.stages,
            program.meanings,
            program.stage_kernels,
            graph.names,
            ({item.name for item in kernel.parameters} for kernel in program.stage_kernels),
            strict=True,
        )
    ]
    sharing: dict[str, list[int]] = {}
    for number, tiles in enumerate(stages):
        for array in {touch.array for touch in tiles.touches}:
            sharing.setdefault(array, []).append(number)
    pairs = {pair for numbers in sharing.values() for pair in itertools.combinations(numbers, 2)}
    hazards = [
        hazard
        for first, second in sorted(pairs, key=lambda pair: pair[::-1])
        for hazard in _between(first, stages[first], second, stages[second])
    ]
    return stages, hazards


def _arrays(names: dict[str, str], kernel_names: set[str]) -> dict[str, str]:
    return {parameter: name for parameter, name in names.items() if name in kernel_names}


def _between(first: int, one: StageTiles, second: int, other: StageTiles) -> Iterator[Hazard]:
    found: dict[tuple[str, str], Hazard] = {}
    for before in one.touches:
        for after in other.touches:
            kind = HAZARDS.get((before.is_write, after.is_write))
            if kind is None or before.array != after.array:
                continue
            hazard = Hazard(first, second, after.array, kind, conflicts(before, after), before.location, after.location)
            key = after.array, kind
            if key in found:
                hazard = _merged(found[key], hazard)
            if hazard.pairs.any():
                found[key] = hazard
    yield from found.values()


def _merged(one: Hazard, other: Hazard) -> Hazard:
    return Hazard(
        one.first, one.second, one.array, one.kind, one.pairs | other.pairs, one.first_location, one.second_location
    )


# -- order


def link_pairs(link: Link, graph: Graph, counts: Sequence[int]) -> Pairs:
    """Return which tiles a link orders. An array that is put together meets all its producers' tiles first."""
    rows, columns = counts[link.source], counts[link.destination]
    joined = any((join.destination, join.buffer) == link.destination_port for join in graph.joins)
    if joined or rows != columns:
        return np.ones((rows, columns), np.bool_)
    return np.eye(rows, dtype=np.bool_)


def wait_pairs(wait: Wait, number: int, tiles: range, counts: Sequence[int]) -> Pairs:
    """Return which tiles of stage `number` a barrier puts before which of the stage after it."""
    rows, columns = counts[number], counts[wait.after[0]]
    pairs = np.zeros((rows, columns), np.bool_)
    if wait.picks is None:
        pairs[_part(tiles, rows), _part(wait.after[1], columns)] = True
        return pairs
    for tile, read in wait.picks:
        pairs[min(read, rows - 1), min(tile, columns - 1)] = True
    return pairs


def _part(tiles: range, count: int) -> slice:
    """Return the rows of some tiles; a stage that is one unit is ordered as a whole."""
    return slice(0, 1) if count == 1 else slice(tiles.start, tiles.stop)


def direct_edges(graph: Graph, counts: Sequence[int]) -> dict[StagePair, Pairs]:
    """Return which tiles are ordered directly, by links and barriers, for each pair of stages."""
    edges: dict[StagePair, Pairs] = {}
    for link in graph.links:
        _add(edges, (link.source, link.destination), link_pairs(link, graph, counts))
    for wait in graph.waits:
        for number, tiles in wait.before:
            _add(edges, (number, wait.after[0]), wait_pairs(wait, number, tiles, counts))
    return edges


def _add(edges: dict[StagePair, Pairs], key: StagePair, pairs: Pairs) -> None:
    edges[key] = edges[key] | pairs if key in edges else pairs


def closure(edges: dict[StagePair, Pairs], count: int) -> dict[StagePair, Pairs]:
    """Return which tiles are ordered at all, through any number of tiles between them."""
    into: list[list[tuple[int, Pairs]]] = [[] for _ in range(count)]
    for (first, second), pairs in edges.items():
        into[second].append((first, pairs))
    order: dict[StagePair, Pairs] = {}
    for second in range(count):
        for middle, pairs in into[second]:
            _add(order, (middle, second), pairs)
            for first in range(middle):
                if (first, middle) in order:
                    steps = order[first, middle].astype(np.float32) @ pairs.astype(np.float32)
                    _add(order, (first, second), steps > 0)
    return order


def unordered(hazards: Sequence[Hazard], order: dict[StagePair, Pairs]) -> list[tuple[Hazard, Pairs]]:
    """Return the hazards with pairs of tiles that nothing orders, and these pairs."""
    found = []
    for hazard in hazards:
        known = order.get((hazard.first, hazard.second))
        left = hazard.pairs if known is None else hazard.pairs & ~known
        if left.any():
            found.append((hazard, left))
    return found
