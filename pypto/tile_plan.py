"""The schedule of a tile graph: which tiles run on which core, in which phase, and the barriers between phases.

Tile t of T runs on core ``t * cores // T`` (of ``min(cores, T)``), so that equal tiles of linked stages share a core.
A stage that needs tiles of another core starts a new phase; a barrier separates the two. One inserted barrier serves
all such needs between two phases; those that the user wrote serve their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypto.barriers import SYNC_MODE, Barrier
from pypto.codegen.targets.target import load_target
from pypto.graph import Graph
from pypto.ir.base.errors import UserError
from pypto.links import Link, Wait, tile_count

if TYPE_CHECKING:
    from pypto.program import Program
    from pypto.tile_order import Hazard
    from pypto.tile_pairs import Meetings
    from pypto.tile_regions import StageTiles

BARRIER_IDS = 11
"""Cross-core flags 0 to 10 order cores on dav-2201 (CrossCoreSetFlag)."""

CHIP = "ascend910b1"


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """One stage: its tiles, the phase they run in, and the number of cores that share them."""

    name: str
    tiles: int
    phase: int
    cores: int


@dataclass(frozen=True, slots=True)
class PlannedBarrier:
    """A barrier of the schedule. `before` and `after` are stage numbers; `user` is the one that the user wrote.

    `wait_us` is the longest time that a tile waits there in the model of time, None when regions are unknown.
    """

    identifier: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    participants: int
    phase: int
    user: Barrier | None = None
    wait_us: float | None = None


@dataclass(frozen=True, slots=True)
class TilePlan:
    """Stages in program order and barriers by the phase that they open; `str` prints all of it."""

    stages: tuple[PlannedStage, ...]
    barriers: tuple[PlannedBarrier, ...]
    core_of: tuple[NDArray[np.int64], ...]

    @property
    def phases(self) -> int:
        return 1 + max(stage.phase for stage in self.stages)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        tiles = sum(stage.tiles for stage in self.stages)
        cores = max(stage.cores for stage in self.stages)
        yield f"{len(self.stages)} stages, {tiles} tiles on {cores} cores, {self.phases} phases"
        for phase in range(self.phases):
            yield from (self._barrier_line(item) for item in self.barriers if item.phase == phase)
            yield f"phase {phase}"
            for stage in self.stages:
                if stage.phase == phase:
                    yield f"  {stage.name} 0..{stage.tiles - 1} on cores 0..{stage.cores - 1}"

    def _barrier_line(self, item: PlannedBarrier) -> str:
        before, after = (", ".join(self.stages[number].name for number in part) for part in (item.before, item.after))
        who = "inserted" if item.user is None else item.user.mode.value
        waits = "" if item.wait_us is None else f", waits {item.wait_us:.2f} us at most"
        return f"barrier {item.identifier} ({who}): {before} -> {after}, participants={item.participants}{waits}"


def plan_tiles(graph: Graph, cores: int | None = None, program: Program | None = None) -> TilePlan:
    """Return the schedule of a graph on at most `cores` cores (default: all of the chip).

    With `program`, tiles are known to depend on each other from the regions that they touch; without, from the links
    alone. Raises UserError ``barrier-ids`` or ``barrier-timeout``.
    """
    cores = cores or load_target(CHIP).number("cores", "vector")
    tiles: list[StageTiles] | None = None
    hazards: list[Hazard] = []
    counts = [tile_count(stage) or 1 for stage in graph.stages]
    if program is not None:
        from pypto.tile_order import find_hazards

        tiles, hazards = find_hazards(graph, program)
        counts = [item.count for item in tiles]
    core_of = tuple(_cores(count, cores) for count in counts)
    crossing = _crossing(graph, counts, core_of, hazards)
    phases = _phases(graph, crossing)
    stages = tuple(
        PlannedStage(stage.name, count, phase, min(count, cores))
        for stage, count, phase in zip(graph.stages, counts, phases, strict=True)
    )
    found = [*_user_barriers(graph, phases), *_inserted(graph, crossing, phases, counts)]
    barriers = _numbered(graph, found, phases)
    plan = TilePlan(stages, tuple(barriers), core_of)
    return plan if tiles is None else _timed(graph, plan, tiles)


def _cores(count: int, cores: int) -> NDArray[np.int64]:
    return np.arange(count, dtype=np.int64) * min(count, cores) // count


# -- phases

Pair = tuple[int, int]


def _crossing(
    graph: Graph, counts: Sequence[int], core_of: Sequence[NDArray[np.int64]], hazards: Sequence[Hazard]
) -> dict[Pair, bool]:
    """Return the pairs of stages that depend on each other, and whether tiles of different cores do."""
    crossing: dict[Pair, bool] = {}
    for link in graph.links:
        pair = link.source, link.destination
        crossing[pair] = crossing.get(pair, False) or not _same_core(link, counts)
    for hazard in hazards:
        pair = hazard.first, hazard.second
        crossing[pair] = crossing.get(pair, False) or _cross(hazard.pairs, core_of[pair[0]], core_of[pair[1]])
    return crossing


def _cross(pairs: Meetings, first: NDArray[np.int64], second: NDArray[np.int64]) -> bool:
    """Return whether tiles of different cores meet; `first` and `second` are the cores of the stages' tiles."""
    least = np.minimum(pairs.rows.least(first)[pairs.first], pairs.columns.least(second)[pairs.second])
    most = np.maximum(pairs.rows.most(first)[pairs.first], pairs.columns.most(second)[pairs.second])
    return bool((least != most).any())


def _same_core(link: Link, counts: Sequence[int]) -> bool:
    return link.picks is None and link.reduction is None and counts[link.source] == counts[link.destination]


def _phases(graph: Graph, crossing: dict[Pair, bool]) -> list[int]:
    """Return the first phase in which each stage can run; a barrier that the user wrote starts one."""
    needs: list[list[tuple[int, int]]] = [[] for _ in graph.stages]
    for (first, second), crosses in crossing.items():
        needs[second].append((first, int(crosses)))
    for wait in graph.waits:
        for number, _ in wait.before:
            needs[wait.after[0]].append((number, 1))
    phases: list[int] = []
    for need in needs:
        phases.append(max((phases[first] + step for first, step in need), default=0))
    return phases


def _user_barriers(graph: Graph, phases: Sequence[int]) -> Iterator[PlannedBarrier]:
    for wait in graph.waits:
        before = tuple(number for number, _ in wait.before)
        participants = sum(len(tiles) for _, tiles in (*wait.before, wait.after))
        yield PlannedBarrier(0, before, (wait.after[0],), participants, phases[wait.after[0]], wait.barrier)


def _inserted(
    graph: Graph, crossing: dict[Pair, bool], phases: Sequence[int], counts: Sequence[int]
) -> Iterator[PlannedBarrier]:
    served = {(number, wait.after[0]) for wait in graph.waits if _is_whole(wait, counts) for number, _ in wait.before}
    wanted: dict[int, tuple[set[int], set[int]]] = {}
    for (first, second), crosses in crossing.items():
        if crosses and (first, second) not in served:
            before, after = wanted.setdefault(phases[second], (set(), set()))
            before.add(first)
            after.add(second)
    for phase, (before, after) in sorted(wanted.items()):
        participants = sum(counts[number] for number in before | after)
        yield PlannedBarrier(0, tuple(sorted(before)), tuple(sorted(after)), participants, phase)


def _is_whole(wait: Wait, counts: Sequence[int]) -> bool:
    groups = (*wait.before, wait.after)
    return wait.picks is None and all(len(tiles) >= counts[number] for number, tiles in groups)


def _numbered(graph: Graph, barriers: Sequence[PlannedBarrier], phases: Sequence[int]) -> list[PlannedBarrier]:
    """Give each barrier an id that no other has while it lives: from its first arrival to the phase that it opens.

    Returned by phase.
    """
    first = [min(phases[number] for number in item.before) for item in barriers]
    live: list[tuple[int, int]] = []  # phase, id
    numbered: list[PlannedBarrier] = []
    for position in sorted(range(len(barriers)), key=lambda position: (first[position], barriers[position].phase)):
        item = barriers[position]
        live = [(phase, identifier) for phase, identifier in live if phase >= first[position]]
        free = set(range(BARRIER_IDS)) - {identifier for _, identifier in live}
        if not free:
            stage = graph.stages[item.after[0]]
            raise UserError(
                "barrier-ids", stage.location, count=len(live) + 1, phase=first[position], limit=BARRIER_IDS
            )
        live.append((item.phase, min(free)))
        numbered.append(replace(item, identifier=min(free)))
    return sorted(numbered, key=lambda item: item.phase)


# -- time


def _timed(graph: Graph, plan: TilePlan, tiles: Sequence[StageTiles]) -> TilePlan:
    """Return the plan with the wait at each barrier: tiles take the time of moving what they touch."""
    finish: list[NDArray[np.float64]] = []
    free = np.zeros(max(stage.cores for stage in plan.stages))
    waits: dict[int, float] = {}
    for number, stage in enumerate(tiles):
        start = np.zeros(stage.count)
        for position, item in enumerate(plan.barriers):
            if number in item.after:
                arrivals = np.concatenate([finish[before] for before in item.before if before < number])
                first = float(free[plan.core_of[number]].min())
                blocking = item.user is None or item.user.mode is SYNC_MODE.BLOCKING
                wait = float(arrivals.max()) - (float(arrivals.min()) if blocking else first)
                waits[position] = max(waits.get(position, 0.0), wait, 0.0)
                start = np.maximum(start, arrivals.max())
        finish.append(_run(start, _duration(stage), plan.core_of[number], free))
    barriers = []
    for position, item in enumerate(plan.barriers):
        barriers.append(_checked(graph, item, waits.get(position, 0.0)))
    return TilePlan(plan.stages, tuple(barriers), plan.core_of)


def _duration(stage: StageTiles) -> NDArray[np.float64]:
    """Return the microseconds of each tile: its bytes at the rate at which one core reaches GM."""
    target = load_target(CHIP)
    rate = target.quantity("bandwidth", "gm_per_core").value * target.quantity("cores", "clock").value
    total = np.zeros(stage.count)
    for touch in stage.touches:
        elements = np.prod(np.maximum(touch.boxes[:, :, 1] - touch.boxes[:, :, 0], 0), axis=1)
        total += elements * touch.element_bytes
    return total / rate


def _run(
    start: NDArray[np.float64], duration: NDArray[np.float64], core_of: NDArray[np.int64], free: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return when each tile finishes; each core takes its tiles in order. `free` is when cores are done."""
    finish = np.zeros(len(start))
    for tile, core in enumerate(core_of):
        finish[tile] = free[core] = max(start[tile], free[core]) + duration[tile]
    return finish


def _checked(graph: Graph, item: PlannedBarrier, wait: float) -> PlannedBarrier:
    if item.user is not None and item.user.timeout_us is not None and wait > item.user.timeout_us:
        raise UserError(
            "barrier-timeout", graph.stages[item.after[0]].location, barrier=item.user, wait=f"{wait:.2f}",
            timeout=f"{item.user.timeout_us:g}",
        )  # fmt: skip
    return replace(item, wait_us=wait)
