"""All blocks of a kernel at once: barriers that they wait for each other at, and who may touch what before whom.

Every block is a `Machine` of its own; they meet at barriers only. Blocks touch different elements of arrays in global
memory, or a barrier lies between: the block that was first has set it afterwards, the other has waited for it before.
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pypto.ir.engine.clocks import NUMBERS, Clock, Clocks, cells_of
from pypto.ir.engine.machine import PIPES, SCALAR, Fault, Machine, Order, is_meeting, show
from pypto.ir.engine.program import Array, Flag, Kind, Program, Step
from pypto.ir.index import Symbol, evaluate
from pypto.ir.nodes import Kernel, Load, Region, Statement, Store
from pypto.ir.passes.pipes import Pipes

ROWS = 256
"""Touches that are compared with all others at a time."""


def blocks_of(kernel: Kernel, symbols: Mapping[Symbol, int]) -> Iterator[dict[Symbol, int]]:
    """Yield the values of the grid's symbols in each block."""
    ranges = [range(evaluate(axis.extent, symbols)) for axis in kernel.grid]
    for block in itertools.product(*ranges):
        yield {axis.symbol: number for axis, number in zip(kernel.grid, block, strict=True)}


@dataclass(slots=True)
class Meeting:
    """How often each barrier was set by how many blocks."""

    participants: int
    arrived: Counter[Flag] = field(default_factory=Counter)

    def is_complete(self, flag: Flag, times: int) -> bool:
        return self.arrived[flag] >= times * self.participants


@dataclass(slots=True)
class Core(Machine):
    """One block among others that share `meeting`."""

    meeting: Meeting = field(default_factory=lambda: Meeting(1))
    passed: Counter[Flag] = field(default_factory=Counter)
    set: Counter[Flag] = field(default_factory=Counter)

    def can_start(self, step: Step) -> bool:
        if step.kind is Kind.WAIT and is_meeting(step.flag):
            return step.flag in self.raised and self.meeting.is_complete(step.flag, self.passed[step.flag] + 1)
        return Machine.can_start(self, step)

    def begin(self, step: Step) -> None:
        Machine.begin(self, step)
        if step.kind is Kind.WAIT and is_meeting(step.flag):
            self.passed[step.flag] += 1

    def end(self, step: Step) -> None:
        Machine.end(self, step)
        if step.kind is Kind.SET and is_meeting(step.flag):
            self.set[step.flag] += 1
            self.meeting.arrived[step.flag] += 1

    @property
    def waits_at(self) -> Flag | None:
        """The barrier that the block waits at."""
        queue = self.queues[SCALAR]
        return queue[0].flag if queue and queue[0].kind is Kind.WAIT and is_meeting(queue[0].flag) else None


def run_all(cores: Sequence[Core], order: Order) -> list[Fault]:
    """Run loaded cores in turns of random length until none can go on; return all faults, deadlocks included."""
    chance = random.Random(order.seed)
    going = True
    while going:
        going = False
        for core in chance.sample(cores, len(cores)):
            for _ in range(1 + chance.randrange(40)):
                if not core.turn(order):
                    break
                going = True
    faults = [fault for core in cores for fault in core.ended() if not _is_wait_for_others(core, fault)]
    return faults + list(_deadlock(cores))


def _is_wait_for_others(core: Core, fault: Fault) -> bool:
    queue = core.queues[SCALAR]
    return core.waits_at is not None and fault.statement is queue[0].statement and "deadlock" in fault.what


def _deadlock(cores: Sequence[Core]) -> Iterator[Fault]:
    """Yield one fault for blocks that wait at barriers for ever, with the cycle in words."""
    waiting = [number for number, core in enumerate(cores) if core.waits_at is not None]
    if not waiting:
        return
    number, seen, words = waiting[0], list[int](), "deadlock: "
    while number not in seen:
        flag = cores[number].waits_at
        if flag is None:
            words += f"block {number}, which ends without setting it"
            break
        words += f"block {number}{', which' if seen else ''} waits at {show(flag)} for "
        seen.append(number)
        number = _missing(cores, flag, cores[number].passed[flag] + 1)
    else:
        words += f"block {number}"
    yield Fault(words, cores[seen[0]].queues[SCALAR][0].statement)


def _missing(cores: Sequence[Core], flag: Flag, times: int) -> int:
    """Return a block that has not set `flag` so often, one that waits elsewhere if there is any."""
    absent = [number for number, core in enumerate(cores) if core.set[flag] < times]
    return next((number for number in absent if cores[number].waits_at is not None), absent[0] if absent else 0)


# -- who touches what before whom


@dataclass(frozen=True, slots=True)
class Touch:
    """What one block does to a part of an array in global memory.

    `told`: the first barrier, in the order of the block, that says it has finished. `knows`: how many barriers the
    block had passed before.
    """

    block: int
    box: tuple[tuple[int, int], ...]
    is_write: bool
    told: int
    knows: int
    statement: Statement


@dataclass(slots=True)
class Crossing(Clocks):
    """Observer of one block: besides what `Clocks` does, what is touched in global memory and what barriers tell."""

    found: list[tuple[str, tuple[tuple[int, int], ...], bool, int, int, int, Statement]] = field(default_factory=list)
    messages: list[Clock] = field(default_factory=list)
    set: list[Flag] = field(default_factory=list)
    passed: int = 0

    def start(self, step: Step) -> None:
        Clocks.start(self, step)
        statement = step.statement
        if isinstance(statement, (Load, Store)):
            array = statement.source if isinstance(statement, Load) else statement.target
            pipe, is_write = NUMBERS[step.pipe], isinstance(statement, Store)
            box = box_of(statement.region, step.symbols)
            self.found.append((array, box, is_write, pipe, self.issued[pipe], self.passed, statement))

    def raise_flag(self, step: Step) -> None:
        Clocks.raise_flag(self, step)
        if is_meeting(step.flag):
            self.messages.append(self.told[step.flag])
            self.set.append(step.flag)

    def lower_flag(self, step: Step) -> None:
        Clocks.lower_flag(self, step)
        if is_meeting(step.flag):
            last = len(self.set) - 1 - self.set[::-1].index(step.flag)
            self.passed = max(self.passed, last + 1)

    def touches(self, block: int) -> Iterator[tuple[str, Touch]]:
        told = [[message[pipe] for message in self.messages] for pipe in range(len(PIPES))]
        for array, box, is_write, pipe, position, knows, statement in self.found:
            yield array, Touch(block, box, is_write, bisect.bisect_left(told[pipe], position), knows, statement)


def box_of(region: Region, symbols: Mapping[Symbol, int]) -> tuple[tuple[int, int], ...]:
    """Return per axis the first element of a region and one past the last."""
    box = []
    for item in region:
        offset, extent = evaluate(item.offset, symbols), evaluate(item.extent, symbols)
        ends = (offset, offset + (extent - 1) * item.step)
        box.append((min(ends), max(ends) + 1) if extent else (0, 0))
    return tuple(box)


def crossing_faults(kernel: Kernel) -> list[Fault]:
    """Return the faults between the blocks of `kernel` (level *buffered* or below, extents in numbers): races that no
    barrier prevents, barriers that some blocks wait at for ever."""
    scalars: dict[str, Array] = {
        item.name: np.zeros((), item.type.dtype.numpy) for item in kernel.parameters if item.scalar
    }
    cells = cells_of(kernel, Pipes.of(kernel))
    meeting, cores = Meeting(1), list[Core]()
    touches: dict[str, list[Touch]] = {}
    for number, block in enumerate(blocks_of(kernel, {})):
        observer = Crossing(cells)
        alone = Machine(observer)
        alone.run(Program(kernel, None, dict(block), scalars).steps())
        for array, touch in observer.touches(number):
            touches.setdefault(array, []).append(touch)
        cores.append(Core(_Silent(), meeting=meeting))
        cores[-1].load(_synchronisation(Program(kernel, None, dict(block), scalars)))
    meeting.participants = len(cores)
    stuck = [fault for fault in run_all(cores, Order("early")) if "block" in fault.what]
    return stuck + [fault for items in touches.values() for fault in _races(items)]


def _synchronisation(program: Program) -> Iterator[Step]:
    """Yield only the barriers between blocks."""
    for step in program.steps():
        if step.kind in (Kind.SET, Kind.WAIT) and is_meeting(step.flag):
            yield step


class _Silent:
    """Observer: nothing."""

    def start(self, step: Step) -> None:
        """Work is of no interest."""

    finish = raise_flag = lower_flag = barrier = start


def _races(touches: Sequence[Touch]) -> Iterator[Fault]:
    """Yield one fault for each pair of statements by which two blocks touch an element in an order that nothing
    fixes."""
    if not any(item.is_write for item in touches):
        return
    touches, axis = _along_one_axis(touches)
    table = _Table.of(touches)
    reported: set[frozenset[int]] = set()
    for start in range(0, len(touches), ROWS):
        rows = slice(start, min(start + ROWS, len(touches)))
        columns = table.near(rows, axis)
        for row, column in np.argwhere(table.unordered(rows, columns)):
            one, other = touches[start + int(row)], touches[columns.start + int(column)]
            key = frozenset((id(one.statement), id(other.statement)))
            if one.block < other.block and key not in reported:
                reported.add(key)
                name = one.statement.target if isinstance(one.statement, Store) else _source(one.statement)
                what = f"blocks {one.block} and {other.block} race on gm:{name}"
                yield Fault(what, other.statement, one.statement)


def _along_one_axis(touches: Sequence[Touch]) -> tuple[list[Touch], int | None]:
    """Return touches sorted along the axis that they are shortest on, and that axis; None without axes."""
    if not touches[0].box:
        return list(touches), None
    boxes = np.array([item.box for item in touches], np.int64)
    span = np.maximum(boxes[:, :, 1].max(axis=0) - boxes[:, :, 0].min(axis=0), 1)
    axis = int(((boxes[:, :, 1] - boxes[:, :, 0]).max(axis=0) / span).argmin())
    return sorted(touches, key=lambda item: item.box[axis][0]), axis


def _source(statement: Statement) -> str:
    return statement.source if isinstance(statement, Load) else ""


@dataclass(frozen=True, slots=True)
class _Table:
    """The touches of one array as columns of numbers."""

    block: NDArray[np.int64]
    told: NDArray[np.int64]
    knows: NDArray[np.int64]
    is_write: NDArray[np.bool_]
    boxes: NDArray[np.int64]

    @staticmethod
    def of(touches: Sequence[Touch]) -> _Table:
        return _Table(
            np.array([item.block for item in touches]),
            np.array([item.told for item in touches]),
            np.array([item.knows for item in touches]),
            np.array([item.is_write for item in touches]),
            np.array([item.box for item in touches], np.int64).reshape(len(touches), -1, 2),
        )

    def near(self, rows: slice, axis: int | None) -> slice:
        """Return which touches may meet any of `rows`, when all are sorted along `axis`."""
        if axis is None:
            return slice(0, len(self.block))
        low, high = self.boxes[:, axis, 0], self.boxes[:, axis, 1]
        longest = int((high - low).max())
        first = int(np.searchsorted(low, int(low[rows].min()) - longest, "right"))
        return slice(first, max(first, int(np.searchsorted(low, int(high[rows].max()), "left"))))

    def unordered(self, rows: slice, columns: slice) -> NDArray[np.bool_]:
        """Return which touches of `rows` meet which of `columns` with no barrier between."""
        found: NDArray[np.bool_] = self.block[rows, None] != self.block[None, columns]
        found &= self.is_write[rows, None] | self.is_write[None, columns]
        found &= self.told[rows, None] >= self.knows[None, columns]
        found &= self.knows[rows, None] <= self.told[None, columns]
        for axis in range(self.boxes.shape[1]):
            low, high = self.boxes[:, axis, 0], self.boxes[:, axis, 1]
            found &= (low[rows, None] < high[None, columns]) & (low[None, columns] < high[rows, None])
        return found
