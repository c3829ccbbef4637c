"""Races between tiles: found where regions meet unordered, gone after `auto_insert_sync`, back when a barrier goes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pypto
from pypto import Barrier, Dependency, DependencyGraph, DependencyValidator, GatherDep, auto_insert_sync, tile


@tile(shape=(4, 4), tile_num=2)
def produce(x, t):
    t[:] = x * 2.0


@tile(shape=(4, 4), tile_num=2)
def read_t(t, u):
    u[:] = t + 1.0


@tile(shape=(4, 4), tile_num=2)
def change_x(x):
    x *= 3.0


@tile(shape=(None, 4), tile_num=1)
def sum_t(t, s):
    s[:] = pypto.sum(t, axis=0, keepdims=True)


def races(graph, **options):
    return {(issue.type, issue.barrier.before[0].stage, issue.barrier.after.stage)
            for issue in DependencyValidator(graph, **options).detect_races().issues}  # fmt: skip


def check_minimal(graph, **options):
    """Fix a graph; return its barriers after checking that each is needed and that the fixed graph computes right."""
    fixed = auto_insert_sync(original_graph=graph, strategy="minimal", **options)
    assert not DependencyValidator(fixed, **options).detect_races().has_issues
    barriers = [item for item in fixed.dependencies if isinstance(item, Barrier)]
    for barrier in barriers:
        rest = [item for item in fixed.dependencies if item is not barrier]
        assert DependencyValidator(DependencyGraph(rest, stages=fixed.stages), **options).detect_races().has_issues
    return fixed, barriers


def test_linked_stages_do_not_race():
    assert races([produce, read_t]) == set()
    assert races(DependencyGraph([Dependency(produce, read_t)])) == set()
    report = DependencyValidator([produce, read_t]).detect_races()
    assert not report
    assert str(report) == "no races"


def test_overwriting_an_input_of_an_earlier_stage():
    graph = [produce, read_t, change_x]
    assert races(graph) == {
        ("write-after-read", "produce", "change_x"),
        ("write-after-write", "produce", "change_x"),
    } - {("write-after-write", "produce", "change_x")}
    fixed, barriers = check_minimal(graph)
    assert [repr(item) for item in barriers] == ["Barrier(produce -> change_x, tile by tile)"]
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    u, before = np.zeros_like(x), x.copy()
    assert pypto.compile(fixed).execute(x, u, verify=True).verification_passed
    assert (u == before * 2 + 1).all()
    assert (x == before * 3).all()


@tile(shape=(2,), tile_num=3)
def head(z, link):
    link[:] = z


@tile(shape=(2,), tile_num=3)
def tail(link, w):
    w[:] = link


LINK = Dependency(head, tail)
"""With a link of data in the graph, no others are made by name: stages share launch arguments."""


def test_one_tile_waits_for_all_and_all_wait_for_one():
    @tile(shape=(4, 4), tile_num=2)
    def spread(s, x, v):
        v[:] = x + s

    assert races([produce, sum_t, spread], shapes={"x": (8, 4)}) == set()


def test_tiles_that_read_what_other_tiles_write():
    @tile(shape=(4,), tile_num=4)
    def forward(x, y):
        block = pypto.get_block_id()
        y[block * 4 : block * 4 + 4] = x[block * 4 : block * 4 + 4]

    @tile(shape=(4,), tile_num=4)
    def mirrored(y, v):
        block = pypto.get_block_id()
        v[block * 4 : block * 4 + 4] = y[12 - block * 4 : 16 - block * 4]

    options = {"shapes": {"x": 16, "y": 16, "v": 16, "z": 6, "w": 6}}
    stages = [head, tail, forward, mirrored]
    graph = DependencyGraph([LINK, Barrier(forward, mirrored, "tile_idx")], stages=stages)
    found = DependencyValidator(graph, **options).detect_races()
    assert [issue.type for issue in found.issues] == ["read-after-write"]
    assert "tile 0 of forward writes elements of 'y' that tile 3 of mirrored reads" in found.issues[0].description
    assert found.issues[0].location.file == __file__
    fixed, barriers = check_minimal(DependencyGraph([LINK], stages=stages), **options)
    assert [repr(item) for item in barriers] == ["Barrier(forward -> mirrored)"]
    assert fixed.stages == tuple(stages)
    exact = DependencyGraph([LINK, Barrier(forward, mirrored, "3 - tile_idx")], stages=stages)
    assert not DependencyValidator(exact, **options).detect_races()


def test_two_writers_of_one_array():
    @tile(shape=(4, 4), tile_num=2)
    def first(x, out):
        out[:] = x

    @tile(shape=(4, 4), tile_num=2)
    def second(x, out):
        out[:] = x * 2.0

    with pytest.raises(pypto.UserError, match="both write an unlinked parameter"):
        pypto.compile([first, second])
    assert races([first, second]) == {("write-after-write", "first", "second")}
    fixed, barriers = check_minimal([first, second])
    assert len(barriers) == 1
    x, out = np.ones((8, 4), np.float32), np.zeros((8, 4), np.float32)
    for target in ("cpu", "reference", "eager"):
        assert pypto.compile(fixed, target=target).execute(x, out, verify=True).verification_passed
        assert (out == 2).all()


def test_gathers_meet_all_their_producers():
    @tile(shape=(4, 4), tile_num=2)
    def again(x, t):
        t[:] = x

    assert races(DependencyGraph([GatherDep([produce, again], read_t, "sum", "t")])) == set()


def test_suggestions_say_where_and_what():
    validator = DependencyValidator(kernel_graph=[produce, read_t, change_x])
    report = validator.detect_races()
    assert report.has_issues
    points = validator.suggest_barrier_insertion(report).barrier_insert_points
    assert [str(point) for point in points] == ["between produce and change_x: tile i waits for tile i"]
    assert "pypto.Barrier('produce', 'change_x', mapping=\"tile_idx\")" in report.issues[0].suggestions[0]
    assert "#0 write-after-read" in str(report)
    clean = DependencyValidator([produce, read_t])
    assert clean.suggest_barrier_insertion(clean.detect_races()).barrier_insert_points == ()


@pytest.mark.parametrize("target", ["cpu", "reference", "eager", "ascendc"])
def test_trap_two_of_article_7(target):
    """As printed, after the report is made; the graph forgets that the third stage overwrites what the first reads."""
    dep_graph = DependencyGraph([Dependency("produce", "read_t")], stages=[produce, read_t, change_x])
    kernel_graph = dep_graph
    validator = DependencyValidator(kernel_graph=dep_graph)
    race_report = validator.detect_races()
    assert race_report.has_issues
    for issue in race_report.issues:
        assert all(isinstance(part, str) for part in (issue.type, issue.description, *issue.suggestions))
        assert issue.location.line
    fixed_graph = auto_insert_sync(original_graph=kernel_graph, validation_report=race_report, strategy="minimal")
    fixed_kernel = pypto.compile(fixed_graph, target=target)
    fixed_result = fixed_kernel.execute(verify=True)
    assert fixed_result.verification_passed, fixed_result.verification_error


ROWS = 3
NAMES = ("a", "b", "c")


def _stage(number, reads, writes, shift):
    """A stage of three blocks that writes its row of one array from a row of another."""
    source = (
        "def body({p}):\n"
        "    block = pypto.get_block_id()\n"
        "    row = (block + {shift}) % 3\n"
        "    {w}[block * 2 : block * 2 + 2] = {r}[row * 2 : row * 2 + 2] * 2.0\n"
    ).format(p=f"{reads}, {writes}", r=reads, w=writes, shift=shift)
    space = {"pypto": pypto}
    exec(source, space)  # stages with other parameter names each
    return tile(shape=(2,), tile_num=ROWS, name=f"stage{number}")(space["body"])


@given(st.lists(st.tuples(st.permutations(NAMES), st.integers(0, 2)), min_size=2, max_size=5), st.integers(0, 7))
@settings(max_examples=200, deadline=None)
def test_random_graphs_are_fixed_minimally(specifications, keep):
    bodies = [_stage(number, names[0], names[1], shift) for number, (names, shift) in enumerate(specifications)]
    pairs = list(itertools.combinations(bodies, 2))
    barriers = [Barrier(a, b, "tile_idx") for number, (a, b) in enumerate(pairs) if keep >> number & 1]
    used = {item.name for stage in bodies for item in stage.parameters} | {"z", "w"}
    assume(all(_shares(stage, bodies) for stage in bodies))
    given_graph = DependencyGraph([LINK, *barriers], stages=[head, tail, *bodies])
    options = {"shapes": dict.fromkeys(used, 6)}
    fixed = auto_insert_sync(given_graph, **options)
    assert not DependencyValidator(fixed, **options).detect_races()
    for position in range(len(given_graph.dependencies), len(fixed.dependencies)):
        rest = [item for number, item in enumerate(fixed.dependencies) if number != position]
        assert DependencyValidator(DependencyGraph(rest, stages=fixed.stages), **options).detect_races()
    assert pypto.compile(fixed, target="reference", shapes=options["shapes"]).execute(verify=True).verification_passed


def _shares(stage, stages):
    own = {item.name for item in stage.parameters}
    return any(own & {item.name for item in other.parameters} for other in stages if other is not stage)
