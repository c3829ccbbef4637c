"""Measuring candidates: each checked alone against the reference, then timed in turns, in a process that can be killed.

The default goes first; what it takes decides when another candidate counts as hung. A candidate that gives wrong
results, hangs or crashes becomes a row with its reason, and the rest goes on.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence

from pypto.runtime.toolchain import host_machine
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.measuring.arguments import ArgumentFiles
from pypto.runtime.tuning.measuring.measurement import Measurement, OnTrial, OutOfTime
from pypto.runtime.tuning.measuring.options import Expected, Inputs, MeasureOptions
from pypto.runtime.tuning.measuring.profiler import RowsMissing
from pypto.runtime.tuning.measuring.rounds import (
    finish_events,
    measure_by_bench,
    measure_by_events,
    measure_by_profiler,
)
from pypto.runtime.tuning.measuring.runner import LocalRunner, ProcessRunner, Runner, SessionLost

CPU_SOURCE = "measured:cpu"


def measure(
    built: Sequence[CompiledCandidate],
    inputs: Inputs,
    expected: Mapping[str, Expected],
    options: MeasureOptions,
    on_trial: OnTrial = lambda trial: None,
) -> list[Trial]:
    """Return a row for each compiled candidate of target cpu, in the order of `built`.

    on_trial is called with each row as it is known: of those that fail at once, of the others at the end. The arguments
    are only read. Nothing that a candidate does is raised; raises OSError or MemoryError when copies of the arguments
    do not fit.
    """
    if not built:
        return []
    with _runner(inputs, expected, options) as runner:
        measurement = Measurement(built, runner, options, on_trial, CPU_SOURCE)
        try:
            _measure(measurement)
        except OutOfTime:
            finish_events(measurement, check=False)
        except SessionLost as error:
            for item in measurement.alive:
                measurement.reject(item, Outcome.NOT_MEASURED, str(error))
        return measurement.trials()


@contextlib.contextmanager
def _runner(inputs: Inputs, expected: Mapping[str, Expected], options: MeasureOptions) -> Iterator[Runner]:
    """Yield what runs the candidates on copies of the arguments; afterwards nothing of them is left."""
    with contextlib.ExitStack() as stack:
        files = ArgumentFiles(inputs, expected, options)
        stack.callback(files.remove)
        machine = host_machine()
        local = options.needs_python
        runner: Runner = LocalRunner(files, machine, options) if local else ProcessRunner(files, machine)
        stack.callback(runner.close)
        yield runner


def _measure(measurement: Measurement) -> None:
    measurement.prepare()
    if measurement.options.do_bench is not None:
        measure_by_bench(measurement)
        return
    if measurement.options.method == "profiler" and len(measurement.alive) > 1:
        try:
            measure_by_profiler(measurement)
        except RowsMissing as error:
            warnings.warn(f"candidates are measured by events: {error}", RuntimeWarning, stacklevel=2)
    measure_by_events(measurement)
    finish_events(measurement)
