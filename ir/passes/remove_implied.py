"""Drop the flags and barriers that the others imply: those without which the clocks find no fault.

In a body without loops nothing is planned that is implied. Round a loop, a barrier for another turn may stand where it
makes one for the same turn needless, a loop inside a body counts as one statement when it is planned, and a barrier
between blocks orders pipes too. One run tells what nothing relies on; as much of that is left out as no fault shows.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pypto.ir.engine.clocks import is_faulty
from pypto.ir.engine.reliance import Choice, Runs
from pypto.ir.nodes import For, If, Kernel, walk
from pypto.ir.passes.dependencies import FlagPlan, Plan
from pypto.ir.passes.pipes import Queue, is_mixed
from pypto.ir.verification.barriers import is_barrier

Item = FlagPlan | tuple[int, Queue]
"""A flag of a plan, or a barrier by the statement that it stands before."""


@dataclass(frozen=True, slots=True)
class PlacedPlan:
    """A kernel with the flags and barriers of a plan, and which of them a statement stands for, by its identity."""

    kernel: Kernel
    items: Mapping[int, Item]


Place = Callable[[Plan], PlacedPlan]


def needed_plan(kernel: Kernel, plan: Plan, place: Place) -> Plan:
    """Return the flags and barriers of `plan` that `kernel` needs, whatever the ids; `place` puts a plan into it."""
    return without_implied(plan, _doubtful(kernel, plan), place, with_flags=False)


def plan_items(plan: Plan) -> list[Item]:
    """Return the flags of `plan`, then its barriers."""
    barriers = ((number, pipe) for number, pipes in plan.barriers.items() for pipe in sorted(pipes, key=_name))
    return [*plan.flags, *barriers]


def without_implied(plan: Plan, doubtful: list[Item], place: Place, with_flags: bool) -> Plan:
    """Return `plan` without such of `doubtful` that it is right without, but not without any more of them. With
    `with_flags` it is right only if no flag is misused."""
    if is_mixed(place(plan).kernel):
        return _tried(plan, doubtful, place, with_flags)
    left = doubtful
    while left:
        made = place(plan)
        runs = Runs.of(made.kernel)
        needed = _relied_on(made, runs, left, operator.and_, with_flags)
        left = [item for item in left if item not in needed]
        enough = _relied_on(made, runs, left, min, with_flags)  # so that most are dropped at once
        dropped = [item for item in left if item not in enough] or left[:1]
        plan, left = _without(plan, dropped), [item for item in left if item not in dropped]
    return plan


def _relied_on(made: PlacedPlan, runs: Runs, doubtful: list[Item], choice: Choice, with_flags: bool) -> set[Item]:
    """Return what the order of a kernel relies on, see `Runs.relied_on`; of two ways one without the first items."""
    if not doubtful:
        return set()
    bits = {item: 1 << number for number, item in enumerate(reversed(doubtful))}
    of_statements = {statement: bits[item] for statement, item in made.items.items() if item in bits}
    needed = runs.relied_on(of_statements, choice, with_flags)
    return {item for item in doubtful if needed & bits[item]}


def _tried(plan: Plan, doubtful: list[Item], place: Place, with_flags: bool) -> Plan:
    """Return `plan` without those that it is right without after those before them have been left out."""
    for item in doubtful:
        fewer = _without(plan, [item])
        if not is_faulty(place(fewer).kernel, races_only=not with_flags):
            plan = fewer
    return plan


def _name(queue: Queue) -> str:
    return queue.value


def _without(plan: Plan, items: list[Item]) -> Plan:
    for item in items:
        plan = without_flag(plan, item) if isinstance(item, FlagPlan) else without_barrier(plan, *item)
    return plan


def _doubtful(kernel: Kernel, plan: Plan) -> list[Item]:
    """Return the flags and barriers that may be implied.

    A barrier is doubtful only before a loop, and as the first of its pipe inside or behind one or at a barrier between
    turns: the next ones follow from statements between, as in a body without loops.
    """
    statements = list(walk(kernel.body))
    nested = {number for number, item in enumerate(statements) if isinstance(item, For | If) or is_barrier(item)}
    if not nested:
        return []
    queues = {pipe.value: pipe for pipes in plan.barriers.values() for pipe in pipes}
    barriers = sorted((number, pipe.value) for number, pipes in plan.barriers.items() for pipe in pipes)
    flags = [item for item in plan.flags if item.distance or nested & set(range(item.setter, item.waiter + 1))]
    first = min(nested)
    sizes = {number: sum(1 for _ in walk((statements[number],))) for number in nested}
    causes = {(number, pipe.value) for number, pipe in plan.between_turns}
    causes |= {(number + size, pipe) for number, size in sizes.items() for pipe in queues}
    causes |= {(number + 1, pipe) for number in nested for pipe in queues}
    barriers = [item for item in barriers if item[0] in nested or _is_next(item, barriers, causes)]
    return [*((number, queues[pipe]) for number, pipe in barriers if number >= first), *flags]


def _is_next(barrier: tuple[int, str], barriers: list[tuple[int, str]], causes: set[tuple[int, str]]) -> bool:
    """Return whether a barrier is the first of its pipe at or behind one of `causes`."""
    before = [number for number, pipe in barriers if pipe == barrier[1] and number < barrier[0]]
    least = max((number for number in before if (number, barrier[1]) not in causes), default=-1)
    return any(pipe == barrier[1] and least < number <= barrier[0] for number, pipe in causes)


def without_barrier(plan: Plan, statement: int, pipe: Queue) -> Plan:
    barriers: dict[int, set[Queue]] = defaultdict(set)
    barriers.update(
        (number, pipes - {pipe} if number == statement else pipes) for number, pipes in plan.barriers.items()
    )
    return Plan(plan.flags, barriers, plan.between_turns)


def without_flag(plan: Plan, flag: FlagPlan) -> Plan:
    return Plan([item for item in plan.flags if item is not flag], plan.barriers, plan.between_turns)
