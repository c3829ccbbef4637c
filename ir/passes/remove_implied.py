"""Drop the flags and barriers that the others imply: those without which the clocks find no fault.

In a body without loops nothing is planned that is implied. Round a loop, a barrier for another turn may stand where it
makes one for the same turn needless, and a loop inside a body counts as one statement when it is planned: there, each
flag and barrier is left out once to see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from pypto.ir.engine.clocks import is_faulty
from pypto.ir.nodes import For, If, Kernel, Pipe, Statement, walk
from pypto.ir.passes.dependencies import FlagPlan, Plan

Place = Callable[[Kernel, Plan], Kernel]


def needed_plan(kernel: Kernel, plan: Plan, place: Place) -> Plan:
    """Return the flags and barriers of `plan` that `kernel` needs; `place` puts a plan into a kernel."""
    for doubtful in _doubtful(kernel, plan):
        fewer = _without(plan, doubtful)
        if not is_faulty(place(kernel, fewer)):
            plan = fewer
    return plan


def _without(plan: Plan, item: FlagPlan | tuple[int, Pipe]) -> Plan:
    return without_flag(plan, item) if isinstance(item, FlagPlan) else without_barrier(plan, *item)


def _doubtful(kernel: Kernel, plan: Plan) -> list[FlagPlan | tuple[int, Pipe]]:
    """Return the flags and barriers that may be implied."""
    statements = list(walk(kernel.body))
    nested = {number for number, item in enumerate(statements) if isinstance(item, For | If)}
    inside = {number for first in nested for number in _within(first, statements[first])}
    if not nested:
        return []
    barriers = [(number, pipe) for number, pipes in plan.barriers.items() for pipe in sorted(pipes, key=_name)]
    if len(nested) == 1:
        return [(number, pipe) for number, pipe in barriers if number in inside | nested]
    first = min(nested)
    flags = [item for item in plan.flags if item.distance or nested & set(range(item.setter, item.waiter + 1))]
    return [*(item for item in barriers if item[0] >= first), *flags]


def _name(pipe: Pipe) -> str:
    return pipe.value


def _within(number: int, statement: Statement) -> range:
    """Return the numbers of `statement`, which is `number`, and of all statements inside it."""
    return range(number, number + sum(1 for _ in walk((statement,))))


def without_barrier(plan: Plan, statement: int, pipe: Pipe) -> Plan:
    barriers: dict[int, set[Pipe]] = defaultdict(set)
    barriers.update(
        (number, pipes - {pipe} if number == statement else pipes) for number, pipes in plan.barriers.items()
    )
    return Plan(plan.flags, barriers)


def without_flag(plan: Plan, flag: FlagPlan) -> Plan:
    return Plan([item for item in plan.flags if item is not flag], plan.barriers)
