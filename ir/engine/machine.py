"""The pipes of one core: instructions are issued in program order to queues; a pipe starts its own in order.

An instruction of a pipe may start before the one ahead of it has finished. A barrier starts when everything ahead of it
in its pipe has finished. A flag is raised when everything ahead has, which holds nothing up. Waiting for a flag holds
its pipe up until the flag is raised, and lowers it. The scalar unit issues all instructions, so that what holds up
pipe S holds up issuing.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from pypto.ir.engine.program import Flag, Kind, Step
from pypto.ir.nodes import Pipe, Statement
from pypto.ir.passes.pipes import Part

SCALAR = Pipe.S.value
PIPES = tuple(pipe.value for pipe in Pipe)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in one run: what, at which statement of the kernel, and the other statement in question."""

    what: str
    statement: Statement | None
    other: Statement | None = None

    def __str__(self) -> str:
        places = [str(item.location) for item in (self.other, self.statement) if item is not None]
        return f"{self.what} ({' and '.join(places)})" if places else self.what


class Observer(Protocol):
    """What a run is for. Work reads when it starts and writes when it finishes."""

    def start(self, step: Step) -> None: ...

    def finish(self, step: Step) -> None: ...

    def raise_flag(self, step: Step) -> None: ...

    def lower_flag(self, step: Step) -> None: ...

    def barrier(self, step: Step) -> None: ...


@dataclass(slots=True)
class Machine:
    """One core. `run` takes the order of least delay; `run_any` any other order that the hardware may take.

    A barrier between blocks is passed once this one has set it; `cores` has the machine of one block among others.
    `source` are the steps that are still to be issued after `following`.
    """

    observer: Observer
    queues: dict[str, deque[Step]] = field(default_factory=lambda: {pipe: deque() for pipe in PIPES})
    running: dict[str, list[Step]] = field(default_factory=lambda: {pipe: [] for pipe in PIPES})
    raised: dict[Flag, Step] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    source: Iterator[Step] = field(default_factory=lambda: iter(()))
    following: Step | None = None

    def run(self, steps: Iterable[Step]) -> list[Fault]:
        """Run `steps`, each as soon as it can; return the faults, deadlocks included."""
        for step in steps:
            self.issue(step)
            if self.queues[SCALAR]:
                break
        return self.ended()

    def issue(self, step: Step) -> None:
        """Give `step` to its pipe, which runs as far as it can."""
        self.queues[step.pipe].append(step)
        self.advance(step.pipe)

    def advance(self, pipe: str) -> None:
        queue = self.queues[pipe]
        while queue and self.can_start(queue[0]):
            step = queue.popleft()
            self.begin(step)
            if step.kind in (Kind.WORK, Kind.SET, Kind.SIGNAL):
                self.end(step)
            if step.kind is Kind.SET and self.queues[step.flag[1]]:
                self.advance(step.flag[1])

    def run_any(self, steps: Iterable[Step], order: Order) -> list[Fault]:
        """Run `steps` in the order that `order` chooses among what is possible; return the faults."""
        self.load(steps)
        while self.turn(order):
            pass
        return self.ended()

    def load(self, steps: Iterable[Step]) -> None:
        """Take `steps` as those to be issued."""
        self.source = iter(steps)
        self.following = next(self.source, None)

    def turn(self, order: Order) -> bool:
        """Do one of the things that can happen, as `order` chooses; return whether there was any."""
        actions = list(self.actions())
        if not actions:
            return False
        name, pipe = order.choose(actions)
        if name == "issue":
            assert self.following is not None
            self.queues[self.following.pipe].append(self.following)
            self.following = next(self.source, None)
        elif name == "start":
            self.begin(self.queues[pipe].popleft())
        else:
            able = self.finishable(pipe)
            self.end(able[order.which(len(able))])
        return True

    def actions(self) -> Iterator[tuple[str, str]]:
        """Yield what can happen next: ``issue``, or ``start`` or ``finish`` on a pipe."""
        following = self.following
        if following is not None and not self.queues[SCALAR] and not self.running[SCALAR]:
            yield "issue", following.pipe
        for pipe in PIPES:
            if self.queues[pipe] and self.can_start(self.queues[pipe][0]):
                yield "start", pipe
            if self.running[pipe]:
                yield "finish", pipe

    def finishable(self, pipe: str) -> list[Step]:
        """Return what may finish next on a pipe: any work, and with nothing ahead of it the raising of a flag or work
        that waits inside."""
        running = self.running[pipe]
        free = [step for step in running[1:] if step.kind is Kind.WORK and not step.waits_inside]
        return [*running[:1], *free]

    def can_start(self, step: Step) -> bool:
        if step.kind is Kind.WAIT:
            return step.flag in self.raised
        running = self.running[step.pipe]
        if step.kind is Kind.BARRIER or step.in_order:
            return not running
        if step.waits_inside and any(item.part is Part.BETWEEN for item in step.accesses):
            return not running  # observers read all at once, but much of it is read after the first wait
        # What comes after work that waits inside starts when that has waited.
        return len(running) < 2 or not any(item.waits_inside for item in running[1:])

    def begin(self, step: Step) -> None:
        if step.kind is Kind.SET:
            self.running[step.pipe].append(step)
        elif step.kind is Kind.WORK:
            self.running[step.pipe].append(step)
            self.observer.start(step)
        elif step.kind is Kind.BARRIER:
            self.observer.barrier(step)
        else:
            del self.raised[step.flag]
            self.observer.lower_flag(step)

    def end(self, step: Step) -> None:
        self.running[step.pipe].remove(step)
        if step.kind is Kind.WORK:
            self.observer.finish(step)
            return
        if step.flag in self.raised:
            self.faults.append(Fault(f"{show(step.flag)} set twice", step.statement))
        self.raised[step.flag] = step
        self.observer.raise_flag(step)

    def ended(self) -> list[Fault]:
        """Return all faults of a run that can go no further."""
        for pipe in PIPES:
            if self.queues[pipe]:
                step = self.queues[pipe][0]
                self.faults.append(Fault(f"deadlock: {pipe} waits for {show(step.flag)}", step.statement))
        for flag, step in self.raised.items():
            self.faults.append(Fault(f"{show(flag)} still set at the end", step.statement))
        return self.faults


def is_meeting(flag: Flag) -> bool:
    """Return whether a flag stands for a barrier between blocks."""
    return flag[2] < 0


def show(flag: Flag) -> str:
    return f"barrier {-1 - flag[2]}" if is_meeting(flag) else f"flag {flag[0]} -> {flag[1]} {flag[2]}"


@dataclass(slots=True)
class Order:
    """How to choose among what can happen next.

    ``early``: everything as soon as it can be. ``late``: the pipes named first in `favoured` run ahead of the others as
    far as they can, and work of a pipe finishes only when no more of it can start. ``random``: any way, by `seed`.
    `reads_late` is for the observer of values: the share of the work that reads just before it finishes.
    """

    name: str
    seed: int = 0
    favoured: tuple[str, ...] = ("MTE2", "V", "MTE3", "S")
    reads_late: float = 0.0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def choose(self, actions: list[tuple[str, str]]) -> tuple[str, str]:
        if self.name == "random":
            return self.random.choice(actions)
        if self.name == "early":
            return min(actions, key=lambda action: (("finish", "start", "issue").index(action[0]), action[1]))
        return min(actions, key=lambda action: (action[0] != "issue", self.rank(action[1]), action[0] != "start"))

    def rank(self, pipe: str) -> int:
        return self.favoured.index(pipe) if pipe in self.favoured else len(self.favoured)

    def which(self, count: int) -> int:
        """Return which of `count` running instructions of a pipe finishes."""
        if self.name == "random":
            return self.random.randrange(count)
        return 0 if self.name == "early" else count - 1


ORDERS = (
    Order("early"),
    Order("late"),
    Order("late", favoured=("MTE3", "V", "MTE2", "S")),
    Order("late", favoured=("V", "MTE2", "S", "MTE3")),
    Order("late", favoured=("S", "V", "MTE3", "MTE2"), reads_late=1.0),
    Order("late", reads_late=1.0),
)
