"""Measuring candidates: each checked alone against the reference, then timed in turns, in a process that can be killed.

The default goes first; what it takes decides when another candidate counts as hung. A candidate that gives wrong
results, hangs or crashes becomes a row with its reason, and the rest goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from pypto.runtime.toolchain import host_machine
from pypto.runtime.tuning.candidate import Trial
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.measuring.arguments import ArgumentFiles
from pypto.runtime.tuning.measuring.measurement import Measurement, OnProgress, OnTrial
from pypto.runtime.tuning.measuring.options import Expected, Inputs, MeasureOptions
from pypto.runtime.tuning.measuring.rounds import collect_rows, measure_alive
from pypto.runtime.tuning.measuring.runner import LocalRunner, ProcessRunner, Runner

CPU_SOURCE = "measured:cpu"


def measure(
    built: Sequence[CompiledCandidate],
    inputs: Inputs,
    expected: Mapping[str, Expected],
    options: MeasureOptions,
    on_trial: OnTrial = lambda trial: None,
    on_progress: OnProgress = lambda share, best: None,
) -> list[Trial]:
    """Return a row for each compiled candidate, in the order of `built`, which are all of target cpu or all of ascendc.

    Those of ascendc run on the host model and get the model's time, and a source that says so. on_trial is called with
    each row as it is known: of those that fail at once, of the others at the end; on_progress meanwhile with the share
    that is done and the best median so far. The arguments are only read. Nothing that a candidate does is raised, but
    OSError or MemoryError when copies of the arguments do not fit.
    """
    if not built:
        return []
    if built[0].target != "cpu":
        from pypto.runtime.tuning.measuring.modelled import measure_modelled

        return measure_modelled(built, inputs, expected, options, on_trial)
    with _runner(inputs, expected, options) as runner:
        measurement = Measurement(built, runner, options, on_trial, CPU_SOURCE, on_progress)
        return measure_alive(measurement, lambda plan: collect_rows(measurement, plan))


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
