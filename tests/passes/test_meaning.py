"""Every pass keeps what a kernel means: the interpreter gives the same results before and after each."""

from __future__ import annotations

import numpy as np
import pytest

from passes.corpus import CORPUS
from passes.kernels import Arrays, arguments
from pypto.ir import interpreter
from pypto.ir.engine.clocks import faults
from pypto.ir.nodes import Level, Module
from pypto.ir.parser import parse_module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.printer import print_module, same
from pypto.ir.verifier import verify

RELATIVE = 1e-5
"""What functions made of others and sums in another order may be off by, relative to the largest magnitude involved."""


def results(module: Module, seed: int = 0) -> Arrays:
    arrays, scalars = arguments(module, seed)
    interpreter.run(module, arrays, scalars)
    return arrays


def check_same(expected: Arrays, found: Arrays, what: str) -> None:
    for name, array in expected.items():
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(found[name], array, err_msg=f"{name} after {what}")
        else:
            left, right = found[name].astype(np.float64), array.astype(np.float64)
            np.testing.assert_allclose(left, right, rtol=RELATIVE, atol=RELATIVE, err_msg=f"{name} after {what}")


@pytest.mark.parametrize("name", CORPUS)
def test_every_pass_keeps_the_meaning(name: str) -> None:
    module = CORPUS[name]()
    verify(module)
    expected = results(module)
    for item in NPU_PASSES:
        module, _ = run_passes(module, (item,))
        verify(module)
        check_same(expected, results(module), item.name)
        assert same(parse_module(print_module(module)), module)
    assert module.level is Level.PLANNED
    assert [fault for kernel in module.kernels for fault in faults(kernel)] == []
