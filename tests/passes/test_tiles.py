"""Kernels of tiles, and what the schedule says about tiles: reshapes are followed, hints are kept or the kernel says so."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pypto
from passes.corpus import chain
from passes.kernels import KernelBuilder, arguments
from passes.random_tiles import random_tiles
from passes.test_engine import same
from pypto.ir import interpreter
from pypto.ir.engine import values
from pypto.ir.engine.clocks import faults
from pypto.ir.engine.machine import ORDERS
from pypto.ir.index import Index, evaluate
from pypto.ir.nodes import For, Kernel, Load, Module, Store, walk
from pypto.ir.passes.apply_tiles import as_blocks
from pypto.ir.passes.choose_tiles import choose_tiles, possible_cuts
from pypto.ir.passes.cut_axes import cut_axes
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.schedule import Schedule, with_schedule
from pypto.ir.verifier import verify


def planned(module: Module) -> Kernel:
    (kernel,) = run_passes(module, NPU_PASSES)[0].kernels
    return kernel


def attribute(kernel: Kernel, name: str) -> object:
    return dict(kernel.attributes).get(name)


def check(module: Module, order: int) -> Kernel:
    """Lower a kernel; it means the same, has no race, and runs at its addresses as it is written."""
    lowered, _ = run_passes(module, NPU_PASSES)
    verify(lowered)
    (kernel,) = lowered.kernels
    assert faults(kernel) == []
    arrays, scalars = arguments(module)
    expected, found, executed = ({name: array.copy() for name, array in arrays.items()} for _ in range(3))
    with np.errstate(all="ignore"):
        interpreter.run(module, expected, scalars)
        interpreter.run(lowered, found, scalars)
    assert values.run(lowered, executed, scalars, replace(ORDERS[order % len(ORDERS)])) == []
    for name, array in expected.items():
        tolerance = 1e-3 if array.dtype.itemsize == 2 else 1e-5
        left, right = found[name].astype(np.float64), array.astype(np.float64)
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance, err_msg=name)
        assert same(executed[name], found[name]), name
    return kernel


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_tile_functions(start: int) -> None:
    kinds = set()
    for seed in range(start, start + 20):
        kinds.add(attribute(check(random_tiles(seed), seed), "meaning"))
    assert "tiles" in kinds


def centred(shape: tuple[int, int], tile: tuple[int, int] = (64, 64)) -> Module:
    @pypto.tile(shape=tile, tile_num=shape[0] // tile[0] * shape[1] // tile[1])
    def kernel(x: Any, out: Any) -> None:
        out[:] = x - pypto.mean(x)

    return pypto.compile(kernel, shapes={"x": shape, "out": shape}, target="reference").module_at("tile")


@pytest.mark.parametrize("shape", [(512, 64), (64, 512), (128, 256), (4096, 4096)])
def test_arrays_larger_than_a_core(shape: tuple[int, int]) -> None:
    module = centred(shape)
    start = time.process_time()
    kernel = planned(module)
    assert time.process_time() - start < 1
    assert faults(kernel) == []
    assert [item.result.shape for item in walk(kernel.body) if isinstance(item, Load)] == [(64, 64)]
    assert {region.extent for item in walk(kernel.body) if isinstance(item, Store) for region in item.region} == {64}
    assert kernel.grid[0].extent == min(48, shape[0] * shape[1] // 4096)


def test_small_tiles_are_computed_together() -> None:
    kernel = planned(centred((4800, 16), (4, 16)))
    (load,) = (item for item in walk(kernel.body) if isinstance(item, Load))
    rows = load.result.shape[0]
    assert isinstance(rows, int)
    assert rows % 4 == 0
    assert rows > 4


def test_a_batch_larger_than_a_core() -> None:
    @pypto.tile(shape=(64, 64))
    def kernel(x: Any, out: Any) -> None:
        out[:] = x / pypto.sum(x)

    shapes = {"x": (3, 100, 64, 64), "out": (3, 100, 64, 64)}
    made = planned(pypto.compile(kernel, shapes=shapes, target="reference").module_at("tile"))
    assert faults(made) == []
    assert made.grid[0].extent == 48


def test_tiles_larger_than_a_core_are_computed_in_pieces() -> None:
    kernel = planned(centred((2, 120_000), (1, 60_000)))
    assert "pieces" in str(attribute(kernel, "notes"))
    assert faults(kernel) == []


def test_an_axis_reshaped_in_two_ways_is_whole() -> None:
    k = KernelBuilder("two_ways")
    x = k.input("x", (64,))
    left = k.op("sum", k.op("reshape", x, shape=(8, 8)), axes=(1,))
    right = k.op("sum", k.op("reshape", x, shape=(4, 16)), axes=(1,))
    k.output("left", left)
    k.output("right", right)
    assert possible_cuts(k.kernel(), cut_axes(k.kernel())) == []


def test_an_axis_met_by_its_own_tiles_is_whole() -> None:
    """Every number meets the sum of every tile: both axes come from one."""
    k = KernelBuilder("crossed")
    x = k.input("x", (64, 1))
    sums = k.op("reshape", k.op("sum", k.op("reshape", x, shape=(8, 8)), axes=(1,)), shape=(1, 8))
    k.output("out", k.op("add", x, sums))
    kernel = k.kernel()
    assert possible_cuts(kernel, cut_axes(kernel)) == []
    check(Module(kernel.name, kernel.parameters, (), (kernel,)), 0)


def test_tiles_of_tiles_follow_the_outer_reshape() -> None:
    k = KernelBuilder("nested")
    x = k.input("x", (240,))
    inner = k.op("reshape", k.op("reshape", x, shape=(4, 60)), shape=(4, 6, 10))
    k.output("out", k.op("reshape", k.op("sub", inner, k.op("max", inner, axes=(2,))), shape=(240,)))
    kernel = k.kernel()
    (cut,) = possible_cuts(kernel, cut_axes(kernel))
    assert (cut.extent, cut.factor, cut.tied, cut.even) == (4, 60, True, False)
    blocks = as_blocks(kernel, cut_axes(kernel), [cut])
    assert blocks.grid[0].extent == 4
    verify(Module(kernel.name, kernel.parameters, (), (blocks,)))


PRIMES = (
    ((8, 64), (53, 1)),
    ((3, 5), (211, 1)),
    ((4, 8), (97, 3)),
    ((64,), (1009,)),
    ((5,), (499,)),
    ((33, 20), (67, 1)),
)


@pytest.mark.parametrize(("tile", "counts"), PRIMES)
def test_a_prime_number_of_tiles_has_a_remainder_turn(tile: tuple[int, ...], counts: tuple[int, ...]) -> None:
    @pypto.tile(shape=tile, tile_num=int(np.prod(counts)))
    def function(x: Any, out: Any) -> None:
        out[:] = x - pypto.mean(x) * 2.0 + pypto.max(x, axis=-1, keepdims=True)

    shape = tuple(extent * count for extent, count in zip(tile, counts, strict=True))
    compiled = pypto.compile(function, shapes={"x": shape, "out": shape}, target="reference")
    kernel = check(compiled.module_at("tile"), 1)
    taken = attribute(kernel, "tiles")
    assert isinstance(taken, tuple)
    assert taken[0] > tile[0]
    assert shape[0] % taken[0], "a remainder"


# what the schedule asks for


def tile_of(kernel: Kernel) -> tuple[Index, ...]:
    return tuple(next(item for item in walk(kernel.body) if isinstance(item, Store)).value.shape)


def turns(kernel: Kernel) -> int:
    """Return the number of tiles that all cores compute."""
    count = kernel.grid[0].extent if kernel.grid else 1
    loops = [item for item in kernel.body if isinstance(item, For)]
    return evaluate(loops[0].stop, {}) if loops else evaluate(count, {})


@pytest.mark.parametrize("tile", [(8, 100), (16, 64), (7, 33), (1, 300), (1000, 1), (20, None), (None, 10)])
def test_the_tile_asked_for_is_taken(tile: tuple[int | None, int | None]) -> None:
    module = with_schedule(chain((1000, 300)), Schedule(tile_shape=tile))
    kernel = planned(module)
    expected = (tile[0] or 1000, tile[1] or 300)
    assert attribute(kernel, "tiles") == expected
    assert attribute(kernel, "notes") is None
    assert faults(kernel) == []
    check(module, 0)


def test_a_tile_that_does_not_fit_is_not_taken_and_said() -> None:
    kernel = planned(with_schedule(chain((1000, 3000)), Schedule(tile_shape=(500, 2900))))
    assert "tiles of 500 elements along axis 0 do not fit" in str(attribute(kernel, "notes"))
    assert faults(kernel) == []


@pytest.mark.parametrize("number", [2, 10, 48, 100, 1000])
def test_the_number_of_tiles_asked_for(number: int) -> None:
    kernel = planned(with_schedule(chain((1000, 30)), Schedule(tile_num=number)))
    assert turns(kernel) == number
    assert attribute(kernel, "notes") is None


def test_fewer_tiles_than_fit() -> None:
    kernel = planned(with_schedule(chain((1000, 30)), Schedule(tile_num=1)))
    assert attribute(kernel, "notes") == ("1 tile would be too large: there are 2",)


def test_axes_in_the_order_asked_for() -> None:
    first, second = (
        planned(with_schedule(chain((100, 640)), Schedule(tile_shape=(10, 64), loop_order=order)))
        for order in ((0, 1), (1, 0))
    )
    assert first.body != second.body
    check(with_schedule(chain((100, 640)), Schedule(tile_shape=(10, 64), loop_order=(1, 0))), 0)


def test_a_share_of_the_tiles_of_a_tile_function() -> None:
    module = centred((4800, 16), (4, 16))
    for rows in (4, 8, 60):
        (kernel,) = module.kernels
        chosen = Schedule.of(kernel).choosing(tile_shape=(rows, 16))
        assert tile_of(planned(with_schedule(module, chosen))) == (rows, 16)


def test_the_chosen_tile_gives_the_same_kernel_again() -> None:
    module = chain((1000, 300))
    kernel = planned(module)
    tile = attribute(kernel, "tiles")
    again = planned(with_schedule(module, Schedule(tile_shape=tile)))  # type: ignore[arg-type]  # extents
    assert again.body == kernel.body


def test_choosing_reads_the_cores() -> None:
    (kernel,) = with_schedule(chain((1000, 300)), Schedule(aicore_num=3)).kernels
    assert choose_tiles(kernel).grid[0].extent == 3


def test_a_decorator_that_holds_the_whole_array_asks_for_nothing() -> None:
    schedule = Schedule(tile_shape=(128, 128), declared=("tile_shape",))
    kernel = planned(with_schedule(chain((128, 128)), schedule))
    assert turns(kernel) > 1
    assert turns(planned(with_schedule(chain((128, 128)), schedule.choosing(tile_shape=(128, 128))))) == 1


def test_an_axis_to_be_kept_whole_is_cut_where_it_must() -> None:
    kernel = planned(with_schedule(chain((1000, 3000)), Schedule(tile_shape=(100, None))))
    tile = attribute(kernel, "tiles")
    assert isinstance(tile, tuple)
    assert tile[0] == 100
    assert attribute(kernel, "notes") is None


def _turned(x: Any, out: Any) -> None:
    t = pypto.zeros(x.shape)
    t[:] = x
    t[::-1] = t
    out[:] = t


def _turned_output(x: Any, out: Any) -> None:
    out[:] = x
    out[::-1] = out


def _turned_in_a_loop(x: Any, out: Any) -> None:
    t = x + 1.0
    for _ in pypto.loop(3):
        t[::-1] = t
    out[:] = t


@pytest.mark.parametrize("body", [_turned, _turned_output, _turned_in_a_loop])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (0, 5), (5, 0), (6, 5)])
def test_tiles_turned_around_in_place(body: Any, shape: tuple[int, ...]) -> None:
    """The right side is read before anything is written, and nothing happens to a tile of no elements."""
    compiled = pypto.compile(pypto.tile(body), shapes={"x": shape, "out": shape}, target="reference")
    check(compiled.module_at("tile"), 1)
