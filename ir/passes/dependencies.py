"""Which work of one pipe must wait for which work of another: the flags and barriers a kernel needs.

Bodies are looked at one by one; a loop or branch inside a body counts as one statement that does all its touches. A
*forward* flag orders two statements of one body. A *backward* flag orders a statement with one of the next turn of a
loop; it is raised once before the outermost loop around and waited for once after that, so that every wait has its set
for any number of turns. (Raised before an inner loop it could be set again before its last wait has run.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.ir.nodes import For, Kernel, Pipe, Statement, regions
from pypto.ir.passes.pipes import Access, Pipes, conflict

Knowledge = dict[Pipe, Counter[Pipe]]


@dataclass(frozen=True, slots=True)
class FlagPlan:
    """A flag to be raised after statement `setter` and waited for before statement `waiter`, by their numbers.

    `loop` is the number of the outermost statement around a backward flag, None for a forward one.
    """

    source: Pipe
    destination: Pipe
    setter: int
    waiter: int
    loop: int | None = None


@dataclass(slots=True)
class Plan:
    """All flags in order of their waits, and the statements that a barrier stands before."""

    flags: list[FlagPlan] = field(default_factory=list)
    barriers: dict[int, set[Pipe]] = field(default_factory=lambda: defaultdict(set))


@dataclass(slots=True)
class Planner:
    """Makes the plan of a kernel. `extra` adds touches of made-up resources to statements, which orders those too."""

    pipes: Pipes
    independent: frozenset[str]
    extra: Mapping[int, frozenset[Access]]
    numbers: dict[int, int] = field(default_factory=dict)
    outermost: dict[int, int] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)

    def number(self, body: tuple[Statement, ...], outermost: int | None = None) -> None:
        """Number all statements in program order, by their identity; note the outermost statement around each."""
        for statement in body:
            number = self.numbers[id(statement)] = len(self.numbers)
            self.outermost[number] = number if outermost is None else outermost
            for inner in regions(statement):
                self.number(inner, self.outermost[number])

    def touches(self, statement: Statement) -> frozenset[Access]:
        own = self.extra.get(self.numbers[id(statement)], frozenset()) | self.pipes.accesses(statement)
        inner = [self.touches(item) for body in regions(statement) for item in body]
        return own.union(*inner)

    def body(self, body: tuple[Statement, ...], loop: For | None = None) -> None:
        scan = Scan(self, body, [self.touches(statement) for statement in body])
        for position, statement in enumerate(body):
            scan.forward(position)
            for inner in regions(statement):
                self.body(inner, statement if isinstance(statement, For) else None)
        if loop is not None:
            scan.backward(loop)


@dataclass(slots=True)
class Scan:
    """One walk over the statements of a body: what each pipe knows to be finished, by position in the body.

    Positions of a second turn follow those of the first, so that "known up to" is one number in both.
    """

    planner: Planner
    body: tuple[Statement, ...]
    touches: list[frozenset[Access]]
    known: Knowledge = field(default_factory=lambda: defaultdict(Counter))
    told: dict[tuple[Pipe, int], Counter[Pipe]] = field(default_factory=dict)
    waits: dict[int, list[FlagPlan]] = field(default_factory=lambda: defaultdict(list))
    barriers: dict[int, set[Pipe]] = field(default_factory=lambda: defaultdict(set))

    def number(self, position: int) -> int:
        return self.planner.numbers[id(self.body[position])]

    def forward(self, position: int) -> None:
        """Order the statement at `position` after those before it that it conflicts with."""
        for (source, destination), setter in sorted(self.conflicts(position, range(position)), key=_latest_first):
            if source is destination:
                self.bar(position, source, setter + 1, position)
            elif self.known[destination][source] < setter + 1:
                plan = FlagPlan(source, destination, self.number(setter), self.number(position))
                self.planner.plan.flags.append(plan)
                self.waits[position].append(plan)
                self.learn(destination, source, setter)
        self.finish(position, 0)

    def conflicts(self, position: int, earlier: range) -> list[tuple[tuple[Pipe, Pipe], int]]:
        """Return the last conflicting statement among `earlier` for each pair of pipes."""
        last: dict[tuple[Pipe, Pipe], int] = {}
        for other in earlier:
            for before in self.touches[other]:
                for after in self.touches[position]:
                    if conflict(before, after):
                        last[before.pipe, after.pipe] = other
        return list(last.items())

    def bar(self, position: int, pipe: Pipe, needed: int, now: int) -> None:
        """Put a barrier before the statement unless one since position `needed` - 1 did; `now` is the time there."""
        if pipe is not Pipe.S and self.known[pipe][pipe] < needed:
            self.planner.plan.barriers[self.number(position)].add(pipe)
            self.barriers[position].add(pipe)
            self.known[pipe][pipe] = now

    def learn(self, destination: Pipe, source: Pipe, setter: int) -> None:
        """What the setting pipe knew after statement `setter`, and that it has run."""
        message = self.told[source, setter]
        for pipe, position in message.items():
            self.known[destination][pipe] = max(self.known[destination][pipe], position)
        self.known[destination][source] = max(self.known[destination][source], setter + 1)

    def finish(self, position: int, shift: int) -> None:
        """Remember what each pipe that worked on this statement knows now."""
        for pipe in {access.pipe for access in self.touches[position]}:
            self.told[pipe, position + shift] = Counter(self.known[pipe])

    def backward(self, loop: For) -> None:
        """Walk the second turn: order each statement after those of the first turn at or after it."""
        count = len(self.body)
        independent = loop.index.name in self.planner.independent
        for position in range(count):
            for plan in self.waits[position]:
                self.learn(plan.destination, plan.source, self.position(plan.setter) + count)
            for pipe in self.barriers[position]:
                self.known[pipe][pipe] = position + count
            # The turns of an inner loop are ordered among themselves, those of two turns of this one included.
            later = range(position + isinstance(self.body[position], For), count)
            for (source, destination), setter in sorted(
                self.back_conflicts(position, later, independent), key=_latest_first
            ):
                self.order_turns(loop, position, source, destination, setter)
            self.finish(position, count)

    def position(self, number: int) -> int:
        return next(position for position in range(len(self.body)) if self.number(position) == number)

    def back_conflicts(self, position: int, later: range, independent: bool) -> list[tuple[tuple[Pipe, Pipe], int]]:
        """Turns of an independent loop touch different elements of the arrays, unless one turn orders them itself."""
        if not independent:
            return self.conflicts(position, later)
        kept, self.touches = self.touches, [self.on_chip(item) for item in self.touches]
        found = self.conflicts(position, later)
        self.touches = kept
        return found

    def on_chip(self, touches: frozenset[Access]) -> frozenset[Access]:
        return frozenset(item for item in touches if not item.resource.startswith("gm:"))

    def order_turns(self, loop: For, position: int, source: Pipe, destination: Pipe, setter: int) -> None:
        if source is destination:
            self.bar(position, source, setter + 1, position + len(self.body))
        elif self.known[destination][source] < setter + 1:
            number = self.planner.outermost[self.planner.numbers[id(loop)]]
            plan = FlagPlan(source, destination, self.number(setter), self.number(position), number)
            self.planner.plan.flags.append(plan)
            self.learn(destination, source, setter)


def _latest_first(item: tuple[tuple[Pipe, Pipe], int]) -> tuple[int, str, str]:
    (source, destination), setter = item
    return -setter, source.value, destination.value


def plan_of(kernel: Kernel, extra: Mapping[int, frozenset[Access]]) -> Plan:
    """Return the flags and barriers that `kernel` (level *buffered*) needs, with the touches of `extra` added."""
    names = dict(kernel.attributes).get("independent", ())
    independent = frozenset(str(name) for name in names) if isinstance(names, tuple) else frozenset()
    planner = Planner(Pipes.of(kernel), independent, extra)
    planner.number(kernel.body)
    planner.body(kernel.body)
    return planner.plan
