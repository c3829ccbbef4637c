"""Explicit SPMD kernels: blocks must stay inside their arrays and apart from each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto.ir.base.errors import UserError
from pypto.ir.blocks import check_blocks
from pypto.ir.dtypes import F32
from pypto.ir.index import Index, Symbol, add, make, multiply
from pypto.ir.nodes import For, GridAxis, Kernel, Load, Parameter, Range, Role, Statement, Store, TileType, Value

BLOCK = Symbol("block")


def kernel(blocks: int, *body: Statement, **arrays: tuple[int, ...]) -> Kernel:
    parameters = tuple(Parameter(name, TileType(F32, shape), Role.INOUT) for name, shape in arrays.items())
    return Kernel("k", parameters, (GridAxis(BLOCK, blocks),), body)


def value(*shape: int) -> Value:
    return Value("v", TileType(F32, shape))


def store(array: str, *ranges: Range) -> Store:
    return Store(array, ranges, value(*(int(item.extent) for item in ranges)))  # type: ignore[call-overload]


def load(array: str, *ranges: Range) -> Load:
    return Load(value(*(int(item.extent) for item in ranges)), array, ranges)  # type: ignore[call-overload]


def error(found: Kernel) -> UserError:
    with pytest.raises(UserError) as caught:
        check_blocks(found)
    return caught.value


def test_disjoint_rows_are_fine() -> None:
    rows = Range(multiply(BLOCK, 4), 4)
    check_blocks(kernel(8, load("x", rows), store("out", rows), x=(32,), out=(32,)))


def test_leaving_the_array_names_block_and_element() -> None:
    found = error(kernel(9, store("out", Range(multiply(BLOCK, 4), 4)), out=(33,)))
    assert found.name == "block-bounds"
    assert found.details == {"block": 8, "first": 32, "last": 35, "axis": 0, "array": "out", "extent": 33}


def test_overlapping_writes() -> None:
    found = error(kernel(3, store("out", Range(multiply(BLOCK, 3), 4)), out=(16,)))
    assert found.name == "block-overlap"
    assert {found.details["block"], found.details["other"]} == {0, 1}


def test_every_block_writing_the_whole_array() -> None:
    assert error(kernel(2, store("out", Range(0, 16)), out=(16,))).name == "block-overlap"


def test_reading_what_another_block_writes() -> None:
    other = make("%", add(BLOCK, 1), 4)
    found = error(kernel(4, load("x", Range(other, 1)), store("x", Range(BLOCK, 1)), x=(4,)))
    assert found.name == "block-race"


def test_reading_ones_own_region_is_fine() -> None:
    check_blocks(kernel(4, load("x", Range(BLOCK, 1)), store("x", Range(BLOCK, 1)), x=(4,)))


def test_interleaved_steps_do_not_meet() -> None:
    check_blocks(kernel(3, store("out", Range(BLOCK, 4, 3)), out=(12,)))
    assert error(kernel(4, store("out", Range(BLOCK, 3, 3)), out=(12,))).name == "block-overlap"


def test_regions_inside_loops_are_followed() -> None:
    index = Symbol("i")
    position: Index = add(multiply(BLOCK, 4), index)
    good = For(index, 0, 4, 1, (), (), (store("out", Range(position, 1)),), (), ())
    check_blocks(kernel(4, good, out=(16,)))
    bad = For(index, 0, 5, 1, (), (), (store("out", Range(position, 1)),), (), ())
    assert error(kernel(4, bad, out=(17,))).name == "block-overlap"


def test_clipped_stores_and_filled_loads_may_leave_the_array() -> None:
    rows = Range(multiply(BLOCK, 4), 4)
    body = (Load(value(4), "x", (rows,), fill=0.0), Store("out", (rows,), value(4), clip=True))
    check_blocks(kernel(4, *body, x=(13,), out=(13,)))


@settings(max_examples=200, deadline=None)
@given(
    blocks=st.integers(1, 5),
    factor=st.integers(0, 4),
    extent=st.integers(0, 4),
    step=st.sampled_from([1, 2, 3]),
    columns=st.integers(1, 3),
)
def test_verdict_equals_brute_force(blocks: int, factor: int, extent: int, step: int, columns: int) -> None:
    size = 40
    ranges = (Range(multiply(BLOCK, factor), extent, step), Range(multiply(BLOCK, 1), columns))
    written = np.full((size, 8), -1)
    clash = False
    for block in range(blocks):
        rows = [block * factor + step * k for k in range(extent)]
        for row, column in itertools.product(rows, range(block, block + columns)):
            clash |= written[row, column] not in (-1, block)
            written[row, column] = block
    subject = kernel(blocks, store("out", *ranges), out=(size, 8))
    if clash:
        assert error(subject).name == "block-overlap"
    else:
        check_blocks(subject)
