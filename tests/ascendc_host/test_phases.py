"""Emitted kernels of several phases keep the rules of the hardware; without any one of their barriers they do not."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

from compile.test_phases import GRAPHS, arguments, compiled, only_kernel
from pypto.codegen.ascendc.emitter import emit
from pypto.ir.nodes import Module
from pypto.runtime.ascendc_host.driver import Program, RunOptions
from pypto.runtime.ascendc_host.execution import build_module, run_module

NAMES = ("rows_columns_rows", "reversed", "write_after_read")
CALL = re.compile(r"AscendC::CrossCore(Set|Wait)Flag(?:<0x0, PIPE_MTE3>)?\((\d+)\);")
MODES = ("early", "late", "random")


@functools.cache
def built(name: str) -> tuple[Module, str, Program]:
    module, _ = only_kernel(name)
    source = emit(module)
    return module, source, build_module(module, source)


def barrier_lines(name: str) -> list[tuple[int, ...]]:
    """Return the lines of each barrier: where it is set and where it is waited for."""
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(built(name)[1].splitlines(), 1):
        if (match := CALL.search(line)) is not None:
            lines.setdefault(match[2], []).append(number)
    return [tuple(items) for items in lines.values()]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_phases_run_on_the_host_model(name, mode):
    module, _, program = built(name)
    expected, given = arguments(module), arguments(module)
    compiled(name).execute(**expected)
    report = run_module(module, given, {}, program=program, options=RunOptions(mode))
    assert report.findings == ()
    for item, array in report.outputs.items():
        if item in expected:
            np.testing.assert_array_equal(array.reshape(expected[item].shape), expected[item])


@pytest.mark.parametrize("name", NAMES)
def test_a_barrier_left_out_is_a_race(name):
    module, _, program = built(name)
    assert len(barrier_lines(name)) == GRAPHS[name][3]
    for lines in barrier_lines(name):
        skip = tuple((f"{module.name}.asc", line) for line in lines)
        report = run_module(module, arguments(module), {}, program=program, options=RunOptions("late", skip=skip))
        assert any(finding.rule == "race" for finding in report.findings), str(report)
