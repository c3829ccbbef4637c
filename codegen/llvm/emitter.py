"""LLVM IR of a module: one function per phase, in the form that `code.py` describes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from pypto.codegen.llvm import affine, control, loop_plan, streaming
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.codegen.llvm.code import CpuCode, Layout, Machine, Phase, Slot, SlotKind
from pypto.codegen.llvm.contraction import ContractionEmitter
from pypto.codegen.llvm.contraction_shape import Blocking, blocking
from pypto.codegen.llvm.evaluation import Indexing
from pypto.codegen.llvm.groups import Group, Step, form_groups, loops_of
from pypto.codegen.llvm.indices import Frames, Indices
from pypto.codegen.llvm.joint import INTRINSICS, SIGNATURE, Part, joined
from pypto.codegen.llvm.lowering import checking_operations, lower
from pypto.codegen.llvm.memory import Memory
from pypto.codegen.llvm.memory_reduction import MemoryReduction
from pypto.codegen.llvm.micro_kernel import MicroKernel
from pypto.codegen.llvm.nest_emitter import NestEmitter
from pypto.codegen.llvm.phases import PhasePlan, Placement, plan
from pypto.codegen.llvm.program import (
    Array,
    Choice,
    Home,
    NodeKind,
    Outer,
    Program,
    Repeat,
    Statement,
    Task,
    Walk,
    row_major,
    tasks,
)
from pypto.codegen.llvm.register_reduction import RegisterReduction
from pypto.codegen.llvm.sequential import Sequential
from pypto.codegen.llvm.tiling import chosen_schedule
from pypto.ir.dtypes import I64, DType
from pypto.ir.index import Symbol
from pypto.ir.nodes import Kernel, Module, Parameter
from pypto.ir.schedule import Schedule

MOST_BYTES = 24 << 20
"""Local arrays beyond which values are computed again rather than stored."""

STATUS = ("<lock>", "<site>", "<place>", "<index>")
"""Names of the status words; no parameter is called like them."""


def emit(module: Module, layouts: Mapping[str, Layout], machine: Machine) -> CpuCode:
    """Return the LLVM IR of a module at level tile whose extents are numbers.

    `layouts` gives the strides of array parameters (contiguous where missing); intermediates are contiguous. The text
    holds one function per phase; nothing in it depends on addresses, so that it may be cached by its content.
    """
    slots = _slots(module)
    arguments = _arguments(module, layouts)
    texts: list[str] = []
    declarations: set[str] = set()
    parts: list[Part] = []
    scratch = 0
    groups = {machine.vector_bits: "#0"}
    for number, kernel in enumerate(module.kernels):
        emitted = _emit_kernel(kernel, number, arguments, machine, groups)
        texts += emitted.functions
        declarations |= emitted.declarations
        parts.append(Part(kernel, emitted.phases, emitted.workspace))
        scratch = max(scratch, emitted.scratch)
    joint = joined(parts, "#0")
    texts += joint.functions
    declarations.update(INTRINSICS if joint.functions else ())
    workspace = joint.workspace
    attributes = [_attributes(group, bits) for bits, group in groups.items()]
    text = "\n".join([*texts, *sorted(declarations), *attributes, "!0 = !{i32 1}", ""])
    notes = (f"intermediates between phases take {workspace} bytes",) if workspace else ()
    return CpuCode(text, slots, joint.phases, workspace, scratch, notes, _threads(module))


def _slots(module: Module) -> tuple[Slot, ...]:
    slots = []
    for parameter in module.parameters:
        kind = SlotKind.SCALAR if parameter.scalar else SlotKind.ARRAY
        slots.append(Slot(parameter.name, kind, parameter.type.dtype))
    for parameter in module.intermediates:
        size = math.prod(_shape(parameter)) * parameter.type.dtype.bytes
        slots.append(Slot(parameter.name, SlotKind.INTERMEDIATE, parameter.type.dtype, size))
    if any(checking_operations(kernel) for kernel in module.kernels):
        slots += [Slot(name, SlotKind.STATUS, I64) for name in STATUS]
    return tuple(slots)


def _shape(parameter: Parameter) -> tuple[int, ...]:
    return cast("tuple[int, ...]", parameter.type.shape)


def _arguments(module: Module, layouts: Mapping[str, Layout]) -> dict[str, Array]:
    arrays = {}
    for slot, parameter in enumerate((*module.parameters, *module.intermediates)):
        shape = _shape(parameter)
        home = Home.SCALAR if parameter.scalar else Home.ARGUMENT
        layout = layouts.get(parameter.name)
        strides = layout.strides if layout is not None else row_major(shape)
        # The prefix keeps the user's names apart from those of local arrays.
        arrays[parameter.name] = Array(f"argument.{parameter.name}", parameter.type.dtype, shape, home, strides, slot)
    return arrays


def _threads(module: Module) -> int:
    """Return the most threads that the schedules of all kernels allow; 0 when one of them allows any number."""
    limits = [chosen_schedule(kernel).threads or 0 for kernel in module.kernels]
    return max(limits, default=0) if all(limits) else 0


def _attributes(group: str, bits: int) -> str:
    return f'attributes {group} = {{ nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}'


@dataclass(slots=True)
class _Emitted:
    functions: list[str] = field(default_factory=list)
    declarations: set[str] = field(default_factory=set)
    phases: list[Phase] = field(default_factory=list)
    workspace: int = 0
    scratch: int = 0


def _emit_kernel(
    kernel: Kernel, number: int, arguments: Mapping[str, Array], machine: Machine, groups: dict[int, str]
) -> _Emitted:
    planned = _planned(kernel, number, arguments, machine)
    machine, schedule, program, placement = planned.machine, planned.schedule, planned.program, planned.placement
    group = groups.setdefault(machine.vector_bits, f"#{len(groups)}")
    result = _Emitted()
    for count, phase in enumerate(planned.phases):
        if phase.items == 0 or not phase.body:
            continue
        symbol = f"pypto_{_mangled(kernel.name)}_{number}_{count}"
        builder = FunctionBuilder.for_machine(machine)
        function = _Function(builder, machine, schedule, group, program, phase, placement, len(arguments))
        result.functions.append(function.emit(symbol))
        result.declarations |= function.builder.declarations
        result.phases.append(Phase(symbol, phase.items, phase.grain))
    result.workspace, result.scratch = placement.workspace, placement.scratch
    return result


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    """A kernel as phases, before any text: what the emitter writes down and a cost model looks at."""

    machine: Machine
    schedule: Schedule
    program: Program
    phases: list[PhasePlan]
    placement: Placement


def planned_kernels(module: Module, layouts: Mapping[str, Layout], machine: Machine) -> list[PlannedKernel]:
    """Return the plans of the kernels that `emit` would write down."""
    arguments = _arguments(module, layouts)
    return [_planned(kernel, number, arguments, machine) for number, kernel in enumerate(module.kernels)]


def _planned(kernel: Kernel, number: int, arguments: Mapping[str, Array], machine: Machine) -> PlannedKernel:
    """Return the phases of a kernel; without stored shared values where those would take too much memory."""
    schedule = chosen_schedule(kernel)
    machine = replace(machine, vector_bits=schedule.vector_bits or machine.vector_bits)
    plans = []
    for keeps_shared in (True, False):
        program, placement = lower(kernel, arguments, keeps_shared, number), Placement()
        phases = plan(program, placement, schedule)
        plans.append(PlannedKernel(machine, schedule, program, phases, placement))
        if placement.workspace + placement.scratch <= MOST_BYTES:
            return plans[-1]
    return min(plans, key=lambda item: item.placement.workspace + item.placement.scratch)


def _mangled(name: str) -> str:
    """Return an ASCII identifier for a user's name; the numbers behind it make symbols unique."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.encode("ascii", "replace").decode())[:40]


@dataclass(slots=True)
class _Function:
    """Emits one phase."""

    builder: FunctionBuilder
    machine: Machine
    schedule: Schedule
    attributes: str
    program: Program
    phase: PhasePlan
    placement: Placement
    status_slot: int
    frames: Frames = field(default_factory=Frames)
    indices: Indices = field(init=False)
    memory: Memory = field(init=False)
    blocking: Blocking = field(init=False)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    symbol: str = ""
    kernels: dict[MicroKernel, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    """Functions that the phase calls."""

    def __post_init__(self) -> None:
        self.indices = Indices(self.builder, self.frames, self.program.ranges)
        self.memory = Memory(self.builder, self.frames, self.indices)
        self.blocking = blocking(self.schedule)

    def emit(self, symbol: str) -> str:
        self.symbol = symbol
        for task in tasks(self.phase.body):
            for access in (*task.reads, task.target):
                if access.array.name not in self.memory.pointers:
                    self.memory.pointers[access.array.name] = self.pointer(access.array)
        if any(node.kind is NodeKind.CHECKED for task in tasks(self.phase.body) for node in task.nodes):
            self.memory.status = self.builder.offset(
                Register("%slots", "ptr"), constant(self.status_slot, "i64"), "i64"
            )
        first, last = Register("%first", "i64"), Register("%last", "i64")
        control.loop(self.builder, first, last, 1, [], self.item)
        self.builder.jump("exit")
        lines = [f"define void @{symbol}({SIGNATURE}) {self.attributes} {{", "entry:", *self.builder.lines]
        self.builder.lines = ["exit:"]
        if self.memory.has_streamed:
            streaming.fence(self.builder, self.machine.triple)
        return "\n".join([*lines, *self.builder.lines, "  ret void", "}", *self.texts])

    def pointer(self, array: Array) -> Register:
        """Return the address of an array's first element."""
        builder = self.builder
        if array.home in (Home.ARGUMENT, Home.SCALAR):
            slot = builder.offset(Register("%slots", "ptr"), constant(array.slot, "i64"), "i64")
            return slot if array.home is Home.SCALAR else builder.load(slot, "ptr", 1, 8)
        base = "%workspace" if self.placement.homes[array.name] is Home.WORKSPACE else "%scratch"
        return builder.offset(Register(base, "ptr"), constant(self.placement.offsets[array.name], "i64"), "i8")

    def item(self, index: Register, carried: list[Register]) -> list[Register]:
        with self.frames.inner():
            self.poll()
            self.decode(self.phase.outers, index)
            self.sequence(self.phase.body)
        return carried

    def poll(self) -> None:
        """Leave the function once the word at `stop` is set."""
        word = self.builder.load(Register("%stop", "ptr"), "i32", 1, 4)
        going = self.builder.fresh("going")
        self.builder.branch(self.builder.compare("icmp eq", word, constant(0, "i32")), going, "exit")
        self.builder.label(going)

    def decode(self, outers: tuple[Outer, ...], item: Register) -> None:
        """Set the symbols of the outer axes from an item's number."""
        for position, outer in enumerate(reversed(outers)):
            count = constant(outer.count, "i64")
            if outer.count == 1:
                index = constant(0, "i64")
            elif position == len(outers) - 1:
                index = item
            else:
                index, item = self.builder.binary("urem", item, count), self.builder.binary("udiv", item, count)
            self.bind(outer, index)

    def bind(self, outer: Outer, index: Register) -> None:
        if outer.block == 1:
            self.indices.bind(outer.symbol, index)
        elif outer.block < outer.extent:
            lower = self.builder.binary("mul", index, constant(outer.block, "i64"))
            self.indices.bind(outer.lower, lower)
            end, extent = self.builder.binary("add", lower, constant(outer.block, "i64")), constant(outer.extent, "i64")
            inside = self.builder.compare("icmp slt", end, extent)
            self.indices.bind(outer.upper, self.builder.select(inside, end, extent))

    # -- statements

    def sequence(self, statements: list[Statement]) -> None:
        for step in form_groups(statements, Indexing(self.program.ranges)):
            self.step(step)

    def step(self, step: Step) -> None:
        if isinstance(step, Group):
            self.group(step)
        elif isinstance(step, Walk):
            self.walk(step)
        elif isinstance(step, Repeat):
            self.repeat(step)
        else:
            self.choice(step)

    def group(self, group: Group) -> None:
        if group.tasks[0].contraction is not None:
            ContractionEmitter(self, group.tasks[0]).emit()
            return
        planned = loop_plan.plan(group, self.machine, self.program.ranges, self.schedule.unroll)
        nest = NestEmitter(self.builder, self.frames, self.indices, self.memory, planned, self.program.ranges)
        reduced = group.reduced
        streamed = streaming.streamed_target(group, planned, self.phase.body, self.schedule.streaming)
        if group.tasks[0].is_sequential:
            Sequential(nest, self.reserve_scratch).emit()
        elif streamed is not None:
            streaming.emit(nest, streamed)
        elif reduced is None:
            nest.elementwise()
        elif planned.vector is None or planned.vector.symbol in reduced:
            RegisterReduction(nest).emit()
        else:
            MemoryReduction(nest, self.reserve).emit()

    def reserve(self, task: Task, elements: int) -> Array:
        """Return scratch memory for a reduction's totals."""
        return self.reserve_scratch(f"total.{task.target.array.name}", task.dtype, elements)

    def reserve_scratch(self, name: str, dtype: DType, elements: int) -> Array:
        """Return scratch memory."""
        array = Array(f"{name}{next(self.numbers)}", dtype, (elements,), Home.SCRATCH)
        self.placement.place(array, Home.SCRATCH)
        self.memory.pointers[array.name] = self.pointer(array)
        return array

    # -- what contractions need

    def task(self, task: Task) -> None:
        """Emit one task."""
        for access in (*task.reads, task.target):
            if access.array.name not in self.memory.pointers:
                self.memory.pointers[access.array.name] = self.pointer(access.array)
        self.group(Group([task], loops_of(task)))

    def scratch(self, stem: str, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Return new scratch memory."""
        array = Array(f"{stem}{next(self.numbers)}", dtype, shape, Home.SCRATCH)
        self.placement.place(array, Home.SCRATCH)
        self.memory.pointers[array.name] = self.pointer(array)
        return array

    def function(self, kernel: MicroKernel) -> str:
        """Return the symbol of a micro-kernel, which the phase's text defines once."""
        if kernel not in self.kernels:
            symbol = f"{self.symbol}_micro{len(self.kernels)}"
            builder = FunctionBuilder.for_machine(self.machine)
            self.texts.append(kernel.emit(symbol, builder, self.attributes))
            self.builder.declarations |= builder.declarations
            self.kernels[kernel] = symbol
        return self.kernels[kernel]

    def fresh_symbol(self, limits: affine.Bounds) -> Symbol:
        """Return a new index symbol."""
        symbol = Symbol(f"c{next(self.numbers):04d}")
        self.program.ranges[symbol] = limits
        return symbol

    # -- loops and branches

    def walk(self, statement: Walk) -> None:
        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with self.frames.inner():
                self.decode(statement.outers, index)
                self.sequence(statement.body)
            return carried

        control.loop(self.builder, constant(0, "i64"), constant(statement.count, "i64"), 1, [], turn)

    def repeat(self, statement: Repeat) -> None:
        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with self.frames.inner():
                self.indices.bind(statement.symbol, index)
                self.poll()
                self.sequence(statement.body)
            return carried

        start, stop = self.indices.scalar(statement.start), self.indices.scalar(statement.stop)
        control.loop(self.builder, start, stop, statement.step, [], turn)

    def choice(self, statement: Choice) -> None:
        predicate = {"<": "slt", "<=": "sle", "==": "eq", "!=": "ne"}[statement.condition.comparison]
        left, right = self.indices.scalar(statement.left), self.indices.scalar(statement.right)
        condition = self.builder.compare(f"icmp {predicate}", left, right)
        control.branch(
            self.builder, condition, lambda: self.side(statement.then_body), lambda: self.side(statement.else_body)
        )

    def side(self, statements: list[Statement]) -> None:
        with self.frames.inner():
            self.sequence(statements)
