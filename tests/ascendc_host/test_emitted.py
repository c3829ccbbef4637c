"""Emitted kernels run under the hardware's rules in three modes: no report, and the numbers of the interpreter."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from ascendc_host.modules import build_all, launcher
from passes.corpus import CORPUS, powers
from passes.kernels import arguments
from passes.random_kernels import random_kernel
from passes.random_tiles import random_tiles
from pypto.ir import interpreter
from pypto.ir.nodes import Module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.runtime.ascendc_host.driver import Mode, Program, RunOptions
from pypto.runtime.ascendc_host.execution import run_module

TOLERANCE = 2e-5
HALF_TOLERANCE = 1e-2
MODES: tuple[Mode, ...] = ("early", "late", "random")
KERNELS: dict[str, Callable[[], Module]] = {
    **CORPUS,
    **{f"random_{seed}": functools.partial(random_kernel, seed) for seed in range(24)},
    "powers": lambda: powers((9, 40)),
    **{f"tiles_{seed}": functools.partial(random_tiles, seed) for seed in range(16)},
}


@functools.cache
def planned() -> dict[str, Module]:
    return {name: run_passes(make(), NPU_PASSES)[0] for name, make in KERNELS.items()}


@functools.cache
def program() -> Program:
    return build_all(planned())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", KERNELS)
def test_emitted_kernel_keeps_the_rules(name: str, mode: Mode) -> None:
    module = KERNELS[name]()
    expected, scalars = arguments(module)
    given = {key: array.copy() for key, array in expected.items()}
    interpreter.run(module, expected, scalars)
    options = RunOptions(mode, seed=3)
    report = run_module(planned()[name], given, scalars, program=program(), launcher=launcher(name), options=options)
    assert not report.findings, str(report)
    for key, array in expected.items():
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(report.outputs[key], array, err_msg=key)
        else:
            tolerance = TOLERANCE if array.dtype.itemsize == 4 else HALF_TOLERANCE
            left, right = report.outputs[key].astype(np.float64), array.astype(np.float64)
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance, err_msg=key)
