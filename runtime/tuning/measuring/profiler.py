"""The profiler method: rows of single kernels, found by exact name, grouped into rounds, mean of those measured.

One session; in every round each candidate is launched once; one round is thrown away, 5 warm up, 30 are measured.
Rows get lost on real devices, most often at the start: a round that is not complete counts for no candidate, and when
too few are left the candidates are measured by events instead. Types are never looked at: a user's own ReduceSum is as
good a kernel as any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pypto.runtime.tuning.measuring.options import MeasureOptions
from pypto.runtime.tuning.profiler_files import TaskRow

DISCARDED_ROUNDS = 1
WARMUP_ROUNDS = 5
ACTIVE_ROUNDS = 30
LEAST_ROUNDS = 3

Names = tuple[str, ...]
"""The names of the rows that one launch of a candidate leaves, in order."""


@dataclass(frozen=True, slots=True)
class ProfilerPlan:
    """How many rounds are launched: `discarded`, then `warmup`, then `active`."""

    warmup: int = WARMUP_ROUNDS
    active: int = ACTIVE_ROUNDS
    discarded: int = DISCARDED_ROUNDS

    @classmethod
    def of(cls, options: MeasureOptions) -> ProfilerPlan:
        warmup = WARMUP_ROUNDS if options.warmup_runs is None else max(0, options.warmup_runs)
        return cls(warmup, ACTIVE_ROUNDS if options.measure_runs is None else max(1, options.measure_runs))

    @property
    def rounds(self) -> int:
        return self.discarded + self.warmup + self.active


@dataclass(frozen=True, slots=True)
class Profiled:
    """Seconds of each candidate's measured launches, and a note when rounds were lost."""

    seconds: tuple[tuple[float, ...], ...]
    note: str = ""


class RowsMissing(Exception):
    """The rows are not enough to tell the candidates' times; the text says what is there."""


def evaluate(rows: Sequence[TaskRow], names: Sequence[Names], plan: ProfilerPlan) -> Profiled:
    """Return what the rows of a session say of each candidate, `names` being those of its kernels.

    When rounds were lost, nobody knows which: as many fewer are used, counted from the end, so that none warmed up.
    Raises RowsMissing when those are fewer than half of the rounds that were to be measured, or fewer than 3.
    """
    complete = complete_rounds(rows, names, plan.rounds)
    lost = plan.rounds - len(complete)
    needed = min(plan.active, max(LEAST_ROUNDS, plan.active // 2))
    used = complete[-(plan.active - lost) :] if lost < plan.active else []
    if lost < 0 or len(used) < needed:
        wanted = sum(len(item) for item in names) * plan.rounds
        found = sum(1 for row in rows if any(row.name in item for item in names))
        raise RowsMissing(f"{found} rows of the candidates' kernels instead of {wanted}")
    lost = plan.rounds - len(complete)
    note = f"{lost} of {plan.rounds} rounds are incomplete in the profiler's files and were left out" if lost else ""
    return Profiled(tuple(zip(*used, strict=True)), note)


def complete_rounds(rows: Sequence[TaskRow], names: Sequence[Names], rounds: int) -> list[tuple[float, ...]]:
    """Return for every complete round the seconds of each candidate, in order of time.

    Rounds are told apart by the profiler's step numbers; without those, by the order of names; and where candidates
    share names, by counting, which needs every row.
    """
    wanted = [name for item in names for name in item]
    targets = [row for row in rows if row.name in set(wanted)]
    if targets and all(row.step is not None for row in targets):
        groups: Iterable[Sequence[TaskRow]] = _by_step(targets)
    elif len(set(wanted)) == len(wanted):
        groups = _by_order(targets, wanted)
    elif len(targets) == len(wanted) * rounds:
        groups = [targets[start : start + len(wanted)] for start in range(0, len(targets), len(wanted))]
    else:
        groups = []
    return [_sums(group, names) for group in groups if [row.name for row in group] == wanted]


def _by_step(rows: Sequence[TaskRow]) -> Iterator[list[TaskRow]]:
    def step(row: TaskRow) -> int:
        return row.step or 0

    for _, group in groupby(sorted(rows, key=step), step):  # stable: in order of time within a step
        yield list(group)


def _by_order(rows: Sequence[TaskRow], wanted: Sequence[str]) -> Iterator[list[TaskRow]]:
    """Yield runs of rows that follow `wanted`; one that breaks off is left, and the next begins with the first name."""
    group: list[TaskRow] = []
    for row in rows:
        if row.name != wanted[len(group)]:
            group = []
        if row.name == wanted[len(group)]:
            group.append(row)
        if len(group) == len(wanted):
            yield group
            group = []


def _sums(group: Sequence[TaskRow], names: Sequence[Names]) -> tuple[float, ...]:
    seconds, start = [], 0
    for item in names:
        seconds.append(sum(row.seconds for row in group[start : start + len(item)]))
        start += len(item)
    return tuple(seconds)
