"""The three ways to time candidates that were checked: by events, by a profiler, by the user's own function."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

from pypto.runtime.tuning.measuring import event, kernel_rows
from pypto.runtime.tuning.measuring.measurement import Measured, Measurement
from pypto.runtime.tuning.measuring.profiler import ProfilerPlan, evaluate
from pypto.runtime.tuning.profiler_files import ProfilerData, read_folder

PROFILE_PREFIX = "pypto-profile-"


def measure_by_events(measurement: Measurement) -> None:
    """Time all candidates in rounds, in turn, beginning each round with another one; medians of all rounds.

    Raises OutOfTime: what was sampled until then stays.
    """
    options = measurement.options
    counts = {item.key: event.repeat_count(options, item.known) for item in measurement.alive}
    rounds = max(1, min(options.rounds, *counts.values()) if counts else 1)
    for number in range(rounds):
        alive = measurement.alive
        for item in alive[number % max(1, len(alive)) :] + alive[: number % max(1, len(alive))]:
            measurement.check_time()
            warmup = event.warmup_count(options, item.known) if number == 0 else min(1, counts[item.key])
            _sample(measurement, item, warmup, _share(counts[item.key], number, rounds))


def _share(count: int, number: int, rounds: int) -> int:
    """Return how many of `count` launches fall into a round, so that all rounds together have them all."""
    return count * (number + 1) // rounds - count * number // rounds


def _sample(measurement: Measurement, item: Measured, warmup: int, count: int) -> None:
    limit = measurement.limit(item, (warmup + count) * item.known.whole)
    answer = measurement.ask(item, "sample", limit, warmup=warmup, count=count, cold=measurement.options.cold)
    if answer is not None:
        item.seconds += answer["seconds"]


def finish_events(measurement: Measurement, check: bool = True) -> None:
    """Give every candidate that was sampled its row, after it was checked once more (a race may show late)."""
    for item in measurement.alive:
        if item.seconds and (not check or measurement.check(item)):
            measurement.accept(item, "event")


def measure_by_profiler(measurement: Measurement) -> None:
    """Time all candidates by the rows of a profiler. Raises RowsMissing when these do not suffice, and OutOfTime."""
    plan = ProfilerPlan.of(measurement.options)
    with tempfile.TemporaryDirectory(prefix=PROFILE_PREFIX) as folder:
        kernel_rows.write_rows(Path(folder), _rows(measurement, plan))
        data = read_folder(Path(folder))
    evaluate_rows(measurement, data, plan)


def evaluate_rows(measurement: Measurement, data: ProfilerData, plan: ProfilerPlan) -> None:
    """Give every candidate that is still in the mean of its rows. Raises RowsMissing."""
    alive = measurement.alive
    profiled = evaluate(data.rows, [item.names for item in alive], plan)
    for note in (*data.notes, *([profiled.note] if profiled.note else [])):
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    for item, seconds in zip(alive, profiled.seconds, strict=True):
        item.seconds = list(seconds)
        if measurement.check(item):
            measurement.accept(item, "profiler", sum(seconds) / len(seconds))


def _rows(measurement: Measurement, plan: ProfilerPlan) -> list[Any]:
    """Launch every round; a candidate that fails in one is out, and its rows with it."""
    rows: list[Any] = []
    for item in measurement.alive:
        answer = measurement.ask(item, "names", measurement.limit(item, 0.0))
        if answer is not None:
            item.names = tuple(answer["names"])
    for number in range(plan.rounds):
        for item in measurement.alive:
            measurement.check_time()
            limit = measurement.limit(item, item.known.whole)
            answer = measurement.ask(item, "profile", limit, step=number, cold=measurement.options.cold)
            rows += answer["rows"] if answer is not None else []
    return rows


def measure_by_bench(measurement: Measurement) -> None:
    """Time all candidates by the user's function. Raises OutOfTime."""
    for item in measurement.alive:
        measurement.check_time()
        answer = measurement.ask(item, "bench", measurement.limit(item, 0.0), do_bench=measurement.options.do_bench)
        if answer is None:
            continue
        if measurement.check(item):
            measurement.accept_figures(item, answer["seconds"], "do_bench")
