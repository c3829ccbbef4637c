"""Products of every type on the host model against NumPy, over sizes around the edges of fractals and tiles."""

from __future__ import annotations

import functools
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pypto.runtime.ascendc_host.driver import Mode, Program, RunOptions, build, run

SIZES = [
    (1, 1, 1),
    (1, 16, 16),
    (2, 3, 5),
    (16, 16, 16),
    (17, 31, 33),
    (40, 50, 70),
    (128, 128, 64),
    (129, 127, 65),
    (97, 200, 130),
]
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "s8": np.int8}


@functools.cache
def program() -> Program:
    file = Path(__file__).parent / "kernels" / "matmul.cpp"
    return build(file.read_text(), file="matmul.cpp")


def product(name: str, m: int, n: int, k: int, mode: Mode = "early", blocks: int = 3) -> None:
    random = np.random.default_rng(m * 10000 + n * 100 + k)
    dtype = DTYPES[name]
    a = random.integers(-8, 8, (m, k)).astype(dtype)
    b = random.integers(-8, 8, (n, k)).astype(dtype)
    sums = np.int32 if name == "s8" else np.float32
    arguments = {"a": a, "b": b, "c": np.zeros((m, n), sums), "m": m, "n": n, "k": k}
    report = run(program(), arguments, kernel=f"product_{name}", blocks=blocks, options=RunOptions(mode, 3))
    assert not report.findings, str(report)
    np.testing.assert_array_equal(report.outputs["c"], (a.astype(np.float64) @ b.astype(np.float64).T).astype(sums))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_product_is_exact_on_whole_numbers(name: str, size: tuple[int, int, int]) -> None:
    product(name, *size)


@pytest.mark.parametrize("mode", ["late", "random"])
def test_order_of_execution_does_not_matter(mode: Mode) -> None:
    product("f16", 150, 140, 200, mode)


def test_large_product_takes_seconds() -> None:
    program()
    start = time.perf_counter()
    product("f16", 512, 512, 512, blocks=16)
    assert time.perf_counter() - start < 10
