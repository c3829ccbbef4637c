"""Native code against the reference on random kernels, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.ir import interpreter
from tests.codegen.llvm.harness import compile_module
from tests.codegen.llvm.random_kernels import RandomKernel


@pytest.mark.parametrize("seed", range(240))
def test_agrees_with_the_reference(seed: int) -> None:
    """Vector widths, chunk sizes and the order of chunks vary with the seed."""
    kernel = RandomKernel(seed)
    ours, expected = kernel.arrays(seed), kernel.arrays(seed)
    interpreter.run(kernel.module, expected)
    code = compile_module(kernel.module, ours, (128, 256, 512)[seed % 3])
    code(ours, chunk=1 if seed % 2 else None, backwards=seed % 4 == 3)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
