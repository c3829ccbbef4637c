"""Sets of pairs of tiles agree with matrices of booleans."""

from __future__ import annotations

import time

import numpy as np
import pytest

import pypto
from pypto import Dependency, DependencyGraph, DependencyValidator, auto_insert_sync, tile
from pypto.tile_pairs import Meetings, Order, meetings


def dense(order: Order) -> np.ndarray:
    rows, columns = np.indices((order.rows, order.columns))
    return order.has(rows.ravel(), columns.ravel()).reshape(order.rows, order.columns)


def random_order(generator: np.random.Generator, rows: int, columns: int) -> tuple[Order, np.ndarray]:
    matrix = np.zeros((rows, columns), bool)
    order = Order(rows, columns)
    for _ in range(generator.integers(0, 3)):
        first, second = np.sort(generator.integers(0, rows + 1, 2)), np.sort(generator.integers(0, columns + 1, 2))
        matrix[slice(*first), slice(*second)] = True
        if np.diff(first) and np.diff(second):
            order |= Order.part(rows, columns, slice(*first), slice(*second))
    single = generator.random((rows, columns)) < generator.choice([0.0, 0.1, 0.4])
    matrix |= single
    return order | Order.of(rows, columns, *np.nonzero(single)), matrix


@pytest.mark.parametrize("seed", range(60))
def test_orders_are_matrices(seed):
    generator = np.random.default_rng(seed)
    a, b, c = generator.integers(1, 7, 3)
    (one, first), (other, second) = random_order(generator, a, b), random_order(generator, b, c)
    (more, third) = random_order(generator, a, b)
    np.testing.assert_array_equal(dense(one), first)
    np.testing.assert_array_equal(dense(one | more), first | third)
    np.testing.assert_array_equal(dense(one.then(other)), (first.astype(int) @ second) > 0)


def test_named_orders():
    assert dense(Order.all(2, 3)).all()
    assert Order.all(2, 3).is_all
    np.testing.assert_array_equal(dense(Order.same(4)), np.eye(4, dtype=bool))
    assert not Order(2, 2)


def pairs_of(found: Meetings, rows: int, columns: int) -> np.ndarray:
    matrix = np.zeros((rows, columns), bool)
    for first, second in found.expanded():
        matrix[first, second] = True
    return matrix


def random_boxes(generator: np.random.Generator, count: int, rank: int) -> np.ndarray:
    low = generator.integers(0, 5, (count, rank))
    boxes = np.stack((low, low + generator.integers(0, 4, (count, rank))), axis=2)
    return boxes[generator.integers(0, count, count)] if generator.random() < 0.5 else boxes


@pytest.mark.parametrize("seed", range(80))
def test_meetings_are_matrices(seed):
    generator = np.random.default_rng(seed)
    rows, columns, rank = generator.integers(1, 8), generator.integers(1, 8), generator.integers(0, 4)
    first, second = random_boxes(generator, rows, rank), random_boxes(generator, columns, rank)
    low = np.maximum(first[:, None, :, 0], second[None, :, :, 0])
    expected = (low < np.minimum(first[:, None, :, 1], second[None, :, :, 1])).all(axis=2)
    found = meetings(first, second)
    np.testing.assert_array_equal(pairs_of(found, rows, columns), expected)
    assert found.count == expected.sum()
    assert bool(found) is bool(expected.any())
    more = meetings(first[::-1], second)
    np.testing.assert_array_equal(pairs_of(found | more, rows, columns), expected | expected[::-1])
    order, matrix = random_order(generator, rows, columns)
    left = pairs_of(found.outside(order), rows, columns)
    assert (left >= (expected & ~matrix)).all()  # of groups that are ordered in part, all pairs are left
    assert bool(left.any()) is bool((expected & ~matrix).any())
    if found:
        assert expected[found.example]
        same = rows == columns and not (expected & ~np.eye(rows, dtype=bool)).any()
        assert not found.are_same or same or rows != columns


COUNT = 20_000


@tile(shape=(1, 8), tile_num=COUNT)
def many(x, y):
    y[:] = x - pypto.max(x, axis=1, keepdims=True)


@tile(shape=(1, 8), tile_num=COUNT)
def many_more(y, out):
    out[:] = y * 2.0


@tile(shape=(1, 8), tile_num=COUNT)
def change(x):
    x *= 3.0


def test_twenty_thousand_tiles_for_each_stage_take_seconds():
    """Dense matrices would have 400 million members for each pair of stages."""
    shapes = dict.fromkeys(("x", "out"), (COUNT, 8))
    start = time.perf_counter()
    graph = DependencyGraph([Dependency(many, many_more)], stages=[many, many_more])
    assert not DependencyValidator(graph, shapes=shapes).detect_races()
    graph = DependencyGraph([Dependency(many, many_more)], stages=[many, many_more, change])
    report = DependencyValidator(graph, shapes=shapes).detect_races()
    assert [issue.type for issue in report.issues] == ["write-after-read"]
    assert f"{COUNT} pairs of tiles" in report.issues[0].description
    fixed = auto_insert_sync(graph, report, shapes=shapes)
    assert [repr(item) for item in fixed.dependencies[1:]] == ["Barrier(many -> change, tile by tile)"]
    assert time.perf_counter() - start < 20.0  # about 2 s on a machine that does nothing else
