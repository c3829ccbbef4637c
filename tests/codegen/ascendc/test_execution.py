"""Emitted kernels, compiled by a host compiler against the stub, compute what the interpreter computes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ascendc.host import Host, compile_all
from passes.corpus import CORPUS
from passes.kernels import arguments
from pypto.ir import interpreter
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

TOLERANCE = 2e-5
HALF_TOLERANCE = 1e-2
"""A last bit of bf16 may differ where f32 results differ in theirs."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    assert shutil.which("g++"), "the tests of AscendC sources need g++"
    folder: Path = tmp_path_factory.mktemp("ascendc")
    planned = {name: run_passes(make(), NPU_PASSES)[0] for name, make in CORPUS.items()}
    made = compile_all(planned, folder)
    assert made is not None
    return made


@pytest.mark.parametrize("name", CORPUS)
def test_source_computes_what_the_interpreter_does(host: Host, name: str) -> None:
    module = CORPUS[name]()
    expected, scalars = arguments(module)
    found = {key: array.copy() for key, array in expected.items()}
    interpreter.run(module, expected, scalars)
    assert host.run(name, found, scalars) is None
    for key, array in expected.items():
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(found[key], array, err_msg=key)
        else:
            tolerance = TOLERANCE if array.dtype.itemsize == 4 else HALF_TOLERANCE
            left, right = found[key].astype(np.float64), array.astype(np.float64)
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance, err_msg=key)
