"""Observer: what is known to have happened before what, with vector clocks over the pipes of one core; no data.

A flag tells its waiting pipe that all earlier work of the setting pipe has finished, and all that pipe had been told; a
barrier tells a pipe that its own work has. Work that touches memory which other work touched, one of them writing, must
know that that has finished: else they race.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from pypto.ir.engine.machine import PIPES, SCALAR, Fault, Machine, is_meeting, show
from pypto.ir.engine.program import Facts, Flag, Program, Scenario, Step
from pypto.ir.index import Bounds, Symbol, bounds
from pypto.ir.nodes import For, If, Kernel, Load, Operation, Statement, Store, regions, walk
from pypto.ir.passes.footprint import touched_bytes, whole_repeats
from pypto.ir.passes.pipes import ROW_OPERATIONS, Access, Part, Pipes, Span, is_mixed
from pypto.ir.passes.slots import turn_bounds
from pypto.ir.verification.barriers import block_count, has_barriers

NUMBERS = {pipe: number for number, pipe in enumerate(PIPES)}
PARTS = tuple(Part)
IN_PARTS = ROW_OPERATIONS | {"insert"}
Clock = list[int]
Cell = tuple[str, int, Span | None]
"""A slot of a buffer, or some bytes of it."""

Piece = tuple[object, ...]


@dataclass(slots=True, eq=False)
class Event:
    """A flag raised or lowered: by which pipe, after how much of its work, and what the pipe knew then."""

    step: Step
    lowered: bool
    pipe: int
    position: int
    knows: Clock

    def follows(self, earlier: Event) -> bool:
        """Return whether the pipe of this event knew that `earlier` had happened."""
        return self.knows[earlier.pipe] >= earlier.position


@dataclass(slots=True)
class Touched:
    """Who touched a piece of memory last, by pipe: after how much of its work, and by which statement."""

    reads: dict[int, tuple[int, Statement]] = field(default_factory=dict)
    writes: dict[int, tuple[int, Statement]] = field(default_factory=dict)


@dataclass(slots=True)
class Clocks:
    """The observer. `cells` are the pieces of memory of each slot of a buffer; `events` come out in program order."""

    cells: dict[Cell, tuple[Piece, ...]]
    issued: Clock = field(default_factory=lambda: [0] * len(PIPES))
    known: list[Clock] = field(default_factory=lambda: [[0] * len(PIPES) for _ in PIPES])
    told: dict[Flag, Clock] = field(default_factory=dict)
    touched: dict[Piece, Touched] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    lowered: dict[Flag, Event] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    races: int = 0

    def number(self, pipe: str) -> int:
        return NUMBERS[pipe]

    def name(self, number: int) -> str:
        return PIPES[number]

    def start(self, step: Step) -> None:
        pipe = self.number(step.pipe)
        self.issued[pipe] += 1
        if step.in_order:
            self.all_finished(pipe, self.issued[pipe] - 1)
        if step.pipe == SCALAR:
            self.all_finished(pipe, self.issued[pipe])
        if step.waits_inside:
            self.touch(step, pipe, (Part.BEFORE, Part.ANY))
            for parts in ((Part.BETWEEN,), (Part.ANY, Part.AFTER)):
                self.all_finished(pipe, self.issued[pipe])
                self.issued[pipe] += 1
                self.touch(step, pipe, parts)
        else:
            self.touch(step, pipe, PARTS)

    def all_finished(self, pipe: int, position: int) -> None:
        """Note that a pipe knows its own work up to `position` to have finished."""
        self.known[pipe][pipe] = position

    def touch(self, step: Step, pipe: int, parts: tuple[Part, ...]) -> None:
        touches = [item for item in step.accesses if item.part in parts]
        pieces = [(piece, item.write) for item in touches for piece in self.pieces(step, item)]
        self.check_all(step, pipe, pieces)
        mark = (self.issued[pipe], step.statement)
        for piece, write in pieces:
            touched = self.touched.get(piece)
            if touched is None:
                touched = self.touched[piece] = Touched()
            (touched.writes if write else touched.reads)[pipe] = mark

    def check_all(self, step: Step, pipe: int, pieces: list[tuple[Piece, bool]]) -> None:
        for piece, write in pieces:
            self.check(step, pipe, piece, write)

    def pieces(self, step: Step, access: Access) -> tuple[Piece, ...]:
        slot = step.slots.get(access.resource, 0)
        if access.resource.startswith("gm:"):
            return ((access.resource, slot),)
        return self.cells[access.resource, slot, access.span]

    def check(self, step: Step, pipe: int, piece: Piece, write: bool) -> None:
        touched = self.touched.get(piece)
        if touched is None:
            return
        known = self.known[pipe]
        for others in (touched.writes, touched.reads) if write else (touched.writes,):
            for other, (position, statement) in others.items():
                if known[other] < position:
                    name = piece[0]
                    what = f"{self.name(other)} and {self.name(pipe)} race on {name}"
                    self.faults.append(Fault(what, step.statement, statement))
                    self.races += 1

    def finish(self, step: Step) -> None:
        """Work that has finished is known to nobody until a flag or barrier tells."""

    def raise_flag(self, step: Step) -> None:
        event = self.event(step, lowered=False)
        message = list(event.knows)
        message[event.pipe] = event.position
        self.told[step.flag] = message
        before = self.lowered.get(step.flag)
        if before is not None and not event.follows(before):
            what = f"{show(step.flag)} may be set before its last wait has run"
            self.faults.append(Fault(what, step.statement, before.step.statement))

    def lower_flag(self, step: Step) -> None:
        message = self.told[step.flag]
        known = self.known[self.number(step.pipe)]
        known[:] = map(max, known, message)
        event = self.lowered[step.flag] = self.event(step, lowered=True)
        if is_meeting(step.flag):
            # Nothing is issued meanwhile, so that whatever comes after knows it too.
            for others in self.known:
                others[:] = map(max, others, message)
                others[event.pipe] = event.position
        elif step.pipe == SCALAR:
            # The scalar unit issues everything; what its own stores did still needs a flag.
            first = event.pipe - NUMBERS[SCALAR]
            for others in self.known[first : first + len(PIPES)]:
                others[:] = map(max, others, message)

    def event(self, step: Step, lowered: bool) -> Event:
        pipe = self.number(step.pipe)
        self.issued[pipe] += 1
        event = Event(step, lowered, pipe, self.issued[pipe], list(self.known[pipe]))
        self.events.append(event)
        return event

    def barrier(self, step: Step) -> None:
        pipe = self.number(step.pipe)
        self.known[pipe][pipe] = self.issued[pipe]


def cells_of(kernel: Kernel, pipes: Pipes) -> dict[Cell, tuple[Piece, ...]]:
    """Return the pieces of memory of each slot, and of each part of one that some statement touches alone.

    Pieces lie between any two ends of such, by address when it is known, else within the slot.
    """
    spans = list(_spans(kernel, pipes))
    ends: dict[str, set[int]] = {}
    for _, space, start, end in spans:
        ends.setdefault(space, set()).update((start, end))
    in_order = {space: sorted(items) for space, items in ends.items()}
    found: dict[Cell, tuple[Piece, ...]] = {}
    for cell, space, start, end in spans:
        between = in_order[space][bisect_left(in_order[space], start) : bisect_left(in_order[space], end)]
        is_placed = space != cell[0]
        found[cell] = tuple((f"{space} from byte {item}",) if is_placed else (space, cell[1], item) for item in between)
    return found


def _spans(kernel: Kernel, pipes: Pipes) -> Iterator[tuple[Cell, str, int, int]]:
    """Yield the parts of slots, what they are bytes of (a memory, or the buffer without an address), and which."""
    touched = touched_bytes(kernel)
    parts: dict[str, set[Span]] = {}
    partly = (item for item in walk(kernel.body) if isinstance(item, Operation) and item.name in IN_PARTS)
    for access in (access for item in partly for access in pipes.accesses(item)):
        if access.span is not None:
            parts.setdefault(access.resource, set()).add(access.span)
    for buffer in kernel.buffers:
        size = whole_repeats(buffer) // buffer.depth
        space = buffer.name if buffer.address is None else buffer.space.value
        for slot in range(buffer.depth):
            start = 0 if buffer.address is None else buffer.address + slot * size
            yield (buffer.name, slot, None), space, start, start + touched[buffer.name]
            for first, last in sorted(parts.get(buffer.name, ())):
                yield (buffer.name, slot, (first, last)), space, start + first, start + last


def scenarios(kernel: Kernel) -> tuple[Scenario, ...]:
    """Return the turns of loops and the branches that stand for all that can happen."""
    has_branch = any(isinstance(item, If) for item in walk(kernel.body))
    loops = list(_loops(kernel.body, 0))
    sides = range(1 + has_branch)
    if not loops:
        return tuple(Scenario((), side) for side in sides)
    depth = max((buffer.depth for buffer in kernel.buffers), default=1)
    wanted: list[tuple[tuple[int, ...], int]] = [
        ((number,), side) for number in sorted({2 * depth + 1, 3, 2, 1, 0}, reverse=True) for side in sides
    ]
    if has_branch or any(level for _, level in loops):
        wanted += [((3, 0), 0), ((3, 1), 1), ((2, 3), 0), ((depth + 2, 2, depth + 1), 0)]
    period = math.lcm(*(buffer.depth for buffer in kernel.buffers))
    ranges = _ranges(kernel)
    limits = [(*turn_bounds(loop, ranges), level) for loop, level in loops]
    found = (
        Scenario(tuple(_possible(turns, *limit, 2 * depth + 1, period) for limit in limits), side)
        for turns, side in wanted
    )
    return tuple(dict.fromkeys(found))


def _loops(body: tuple[Statement, ...], level: int) -> Iterator[tuple[For, int]]:
    """Yield the loops in the order of the text, with the number of loops around each."""
    for statement in body:
        if isinstance(statement, For):
            yield statement, level
        for region in regions(statement):
            yield from _loops(region, level + isinstance(statement, For))


def _ranges(kernel: Kernel) -> dict[Symbol, Bounds]:
    """Return the interval of every grid symbol and loop index that is known to have one."""
    ranges: dict[Symbol, Bounds] = {}
    for axis in kernel.grid:
        extent = bounds(axis.extent, ranges)
        if extent is not None:
            ranges[axis.symbol] = (0, max(0, extent[1] - 1))
    for loop, _ in _loops(kernel.body, 0):
        first, last = bounds(loop.start, ranges), bounds(loop.stop, ranges)
        if first is not None and last is not None:
            ranges[loop.index] = (first[0], max(first[0], last[1] - 1))
    return ranges


def _possible(turns: tuple[int, ...], fewest: int, most: int | None, level: int, long: int, period: int) -> int:
    """Return how often a loop `level` loops deep turns where `turns` are wanted, from `fewest` to `most` times.

    A loop that turns more often than `long` stands for longer ones that leave the slots of buffers, which come round
    every `period` turns, as it does.
    """
    wanted = turns[min(level, len(turns) - 1)] if fewest != most else fewest
    least = min(fewest, long)
    if wanted < least:
        wanted = least + (wanted - least) % period
    elif wanted > long:
        wanted = long + (wanted - long) % period
    return wanted if most is None else min(wanted, most)


def observe(kernel: Kernel, scenario: Scenario, facts: Facts | None = None) -> tuple[Clocks, list[Fault]]:
    """Return the observer of one run of `kernel` under `scenario`, and the faults."""
    facts = facts or Facts.of(kernel)
    if is_mixed(kernel):
        from pypto.ir.engine.groups import observe_group  # which builds on this module

        return observe_group(kernel, scenario, facts)
    clocks = Clocks(cells_of(kernel, facts.pipes))
    faults = Machine(clocks).run(Program(kernel, scenario, known_facts=facts).steps())
    return clocks, clocks.faults + faults


def faults(kernel: Kernel) -> list[Fault]:
    """Return the faults of synchronisation in `kernel` (level *synchronised* or below): races with both statements,
    flags left raised, set twice or waited for in vain, deadlocks; of all its blocks together where barriers order them.
    """
    facts = Facts.of(kernel)
    found = [fault for scenario in scenarios(kernel) for fault in observe(kernel, scenario, facts)[1]]
    if _may_cross(kernel):
        from pypto.ir.engine.cores import crossing_faults  # which builds on this module

        found += crossing_faults(kernel)
    return found


def _may_cross(kernel: Kernel) -> bool:
    """Return whether blocks may touch what other blocks write: they wait for each other, or load what is stored."""
    if block_count(kernel) is None:
        return False
    loaded = {item.source for item in walk(kernel.body) if isinstance(item, Load)}
    stored = {item.target for item in walk(kernel.body) if isinstance(item, Store)}
    return has_barriers(kernel) or bool(loaded & stored)


def is_faulty(kernel: Kernel, races_only: bool = False) -> bool:
    """Return whether `kernel` has a fault; stops at the first, and looks at short runs first.

    With `races_only` flags may be misused: their ids are still to be chosen.
    """
    facts = Facts.of(kernel)
    if is_mixed(kernel):
        from pypto.ir.engine.groups import observe_group  # which builds on this module

        runs = (observe_group(kernel, scenario, facts, True) for scenario in sorted(scenarios(kernel), key=_length))
        return any(clocks.races or (found and not races_only) for clocks, found in runs)
    cells = cells_of(kernel, facts.pipes)
    for scenario in sorted(scenarios(kernel), key=_length):
        clocks = Clocks(cells)
        machine = Machine(clocks)
        for step in Program(kernel, scenario, known_facts=facts).steps():
            machine.issue(step)
            if clocks.races or (clocks.faults and not races_only):
                return True
        if machine.ended() and not races_only:
            return True
    return False


def _length(scenario: Scenario) -> tuple[bool, int]:
    return not sum(scenario.turns), sum(scenario.turns)
