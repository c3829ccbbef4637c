"""Decompositions keep infinities, NaN and zeros as the operations' meanings have them."""

from __future__ import annotations

import numpy as np
import pytest

from passes.kernels import KernelBuilder
from pypto.ir import interpreter
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-30, -1e-30, 1e30, -1e30, 88.0, -88.0, np.inf, -np.inf, np.nan], np.float32
)


def both(name: str, *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the result of an operation before and after the passes."""
    k = KernelBuilder(name)
    inputs = [k.input(f"x{number}", array.shape) for number, array in enumerate(arrays)]
    k.output("out", k.op(name, *inputs))
    module, found = k.module(), []
    for item in (module, run_passes(module, NPU_PASSES)[0]):
        memory = {f"x{number}": array for number, array in enumerate(arrays)} | {"out": np.zeros_like(arrays[0])}
        interpreter.run(item, memory)
        found.append(memory["out"])
    return found[0], found[1]


@pytest.mark.parametrize(
    "name", ["neg", "abs", "exp", "log", "sqrt", "rsqrt", "reciprocal", "tanh", "erf", "sigmoid", "floor", "round"]
)
def test_functions_of_one_value(name: str) -> None:
    expected, found = both(name, SPECIAL)
    np.testing.assert_allclose(found, expected, rtol=3e-6, atol=1e-37)
    if name != "erf":
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(expected[:2]), err_msg="zeros")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "floor_div", "remainder"])
def test_functions_of_two_values(name: str) -> None:
    x, y = (np.ascontiguousarray(array) for array in np.meshgrid(SPECIAL, SPECIAL))
    if name == "remainder":  # of a huge quotient there are no digits left
        with np.errstate(all="ignore"):
            keep = ~(np.abs(x / y) > 2**20) | np.isinf(x) | (y == 0)
        x, y = x[keep], y[keep]
    expected, found = both(name, x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_tanh_and_erf_are_within_four_units() -> None:
    x = np.linspace(-10, 10, 100001, dtype=np.float32)
    for name in ("tanh", "erf", "sigmoid"):
        expected, found = both(name, x)
        assert (np.abs(found - expected) <= 4 * np.spacing(np.abs(expected))).all(), name
