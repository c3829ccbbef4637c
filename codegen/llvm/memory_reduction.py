"""Reductions across the vector axis (column sums): accumulators in near memory, rows walked in memory order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from pypto.codegen.llvm import affine, control, rules
from pypto.codegen.llvm.accumulation import CHAIN, add_exactly, identity, is_compensated, settle, tree
from pypto.codegen.llvm.builder import Register, constant
from pypto.codegen.llvm.memory import Lanes
from pypto.codegen.llvm.nest_emitter import NO_SHIFTS, NestEmitter, Shifts, length_of
from pypto.codegen.llvm.program import Access, Array, Axis, Task

ROWS = 4
"""Rows that are combined before they enter the accumulators."""

Reserve = Callable[[Task, int], Array]
"""Return scratch memory for that many elements of a task's dtype."""


@dataclass(slots=True)
class MemoryReduction:
    """Emits a nest whose reductions keep the vector axis. Each reduction's target holds its accumulators."""

    nest: NestEmitter
    reserve: Reserve
    totals: dict[int, tuple[Access, Access]] = field(default_factory=dict)
    """Total and error of the compensated reductions, by number."""

    def emit(self) -> None:
        nest, plan = self.nest, self.nest.plan
        reduced = {axis.symbol for task, _ in plan.reductions for axis in task.axes if axis.reduced}
        kept = [axis for axis in plan.loops if axis.symbol not in reduced and axis is not plan.vector]
        rows = [axis for axis in plan.loops if axis.symbol in reduced]
        self.reserve_totals(rows)
        with nest.frames.inner():
            nest.prepare(0)
            nest.nested(kept, 1, lambda: self.one_row(rows, len(kept) + 1))

    def reserve_totals(self, rows: list[Axis]) -> None:
        """Give every sum of more rows than a plain accumulator may take a total and its error."""
        vector = self.nest.plan.vector
        assert vector is not None
        index = (affine.subtract(affine.symbol(vector.symbol), vector.lower),)
        additions = -(-math.prod(axis.extent for axis in rows) // ROWS)
        for number, (task, _) in enumerate(self.nest.plan.reductions):
            if is_compensated(task.reduction or "", task.dtype, additions):
                total, error = self.reserve(task, vector.extent), self.reserve(task, vector.extent)
                self.totals[number] = (Access(total, index), Access(error, index))

    def one_row(self, rows: list[Axis], level: int) -> None:
        """Combine all rows for one position of the kept axes."""
        self.each(lambda lanes: self.reset(lanes, totals=True))
        self.outer(rows, level)
        if self.totals:
            self.each(self.settle)

    def each(self, body: Callable[[Lanes], None]) -> None:
        """Emit a loop over the vector axis."""
        axis = self.nest.plan.vector
        assert axis is not None

        def turn(lanes: Lanes, copy: int, carried: list[Register]) -> list[Register]:
            body(lanes)
            return carried

        start, stop = self.nest.indices.scalar(axis.lower), self.nest.indices.scalar(axis.upper)
        self.nest.vectors(start, stop, length_of(axis), 1, [], turn)

    def reset(self, lanes: Lanes, totals: bool) -> None:
        memory = self.nest.memory
        for number, (task, _) in enumerate(self.nest.plan.reductions):
            if not totals and number not in self.totals:
                continue
            start = identity(task.reduction or "", task.dtype, lanes.count)
            memory.store(task.target, start, lanes)
            if totals and number in self.totals:
                for access in self.totals[number]:
                    memory.store(access, start, lanes)

    def fold(self, lanes: Lanes) -> None:
        """Add the accumulators of the compensated sums to their totals."""
        memory = self.nest.memory
        for number, (total, error) in self.totals.items():
            part = memory.load(self.nest.plan.reductions[number][0].target, lanes)
            following = add_exactly(self.nest.builder, memory.load(total, lanes), memory.load(error, lanes), part)
            memory.store(total, following[0], lanes)
            memory.store(error, following[1], lanes)

    def settle(self, lanes: Lanes) -> None:
        memory = self.nest.memory
        for number, (total, error) in self.totals.items():
            result = settle(self.nest.builder, memory.load(total, lanes), memory.load(error, lanes))
            memory.store(self.nest.plan.reductions[number][0].target, result, lanes)

    # -- rows

    def outer(self, rows: list[Axis], level: int) -> None:
        if len(rows) <= 1:
            self.blocks(rows[0] if rows else None, level)
            return
        nest, axis = self.nest, rows[0]

        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with nest.frames.inner():
                nest.indices.bind(axis.symbol, index)
                nest.prepare(level)
                self.outer(rows[1:], level + 1)
            return carried

        control.loop(nest.builder, nest.indices.scalar(axis.lower), nest.indices.scalar(axis.upper), 1, [], turn)

    def blocks(self, axis: Axis | None, level: int) -> None:
        """Walk the innermost reduced axis; when sums are compensated in blocks that a plain accumulator may take."""
        nest = self.nest
        if axis is None:
            self.each(lambda lanes: self.combine(lanes, [NO_SHIFTS]))
            return
        start, stop, length = nest.indices.scalar(axis.lower), nest.indices.scalar(axis.upper), length_of(axis)
        if not self.totals:
            self.run(axis, level, start, stop, length)
            return
        block = CHAIN * ROWS

        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with nest.frames.inner():
                self.each(lambda lanes: self.reset(lanes, totals=False))
                after = nest.builder.binary("add", index, constant(block, "i64"))
                end = nest.builder.select(nest.builder.compare("icmp slt", after, stop), after, stop)
                self.run(axis, level, index, end, block if length is not None and length % block == 0 else None)
                self.each(self.fold)
            return carried

        control.loop(nest.builder, start, stop, block, [], turn)

    def run(self, axis: Axis, level: int, start: Register, stop: Register, length: int | None) -> None:
        """Walk rows from `start` below `stop`, several at a time, then the rest one by one."""
        nest, builder = self.nest, self.nest.builder

        def rows_of(count: int) -> control.Body:
            shifts: list[Shifts] = [{axis.symbol: number} for number in range(count)]

            def turn(index: Register, carried: list[Register]) -> list[Register]:
                with nest.frames.inner():
                    nest.indices.bind(axis.symbol, index)
                    for item in shifts:
                        nest.prepare(level, item)
                    self.each(lambda lanes: self.combine(lanes, shifts))
                return carried

            return turn

        if length is not None:
            whole = builder.binary("add", start, constant(length // ROWS * ROWS, "i64")) if length >= ROWS else start
            if length >= ROWS:
                control.loop(builder, start, whole, ROWS, [], rows_of(ROWS))
            if length % ROWS:
                control.loop(builder, whole, stop, 1, [], rows_of(1))
            return
        size = builder.binary("sub", stop, start)
        whole = builder.binary("add", start, builder.binary("and", size, constant(-ROWS, "i64")))
        control.loop(builder, start, whole, ROWS, [], rows_of(ROWS))
        control.loop(builder, whole, stop, 1, [], rows_of(1))

    def combine(self, lanes: Lanes, shifts: list[Shifts]) -> None:
        """Combine one vector of each row into the accumulators."""
        nest = self.nest
        for item in shifts:
            nest.visit(lanes, item)
        for task, value in nest.plan.reductions:
            parts = [nest.operand(value, lanes, item) for item in shifts]
            part = tree(nest.builder, task.reduction or "", task.dtype, parts)
            now = nest.memory.load(task.target, lanes)
            joined = rules.combine(nest.builder, task.reduction or "", task.dtype, now, part)
            nest.memory.store(task.target, joined, lanes)
