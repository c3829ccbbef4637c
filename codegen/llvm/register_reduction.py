"""Reductions along the vector axis: accumulators in registers, several of them, combined at the end."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.codegen.llvm import control, rules
from pypto.codegen.llvm.accumulation import CHAIN, across, add_exactly, identity, is_compensated, settle, tree
from pypto.codegen.llvm.builder import Register, constant
from pypto.codegen.llvm.memory import Lanes
from pypto.codegen.llvm.nest_emitter import NO_SHIFTS, NestEmitter, length_of
from pypto.codegen.llvm.program import Axis, Task


@dataclass(slots=True)
class RegisterReduction:
    """Emits a nest whose reductions combine the lanes. States are lists of registers, one list for each reduction."""

    nest: NestEmitter
    copies: int = 1

    def emit(self) -> None:
        nest, plan = self.nest, self.nest.plan
        reduced = {axis.symbol for task, _ in plan.reductions for axis in task.axes if axis.reduced}
        kept = [axis for axis in plan.loops if axis.symbol not in reduced]
        others = [axis for axis in plan.loops if axis.symbol in reduced and axis is not plan.vector]
        length = length_of(plan.vector) if plan.vector is not None else 1
        self.copies = 1 if length is not None and length <= plan.lanes else plan.unroll
        with nest.frames.inner():
            nest.prepare(0)
            nest.nested(kept, 1, lambda: self.one_result(others, len(kept) + 1))

    def compensated(self, task: Task, others: list[Axis]) -> bool:
        """True when the accumulators add up in several steps."""
        vector = self.nest.plan.vector
        longest = vector.extent if vector is not None else 1
        additions = CHAIN + 1 if others else -(-longest // (self.nest.plan.lanes * self.copies))
        return is_compensated(task.reduction or "", task.dtype, additions)

    def one_result(self, others: list[Axis], level: int) -> None:
        """Combine everything for one position of the kept axes and store it."""
        reductions, lanes = self.nest.plan.reductions, self.nest.plan.lanes
        is_long = [self.compensated(task, others) for task, _ in reductions]
        start = [identity(task.reduction or "", task.dtype, lanes) for task, _ in reductions]
        sizes = [2 if long else self.copies if not any(is_long) else 1 for long in is_long]
        states = [register for register, size in zip(start, sizes, strict=True) for _ in range(size)]
        states = self.outer(others, level, states, is_long)
        position = 0
        for (task, _), long, size in zip(reductions, is_long, sizes, strict=True):
            parts = states[position : position + size]
            position += size
            self.finish(task, parts, long)

    def finish(self, task: Task, parts: list[Register], long: bool) -> None:
        builder, reduction = self.nest.builder, task.reduction or ""
        total = settle(builder, *parts) if long else tree(builder, reduction, task.dtype, parts)
        self.nest.memory.store_one(task.target, across(builder, reduction, task.dtype, total))

    def outer(self, axes: list[Axis], level: int, states: list[Register], is_long: list[bool]) -> list[Register]:
        """Emit loops over the reduced axes other than the vector axis."""
        if not axes:
            return self.inner(states, is_long)
        nest, axis = self.nest, axes[0]

        def turn(index: Register, inside: list[Register]) -> list[Register]:
            with nest.frames.inner():
                nest.indices.bind(axis.symbol, index)
                nest.prepare(level)
                return self.outer(axes[1:], level + 1, inside, is_long)

        start, stop = nest.indices.scalar(axis.lower), nest.indices.scalar(axis.upper)
        return control.loop(nest.builder, start, stop, 1, states, turn)

    def inner(self, states: list[Register], is_long: list[bool]) -> list[Register]:
        """Emit the vector loop: in blocks when a sum is compensated."""
        nest, axis = self.nest, self.nest.plan.vector
        if axis is None:
            nest.visit(None, NO_SHIFTS)
            return self.gather(None, 0, states, 1)
        start, stop, length = nest.indices.scalar(axis.lower), nest.indices.scalar(axis.upper), length_of(axis)
        if not any(is_long):
            return self.run(start, stop, length, states)
        block = CHAIN * self.copies * nest.plan.lanes

        def turn(index: Register, inside: list[Register]) -> list[Register]:
            with nest.frames.inner():
                return self.block(index, stop, length, block, inside, is_long)

        return control.loop(nest.builder, start, stop, block, states, turn)

    def block(
        self,
        start: Register,
        stop: Register,
        length: int | None,
        block: int,
        states: list[Register],
        is_long: list[bool],
    ) -> list[Register]:
        """Combine one block in fresh accumulators, then add them to the states."""
        nest = self.nest
        if length is not None and (length % block == 0 or length < block):
            end, size = nest.builder.binary("add", start, constant(min(length, block), "i64")), min(length, block)
        else:
            after, size = nest.builder.binary("add", start, constant(block, "i64")), None
            end = nest.builder.select(nest.builder.compare("icmp slt", after, stop), after, stop)
        fresh = [
            identity(task.reduction or "", task.dtype, nest.plan.lanes)
            for task, _ in nest.plan.reductions
            for _ in range(self.copies)
        ]
        parts = self.run(start, end, size, fresh)
        return self.fold(parts, states, is_long)

    def fold(self, parts: list[Register], states: list[Register], is_long: list[bool]) -> list[Register]:
        builder, position = self.nest.builder, 0
        result: list[Register] = []
        for number, ((task, _), long) in enumerate(zip(self.nest.plan.reductions, is_long, strict=True)):
            mine = parts[number * self.copies : (number + 1) * self.copies]
            part = tree(builder, task.reduction or "", task.dtype, mine)
            if long:
                result += add_exactly(builder, states[position], states[position + 1], part)
                position += 2
            else:
                result.append(rules.combine(builder, task.reduction or "", task.dtype, states[position], part))
                position += 1
        return result

    def run(self, start: Register, stop: Register, length: int | None, accumulators: list[Register]) -> list[Register]:
        """Emit the vector loop over one range with `copies` accumulators for each reduction."""

        def turn(lanes: Lanes, copy: int, inside: list[Register]) -> list[Register]:
            self.nest.visit(lanes, NO_SHIFTS)
            return self.gather(lanes, copy, inside, self.copies)

        return self.nest.vectors(start, stop, length, self.copies, accumulators, turn)

    def gather(self, lanes: Lanes | None, copy: int, states: list[Register], copies: int) -> list[Register]:
        """Combine the values of one vector into accumulator `copy` of each reduction."""
        builder, result = self.nest.builder, list(states)
        for number, (task, value) in enumerate(self.nest.plan.reductions):
            place = number * copies + copy
            register = self.nest.operand(value, lanes, NO_SHIFTS)
            combined = rules.combine(builder, task.reduction or "", task.dtype, result[place], register)
            if lanes is not None and lanes.mask is not None:
                combined = builder.select(lanes.mask, combined, result[place])
            result[place] = combined
        return result
