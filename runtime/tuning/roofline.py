"""A roofline of the NPU over planned IR, until there is a simulator: bytes and instructions against published rates.

Of every statement the pipe that runs it and the cycles that it takes there are known (figures and sources:
``codegen/targets/ascend910b1.toml``). A loop in which buffers rotate takes what its busiest pipe takes, others what all
pipes take one after the other. The first core has the most turns and decides; all cores together cannot read faster
than the device's memory delivers each argument once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.codegen.targets.target import Target, load_target
from pypto.ir.index import Bounds, Extent, Symbol, bounds
from pypto.ir.nodes import (
    For,
    If,
    Kernel,
    Load,
    Module,
    Operation,
    Parameter,
    Pipe,
    Region,
    Role,
    Statement,
    Store,
    Value,
)
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.layout import symbol_ranges
from pypto.ir.passes.pipes import Pipes
from pypto.ir.passes.slots import rotations
from pypto.ir.schedule import Schedule, with_schedule
from pypto.runtime.tuning.lowered import planned_module

REPEAT = 64
"""Elements of f32 in one repeat of a vector instruction."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Predicts launches of kernels on a chip."""

    chip: str = "ascend910b1"

    @property
    def source(self) -> str:
        return f"modelled:{self.chip}"

    def predict(self, module: Module, schedule: Schedule) -> float:
        """Return seconds of one launch of `module` (level tile) under `schedule`; raises what lowering raises."""
        return self.predict_planned(planned_module(with_schedule(module, schedule)))

    def predict_planned(self, planned: Module) -> float:
        """Return seconds of one launch of a module at level planned."""
        return sum(_KernelCost(kernel, load_target(self.chip)).seconds() for kernel in planned.kernels)


@dataclass(slots=True)
class _Cost:
    """Cycles of a sequence: busy ones by pipe, and what it takes when nothing overlaps; `moved`: bytes read."""

    busy: dict[Pipe, float] = field(default_factory=dict)
    serial: float = 0.0
    moved: float = 0.0

    def add(self, other: _Cost, times: float = 1.0) -> None:
        for pipe, cycles in other.busy.items():
            self.busy[pipe] = self.busy.get(pipe, 0.0) + cycles * times
        self.serial += other.serial * times
        self.moved += other.moved * times


@dataclass(slots=True)
class _KernelCost:
    kernel: Kernel
    target: Target
    pipes: Pipes = field(init=False)
    ranges: Mapping[Symbol, Bounds] = field(init=False)
    rotating: set[int] = field(init=False)
    """The loops in which buffers have several slots, by ``id``."""
    share: float = math.inf
    """Bytes per cycle of the device's memory that one core gets for what it reads."""

    def __post_init__(self) -> None:
        self.pipes, self.ranges = Pipes.of(self.kernel), symbol_ranges(self.kernel)
        self.rotating = {id(loop) for loop in rotations(self.kernel).values()}

    def figure(self, group: str, name: str) -> float:
        return self.target.quantity(group, name).value

    def seconds(self) -> float:
        cores = math.prod(self.size(axis.extent) for axis in self.kernel.grid)
        clock = self.figure("cores", "clock") * 1e6
        launch = (self.figure("launch", "kernel") + cores * self.figure("launch", "core")) * 1e-6
        device = self.figure("bandwidth", "hbm") * 1e9
        # What is written stays in L2, which is larger than most outputs; it is written back later.
        everything = sum(self.bytes_of(item) for item in self.kernel.parameters if item.role is not Role.OUT)
        moved = self.sequence(self.kernel.body).moved * cores
        # What is read again comes from L2, so the device's memory delivers only part of it.
        self.share = device / clock / max(1, cores) * max(1.0, moved / max(1, everything))
        return launch + max(self.sequence(self.kernel.body).serial / clock, everything / device)

    def bytes_of(self, parameter: Parameter) -> int:
        return math.prod(map(self.size, parameter.type.shape)) * parameter.type.dtype.bytes

    def size(self, extent: Extent) -> int:
        """Return the most that an extent can be."""
        found = bounds(extent, self.ranges)
        return max(0, found[1]) if found is not None else 1

    # -- control

    def sequence(self, body: tuple[Statement, ...]) -> _Cost:
        total = _Cost()
        for statement in body:
            total.add(self.statement(statement))
        return total

    def statement(self, statement: Statement) -> _Cost:
        if isinstance(statement, For):
            return self.loop(statement)
        if isinstance(statement, If):
            sides = self.sequence(statement.then_body), self.sequence(statement.else_body)
            return max(sides, key=lambda cost: cost.serial)
        pipe = self.pipes.pipe(statement)
        if pipe is None:
            return _Cost()
        cycles = self.cycles(statement, pipe)
        waits = self.figure("latency", "gm_to_ub") if isinstance(statement, Load) else 0.0
        moved = self.moved(statement) if isinstance(statement, Load) else 0.0
        return _Cost({pipe: cycles}, cycles + waits, moved)

    def loop(self, loop: For) -> _Cost:
        """Return the cost of a loop as the core with the most turns has it."""
        first = bounds(loop.start, self.ranges)
        low = first[0] if first is not None else 0
        turns = max(0, -(-(self.size(loop.stop) - low) // loop.step))
        one, total = self.sequence(loop.body), _Cost()
        total.add(one, turns)
        if id(loop) in self.rotating and turns > 1:
            busiest = max(one.busy.values(), default=0)
            total.serial = one.serial + (turns - 1) * busiest
        return total

    def moved(self, load: Load) -> float:
        return math.prod(map(self.size, load.result.shape)) * load.result.dtype.bytes

    # -- instructions

    def cycles(self, statement: Statement, pipe: Pipe) -> float:
        if isinstance(statement, Load):
            return self.copy(statement.region, self.kernel.parameter(statement.source), statement.result, pipe)
        if isinstance(statement, Store):
            return self.copy(statement.region, self.kernel.parameter(statement.target), statement.value, pipe)
        assert isinstance(statement, Operation)
        if TABLE[statement.name].category is Category.CUBE:
            return self.cube(statement)
        values = (*statement.operands, *statement.results)
        elements = max((math.prod(map(self.size, value.shape)) for value in values), default=1)
        if pipe is Pipe.S:
            return elements * self.figure("latency", "scalar_element")
        repeats = -(-elements // REPEAT)
        return self.figure("latency", "vector_instruction") + repeats * TABLE[statement.name].cost.cycles_per_repeat

    def copy(self, region: Region, parameter: Parameter, value: Value, pipe: Pipe) -> float:
        """Return the cycles of a copy: contiguous bursts, each in whole requests, at what one core gets of L2."""
        extents = [self.size(item.extent) for item in region]
        if pipe is Pipe.S:
            return math.prod(extents) * self.figure("latency", "scalar_element")
        burst = 1
        for extent, whole in zip(reversed(extents), reversed(parameter.type.shape), strict=True):
            burst *= extent
            if extent != whole:
                break
        request = self.figure("bandwidth", "request")
        width = math.ceil(burst * parameter.type.dtype.bytes / request) * request
        moved = math.prod(extents) / max(1, burst) * width
        rate = self.figure("bandwidth", self.rate(pipe, value))
        if pipe is Pipe.MTE2:
            rate = min(rate, self.share)
        return max(self.figure("latency", "copy_interval"), moved / rate)

    def rate(self, pipe: Pipe, value: Value) -> str:
        if pipe is Pipe.FIX:
            return "l0c_to_gm"
        if pipe is Pipe.MTE3:
            return "ub_to_gm"
        space = self.pipes.space(value)
        return "l2_vector_core" if space is None or space.value == "ub" else "l2_cube_core"

    def cube(self, operation: Operation) -> float:
        """Return the cycles of a cube instruction: fractals of 16 x 16, and of depth what the type allows."""
        shape = [self.size(extent) for extent in operation.results[0].shape]
        rows, columns = (-(-extent // 16) * 16 for extent in (1, *shape)[-2:])
        if operation.name in ("load_a", "load_b", "load_bias"):
            rate = self.figure("bandwidth", "l1_to_l0a" if operation.name == "load_a" else "l1_to_l0b")
            return self.figure("latency", "l1_to_l0") + rows * columns * operation.results[0].dtype.bytes / rate
        left = operation.operands[1]
        depth = self.size(left.shape[-1])
        per_cycle = self.figure("cube", f"k_{left.dtype.name}")
        return self.figure("latency", "mmad") + rows * columns / 256 * math.ceil(depth / per_cycle)
