"""Taking one flag or barrier from an emitted kernel is noticed, in every mode."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np
import pytest

from ascendc_host.modules import launcher
from passes.corpus import CORPUS
from passes.kernels import arguments
from pypto.codegen.ascendc.emitter import emit
from pypto.ir.nodes import Module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.runtime.ascendc_host.driver import Mode, Program, RunOptions, build
from pypto.runtime.ascendc_host.execution import run_module

NAMES = ("softmax", "accumulate", "spmd")
FLAG = re.compile(r"^\s*AscendC::(?:SetFlag|WaitFlag)<AscendC::HardEvent::(\w+)>\((\w+)\);$", re.MULTILINE)
BARRIER = re.compile(r"^\s*AscendC::PipeBarrier<PIPE_\w+>\(\);$", re.MULTILINE)


@functools.cache
def planned(name: str) -> Module:
    return run_passes(CORPUS[name](), NPU_PASSES)[0]


def mutants(text: str) -> Iterator[str]:
    """The kernel without one barrier of its own body, or without all sets and waits of one event and id."""
    begin = text.index("__global__")
    for match in BARRIER.finditer(text, begin):
        yield text[: match.start()] + text[match.end() :]
    for event, number in sorted(set(FLAG.findall(text))):
        pattern = rf"^\s*AscendC::(?:SetFlag|WaitFlag)<AscendC::HardEvent::{event}>\({number}\);$"
        yield re.sub(pattern, "", text, flags=re.MULTILINE)


@functools.cache
def cases() -> dict[str, tuple[str, str]]:
    found = {}
    for name in NAMES:
        for number, text in enumerate(mutants(emit(planned(name)))):
            found[f"{name}_{number}"] = (name, text)
    return found


@functools.cache
def program() -> Program:
    parts = []
    for case, (name, text) in cases().items():
        renamed = text.replace(launcher(planned(name).name), launcher(case))
        parts.append(f'namespace case_{case} {{\n#line 1 "{case}.asc"\n{renamed}\n}}\nusing namespace case_{case};\n')
    return build("".join(parts), file="mutants.asc", launchers_only=True)


@pytest.mark.parametrize("mode", ["early", "late"])
@pytest.mark.parametrize("case", cases())
def test_missing_order_is_noticed(case: str, mode: Mode) -> None:
    name, _ = cases()[case]
    given, scalars = arguments(CORPUS[name]())
    arrays = {key: np.array(array) for key, array in given.items()}
    report = run_module(
        planned(name), arrays, scalars, program=program(), launcher=launcher(case), options=RunOptions(mode)
    )
    assert any(finding.rule in ("race", "deadlock") for finding in report.findings), str(report)
