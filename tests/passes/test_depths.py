"""Slots of buffers: as many as asked for, fewer where they do not fit and the kernel says so; pieces of what is large."""

from __future__ import annotations

import time

import pytest

from passes.corpus import CORPUS, chain, copies_rows, with_attributes
from passes.kernels import KernelBuilder, region
from pypto.ir.engine.clocks import faults
from pypto.ir.index import Symbol
from pypto.ir.nodes import For, Kernel, Module, Role, Value, walk
from pypto.ir.passes.choose_tiles import FEWEST_TURNS
from pypto.ir.passes.insert_synchronisation import insert_synchronisation
from pypto.ir.passes.layout import symbol_ranges
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.rotate_buffers import rotate_buffers
from pypto.ir.passes.slots import most_turns


def planned(module: Module) -> Kernel:
    (kernel,) = run_passes(module, NPU_PASSES)[0].kernels
    return kernel


def depths(kernel: Kernel) -> set[int]:
    return {buffer.depth for buffer in kernel.buffers}


def notes(kernel: Kernel) -> str:
    return str(dict(kernel.attributes).get("notes", ""))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_slots_are_those_asked_for(depth: int) -> None:
    kernel = planned(with_attributes(copies_rows((9, 40)), buffer_depth=depth))
    assert depths(kernel) == {depth}
    assert notes(kernel) == ""


@pytest.mark.parametrize(("rows", "expected"), [(0, 1), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_no_more_slots_than_turns(rows: int, expected: int) -> None:
    kernel = planned(with_attributes(copies_rows((rows, 40)), buffer_depth=3))
    assert max(depths(kernel), default=1) == expected
    assert faults(kernel) == []


def test_two_slots_by_themselves_but_one_without_pipelining() -> None:
    assert depths(planned(copies_rows((9, 40)))) == {2}
    assert depths(planned(with_attributes(copies_rows((9, 40)), pipeline=False))) == {1}


def test_a_share_of_a_core_is_cut_into_a_few_turns() -> None:
    kernel = planned(with_attributes(chain((1000, 300)), aicore_num=2))
    (loop,) = (item for item in walk(kernel.body) if isinstance(item, For))
    turns = most_turns(loop, symbol_ranges(kernel))
    assert turns is not None
    assert turns >= FEWEST_TURNS


def test_slots_that_do_not_fit_are_given_up_and_said() -> None:
    """Rows that a turn of the user's loop needs whole take most of a core."""
    k = KernelBuilder("rows")
    x, out = k.array("x", (9, 12_000)), k.array("out", (9, 12_000), role=Role.OUT)

    def body(i: Symbol) -> tuple[Value, ...]:
        row = region((i, 1), (0, 12_000))
        t = k.load(x, row)
        k.store(out, k.op("sub", t, k.op("max", t, axes=(1,))), row)
        return ()

    k.loop("i", 0, 9, (), 1, body)
    kernel = planned(k.module(buffer_depth=3))
    assert max(depths(kernel)) < 3
    assert "3 slots per buffer do not fit" in notes(kernel)
    assert faults(kernel) == []


def many_loads(count: int) -> Module:
    """A loop of more copies than ids: every input has its own flags in both directions."""
    k = KernelBuilder("many_loads")
    arrays = [k.array(f"x{number}", (20, 8)) for number in range(count)]

    def body(i: Symbol, total: Value) -> tuple[Value, ...]:
        for array in arrays:
            total = k.op("exp", k.op("add", total, k.load(array, region((i, 1), (0, 8)))))
        return (total,)

    k.output("out", k.loop("i", 0, 20, (k.load(arrays[0], region((0, 1), (0, 8))),), 1, body)[0])
    return k.module()


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_ids_that_run_out_cost_slots_and_are_said(count: int) -> None:
    kernel = planned(with_attributes(many_loads(count), buffer_depth=3))
    assert faults(kernel) == []
    if max(depths(kernel)) < 3:
        assert "flag ids are too few" in notes(kernel)


def test_pieces_are_said() -> None:
    assert "computed in 2 pieces" in notes(planned(CORPUS["window"]()))
    assert "pieces" in notes(planned(CORPUS["softmax_huge"]()))


def test_passes_change_nothing_the_second_time() -> None:
    names = [item.name for item in NPU_PASSES]
    (kernel,) = run_passes(CORPUS["chain_triple"](), NPU_PASSES[: names.index("plan_addresses")])[0].kernels
    assert rotate_buffers(kernel) == kernel
    once = insert_synchronisation(kernel)
    assert insert_synchronisation(kernel) == once


def long_chain(count: int) -> Module:
    k = KernelBuilder("long")
    x, y = k.input("x", (1000, 300)), k.input("y", (1000, 300))
    t = x
    for number in range(count):
        t = k.op(("add", "mul", "maximum", "sub")[number % 4], t, y)
    k.output("out", t)
    return k.module()


@pytest.mark.parametrize("cores", [2, 48])
def test_two_hundred_operations_are_lowered_quickly(cores: int) -> None:
    """Half a second on an idle machine; the best of three, with room for a busy one."""
    module = with_attributes(long_chain(200), aicore_num=cores)
    times = []
    for _ in range(3):
        start = time.process_time()
        made = run_passes(module, NPU_PASSES)[0]
        times.append(time.process_time() - start)
    assert len(list(walk(made.kernels[0].body))) > 200
    assert min(times) < 1.0


@pytest.mark.parametrize(("rows", "loops"), [(0, 0), (1, 0), (2, 1)])
def test_loops_of_no_turns_and_of_one_are_no_loops(rows: int, loops: int) -> None:
    kernel = planned(copies_rows((rows, 40)))
    assert sum(isinstance(item, For) for item in walk(kernel.body)) == loops
    nested = planned(CORPUS["nested_no_inner"]())
    assert sum(isinstance(item, For) for item in walk(nested.body)) == 1
    assert not any(isinstance(item, For) for item in walk(planned(CORPUS["accumulate_once"]()).body))
