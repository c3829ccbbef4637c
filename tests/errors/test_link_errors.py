"""Text and place of the mistakes in links between tiles."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import pypto
from pypto import Barrier, BroadcastDep, Dependency, DependencyGraph, GatherDep, tile
from pypto.graph import link_stages
from pypto.registry import find_stage


@tile(shape=(4, 4), tile_num=4)
def produce(x, part):
    part[:] = x * 2.0


@tile(shape=(4, 4), tile_num=4)
def produce_too(x, part):
    part[:] = x * 3.0


@tile(shape=(4, 4), tile_num=2)
def halves(part, out):
    out[:] = part


@tile(shape=(4, 4), tile_num=4)
def consume(part, out):
    out[:] = part


@tile(shape=(4, 4), tile_num=1)
def single(part, out):
    out[:] = part


def error(name: str, *parts: str, call) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name, str(caught.value)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return caught.value


def link(stages, *dependencies):
    return lambda: link_stages(stages, dependencies)


def test_tile_counts_that_do_not_map():
    failure = error(
        "tile-counts",
        "'produce' gives 4 tiles and 'halves' takes 2",
        "mapping=",
        call=link([produce, halves], Dependency(produce, halves)),
    )
    assert failure.location == halves.location
    error("tile-counts", "gives 4 tiles and 'single' takes 1", "pypto.GatherDep combines all tiles into one",
          call=link([produce, single], Dependency(produce, single)))  # fmt: skip
    error("tile-counts", "gives 3 tiles and 'consume' takes 2",
          call=link([produce, consume], Dependency(produce, consume, "0..2", "0..1")))  # fmt: skip
    error("tile-counts", "gives 4 tiles and 'halves' takes 2",
          call=link([produce, halves], GatherDep([produce], halves)))  # fmt: skip


def test_tiles_that_a_stage_does_not_have():
    failure = error(
        "tile-outside",
        "names tiles 2..4 of 'produce', which has 4: 0..3",
        "both ends of a range count",
        call=link([produce, consume], Dependency(produce, consume, "2..4", "0..2")),
    )
    assert failure.location.file == __file__


def test_a_mapping_that_leaves_the_source():
    error(
        "mapping-value",
        "the mapping gives 4 for tile 2 of 'consume', which is none of the tiles 0..3 of 'produce'",
        call=link([produce, consume], Dependency(produce, consume, mapping="tile_idx * 2")),
    )
    error("mapping-value", "gives 2 for tile 2", "none of the tiles 0..1",
          call=link([produce, consume], Dependency(produce, consume, "0..1", mapping="tile_idx")))  # fmt: skip
    error("mapping-value", "gives 'x' for tile 0",
          call=link([produce, consume], Dependency(produce, consume, mapping=lambda _: "x")))  # fmt: skip
    error("mapping-value", "gives 'a division by 0'",
          call=link([produce, consume], Dependency(produce, consume, mapping="1 // tile_idx")))  # fmt: skip


def test_a_mapping_that_raises():
    table = {0: 3, 1: 2}
    dependency = Dependency(produce, consume, mapping=lambda index: table[index])
    line = inspect.currentframe().f_lineno - 1
    failure = error(
        "mapping-raised",
        "Dependency(produce.? -> consume.?): the mapping raises KeyError(2)",
        "called with tile 2 of 'consume'",
        "returns one of the source tiles 0..3",
        call=link([produce, consume], dependency),
    )
    assert (failure.location.file, failure.location.line) == (__file__, line)
    assert isinstance(failure.__cause__, KeyError)
    barrier = Barrier(produce, consume, mapping=lambda index: 1 // index)
    failure = error("mapping-raised", "ZeroDivisionError(", "tile 0 of 'consume'",
                    call=link([produce, consume], Dependency(produce, consume), barrier))  # fmt: skip
    assert isinstance(failure.__cause__, ZeroDivisionError)


def test_a_mapping_that_stops_the_program():
    def interrupted(index):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        link([produce, consume], Dependency(produce, consume, mapping=interrupted))()


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        ("tile_id", "there is no 'tile_id'"),
        ("tile_idx +", "it is not an expression"),
        ("tile_idx / 2", "'tile_idx / 2' cannot be used"),
        ("__import__('os')", "cannot be used"),
        ("tile_idx % 0", "it divides by 0"),
        ("min(tile_idx)", "min takes two or more operands"),
        (3, "it is neither a short text nor a callable"),
        (lambda: 0, "called with a tile's number, it says 'too many positional arguments'"),
        (lambda tile, count: tile, "it says \"missing a required argument: 'count'\""),
    ],
)
def test_mappings_that_are_none(mapping, why):
    failure = error(
        "mapping-syntax", why, "such as 'tile_idx // 2'", call=lambda: Dependency("a", "b", mapping=mapping)
    )
    assert failure.location.file == __file__


def test_tiles_that_nothing_feeds():
    error(
        "tiles-uncovered",
        "tiles 0, 3 of parameter 'part' of stage 'consume' are linked to nothing",
        call=link([produce, consume], Dependency(produce, consume, "1..2", "1..2")),
    )


def test_dependencies_that_contradict_each_other():
    stages = [produce, produce_too, consume]
    error(
        "linked-twice",
        "parameter 'part' of stage 'consume' is linked twice: produce.part and produce_too.part",
        call=link(
            stages, Dependency(produce, consume, "0..2", "0..2"), Dependency(produce_too, consume, "2..3", "2..3")
        ),
    )
    for other in (Dependency(produce_too, consume), GatherDep([produce, produce_too], consume)):
        error("linked-twice", call=link(stages, GatherDep([produce, produce_too], consume), other))
    error("linked-twice", call=link(stages, BroadcastDep(produce, [consume]), BroadcastDep(produce, [consume])))


def test_gathers_of_different_numbers_of_tiles():
    @tile(shape=(4, 4), tile_num=2)
    def few(x, part):
        part[:] = x

    error(
        "gather-counts",
        "the producers have different numbers of tiles: produce 4, few 2",
        call=link([produce, few, single], GatherDep([produce, few], single)),
    )


def test_gathers_that_list_a_stage_twice():
    error("gather-repeats", "lists stage 'produce' twice",
          call=link([produce, single], GatherDep([produce, produce], single)))  # fmt: skip


def test_unknown_reductions_and_empty_gathers():
    error("option-value", "GatherDep: reduction is 'avg'", "one of sum, max, min, prod, mean, concat",
          call=lambda: GatherDep(["a"], "b", "avg"))  # fmt: skip
    error("option-value", "src_ops is []", "a list of at least one stage", call=lambda: GatherDep([], "b"))
    error("option-value", "dst_ops is 'b'", call=lambda: BroadcastDep("a", "b"))
    error("unknown-option", "BroadcastDep has no option called 'dst_op'", "did you mean 'dst_ops'?",
          call=lambda: BroadcastDep("a", ["b"], dst_op="b"))  # fmt: skip


def test_unknown_buffers_of_broadcasts_and_gathers():
    error("unknown-stage-parameter", "stage 'produce' has no parameter called 'prat'", "did you mean 'part'?",
          call=link([produce, consume], BroadcastDep(produce, [consume], "prat")))  # fmt: skip
    error("unknown-stage", "names a stage 'consum' that is not in the list", "did you mean 'consume'?",
          call=link([produce, consume], GatherDep([produce], "consum")))  # fmt: skip


def test_stages_of_a_graph_are_tile_functions():
    error(
        "option-value", "DependencyGraph: stages", "a list of tile functions", call=lambda: DependencyGraph(stages=[3])
    )


def compiled(stages, *dependencies):
    return pypto.compile(stages, config={"dependency_graph": DependencyGraph(dependencies)}, target="reference")


def test_an_array_that_is_not_the_tiles_of_its_decorator():
    kernel = compiled([produce, consume], Dependency(produce, consume, mapping="3 - tile_idx"))
    x = np.zeros((16, 8), np.float32)
    failure = error(
        "link-tiles",
        "parameter 'part' of stage 'produce' is f32[16, 8], which is not 4 full tiles of (4, 4)",
        call=lambda: kernel.execute(x, x.copy()),
    )
    assert failure.location == produce.location


def test_gathers_of_different_arrays():
    @tile
    def wide(z, part):
        part[:] = z

    @tile
    def narrow(x, part):
        part[:] = x

    @tile
    def last(part, out):
        out[:] = part

    kernel = compiled([narrow, wide, last], GatherDep([narrow, wide], last))
    x, z = np.zeros((4, 4), np.float32), np.zeros((4, 5), np.float32)
    error(
        "join-types",
        "put together from narrow.part, which is f32[4, 4], and wide.part, which is f32[4, 5]",
        call=lambda: kernel.execute(x, z, x.copy()),
    )


def test_gathers_without_a_meaning_for_the_dtype():
    @tile
    def positive(x, part):
        part[:] = x > 0.0

    @tile
    def last(part, out):
        out[:] = part

    kernel = compiled([positive, last], GatherDep([positive], last, "mean"))
    x = np.zeros((16, 4), np.float32)
    error("gather-dtype", "gathers bool values by 'mean'", "'concat'", call=lambda: kernel.execute(x, x > 1))


def test_picked_tiles_of_different_shapes():
    @tile(shape=(2, 4), tile_num=4)
    def flat(z, part):
        part[:] = z

    dependencies = Dependency(produce, consume, "0..1", "0..1"), Dependency(flat, consume, "2..3", "2..3")
    kernel = compiled([produce, flat, consume], *dependencies)
    x = np.zeros((16, 4), np.float32)
    error("pick-shapes", "takes tiles of different shapes: (2, 4), (4, 4)",
          call=lambda: kernel.execute(x, np.zeros((8, 4), np.float32), x.copy()))  # fmt: skip


def test_names_that_no_or_several_tile_functions_have():
    def define_here():
        @tile(name="twice_defined")
        def one(x, y):
            y[:] = x

        return one

    def define_there():
        @tile(name="twice_defined")
        def two(x, y):
            y[:] = x

        return two

    kept = define_here(), define_there()
    failure = error("ambiguous-stage", "several tile functions are called 'twice_defined'", "DependencyGraph(stages=",
                    call=lambda: pypto.compile(DependencyGraph([Dependency("twice_defined", "consume")])))  # fmt: skip
    assert str(kept[0].location) in str(failure)
    error(
        "unknown-stage", "names a stage 'no_such_stage_at_all'", call=lambda: find_stage("no_such_stage_at_all", "link")
    )


def test_a_mapping_that_cannot_be_pickled():
    kernel = compiled([produce, halves], Dependency(produce, halves, mapping=lambda index: index * 2))
    error("cannot-pickle", "the mapping of a dependency", call=lambda: pickle.dumps(kernel))


def test_a_linked_output_that_is_read_or_written_in_part_first():
    def doubled(tile_):
        return tile_ * 2.0

    @tile(shape=(4, 4), tile_num=4)
    def reads(x, part):
        part[:] = doubled(part) + x

    @tile(shape=(4, 4), tile_num=4)
    def halves_of(x, part):
        part[:2] = x[:2]
        part[2:] = x[2:]

    x, out = np.zeros((4, 4, 4), np.float32), np.zeros((4, 4, 4), np.float32)
    for stage, name, place, *parts in (
        (
            reads,
            "link-fresh-read",
            "return tile_",
            "stage 'reads' reads 'part' before it writes it",
            "`part[:] = part +",
        ),
        (
            halves_of,
            "link-fresh-partial",
            "part[:2] = x[:2]",
            "'part' of stage 'halves_of' covers a part",
            "pypto.full",
        ),
    ):
        kernel = pypto.compile([stage, consume], config=pypto.TileConfig(dependency=Dependency(stage, consume)))
        error(name, place, *parts, call=lambda kernel=kernel: kernel.execute(x, out))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dependency(produce, "elsewhere"),
        lambda: BroadcastDep(produce, [consume, "elsewhere"], "part"),
        lambda: GatherDep([produce, "elsewhere"], consume),
        lambda: GatherDep([produce, produce], single),
        lambda: pypto.Barrier("elsewhere", consume),
        lambda: pypto.BarrierConfig([{"op": produce}, {"op": "elsewhere"}]),
    ],
)
def test_what_no_stage_shows_has_the_line_of_the_link(make):
    links = pickle.loads(pickle.dumps([make()]))
    with pytest.raises(pypto.UserError, match=r"elsewhere|twice") as caught:
        pypto.compile([produce, consume, single], config=pypto.TileConfig(dependency_graph=DependencyGraph(links)))
    place = caught.value.location
    assert (place.file, place.line) == (__file__, make.__code__.co_firstlineno)
