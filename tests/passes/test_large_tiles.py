"""Tiles that no core can hold: what a loop uses of them is copied alone, and the kernel says so."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pypto
from ascendc_host.modules import build_all, launcher
from passes.kernels import KernelBuilder, arguments, region
from passes.large_tiles import FUNCTIONS, module
from passes.test_tiles import attribute, check
from pypto.ir import interpreter
from pypto.ir.nodes import Load, Module, Role, Store, walk
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.narrow_accesses import narrow_accesses
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.remove_dead import remove_dead
from pypto.runtime.ascendc_host.driver import Program, RunOptions
from pypto.runtime.ascendc_host.execution import run_module


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_tile_larger_than_a_core(name: str) -> None:
    kernel = check(module(name), 1)
    assert "a tile needs more than a core has" in str(attribute(kernel, "notes"))


def prime() -> Module:
    """53 tiles of 3 x 70 in groups that do not divide them."""

    @pypto.tile(shape=(3, 70), tile_num=53)
    def centred(x: Any, out: Any) -> None:
        out[:] = x - pypto.mean(x)

    shapes = {"x": (159, 70), "out": (159, 70)}
    return pypto.compile(centred, shapes=shapes, target="reference").module_at("tile")


EMITTED = ("rows", "columns", "recurrence", "blocks_of_both", "inserts", "edges", "whole_then_rows", "prime")


@functools.cache
def traced(name: str) -> Module:
    return prime() if name == "prime" else module(name, (1, 2))


@functools.cache
def lowered(name: str) -> Module:
    return run_passes(traced(name), NPU_PASSES)[0]


@functools.cache
def program() -> Program:
    return build_all({name: lowered(name) for name in EMITTED})


@pytest.mark.parametrize("name", EMITTED)
def test_emitted_kernels(name: str) -> None:
    expected, scalars = arguments(traced(name))
    given = {key: array.copy() for key, array in expected.items()}
    interpreter.run(traced(name), expected, scalars)
    run = functools.partial(run_module, program=program(), launcher=launcher(name))
    report = run(lowered(name), given, scalars, options=RunOptions("random", seed=1))
    assert not report.findings, str(report)
    np.testing.assert_allclose(report.outputs["out"], expected["out"], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shape", [(1000, 70), (3000, 9)])
def test_columns_that_are_longer_than_a_core(shape: tuple[int, int]) -> None:
    @pypto.tile(outputs=("out", "total"))
    def norm(x: Any, out: Any, total: Any) -> None:
        centred = x - pypto.mean(x, axis=0, keepdims=True)
        out[:] = centred * pypto.rsqrt(pypto.mean(centred * centred, axis=0, keepdims=True) + 1e-5)
        total[:] = pypto.sum(x, axis=0)

    shapes = {"x": shape, "out": shape, "total": shape[1:]}
    check(pypto.compile(norm, shapes=shapes, target="reference").module_at("tile"), 1)


def test_loops_around_work_that_is_larger_than_a_core() -> None:
    @pypto.tile
    def counts(x: Any, out: Any) -> None:
        for bin in pypto.loop(5):
            out[bin] = pypto.sum(pypto.where(x >= 0.25, 1.0, 0.0)) + pypto.sum(x)

    shapes = {"x": (300, 400), "out": (5,)}
    kernel = check(pypto.compile(counts, shapes=shapes, target="reference").module_at("tile"), 2)
    assert "pieces" in str(attribute(kernel, "notes"))


def test_assemblies_that_are_larger_than_a_core() -> None:
    @pypto.tile
    def assembled(x: Any, out: Any) -> None:
        rolled = pypto.concat([x[:, 1:], x[:, :1]], axis=1)
        out[:] = pypto.sum(pypto.pad(rolled, ((7, 2), (0, 3))) * 2.0)

    shapes = {"x": (301, 400), "out": ()}
    check(pypto.compile(assembled, shapes=shapes, target="reference").module_at("tile"), 2)


def test_narrowing_leaves_what_is_used_whole() -> None:
    """What is read whole anyway is not read in parts as well, and what was changed since is not read again."""
    kernel = KernelBuilder("kernel")
    x, out = kernel.input("x", (8, 8)), kernel.array("out", (8, 8), role=Role.INOUT)
    before = kernel.load(out)
    row = kernel.op("slice", x, ranges=((2, 1, 1), (0, 8, 1)))
    kernel.store(out, kernel.op("add", x, row))
    old = kernel.op("slice", before, ranges=((3, 1, 1), (0, 8, 1)))
    kernel.store(out, kernel.op("insert", kernel.op("mul", x, x), old, ranges=((0, 1, 1), (0, 8, 1))))
    assert narrow_accesses(kernel.kernel()) == remove_dead(kernel.kernel())


def test_stores_that_are_stored_over() -> None:
    """A store goes when a later one of the same body holds its region and nothing reads the array between."""
    kernel = KernelBuilder("kernel")
    x, out = kernel.input("x", (8, 8)), kernel.array("out", (8, 8), role=Role.OUT)
    row = kernel.op("slice", x, ranges=((2, 1, 1), (0, 8, 1)))
    kernel.store(out, x)
    kernel.store(out, row, region((3, 1), (0, 8)))
    kernel.store(out, kernel.op("add", x, x))
    seen = kernel.load(out)
    kernel.store(out, row, region((5, 1), (0, 8)))
    kernel.store(out, kernel.op("mul", seen, seen), region((0, 8), (0, 8)))
    kernel.store(out, row, region((7, 1), (0, 8)))
    kept = [item.location.line for item in remove_dead(kernel.kernel()).body if isinstance(item, Store)]
    assert kept == [6, 10, 11]


def test_narrowing_stores_the_rows_that_change() -> None:
    kernel = KernelBuilder("kernel")
    out = kernel.array("out", (8, 8), role=Role.INOUT)
    before = kernel.load(out)
    row = kernel.op("slice", before, ranges=((2, 1, 1), (0, 8, 1)))
    first = kernel.op("insert", before, kernel.op("add", row, row), ranges=((0, 1, 1), (0, 8, 1)))
    kernel.store(out, first)
    kernel.store(out, kernel.op("insert", first, row, ranges=((5, 1, 1), (0, 8, 1))))
    made = narrow_accesses(kernel.module().kernels[0])
    regions = [item.region for item in walk(made.body) if isinstance(item, Load | Store)]
    assert [(item[0].offset, item[0].extent) for item in regions] == [(2, 1), (0, 1), (5, 1)]
    expected, found = (arguments(kernel.module())[0] for _ in range(2))
    interpreter.run(kernel.module(), expected, {})
    interpreter.run(replace(kernel.module(), kernels=(made,)), found, {})
    np.testing.assert_array_equal(found["out"], expected["out"])


def test_loops_over_rows_copy_rows_where_a_tile_fits_too() -> None:
    kernel = check(module("updated", (2, 2), (64, 128)), 1)
    stores = [item for item in walk(kernel.body) if isinstance(item, Store)]
    assert [item.value.shape[0] for item in stores] == [1]
    assert attribute(kernel, "notes") is None
