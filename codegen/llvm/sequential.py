"""Emits tasks that walk an axis in order: scans, sorting, and writing to places that indices choose.

Other axes are outer loops or, where they are contiguous, the vector axis. f32 sums are kept in f64, so that only the
last rounding counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pypto.codegen.llvm import affine, checking, control, rules, sorting
from pypto.codegen.llvm.builder import Register, constant
from pypto.codegen.llvm.memory import Lanes
from pypto.codegen.llvm.nest_emitter import NO_SHIFTS, NestEmitter, length_of
from pypto.codegen.llvm.program import Access, Array, Axis, Task
from pypto.ir.dtypes import F32, F64, DType

Reserve = Callable[[str, DType, int], Array]
"""Return scratch memory of a name for that many elements of a dtype."""


@dataclass(slots=True)
class Sequential:
    """Emits one task of a group of its own."""

    nest: NestEmitter
    reserve: Reserve

    @property
    def task(self) -> Task:
        return self.nest.plan.outputs[0][0]

    def emit(self) -> None:
        nest, plan = self.nest, self.nest.plan
        walked = [axis for axis in plan.loops if axis.reduced]
        kept = [axis for axis in plan.loops if not axis.reduced and axis is not plan.vector]
        name = self.task.reduction
        body = self.sort if name == "argsort" else self.scan if name in ("cumsum", "cumprod") else self.scatter
        with nest.frames.inner():
            nest.prepare(0)
            nest.nested(kept, 1, lambda: body(walked, len(kept) + 1))

    def value(self, lanes: Lanes | None) -> Register:
        """Evaluate the task's element."""
        self.nest.visit(lanes, NO_SHIFTS)
        return self.nest.operand(self.nest.plan.outputs[0][1], lanes, NO_SHIFTS)

    def walk(
        self, axis: Axis, level: int, carried: list[Register], body: Callable[[list[Register]], list[Register]]
    ) -> None:
        """Emit a loop over an axis."""
        nest = self.nest

        def turn(index: Register, inside: list[Register]) -> list[Register]:
            with nest.frames.inner():
                nest.indices.bind(axis.symbol, index)
                nest.prepare(level)
                return body(inside)

        control.loop(nest.builder, nest.indices.scalar(axis.lower), nest.indices.scalar(axis.upper), 1, carried, turn)

    def each(self, body: Callable[[Lanes], None]) -> None:
        """Emit a loop over the vector axis."""
        axis = self.nest.plan.vector
        assert axis is not None

        def turn(lanes: Lanes, copy: int, carried: list[Register]) -> list[Register]:
            body(lanes)
            return carried

        start, stop = self.nest.indices.scalar(axis.lower), self.nest.indices.scalar(axis.upper)
        self.nest.vectors(start, stop, length_of(axis), 1, [], turn)

    # -- scans

    @property
    def wide(self) -> DType:
        """The dtype of the running result."""
        return F64 if self.task.dtype == F32 and self.task.reduction == "cumsum" else self.task.dtype

    def started(self, lanes: int) -> Register:
        name = "sum" if self.task.reduction == "cumsum" else "prod"
        return constant(rules.reduction_identity(name, self.wide), rules.element(self.wide), lanes)

    def joined(self, before: Register, value: Register) -> Register:
        name = "sum" if self.task.reduction == "cumsum" else "prod"
        return rules.combine(self.nest.builder, name, self.wide, before, self.cast(value, self.task.dtype, self.wide))

    def cast(self, value: Register, dtype: DType, wanted: DType) -> Register:
        if dtype == wanted:
            return value
        operator = "fpext" if wanted.bits > dtype.bits else "fptrunc"
        return self.nest.builder.convert(operator, value, rules.element(wanted))

    def scan(self, walked: list[Axis], level: int) -> None:
        (axis,) = walked
        if self.nest.plan.vector is not None:
            self.scan_rows(axis, level)
            return

        def body(before: list[Register]) -> list[Register]:
            total = self.joined(before[0], self.value(None))
            self.nest.memory.store_one(self.task.target, self.cast(total, self.wide, self.task.dtype))
            return [total]

        self.walk(axis, level, [self.started(1)], body)

    def scan_rows(self, axis: Axis, level: int) -> None:
        """Add rows to a row of running results."""
        nest, vector = self.nest, self.nest.plan.vector
        assert vector is not None
        memory = nest.memory
        totals = self.reserve("running", self.wide, vector.extent)
        place = Access(totals, (affine.subtract(affine.symbol(vector.symbol), vector.lower),))
        self.each(lambda lanes: memory.store(place, self.started(lanes.count), lanes))

        def row(lanes: Lanes) -> None:
            total = self.joined(memory.load(place, lanes), self.value(lanes))
            memory.store(place, total, lanes)
            memory.store(self.task.target, self.cast(total, self.wide, self.task.dtype), lanes)

        def body(carried: list[Register]) -> list[Register]:
            self.each(row)
            return carried

        self.walk(axis, level, [], body)

    # -- scattering

    def scatter(self, walked: list[Axis], level: int) -> None:
        def body(carried: list[Register]) -> list[Register]:
            if self.nest.plan.vector is None:
                self.update(None)
            else:
                self.each(self.update)
            return carried

        if walked:
            self.walk(walked[0], level, [], body)
        else:
            body([])

    def update(self, lanes: Lanes | None) -> None:
        nest, memory, task = self.nest, self.nest.memory, self.task
        value = self.value(lanes)
        target = checking.settled(nest, task.target, lanes, NO_SHIFTS)
        if lanes is None:
            if task.reduction == "scatter_add":
                value = rules.combine(nest.builder, "sum", task.dtype, memory.load_one(target), value)
            memory.store_one(target, value)
            return
        if task.reduction == "scatter_add":
            value = rules.combine(nest.builder, "sum", task.dtype, memory.load(target, lanes), value)
        memory.store(target, value, lanes)

    # -- sorting

    def sort(self, walked: list[Axis], level: int) -> None:
        """Sort keys that hold the position in their low bits, so that equals keep their order."""
        (axis,) = walked
        nest, builder, settings = self.nest, self.nest.builder, dict(self.task.settings)
        assert isinstance(settings["count"], int)
        code = sorting.Code.of(self.task.dtype, bool(settings["descending"]))
        wanted = settings["count"]
        data = self.reserve("keys", F64, axis.extent * code.words)
        base = nest.memory.pointers[data.name]

        def fill(carried: list[Register]) -> list[Register]:
            position = nest.indices.scalar(affine.symbol(axis.symbol))
            key = code.encode(builder, self.value(None), position)
            builder.store(key, builder.offset(base, position, code.element), 8)
            return carried

        self.walk(axis, level, [], fill)
        sorted_ = self.ordered(code, base, axis.extent, wanted)

        def put(index: Register, carried: list[Register]) -> list[Register]:
            with nest.frames.inner():
                nest.indices.bind(axis.symbol, index)
                key = builder.load(builder.offset(sorted_, index, code.element), code.element, 1, 8)
                nest.memory.store_one(self.task.target, code.position(builder, key))
            return carried

        control.loop(builder, constant(0, "i64"), constant(wanted, "i64"), 1, [], put)

    def ordered(self, code: sorting.Code, base: Register, extent: int, wanted: int) -> Register:
        """Put the first `wanted` of the keys in order and return the address of the first."""
        builder, pointers = self.nest.builder, self.nest.memory.pointers
        if sorting.is_few(wanted, extent):
            best = pointers[self.reserve("best", F64, wanted * code.words).name]
            sorting.select_smallest(builder, code, base, extent, best, wanted)
            return best
        other = pointers[self.reserve("merged", F64, extent * code.words).name]
        sorting.sort(builder, code, base, other, extent)
        return base
