"""Text and place of mistakes in decorators, and of decorators against arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import tile
from pypto.ir import dtypes
from pypto.ir.base.locations import Location
from pypto.ir.blocks import check_blocks
from pypto.ir.index import Symbol, multiply
from pypto.ir.nodes import GridAxis, Kernel, Load, Parameter, Range, Role, TileType, Value

F32 = np.float32


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, F32)


def line_of(function: Any, text: str) -> int:
    """Return the line of this file where `text` stands in the source of a tile function."""
    lines, first = inspect.getsourcelines(function.original)
    return first + next(number for number, line in enumerate(lines) if text in line)


def failure(name: str, call: Callable[[], Any], *parts: str) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as caught:
        call()
    found = caught.value
    assert found.name == name, str(found)
    for part in parts:
        assert part in str(found), str(found)
    return found


def placed(name: str, kernel: Any, arguments: tuple[Any, ...], text: str, *parts: str) -> None:
    """The mistake is reported at the line of `kernel` that has `text`, and writes nothing."""
    found = failure(name, lambda: pypto.compile(kernel).execute(*arguments), *parts)
    assert found.location is not None
    assert (found.location.file, found.location.line) == (__file__, line_of(kernel, text))
    assert not any(np.any(argument) for argument in arguments)


def here(found: pypto.UserError) -> None:
    assert found.location is not None
    assert found.location.file == __file__


# -- decorators


def test_tile_on_something_else() -> None:
    here(failure("not-a-function", lambda: tile(3), "@tile marks a Python function, not int"))


def test_fuse_of_something_else() -> None:
    here(failure("not-a-tile-function", lambda: pypto.fuse(len), "<built-in function len> is not a tile function"))


@pytest.mark.parametrize("shape", [(0,), (4, -1), (2.5,), (True, 4)])
def test_shape_of_no_extent(shape: Any) -> None:
    here(failure("tile-shape", lambda: tile(shape=shape)(lambda x: None), f"shape={shape}", "None for a whole axis"))


@pytest.mark.parametrize("number", [0, -3, 1.5, True])
def test_no_number_of_tiles(number: Any) -> None:
    here(failure("tile-number", lambda: tile(tile_num=number)(lambda x: None), f"tile_num={number}"))


def test_output_that_is_no_parameter() -> None:
    def copy(x, result):
        result[:] = x

    found = failure(
        "unknown-output", lambda: tile(outputs=["reslt"])(copy), "outputs= names 'reslt'", "did you mean 'result'?"
    )
    here(found)


def test_variable_parameters() -> None:
    def all_of(*arrays):
        arrays[0][:] = arrays[1]

    here(failure("variable-parameters", lambda: tile(all_of), "cannot take *arrays", "name each parameter"))


# -- batch


def test_batch_extents_differ() -> None:
    @tile(shape=(4,))
    def add(x, y, out):
        out[:] = x + y

    arguments = (zeros(2, 4), zeros(3, 4), zeros(2, 4))
    placed("batch-extent", add, arguments, "@tile", "axis 0 of y is a batch axis of extent 3, another argument has 2")


def test_output_without_batch_axes() -> None:
    @tile(shape=(4,))
    def copy(x, out):
        out[:] = x

    text = "output out has 1 axes, but there are 2 batch axes before the 1 of shape="
    placed("batch-output", copy, (zeros(2, 3, 4), zeros(4)), "@tile", text)


# -- whole or tiles


def test_shape_that_no_argument_has() -> None:
    @tile(shape=(4, 4))
    def copy(x, out):
        out[:] = x

    placed("no-anchor", copy, (zeros(4), zeros(4)), "@tile", "shape=(4, 4) of copy has 2 axes")


def test_cut_axis_that_is_reduced_shows_the_arithmetic_at_the_reduction() -> None:
    @tile(shape=(4,), tile_num=3)
    def centre(x, out):
        total = pypto.sum(x, axis=0, keepdims=True)
        out[:] = x - total

    text = "shape= cuts axis 0 of out (16 elements into tiles of 4), but sum works across it"
    placed("cut-bound-axis", centre, (zeros(16), zeros(16)), "pypto.sum", text, "16/4", "tile_num=4", "shape=(None,)")


def test_ragged_tiles_of_a_bound_axis() -> None:
    @tile(shape=(4,), tile_num=4)
    def centre(x, out):
        out[:] = x - pypto.mean(x, axis=0, keepdims=True)

    placed("cut-bound-axis", centre, (zeros(15), zeros(15)), "pypto.mean", "15/4", "extents that the tile divides")


def test_view_that_fits_no_way_of_cutting() -> None:
    @tile(shape=(4,), tile_num=3)
    def scale(x, gamma, out):
        out[:] = (x - pypto.mean(x, axis=0, keepdims=True)) * gamma

    text = "axis 0 of gamma has 5 elements; for tiles of 4 of 12 it can have 12 (cut), 4 or 1 (shared"
    placed("tile-view", scale, (zeros(12), zeros(5), zeros(12)), "@tile", text)


def test_output_that_all_tiles_would_write() -> None:
    @tile(shape=(4,), tile_num=3)
    def centre(x, mean, out):
        m = pypto.mean(x, axis=0, keepdims=True)
        mean[:] = m
        out[:] = x - m

    arguments = (zeros(12), zeros(1), zeros(12))
    placed(
        "tile-output", centre, arguments, "@tile", "output mean of shape (1,) has no axis for the 3 tiles", "extent 3"
    )


def test_axis_that_goes_with_two_axes_of_the_anchor() -> None:
    @tile(shape=(4, 4), tile_num=4)
    def mirror(x, out):
        out[:] = x + x.T - pypto.sum(x)

    placed("tile-double", mirror, (zeros(8, 8), zeros(8, 8)), "@tile", "goes with anchor axis")


# -- blocks


def test_blocks_without_a_number() -> None:
    @tile
    def by_block(x, out):
        start = pypto.get_block_id() * 4
        out[start : start + 4] = x[start : start + 4]

    placed("block-count", by_block, (zeros(8), zeros(8)), "@tile", "by_block asks for its block id", "tile_num=N")


def test_block_that_leaves_its_array() -> None:
    """Tracing sees this by itself; a kernel that was not traced is checked block by block."""
    block = Symbol("block")
    rows, where = (Range(multiply(block, 4), 4),), Location(__file__, 3)
    type_ = TileType(dtypes.F32, (10,))
    body = (Load(Value("0", TileType(dtypes.F32, (4,))), "x", rows, location=where),)
    kernel = Kernel("k", (Parameter("x", type_, Role.IN),), (GridAxis(block, 3),), body)
    text = "block 2 reaches elements 8 to 11 of axis 0 of x, which has 10"
    found = failure("block-bounds", lambda: check_blocks(kernel), text, "pypto.block(x, offset, shape)")
    assert found.location == where


def test_blocks_that_write_the_same_elements() -> None:
    @tile(tile_num=2)
    def by_block(x, out):
        start = pypto.get_block_id() * 3
        out[start : start + 4] = x[start : start + 4]

    text = "blocks 0 and 1 write the same elements of out: [0:4] and [3:7]"
    placed("block-overlap", by_block, (zeros(8), zeros(8)), "out[start", text)


def test_block_that_reads_what_another_writes() -> None:
    @tile(tile_num=4)
    def rotate(x):
        block = pypto.get_block_id()
        x[block] = x[(block + 1) % 4] * 1.0

    text = "block 0 reads x[1:2], and block 1 writes [1:2] of it"
    placed("block-race", rotate, (zeros(4),), "x[block]", text)
