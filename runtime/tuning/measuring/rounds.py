"""The three ways to time candidates that were checked: by events, by a profiler, by the user's own function."""

from __future__ import annotations

import statistics
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.measuring import event, kernel_rows
from pypto.runtime.tuning.measuring.measurement import Measured, Measurement, OutOfTime
from pypto.runtime.tuning.measuring.options import Samples
from pypto.runtime.tuning.measuring.profiler import ProfilerPlan, RowsMissing, evaluate
from pypto.runtime.tuning.measuring.runner import SessionLost
from pypto.runtime.tuning.profiler_files import ProfilerData, read_folder

PROFILE_PREFIX = "pypto-profile-"
SAMPLES_TO_GIVE_UP = 10
"""Fewer samples may all be noise."""


def measure_by_events(measurement: Measurement) -> None:
    """Time all candidates in rounds, in turn, beginning each round with another one; medians of all rounds.

    Raises OutOfTime: what was sampled until then stays.
    """
    options = measurement.options
    counts = {item.key: event.repeat_count(options, item.known) for item in measurement.alive}
    rounds = max(1, options.rounds)
    for number in range(rounds):
        turn = _in_turn(_hopeful(measurement), number)
        for place, item in enumerate(turn):
            measurement.progress((number + place / len(turn)) / rounds)
            measurement.check_time()
            count = _share(counts[item.key], number, rounds)
            if count:
                _sample(measurement, item, event.warmup_count(options, item.known) if number == 0 else 1, count)


def _hopeful(measurement: Measurement) -> list[Measured]:
    """Return the candidates that are worth more samples: all, but those that even at their fastest are far off."""
    alive = measurement.alive
    if not all(item.seconds for item in alive):
        return alive
    most = measurement.options.hopeless * min((statistics.median(item.seconds) for item in alive), default=0.0)
    return [item for item in alive if len(item.seconds) < SAMPLES_TO_GIVE_UP or min(item.seconds) <= most]


def _in_turn(items: list[Measured], number: int) -> list[Measured]:
    """Return `items`, round `number` beginning with another one than the rounds before it."""
    first = number % max(1, len(items))
    return items[first:] + items[:first]


def _share(count: int, number: int, rounds: int) -> int:
    """Return how many of `count` launches fall into round `number`: the first ones have at least one each."""
    used = max(1, min(count, rounds))
    return count * (number + 1) // used - count * number // used if number < used else 0


def _sample(measurement: Measurement, item: Measured, warmup: int, count: int) -> None:
    limit = measurement.limit(item, (warmup + count) * item.known.whole)
    answer = measurement.ask(item, "sample", limit, warmup=warmup, count=count, cold=measurement.options.cold)
    if answer is not None:
        item.samples.extend(Samples(answer["clean"], answer["interrupted"]))


def finish_events(measurement: Measurement, check: bool = True) -> None:
    """Give every candidate that was sampled its row, after it was checked once more (a race may show late).

    check: False where the time for that, and for more samples, is used up.
    """
    for item in measurement.alive:
        if item.seconds and (not check or measurement.check(item)):
            measurement.accept(item, "event", cut_short=not check)


Collect = Callable[[ProfilerPlan], ProfilerData]
"""Launches all rounds of a plan and returns the rows that they left. Raises RowsMissing where it cannot."""


def measure_alive(measurement: Measurement, collect: Collect) -> list[Trial]:
    """Check all candidates, time those that are right, and return all rows.

    collect: how rows of a profiler are got. When these do not suffice, events are used and a warning says why.
    """
    try:
        measurement.prepare()
        _measure(measurement, collect)
    except OutOfTime:
        finish_events(measurement, check=False)
    except SessionLost as error:
        for item in measurement.alive:
            measurement.reject(item, Outcome.NOT_MEASURED, str(error))
    return measurement.trials()


def _measure(measurement: Measurement, collect: Collect) -> None:
    if measurement.options.do_bench is not None:
        measure_by_bench(measurement)
        return
    if measurement.options.method == "profiler" and len(measurement.alive) > 1:
        try:
            measure_by_profiler(measurement, collect)
        except RowsMissing as error:
            warnings.warn(f"candidates are measured by events: {error}", RuntimeWarning, stacklevel=4)
    measure_by_events(measurement)
    finish_events(measurement)


def measure_by_profiler(measurement: Measurement, collect: Collect) -> None:
    """Time all candidates by the rows of a profiler. Raises RowsMissing when these do not suffice, and OutOfTime."""
    plan = ProfilerPlan.of(measurement.options)
    for item in measurement.alive:
        answer = measurement.ask(item, "names", measurement.limit(item, 0.0))
        if answer is not None:
            item.names = tuple(answer["names"])
    data = collect(plan)
    alive = measurement.alive
    profiled = evaluate(data.rows, [item.names for item in alive], plan)
    for note in (*data.notes, *([profiled.note] if profiled.note else [])):
        warnings.warn(note, RuntimeWarning, stacklevel=5)
    for item, seconds in zip(alive, profiled.seconds, strict=True):
        item.samples = Samples(list(seconds))
        if measurement.check(item):
            measurement.accept(item, "profiler", sum(seconds) / len(seconds))


def collect_rows(measurement: Measurement, plan: ProfilerPlan) -> ProfilerData:
    """Return the rows of this processor's own profiler: every round launched, through a file in a private folder.

    A candidate that fails in a round is out, and what its rows say is not looked at. Raises OutOfTime.
    """
    rows: list[Any] = []
    for number in range(plan.rounds):
        measurement.progress(number / plan.rounds)
        for item in measurement.alive:
            measurement.check_time()
            limit = measurement.limit(item, item.known.whole)
            answer = measurement.ask(item, "profile", limit, step=number, cold=measurement.options.cold)
            rows += answer["rows"] if answer is not None else []
    with tempfile.TemporaryDirectory(prefix=PROFILE_PREFIX) as folder:
        kernel_rows.write_rows(Path(folder), rows)
        return read_folder(Path(folder))


def measure_by_bench(measurement: Measurement) -> None:
    """Time all candidates by the user's function. Raises OutOfTime."""
    for item in measurement.alive:
        measurement.check_time()
        answer = measurement.ask(item, "bench", measurement.limit(item, 0.0), do_bench=measurement.options.do_bench)
        if answer is None:
            continue
        if measurement.check(item):
            measurement.accept_figures(item, answer["seconds"], "do_bench")
