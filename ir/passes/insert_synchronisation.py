"""Order the pipes: one flag for each dependency between two of them, a barrier for one inside a pipe.

`dependencies` finds what must be ordered; here flags get ids. Flags are binary, so two may share an id only when the
second is surely set after the first was waited for, which the vector clocks of `pypto.ir.engine` tell. A flag of a loop
with rotating buffers may take as many ids as there are slots, in turn. Where six ids are too few for a pair of pipes,
two statements are ordered that need not be, and everything is planned again; or, if nothing can be ordered, buffers
get one slot less and the kernel's attribute ``notes`` says so.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from pypto.ir.base.errors import UserError
from pypto.ir.engine.clocks import Event, is_faulty, observe, scenarios
from pypto.ir.engine.program import Facts
from pypto.ir.index import Index, add
from pypto.ir.nodes import Attribute, For, If, Kernel, Level, Operation, Statement, walk
from pypto.ir.passes.dependencies import FlagPlan, Plan, plan_of
from pypto.ir.passes.layout import symbol_ranges
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.pipes import Access, Pipes, Queue
from pypto.ir.passes.remove_implied import Item, PlacedPlan, needed_plan, plan_items, without_implied
from pypto.ir.passes.rotate_buffers import noted
from pypto.ir.passes.slots import slot
from pypto.ir.verification.cross_flags import LARGEST_CROSS_FLAG

IDS = 6
"""Flag ids of a pair of pipes: the hardware has 8, 6 and 7 are reserved in static-tensor style."""

ATTEMPTS = 200
SLOTS = 4
"""More than any width of a flag: ids of flags that have none yet are their numbers times this."""

Extra = dict[int, frozenset[Access]]
Turns = dict[tuple[int, int], list[tuple[int, Event]]]
"""By flag and slot: its events with their places in the trace."""


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of a flag: `first` to `first` + `width` - 1, in turn."""

    first: int
    width: int


class Refusal(Enum):
    """Why no flags were found for buffers of so many slots."""

    IDS = f"{IDS} flag ids are too few for {{slots}} slots per buffer"
    CLOCKS = "{slots} slots per buffer are out of order where an inner loop begins anew"


def insert_synchronisation(kernel: Kernel) -> Kernel:
    """Return `kernel` at level *synchronised*."""
    return replace(placed(*ordered(kernel)), level=Level.SYNCHRONISED)


def ordered(kernel: Kernel) -> tuple[Kernel, Plan, list[Ids]]:
    """Return `kernel` with as many slots as can be kept, its flags and barriers, and the ids of the flags.

    Raises UserError ``flag-ids`` where even pipes that take turns need too many.
    """
    deepest = max((buffer.depth for buffer in kernel.buffers), default=1)
    reasons: list[str] = []
    for depth in range(deepest, 0, -1):
        shallow = _with_at_most(kernel, depth, reasons)
        found = order(shallow)
        if not isinstance(found, Refusal):
            return shallow, *found
        reasons.append(found.value.format(slots=depth))
    serial = noted(_with_at_most(kernel, 1, reasons[:-1]), SERIAL_NOTE)
    found = order(serial, one_at_a_time(serial))
    if isinstance(found, Refusal):
        raise UserError("flag-ids", kernel.location, kernel=kernel.name, limit=IDS)
    return serial, *found


SERIAL_NOTE = f"{IDS} flag ids are too few for the copies in flight: the pipes take turns"


def one_at_a_time(kernel: Kernel) -> Extra:
    """Return touches of one thing by all statements: each waits for the one before it, which takes few ids."""
    pipes = Pipes.of(kernel)
    working = ((number, pipes.queue(item)) for number, item in enumerate(walk(kernel.body)))
    return {number: frozenset((Access(pipe, "turn", True),)) for number, pipe in working if pipe is not None}


def _with_at_most(kernel: Kernel, depth: int, reasons: list[str]) -> Kernel:
    """Return `kernel` with at most `depth` slots per buffer, noting why there are no more."""
    if not reasons:
        return kernel
    buffers = tuple(replace(buffer, depth=min(depth, buffer.depth)) for buffer in kernel.buffers)
    note = f"{', '.join(reasons)}: {depth} {'is' if depth == 1 else 'are'} used"
    return noted(replace(kernel, buffers=buffers), note)


def order(kernel: Kernel, start: Extra | None = None) -> tuple[Plan, list[Ids]] | Refusal:
    """Return the flags and barriers of `kernel` and the ids of the flags, or why there are none.

    A plan takes the turns of a loop as one sequence, but slots begin anew whenever an inner loop is entered: the clocks
    have the last word.
    """
    extra: Extra = dict(start or {})
    for _ in range(ATTEMPTS):
        plan = plan_of(kernel, extra)
        if not extra:
            plan = needed_plan(kernel, plan, functools.partial(unnumbered_plan, kernel))
        check_crossing(kernel, plan)
        ids, unplaced = choose_ids(plan, traces(kernel, plan))
        if unplaced is None:
            found = trimmed(kernel, plan, ids) if extra else (plan, ids)
            return Refusal.CLOCKS if is_faulty(placed(kernel, *found)) else found
        if not relax(plan, unplaced, extra):
            break
    return Refusal.IDS


def check_crossing(kernel: Kernel, plan: Plan) -> None:
    """Raise UserError ``cross-flags`` for more flags between the two kinds of cores than there are."""
    count, limit = sum(flag.crosses for flag in plan.flags), LARGEST_CROSS_FLAG + 1
    if count > limit:
        raise UserError("cross-flags", kernel.location, kernel=kernel.name, count=count, limit=limit)


def trimmed(kernel: Kernel, plan: Plan, ids: list[Ids]) -> tuple[Plan, list[Ids]]:
    """Return `plan` without what was ordered for the sake of ids and is not needed for them after all."""
    numbers = dict(zip(plan.flags, ids, strict=True))

    def place(fewer: Plan) -> PlacedPlan:
        return placed_plan(kernel, fewer, [numbers[flag] for flag in fewer.flags])

    fewer = without_implied(plan, plan_items(plan), place, with_flags=True)
    return fewer, [numbers[flag] for flag in fewer.flags]


def unnumbered_plan(kernel: Kernel, plan: Plan) -> PlacedPlan:
    """Return `kernel` with flags that share no ids."""
    return placed_plan(kernel, plan, [Ids(number * SLOTS, flag.widths[-1]) for number, flag in enumerate(plan.flags)])


def traces(kernel: Kernel, plan: Plan) -> list[Turns]:
    """Return the events of each flag and slot in every scenario."""
    made = unnumbered_plan(kernel, plan).kernel
    found, facts = [], Facts.of(made)
    for scenario in scenarios(made):
        turns: Turns = defaultdict(list)
        for place, event in enumerate(observe(made, scenario, facts)[0].events):
            turns[divmod(event.step.flag[2], SLOTS)].append((place, event))
        found.append(turns)
    return found


@dataclass(slots=True)
class Group:
    """Flags that share their ids."""

    first: int
    width: int
    flags: list[int] = field(default_factory=list)


def choose_ids(plan: Plan, traces_: list[Turns]) -> tuple[list[Ids], FlagPlan | None]:
    """Return the ids of each flag, and the first flag that finds none."""
    groups: dict[tuple[Queue, Queue], list[Group]] = defaultdict(list)
    ids: list[Ids] = []
    crossing = itertools.count()
    for number, flag in enumerate(plan.flags):
        if flag.crosses:
            ids.append(Ids(next(crossing), 1))
            continue
        pair = groups[flag.source, flag.destination]
        group = _shared(plan, flag, number, pair, traces_) or _own(flag, number, pair, traces_)
        if group is None:
            return ids, flag
        group.flags.append(number)
        ids.append(Ids(group.first, group.width))
    return ids, None


def _shared(plan: Plan, flag: FlagPlan, number: int, pair: list[Group], traces_: list[Turns]) -> Group | None:
    """Return a group whose ids the flag may use too."""
    for group in pair:
        if group.width in flag.widths and _take_turns([*group.flags, number], group.width, traces_):
            return group
    return None


def _own(flag: FlagPlan, number: int, pair: list[Group], traces_: list[Turns]) -> Group | None:
    """Return a new group for the flag, of the least width that is right, while there are ids."""
    first = sum(group.width for group in pair)
    for width in flag.widths:
        if first + width <= IDS and _take_turns([number], width, traces_):
            pair.append(Group(first, width))
            return pair[-1]
    return None


def _take_turns(flags: list[int], width: int, traces_: list[Turns]) -> bool:
    """Return whether no flag is set while another of the same id is raised or its wait may still be to come."""
    return all(
        _takes_turns([turns.get((flag, slot), []) for flag in flags for slot in range(SLOTS) if slot % width == number])
        for turns in traces_
        for number in range(width)
    )


def _takes_turns(events: Iterable[list[tuple[int, Event]]]) -> bool:
    raised, lowered = False, None
    merged = [item for items in events for item in items]
    for _, event in sorted(merged, key=lambda item: item[0]):
        if event.lowered:
            raised, lowered = False, event
        elif raised or (lowered is not None and not event.follows(lowered)):
            return False
        else:
            raised = True
    return True


def relax(plan: Plan, flag: FlagPlan, extra: Extra) -> bool:
    """Order one more pair of statements so that `flag` needs no id of its own, or finds one free; return whether
    there was one."""
    pair = [item for item in plan.flags if (item.source, item.destination) == (flag.source, flag.destination)]
    forward = [item for item in pair if not item.distance and item is not flag and item.around == flag.around]
    over = [item.waiter for item in forward if item.setter < flag.setter < item.waiter]
    past = sorted((item.waiter, item.setter) for item in forward if item.waiter <= flag.setter)
    if over and not flag.distance:
        return _link(extra, (flag.setter, flag.source), (min(over), flag.destination))
    if past and not flag.distance:
        waiter, setter = past[-IDS] if len(past) >= IDS else past[0]
        if _link(extra, (waiter, flag.destination), (flag.setter, flag.source)):
            return True
        # In a loop, the other flag is set again in the next turn: after this one was waited for.
        return flag.around is not None and _link(extra, (flag.waiter, flag.destination), (setter, flag.source))
    if flag.distance == 1:
        turning = [item for item in pair if item.distance and item.around == flag.around]
        ends = (max(item.setter for item in turning), min(item.waiter for item in turning))
        return len(turning) > 1 and _link(extra, (ends[0], flag.source), (ends[1], flag.destination))
    return False


def _link(extra: Extra, *touches: tuple[int, Queue]) -> bool:
    """Make two statements touch something that nothing else does; return whether they did not already."""
    links = [Access(pipe, f"order {touches}", True) for _, pipe in touches]
    if all(link in extra.get(number, frozenset()) for link, (number, _) in zip(links, touches, strict=True)):
        return False
    for link, (number, _) in zip(links, touches, strict=True):
        extra[number] = extra.get(number, frozenset()) | {link}
    return True


def placed(kernel: Kernel, plan: Plan, ids: list[Ids]) -> Kernel:
    """Return `kernel` with the flags and barriers of `plan` at their places."""
    return placed_plan(kernel, plan, ids).kernel


def placed_plan(kernel: Kernel, plan: Plan, ids: list[Ids]) -> PlacedPlan:
    """Return `kernel` with the flags and barriers of `plan` at their places, and which statement stands for which."""
    placer = _Placer(kernel, plan, ids)
    return PlacedPlan(replace(kernel, body=placer.body(kernel.body)), placer.items)


class _Placer:
    def __init__(self, kernel: Kernel, plan: Plan, ids: list[Ids]) -> None:
        self.before: dict[int, list[tuple[Item, Operation]]] = defaultdict(list)
        self.after: dict[int, list[tuple[Item, Operation]]] = defaultdict(list)
        self.items: dict[int, Item] = {}
        self.count = 0
        self.loops = {number: item for number, item in enumerate(walk(kernel.body)) if isinstance(item, For)}
        self.ranges = symbol_ranges(kernel) if any(item.width > 1 for item in ids) else {}
        for flag, numbers in zip(plan.flags, ids, strict=True):
            number = self.turning(flag, numbers)
            self.before[flag.waiter].append((flag, _wait(flag, number)))
            self.after[flag.setter].append((flag, _set(flag, number)))
        for flag, numbers in zip(plan.flags, ids, strict=True):
            if flag.outermost is not None:
                every = [numbers.first + number for number in range(numbers.width)]
                every = every * flag.distance if flag.crosses else every
                self.before[flag.outermost] += [(flag, _set(flag, number)) for number in every]
                self.after[flag.outermost][:0] = [(flag, _wait(flag, number)) for number in every]
        for statement, pipes in plan.barriers.items():
            in_order = sorted(pipes, key=lambda pipe: pipe.value)
            self.before[statement] += [((statement, pipe), _barrier(pipe)) for pipe in in_order]

    def turning(self, flag: FlagPlan, ids: Ids) -> Index:
        """Return the id of the flag in the present turn of its loop."""
        if ids.width == 1 or flag.around is None:
            return ids.first
        return add(slot(self.loops[flag.around], ids.width, self.ranges), ids.first)

    def body(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        made: list[Statement] = []
        for statement in body:
            number = self.count
            self.count += 1
            inner = self.inside(statement)
            made += self.located(self.before[number], statement)
            made.append(inner)
            made += self.located(self.after[number], statement)
        return tuple(made)

    def located(self, operations: list[tuple[Item, Operation]], statement: Statement) -> list[Operation]:
        made = [replace(operation, location=statement.location) for _, operation in operations]
        self.items.update((id(operation), item) for operation, (item, _) in zip(made, operations, strict=True))
        return made

    def inside(self, statement: Statement) -> Statement:
        if isinstance(statement, For):
            return replace(statement, body=self.body(statement.body))
        if isinstance(statement, If):
            then_body = self.body(statement.then_body)
            return replace(statement, then_body=then_body, else_body=self.body(statement.else_body))
        return statement


def _set(flag: FlagPlan, number: Index) -> Operation:
    if flag.crosses:
        place = (("core", flag.source.core), ("id", number), ("pipe", flag.source.pipe.value))
        return Operation("set_cross_flag", (), (), place)
    return _flag("set_flag", flag, number)


def _wait(flag: FlagPlan, number: Index) -> Operation:
    if flag.crosses:
        return Operation("wait_cross_flag", (), (), (("core", flag.destination.core), ("id", number)))
    return _flag("wait_flag", flag, number)


def _flag(name: str, flag: FlagPlan, number: Index) -> Operation:
    core: tuple[tuple[str, Attribute], ...] = (("core", flag.source.core),) if flag.source.core else ()
    attributes = (
        *core,
        ("destination", flag.destination.pipe.value),
        ("id", number),
        ("source", flag.source.pipe.value),
    )
    return Operation(name, (), (), attributes)


def _barrier(pipe: Queue) -> Operation:
    core: tuple[tuple[str, Attribute], ...] = (("core", pipe.core),) if pipe.core else ()
    return Operation("pipe_barrier", (), (), (*core, ("pipe", pipe.pipe.value)))


INSERT_SYNCHRONISATION = Pass("insert_synchronisation", Level.BUFFERED, Level.SYNCHRONISED, insert_synchronisation)
