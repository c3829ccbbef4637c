"""Links between tiles: ranges, mappings, broadcasts, gathers; every target agrees with NumPy."""

from __future__ import annotations

import dataclasses
import itertools
import time

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypto
from pypto import BroadcastDep, Dependency, DependencyGraph, GatherDep, TileConfig, tile
from pypto.graph import from_networkx, link_stages
from pypto.joining import _runs
from pypto.tile_indices import apply_mapping, read_mapping, read_range

TARGETS = ("reference", "cpu", "eager")
COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


@tile(shape=(4, 3), tile_num=6)
def double(x, y):
    y[:] = x * 2.0


@tile(shape=(4, 3), tile_num=6)
def increase(x, y):
    y[:] = x + 1.0


@tile(shape=(4, 3), tile_num=6)
def take_six(y, out):
    out[:] = y


@tile(shape=(4, 3), tile_num=1)
def take_one(y, out):
    out[:] = y


def grid(dtype="float32"):
    """A matrix of 2 x 3 tiles of (4, 3)."""
    return np.arange(-30, 42).reshape(8, 9).astype(dtype)


def tiles(matrix):
    return [matrix[i * 4 : i * 4 + 4, j * 3 : j * 3 + 3] for i in range(2) for j in range(3)]


def run(stages, dependencies, shape, target, *inputs):
    config = TileConfig(dependency_graph=DependencyGraph(dependencies))
    out = np.zeros(shape, inputs[0].dtype)
    result = pypto.compile(stages, config=config, target=target).execute(*inputs, out, verify=True)
    assert result.verification_passed, result.verification_error
    return out


# -- gathers


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("reduction", COMBINE)
def test_gathers_combine_tiles_of_equal_index(reduction, dtype, target):
    x = grid(dtype)
    out = run(
        [double, increase, take_six], [GatherDep(["double", "increase"], "take_six", reduction)], (8, 9), target, x
    )
    combined = COMBINE[reduction]((x * 2).astype("float64"), (x + 1).astype("float64"))
    assert (out == combined.astype(dtype)).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduction", ["sum", "max", "min", "mean"])
def test_gathers_into_one_tile_combine_all_tiles(reduction, target):
    x = grid("float16")
    out = run([double, increase, take_one], [GatherDep([double, increase], take_one, reduction)], (4, 3), target, x)
    parts = [part.astype("float32") for part in tiles(x * 2) + tiles(x + 1)]
    wanted = {"sum": sum(parts), "mean": sum(parts) / np.float32(12)}
    wanted |= {"max": np.maximum.reduce(parts), "min": np.minimum.reduce(parts)}
    assert (out == wanted[reduction].astype("float16")).all()


@pytest.mark.parametrize("target", TARGETS)
def test_a_concat_of_all_tiles_is_in_producer_then_tile_order(target):
    x = grid()
    out = run([double, increase, take_one], [GatherDep([increase, double], take_one, "concat")], (48, 3), target, x)
    assert (out == np.concatenate(tiles(x + 1) + tiles(x * 2))).all()


@pytest.mark.parametrize("target", TARGETS)
def test_a_concat_of_equal_tiles_is_along_axis_0_of_each(target):
    @tile(shape=(8, 3), tile_num=6)
    def tall(y, out):
        out[:] = y

    x = grid()
    out = run([double, increase, tall], [GatherDep([double, increase], tall, "concat")], (16, 9), target, x)
    assert (out == np.concatenate([x[:4] * 2, x[:4] + 1, x[4:] * 2, x[4:] + 1])).all()


@pytest.mark.parametrize("target", TARGETS)
def test_gathers_of_stages_without_tiles_are_of_whole_arrays(target):
    @tile
    def first(x, y):
        y[:] = x

    @tile
    def second(x, y):
        y[:] = x * x

    @tile
    def last(y, out):
        out[:] = y - 1.0

    x = np.linspace(-3, 3, 7, dtype=np.float32)
    assert (run([first, second, last], [GatherDep([first, second], last, "concat")], 14, target, x)
            == np.concatenate([x, x * x]) - 1).all()  # fmt: skip
    out = run([first, second, last], [GatherDep([second, first], last, "max", "y")], 7, target, x)
    assert (out == np.maximum(x, x * x) - 1).all()


def test_max_and_min_gathers_hand_nan_on():
    x = grid()
    x[3, 3] = np.nan
    out = run([double, increase, take_one], [GatherDep([double, increase], take_one, "max")], (4, 3), "cpu", x)
    assert np.isnan(out).sum() == 1
    assert np.isnan(out[3, 0])


@pytest.mark.parametrize("target", TARGETS)
def test_gathers_of_blocks(target):
    @tile(shape=(4,), tile_num=3)
    def left(x, part):
        block = pypto.get_block_id()
        part[:] = x[block * 4 : block * 4 + 4]

    @tile(shape=(4,), tile_num=3)
    def right(x, part):
        block = pypto.get_block_id()
        part[:] = x[8 - block * 4 : 12 - block * 4] * 10.0

    @tile(shape=(4,), tile_num=3)
    def store(part, out):
        block = pypto.get_block_id()
        out[block * 4 : block * 4 + 4] = part

    @tile(shape=(8,), tile_num=3)
    def store_both(part, out):
        block = pypto.get_block_id()
        out[block * 8 : block * 8 + 8] = part

    x = np.arange(12, dtype=np.float32)
    mirrored = x.reshape(3, 4)[::-1]
    out = run([left, right, store], [GatherDep([left, right], store, "sum", "part")], 12, target, x)
    assert (out.reshape(3, 4) == x.reshape(3, 4) + mirrored * 10).all()
    out = run([left, right, store_both], [GatherDep([left, right], store_both, "concat", "part")], 24, target, x)
    assert (out.reshape(3, 8) == np.concatenate([x.reshape(3, 4), mirrored * 10], axis=1)).all()


# -- one to one, one to all, mappings


@pytest.mark.parametrize("target", TARGETS)
def test_mappings_permute_tiles(target):
    x = grid()
    out = run([double, take_six], [Dependency(double, take_six, mapping="5 - tile_idx")], (8, 9), target, x)
    assert all((got == wanted * 2).all() for got, wanted in zip(tiles(out), tiles(x)[::-1], strict=True))


@pytest.mark.parametrize("target", TARGETS)
def test_a_callable_may_map_other_numbers_of_tiles(target):
    @tile(shape=(4, 3), tile_num=3)
    def take_three(y, out):
        out[:] = y

    table = np.array([5, 0, 3])
    dependency = Dependency(double, take_three, mapping=lambda index: table[index])
    out = run([double, take_three], [dependency], (3, 4, 3), target, grid())
    assert all((got == tiles(grid())[number] * 2).all() for got, number in zip(out, table, strict=True))


@pytest.mark.parametrize("target", TARGETS)
def test_different_tiles_of_a_parameter_may_come_from_different_stages(target):
    x = grid()
    dependencies = [Dependency(double, take_six, "0..2", "0..2"), Dependency(increase, take_six, "0", (3, 5))]
    out = run([double, increase, take_six], dependencies, (8, 9), target, x)
    assert (out[:4] == x[:4] * 2).all()
    assert all((part == tiles(x)[0] + 1).all() for part in tiles(out)[3:])


@pytest.mark.parametrize("target", TARGETS)
def test_one_tile_of_many(target):
    x = grid()
    assert (run([double, take_one], [Dependency(double, take_one, 4)], (4, 3), target, x) == tiles(x)[4] * 2).all()


@pytest.mark.parametrize("target", TARGETS)
def test_the_only_tile_of_a_stage_feeds_all_tiles(target):
    @tile(shape=(4,), tile_num=1)
    def weights(w, weight_tile):
        weight_tile[:] = w * 0.5

    @tile(shape=(4,), tile_num=3)
    def blocks(x, weight_tile, out):
        block = pypto.get_block_id()
        out[block * 4 : block * 4 + 4] = x[block * 4 : block * 4 + 4] * weight_tile

    x, w = np.arange(12, dtype=np.float32), np.arange(4, dtype=np.float32)
    out = np.zeros(12, np.float32)
    config = TileConfig(dependency=BroadcastDep("weights", ["blocks"], "weight_tile"))
    kernel = pypto.compile([weights, blocks], config=config, target=target)
    assert kernel.execute(w, x, out, verify=True).verification_passed
    assert (out.reshape(3, 4) == x.reshape(3, 4) * w * 0.5).all()


@pytest.mark.parametrize("target", TARGETS)
def test_the_broadcast_and_gather_of_article_2_1(target):
    """As printed, with bodies: one producer feeds three stages, whose results are summed."""

    @tile(shape=(4,), tile_num=4)
    def broadcast_weights(w, weight_tile):
        weight_tile[:] = w * 2.0

    def compute(number):
        @tile(shape=(4,), tile_num=4, name=f"tile_compute_{number}")
        def tile_compute(weight_tile, partial_sum):
            partial_sum[:] = weight_tile * float(number + 1)

        return tile_compute

    @tile(shape=(4,), tile_num=4)
    def gather_result(partial_sum, result):
        result[:] = partial_sum

    names = [f"tile_compute_{number}" for number in range(3)]
    graph = DependencyGraph(stages=[broadcast_weights, *map(compute, range(3)), gather_result])
    graph.add(BroadcastDep(src_op="broadcast_weights", dst_ops=names, buffer_name="weight_tile"))
    graph.add(GatherDep(src_ops=names, dst_op="gather_result", reduction="sum", buffer_name="partial_sum"))
    w, result = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel = pypto.compile(graph, target=target)
    assert kernel.execute(w, result, verify=True).verification_passed
    assert (result == w * 12).all()


@pytest.mark.parametrize("target", TARGETS)
def test_a_consumer_that_changes_its_input_in_place_leaves_the_others_alone(target):
    @tile
    def scale(y, first):
        y *= 3.0
        first[:] = y

    @tile
    def after(y, second):
        second[:] = y

    x = grid()
    first, second = np.zeros_like(x), np.zeros_like(x)
    config = TileConfig(dependency=BroadcastDep(double, [scale, after], "y"))
    pypto.compile([double, scale, after], config=config, target=target).execute(x, first, second)
    assert (first == x * 6).all()
    assert (second == x * 2).all()


# -- names, pictures, pickles


def test_names_are_looked_up_among_all_tile_functions():
    @tile(name="found_by_name_alone")
    def here(x, y):
        y[:] = x * 4.0

    @tile(name="found_too")
    def there(y, out):
        out[:] = y + 1.0

    x, out = grid(), np.zeros((8, 9), np.float32)
    graph = DependencyGraph().add(Dependency("found_by_name_alone", "found_too"))
    pypto.compile(graph).execute(x, out)
    assert (out == x * 4 + 1).all()


def test_a_definition_replaces_the_one_before():
    def define(factor):
        @tile(name="defined_again")
        def again(x, y):
            y[:] = x * factor

        return again

    kept = define(2.0), define(3.0)
    graph = DependencyGraph().add(Dependency("defined_again", take_six, dst_buffer="y"))
    assert pypto.compile(graph).functions[0] is kept[1]


def test_networkx_keeps_gathers_and_mappings():
    dependencies = [GatherDep([increase, double], take_six, "mean")]
    graph = link_stages([double, increase, take_six], dependencies)
    drawn = graph.to_networkx()
    assert isinstance(drawn, networkx.MultiDiGraph)
    assert {edge["reduction"] for *_, edge in drawn.edges(data=True)} == {"mean"}
    again = link_stages(*from_networkx(drawn))
    assert (again.links, again.joins) == (graph.links, graph.joins)
    mapped = link_stages([double, take_six], [Dependency(double, take_six, mapping="5 - tile_idx")])
    assert link_stages(*from_networkx(mapped.to_networkx())).joins == mapped.joins


# -- the pieces


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=40))
def test_runs_are_the_picks(picks):
    again = {}
    for first, last, source, read, step in _runs(picks):
        again |= {tile: (source, read + (tile - first) * step) for tile in range(first, last + 1)}
    assert [again[number] for number in range(len(picks))] == picks


def test_a_permutation_of_many_tiles_is_few_statements():
    assert len(_runs([(0, 999 - number) for number in range(1000)])) == 1
    assert len(_runs([(0, number // 2) for number in range(10)])) == 5


@pytest.mark.parametrize(
    ("text", "tile_number", "wanted"),
    [
        ("tile_idx", 5, 5),
        ("tile_idx // 2 + tile_idx % 3", 7, 4),
        ("min(tile_idx, 3, src_tile_num - 1)", 7, 3),
        ("max(0, -tile_idx + dst_tile_num)", 3, 5),
        (" (2 * tile_idx) ", 3, 6),
    ],
)
def test_mapping_texts(text, tile_number, wanted):
    assert apply_mapping(read_mapping(text), tile_number, 16, 8) == wanted


@given(st.text(alphabet="tile_idx+-*/%() ,.0123456789[]mina:'lambda", max_size=30))
@settings(max_examples=200)
def test_any_text_is_a_mapping_or_a_user_error(text):
    try:
        mapping = read_mapping(text)
    except pypto.UserError as error:
        mapping = error.name
    assert mapping == "mapping-syntax" or not isinstance(mapping, str)


def test_ranges():
    assert read_range("*") is None
    assert [read_range(item) for item in (3, "3", "0..7", " 1 .. 2 ", (0, 7), [2, 2])] == [
        (3, 3), (3, 3), (0, 7), (1, 2), (0, 7), (2, 2)]  # fmt: skip


def _chain(count, tile_num):
    """Stages that share one body: making 5,000 functions is not what is measured."""
    stages = [dataclasses.replace(double, name=f"stage{number}", tile_num=tile_num) for number in range(count)]
    pairs = itertools.pairwise(stages)
    return stages, [Dependency(a, b, src_buffer="y", dst_buffer="x") for a, b in pairs]


def test_five_thousand_stages_link_within_two_seconds():
    stages, dependencies = _chain(5000, 20)
    start = time.perf_counter()
    graph = link_stages(stages, dependencies)
    assert time.perf_counter() - start < 2
    assert len(graph.links) == 4999
    assert graph.arguments == ("x", "y")


def test_generated_kernels_run_as_ascendc():
    x = grid()
    out = run([double, increase, take_one], [GatherDep([double, increase], take_one, "sum")], (4, 3), "ascendc", x)
    assert (out == sum(tiles(x * 2) + tiles(x + 1))).all()
    out = run([double, take_six], [Dependency(double, take_six, mapping="5 - tile_idx")], (8, 9), "ascendc", x)
    assert all((got == wanted * 2).all() for got, wanted in zip(tiles(out), tiles(x)[::-1], strict=True))
