"""Text and place of the mistakes in barriers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import pypto
from pypto import (
    SYNC_MODE,
    Barrier,
    BarrierConfig,
    Dependency,
    DependencyGraph,
    DependencyValidator,
    auto_insert_sync,
    tile,
)
from pypto.graph import link_stages
from pypto.tile_plan import plan_tiles


@tile(shape=(4, 4), tile_num=4)
def first(x, t):
    t[:] = x


@tile(shape=(4, 4), tile_num=4)
def second(t, u):
    u[:] = t


@tile(shape=(4, 4), tile_num=4)
def third(u, out):
    out[:] = u


STAGES = [first, second, third]


def error(name: str, *parts: str, call) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name, str(caught.value)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return caught.value


def compiled(*barriers, stages=STAGES):
    return lambda: pypto.compile(stages, config={"barrier": list(barriers)})


def test_a_barrier_against_a_link():
    failure = error(
        "barrier-deadlock",
        "first -> second -> third -> barrier 0 -> first",
        "in the order in which they run",
        call=compiled(Barrier(third, first)),
    )
    assert failure.location.file == __file__


def test_barriers_against_each_other():
    @tile
    def left(x, a):
        a[:] = x

    @tile
    def right(x, b):
        b[:] = x

    error(
        "barrier-deadlock",
        "barrier 0 -> ",
        "barrier 1 -> ",
        call=compiled(Barrier(left, right), Barrier(right, left), stages=[left, right]),
    )
    error("barrier-deadlock", "left -> barrier 0 -> left", call=compiled(Barrier([left], left), stages=[left, right]))


def participants(*tiles):
    return [{"op": stage, "tile_range": item} for stage, item in zip(STAGES, tiles, strict=False)]


def test_participants_that_do_not_exist():
    error("unknown-stage", "names a stage 'frist' that is not in the list", "did you mean 'first'?",
          call=compiled(Barrier("frist", second)))  # fmt: skip
    error("tile-outside", "names tiles 0..4 of 'second', which has 4: 0..3",
          call=compiled(BarrierConfig(participants((0, 3), (0, 4)))))  # fmt: skip
    error("mapping-value", "gives 4 for tile 0 of 'second'", call=compiled(Barrier(first, second, "tile_idx + 4")))


@pytest.mark.parametrize(
    ("make", "name", "text"),
    [
        (lambda: BarrierConfig([]), "option-value", "a list of at least two of"),
        (lambda: BarrierConfig(participants((0, 1))), "option-value", "a list of at least two of"),
        (lambda: BarrierConfig(participants((1, 0), "*")), "option-value", "tile_range is (1, 0)"),
        (lambda: BarrierConfig([{"op": "a", "range": 1}, "b"]), "unknown-option", "no option called 'range'"),
        (lambda: BarrierConfig([{"tile_range": 1}, "b"]), "option-value", "op is None"),
        (lambda: BarrierConfig(["a", "b"], sync_mode="BLOCKING"), "option-value", "SYNC_MODE.BLOCKING or"),
        (lambda: BarrierConfig(["a", "b"], enable_timeout=True), "option-value", "timeout_us is None"),
        (lambda: BarrierConfig(["a", "b"], timeout_us=0), "option-value", "a positive number of microseconds"),
        (lambda: BarrierConfig(["a", "b"], enable_timeout=1), "option-value", "enable_timeout is 1"),
        (lambda: BarrierConfig(["a", "b"], timeout=1), "unknown-option", "did you mean 'timeout_us'?"),
        (lambda: Barrier([], "a"), "option-value", "at least one stage"),
        (lambda: Barrier(["a", "b"], "c", "tile_idx"), "option-value", "one stage when mapping is given"),
        (lambda: Barrier("a", "b", "tile_id"), "mapping-syntax", "there is no 'tile_id'"),
        (lambda: DependencyGraph().add(3), "option-value", "Barrier or BarrierConfig"),
    ],
)
def test_wrong_barriers(make, name, text):
    assert error(name, text, call=make).location.file == __file__


def test_more_barriers_than_flags():
    stages = [first, *(dataclasses.replace(second, name=f"s{number}") for number in range(12))]
    links = [Dependency(first, stage, src_buffer="t", dst_buffer="t") for stage in stages[1:]]
    graph = link_stages(stages, [*links, *(Barrier(first, stage) for stage in stages[1:])], unordered=True)
    error("barrier-ids", "12 barriers are open in phase 0", "cores have 11 flags", call=lambda: plan_tiles(graph))


def test_waiting_longer_than_the_time_out():
    """8 tiles on 2 cores: the first to arrive waits for three more of 2 x 64 KiB at 59.2 KB/us each."""

    @tile(shape=(128, 128), tile_num=8)
    def slow(x, t):
        t[:] = x

    @tile(shape=(128, 128), tile_num=8)
    def after(t, out):
        out[:] = t

    def run(**options):
        barrier = BarrierConfig([{"op": slow}, {"op": after}], **options)
        kernel = pypto.compile([slow, after], config={"barrier": barrier, "aicore_num": 2})
        kernel.execute(x, x.copy())
        return kernel.explain()

    x = np.zeros((1024, 128), np.float32)
    error("barrier-timeout", "a tile waits 6.64 us in the model of time, and timeout_us is 5",
          call=lambda: run(enable_timeout=True, timeout_us=5))  # fmt: skip
    assert "waits 6.64 us at most" in run(enable_timeout=True, timeout_us=7)
    assert "waits 6.64 us at most" in run(timeout_us=5)
    assert "waits 0.00 us at most" in run(sync_mode=SYNC_MODE.NON_BLOCKING, enable_timeout=True, timeout_us=1)


def test_strategies_other_than_minimal():
    error("option-value", "auto_insert_sync: strategy is 'all'", "must be 'minimal'",
          call=lambda: auto_insert_sync(STAGES, strategy="all"))  # fmt: skip


def test_what_is_no_report():
    calls = (
        lambda: auto_insert_sync(STAGES, STAGES),
        lambda: DependencyValidator(STAGES).suggest_barrier_insertion([]),
    )
    for call in calls:
        error("option-value", "must be what `DependencyValidator(...).detect_races()` returned", call=call)


def test_a_file_has_no_tile_graph(tmp_path):
    path = tmp_path / "kernel.pto"
    path.write_text(pypto.compile(first, shapes={"x": (16, 4), "t": (16, 4)}).to_text("tile"))
    error("no-tile-graph", "'first' was read from PTO IR and has no tile graph", call=lambda: DependencyValidator(path))
