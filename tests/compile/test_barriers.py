"""Barriers: what they order, the phases they split a graph into, and what the schedule costs to make."""

from __future__ import annotations

import dataclasses
import itertools
import time

import numpy as np
import pytest

import pypto
from pypto import SYNC_MODE, Barrier, BarrierConfig, Dependency, DependencyGraph, TileConfig, tile
from pypto.graph import link_stages
from pypto.tile_plan import plan_tiles


@tile(shape=(64, 64), tile_num=8)
def tile_produce(data_input, data_output):
    local_buf = data_input[:64, :64] * 2.0
    data_output[:] = local_buf + 1.0


@tile(shape=(64, 64), tile_num=8)
def tile_consume(data_input, data_output):
    result = data_input * 3.0 + 0.5
    data_output[:] = result


@tile(shape=(64, 64), tile_num=1)
def tile_total(data_input, total):
    total[:] = data_input


DEPENDENCY = Dependency(
    src_op="tile_produce", dst_op="tile_consume", src_tile_idx="*", dst_tile_idx="*",
    src_buffer="data_output", dst_buffer="data_input",
)  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "reference", "eager", "ascendc"])
@pytest.mark.parametrize("mode", list(SYNC_MODE))
def test_articles_2_1_and_2_2(mode, target):
    """The barrier of 2.2 attached to the kernel of 2.1. The slice in the body binds its axes: 8 tiles alone."""
    barrier_config = BarrierConfig(
        participants=[{"op": "tile_produce", "tile_range": (0, 7)}, {"op": "tile_consume", "tile_range": (0, 7)}],
        sync_mode=mode,
        enable_timeout=True,
        timeout_us=1000,
    )
    compile_config = TileConfig(
        enable_pipeline=True, dependency=DEPENDENCY, barrier=barrier_config, enable_double_buffer=True, aicore_num=8
    )
    kernel = pypto.compile([tile_produce, tile_consume], config=compile_config, target=target)
    data = np.random.default_rng(0).standard_normal((512, 64), dtype=np.float32)
    output = np.zeros_like(data)
    assert kernel.execute(data, output, verify=True).verification_passed
    np.testing.assert_allclose(output, (data * 2 + 1) * 3 + 0.5, rtol=1e-6)
    assert f"({mode.value}): tile_produce -> tile_consume, participants=16" in kernel.explain()
    assert "2 stages, 16 tiles on 8 cores, 2 phases" in kernel.explain()


def test_tiles_that_stay_on_their_core_need_no_barrier():
    plan = plan_tiles(link_stages([tile_produce, tile_consume], [DEPENDENCY]), 8)
    assert (plan.phases, plan.barriers) == (1, ())
    assert str(plan).splitlines()[1:] == [
        "phase 0", "  tile_produce 0..7 on cores 0..7", "  tile_consume 0..7 on cores 0..7"]  # fmt: skip


def test_a_barrier_is_inserted_where_tiles_of_other_cores_are_needed():
    gather = pypto.GatherDep(["tile_produce"], "tile_total", "sum", "data_output")
    plan = plan_tiles(link_stages([tile_produce, tile_total], [gather]), 8)
    assert plan.phases == 2
    assert str(plan).count("barrier 0 (inserted): tile_produce -> tile_total, participants=9") == 1


def test_regions_show_needs_that_links_do_not():
    @tile(shape=(4,), tile_num=4)
    def forward(x, y):
        block = pypto.get_block_id()
        y[:] = x[block * 4 : block * 4 + 4]

    @tile(shape=(4,), tile_num=4)
    def mirrored(y, out):
        block = pypto.get_block_id()
        out[block * 4 : block * 4 + 4] = y

    kernel = pypto.compile([forward, mirrored])
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel.execute(x, out)
    assert "8 tiles on 4 cores, 1 phases" in kernel.explain()


def test_barriers_order_stages_that_share_nothing_else():
    """The second stage is first in the list; the barrier makes it wait."""

    @tile
    def late(x, out):
        out[:] = x * 2.0

    @tile
    def early(x, out):
        out[:] = x

    x, out = np.ones(5, np.float32), np.zeros(5, np.float32)
    kernel = pypto.compile([late, early], config=TileConfig(barrier=Barrier(early, late)))
    assert [stage.name for stage in kernel.functions] == ["early", "late"]
    assert kernel.execute(x, out, verify=True).verification_passed
    assert (out == 2).all()


def test_barriers_in_a_graph_and_in_a_list():
    barriers = [
        Barrier([{"op": "tile_produce", "tile_range": "0..3"}], tile_consume),
        Barrier(tile_produce, "tile_consume"),
    ]
    for graph in (
        DependencyGraph([DEPENDENCY, *barriers]),
        DependencyGraph([DEPENDENCY]).add(barriers[0]).add(barriers[1]),
    ):
        assert len(link_stages([tile_produce, tile_consume], graph.dependencies).waits) == 2
    config = TileConfig(dependency=DEPENDENCY, barrier=barriers)
    assert "participants=12" in str(plan_tiles(pypto.compile([tile_produce, tile_consume], config)._subject.graph))
    assert repr(barriers[0]) == "Barrier(tile_produce[0..3] -> tile_consume)"
    assert barriers[0] != barriers[1]
    assert len({*barriers, Barrier(tile_produce, "tile_consume")}) == 2


def test_no_two_barriers_of_a_phase_share_an_id():
    stages = [dataclasses.replace(tile_produce, name=f"s{number}") for number in range(12)]
    links = [Dependency(stages[0], stage, src_buffer="data_output", dst_buffer="data_input") for stage in stages[1:]]
    barriers = [Barrier(stages[0], stage) for stage in stages[1:]]
    plan = plan_tiles(link_stages(stages, [*links, *barriers], unordered=True))
    assert sorted(item.identifier for item in plan.barriers) == list(range(11))


def test_ids_are_used_again_when_their_barrier_is_over():
    stages = [dataclasses.replace(tile_produce, name=f"s{number}") for number in range(40)]
    links = [
        Dependency(a, b, src_buffer="data_output", dst_buffer="data_input", mapping="7 - tile_idx")
        for a, b in itertools.pairwise(stages)
    ]
    plan = plan_tiles(link_stages(stages, [*links, Barrier(stages[0], stages[-1])], unordered=True))
    long = next(item for item in plan.barriers if item.user is not None)
    others = [item for item in plan.barriers if item is not long]
    assert {item.identifier for item in others} | {long.identifier} == {0, 1, 2}
    assert all(item.identifier != long.identifier for item in others)
    assert all(a.identifier != b.identifier for a, b in itertools.pairwise(others))


def test_five_thousand_stages_and_a_hundred_thousand_tiles_are_scheduled_within_two_seconds():
    stages = [dataclasses.replace(tile_produce, name=f"s{number}", tile_num=20) for number in range(5000)]
    links = [
        Dependency(
            a, b, src_buffer="data_output", dst_buffer="data_input", mapping="19 - tile_idx" if n % 50 == 0 else None
        )
        for n, (a, b) in enumerate(itertools.pairwise(stages))
    ]
    start = time.perf_counter()
    graph = link_stages(stages, links)
    plan = plan_tiles(graph, 20)
    seconds = time.perf_counter() - start
    print(f"5,000 stages, 100,000 tiles: {seconds:.2f} s, {plan.phases} phases")
    assert seconds < 2
    assert sum(stage.tiles for stage in plan.stages) == 100_000
    assert (plan.phases, len(plan.barriers)) == (101, 100)
