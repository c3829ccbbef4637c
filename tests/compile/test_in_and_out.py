"""Outputs that a stage changes from what they held before: launch arguments that are handed on."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import BroadcastDep, Dependency, DependencyGraph, TileConfig, tile
from pypto.read_first import read_first

TARGETS = ("cpu", "reference", "eager", "ascendc")


@tile(shape=(4, 8), tile_num=4)
def accumulate(x, total):
    total[:] = total + x


@tile(shape=(4, 8), tile_num=4)
def halve(total):
    total *= 0.5


@tile(shape=(4, 8), tile_num=4)
def double(total, out):
    out[:] = total * 2.0


def arrays(*names):
    return {name: np.random.default_rng(0).integers(-9, 9, (4, 4, 8)).astype(np.float32) for name in names}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("graph", [(), (Dependency(accumulate, double),)], ids=["by name", "linked"])
def test_what_a_stage_changes_is_an_argument_and_handed_on(graph, target):
    config = TileConfig(dependency_graph=DependencyGraph(graph))
    kernel = pypto.compile([accumulate, double], config=config, target=target)
    given = arrays("x", "total", "out")
    expected = given["total"] + given["x"]
    assert kernel.execute(**given, verify=True).verification_passed
    np.testing.assert_array_equal(given["total"], expected)
    np.testing.assert_array_equal(given["out"], expected * 2)


@pytest.mark.parametrize("target", TARGETS[:3])
def test_stages_change_one_argument_in_turn(target):
    graph = DependencyGraph([Dependency(accumulate, halve), Dependency(halve, double)])
    given = arrays("x", "total", "out")
    expected = (given["total"] + given["x"]) * 0.5
    kernel = pypto.compile([accumulate, halve, double], config=TileConfig(dependency_graph=graph), target=target)
    assert kernel.execute(**given, verify=True).verification_passed
    np.testing.assert_array_equal(given["total"], expected)
    np.testing.assert_array_equal(given["out"], expected * 2)


@pytest.mark.parametrize("target", TARGETS[:3])
def test_one_of_two_readers_changes_a_copy(target):
    config = TileConfig(dependency=BroadcastDep(accumulate, [halve, double], "total"))
    given = arrays("x", "total", "out")
    expected = given["total"] + given["x"]
    pypto.compile([accumulate, halve, double], config=config, target=target).execute(**given)
    np.testing.assert_array_equal(given["total"], expected)
    np.testing.assert_array_equal(given["out"], expected * 2)


def test_its_name_stays_its_own():
    @tile(shape=(4, 8), tile_num=4)
    def other(x, y, total):
        total[:] = x - y

    @tile(shape=(4, 8), tile_num=4)
    def join(first, second, out):
        out[:] = first - second

    links = [Dependency(accumulate, join, dst_buffer="first"), Dependency(other, join, dst_buffer="second")]
    kernel = pypto.compile([other, accumulate, join], config=TileConfig(dependency_graph=DependencyGraph(links)))
    given = arrays("x", "y", "total", "out")
    given["y"] += 3
    expected = given["total"] + given["x"]
    assert kernel.execute(**given, verify=True).verification_passed
    np.testing.assert_array_equal(given["total"], expected)
    np.testing.assert_array_equal(given["out"], expected - (given["x"] - given["y"]))


def helper(y):
    return y * 2.0


def first_statement(x, y):
    y[:] = pypto.maximum(y, 0.0) + x


def a_part(x, y):
    y[0:2] = y[2:4] + x[0:2]


def augmented(x, y):
    y += x


def augmented_elements(x, y):
    y[0:2] *= x


def in_a_loop(x, y):
    for row in range(y.shape[0]):
        y[row] = y[row] + x[row]


def through_a_value(x, y):
    old = pypto.exp(y)
    y[:] = x + old


def of_a_method(x, y):
    y[:] = x + y.max()


@pytest.mark.parametrize(
    "body", [first_statement, a_part, augmented, augmented_elements, in_a_loop, through_a_value, of_a_method]
)
def test_reads_that_show(body):
    assert "y" in read_first(body)


def written_first(x, y):
    y[:] = x
    y[:] = y + 1.0


def its_shape_alone(x, y):
    y[:] = pypto.zeros(y.shape, y.dtype) + x
    y[:] = y + 1.0


def by_a_helper(x, y):
    y[:] = helper(y) + x


def in_a_branch(x, y, fresh=True):
    if fresh:
        y[:] = x
    y[:] = y + 1.0


def through_an_alias(x, y):
    view = y
    view[:] = x
    y[:] = y + 1.0


def to_a_tile_function(x, y):
    halve(y)
    y[:] = y + x


def in_a_list(x, y):
    for item in (x, y):
        item[:] = 1.0
    y[:] = y + x


@pytest.mark.parametrize(
    "body", [written_first, its_shape_alone, by_a_helper, in_a_branch, through_an_alias, to_a_tile_function, in_a_list]
)
def test_reads_that_do_not_show(body):
    assert "y" not in read_first(body)


def test_functions_without_source():
    assert read_first(eval("lambda y: y + 1.0")) == frozenset()
