"""Order the pipes: one flag for each dependency between two of them, a barrier for one inside a pipe.

`dependencies` finds what must be ordered; here flags get ids. Flags are binary, so two may share an id only when the
second is surely set after the first was waited for, which the vector clocks of `clocks` tell. Where six ids are too few
for a pair of pipes, two statements are ordered that need not be, and everything is planned again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from pypto.ir.base.errors import CompilerBug
from pypto.ir.nodes import For, If, Kernel, Level, Operation, Pipe, Statement
from pypto.ir.passes.clocks import Event, knows, runs
from pypto.ir.passes.dependencies import FlagPlan, Plan, plan_of
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.pipes import Access

IDS = 6
"""Flag ids of a pair of pipes: the hardware has 8, 6 and 7 are reserved in static-tensor style."""

ATTEMPTS = 200

Extra = dict[int, frozenset[Access]]
Trace = list[tuple[str, Event]]


def insert_synchronisation(kernel: Kernel) -> Kernel:
    """Return `kernel` at level *synchronised*."""
    extra: Extra = {}
    for _ in range(ATTEMPTS):
        plan = plan_of(kernel, extra)
        traces = [run.events for run in runs(placed(kernel, plan, list(range(len(plan.flags)))))]
        ids, unplaced = choose_ids(plan, traces)
        if unplaced is None:
            return replace(placed(kernel, plan, ids), level=Level.SYNCHRONISED)
        relax(plan, unplaced, extra)
    raise CompilerBug("insert_synchronisation", f"flags of {kernel.name} do not fit {IDS} ids")


def choose_ids(plan: Plan, traces: list[Trace]) -> tuple[list[int], FlagPlan | None]:
    """Return the id of each flag, and the first flag that finds none."""
    sharing: dict[tuple[Pipe, Pipe], list[set[int]]] = defaultdict(list)
    ids: list[int] = []
    for number, flag in enumerate(plan.flags):
        groups = sharing[flag.source, flag.destination]
        chosen = next((k for k, group in enumerate(groups) if _take_turns(group | {number}, traces)), len(groups))
        if chosen == IDS or not _take_turns({number}, traces):
            return ids, flag
        if chosen == len(groups):
            groups.append(set())
        groups[chosen].add(number)
        ids.append(chosen)
    return ids, None


def _take_turns(numbers: set[int], traces: list[Trace]) -> bool:
    """Return whether flags are never set while one of them is raised or its wait may still be to come."""
    return all(_takes_turns(numbers, trace) for trace in traces)


def _takes_turns(numbers: set[int], trace: Trace) -> bool:
    raised, waited = False, None
    for kind, event in trace:
        if event.flag[2] not in numbers:
            continue
        if kind == "wait":
            raised, waited = False, event
        elif raised or (waited is not None and not knows(event, waited)):
            return False
        else:
            raised = True
    return True


def relax(plan: Plan, flag: FlagPlan, extra: Extra) -> None:
    """Order one more pair of statements so that `flag` needs no id of its own, or finds one free."""
    pair = [item for item in plan.flags if (item.source, item.destination) == (flag.source, flag.destination)]
    forward = [item for item in pair if item.loop is None and item is not flag]
    over = [item.waiter for item in forward if item.setter < flag.setter < item.waiter]
    past = sorted(item.waiter for item in forward if item.waiter <= flag.setter)
    if over:
        _link(extra, (flag.setter, flag.source), (min(over), flag.destination))
    elif past:
        _link(extra, (past[-IDS] if len(past) >= IDS else past[0], flag.destination), (flag.setter, flag.source))
    else:
        raise CompilerBug("insert_synchronisation", f"no flag of {flag.source.value} can be spared")


def _link(extra: Extra, *touches: tuple[int, Pipe]) -> None:
    resource = f"order {len(extra)} {touches}"
    for number, pipe in touches:
        extra[number] = extra.get(number, frozenset()) | {Access(pipe, resource, True)}


def placed(kernel: Kernel, plan: Plan, ids: list[int]) -> Kernel:
    """Return `kernel` with the flags and barriers of `plan` at their places."""
    return replace(kernel, body=_Placer(plan, ids).body(kernel.body))


class _Placer:
    def __init__(self, plan: Plan, ids: list[int]) -> None:
        self.before: dict[int, list[Operation]] = defaultdict(list)
        self.after: dict[int, list[Operation]] = defaultdict(list)
        self.count = 0
        for flag, number in zip(plan.flags, ids, strict=True):
            self.before[flag.waiter].append(_flag("wait_flag", flag, number))
            self.after[flag.setter].append(_flag("set_flag", flag, number))
        for flag, number in zip(plan.flags, ids, strict=True):
            if flag.loop is not None:
                self.before[flag.loop].append(_flag("set_flag", flag, number))
                self.after[flag.loop].insert(0, _flag("wait_flag", flag, number))
        for statement, pipes in plan.barriers.items():
            self.before[statement] += [_barrier(pipe) for pipe in sorted(pipes, key=lambda pipe: pipe.value)]

    def body(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        made: list[Statement] = []
        for statement in body:
            number = self.count
            self.count += 1
            inner = self.inside(statement)
            made += [replace(item, location=statement.location) for item in self.before[number]]
            made.append(inner)
            made += [replace(item, location=statement.location) for item in self.after[number]]
        return tuple(made)

    def inside(self, statement: Statement) -> Statement:
        if isinstance(statement, For):
            return replace(statement, body=self.body(statement.body))
        if isinstance(statement, If):
            then_body = self.body(statement.then_body)
            return replace(statement, then_body=then_body, else_body=self.body(statement.else_body))
        return statement


def _flag(name: str, flag: FlagPlan, number: int) -> Operation:
    attributes = (("destination", flag.destination.value), ("id", number), ("source", flag.source.value))
    return Operation(name, (), (), attributes)


def _barrier(pipe: Pipe) -> Operation:
    return Operation("pipe_barrier", (), (), (("pipe", pipe.value),))


INSERT_SYNCHRONISATION = Pass("insert_synchronisation", Level.BUFFERED, Level.SYNCHRONISED, insert_synchronisation)
