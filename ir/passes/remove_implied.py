"""Drop the flags and barriers that the others imply: those without which the clocks find no fault.

In a body without loops nothing is planned that is implied. Round a loop, a barrier for another turn may stand where it
makes one for the same turn needless, a loop inside a body counts as one statement when it is planned, and a barrier
between blocks orders pipes too: there, each flag and barrier is left out once to see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from pypto.ir.engine.clocks import is_faulty
from pypto.ir.nodes import For, If, Kernel, walk
from pypto.ir.passes.dependencies import FlagPlan, Plan
from pypto.ir.passes.pipes import Queue
from pypto.ir.verification.barriers import is_barrier

Place = Callable[[Kernel, Plan], Kernel]


def needed_plan(kernel: Kernel, plan: Plan, place: Place) -> Plan:
    """Return the flags and barriers of `plan` that `kernel` needs; `place` puts a plan into a kernel."""
    for doubtful in _doubtful(kernel, plan):
        fewer = _without(plan, doubtful)
        if not is_faulty(place(kernel, fewer), races_only=True):
            plan = fewer
    return plan


def _without(plan: Plan, item: FlagPlan | tuple[int, Queue]) -> Plan:
    return without_flag(plan, item) if isinstance(item, FlagPlan) else without_barrier(plan, *item)


def _doubtful(kernel: Kernel, plan: Plan) -> list[FlagPlan | tuple[int, Queue]]:
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
