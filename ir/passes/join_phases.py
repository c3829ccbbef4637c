"""Kernels that follow each other become phases of one kernel, with barriers where blocks need what others have made.

A phase is the body of a kernel, run by the blocks that it had. A barrier stands between two phases when different
blocks touch the same elements, one of them writing, and no barrier between others serves them; where all that meet are
in one block, its pipes order them. A barrier is set behind the last phase that it is needed for and waited for before
the first: blocks go on in between.

Blocks can wait for each other only when all run at once. Kernels with more of them than the chip has cores, those of
the cube cores, and those that read arrays element by element (which the data cache of a core would not see change)
stay launches of their own; the attribute ``notes`` says so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pypto.ir.blocks import block_accesses
from pypto.ir.index import Symbol
from pypto.ir.nodes import (
    Attribute,
    Buffer,
    Condition,
    For,
    GridAxis,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Pipe,
    Space,
    Statement,
    walk,
)
from pypto.ir.passes.apply_tiles import core_limit
from pypto.ir.passes.fuse_kernels import stages_of
from pypto.ir.passes.layout import row_multiple
from pypto.ir.passes.manager import ModulePass
from pypto.ir.passes.merge_kernels import accesses, joined_parts, kept_apart, waits_for
from pypto.ir.passes.pipes import Pipes
from pypto.ir.passes.plan_addresses import packed
from pypto.ir.passes.rotate_buffers import noted
from pypto.ir.rename import rename_buffers
from pypto.ir.verification.barriers import BARRIER_IDS, block_count, has_barriers

MOST_STATEMENTS = 500
"""Statements of a joined kernel."""

MOST_ACCESSES = 100_000
"""Loads and stores of all blocks of a kernel beyond which it is not looked at, to keep compiling fast."""


def join_phases(module: Module) -> Module:
    """Return `module` (level *buffered*) with runs of kernels of the vector cores joined."""
    if len(module.kernels) < 2:
        return module
    kernels: list[Kernel] = []
    run: list[Kernel] = []
    for kernel in module.kernels:
        why = _apart(kernel)
        if why is None:
            if run and (_length(run) + _length([kernel]) > MOST_STATEMENTS or _differ(run[-1], kernel)):
                kernels += _joined(run)
                run = []
            run.append(kernel)
            continue
        kernels += [*_joined(run), noted(kernel, f"a launch of its own: {why}") if why else kernel]
        run = []
    return replace(module, kernels=(*kernels, *_joined(run)))


def _apart(kernel: Kernel) -> str | None:
    """Return why `kernel` stays a launch of its own, in words or "" where that is clear; None for a phase."""
    if any(buffer.space is not Space.UB for buffer in kernel.buffers) or has_barriers(kernel) or len(kernel.grid) > 1:
        return ""
    blocks = block_count(kernel)
    if blocks is None:
        return ""
    if blocks > core_limit(kernel):
        return f"{blocks} blocks cannot wait for each other on {core_limit(kernel)} cores"
    pipes = Pipes.of(kernel)
    scalar = [item for item in walk(kernel.body) if isinstance(item, Load) and pipes.pipe(item) is Pipe.S]
    if scalar:
        return f"it reads {scalar[0].source} element by element, through the data cache"
    turns = _turns(kernel.body) * blocks
    return f"{turns} copies are too many to look at" if turns > MOST_ACCESSES else None


def _differ(one: Kernel, other: Kernel) -> bool:
    """Return whether two kernels pad rows differently: buffers have their sizes by that."""
    return row_multiple(one) != row_multiple(other)


def _length(kernels: Sequence[Kernel]) -> int:
    return sum(1 for kernel in kernels for _ in walk(kernel.body))


def _turns(body: tuple[Statement, ...]) -> int:
    """Return about how many loads and stores a block makes."""
    total = 0
    for statement in body:
        if isinstance(statement, For):
            bounded = isinstance(statement.stop, int)
            trips = -(-int(str(statement.stop)) // statement.step) if bounded else 2
            total += max(1, trips) * _turns(statement.body)
        else:
            total += sum(1 for _ in accesses((statement,)))
    return total


# -- which phases meet


@dataclass(frozen=True, slots=True)
class Touches:
    """What the blocks of a phase do to one array: block, whether it writes, and the box, of each access."""

    blocks: NDArray[np.int64]
    writes: NDArray[np.bool_]
    boxes: NDArray[np.int64]

    def meets(self, other: Touches) -> bool:
        """Return whether two different blocks touch one element, one of them writing."""
        found = (self.blocks[:, None] != other.blocks[None, :]) & (self.writes[:, None] | other.writes[None, :])
        for axis in range(self.boxes.shape[1]):
            low, high = self.boxes[:, axis, 0], self.boxes[:, axis, 1]
            first, last = other.boxes[:, axis, 0], other.boxes[:, axis, 1]
            found &= (low[:, None] < last[None, :]) & (first[None, :] < high[:, None])
        return bool(found.any())


def touches_of(kernel: Kernel) -> dict[str, Touches]:
    """Return what the blocks of a kernel touch, by array."""
    found: dict[str, dict[tuple[int, bool, tuple[tuple[int, int], ...]], None]] = {}
    for item in block_accesses(kernel):
        box = tuple((low, high) for low, high, _ in item.intervals)
        if all(low < high for low, high in box):
            found.setdefault(item.array, {})[item.block, item.is_write, box] = None
    return {array: _table(list(items)) for array, items in found.items()}


def _table(items: Sequence[tuple[int, bool, tuple[tuple[int, int], ...]]]) -> Touches:
    boxes = np.array([box for _, _, box in items], np.int64).reshape(len(items), -1, 2)
    return Touches(np.array([block for block, _, _ in items]), np.array([write for _, write, _ in items]), boxes)


def _meet(one: dict[str, Touches], other: dict[str, Touches]) -> bool:
    return any(one[name].meets(other[name]) for name in one.keys() & other.keys())


# -- where barriers stand


@dataclass(slots=True)
class Gate:
    """A barrier: set behind phase `behind`, waited for before phase `before`."""

    behind: int
    before: int
    identifier: int = 0


def gates_of(phases: Sequence[dict[str, Touches]], asked: Sequence[tuple[int, int]] = ()) -> list[Gate]:
    """Return the fewest barriers, in order, so that each phase finds what it needs of others; `asked` are pairs of
    phases (earlier, later) that are to be kept apart in any case.

    Each is waited for before the next one is set, so that ids can be used again.
    """
    gates: list[Gate] = []
    latest: dict[str, list[int]] = {}
    for number, phase in enumerate(phases):
        served = gates[-1].behind if gates else -1
        near = {other for name in phase for other in latest.get(name, ()) if other > served}
        needed = [other for other in near if _meet(phases[other], phase)]
        needed += [first for first, second in asked if second == number and first > served]
        if needed and gates and max(needed) < gates[-1].before:
            gates[-1].behind = max(needed)
        elif needed:
            gates.append(Gate(max(needed), number))
        for name in phase:
            latest.setdefault(name, []).append(number)
    for number, gate in enumerate(gates):
        gate.identifier = number % BARRIER_IDS
    return gates


# -- one kernel


def _joined(run: Sequence[Kernel]) -> Iterator[Kernel]:
    """Yield one kernel with a phase for each of `run`."""
    if len(run) < 2:
        yield from run
        return
    blocks = max(block_count(kernel) or 1 for kernel in run)
    phases = [touches_of(kernel) for kernel in run]
    join = _Join(blocks, any(kernel.grid for kernel in run))
    for kernel in run:
        join.add(kernel)
    made = join.made(gates_of(phases, asked_barriers(run)))
    if packed(made) is None:
        yield from (
            noted(kernel, "a launch of its own: its tiles and those of others find no addresses") for kernel in run
        )
    else:
        yield made


def asked_barriers(run: Sequence[Kernel]) -> list[tuple[int, int]]:
    """Return the pairs of phases between which the user wrote a barrier; one that blocks is waited for at once."""
    place = {name: number for number, kernel in enumerate(run) for name in stages_of(kernel)}
    found = []
    for number, kernel in enumerate(run):
        for name, blocking in waits_for(kernel).items():
            if name in place:
                found.append((place[name], place[name] + 1 if blocking else number))
    return found


@dataclass(slots=True)
class _Join:
    """A kernel of `blocks` blocks in the making; `has_grid`: they have numbers."""

    blocks: int
    has_grid: bool
    whole: Kernel | None = None
    phases: list[tuple[Statement, ...]] = field(default_factory=list)
    locations: list[Kernel] = field(default_factory=list)

    def add(self, kernel: Kernel) -> None:
        participating = block_count(kernel) or 1
        kernel = self.on_grid(kernel)
        before = self.whole
        if before is not None:
            kernel = apart_buffers(kept_apart(kernel, before), before)
        body = kernel.body
        if participating < self.blocks:
            condition = Condition(kernel.grid[0].symbol, "<", participating)
            body = (If(condition, body, (), (), (), (), kernel.location),)
        self.phases.append(body)
        self.locations.append(kernel)
        together = tuple(item for phase in self.phases for item in phase)
        if before is None:
            self.whole = replace(kernel, body=together)
        else:
            joined, buffers = joined_parts(before, kernel, together), before.buffers + kernel.buffers
            self.whole = replace(joined, buffers=buffers, attributes=joined_attributes(joined, kernel))

    def on_grid(self, kernel: Kernel) -> Kernel:
        """Return `kernel` with the grid of the whole, of which it may use the first blocks only."""
        if not self.has_grid:
            return kernel
        symbol = kernel.grid[0].symbol if kernel.grid else _free_symbol(kernel)
        return replace(kernel, grid=(GridAxis(symbol, self.blocks),))

    def made(self, gates: Sequence[Gate]) -> Kernel:
        assert self.whole is not None
        body: list[Statement] = []
        for number, phase in enumerate(self.phases):
            where = self.locations[number].location
            body += [_barrier("wait_barrier", gate, where) for gate in gates if gate.before == number]
            body += phase
            body += [_barrier("set_barrier", gate, where, self.blocks) for gate in gates if gate.behind == number]
        return replace(self.whole, body=tuple(body))


def joined_attributes(joined: Kernel, phase: Kernel) -> tuple[tuple[str, Attribute], ...]:
    """Return the attributes of what was joined, with the loops of `phase` whose turns are independent."""
    attributes, own = dict(joined.attributes), dict(phase.attributes)
    for name in ("independent", "notes"):
        before, more = attributes.get(name, ()), own.get(name, ())
        assert isinstance(before, tuple) and isinstance(more, tuple)
        both = tuple(dict.fromkeys((*before, *more)))
        if both:
            attributes[name] = both
    return tuple(sorted(attributes.items()))


def _free_symbol(kernel: Kernel) -> Symbol:
    taken = {item.index.name for item in walk(kernel.body) if isinstance(item, For)}
    names = itertools.chain(("core",), (f"core{number}" for number in itertools.count()))
    return Symbol(next(name for name in names if name not in taken))


def apart_buffers(kernel: Kernel, other: Kernel) -> Kernel:
    """Return `kernel` with buffers that have other names than those of `other`."""
    taken = {buffer.name for buffer in other.buffers}
    names: dict[str, str] = {}
    numbers = itertools.count(len(taken))
    for buffer in kernel.buffers:
        names[buffer.name] = next(f"b{number}" for number in numbers if f"b{number}" not in taken)
    buffers: tuple[Buffer, ...] = tuple(replace(item, name=names[item.name]) for item in kernel.buffers)
    return replace(kernel, buffers=buffers, body=rename_buffers(kernel.body, names))


def _barrier(name: str, gate: Gate, where: object, participants: int | None = None) -> Operation:
    attributes: list[tuple[str, Attribute]] = [("barrier_id", gate.identifier)]
    if participants is not None:
        attributes.append(("participants", participants))
    return Operation(name, (), (), tuple(attributes), where)  # type: ignore[arg-type]


JOIN_PHASES = ModulePass("join_phases", Level.BUFFERED, Level.BUFFERED, join_phases)
