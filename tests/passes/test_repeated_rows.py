"""A row that meets all rows of a tile is a source of the instruction, not copied to every row first."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pypto
from ascendc_host.modules import build_all, launcher
from passes.kernels import arguments
from passes.test_tiles import check
from pypto.ir import interpreter
from pypto.ir.nodes import Kernel, Module, Operation, walk
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.runtime.ascendc_host.driver import Program, RunOptions
from pypto.runtime.ascendc_host.execution import run_module

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, row: x + row,
    "row_minus": lambda x, row: row - x,
    "row_over": lambda x, row: row / (x * x + 1.0),
    "times": lambda x, row: x * row,
    "larger": lambda x, row: pypto.maximum(row, x),
    "smaller": lambda x, row: pypto.minimum(x, row) + row * x,
    "norm": lambda x, row: (x - pypto.mean(x, axis=-1, keepdims=True)) * row + row,
}
SHAPES = ((2, 64), (5, 40), (9, 65), (21, 300), (70, 128), (4, 3, 70), (40, 1500), (1000, 33))


def module(name: str, shape: tuple[int, ...], dtype: str = "f32", rank: int = 1) -> Module:
    @pypto.tile
    def kernel(x: Any, row: Any, out: Any) -> None:
        out[:] = FUNCTIONS[name](x, row)

    row = (1,) * (rank - 1) + shape[-1:]
    compiled = pypto.compile(kernel, shapes={"x": shape, "row": row, "out": shape}, dtypes=dtype, target="reference")
    return compiled.module_at("tile")


def names(kernel: Kernel) -> list[str]:
    return [item.name for item in walk(kernel.body) if isinstance(item, Operation)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, shape: tuple[int, ...]) -> None:
    kernel = check(module(name, shape), sum(shape))
    assert "broadcast_to" not in names(kernel)


def test_integers_rows_of_the_same_rank_and_halves() -> None:
    for made in (module("add", (9, 65), "i32"), module("row_minus", (9, 65), rank=2), module("times", (9, 65), "f16")):
        assert "broadcast_to" not in names(check(made, 2))


def test_rows_that_are_longer_than_a_stride_reaches_are_copied() -> None:
    kernel = check(module("add", (4, 2100)), 0)
    rows = [item for item in walk(kernel.body) if isinstance(item, Operation) and item.name == "add"]
    assert all(value.shape == item.results[0].shape for item in rows for value in item.operands)


CASES = [(name, SHAPES[number % len(SHAPES)]) for number, name in enumerate(FUNCTIONS)]


@functools.cache
def program() -> Program:
    return build_all({f"case{number}": lowered(number) for number in range(len(CASES))})


@functools.cache
def lowered(number: int) -> Module:
    return run_passes(module(*CASES[number]), NPU_PASSES)[0]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_emitted_kernels(number: int) -> None:
    expected, scalars = arguments(module(*CASES[number]))
    given = {key: array.copy() for key, array in expected.items()}
    interpreter.run(module(*CASES[number]), expected, scalars)
    run = functools.partial(run_module, program=program(), launcher=launcher(f"case{number}"))
    report = run(lowered(number), given, scalars, options=RunOptions("random", seed=number))
    assert not report.findings, str(report)
    np.testing.assert_allclose(report.outputs["out"], expected["out"], rtol=2e-5, atol=2e-5)
