"""The static cost model of the CPU target: seconds of one launch of what the emitter would write down.

It walks the emitter's own plan: phases, items, loop nests, products. Instructions cost what their units and latencies
say (`cpu_loops`, `cpu_products`); bytes cost what the memory that holds them delivers: an argument comes from where a
repeated launch finds it (the smallest memory that holds all arguments), what an item touches again from where the
item's own working set lies. Both overlap in part. Threads share the chunks of a phase evenly, and the outer memories.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.codegen.llvm import affine, loop_plan, streaming
from pypto.codegen.llvm.code import Layout, Machine
from pypto.codegen.llvm.contraction_shape import blocking, step_of
from pypto.codegen.llvm.emitter import PlannedKernel, planned_kernels
from pypto.codegen.llvm.evaluation import Indexing
from pypto.codegen.llvm.groups import Group, form_groups
from pypto.codegen.llvm.loop_plan import LoopPlan
from pypto.codegen.llvm.phases import PhasePlan
from pypto.codegen.llvm.program import Access, Array, Axis, Choice, Home, Repeat, Statement, Walk, tasks
from pypto.ir.index import Symbol
from pypto.ir.nodes import Module
from pypto.ir.schedule import Schedule, with_schedule
from pypto.runtime.tuning.cpu_figures import Figures, Level, figures
from pypto.runtime.tuning.cpu_loops import LoopCosts
from pypto.runtime.tuning.cpu_products import contraction_cycles

FULL_LINES, SPLIT_LINES = 1.0, 3.0
"""What a byte stored past the caches costs, relative to one that leaves in a whole line."""
SHORT_SECONDS = 16e-6
"""Launches up to here stay on one thread (see `pypto.runtime.launcher`)."""


@dataclass(frozen=True, slots=True)
class CpuModel:
    """Predicts launches on this machine, or on one like it with `threads` threads.

    `cold`: arguments come from memory, as when the caches are emptied before each launch; else from where a launch
    right after another finds them.
    """

    layouts: Mapping[str, Layout]
    machine: Machine
    threads: int = 1
    cold: bool = False
    source: str = "modelled:cpu"

    def predict(self, module: Module, schedule: Schedule) -> float:
        """Return seconds of one launch of `module` (level tile, extents known) under `schedule`."""
        known = figures()
        kernels = planned_kernels(with_schedule(module, schedule), self.layouts, self.machine)
        home = known.levels[-1] if self.cold else known.level(_argument_bytes(kernels))
        phases = [_PhaseCost(known, kernel, phase, home) for kernel in kernels for phase in kernel.phases]
        alone = known.call + sum(item.cycles(1) for item in phases)
        threads = min(self.threads, schedule.threads or self.threads)
        if threads == 1 or alone <= SHORT_SECONDS * known.gigahertz * 1e9:
            return alone / known.gigahertz * 1e-9
        return (known.call + sum(item.cycles(threads) for item in phases)) / known.gigahertz * 1e-9


def _argument_bytes(kernels: list[PlannedKernel]) -> int:
    """Return the bytes of all arguments and of what phases hand to each other."""
    arrays: dict[str, int] = {}
    workspace = 0
    for kernel in kernels:
        workspace = max(workspace, kernel.placement.workspace)
        for phase in kernel.phases:
            for access in _accesses(phase.body):
                if access.array.home is Home.ARGUMENT:
                    arrays[access.array.name] = math.prod(access.array.shape) * access.array.dtype.bytes
    return sum(arrays.values()) + workspace


def _accesses(statements: list[Statement]) -> list[Access]:
    return [access for task in tasks(statements) for access in (*task.reads, task.target)]


@dataclass(slots=True)
class _Touch:
    """What one item does with one array: bytes it touches, runs of contiguous elements, whether they change with the
    item, whether it writes them (past the caches).
    """

    bytes: float = 0.0
    runs: float = 0.0
    varies: bool = False
    writes: bool = False
    past: float = 0.0
    again: float = 0.0
    """Bytes read or written after they were touched first."""


@dataclass(slots=True)
class _PhaseCost:
    """Costs one phase."""

    figures: Figures
    kernel: PlannedKernel
    phase: PhasePlan
    home: Level
    touches: dict[str, _Touch] = field(default_factory=dict)
    compute: float = 0.0
    ranges: dict[Symbol, affine.Bounds] = field(default_factory=dict)

    def __post_init__(self) -> None:
        uppers = {outer.upper: (1, outer.extent) for outer in self.phase.outers}
        self.ranges = {**self.kernel.program.ranges, **uppers}

    def cycles(self, threads: int) -> float:
        """Return the cycles of the phase on `threads` threads."""
        if self.phase.items == 0 or not self.phase.body:
            return 0.0
        if not self.touches:
            self.visit(self.phase.body, 1.0)
        chunks = -(-self.phase.items // self.phase.grain)
        rounds = -(-chunks // threads) if threads > 1 else chunks
        share = rounds / chunks
        crowd = 1 + (threads - 1) * (1 - self.home.shared) if threads > 1 else 1.0
        memory = self.memory() * crowd
        item = max(self.compute, memory) + (1 - self.figures.overlap) * min(self.compute, memory)
        start = self.figures.phase if threads > 1 else 0.0
        return start + share * self.phase.items * (item + self.figures.item) + rounds * self.figures.chunk

    # -- instructions

    def visit(self, statements: list[Statement], times: float) -> None:
        for step in form_groups(statements, Indexing(self.kernel.program.ranges)):
            if isinstance(step, Group):
                self.compute += times * self.group(step, times)
            elif isinstance(step, Walk):
                self.visit(step.body, times * step.count)
            elif isinstance(step, Repeat):
                self.visit(step.body, times * self.turns(step))
            else:
                assert isinstance(step, Choice)
                self.visit(step.then_body or step.else_body, times)

    def turns(self, repeat: Repeat) -> float:
        """Return the turns of a loop; half of those that only some items take."""
        low, high = affine.bounds(repeat.start, self.ranges), affine.bounds(repeat.stop, self.ranges)
        return max(1.0, ((high[0] + high[1]) / 2 - low[0]) / repeat.step) if low and high else 8.0

    def group(self, group: Group, times: float) -> float:
        kernel, task = self.kernel, group.tasks[0]
        if task.contraction is not None:
            self.touch(group, times, None, None)
            return contraction_cycles(task, kernel.machine, blocking(kernel.schedule), self.figures)
        plan = loop_plan.plan(group, kernel.machine, kernel.program.ranges, kernel.schedule.unroll)
        streamed = streaming.streamed_target(group, plan, self.phase.body, kernel.schedule.streaming)
        self.touch(group, times, streamed, plan)
        return LoopCosts(self.figures).group(group, plan)

    # -- memory

    def touch(self, group: Group, times: float, streamed: Access | None, plan: LoopPlan | None) -> None:
        """Note what a nest touches; `times` it runs in one item."""
        seen: set[tuple[str, object]] = set()
        for task in group.tasks:
            axes = {axis.symbol: axis for axis in task.axes}
            for access in (*task.reads, task.target):
                if access.array.home is Home.SCALAR or (access.array.name, access.index) in seen:
                    continue
                seen.add((access.array.name, access.index))
                self.enter(access, axes, times, access is task.target)
        if streamed is not None:
            touch = self.touches[streamed.array.name]
            touch.past = FULL_LINES
            if plan is not None and self.is_crowded(group, plan):
                touch.past = SPLIT_LINES

    def enter(self, access: Access, axes: Mapping[Symbol, Axis], times: float, writes: bool) -> None:
        size, runs, contiguous = _extent(access, axes)
        touch = self.touches.setdefault(access.array.name, _Touch())
        new = max(0.0, size - touch.bytes)
        touch.again += size * times - new
        touch.bytes += new
        touch.runs = max(touch.runs, runs / self.continued(contiguous, runs))
        touch.varies = touch.varies or self.varies(access)
        touch.writes = touch.writes or writes

    def continued(self, contiguous: frozenset[Symbol], runs: float) -> int:
        """Return how many consecutive items go on with one run: those of the innermost axis that items walk."""
        last = self.phase.outers[-1] if self.phase.outers else None
        return last.count if last is not None and runs == 1 and last.symbol in contiguous else 1

    def is_crowded(self, group: Group, plan: LoopPlan) -> bool:
        """True when stores past the caches leave in parts of lines.

        They gather in the buffers that misses use too. A nest that reads from afar at the same time drives them out
        early, unless each store is a whole line and few are under way.
        """
        written = {task.target.array.name for task in group.tasks}
        far = any(
            access.array.home is Home.ARGUMENT and access.array.name not in written and self.is_new(access)
            for task in group.tasks
            for access in task.reads
        )
        whole = plan.lanes * plan.nodes[-1].dtype.bits == 512
        return far and self.home is self.figures.levels[-1] and (not whole or plan.unroll > 4)

    def varies(self, access: Access) -> bool:
        """True when consecutive items touch other elements."""
        found = frozenset().union(*map(affine.symbols, access.index)) if access.index else frozenset()
        return any({outer.symbol, outer.lower, outer.upper} & found for outer in self.phase.outers if outer.count > 1)

    def is_new(self, access: Access) -> bool:
        """True when a nest is the first of an item to read an array, and other items read other parts of it."""
        return self.varies(access) and not self.touches[access.array.name].again

    def memory(self) -> float:
        """Return the cycles that one item waits for bytes beyond the first cache, were there nothing else to do."""
        working = sum(touch.bytes for touch in self.touches.values())
        near, first = self.figures.level(working), self.figures.levels[0]
        cycles = 0.0
        arrays = self.arrays()
        for name, touch in self.touches.items():
            is_far = arrays[name].home is Home.ARGUMENT or name in self.shared()
            level = self.home if is_far and touch.varies else near
            if is_far and not touch.varies:
                cycles += touch.bytes * self.home.read / self.phase.items
            if level is not first:
                cycles += self.first_touch(touch, level)
            if near is not first:
                cycles += touch.again * near.read
        return cycles

    def first_touch(self, touch: _Touch, level: Level) -> float:
        if touch.past:
            return touch.bytes * level.past * touch.past + touch.runs * level.run
        cost = level.write if touch.writes else level.read
        return touch.bytes * cost + touch.runs * level.run

    def shared(self) -> frozenset[str]:
        """Return the local arrays that other phases access too."""
        homes = self.kernel.placement.homes
        return frozenset(name for name in self.touches if homes.get(name) is Home.WORKSPACE)

    def arrays(self) -> dict[str, Array]:
        return {access.array.name: access.array for access in _accesses(self.phase.body)}


def _extent(access: Access, axes: Mapping[Symbol, Axis]) -> tuple[float, float, frozenset[Symbol]]:
    """Return the bytes that an access touches while its loops run, how many contiguous runs they are, and the axes
    that such a run goes along.
    """
    count = float(
        math.prod(
            _positions(index, extent, axes) for index, extent in zip(access.index, access.array.shape, strict=True)
        )
    )
    steps = sorted(
        (abs(step_of(access, symbol)), axis.extent, symbol.name, symbol)
        for symbol, axis in axes.items()
        if any(symbol in affine.symbols(index) for index in access.index)
    )
    run, contiguous = 1, set()
    for step, extent, _, symbol in steps:
        if step == run:
            run *= extent
            contiguous.add(symbol)
    run = min(run, int(count)) or 1
    size, runs = access.array.dtype.bytes, count / run
    return runs * (max(run * size, 64.0) if run > 1 or runs > 1 else size), runs, frozenset(contiguous)


def _positions(index: affine.Affine, extent: int, axes: Mapping[Symbol, Axis]) -> int:
    """Return how many positions of an array's axis the loops come to; windows that overlap count once."""
    linear = [(abs(count), atom) for atom, count in index.terms if isinstance(atom, Symbol) and atom in axes]
    if len(linear) < len(index.terms) and any(symbol in axes for symbol in affine.symbols(index)):
        return min(extent, math.prod(axes[symbol].extent for symbol in affine.symbols(index) if symbol in axes))
    most = math.prod(axes[atom].extent for _, atom in linear)
    return min(extent, most, sum(count * (axes[atom].extent - 1) for count, atom in linear) + 1)
