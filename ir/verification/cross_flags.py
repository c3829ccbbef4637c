"""Rules of mixed kernels: flags between cube and vector cores, and loops over the vector cores of a group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pypto.ir.nodes import Attribute, For, If, Kernel, Operation, Statement, walk
from pypto.ir.passes.slots import SUB_BLOCKS, sub_blocks
from pypto.ir.verification.barriers import is_barrier
from pypto.ir.verification.violation import Violation

LARGEST_CROSS_FLAG = 10
"""Largest id of a flag between cores: SyncAll uses 11 to 14."""

LARGEST_COUNT = 15
"""Counters of flags stop there."""

Counts = Counter[tuple[str, int]]
"""How often each flag was counted up and not yet waited for, by the core that does."""

OTHER = {"cube": "vector", "vector": "cube"}


def check_cross_flags(kernel: Kernel) -> None:
    """Raise Violation ``cross-flag`` unless flags between cores are counted up before they are waited for, on every way
    through the kernel, and none is left; ``sub-blocks`` for loops over vector cores that are none."""
    spread = sub_blocks(kernel)
    barriers = {
        item.attribute("barrier_id") for item in walk(kernel.body) if isinstance(item, Operation) and is_barrier(item)
    }
    for statement in walk(kernel.body):
        if isinstance(statement, For) and statement.index.name in spread:
            _check_spread(statement)
        if isinstance(statement, Operation) and statement.name in ("set_cross_flag", "wait_cross_flag"):
            _check_id(statement, barriers)
    left = _Counting(spread).after(kernel.body, Counter())
    for (core, number), count in sorted(left.items()):
        if count:
            raise Violation("cross-flag", kernel, id=number, what=f"is left at {count} for the {core} core")


def _check_spread(loop: For) -> None:
    if (loop.start, loop.stop, loop.step, loop.carried) != (0, SUB_BLOCKS, 1, ()):
        raise Violation("sub-blocks", loop, index=loop.index, count=SUB_BLOCKS)


def _check_id(operation: Operation, barriers: set[Attribute]) -> None:
    number = operation.attribute("id")
    if not isinstance(number, int) or not 0 <= number <= LARGEST_CROSS_FLAG:
        what = f"is no number from 0 to {LARGEST_CROSS_FLAG}"
        raise Violation("cross-flag", operation, id=number, what=what)
    if number in barriers:
        raise Violation("cross-flag", operation, id=number, what="is the flag of a barrier too")


@dataclass(frozen=True, slots=True)
class _Counting:
    """One walk; the loops of `spread` are none for the cores that run their turns."""

    spread: frozenset[str]

    def after(self, body: tuple[Statement, ...], counts: Counts) -> Counts:
        for statement in body:
            if isinstance(statement, Operation):
                counts = _counted(statement, counts)
            elif isinstance(statement, For):
                counts = self.after_loop(statement, counts)
            elif isinstance(statement, If):
                then, other = self.after(statement.then_body, counts), self.after(statement.else_body, counts)
                _check_same(then, other, statement, "is counted differently in the two branches")
                counts = then
        return counts

    def after_loop(self, loop: For, counts: Counts) -> Counts:
        """A loop leaves the counts as they are, turn by turn."""
        after = self.after(loop.body, counts)
        if loop.index.name in self.spread:
            return after
        _check_same(counts, after, loop, "changes with each turn of a loop")
        return counts


def _counted(operation: Operation, counts: Counts) -> Counts:
    if operation.name not in ("set_cross_flag", "wait_cross_flag"):
        return counts
    core, number = operation.attribute("core"), operation.attribute("id")
    assert isinstance(core, str) and isinstance(number, int)
    sets = operation.name == "set_cross_flag"
    key = (OTHER[core] if sets else core, number)
    after = counts.copy()
    after[key] += 1 if sets else -1
    if after[key] < 0:
        raise Violation("cross-flag", operation, id=number, what=f"is not counted up before the {core} core waits")
    if after[key] > LARGEST_COUNT:
        raise Violation("cross-flag", operation, id=number, what=f"is counted above {LARGEST_COUNT}")
    return after


def _check_same(one: Counts, other: Counts, statement: Statement, what: str) -> None:
    for key in sorted({*one, *other}):
        if one[key] != other[key]:
            raise Violation("cross-flag", statement, id=key[1], what=what)
