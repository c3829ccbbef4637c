"""A cube core and the two vector cores beside it: they run one block of a mixed kernel, ordered by flags that count.

A flag between them is counted up when everything ahead of it in a pipe has finished. What the cube core counts up each
of its vector cores sees; what both vector cores have counted up the cube core sees. Waiting holds up issuing, and with
it all pipes of the core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pypto.ir.engine.clocks import NUMBERS, Clock, Clocks, Piece, Touched, cells_of
from pypto.ir.engine.cores import Core, Meeting, box_of
from pypto.ir.engine.machine import PIPES, SCALAR, Fault, Observer
from pypto.ir.engine.program import Array, Facts, Kind, Program, Scenario, Step
from pypto.ir.index import Symbol
from pypto.ir.nodes import Kernel, Load, Statement, Store
from pypto.ir.passes.pipes import CUBE, VECTOR, Access
from pypto.ir.passes.slots import SUB_BLOCKS
from pypto.ir.verification.cross_flags import LARGEST_COUNT

CORES = ("cube", *(f"vector {number}" for number in range(SUB_BLOCKS)))
Box = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Signals:
    """What each of `count` cores has been told and has not yet waited for, by flag and sender, oldest first."""

    count: int = len(CORES)
    inboxes: dict[tuple[int, int, int], deque[Clock]] = field(default_factory=dict)

    def inbox(self, receiver: int, flag: int, sender: int) -> deque[Clock]:
        return self.inboxes.setdefault((receiver, flag, sender), deque())

    def others(self, core: int) -> range:
        """Return the cores at the other end of the flags of `core`."""
        return range(1) if core else range(1, self.count)

    def give(self, sender: int, flag: int, message: Clock) -> bool:
        """Count a flag up; return whether the counters hold it."""
        boxes = [self.inbox(receiver, flag, sender) for receiver in self.others(sender)]
        for box in boxes:
            box.append(message)
        return all(len(box) <= LARGEST_COUNT for box in boxes)

    def is_ready(self, receiver: int, flag: int) -> bool:
        return all(self.inbox(receiver, flag, sender) for sender in self.others(receiver))

    def take(self, receiver: int, flag: int) -> list[Clock]:
        return [self.inbox(receiver, flag, sender).popleft() for sender in self.others(receiver)]

    def left(self) -> Iterator[tuple[int, int]]:
        """Yield the flags, and the cores, that were counted up and never waited for."""
        for (receiver, flag, _), box in self.inboxes.items():
            if box:
                yield flag, receiver


class Listener(Protocol):
    """What an observer of clocks adds for a group: what a core knows when it tells, and learns when it has waited."""

    def speak(self, step: Step) -> Clock: ...

    def hear(self, step: Step, messages: Iterable[Clock]) -> None: ...


@dataclass(slots=True)
class GroupCore(Core):
    """One core of a group, number `index` of CORES. Without a `listener` nobody keeps clocks."""

    signals: Signals = field(default_factory=Signals)
    index: int = 0
    listener: Listener | None = None

    def can_start(self, step: Step) -> bool:
        if step.kind is Kind.AWAIT:
            return self.signals.is_ready(self.index, step.flag[2])
        return step.kind is Kind.SIGNAL or Core.can_start(self, step)

    def begin(self, step: Step) -> None:
        if step.kind is Kind.SIGNAL:
            self.running[step.pipe].append(step)
        elif step.kind is Kind.AWAIT:
            messages = self.signals.take(self.index, step.flag[2])
            if self.listener is not None:
                self.listener.hear(step, messages)
        else:
            Core.begin(self, step)

    def end(self, step: Step) -> None:
        if step.kind is not Kind.SIGNAL:
            Core.end(self, step)
            return
        self.running[step.pipe].remove(step)
        message = [] if self.listener is None else self.listener.speak(step)
        if not self.signals.give(self.index, step.flag[2], message):
            what = f"{CORES[self.index]} counts flag {step.flag[2]} above {LARGEST_COUNT}"
            self.faults.append(Fault(what, step.statement))

    def advance_all(self) -> bool:
        """Issue and run as far as this core can go; return whether anything happened."""
        before = self.following, len(self.queues[SCALAR])
        self.advance(SCALAR)
        while self.following is not None and not self.queues[SCALAR]:
            step, self.following = self.following, next(self.source, None)
            self.issue(step)
        return before != (self.following, len(self.queues[SCALAR]))

    def ended(self) -> list[Fault]:
        """Return the faults of a run that can go no further; waiting for another core in vain is one."""
        waiting = self.queues[SCALAR] and self.queues[SCALAR][0].kind is Kind.AWAIT
        if waiting:
            step = self.queues[SCALAR].popleft()
            what = f"deadlock: the {CORES[self.index]} core waits for flag {step.flag[2]} of the other kind of core"
            self.faults.append(Fault(what, step.statement))
        faults = Core.ended(self)
        if not self.index:
            left = sorted(set(self.signals.left()))
            faults += [Fault(f"flag {flag} is left counted up for {CORES[core]}", None) for flag, core in left]
        return faults


def group_of(
    kernel: Kernel,
    observers: Iterable[Observer],
    symbols: Mapping[Symbol, int],
    scalars: Mapping[str, Array] | None = None,
    scenario: Scenario | None = None,
    facts: Facts | None = None,
) -> list[GroupCore]:
    """Return the cores of one block, loaded with their instructions, each with its observer."""
    facts, watched = facts or Facts.of(kernel), list(observers)
    signals, meeting, cores = Signals(len(watched)), Meeting(1), list[GroupCore]()
    for index, observer in enumerate(watched):
        core = GroupCore(observer, meeting=meeting, signals=signals, index=index)
        kind = VECTOR if index else CUBE
        core.load(Program(kernel, scenario, dict(symbols), scalars or {}, kind, max(0, index - 1), facts).steps())
        cores.append(core)
    return cores


# -- clocks


@dataclass(slots=True)
class GroupClocks(Clocks):
    """Observer of one core of a group; `issued`, `known`, `regions` and `faults` are those of the group.

    In global memory exact regions are compared: cores touch different rows of one array.
    """

    index: int = 0
    regions: dict[str, dict[Box, Touched]] = field(default_factory=dict)

    def number(self, pipe: str) -> int:
        return self.index * len(PIPES) + NUMBERS[pipe]

    def name(self, number: int) -> str:
        return f"{PIPES[number % len(PIPES)]} of {CORES[number // len(PIPES)]}"

    def pieces(self, step: Step, access: Access) -> tuple[Piece, ...]:
        if access.resource.startswith("gm:"):
            return ()
        return tuple((*piece, self.index) for piece in Clocks.pieces(self, step, access))

    def start(self, step: Step) -> None:
        Clocks.start(self, step)
        if isinstance(step.statement, Load | Store):
            self.touch_array(step, step.statement)

    def touch_array(self, step: Step, statement: Load | Store) -> None:
        array = statement.source if isinstance(statement, Load) else statement.target
        writes, pipe = isinstance(statement, Store), self.number(step.pipe)
        box = box_of(statement.region, step.symbols)
        boxes = self.regions.setdefault(array, {})
        for other, touched in boxes.items():
            if all(low < end and start < high for (low, high), (start, end) in zip(box, other, strict=True)):
                self.compare(pipe, touched, writes, statement, array)
        kept = boxes.setdefault(box, Touched())
        (kept.writes if writes else kept.reads)[pipe] = (self.issued[pipe], statement)

    def compare(self, pipe: int, touched: Touched, writes: bool, statement: Statement, array: str) -> None:
        for others in (touched.writes, touched.reads) if writes else (touched.writes,):
            for other, (position, before) in others.items():
                if self.known[pipe][other] < position:
                    what = f"{self.name(other)} and {self.name(pipe)} race on gm:{array}"
                    self.faults.append(Fault(what, statement, before))
                    self.races += 1

    def speak(self, step: Step) -> Clock:
        pipe = self.number(step.pipe)
        self.issued[pipe] += 1
        message = list(self.known[pipe])
        message[pipe] = self.issued[pipe]
        return message

    def hear(self, step: Step, messages: Iterable[Clock]) -> None:
        """What one pipe waits for all know that are given work afterwards."""
        first = self.index * len(PIPES)
        for message in messages:
            for known in self.known[first : first + len(PIPES)]:
                known[:] = map(max, known, message)


def observe_group(kernel: Kernel, scenario: Scenario, facts: Facts, hasty: bool = False) -> tuple[Clocks, list[Fault]]:
    """Return the clocks of one run of a mixed `kernel` under `scenario`, with the events of the cube core and of one
    vector core, and the faults of all; with `hasty` up to the first race, with one vector core for both."""
    count = len(PIPES) * len(CORES)
    issued, known = [0] * count, [[0] * count for _ in range(count)]
    cells, regions = cells_of(kernel, facts.pipes), dict[str, dict[Box, Touched]]()
    clocks = [GroupClocks(cells, issued, known, index=index, regions=regions) for index in range(len(CORES) - hasty)]
    symbols = {axis.symbol: 0 for axis in kernel.grid}
    cores = group_of(kernel, clocks, symbols, scenario=scenario, facts=facts)
    for core, observer in zip(cores, clocks, strict=True):
        core.listener = observer
    going = True
    while going:
        going = False
        for core in cores:
            going |= core.advance_all()
        if hasty and any(observer.races for observer in clocks):
            break
    faults = [fault for core in cores for fault in core.ended()]
    faults = [fault for observer in clocks for fault in observer.faults] + faults
    clocks[0].events = [*clocks[0].events, *clocks[1].events]
    clocks[0].races = sum(observer.races for observer in clocks)
    return clocks[0], faults
