"""Observer: which flags and barriers the order of a kernel relies on; no data.

Beside what a pipe knows it keeps by which flags and barriers it knows so: those on all ways that the knowledge may have
taken, without any one of which the pipe would not know; or those of one way. So one run tells of each flag and barrier
whether leaving it out would show, and another one of many that they can be left out together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pypto.ir.engine.clocks import Cell, Clocks, Piece, cells_of, scenarios
from pypto.ir.engine.machine import PIPES, SCALAR, Machine, is_meeting
from pypto.ir.engine.program import Facts, Flag, Program, Step
from pypto.ir.nodes import Kernel

Knowledge = tuple[tuple[int, int], ...]
"""What a pipe knows of another: (position, bits), latest first. All work up to a position is known to have finished
by what the bits stand for; what is earlier takes fewer, or what is preferred."""

Choice = Callable[[int, int], int]
"""What is kept of the bits of two ways to know something: those on both (``&``), or those of one of them (``min``)."""


def bits_for(knowledge: Knowledge, position: int) -> int | None:
    """Return the bits for the work up to `position` to be known; None if it is not."""
    found = None
    for known, bits in knowledge:
        if known < position:
            break
        found = bits
    return found


def joined(choice: Choice, first: Knowledge, second: Knowledge) -> Knowledge:
    """Return what is known by either way."""
    if first == second or not second:
        return first
    if not first:
        return second
    found: list[tuple[int, int]] = []
    for position, bits in sorted((*first, *second), reverse=True):
        best = choice(found[-1][1], bits) if found else bits
        if found and best == found[-1][1]:
            continue
        if found and found[-1][0] == position:
            found.pop()
        found.append((position, best))
        if not best:
            break
    return tuple(found)


def through(knowledge: Knowledge, bit: int) -> Knowledge:
    """Return what a flag or barrier tells of `knowledge`."""
    return tuple((position, bits | bit) for position, bits in knowledge)


@dataclass(slots=True)
class Reliance(Clocks):
    """The observer. `bits` has one bit for each flag and barrier in question, by the identity of its statements.

    `needed` fills with the bits of what is known where it has to be: for no race and, with `with_flags`, for no flag to
    be set before another of its id was waited for.
    """

    bits: Mapping[int, int] = field(default_factory=dict)
    choice: Choice = operator.and_
    with_flags: bool = False
    needed: int = 0
    knows: list[list[Knowledge]] = field(default_factory=lambda: [[()] * len(PIPES) for _ in PIPES])
    messages: dict[Flag, list[Knowledge]] = field(default_factory=dict)
    waited: dict[Flag, dict[int, tuple[int, int]]] = field(default_factory=dict)

    def all_finished(self, pipe: int, position: int) -> None:
        self.knows[pipe][pipe] = ((position, 0),)

    def check_all(self, step: Step, pipe: int, pieces: list[tuple[Piece, bool]]) -> None:
        last: dict[int, int] = {}
        for piece, write in pieces:
            touched = self.touched.get(piece)
            if touched is None:
                continue
            for others in (touched.writes, touched.reads) if write else (touched.writes,):
                for other, (position, _) in others.items():
                    if last.get(other, 0) < position:
                        last[other] = position
        for other, position in last.items():
            self.rely(pipe, other, position)

    def rely(self, pipe: int, other: int, position: int, besides: int = 0) -> None:
        bits = bits_for(self.knows[pipe][other], position)
        if bits is None:
            self.races += 1
        else:
            self.needed |= bits & ~besides

    def raise_flag(self, step: Step) -> None:
        pipe, bit = self.number(step.pipe), self.bit(step)
        self.issued[pipe] += 1
        message = [through(knowledge, bit) for knowledge in self.knows[pipe]]
        message[pipe] = ((self.issued[pipe], bit),)
        self.messages[step.flag] = message
        for other, (waiting, position) in self.waited.get(step.flag, {}).items():
            self.rely(pipe, waiting, position, bit | other)

    def lower_flag(self, step: Step) -> None:
        pipe = self.number(step.pipe)
        self.issued[pipe] += 1
        message = self.messages[step.flag]
        everybody = is_meeting(step.flag) or step.pipe == SCALAR
        for knows in self.knows if everybody else (self.knows[pipe],):
            knows[:] = [joined(self.choice, *both) for both in zip(knows, message, strict=True)]
            if is_meeting(step.flag):
                knows[pipe] = ((self.issued[pipe], 0),)
        if self.with_flags:
            self.waited.setdefault(step.flag, {})[self.bit(step)] = (pipe, self.issued[pipe])

    def barrier(self, step: Step) -> None:
        pipe = self.number(step.pipe)
        self.knows[pipe][pipe] = joined(self.choice, self.knows[pipe][pipe], ((self.issued[pipe], self.bit(step)),))

    def bit(self, step: Step) -> int:
        return self.bits.get(id(step.statement), 0)


@dataclass(frozen=True, slots=True)
class Runs:
    """The instructions of a kernel, which is no mixed one and has no fault, in all scenarios."""

    cells: dict[Cell, tuple[Piece, ...]]
    steps: list[list[Step]]

    @staticmethod
    def of(kernel: Kernel) -> Runs:
        facts = Facts.of(kernel)
        runs = (Program(kernel, scenario, known_facts=facts) for scenario in scenarios(kernel))
        return Runs(cells_of(kernel, facts.pipes), [list(run.steps()) for run in runs])

    def relied_on(self, bits: Mapping[int, int], choice: Choice, with_flags: bool) -> int:
        """Return the bits of the flags and barriers that the kernel relies on.

        With ``&`` as `choice`: those without any one of which it has a race or, with `with_flags`, a flag that is set
        too early. With ``min``: some that are enough together, without those of high bits where it can be.
        """
        needed = 0
        for steps in self.steps:
            observer = Reliance(self.cells, bits=bits, choice=choice, with_flags=with_flags)
            Machine(observer).run(steps)
            needed |= observer.needed
        return needed
