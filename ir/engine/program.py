"""A kernel unrolled: the instructions that one core issues, in program order.

Loops turn as often as their bounds say, or as often as a `Scenario` does, so that one run stands for all trip counts
like it. Numbers in registers are computed while issuing, as the scalar unit does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.index import IndexOperation, Symbol, evaluate, symbols
from pypto.ir.nodes import Attribute, Buffer, For, If, Kernel, Load, Operation, Pipe, Statement, Value, results, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.independence import Independent, independent_loops
from pypto.ir.passes.pipes import VECTOR, Access, Pipes
from pypto.ir.passes.slots import of_name, rotations, sub_blocks
from pypto.ir.verification.barriers import BARRIERS
from pypto.ir.verification.levels import barrier_flag

Flag = tuple[str, str, int]
Array = NDArray[Any]
COMPARISONS = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


class Kind(Enum):
    """What a pipe does with an instruction."""

    WORK = "work"
    SET = "set"
    WAIT = "wait"
    SIGNAL = "signal"
    AWAIT = "await"
    BARRIER = "barrier"


@dataclass(slots=True, eq=False)
class Step:
    """One instruction: `pipe` runs it; `flag` of a set or wait; what work touches, and in which slot of each buffer.

    `symbols` and `registers` are the indices and the numbers in registers at the time of issue; `turns` counts the
    loops around. A barrier between blocks is a flag with a negative number. The slot of an array in global memory is
    another one in each turn of a loop whose turns touch different elements of it. Work that is `in_order` starts when
    the work ahead of it in its pipe has finished; work that `waits_inside` waits for it somewhere in the middle.
    """

    kind: Kind
    pipe: str
    statement: Statement
    flag: Flag = ("", "", 0)
    accesses: tuple[Access, ...] = ()
    slots: Mapping[str, int] = field(default_factory=dict)
    symbols: Mapping[Symbol, int] = field(default_factory=dict)
    registers: Mapping[str, Array] = field(default_factory=dict)
    turns: tuple[int, ...] = ()
    in_order: bool = False
    waits_inside: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """Turns of each loop in the order of the text, and which side an If takes first."""

    turns: tuple[int, ...]
    side: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What all runs of one kernel share; `accessed` fills with the touches of its statements, by identity."""

    pipes: Pipes
    buffers: dict[str, Buffer]
    rotating: dict[str, For]
    spread: frozenset[str]
    numbers: dict[int, int]
    independent: Independent
    accessed: dict[int, tuple[Access, ...]] = field(default_factory=dict)

    @staticmethod
    def of(kernel: Kernel) -> Facts:
        loops = (item for item in walk(kernel.body) if isinstance(item, For))
        numbers = {id(loop): number for number, loop in enumerate(loops)}
        spread, independent = sub_blocks(kernel), independent_loops(kernel)
        return Facts(Pipes.of(kernel), of_name(kernel.buffers), rotations(kernel), spread, numbers, independent)

    def accesses(self, statement: Statement) -> tuple[Access, ...]:
        found = self.accessed.get(id(statement))
        if found is None:
            touched = self.pipes.accesses(statement)
            found = self.accessed[id(statement)] = tuple(sorted(touched, key=_by_resource))
        return found


@dataclass(slots=True)
class Program:
    """The instructions of one block of `kernel`, level *buffered* or below; of one of its cores if it is mixed: `core`
    is ``cube`` or ``vector``, `sub_block` the number of the vector core beside the cube core.

    `known_facts` are those of the kernel, if somebody has them. `scenario` replaces trip counts and conditions; without
    it `symbols` must have a value for every grid axis and extent, and `scalars` for every scalar parameter.
    """

    kernel: Kernel
    scenario: Scenario | None = None
    symbols: dict[Symbol, int] = field(default_factory=dict)
    scalars: Mapping[str, Array] = field(default_factory=dict)
    core: str = ""
    sub_block: int = 0
    known_facts: Facts | None = None
    facts: Facts = field(init=False)
    registers: dict[str, Array] = field(default_factory=dict)
    turn_of: dict[int, int] = field(default_factory=dict)
    turns: tuple[int, ...] = ()
    epochs: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.facts = self.known_facts or Facts.of(self.kernel)

    def steps(self) -> Iterator[Step]:
        if self.scenario is not None:
            self.symbols.update((axis.symbol, 0) for axis in self.kernel.grid)
        yield from self.body(self.kernel.body)

    def body(self, body: tuple[Statement, ...]) -> Iterator[Step]:
        for statement in body:
            if isinstance(statement, For) and statement.index.name in self.facts.spread:
                if self.core == VECTOR:
                    self.symbols[statement.index] = self.sub_block
                    yield from self.body(statement.body)
            elif isinstance(statement, For):
                yield from self.loop(statement)
            elif isinstance(statement, If):
                yield from self.body(statement.then_body if self.takes(statement) else statement.else_body)
            elif isinstance(statement, Operation) and TABLE[statement.name].category is Category.SYNCHRONISATION:
                if dict(statement.attributes).get("core", self.core) == self.core:
                    yield self.synchronisation(statement)
            else:
                yield from self.work(statement)

    def takes(self, choice: If) -> bool:
        if self.scenario is not None:
            return (self.scenario.side + sum(self.turns)) % 2 == 0
        condition = choice.condition
        left, right = evaluate(condition.left, self.symbols), evaluate(condition.right, self.symbols)
        return bool(COMPARISONS[condition.comparison](left, right))

    def loop(self, loop: For) -> Iterator[Step]:
        outer = self.turns
        for number, index in enumerate(self.indices(loop)):
            self.symbols[loop.index] = index
            self.turn_of[id(loop)] = number
            self.turns = (*outer, number)
            self.epochs.update(self.facts.independent[id(loop)])
            yield from self.body(loop.body)
        self.turns = outer

    def indices(self, loop: For) -> range:
        if self.scenario is None:
            return range(evaluate(loop.start, self.symbols), evaluate(loop.stop, self.symbols), loop.step)
        known = {symbol: self.symbols.get(symbol, 0) for symbol in symbols(loop.start)}
        start = evaluate(loop.start, known)
        turns = self.scenario.turns[self.facts.numbers[id(loop)]]
        if self.core:  # regions are compared, which have to be real ones
            turns = min(turns, max(0, -(-(evaluate(loop.stop, self.symbols) - start) // loop.step)))
        return range(start, start + turns * loop.step, loop.step)

    def synchronisation(self, operation: Operation) -> Step:
        attributes = dict(operation.attributes)
        if operation.name == "pipe_barrier":
            return Step(Kind.BARRIER, str(attributes["pipe"]), operation, turns=self.turns)
        if operation.name in BARRIERS:
            meeting = barrier_flag(operation)
            if operation.name == "set_barrier":
                return Step(Kind.SET, Pipe.MTE3.value, operation, meeting, turns=self.turns)
            return Step(Kind.WAIT, Pipe.S.value, operation, meeting, turns=self.turns)
        if operation.name == "set_cross_flag":
            return Step(Kind.SIGNAL, str(attributes["pipe"]), operation, self.cross_flag(operation), turns=self.turns)
        if operation.name == "wait_cross_flag":
            return Step(Kind.AWAIT, Pipe.S.value, operation, self.cross_flag(operation), turns=self.turns)
        number = attributes["id"]
        assert isinstance(number, int | Symbol | IndexOperation)
        flag = (str(attributes["source"]), str(attributes["destination"]), evaluate(number, self.symbols))
        if operation.name == "set_flag":
            return Step(Kind.SET, flag[0], operation, flag, turns=self.turns)
        return Step(Kind.WAIT, flag[1], operation, flag, turns=self.turns)

    def cross_flag(self, operation: Operation) -> Flag:
        number = operation.attribute("id")
        assert isinstance(number, int)
        return "", "", number

    def work(self, statement: Statement) -> Iterator[Step]:
        accesses = self.facts.accesses(statement)
        if not accesses:
            if self.scenario is None:
                self.compute(statement)
            return
        queue = next(iter(accesses)).pipe
        if queue.core != self.core:
            return
        names = [item.resource for item in accesses if item.resource in self.facts.rotating]
        slots = {name: self.turn_of[id(self.facts.rotating[name])] % self.facts.buffers[name].depth for name in names}
        slots.update((item.resource, self.epochs[item.resource]) for item in accesses if item.resource in self.epochs)
        pipe = queue.pipe.value
        waits = self.facts.pipes.in_order(statement), self.facts.pipes.waits_inside(statement)
        if self.scenario is not None:
            known = dict(self.symbols) if self.core else {}
            yield Step(Kind.WORK, pipe, statement, ("", "", 0), accesses, slots, known, {}, self.turns, *waits)
            return
        registers = {value.name: self.registers[value.name] for value in _read(statement) if value.buffer is None}
        known = dict(self.symbols)
        yield Step(Kind.WORK, pipe, statement, ("", "", 0), accesses, slots, known, registers, self.turns, *waits)

    def compute(self, statement: Statement) -> None:
        """Keep what the scalar unit computes in registers; views and undefined tiles need no instruction."""
        if isinstance(statement, Load):
            self.registers[statement.result.name] = self.scalars[statement.source]
        elif isinstance(statement, Operation) and all(value.buffer is None for value in results(statement)):
            attributes = {name: concrete(value, self.symbols) for name, value in statement.attributes}
            arrays = [self.registers[value.name] for value in statement.operands]
            with np.errstate(all="ignore"):
                outcome = TABLE[statement.name].meaning(*arrays, **attributes)
            self.registers[statement.results[0].name] = np.asarray(outcome)


def _by_resource(access: Access) -> tuple[str, bool]:
    return access.resource, access.write


def concrete(value: Attribute, symbols: Mapping[Symbol, int]) -> Any:
    """Return an attribute with its index expressions evaluated."""
    if isinstance(value, tuple):
        return tuple(concrete(item, symbols) for item in value)
    return evaluate(value, symbols) if isinstance(value, Symbol | IndexOperation) else value


def _read(statement: Statement) -> tuple[Value, ...]:
    return statement.operands if isinstance(statement, Operation) else ()
