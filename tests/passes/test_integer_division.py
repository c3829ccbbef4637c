"""Division of i32 without an integer divider is exact, at the ends of the range too."""

from __future__ import annotations

import numpy as np
import pytest

from passes.corpus import division
from pypto.ir import interpreter
from pypto.ir.dtypes import I32
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

LOW, HIGH = -(2**31), 2**31 - 1
EDGES = (
    LOW,
    LOW + 1,
    LOW + 512,
    -(2**24) - 1,
    -65537,
    -7,
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    65535,
    2**24 + 1,
    HIGH - 512,
    HIGH - 1,
    HIGH,
)


def check(x: np.ndarray, y: np.ndarray) -> None:
    module = division(x.shape, I32)
    arrays = {item.name: np.zeros(x.shape, np.int32) for item in module.parameters}
    arrays["x"], arrays["y"] = x, y
    interpreter.run(run_passes(module, NPU_PASSES)[0], arrays)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(arrays["quotient"], np.floor_divide(x, y))
        np.testing.assert_array_equal(arrays["rest"], np.remainder(x, y))


def test_edges_by_edges() -> None:
    grid = np.array(EDGES, np.int64).astype(np.int32)
    x, y = np.meshgrid(grid, grid)
    check(np.ascontiguousarray(x), np.ascontiguousarray(y))


@pytest.mark.parametrize("bits", [4, 12, 24, 31])
def test_random_numbers(bits: int) -> None:
    random = np.random.default_rng(bits)
    x = random.integers(LOW, HIGH, (100, 100), np.int32)
    y = random.integers(-(2**bits), 2**bits - 1, (100, 100), np.int64).astype(np.int32)
    check(x, y)
    check(y, x)
    check(y * np.int32(3) + np.int32(1), y)


def test_multiples_and_their_neighbours() -> None:
    random = np.random.default_rng(0)
    y = random.integers(1, 50000, (60, 100), np.int32)
    q = random.integers(-40000, 40000, (60, 100), np.int32)
    for shift in (-1, 0, 1):
        check(q * y + np.int32(shift), y)
        check(q * y + np.int32(shift), -y)
