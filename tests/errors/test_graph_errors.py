"""Text and place of the mistakes in lists and graphs of stages."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import Dependency, DependencyGraph, tile
from pypto.graph import link_stages


@tile(shape=(4, 4), tile_num=2)
def load(source, local):
    local[:] = source * 2.0


@tile(shape=(4, 4), tile_num=2)
def compute(local_input, temp):
    temp[:] = local_input + 1.0


@tile(shape=(4, 4), tile_num=2, name="save")
def save_stage(temp, target):
    target[:] = temp * 2.0


def error(name: str, *parts: str, call) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name, str(caught.value)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return caught.value


def link(*dependencies, stages=(load, compute, save_stage)):
    return lambda: link_stages(stages, dependencies)


def test_unknown_stage_names_the_nearest():
    error(
        "unknown-stage",
        "names a stage 'laod' that is not in the list",
        "did you mean 'load'?",
        call=link(Dependency("laod", "compute")),
    )


def test_unknown_buffer_names_the_nearest_and_the_stage_line():
    failure = error(
        "unknown-stage-parameter",
        "stage 'compute' has no parameter called 'local_inptu'",
        "did you mean 'local_input'?",
        call=link(Dependency("load", "compute", src_buffer="local", dst_buffer="local_inptu")),
    )
    assert failure.location.file == __file__


def test_source_buffer_that_is_never_written():
    error(
        "not-an-output",
        "stage 'load' never writes its parameter 'source'",
        call=link(Dependency("load", "compute", src_buffer="source", dst_buffer="local_input")),
    )


def test_a_parameter_linked_twice():
    error(
        "linked-twice",
        "parameter 'temp' of stage 'save' is linked twice: load.local and compute.temp",
        call=link(
            Dependency("load", "save", dst_buffer="temp"),
            Dependency("compute", "save", dst_buffer="temp"),
        ),
    )


def test_a_link_that_does_not_say_its_source():
    @tile
    def two(x, a, b):
        a[:] = x
        b[:] = x

    error(
        "link-needs-buffer",
        "does not say src_buffer: 'two' writes a, b",
        "give src_buffer=",
        call=link(Dependency("two", "compute"), stages=(two, compute)),
    )


def test_a_link_that_does_not_say_its_destination():
    @tile
    def sum_of(u, v, out):
        out[:] = u + v

    error(
        "link-needs-buffer",
        "does not say dst_buffer: 'sum_of' reads u, v",
        call=link(Dependency("load", "sum_of"), stages=(load, sum_of)),
    )


def test_a_cycle_is_shown():
    @tile
    def back(temp, source):
        source[:] = temp

    error(
        "dependency-cycle",
        "load -> compute -> back -> load",
        "remove one of these links",
        call=link(
            Dependency("load", "compute", dst_buffer="local_input"),
            Dependency("compute", "back"),
            Dependency("back", "load", dst_buffer="source"),
            stages=(load, compute, back),
        ),
    )


def test_two_stages_of_one_name():
    error("duplicate-stage", "two stages are called 'load'", "tile(name=...)", call=link(stages=(load, load)))


def test_no_stage():
    error("empty-graph", "there is no stage to compile", call=link(stages=()))


def test_stages_that_nothing_links():
    error(
        "unlinked-stage",
        "stage 'load' shares no parameter",
        "Dependency(",
        call=link(stages=(load, save_stage)),
    )


def test_two_earlier_writers_of_one_name():
    @tile
    def first(x, t):
        t[:] = x

    @tile
    def second(x, t):
        t[:] = x * 2.0

    @tile
    def last(t, out):
        out[:] = t

    error(
        "ambiguous-link",
        "stage 'last' reads 't', which more than one earlier stage writes: first, second",
        call=link(stages=(first, second, last)),
    )


def test_article_2_1_without_its_dependency():
    @tile
    def produce(data_input, data_output):
        data_output[:] = data_input * 2.0

    @tile
    def consume(data_input, data_output):
        data_output[:] = data_input * 3.0

    error(
        "output-twice",
        "stages 'produce' and 'consume' both write an unlinked parameter 'data_output'",
        call=link(stages=(produce, consume)),
    )


def test_a_networkx_node_without_a_tile_function():
    import networkx

    graph = networkx.MultiDiGraph()
    graph.add_node("a")
    error("not-a-stage", "node 'a' of the graph has no tile function", call=lambda: pypto.compile(graph))


def test_a_graph_takes_dependencies_only():
    error(
        "option-value",
        "DependencyGraph.add",
        "a pypto.Dependency",
        call=lambda: DependencyGraph().add("load -> compute"),
    )
    for wrong in (pypto.Dependency("load", "compute"), "load", None):
        error("option-value", "DependencyGraph: dependencies is", call=lambda wrong=wrong: DependencyGraph(wrong))
        if wrong is not None:
            error("option-value", "stages is", call=lambda wrong=wrong: DependencyGraph(stages=wrong))


@tile(shape=(4, 4), tile_num=2)
def blocks(source, local):
    block = pypto.get_block_id()
    local[:] = source[block * 4 : block * 4 + 4, :]


def test_a_link_whose_ends_differ_in_shape():
    @tile(shape=(4, 8), tile_num=2)
    def other(local, out):
        block = pypto.get_block_id()
        out[block * 4 : block * 4 + 4, :] = local[:]

    kernel = pypto.compile([blocks, other], target="reference")
    x, out = np.zeros((8, 4), np.float32), np.zeros((8, 8), np.float32)
    error("link-shape", "blocks.local -> other.local", "(2, 4, 4)", "(2, 4, 8)", call=lambda: kernel.execute(x, out))


def test_a_link_of_blocks_without_a_shape():
    @tile(tile_num=2)
    def open_blocks(source, local):
        block = pypto.get_block_id()
        local[:] = source[block * 4 : block * 4 + 4, :]

    @tile
    def after(local, out):
        out[:] = local

    kernel = pypto.compile([open_blocks, after], target="reference")
    x, out = np.zeros((8, 4), np.float32), np.zeros((2, 4, 4), np.float32)
    failure = error(
        "link-shape-unknown", "its decorator must give the shape of one item", call=lambda: kernel.execute(x, out)
    )
    assert failure.location.file == __file__


def test_a_consumer_that_overwrites_its_input():
    @tile
    def overwrite(x, local_input, out):
        local_input[:] = x
        out[:] = local_input

    kernel = pypto.compile(
        [load, overwrite],
        config={"dependency": Dependency("load", "overwrite", dst_buffer="local_input")},
        target="reference",
    )
    x = np.zeros((4, 4), np.float32)
    error(
        "consumer-overwrites",
        "parameter 'local_input', which stage 'overwrite' overwrites",
        call=lambda: kernel.execute(x, x.copy(), x.copy()),
    )


def test_a_link_into_what_is_only_written_is_found_before_any_call():
    @tile
    def only_writes(x, local_input):
        local_input[...] = x * 2.0

    link = Dependency("load", "only_writes", dst_buffer="local_input")
    words = "parameter 'local_input', which stage 'only_writes' overwrites"
    error("consumer-overwrites", words, call=lambda: pypto.compile([load, only_writes], config={"dependency": link}))
