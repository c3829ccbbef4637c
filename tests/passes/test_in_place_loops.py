"""Loops that change a tile in place and read other rows than they write: what they read is what was there before."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pypto
from passes.kernels import arguments
from passes.test_engine import same
from pypto.ir import interpreter
from pypto.ir.dtypes import F16, F32, DType
from pypto.ir.engine import values
from pypto.ir.engine.clocks import faults
from pypto.ir.engine.machine import ORDERS
from pypto.ir.nodes import Module, Operation, TileType, Value
from pypto.ir.passes.layout import strides
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.pipes import inserted_bytes

Range = tuple[int, int, int]


def turned(t: Any) -> None:
    t[::-1] = t


def moved_down(t: Any) -> None:
    t[1:] = t[:-1]


def moved_up(t: Any) -> None:
    t[:-1] = t[1:] * 2.0


def half_turned(t: Any) -> None:
    half = t.shape[0] // 2
    t[:half] = t[: -half - 1 : -1]


def every_other_turned(t: Any) -> None:
    half = t.shape[0] // 2
    t[2 * half - 1 :: -2] = t[0 : 2 * half : 2]


def ends_exchanged(t: Any) -> None:
    t[0:2] = t[1::-1]
    t[-1:] = t[0:1] + t[-1:]


MOVES = (turned, moved_down, moved_up, half_turned, every_other_turned, ends_exchanged)


def rows_from_the_end(t: Any) -> None:
    for i in pypto.loop(t.shape[0]):
        t[i] = t[t.shape[0] - 1 - i] + 1.0


def rows_from_before(t: Any) -> None:
    for i in pypto.loop(1, t.shape[0]):
        t[i] = t[i] + t[i - 1] * 0.5


def rows_from_behind(t: Any) -> None:
    for i in pypto.loop(t.shape[0] - 1):
        t[i] = t[i + 1] - t[i]


def rows_exchanged(t: Any) -> None:
    for i in pypto.loop(t.shape[0] // 2):
        row = t[i] + 0.0
        t[i] = t[t.shape[0] - 1 - i]
        t[t.shape[0] - 1 - i] = row


ROWS = (rows_from_the_end, rows_from_before, rows_from_behind, rows_exchanged)


def in_a_loop(move: Callable[[Any], None]) -> Any:
    def body(x: Any, out: Any) -> None:
        t = x + 1.0
        for _ in pypto.loop(3):
            move(t)
        out[:] = t

    return body


def in_the_output(move: Callable[[Any], None]) -> Any:
    def body(x: Any, out: Any) -> None:
        out[:] = x
        for _ in pypto.loop(2):
            move(out)

    return body


def check(module: Module) -> None:
    """Lowered, a kernel has no race, and computes at its addresses the bits of the interpreter in all orders."""
    lowered, _ = run_passes(module, NPU_PASSES)
    assert faults(lowered.kernels[0]) == []
    arrays, scalars = arguments(module)
    expected = {name: array.copy() for name, array in arrays.items()}
    interpreter.run(module, expected, scalars)
    for order in ORDERS:
        executed = {name: array.copy() for name, array in arrays.items()}
        assert values.run(lowered, executed, scalars, replace(order)) == []
        assert all(same(executed[name], array) for name, array in expected.items()), order.name


@pytest.mark.parametrize("place", [in_a_loop, in_the_output])
@pytest.mark.parametrize("move", [*MOVES, *ROWS])
@pytest.mark.parametrize("shape", [(7,), (2, 3), (6, 5), (7, 8), (13, 17), (5, 3, 4)])
def test_whole_arrays(place: Any, move: Callable[[Any], None], shape: tuple[int, ...]) -> None:
    compiled = pypto.compile(pypto.tile(place(move)), shapes={"x": shape, "out": shape}, target="reference")
    check(compiled.module_at("tile"))


@pytest.mark.parametrize("place", [in_a_loop, in_the_output])
@pytest.mark.parametrize("move", [*MOVES, *ROWS])
@pytest.mark.parametrize(("shape", "tile"), [((14, 8), (7, 8)), ((22, 13), (11, 13)), ((26, 16), (13, 8))])
def test_tiles(place: Any, move: Callable[[Any], None], shape: tuple[int, int], tile: tuple[int, int]) -> None:
    count = -(-shape[0] // tile[0]) * -(-shape[1] // tile[1])
    kernel = pypto.tile(shape=tile, tile_num=count)(place(move))
    check(pypto.compile(kernel, shapes={"x": shape, "out": shape}, target="reference").module_at("tile"))


@pytest.mark.parametrize("move", [turned, moved_up, *ROWS])
@pytest.mark.parametrize("shape", [(53, 1021)])
def test_tiles_too_large_for_a_core(move: Callable[[Any], None], shape: tuple[int, int]) -> None:
    compiled = pypto.compile(pypto.tile(in_the_output(move)), shapes={"x": shape, "out": shape}, target="reference")
    check(compiled.module_at("tile"))


RANGES: tuple[Range, ...] = ((0, 7, 1), (6, 7, -1), (5, 3, -2), (1, 3, 2), (2, 1, -1), (3, 0, -1))


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize(("planes", "rows"), list(itertools.product(RANGES, RANGES)))
def test_bytes_of_inserts_hold_all_that_is_written(dtype: DType, planes: Range, rows: Range) -> None:
    """They reach from the first byte written to the last, whichever way the rows run, but for the ends of blocks."""
    shape, multiple = (7, 7, 16), 16
    ranges = (planes, rows, (0, 16, 1))
    part = tuple(item[1] for item in ranges)
    operands = (Value("0", TileType(dtype, shape)), Value("1", TileType(dtype, part)))
    insert = Operation("insert", operands, (Value("2", TileType(dtype, shape)),), (("ranges", ranges),))
    pitches = strides(shape)
    written = [
        sum((first + k * step) * pitch for k, (first, _, step), pitch in zip(index, ranges, pitches, strict=True))
        for index in np.ndindex(part)
    ]
    span = inserted_bytes(insert, multiple)
    if not written:
        assert span is None
    else:
        assert span == (min(written) * dtype.bytes, (max(written) + 1) * dtype.bytes)
