"""Loops in loops with many copies in flight: whatever the slots and however few the ids, no race and no id above 5."""

from __future__ import annotations

import random

import pytest

from passes.kernels import KernelBuilder, arguments, region
from passes.test_engine import same
from pypto.ir import interpreter
from pypto.ir.engine import values
from pypto.ir.engine.clocks import faults
from pypto.ir.engine.machine import Order
from pypto.ir.index import Index, Symbol, bounds
from pypto.ir.nodes import Kernel, Module, Operation, Parameter, Role, Value, walk
from pypto.ir.passes.layout import symbol_ranges
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

ROWS = 24
LARGEST_ID = 5


class Nest:
    """A random kernel of loops in loops that copy rows of many arrays in and out."""

    def __init__(self, seed: int, inputs: int) -> None:
        self.random = random.Random(seed)
        self.k = KernelBuilder(f"nest{seed}")
        self.inputs = [self.k.array(f"x{number}", (ROWS, 8)) for number in range(inputs)]
        self.outputs = [self.k.array(f"o{number}", (ROWS, 8), role=Role.INOUT) for number in range(2)]

    def module(self) -> Module:
        self.block(0, 0)
        return self.k.module(buffer_depth=self.random.choice((2, 3)), aicore_num=1)

    def block(self, depth: int, index: Index) -> None:
        for _ in range(self.random.randrange(1, 3)):
            if depth < 2 and self.random.random() < 0.6:
                self.loop(depth)
            else:
                self.row(index)

    def loop(self, depth: int) -> None:
        def body(index: Symbol) -> tuple[Value, ...]:
            self.block(depth + 1, index)
            return ()

        self.k.line += 1
        self.k.loop(f"i{self.k.line}", 0, self.random.choice((1, 2, 5, 20)), (), 1, body)

    def row(self, index: Index) -> None:
        place = region((index if self.random.random() < 0.8 else self.random.randrange(ROWS), 1), (0, 8))
        total, *others = (self.k.load(item, place) for item in self.some(self.inputs))
        for other in others:
            total = self.k.op(self.random.choice(("add", "maximum")), total, other)
        for output in self.some(self.outputs):
            total = self.k.op("tanh", total)
            self.k.store(output, total, place)

    def some(self, arrays: list[Parameter]) -> list[Parameter]:
        return self.random.sample(arrays, self.random.randrange(1, len(arrays) + 1))


def largest_id(kernel: Kernel) -> int:
    ranges = symbol_ranges(kernel)
    flags = [item for item in walk(kernel.body) if isinstance(item, Operation) and item.name == "set_flag"]
    found = [bounds(item.attribute("id"), ranges) for item in flags]  # type: ignore[arg-type]  # an index
    return max((item[1] for item in found if item is not None), default=0)


def check(module: Module) -> None:
    lowered, _ = run_passes(module, NPU_PASSES)
    (kernel,) = lowered.kernels
    assert faults(kernel) == []
    assert largest_id(kernel) <= LARGEST_ID
    arrays, scalars = arguments(module)
    expected, found = ({name: array.copy() for name, array in arrays.items()} for _ in range(2))
    interpreter.run(lowered, expected, scalars)
    assert values.run(lowered, found, scalars, Order("random", 1)) == []
    assert all(same(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("seed", range(12))
def test_random_nests(seed: int) -> None:
    check(Nest(seed, 2 if seed % 3 else 5).module())


def two_levels(outer: int, inner: int, wide: int, narrow: int) -> Module:
    """Copies in an inner loop, and others behind it: their slots turn at different speeds."""
    k = KernelBuilder("two_levels")
    arrays = [k.array(f"x{number}", (ROWS, 8)) for number in range(max(wide, narrow))]
    first, second = (k.array(name, (ROWS, 8), role=Role.INOUT) for name in ("first", "second"))

    def row(index: Symbol, count: int, target: Parameter) -> None:
        place = region((index, 1), (0, 8))
        total, *others = [k.load(array, place) for array in arrays[:count]]
        for other in others:
            total = k.op("add", total, other)
        k.store(target, k.op("exp", total), place)

    def inside(index: Symbol) -> tuple[Value, ...]:
        row(index, narrow, first)
        return ()

    def around(index: Symbol) -> tuple[Value, ...]:
        k.loop("j", 0, inner, (), 1, inside)
        row(index, wide, second)
        return ()

    k.loop("i", 0, outer, (), 1, around)
    return k.module(buffer_depth=3, aicore_num=1)


@pytest.mark.parametrize(("outer", "inner", "wide", "narrow"), [(2, 5, 4, 4), (2, 5, 5, 8), (2, 1, 4, 4), (5, 2, 4, 4)])
def test_slots_that_begin_anew_with_each_entry_of_a_loop(outer: int, inner: int, wide: int, narrow: int) -> None:
    """Where turns are no multiple of slots, an order of the turns within one entry is none across two."""
    check(two_levels(outer, inner, wide, narrow))


def test_note_says_whether_ids_or_clocks_rule_slots_out() -> None:
    """Three slots get ids here, but not an order for every number of turns; two get no ids."""
    lowered, _ = run_passes(two_levels(2, 4, 1, 4), NPU_PASSES)
    (note,) = dict(lowered.kernels[0].attributes)["notes"]
    assert note == (
        "3 slots per buffer are out of order where an inner loop begins anew, "
        "6 flag ids are too few for 2 slots per buffer: 1 is used"
    )
    assert {buffer.depth for buffer in lowered.kernels[0].buffers} == {1}
