"""What is known to have happened before what: the pipes of one core run a kernel with vector clocks, no data.

Each pipe runs its instructions in order, one after the other issued but not finished before the next starts; a flag
tells its waiting pipe that all earlier work of the setting pipe is done, and all that pipe had been told; a barrier
waits for its own pipe. Loops turn as often as a scenario says, so that one run stands for all trip counts like it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pypto.ir.nodes import For, If, Kernel, Operation, Pipe, Statement
from pypto.ir.passes.pipes import Access, Pipes, conflict

Clock = Counter[str]
Flag = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Turns of the loops by nesting depth (the last number for all deeper ones), and which side an If takes first."""

    turns: tuple[int, ...]
    side: int = 0

    def trips(self, depth: int) -> int:
        return self.turns[min(depth, len(self.turns) - 1)]


SCENARIOS = (
    *(Scenario((turns,), side) for turns in (0, 1, 2, 3) for side in (0, 1)),
    Scenario((3, 0)),
    Scenario((3, 1), 1),
    Scenario((2, 3)),
)


@dataclass(frozen=True, slots=True)
class Event:
    """A set or a wait of a flag in the unrolled program: its pipe's position, and what the pipe knew then."""

    flag: Flag
    pipe: str
    position: int
    knows: Clock


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in one scenario: what, and at which statement of the kernel."""

    what: str
    statement: Statement


@dataclass(slots=True)
class Run:
    """One run of a kernel under a scenario; `faults` and the flag `events` in program order come out."""

    pipes: Pipes
    scenario: Scenario
    independent: frozenset[str]
    issued: Clock = field(default_factory=Counter)
    known: dict[str, Clock] = field(default_factory=dict)
    raised: dict[Flag, Clock] = field(default_factory=dict)
    touched: dict[str, list[tuple[Access, int]]] = field(default_factory=dict)
    events: list[tuple[str, Event]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    turn: tuple[int, ...] = ()

    def body(self, body: tuple[Statement, ...], depth: int = 0) -> None:
        for statement in body:
            if isinstance(statement, For):
                self.loop(statement, depth)
            elif isinstance(statement, If):
                side = (self.scenario.side + sum(self.turn)) % 2
                self.body(statement.else_body if side else statement.then_body, depth)
            elif isinstance(statement, Operation) and statement.name in ("set_flag", "wait_flag", "pipe_barrier"):
                self.synchronise(statement)
            else:
                self.touch(statement)

    def loop(self, loop: For, depth: int) -> None:
        outer = self.turn
        for number in range(self.scenario.trips(depth)):
            counted = loop.index.name in self.independent
            self.turn = (*outer, number)
            if counted:
                self.forget_arrays()
            self.body(loop.body, depth + 1)
        self.turn = outer

    def forget_arrays(self) -> None:
        """Turns of an independent loop touch different elements of the arrays."""
        for name in [name for name in self.touched if name.startswith("gm:")]:
            del self.touched[name]

    def clock(self, pipe: str) -> Clock:
        return self.known.setdefault(pipe, Counter())

    def synchronise(self, operation: Operation) -> None:
        if operation.name == "pipe_barrier":
            pipe = str(operation.attribute("pipe"))
            self.clock(pipe)[pipe] = self.issued[pipe]
            return
        source, destination = str(operation.attribute("source")), str(operation.attribute("destination"))
        number = operation.attribute("id")
        assert isinstance(number, int)
        flag = (source, destination, number)
        if operation.name == "set_flag":
            self.set(flag, operation)
        else:
            self.wait(flag, operation)

    def set(self, flag: Flag, operation: Operation) -> None:
        pipe = flag[0]
        self.issued[pipe] += 1
        message = Counter(self.clock(pipe))
        message[pipe] = self.issued[pipe]
        if flag in self.raised:
            self.faults.append(Fault(f"flag {flag} set twice", operation))
        self.raised[flag] = message
        self.events.append(("set", Event(flag, pipe, self.issued[pipe], Counter(self.clock(pipe)))))

    def wait(self, flag: Flag, operation: Operation) -> None:
        pipe = flag[1]
        self.issued[pipe] += 1
        if flag not in self.raised:
            self.faults.append(Fault(f"flag {flag} waited for but not set", operation))
            return
        self.clock(pipe).update(self.raised.pop(flag) - self.clock(pipe))
        self.events.append(("wait", Event(flag, pipe, self.issued[pipe], Counter(self.clock(pipe)))))

    def touch(self, statement: Statement) -> None:
        accesses = self.pipes.accesses(statement)
        if not accesses:
            return
        pipe = next(iter(accesses)).pipe.value
        self.issued[pipe] += 1
        if pipe == Pipe.S.value:
            self.clock(pipe)[pipe] = self.issued[pipe]
        for access in accesses:
            earlier = self.touched.setdefault(access.resource, [])
            for other, position in earlier:
                if conflict(access, other) and self.clock(pipe)[other.pipe.value] < position:
                    what = f"{other.pipe.value} and {access.pipe.value} race on {access.resource}"
                    self.faults.append(Fault(what, statement))
        for access in accesses:
            earlier = self.touched[access.resource]
            earlier[:] = [item for item in earlier if item[0] != access]
            earlier.append((access, self.issued[pipe]))


def runs(kernel: Kernel) -> Iterator[Run]:
    """Yield a finished run of `kernel` (level *synchronised* or below) for each scenario."""
    attributes = dict(kernel.attributes)
    names = attributes.get("independent", ())
    independent = frozenset(str(name) for name in names) if isinstance(names, tuple) else frozenset()
    for scenario in SCENARIOS:
        run = Run(Pipes.of(kernel), scenario, independent)
        run.body(kernel.body)
        yield run


def faults(kernel: Kernel) -> list[Fault]:
    """Return the faults of synchronisation in `kernel`: races, flags left raised, set twice or waited for in vain."""
    found: list[Fault] = []
    for run in runs(kernel):
        found += run.faults
        found += reuse_faults(run, kernel)
        found += [Fault(f"flag {flag} still set at the end", kernel.body[-1]) for flag in run.raised]
    return found


def reuse_faults(run: Run, kernel: Kernel) -> list[Fault]:
    """A flag may be set again only when its last wait is known to have run."""
    waited: dict[Flag, Event] = {}
    found: list[Fault] = []
    for kind, event in run.events:
        if kind == "wait":
            waited[event.flag] = event
        elif event.flag in waited and not knows(event, waited[event.flag]):
            found.append(Fault(f"flag {event.flag} may be set before its last wait has run", kernel.body[-1]))
    return found


def knows(later: Event, earlier: Event) -> bool:
    """Return whether the pipe of `later` knew at that point that `earlier` had happened."""
    return later.knows[earlier.pipe] >= earlier.position
