"""Coarse tiles that run fine ones: what they compute, and how the plan shares them among cores."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import HierarchicalTiling, Scheduler, TileConfig, TilingLevel, tile


@tile(shape=(8, 8), level=TilingLevel.FINE)
def fine_block(a, b, c):
    c[:] = a @ b


@tile(shape=(32, 32), level=TilingLevel.COARSE, tile_num=4)
def coarse_tile(A, B, C, tile_id):
    start = tile_id * 32
    C[start : start + 32, start : start + 32] = fine_block(A[start : start + 32, :], B[:, start : start + 32])


@tile(shape=(32, 32), level=TilingLevel.COARSE, tile_num=4)
def coarse_loops(A, B, C, tile_id):
    """Article 7a with the body filled in: the blocks on the diagonal, in 16 fine blocks each."""
    start = tile_id * 32
    sub_A = A[start : start + 32, :]
    sub_B = B[:, start : start + 32]
    for i in range(4):
        for j in range(4):
            a_block = sub_A[i * 8 : (i + 1) * 8, :]
            b_block = sub_B[:, j * 8 : (j + 1) * 8]
            C[start + i * 8 : start + (i + 1) * 8, start + j * 8 : start + (j + 1) * 8] = a_block @ b_block


@pytest.mark.parametrize("target", ["cpu", "reference", "eager"])
@pytest.mark.parametrize("kernel", [coarse_tile, coarse_loops], ids=lambda item: item.name)
def test_trap_one_of_article_7(kernel, target):
    scheduler = pypto.Scheduler(
        tiling_strategy=HierarchicalTiling(), enable_coarse_grain_pipeline=True, enable_fine_grain_parallel=True
    )
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape, dtype=np.float32) for shape in ((128, 16), (16, 128)))
    c = np.zeros((128, 128), np.float32)
    compiled = pypto.compile(kernel, config=scheduler, target=target)
    assert compiled.execute(a, b, c, verify=True).verification_passed
    diagonal = np.kron(np.eye(4), np.ones((32, 32))) > 0
    np.testing.assert_allclose(c, np.where(diagonal, a @ b, 0), rtol=1e-4, atol=1e-4)
    assert f"{kernel.name}: 4 coarse tiles of (32, 32) on 4 cores" in compiled.explain()


def test_the_plan_prints():
    plan = Scheduler(HierarchicalTiling()).plan(coarse_tile, cores=24)
    assert (plan.dispatches, plan.fine_tiles) == (4, 64)
    assert str(plan).splitlines() == [
        "coarse_tile: 4 coarse tiles of (32, 32) on 4 cores, copies overlap computing",
        "  fine_block: 16 fine tiles of (8, 8) in each, shared by 6 cores",
        "4 dispatches for 64 fine tiles (6.2%)",
    ]


def test_the_switches():
    scheduler = Scheduler(HierarchicalTiling(), enable_coarse_grain_pipeline=False, enable_fine_grain_parallel=False)
    lines = str(scheduler.plan(coarse_tile, cores=24)).splitlines()
    assert lines[0].endswith("on 4 cores, one after another")
    assert lines[1].endswith("16 fine tiles of (8, 8) in each, in turn on its core")
    kernel = pypto.compile(coarse_tile, config=TileConfig(scheduler=scheduler))
    assert kernel._options.enable_pipeline is False
    assert pypto.compile(coarse_tile, config={"scheduler": scheduler, "enable_pipeline": True})._options.enable_pipeline


def test_levels_may_be_given_by_the_tiling():
    @tile(shape=(16,))
    def inner(x, y):
        y[:] = x * 2.0

    @tile(shape=(64,), tile_num=3)
    def outer(x, y):
        y[:] = inner(x)

    @tile(shape=(None,))
    def other(x, y):
        y[:] = x

    tiling = HierarchicalTiling(coarse=[outer], fine=[inner])
    plan = Scheduler(tiling).plan([outer, other], cores=2)
    assert [(item.name, item.count, item.cores) for item in plan.coarse] == [("outer", 3, 2)]
    assert [(item.name, item.count, item.cores) for item in plan.coarse[0].fine] == [("inner", 4, 1)]
    assert repr(tiling) == "HierarchicalTiling(coarse=[outer], fine=[inner])"


def test_a_fine_stage_says_its_number_itself():
    @tile(shape=(5, 8), tile_num=7, level=TilingLevel.FINE)
    def seven(x, y):
        y[:] = x

    @tile(shape=(9,), level=TilingLevel.FINE)
    def other_rank(x, y):
        y[:] = x

    @tile(shape=(12, 8), level=TilingLevel.COARSE)
    def outer(x, y, z):
        y[:] = seven(x)
        z[:] = other_rank(x)

    fine = Scheduler(HierarchicalTiling()).plan(outer).coarse[0].fine
    assert [(item.name, item.count) for item in fine] == [("seven", 7), ("other_rank", 1)]


@tile(shape=(8, 64), level=TilingLevel.FINE)
def fine_rows(a, b):
    b[:] = a * 2.0 + 1.0


@tile(shape=(32, 64), level=TilingLevel.COARSE, tile_num=4)
def coarse_rows(a, out):
    out[:] = fine_rows(a)


def planned_kernel(kernel, scheduler=None, **shapes):
    config = None if scheduler is None else TileConfig(scheduler=scheduler)
    compiled = pypto.compile(kernel, config, target="reference", shapes=shapes, dtypes="float32")
    (made,) = compiled.module_at("planned").kernels
    return made


@pytest.mark.parametrize(("parallel", "cores"), [(True, 16), (False, 4)])
def test_the_scheduler_acts_on_the_schedule(parallel, cores):
    """4 coarse tiles of 4 fine ones: on 16 cores, or in turn on 4."""
    scheduler = Scheduler(HierarchicalTiling(), enable_fine_grain_parallel=parallel)
    made = planned_kernel(coarse_rows, scheduler, a=(128, 64), out=(128, 64))
    assert made.grid[0].extent == cores
    assert dict(made.attributes)["tiles"] == (8, 64)
    depths = {buffer.depth for buffer in made.buffers}
    assert (max(depths) > 1) is not parallel


def test_without_coarse_pipeline_copies_take_turns():
    scheduler = Scheduler(HierarchicalTiling(), False, False)
    made = planned_kernel(coarse_rows, scheduler, a=(128, 64), out=(128, 64))
    assert {buffer.depth for buffer in made.buffers} == {1}


def test_options_win_over_the_scheduler():
    scheduler = Scheduler(HierarchicalTiling(), enable_fine_grain_parallel=False)
    config = TileConfig(scheduler=scheduler, aicore_num=2, shape=(16, 64))
    compiled = pypto.compile(coarse_rows, config, target="reference", shapes={"a": (128, 64), "out": (128, 64)})
    (made,) = compiled.module_at("planned").kernels
    assert made.grid[0].extent == 2
    assert dict(made.attributes)["tiles"] == (16, 64)
