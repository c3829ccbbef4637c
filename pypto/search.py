"""From a search space to candidates: names to schedules, what fits, what is the same code, what is the default."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pypto.codegen.llvm.code import Layout, Machine
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.ir.nodes import Module
from pypto.ir.schedule import Schedule, with_schedule
from pypto.runtime.tuning.candidate import Candidate, Candidates, Outcome, Trial
from pypto.runtime.tuning.facts import Facts, common_schedule, facts, tile_bytes
from pypto.runtime.tuning.lowered import Lowered, lower_candidate, memory_bytes
from pypto.search_axes import NAMES, Choice, choose, unknown_axis
from pypto.search_space import Point, TilingSearchSpace

MOST_LOWERED = 512
"""Different schedules that are lowered; what is left of a larger space is cut off and said so."""


def find_candidates(
    space: TilingSearchSpace,
    module: Module,
    target: str,
    *,
    layouts: Mapping[str, Layout] | None = None,
    machine: Machine | None = None,
    injectable: Collection[str] = (),
) -> Candidates:
    """Return the candidates of `space`; see `TilingSearchSpace.candidates`."""
    known = facts(module)
    for axis in space.axes:
        if axis not in NAMES and axis not in injectable:
            raise unknown_axis(axis, known.kernel)
    search = _Search(
        space, module, target, layouts or {}, machine, known, common_schedule(module), frozenset(injectable)
    )
    search.default()
    for point in space.points():
        if len(search.schedules) >= MOST_LOWERED:
            search.notes.append(
                f"of {space.combinations} combinations {MOST_LOWERED} different schedules were looked at"
            )
            break
        search.point(point)
    return search.result()


@dataclass(slots=True)
class _Search:
    space: TilingSearchSpace
    module: Module
    target: str
    layouts: Mapping[str, Layout]
    machine: Machine | None
    facts: Facts
    base: Schedule
    injectable: frozenset[str]
    usable: dict[tuple[str, Point], Candidate] = field(default_factory=dict)
    """By what they lower to."""
    own: set[tuple[str, Point]] = field(default_factory=set)
    """What candidates of the space itself lower to."""
    rejected: list[Trial] = field(default_factory=list)
    schedules: dict[tuple[Schedule, Point], tuple[str, Point] | None] = field(default_factory=dict)
    """What each schedule lowers to; None for those that do not."""
    notes: list[str] = field(default_factory=list)
    failure: UserError | None = None
    """Why not even the default can be built."""

    def default(self) -> None:
        """Enter what the compiler does untuned."""
        values = tuple((name, None) for name in self.space.axes)
        candidate = Candidate(values, self.base, is_default=True)
        lowered = self.lowered(candidate, self.module)
        if lowered is not None:
            self.usable[lowered.identity, ()] = _sized(candidate, lowered)

    def point(self, point: Point) -> None:
        """Enter one combination of values: as a candidate, or as a row that says why it is none."""
        injected = tuple((name, value) for name, value in point if name in self.injectable)
        choice = choose(dict(point), self.facts)
        candidate = Candidate(point, self.base.choosing(**choice.fields), injected=injected)
        reason = self.too_large(candidate, choice)
        if reason:
            self.reject(candidate, Outcome.TOO_LARGE, reason)
            return
        key = candidate.schedule, injected
        if key not in self.schedules:
            lowered = self.lowered(candidate, with_schedule(self.module, candidate.schedule))
            self.schedules[key] = None if lowered is None else (lowered.identity, injected)
            if lowered is not None:
                self.enter(candidate, lowered)
        elif (same := self.schedules[key]) is not None:
            self.duplicate(candidate, self.usable[same])

    def enter(self, candidate: Candidate, lowered: Lowered) -> None:
        key = lowered.identity, candidate.injected
        before = self.usable.get(key)
        if before is None:
            self.usable[key] = _sized(candidate, lowered)
        elif before.is_default and key not in self.own:
            self.usable[key] = replace(before, values=candidate.values)  # the default, under the user's names
        else:
            self.duplicate(candidate, before)
        self.own.add(key)

    def duplicate(self, candidate: Candidate, before: Candidate) -> None:
        reason = f"the same code as {before.describe()}"
        blocked = [f"axis {axis}: {why}" for axis, why in enumerate(self.facts.reasons) if why]
        if blocked:
            reason += f" ({'; '.join(blocked)})"
        self.reject(candidate, Outcome.DUPLICATE, reason)

    def reject(self, candidate: Candidate, outcome: Outcome, reason: str) -> None:
        self.rejected.append(Trial(candidate, outcome, reason, source=f"compiler:{self.target}"))

    def too_large(self, candidate: Candidate, choice: Choice) -> str:
        """Return why a candidate needs more memory than there is or than is allowed; empty when it does not.

        A tile as it is written down has to fit the target's memory at least, whatever the arrays' extents are.
        """
        written, most = choice.written * self.facts.element_bytes, self.memory()
        if written > most:
            return f"a tile of {written} bytes is larger than the memory of {most} bytes"
        limits = self.space.constraint_memory
        if not limits:
            return ""
        needed = tile_bytes(self.module, candidate.schedule)
        for memory, limit in limits.items():
            size = needed.moved if memory == "GM_per_tile" else needed.resident
            if size > limit and not (memory == "UB" and self.is_npu):
                verb = "moves" if memory == "GM_per_tile" else "works on"
                return f"a tile {verb} {size} bytes, and constraint_memory allows {limit} of {memory}"
        return ""

    @property
    def is_npu(self) -> bool:
        return self.target in ("ascendc", "npu")

    def memory(self) -> int:
        if not self.is_npu:
            return memory_bytes()
        from pypto.codegen.targets.target import load_target

        return load_target("ascend910b1").number("memory", "device")

    def lowered(self, candidate: Candidate, module: Module) -> Lowered | None:
        """Return what a candidate becomes; None, and a row, when it becomes nothing."""
        try:
            lowered = lower_candidate(module, self.target, self.layouts, self.machine)
        except UserError as error:
            outcome = Outcome.TOO_LARGE if error.name == "unified-buffer-full" else Outcome.COMPILE_FAILED
            self.reject(candidate, outcome, error.message)
            self.failure = error if candidate.is_default else self.failure
            return None
        except CompilerBug as error:
            self.reject(candidate, Outcome.COMPILE_FAILED, str(error))
            return None
        limit = self.space.constraint_memory.get("UB", lowered.on_chip)
        if lowered.on_chip > limit and not candidate.is_default:
            reason = f"its buffers take {lowered.on_chip} bytes, and constraint_memory allows {limit} of UB"
            self.reject(candidate, Outcome.TOO_LARGE, reason)
            return None
        return lowered

    def result(self) -> Candidates:
        """Return what was found; raises UserError where the space itself has no candidate."""
        if not self.own:
            raise self.empty()
        return Candidates(tuple(self.usable.values()), tuple(self.rejected), tuple(self.notes))

    def empty(self) -> UserError:
        if self.failure is not None:
            return self.failure
        first = next((trial for trial in self.rejected if not trial.candidate.is_default), None)
        kernel = self.facts.kernel
        if first is None:
            why, advice = "its predicates exclude all combinations", "let the predicates allow some"
            return UserError("space-empty", None, kernel=kernel, why=why, advice=advice)
        candidate, reason = first.candidate.describe(), first.reason
        return UserError("space-too-large", None, kernel=kernel, candidate=candidate, reason=reason)


def _sized(candidate: Candidate, lowered: Lowered) -> Candidate:
    return replace(candidate, workspace=lowered.workspace, block_dim=lowered.block_dim)
