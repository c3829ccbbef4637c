"""Picking the best of the candidates that were measured: by a metric, confirmed against the closest, and said honestly.

Figures, for one launch of a kernel with fixed arguments:

    throughput         arithmetic operations (bytes, for a kernel without any) per second of the median launch
    latency            seconds that 99 of 100 launches stay below (P99; the median where only that is known)
    memory_efficiency  bytes of arguments per second of the median launch, times the share that the arguments have in
                       all memory a launch needs: intermediates and workspaces count against a candidate
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pypto.runtime.tuning.candidate import Candidate, Outcome, Trial
from pypto.runtime.tuning.work import Work

Metric = Literal["throughput", "latency", "memory_efficiency"]
METRICS: tuple[str, ...] = get_args(Metric)
CLOSE = 0.05
"""A runner-up is measured again when it is within this share of the best, or within the noise."""
MOST_CONFIRMED = 4
"""Candidates that are measured again, the best included."""

BUSY = "the machine was busy when the best were measured again, so the better of both figures counts; "

Remeasure = Callable[[Sequence[Candidate]], Sequence[Trial]]


@dataclass(frozen=True, slots=True)
class Selection:
    """winner: the row of the candidate chosen. note: empty, or what should be known about the choice.

    confirmed: the rows of the second measurement, which decided.
    """

    winner: Trial
    note: str = ""
    confirmed: tuple[Trial, ...] = ()


class NothingMeasured(Exception):
    """No candidate can be chosen; the text lists each with its reason."""


def cost(trial: Trial, metric: str, work: Work) -> float:
    """Return what candidates are compared by, the smaller the better: the reciprocal of the figure, or P99.

    Raises KeyError for an unknown metric.
    """
    seconds = trial.seconds
    assert seconds is not None, "only candidates with a time are compared"
    if metric == "latency":
        return seconds if trial.tail is None else trial.tail
    if metric == "memory_efficiency":
        memory = max(trial.memory, trial.candidate.workspace)
        return seconds * (work.bytes + memory) / max(1, work.bytes) / max(1, work.bytes)
    return {"throughput": seconds / max(1.0, work.operations or work.bytes)}[metric]


def estimated_tops(work: Work, seconds: float) -> float:
    """Return 10**12 arithmetic operations per second; 0 for a kernel without arithmetic."""
    return work.operations / seconds * 1e-12 if seconds > 0 else 0.0


def select(
    trials: Sequence[Trial], remeasure: Remeasure, metric: Metric = "throughput", work: Work | None = None
) -> Selection:
    """Return the best of `trials`. The closest runners-up are measured again with it, in turns, and that decides.

    When all of them are slower the second time, the machine was busy, and each one's better figure decides. Ties go to
    the first. Where nothing could be measured, the model decides among those that nothing speaks against, and the note
    says so. Raises NothingMeasured when there are none.
    """
    amount = work or Work(0.0, 0)
    ranked = _ranked(trials, metric, amount)
    if not ranked:
        return _modelled_best(trials)
    close = _close(ranked, metric, amount)
    if len(close) < 2:
        return Selection(ranked[0])
    again = _ranked(remeasure([trial.candidate for trial in close]), metric, amount)
    if not again:
        return Selection(ranked[0], "it could not be confirmed: no candidate gave a time the second time")
    note = ""
    if cost(again[0], metric, amount) > _limit(ranked[0], metric, amount):
        again, note = _ranked(_better(close, again, metric, amount), metric, amount), BUSY
    return Selection(again[0], (note + _note(again, metric, amount)).removesuffix("; "), tuple(again))


def _modelled_best(trials: Sequence[Trial]) -> Selection:
    left = [trial for trial in trials if trial.outcome is Outcome.NOT_MEASURED]
    modelled = [trial for trial in left if trial.candidate.predicted is not None] or left
    if not modelled:
        raise NothingMeasured(_reasons(trials))
    best = min(modelled, key=lambda trial: trial.candidate.predicted or 0.0)
    return Selection(best, f"no candidate was measured ({best.reason}), so this is the best by the model")


def _ranked(trials: Sequence[Trial], metric: str, work: Work) -> list[Trial]:
    timed = [trial for trial in trials if trial.outcome is Outcome.MEASURED and trial.seconds is not None]
    return sorted(timed, key=lambda trial: cost(trial, metric, work))


def _close(ranked: Sequence[Trial], metric: str, work: Work) -> Sequence[Trial]:
    """Return the best and those that might be as good: near it, or with samples as fast as its median."""
    limit = _limit(ranked[0], metric, work)
    return [trial for trial in ranked if cost(trial, metric, work) <= limit][:MOST_CONFIRMED]


def _limit(best: Trial, metric: str, work: Work) -> float:
    """Return the cost up to which a candidate might be as good as `best`."""
    return cost(best, metric, work) * (1 + max(CLOSE, spread(best)))


def _better(first: Sequence[Trial], again: Sequence[Trial], metric: str, work: Work) -> list[Trial]:
    """Return for each candidate of `again` the better of its two rows."""
    earlier = {trial.candidate.key(): trial for trial in first}
    pairs = [(earlier[trial.candidate.key()], trial) for trial in again]
    return [min(pair, key=lambda trial: cost(trial, metric, work)) for pair in pairs]


def spread(trial: Trial) -> float:
    """Return the noise of a measurement: half the distance from P20 to P80, as a share of the median; 0 if unknown."""
    if trial.quantiles is None or trial.quantiles[0] <= 0:
        return 0.0
    middle, low, high = trial.quantiles
    return (high - low) / 2 / middle


def _note(ranked: Sequence[Trial], metric: str, work: Work) -> str:
    """Return what to say of the best and the second of a confirmation: nothing when the difference is clear."""
    if len(ranked) < 2:
        return ""
    first, second = ranked[0], ranked[1]
    best = cost(first, metric, work)
    difference = cost(second, metric, work) / best - 1 if best > 0 else 0.0
    noise = max(spread(first), spread(second))
    if difference > noise:
        return ""
    return (
        f"{first.candidate.describe()} is {difference:.1%} better than {second.candidate.describe()}, which is inside "
        f"the noise of {noise:.1%}: either may be the better one"
    )


def _reasons(trials: Sequence[Trial]) -> str:
    rows = [f"  {item.candidate.describe()}: {item.outcome.name.lower()}: {item.reason}" for item in trials]
    return "\n".join(("no candidate has a time:", *rows)) if rows else "there are no candidates"
