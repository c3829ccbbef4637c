"""Leaving out one flag or barrier of an emitted kernel after the other: the host model has to notice each.

Every call that orders things has a number, its line. The run of the whole kernel tells which calls belong together (a set
and its waits); the same program then runs without each of these groups. What the helpers at the head of the source do
for themselves is told apart from what the kernel's own body does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ascendc_host.modules import launcher
from passes.kernels import arguments
from pypto.codegen.ascendc.emitter import emit
from pypto.ir.nodes import Module
from pypto.runtime.ascendc_host.driver import Mode, Program, RunOptions
from pypto.runtime.ascendc_host.execution import run_module
from pypto.runtime.ascendc_host.report import Report, Sync, sync_groups

MODES: tuple[Mode, ...] = ("early", "late", "random")
SECONDS = 30.0


class Outcome(Enum):
    """What became of a deletion."""

    REPORTED = "reported"
    IN_HELPER = "implied by a barrier inside a helper that is called"
    SILENT = "not reported"


@dataclass(frozen=True)
class Deletion:
    """A group of calls left out of one kernel, as ``SetFlag 12, WaitFlag 15``."""

    kernel: str
    calls: tuple[Sync, ...]
    in_body: bool
    outcome: Outcome
    mode: Mode | None = None

    @property
    def kind(self) -> str:
        return "flag" if any("Flag" in call.name for call in self.calls) else self.calls[0].name

    def __str__(self) -> str:
        calls = ", ".join(f"{call.name} {call.place[1]}" for call in self.calls)
        return f"{self.kernel}: {calls}: {self.outcome.value}"


@dataclass
class Deleter:
    """Runs one kernel of a program without some of its calls; `module` is at level planned, `source` at level tile."""

    name: str
    source: Module
    module: Module
    program: Program

    def run(self, skip: tuple[Sync, ...] = (), mode: Mode = "early", list_syncs: bool = False) -> Report:
        given, scalars = arguments(self.source)
        arrays: Mapping[str, np.ndarray] = {name: np.array(array) for name, array in given.items()}
        places = tuple(call.place for call in skip)
        options = RunOptions(mode, seed=1, time_limit=SECONDS, skip=places, list_syncs=list_syncs)
        return run_module(
            self.module, arrays, scalars, program=self.program, launcher=launcher(self.name), options=options
        )

    def deletions(self) -> list[Deletion]:
        """Return what became of each deletion; raises AssertionError when the whole kernel is not clean."""
        whole = self.run(list_syncs=True)
        assert not whole.findings, str(whole)
        lines = emit(self.module).split("\n")
        body = next(number for number, line in enumerate(lines, 1) if "__global__" in line)
        groups = sync_groups(whole.syncs)
        helpers = tuple(call for group in groups for call in group if call.place[1] < body)
        return [self.deletion(group, group[0].place[1] > body, helpers) for group in groups]

    def deletion(self, calls: tuple[Sync, ...], in_body: bool, helpers: tuple[Sync, ...]) -> Deletion:
        mode = next((mode for mode in MODES if self.run(calls, mode).findings), None)
        if mode is not None:
            return Deletion(self.name, calls, in_body, Outcome.REPORTED, mode)
        implied = in_body and places(self.run((*calls, *helpers))) - places(self.run(helpers))
        return Deletion(self.name, calls, in_body, Outcome.IN_HELPER if implied else Outcome.SILENT)


def places(report: Report) -> set[tuple[str, int, int]]:
    return {(finding.rule, finding.line, finding.other_line) for finding in report.findings}


def helper_barriers(deletions: list[Deletion], modules: Mapping[str, Module]) -> dict[str, Counter[Outcome]]:
    """Return what became of each barrier inside a helper in all kernels that ran it: by helper, and its text around it.

    A helper serves many shapes; a barrier of it has to be needed for some.
    """
    found: dict[str, Counter[Outcome]] = {}
    for item in deletions:
        if not item.in_body:
            lines = emit(modules[item.kernel]).split("\n")
            line = item.calls[0].place[1]
            name = next(text for text in reversed(lines[:line]) if "inline" in text).split("(")[0].split()[-1]
            around = " ".join(text.strip() for text in lines[line - 3 : line + 3])
            found.setdefault(f"{name}: {around}", Counter())[item.outcome] += 1
    return found
