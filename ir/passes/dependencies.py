"""Which work of one pipe must wait for which work of another: the flags and barriers a kernel needs.

Bodies are looked at one by one; a loop or branch inside a body counts as one statement that does all its touches. A
*forward* flag orders two statements of one turn. A *backward* flag orders a statement with one of an earlier turn of a
loop: `distance` turns before, 1 or the number of slots of the buffer in question. It is raised once for each slot
before the outermost statement around and waited for once after that, so that every wait has its set for any number of
turns. (Raised before an inner loop it could be set again before its last wait has run.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pypto.ir.nodes import Buffer, For, Kernel, Pipe, Statement, regions
from pypto.ir.passes.footprint import touched_bytes, whole_repeats
from pypto.ir.passes.independence import Independent, independent_loops
from pypto.ir.passes.pipes import Access, Part, Pipes, Queue, Span, are_apart
from pypto.ir.passes.slots import depth_in, of_name, rotations, sub_blocks

Knowledge = dict[Queue, Counter[Queue]]
Pair = tuple[Queue, Queue]
FINISHED, STARTED = (Part.BEFORE, Part.BETWEEN), (Part.AFTER, Part.BETWEEN)
Latest = dict[str, dict[tuple[Queue, bool, Part, Span | None], int]]
"""By resource: the last statement that a pipe touched it in, whether by writing, in which part, and which bytes."""


@dataclass(frozen=True, slots=True)
class FlagPlan:
    """A flag to be raised after statement `setter` and waited for before statement `waiter`, by their numbers.

    `around` is the number of the loop whose body holds both, None outside of loops. `distance` counts turns of it, 0
    for a forward flag; `outermost` is the number of the outermost statement around a backward one. `turns` is the
    largest number of slots that rotate in the loop: a flag may need as many ids.
    """

    source: Queue
    destination: Queue
    setter: int
    waiter: int
    distance: int = 0
    around: int | None = None
    outermost: int | None = None
    turns: int = 1

    @property
    def crosses(self) -> bool:
        """Whether the flag goes from one kind of core to the other: such flags count."""
        return self.source.core != self.destination.core

    @property
    def widths(self) -> tuple[int, ...]:
        """How many ids the flag may use in turn, best first."""
        if self.crosses:
            return (1,)
        if self.distance:
            return (self.distance,)
        return tuple(dict.fromkeys((1, self.turns)))


@dataclass(slots=True)
class Plan:
    """All flags in order of their waits, and the statements that a barrier stands before.

    `between_turns` are the barriers that order turns of a loop; they may make others needless.
    """

    flags: list[FlagPlan] = field(default_factory=list)
    barriers: dict[int, set[Queue]] = field(default_factory=lambda: defaultdict(set))
    between_turns: set[tuple[int, Queue]] = field(default_factory=set)


@dataclass(slots=True)
class Planner:
    """Makes the plan of a kernel. `extra` adds touches of made-up resources to statements, which orders those too."""

    kernel: Kernel
    extra: Mapping[int, frozenset[Access]]
    pipes: Pipes = field(init=False)
    rotating: dict[str, For] = field(init=False)
    buffers: dict[str, Buffer] = field(init=False)
    overlapping: dict[str, tuple[str, ...]] = field(init=False)
    independent: Independent = field(init=False)
    numbers: dict[int, int] = field(default_factory=dict)
    outermost: dict[int, int] = field(default_factory=dict)
    spread: frozenset[str] = field(init=False)
    queues: set[Queue] = field(default_factory=set)
    plan: Plan = field(default_factory=Plan)

    def __post_init__(self) -> None:
        self.pipes = Pipes.of(self.kernel)
        self.rotating = rotations(self.kernel)
        self.buffers = of_name(self.kernel.buffers)
        self.overlapping = overlapping(self.kernel)
        self.independent = independent_loops(self.kernel)
        self.spread = sub_blocks(self.kernel)

    def number(self, body: tuple[Statement, ...], outermost: int | None = None) -> None:
        """Number all statements in program order, by their identity; note the outermost statement around each."""
        for statement in body:
            number = self.numbers[id(statement)] = len(self.numbers)
            self.outermost[number] = number if outermost is None else outermost
            for inner in regions(statement):
                self.number(inner, self.outermost[number])

    def touches(self, statement: Statement) -> frozenset[Access]:
        own = self.extra.get(self.numbers[id(statement)], frozenset()) | self.pipes.accesses(statement)
        self.queues.update(access.pipe for access in own)
        inner = [self.touches(item) for body in regions(statement) for item in body]
        return own.union(*inner)

    def flat(self, body: tuple[Statement, ...]) -> Iterator[Statement]:
        """Yield the statements of a body as one core runs them: what it shares with its twin is no loop for it."""
        for statement in body:
            if isinstance(statement, For) and statement.index.name in self.spread:
                yield from self.flat(statement.body)
            else:
                yield statement

    def body(self, body: tuple[Statement, ...], loop: For | None = None) -> None:
        body = tuple(self.flat(body))
        scan = Scan(self, body, [self.touches(statement) for statement in body], loop)
        for position, statement in enumerate(body):
            scan.forward(position)
            for inner in regions(statement):
                self.body(inner, statement if isinstance(statement, For) else None)
        if loop is not None:
            for turn in range(1, scan.turns + 1):
                scan.backward(turn)


def overlapping(kernel: Kernel) -> dict[str, tuple[str, ...]]:
    """Return for each buffer those that share bytes with it, itself included; itself alone without addresses."""
    found: dict[str, list[str]] = {buffer.name: [buffer.name] for buffer in kernel.buffers}
    placed = sorted((item for item in kernel.buffers if item.address is not None), key=lambda item: item.address or 0)
    touched = touched_bytes(kernel)
    for position, first in enumerate(placed):
        end = (first.address or 0) + whole_repeats(first) // first.depth * (first.depth - 1) + touched[first.name]
        for second in placed[position + 1 :]:
            if (second.address or 0) >= end:
                break
            if first.space is second.space:
                found[first.name].append(second.name)
                found[second.name].append(first.name)
    return {name: tuple(others) for name, others in found.items()}


@dataclass(slots=True)
class Scan:
    """One walk over the statements of a body: what each pipe knows to be finished, by position in the body.

    Positions of later turns follow those of the first, so that "known up to" is one number in all.
    """

    planner: Planner
    body: tuple[Statement, ...]
    touches: list[frozenset[Access]]
    loop: For | None = None
    turns: int = 1
    latest: Latest = field(default_factory=lambda: defaultdict(dict))
    known: Knowledge = field(default_factory=lambda: defaultdict(Counter))
    told: dict[tuple[Queue, int], Counter[Queue]] = field(default_factory=dict)
    waits: dict[int, list[FlagPlan]] = field(default_factory=lambda: defaultdict(list))
    barriers: dict[int, set[Queue]] = field(default_factory=lambda: defaultdict(set))
    positions: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.loop is not None:
            self.turns = depth_in(self.loop, self.planner.kernel, self.planner.rotating)
        self.positions = {self.planner.numbers[id(item)]: position for position, item in enumerate(self.body)}

    def number(self, position: int) -> int:
        return self.planner.numbers[id(self.body[position])]

    def forward(self, position: int) -> None:
        """Order the statement at `position` after those before it that it conflicts with."""
        for (source, destination), setter in sorted(self.conflicts(position, 0).items(), key=_latest_first):
            if source == destination:
                self.bar(position, source, setter + 1, position)
            elif self.known[destination][source] < setter + 1:
                self.flag(position, source, destination, setter, 0, 0)
        self.finish(position, 0)
        for access in self.touches[position]:
            self.latest[access.resource][access.pipe, access.write, access.part, access.span] = position

    def conflicts(self, position: int, distance: int) -> dict[Pair, int]:
        """Return the last statement that conflicts with the one at `position`, `distance` turns before, by pipes."""
        last: dict[Pair, int] = {}
        for access in self.touches[position]:
            for resource in self.shared(access.resource, distance):
                for (pipe, write, part, span), other in self.latest[resource].items():
                    waited = pipe == access.pipe and (part in FINISHED or access.part in STARTED)
                    waited |= resource == access.resource and are_apart(span, access.span)
                    if (write or access.write) and not waited and other > last.get((pipe, access.pipe), -1):
                        last[pipe, access.pipe] = other
        return last

    def shared(self, resource: str, distance: int) -> Iterator[str]:
        """Yield the resources that are `resource`, or share bytes with it, `distance` turns apart."""
        planner = self.planner
        if self.loop is not None and distance:
            if resource in planner.independent[id(self.loop)]:
                return
            if planner.rotating.get(resource) is self.loop:
                if distance % planner.buffers[resource].depth == 0:
                    yield resource
                return
        yield from planner.overlapping.get(resource, (resource,))

    def bar(self, position: int, pipe: Queue, needed: int, now: int) -> None:
        """Put a barrier before the statement unless one since position `needed` - 1 did, or the pipe does without one;
        `now` is the time there."""
        if self.planner.pipes.in_order(self.body[position]):
            return
        if pipe.pipe is not Pipe.S and self.known[pipe][pipe] < needed:
            self.planner.plan.barriers[self.number(position)].add(pipe)
            self.barriers[position].add(pipe)
            self.known[pipe][pipe] = now

    def flag(self, position: int, source: Queue, destination: Queue, setter: int, distance: int, turn: int) -> None:
        planner = self.planner
        around = None if self.loop is None else planner.numbers[id(self.loop)]
        outermost = planner.outermost[around] if around is not None and distance else None
        numbers = (self.number(setter), self.number(position))
        plan = FlagPlan(source, destination, *numbers, distance, around, outermost, self.turns)
        if not self.joins(plan):
            planner.plan.flags.append(plan)
            self.waits[position].append(plan)
        self.learn(destination, source, setter + (turn - distance) * len(self.body))

    def joins(self, plan: FlagPlan) -> bool:
        """Let one flag do for all that is copied in a turn: for both operands of a product, that L1 has them or has
        slots free for them, and beside a core of the other kind for any slots that are free. Copies that run several
        turns ahead lose little by it, and ids are few. Return whether there was another flag to do so."""
        pipes = {plan.source.pipe, plan.destination.pipe}
        copies = pipes == {Pipe.MTE1, Pipe.MTE2} or (plan.source.core and plan.distance)
        if self.turns < 2 or plan.distance == 1 or plan.crosses or not copies:
            return False
        flags = self.planner.plan.flags
        for number, other in enumerate(flags):
            alike = replace(other, setter=plan.setter, waiter=plan.waiter) == plan
            if alike and (plan.distance or plan.setter < other.waiter):
                both = replace(other, setter=max(other.setter, plan.setter))
                waits = self.waits[self.positions[other.waiter]]
                flags[number] = waits[waits.index(other)] = both
                return True
        return False

    def learn(self, destination: Queue, source: Queue, setter: int) -> None:
        """What the setting pipe knew after statement `setter`, and that it has run. Waiting for another core, or by the
        scalar unit, which issues everything, holds up all pipes, which know it then."""
        learning = [destination]
        if source.core != destination.core or destination.pipe is Pipe.S:
            learning = [queue for queue in self.planner.queues if queue.core == destination.core]
        for queue in learning:
            known = self.known[queue]
            for pipe, position in self.told[source, setter].items():
                known[pipe] = max(known[pipe], position)
            known[source] = max(known[source], setter + 1)

    def finish(self, position: int, shift: int) -> None:
        """Remember what each pipe that worked on this statement knows now."""
        waits_inside = self.planner.pipes.waits_inside(self.body[position])
        for pipe in {access.pipe for access in self.touches[position]}:
            if waits_inside:
                self.known[pipe][pipe] = max(self.known[pipe][pipe], position + shift)
            self.told[pipe, position + shift] = Counter(self.known[pipe])

    def backward(self, turn: int) -> None:
        """Walk a later turn: order each statement after those of earlier turns, at or after it in the body.

        Those before it in the body need nothing more: their pipes are waited for in this turn.
        """
        count = len(self.body)
        for position, statement in enumerate(self.body):
            self.pass_waits(position, turn)
            for distance in range(1, turn + 1):
                found = self.conflicts(position, distance)
                # The turns of an inner loop are ordered among themselves, those of two turns of this one included.
                first = position + isinstance(statement, For)
                later = {pair: setter for pair, setter in found.items() if setter >= first}
                for (source, destination), setter in sorted(later.items(), key=_latest_first):
                    self.order_turns(position, source, destination, setter, distance, turn)
            self.finish(position, turn * count)

    def pass_waits(self, position: int, turn: int) -> None:
        """What the flags and barriers that stand before the statement already tell."""
        count = len(self.body)
        for plan in self.waits[position]:
            if turn >= plan.distance:
                setter = self.positions[plan.setter] + (turn - plan.distance) * count
                self.learn(plan.destination, plan.source, setter)
        for pipe in self.barriers[position]:
            self.known[pipe][pipe] = position + turn * count

    def order_turns(
        self, position: int, source: Queue, destination: Queue, setter: int, distance: int, turn: int
    ) -> None:
        before = setter + 1 + (turn - distance) * len(self.body)
        if source == destination:
            number = self.number(position)
            known = source in self.planner.plan.barriers[number]
            self.bar(position, source, before, position + turn * len(self.body))
            if not known and source in self.planner.plan.barriers[number]:
                self.planner.plan.between_turns.add((number, source))
        elif self.known[destination][source] < before:
            self.flag(position, source, destination, setter, distance, turn)


def _latest_first(item: tuple[Pair, int]) -> tuple[int, str, str]:
    (source, destination), setter = item
    return -setter, source.value, destination.value


def plan_of(kernel: Kernel, extra: Mapping[int, frozenset[Access]]) -> Plan:
    """Return the flags and barriers that `kernel` (level *buffered*) needs, with the touches of `extra` added."""
    planner = Planner(kernel, extra)
    planner.number(kernel.body)
    planner.body(kernel.body)
    return planner.plan
