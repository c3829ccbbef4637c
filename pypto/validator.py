"""Proof for users: which tiles of a tile graph race, and the fewest barriers that order them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pypto.barriers import Barrier
from pypto.caller import PLACED_AT_CALLER
from pypto.config import Options
from pypto.dependencies import DependencyGraph, option_value
from pypto.graph import Graph
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.tile_order import Edges, Hazard, by_stages, direct_edges, find_hazards, unordered
from pypto.tile_pairs import Meetings, Order

_WORDS = {
    "read-after-write": ("writes", "reads", "may read elements before they are written"),
    "write-after-read": ("reads", "writes", "may overwrite elements before they are read"),
    "write-after-write": ("writes", "writes", "may be overwritten by the earlier stage"),
}


@dataclass(frozen=True, slots=True)
class RaceIssue:
    """Two tiles that touch the same elements, one of them writing, in an order that nothing fixes.

    `type`: ``read-after-write``, ``write-after-read`` or ``write-after-write``. `location`: the line of the later
    stage. `suggestions`: what to write, in words; `barrier` orders the tiles.
    """

    id: int
    type: str
    location: Location
    description: str
    suggestions: tuple[str, ...]
    barrier: Barrier


@dataclass(frozen=True, slots=True)
class RaceConditionReport:
    """What `DependencyValidator.detect_races` found; it is true when there are issues."""

    issues: tuple[RaceIssue, ...]

    @property
    def has_issues(self) -> bool:
        return bool(self.issues)

    def __bool__(self) -> bool:
        return self.has_issues

    def __str__(self) -> str:
        if not self.issues:
            return "no races"
        lines = []
        for issue in self.issues:
            lines.append(f"{issue.location}: #{issue.id} {issue.type}: {issue.description}")
            lines += [f"  - {suggestion}" for suggestion in issue.suggestions]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class BarrierInsertPoint:
    """One barrier that is missing, and in words where it goes."""

    barrier: Barrier
    place: str

    def __str__(self) -> str:
        return self.place


@dataclass(frozen=True, slots=True)
class BarrierSuggestion:
    """The fewest barriers that order all tiles that race."""

    barrier_insert_points: tuple[BarrierInsertPoint, ...]


class DependencyValidator:
    """Checks that links and barriers order all tiles that touch the same elements.

    kernel_graph: a `DependencyGraph`, a list of tile functions or a networkx graph, with `config` as for `compile`.
    shapes, dtypes: of the launch arguments, as for `compile`; default: what the decorators cover exactly. The regions
    that tiles touch come from tracing the stages. Only what the graph says orders tiles here: that `compile` runs
    stages one after another is the safety net, not the proof. Raises what `compile` raises for the graph.
    """

    def __init__(self, kernel_graph: Any, *, config: Any = None, shapes: Any = None, dtypes: Any = None) -> None:
        with PLACED_AT_CALLER:
            self._state = _State.read(kernel_graph, config, shapes, dtypes)

    def detect_races(self) -> RaceConditionReport:
        """Return all pairs of stages with tiles that race, one issue for each array and kind of hazard."""
        return RaceConditionReport(tuple(self._state.issues()))

    def suggest_barrier_insertion(self, report: RaceConditionReport | None = None) -> BarrierSuggestion:
        """Return the fewest barriers that order what `report` (default: a new one) lists.

        Raises UserError ``option-value`` for what is no report.
        """
        with PLACED_AT_CALLER:
            _check_report("DependencyValidator.suggest_barrier_insertion", "report", report)
        if report is not None and not report.issues:
            return BarrierSuggestion(())
        points = [BarrierInsertPoint(item, _place(item)) for item in self._state.missing()]
        return BarrierSuggestion(tuple(points))


def auto_insert_sync(
    original_graph: Any,
    validation_report: RaceConditionReport | None = None,
    strategy: str = "minimal",
    *,
    config: Any = None,
    shapes: Any = None,
    dtypes: Any = None,
) -> DependencyGraph:
    """Return the graph with barriers that order all tiles that race; without any one of them some race comes back.

    original_graph, config, shapes, dtypes: as for `DependencyValidator`. Tiles wait one by one where that is enough,
    else all for all. A report without issues gives the graph as it was. Raises UserError ``option-value`` for a
    strategy other than "minimal" and for what is no report.
    """
    with PLACED_AT_CALLER:
        if strategy != "minimal":
            raise option_value("auto_insert_sync", "strategy", strategy, "'minimal'")
        _check_report("auto_insert_sync", "validation_report", validation_report)
        state = _State.read(original_graph, config, shapes, dtypes)
        needed = validation_report is None or validation_report.has_issues
        added = state.missing() if needed else []
        return DependencyGraph((*state.graph.dependencies, *added), stages=state.graph.stages)


def _check_report(what: str, key: str, report: object) -> None:
    if report is not None and not isinstance(report, RaceConditionReport):
        raise option_value(what, key, report, "what `DependencyValidator(...).detect_races()` returned")


def _place(barrier: Barrier) -> str:
    how = "all tiles" if barrier.mapping is None else "tile i waits for tile i"
    return f"between {barrier.before[0]} and {barrier.after}: {how}"


@dataclass(frozen=True, slots=True)
class _State:
    """A traced graph: tiles per stage, hazards, and the order that the graph gives."""

    graph: Graph
    counts: tuple[int, ...]
    hazards: tuple[Hazard, ...]

    @staticmethod
    def read(what: Any, config: Any, shapes: Mapping[str, Any] | None, dtypes: Any) -> _State:
        from pypto.config import read_config
        from pypto.known_shapes import known_views, read_known
        from pypto.subject import TracedSubject, read_subject

        subject = read_subject(what, read_config(config)[1], unordered=True)
        if not isinstance(subject, TracedSubject):
            raise UserError("no-tile-graph", None, kernel=subject.name)
        views, _ = known_views(subject, read_known(subject, shapes, dtypes))
        program = subject.program(views, Options())
        stages, hazards = find_hazards(subject.graph, program)
        return _State(subject.graph, tuple(stage.count for stage in stages), tuple(hazards))

    def edges(self) -> Edges:
        return direct_edges(self.graph, self.counts)

    def issues(self) -> list[RaceIssue]:
        return [self.issue(number, item) for number, item in enumerate(unordered(self.hazards, self.edges()))]

    def issue(self, number: int, hazard: Hazard) -> RaceIssue:
        one, other = hazard.pairs.example
        first, second = (self.graph.stages[index].name for index in (hazard.first, hazard.second))
        does, then, danger = _WORDS[hazard.kind]
        description = (
            f"tile {one} of {first} {does} elements of {hazard.array!r} that tile {other} of {second} {then}, and "
            f"nothing orders them ({hazard.pairs.count} pairs of tiles): {second} {danger}"
        )
        barrier = self.barrier(hazard.first, hazard.second, hazard.pairs)
        suggestions = [f"insert a barrier {_place(barrier)}: {_code(barrier)}"]
        if hazard.kind == "read-after-write":
            suggestions.append(f"or link {first}.{hazard.array} to {second} with pypto.Dependency")
        return RaceIssue(number, hazard.kind, hazard.second_location, description, tuple(suggestions), barrier)

    def barrier(self, first: int, second: int, pairs: Meetings) -> Barrier:
        """Return the weakest barrier that orders `pairs`: tile by tile when only equal numbers meet."""
        same = self.counts[first] == self.counts[second] > 1 and pairs.are_same
        return Barrier(self.graph.stages[first], self.graph.stages[second], "tile_idx" if same else None)

    def missing(self) -> list[Barrier]:
        """Return barriers that order all hazards, none of which the others and the graph make superfluous.

        A later stage gets its barriers nearest first, as those often order what lies before them too. Barriers into a
        stage order nothing into earlier ones, so that one walk over the stages finds them all.
        """
        edges, added = self.edges(), list[Barrier]()
        for (first, second), hazards in by_stages(self.hazards).items():
            left = unordered(hazards, edges)
            if left:
                pairs = functools.reduce(operator.or_, (item.pairs for item in left))
                added.append(self.barrier(first, second, pairs))
                edges.add((first, second), self.waiting(added[-1], first, second))
        return added

    def waiting(self, barrier: Barrier, first: int, second: int) -> Order:
        rows, columns = self.counts[first], self.counts[second]
        return Order.all(rows, columns) if barrier.mapping is None else Order.same(rows)


def _code(barrier: Barrier) -> str:
    mapping = ', mapping="tile_idx"' if barrier.mapping is not None else ""
    return f"pypto.Barrier({barrier.before[0].stage!r}, {barrier.after.stage!r}{mapping})"
