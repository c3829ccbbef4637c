"""What needs no flag or barrier: barriers inside instructions, parts of buffers; and what one run tells of all of them."""

from __future__ import annotations

import itertools
import operator
import time

import pytest

from compile.test_phases import only_kernel
from passes.corpus import CORPUS
from passes.deletions import KERNELS, block_barriers, deletions, lowered
from passes.kernels import KernelBuilder, arguments, region
from passes.test_engine import same
from pypto.ir import interpreter
from pypto.ir.engine import values
from pypto.ir.engine.clocks import faults, is_faulty
from pypto.ir.engine.machine import ORDERS, Order
from pypto.ir.engine.reliance import Runs, bits_for, joined
from pypto.ir.index import Symbol, make
from pypto.ir.nodes import Kernel, Module, Operation, Role, walk
from pypto.ir.passes.insert_synchronisation import insert_synchronisation, order, placed, placed_plan
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.pipes import Part, Pipes, are_apart
from pypto.ir.passes.remove_implied import plan_items, without_barrier, without_flag

SAMPLE = ("softmax", "nested", "triangle", "cube epilogue", "cube attention_operation", "cube k_triple", "window")


def barriers(kernel: Kernel, pipe: str = "V") -> int:
    found = [item for item in walk(kernel.body) if isinstance(item, Operation) and item.name == "pipe_barrier"]
    return sum(item.attribute("pipe") == pipe for item in found)


def synchronised(module: Module) -> Kernel:
    (kernel,) = lowered(module)
    made = insert_synchronisation(kernel)
    assert faults(made) == []
    return made


def test_two_ways_to_know_need_what_both_need() -> None:
    assert joined(operator.and_, ((5, 0b11),), ((5, 0b10),)) == ((5, 0b10),)
    assert joined(operator.and_, ((5, 0b01),), ((3, 0b10),)) == ((5, 0b01), (3, 0))
    assert joined(min, ((5, 0b01),), ((3, 0b10),)) == ((5, 0b01),)
    assert joined(operator.and_, (), ((3, 0b10),)) == ((3, 0b10),)
    assert bits_for(((5, 0b01), (3, 0)), 4) == 0b01
    assert bits_for(((5, 0b01), (3, 0)), 2) == 0
    assert bits_for(((5, 0b01),), 6) is None


@pytest.mark.parametrize("name", ["softmax", "nested", "many_inputs", "spmd_many_blocks", "functions", "views"])
def test_one_run_tells_what_leaving_out_each_shows(name: str) -> None:
    """The same as leaving out one after the other, for plans with flags and barriers that nothing needs too."""
    (kernel,) = lowered(CORPUS[name]())
    plan, ids = order(kernel)  # type: ignore[misc]  # there are ids enough
    numbers = dict(zip(plan.flags, ids, strict=True))
    made = placed_plan(kernel, plan, ids)
    bits = {item: 1 << number for number, item in enumerate(plan_items(plan))}
    needed = Runs.of(made.kernel).relied_on({key: bits[item] for key, item in made.items.items()}, operator.and_, True)
    for item, bit in bits.items():
        fewer = without_barrier(plan, *item) if isinstance(item, tuple) else without_flag(plan, item)
        found = is_faulty(placed(kernel, fewer, [numbers[flag] for flag in fewer.flags]))
        assert found == bool(needed & bit), item


@pytest.mark.parametrize("name", SAMPLE)
def test_every_deletion_is_reported(name: str) -> None:
    found = [item for kernel in lowered(KERNELS[name]()) for item in deletions(name, kernel)]
    assert found
    assert [str(item) for item in found if not item.is_reported] == []


def test_a_barrier_between_blocks_is_a_deletion() -> None:
    (kernel,) = only_kernel("reversed")[0].kernels
    found = list(block_barriers("reversed", kernel))
    assert found
    assert all(item.is_reported for item in found)


def row_sums(columns: int) -> Module:
    """A sum between two uses of a tile: behind it, what wrote the tile before is known to have finished."""
    k = KernelBuilder("row_sums")
    x, y = k.input("x", (16, columns)), k.input("y", (16, 8))
    k.output("first", k.op("exp", y))
    k.output("sums", k.op("sum", x, axes=(1,)))
    return k.module()


def test_the_barrier_inside_a_row_sum_is_known() -> None:
    """Up to 64 columns one instruction does, with no barrier inside."""
    (kernel,) = lowered(row_sums(200))
    (short,) = lowered(row_sums(40))
    for made, waits in ((kernel, True), (short, False)):
        (sum_,) = [item for item in walk(made.body) if isinstance(item, Operation) and item.name == "row_sum"]
        pipes = Pipes.of(made)
        assert pipes.waits_inside(sum_) == waits
        parts = {access.resource: access.part for access in pipes.accesses(sum_)}
        assert parts[str(sum_.results[0].buffer)] is (Part.AFTER if waits else Part.ANY)
        assert parts[str(sum_.operands[0].buffer)] is (Part.BEFORE if waits else Part.ANY)


def test_turns_of_two_row_operations_need_no_barrier_between_them() -> None:
    """Each turn of the second reads what the same turn of the first wrote, and all turns but one have barriers between:
    in each order of the pipes the values are right."""
    module = CORPUS["softmax_batched"]()
    lowered_module, _ = run_passes(module, NPU_PASSES)
    (kernel,) = lowered_module.kernels
    names = [item.name for item in kernel.body if isinstance(item, Operation) and item.name != "undefined"]
    assert names[names.index("row_max") + 1] == "row_broadcast"
    arrays, scalars = arguments(module)
    expected = {name: array.copy() for name, array in arrays.items()}
    interpreter.run(lowered_module, expected, scalars)
    for chosen in (*ORDERS, *(Order("random", seed) for seed in range(8))):
        found = {name: array.copy() for name, array in arrays.items()}
        assert values.run(lowered_module, found, scalars, chosen) == []
        assert all(same(found[name], expected[name]) for name in expected)


def test_inserts_into_different_rows_need_no_barrier() -> None:
    """Rows behind rows touch bytes of their own; columns beside columns lie between each other."""
    kernel = synchronised(CORPUS["views_aligned"]())
    pipes = Pipes.of(kernel)
    body = [item for item in kernel.body if not isinstance(item, Operation) or item.name != "undefined"]
    inserts = [place for place, item in enumerate(body) if isinstance(item, Operation) and item.name == "insert"]
    seen = set()
    for first, second in itertools.pairwise(inserts):
        (one,), (other,) = ([item for item in pipes.accesses(body[at]) if item.write] for at in (first, second))
        if one.resource == other.resource:
            apart = are_apart(one.span, other.span)
            between = body[first + 1 : second]
            assert apart != any(isinstance(item, Operation) and item.name == "pipe_barrier" for item in between)
            seen.add(apart)
    assert seen == {True, False}


@pytest.mark.parametrize(("turns", "needed"), [(5, 0), (6, 1)])
def test_rows_that_come_round_after_the_last_turn_need_no_barrier(turns: int, needed: int) -> None:
    k = KernelBuilder("round")
    x, out = k.array("x", (5, 16)), k.array("out", (5, 16), role=Role.INOUT)

    def body(index: Symbol) -> tuple:
        place = region((make("%", index, 5), 1), (0, 16))
        k.store(out, k.op("exp", k.load(x, place)), place)
        return ()

    k.loop("i", 0, turns, (), 1, body)
    assert barriers(synchronised(k.module(aicore_num=1)), "MTE3") == needed


def test_tiles_in_many_pieces_are_ordered_quickly() -> None:
    """Processor time, not of the clock: trying each flag and barrier took half a minute."""
    k = KernelBuilder("pieces")
    x, y = k.input("x", (1, 200, 300)), k.input("y", (1, 200, 300))
    a = k.op("exp", k.op("sub", x, k.op("max", x, axes=(1, 2))))
    b = k.op("div", a, k.op("sum", a, axes=(1, 2)))
    c = k.op("sub", k.op("mul", b, y), k.op("mean", y, axes=(1,)))
    k.output("o", k.op("div", c, k.op("sum", k.op("abs", c), axes=(2,))))
    k.output("p", k.op("sum", c, axes=(1,)))
    (kernel,) = lowered(k.module())
    assert sum(1 for _ in walk(kernel.body)) > 150
    start = time.thread_time()
    insert_synchronisation(kernel)
    assert time.thread_time() - start < 2.0
