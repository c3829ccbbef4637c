"""Stages whose tiles of different cores depend on each other: phases of one kernel, with barriers that are all needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pypto
from passes.test_synchronisation import deletions
from pypto import SYNC_MODE, Barrier, BarrierConfig, Dependency, DependencyGraph, GatherDep, tile
from pypto.ir import interpreter
from pypto.ir.engine import clocks, values
from pypto.ir.engine.cores import crossing_faults
from pypto.ir.engine.machine import ORDERS, Order
from pypto.ir.nodes import Kernel, Module, Operation, Store, walk
from pypto.ir.parser import parse_module
from pypto.ir.passes.insert_synchronisation import order, placed
from pypto.ir.printer import print_module
from pypto.ir.verification.barriers import is_barrier
from pypto.ir.verifier import verify


@tile
def rows(x, y):
    y[:] = x - pypto.max(x, axis=1, keepdims=True)


@tile
def columns(y, out):
    out[:] = y - pypto.max(y, axis=0, keepdims=True)


@tile
def columns_on(y, z):
    z[:] = pypto.abs(y) + pypto.min(y, axis=0, keepdims=True)


@tile
def rows_again(z, out):
    out[:] = pypto.maximum(z, pypto.min(z, axis=1, keepdims=True) + 1.0)


@tile
def aside(w, out_aside):
    out_aside[:] = w * 0.5 - pypto.max(w, axis=1, keepdims=True)


@tile
def total(y, out):
    out[:] = pypto.max(y, axis=(0, 1), keepdims=True)


@tile(shape=(8, 64), tile_num=8)
def first(x, y):
    y[:] = x + pypto.max(x, axis=0, keepdims=True)


@tile(shape=(8, 64), tile_num=8)
def second(y, out):
    out[:] = y * 2.0


@tile(shape=(8, 64), tile_num=8)
def other(x2, y):
    y[:] = x2 - pypto.min(x2, axis=0, keepdims=True)


@tile
def reads(a, out):
    out[:] = a - pypto.max(a, axis=1, keepdims=True)


@tile
def changes(a):
    a[:] = a - pypto.max(a, axis=0, keepdims=True)


def barrier(before: str, after: str, mode: SYNC_MODE) -> BarrierConfig:
    return BarrierConfig([{"op": before, "tile_range": (0, 0)}, {"op": after, "tile_range": (0, 0)}], mode)


REVERSED = Dependency("first", "second", src_buffer="y", mapping="src_tile_num - 1 - tile_idx")
SMALL = (64, 64)
GRAPHS = {
    "rows_columns": ([rows, columns], [], SMALL, 1),
    "rows_columns_rows": ([rows, columns_on, rows_again], [], (96, 130), 2),
    "many_tiles": ([rows, columns_on, rows_again], [], (200, 4000), 2),
    "total": ([rows, total], [], (512, 256), 1),
    "aside": ([rows, aside, columns], [Dependency("rows", "columns"), Barrier("rows", "aside")], SMALL, 1),
    "reversed": ([first, second], [REVERSED], SMALL, 1),
    "gather": ([first, other, second], [GatherDep(["first", "other"], "second", "max", "y")], SMALL, 0),
    "write_after_read": ([reads, changes], [Barrier("reads", "changes")], SMALL, 1),
    "blocking": ([rows, aside], [barrier("rows", "aside", SYNC_MODE.BLOCKING)], SMALL, 1),
    "non_blocking": ([rows, aside], [barrier("rows", "aside", SYNC_MODE.NON_BLOCKING)], SMALL, 1),
}
"""By name: stages, links, the shape of every argument (one number for `total`), and how many barriers there are."""

ASKED = ("blocking", "non_blocking")
"""Graphs whose only barrier no data needs."""


def compiled(name: str, target: str = "reference") -> pypto.compiler.CompiledKernel:
    stages, links, shape, _ = GRAPHS[name]
    config = {"dependency_graph": DependencyGraph(links)} if links else None
    graph = pypto.compile(stages, config, target=target)
    known = {
        item: (1, 1) if name == "total" and item == "out" else shape for item in graph._subject.signature.parameters
    }
    return pypto.compile(stages, config, target=target, shapes=known, dtypes="float32")


def arguments(module: Module) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    return {item.name: generator.standard_normal(item.type.shape).astype(np.float32) for item in module.parameters}


def only_kernel(name: str) -> tuple[Module, Kernel]:
    module = compiled(name).module_at("planned")
    (kernel,) = module.kernels
    return module, kernel


def barriers(kernel: Kernel, word: str = "set_barrier") -> list[Operation]:
    return [item for item in walk(kernel.body) if isinstance(item, Operation) and item.name == word]


def without(kernel: Kernel, number: int) -> Kernel:
    """Return `kernel` without its barrier `number`, in order of setting."""
    gone = {barriers(kernel)[number], barriers(kernel, "wait_barrier")[number]}
    return replace(kernel, body=tuple(item for item in kernel.body if not (is_barrier(item) and item in gone)))


@pytest.mark.parametrize("name", GRAPHS)
def test_stages_are_phases_of_one_kernel(name):
    module, kernel = only_kernel(name)
    assert len(barriers(kernel)) == len(barriers(kernel, "wait_barrier")) == GRAPHS[name][3]
    verify(module)
    assert parse_module(print_module(module)) == module
    assert [str(fault) for fault in clocks.faults(kernel)] == []


@pytest.mark.parametrize("name", GRAPHS)
def test_blocks_together_give_what_the_reference_gives(name):
    module, _ = only_kernel(name)
    expected, reference = arguments(module), compiled(name)
    reference.execute(**expected)
    for item_order in (*ORDERS[:3], Order("random", 3), Order("random", 4, reads_late=0.5)):
        found = arguments(module)
        assert values.run(module, found, {}, item_order) == []
        for item, array in expected.items():
            np.testing.assert_array_equal(found[item], array, err_msg=f"{item} in order {item_order}")


@pytest.mark.parametrize("level", ["buffered", "synchronised", "planned"])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_interpreter_lets_blocks_wait_for_each_other(name, level):
    """A module read from text at a level with phases means what the stages one after another mean."""
    graph = compiled(name)
    module = parse_module(graph.to_text(level))
    expected, found = arguments(module), arguments(module)
    graph.execute(**expected)
    interpreter.run(module, found)
    for item, array in expected.items():
        np.testing.assert_array_equal(found[item], array, err_msg=item)


@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in ASKED])
def test_dropping_any_inserted_barrier_is_reported(name):
    _, kernel = only_kernel(name)
    for number in range(len(barriers(kernel))):
        found = crossing_faults(without(kernel, number))
        assert any("race on gm:" in fault.what for fault in found), number
        assert all(fault.statement is not None and fault.other is not None for fault in found)


@pytest.mark.parametrize("name", ["rows_columns", "rows_columns_rows", "reversed", "write_after_read", "non_blocking"])
def test_no_flag_is_implied_by_a_barrier_or_by_others(name):
    (kernel,) = compiled(name).module_at("plan_addresses").kernels
    plan, ids = order(kernel)
    assert clocks.faults(placed(kernel, plan, ids)) == []
    for what, fewer, fewer_ids in deletions(plan, ids):
        assert clocks.faults(placed(kernel, fewer, fewer_ids)) != [], what


@pytest.mark.parametrize(("mode", "places"), [(SYNC_MODE.BLOCKING, (1, 2)), (SYNC_MODE.NON_BLOCKING, (2,))])
def test_a_barrier_that_does_not_block_is_waited_for_by_what_comes_after(mode, places):
    """`aside` shares nothing with the others and runs between the two stages of the barrier."""
    apart = barrier("aside", "columns", SYNC_MODE.NON_BLOCKING)
    links = DependencyGraph([Dependency("rows", "columns"), barrier("rows", "columns", mode), apart])
    config = {"dependency_graph": links}
    shapes = dict.fromkeys(("x", "out", "w", "out_aside"), SMALL)
    kernel = pypto.compile([rows, aside, columns], config, target="reference", shapes=shapes, dtypes="float32")
    (made,) = kernel.module_at("join_phases").kernels
    waits = [number for number, item in enumerate(made.body) if is_barrier(item) and item.name == "wait_barrier"]
    stores = [sum(isinstance(item, Store) for part in made.body[:number] for item in walk((part,))) for number in waits]
    assert tuple(stores) == places
