"""Candidates for a device that is not here: right or wrong on the host model, and the time that the model predicts.

The host model says nothing of time on the device, and its own run time is none of the device's; so the figure of each
candidate is the static model's, and its source says so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pypto.ir.comparison import difference
from pypto.ir.parser import parse_module
from pypto.runtime.ascendc_host.driver import Program, RunOptions
from pypto.runtime.ascendc_host.execution import run_module
from pypto.runtime.ascendc_host.preprocess import find_kernels
from pypto.runtime.ascendc_host.report import Report
from pypto.runtime.tuning.artefacts import load_binary
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.compiling import HOST_PROGRAM, PLANNED, SOURCE, CompiledCandidate
from pypto.runtime.tuning.measuring.arguments import ArgumentFiles, WorkingArguments
from pypto.runtime.tuning.measuring.measurement import OnTrial
from pypto.runtime.tuning.measuring.options import Expected, Inputs, MeasureOptions

CHIP = "910B1"
LEAST_LIMIT = 10.0
"""Seconds; the host model's time has nothing to do with the device's, so hanging is decided generously."""


def measure_modelled(
    built: Sequence[CompiledCandidate],
    inputs: Inputs,
    expected: Mapping[str, Expected],
    options: MeasureOptions,
    on_trial: OnTrial = lambda trial: None,
) -> list[Trial]:
    """Return a row for each compiled candidate of target ascendc, in order: run once on the host model, not timed."""
    files = ArgumentFiles(inputs, expected, options)
    try:
        check = _HostCheck(WorkingArguments(files.description), options)
        order = sorted(range(len(built)), key=lambda number: not built[number].candidate.is_default)
        rows = {}
        for number in order:
            rows[number] = check.row(built[number])
            on_trial(rows[number])
        return [rows[number] for number in range(len(built))]
    finally:
        files.remove()


class _HostCheck:
    """Runs candidates on the host model, the default first, and compares what they write."""

    def __init__(self, arguments: WorkingArguments, options: MeasureOptions) -> None:
        self._arguments, self._options = arguments, options
        self._limit = options.first_limit
        budget = options.time_budget
        self._deadline = None if budget is None else time.monotonic() + budget

    def row(self, built: CompiledCandidate) -> Trial:
        """Return the row of one candidate."""
        candidate, source = built.candidate, f"modelled:{CHIP}"
        if self._deadline is not None and time.monotonic() >= self._deadline:
            reason = f"the time budget of {self._options.time_budget:g} s was used up"
            return Trial(candidate, Outcome.NOT_MEASURED, reason, source=source)
        outcome, reason = self._check(built)
        if outcome is Outcome.MEASURED and candidate.predicted is None:
            outcome, reason = Outcome.NOT_MEASURED, "the model says no time for it"
        seconds = candidate.predicted if outcome is Outcome.MEASURED else None
        return Trial(candidate, outcome, reason, seconds, method="model", source=source, memory=candidate.workspace)

    def _check(self, built: CompiledCandidate) -> tuple[Outcome, str]:
        if HOST_PROGRAM not in built.digests:
            return Outcome.MEASURED, "not checked: there is no C++ compiler for the host model"
        try:
            report = self._run(built)
        except OSError as error:
            return Outcome.CRASHED, str(error)
        rules = {finding.rule for finding in report.findings}
        if rules:
            outcome = Outcome.HUNG if "time-limit" in rules else Outcome.CRASHED
            outcome = outcome if rules & {"time-limit", "crash"} else Outcome.WRONG_RESULT
            return outcome, str(report.findings[0])
        return self._compare(report.outputs)

    def _run(self, built: CompiledCandidate) -> Report:
        content = {name: load_binary(built.folder / name, digest) for name, digest in built.digests.items()}
        planned = parse_module(content[PLANNED].decode())
        kernels = {item.name: item for item in find_kernels(content[SOURCE].decode()) if not item.template}
        program = Program(built.folder / HOST_PROGRAM, f"{planned.name}.asc", kernels)
        self._arguments.restore_all()
        arrays = {name: item.view for name, item in self._arguments.arrays.items()}
        scalars = {name: value for name, value in self._arguments.values.items() if name not in arrays}
        start = time.monotonic()
        report = run_module(planned, arrays, scalars, program=program, options=RunOptions(time_limit=self._limit))
        if built.candidate.is_default and not report.findings:
            took = time.monotonic() - start
            self._limit = max(LEAST_LIMIT, self._options.hang_factor * took)
        return report

    def _compare(self, outputs: Mapping[str, Any]) -> tuple[Outcome, str]:
        for name, item in self._arguments.expected.items():
            got = outputs[name].reshape(item.value.shape)
            problem = difference(name, got, item.value, item.relative, item.absolute)
            if problem is not None:
                return Outcome.WRONG_RESULT, problem
        return Outcome.MEASURED, ""
