"""Linking stages: names, order, launch arguments."""

from __future__ import annotations

import inspect

import networkx
import pytest

import pypto
from pypto import Dependency, tile
from pypto.graph import from_networkx, link_stages


@tile
def double(x, y):
    y[:] = x * 2.0


@tile
def shift(y, z, amount=1.0):
    z[:] = y + amount


@tile
def finish(z, x, out):
    out[:] = z - x


def test_one_stage_has_its_own_signature():
    graph = link_stages([shift])
    assert str(graph.signature) == "(y, z, amount=1.0)"
    assert (graph.name, graph.outputs, graph.links) == ("shift", ("z",), ())


def test_equal_names_link_and_shared_inputs_are_one_argument():
    graph = link_stages([double, shift, finish])
    assert [graph.describe(link) for link in graph.links] == ["double.y -> shift.y", "shift.z -> finish.z"]
    assert str(graph.signature) == "(x, out, amount=1.0)"
    assert graph.names[2] == {"z": "z", "x": "x", "out": "out"}


def test_article_2_1_links_different_names():
    @tile(shape=(64, 64), tile_num=8)
    def tile_produce(data_input, data_output):
        data_output[:] = data_input[:64, :64] * 2.0

    @tile(shape=(64, 64), tile_num=8)
    def tile_consume(data_input, data_output):
        data_output[:] = data_input * 3.0 + 0.5

    link = Dependency("tile_produce", "tile_consume", "*", "*", "data_output", "data_input")
    graph = link_stages([tile_produce, tile_consume], [link])
    assert tuple(graph.arguments) == ("data_input", "data_output")
    assert graph.names[0] == {"data_input": "data_input", "data_output": "tile_produce_data_output"}
    assert graph.names[1] == {"data_input": "tile_produce_data_output", "data_output": "data_output"}


def test_stages_are_found_by_name_and_by_function_name():
    @tile(name="first")
    def one(x, y):
        y[:] = x

    for name in ("first", "one", one):
        graph = link_stages([one, shift], [Dependency(name, shift)])
        assert graph.describe(graph.links[0]) == "first.y -> shift.y"


def test_producers_run_first_whatever_the_order_of_the_list():
    graph = link_stages([shift, double], [Dependency("double", "shift")])
    assert [stage.name for stage in graph.stages] == ["double", "shift"]
    assert (graph.links[0].source, graph.links[0].destination) == (0, 1)


def test_one_producer_may_have_several_consumers():
    @tile
    def other(y, w):
        w[:] = y * y

    graph = link_stages([double, shift, other])
    assert len(graph.links) == 2
    assert tuple(graph.arguments) == ("x", "z", "w", "amount")
    assert graph.outputs == ("z", "w")


def test_an_in_place_stage_in_the_middle_passes_its_input_on():
    @tile
    def scale(y):
        y *= 3.0

    @tile
    def after(y, out):
        out[:] = y

    links = [Dependency("double", "scale", dst_buffer="y"), Dependency("scale", "after", dst_buffer="y")]
    graph = link_stages([double, scale, after], links)
    assert [names["y"] for names in graph.names] == ["y", "y", "y"]
    assert tuple(graph.arguments) == ("x", "out")


def test_the_block_id_is_no_argument():
    @tile(shape=(4,), tile_num=2)
    def blocks(x, out, tile_id):
        out[tile_id * 4 : tile_id * 4 + 4] = x[tile_id * 4 : tile_id * 4 + 4]

    assert tuple(link_stages([blocks]).arguments) == ("x", "out")


def test_networkx_there_and_back():
    graph = link_stages([double, shift, finish])
    drawn = graph.to_networkx()
    assert isinstance(drawn, networkx.MultiDiGraph)
    assert list(drawn.nodes) == ["double", "shift", "finish"]
    assert drawn.nodes["shift"]["stage"] is shift
    assert list(drawn.edges(data="src_buffer")) == [("double", "shift", "y"), ("shift", "finish", "z")]
    stages, dependencies = from_networkx(drawn)
    again = link_stages(stages, dependencies)
    assert (again.links, again.names) == (graph.links, graph.names)


def test_tile_functions_as_networkx_nodes():
    drawn = networkx.DiGraph()
    drawn.add_edge(double, shift, src_buffer="y")
    stages, dependencies = from_networkx(drawn)
    assert stages == (double, shift)
    assert link_stages(stages, dependencies).arguments == ("x", "z", "amount")


def test_keyword_only_parameters_come_last():
    @tile
    def keyword(z, out, *, bias=0.5):
        out[:] = z + bias

    signature = link_stages([double, shift, keyword]).signature
    assert signature.parameters["bias"].kind is inspect.Parameter.KEYWORD_ONLY
    assert list(signature.parameters) == ["x", "out", "amount", "bias"]


def test_what_cannot_be_compiled():
    for what in (3, lambda x, out: None, [double, print], None):
        with pytest.raises(pypto.UserError, match="cannot compile"):
            pypto.compile(what)
