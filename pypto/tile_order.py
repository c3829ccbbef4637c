"""Which tiles are ordered by links and barriers, and which pairs of tiles need an order because they share elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pypto.graph import Graph
from pypto.ir.base.locations import Location
from pypto.links import Link, Wait
from pypto.program import Program
from pypto.tile_pairs import Meetings, Order, meetings
from pypto.tile_regions import StageTiles, stage_tiles

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
    pairs: Meetings
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
            pairs = meetings(before.boxes, after.boxes)
            hazard = Hazard(first, second, after.array, kind, pairs, before.location, after.location)
            key = after.array, kind
            if key in found:
                hazard = _merged(found[key], hazard)
            if hazard.pairs:
                found[key] = hazard
    yield from found.values()


def _merged(one: Hazard, other: Hazard) -> Hazard:
    return replace(one, pairs=one.pairs | other.pairs)


# -- order


def link_order(link: Link, graph: Graph, counts: Sequence[int]) -> Order:
    """Return which tiles a link orders. An array that is put together meets all its producers' tiles first."""
    rows, columns = counts[link.source], counts[link.destination]
    joined = any((join.destination, join.buffer) == link.destination_port for join in graph.joins)
    return Order.all(rows, columns) if joined or rows != columns else Order.same(rows)


def wait_order(wait: Wait, number: int, tiles: range, counts: Sequence[int]) -> Order:
    """Return which tiles of stage `number` a barrier puts before which of the stage after it."""
    rows, columns = counts[number], counts[wait.after[0]]
    if wait.picks is None:
        return Order.part(rows, columns, _part(tiles, rows), _part(wait.after[1], columns))
    first = [min(read, rows - 1) for _, read in wait.picks]
    return Order.of(rows, columns, first, [min(tile, columns - 1) for tile, _ in wait.picks])


def _part(tiles: range, count: int) -> slice:
    """Return the rows of some tiles; a stage that is one unit is ordered as a whole."""
    return slice(0, 1) if count == 1 else slice(tiles.start, tiles.stop)


def direct_edges(graph: Graph, counts: Sequence[int]) -> Edges:
    """Return which tiles are ordered directly, by links and barriers, for each pair of stages."""
    edges = Edges()
    for link in graph.links:
        edges.add((link.source, link.destination), link_order(link, graph, counts))
    for wait in graph.waits:
        for number, tiles in wait.before:
            edges.add((number, wait.after[0]), wait_order(wait, number, tiles, counts))
    return edges


@dataclass(slots=True)
class Edges:
    """Direct orders between stages, by the later one and the earlier one, and through others when asked for."""

    into: dict[int, dict[int, Order]] = field(default_factory=dict)
    known: dict[StagePair, Order | None] = field(default_factory=dict)

    def add(self, key: StagePair, order: Order) -> None:
        """Add to what is ordered directly; stages after ``key[1]`` must not have been asked about yet."""
        before = self.into.setdefault(key[1], {})
        before[key[0]] = before[key[0]] | order if key[0] in before else order
        self.known = {pair: found for pair, found in self.known.items() if pair[1] != key[1]}

    def without(self, key: StagePair) -> Edges:
        """Return the edges without the direct ones of a pair of stages."""
        kept = {other: order for other, order in self.into[key[1]].items() if other != key[0]}
        return Edges({**self.into, key[1]: kept})

    def through(self, first: int, second: int) -> Order | None:
        """Return which tiles of stage `first` come before which of `second`, through any number of tiles between."""
        for middle in self.between(first, second):
            self.known[first, middle] = self.found(first, middle)
        return self.known[first, second]

    def between(self, first: int, second: int) -> list[int]:
        """Return the stages from which `second` can be reached and that are not known yet, in order, itself last."""
        seen, pending = {second}, [second]
        while pending:
            stage = pending.pop()
            if (first, stage) in self.known:
                continue
            earlier = {other for other in self.into.get(stage, ()) if other > first} - seen
            seen |= earlier
            pending += earlier
        return sorted(stage for stage in seen if (first, stage) not in self.known)

    def found(self, first: int, second: int) -> Order | None:
        order = self.into.get(second, {}).get(first)
        for middle, last in self.into.get(second, {}).items():
            before = self.known.get((first, middle)) if middle > first else None
            if before is not None and (order is None or not order.is_all):
                steps = before.then(last)
                order = steps if order is None else order | steps
        return order


def unordered(hazards: Sequence[Hazard], edges: Edges) -> list[Hazard]:
    """Return the hazards with the pairs of tiles that nothing orders; those with none are left out."""
    left = (replace(item, pairs=item.pairs.outside(edges.through(item.first, item.second))) for item in hazards)
    return [item for item in left if item.pairs]


def by_stages(hazards: Sequence[Hazard]) -> Mapping[StagePair, list[Hazard]]:
    """Return the hazards of each pair of stages: by the later stage, the nearest earlier one first."""
    found: dict[StagePair, list[Hazard]] = {}
    for item in sorted(hazards, key=lambda item: (item.second, -item.first)):
        found.setdefault((item.first, item.second), []).append(item)
    return found
