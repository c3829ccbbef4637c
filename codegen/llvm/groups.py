"""Tasks that run in one loop nest: the same loops, and nothing that one of them must have finished before another
starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from pypto.codegen.llvm import conflicts
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.evaluation import Indexing
from pypto.codegen.llvm.program import Access, Choice, Repeat, Statement, Task, Walk
from pypto.ir.index import Symbol

LOOKED_AT = 8
"""How many groups back a task may move to join one with its loops."""

Loops = frozenset[tuple[Symbol, Affine, Affine]]


@dataclass(slots=True)
class Group:
    """Tasks of one loop nest, in program order."""

    tasks: list[Task]
    loops: Loops

    @property
    def reduced(self) -> frozenset[Symbol] | None:
        """The axes that the group's reductions combine; None without reductions."""
        for task in self.tasks:
            if task.reduction is not None:
                return reduced_axes(task)
        return None


Step = Union[Group, Repeat, Choice, Walk]


def loops_of(task: Task) -> Loops:
    return frozenset((axis.symbol, axis.lower, axis.upper) for axis in task.axes)


def reduced_axes(task: Task) -> frozenset[Symbol]:
    return frozenset(axis.symbol for axis in task.axes if axis.reduced)


def form_groups(statements: list[Statement], indexing: Indexing) -> list[Step]:
    """Divide a sequence into groups; loops and branches stay where they are."""
    steps: list[Step] = []
    for statement in statements:
        if isinstance(statement, Task):
            _place(statement, steps, indexing)
        else:
            steps.append(statement)
    return steps


def _place(task: Task, steps: list[Step], indexing: Indexing) -> None:
    loops = loops_of(task)
    for step in reversed(steps[-LOOKED_AT:]):
        if not isinstance(step, Group):
            break
        if step.loops == loops and _may_join(task, step, indexing):
            step.tasks.append(task)
            return
        if any(_ordered(task, member, indexing) for member in step.tasks):
            break
    steps.append(Group([task], loops))


def _may_join(task: Task, group: Group, indexing: Indexing) -> bool:
    if task.is_sequential or group.tasks[0].is_sequential:
        return False
    if task.contraction is not None or group.tasks[0].contraction is not None:
        return False
    if task.reduction is not None and group.reduced not in (None, reduced_axes(task)):
        return False
    return all(_joinable(task, member, indexing) for member in group.tasks)


def _joinable(task: Task, member: Task, indexing: Indexing) -> bool:
    """True when running `member` and `task` element by element means the same as one after the other."""
    if _conflicts(task.target, member.target, indexing):
        return False
    for read in task.reads:
        if not _same_element(read, member.target, indexing, member.reduction is not None):
            return False
    return all(_same_element(read, task.target, indexing, task.reduction is not None) for read in member.reads)


def _same_element(read: Access, written: Access, indexing: Indexing, is_reduction: bool) -> bool:
    if not _conflicts(read, written, indexing):
        return True
    return read.index == written.index and not (is_reduction or read.guarded or written.guarded)


def _conflicts(left: Access, right: Access, indexing: Indexing) -> bool:
    return left.array.name == right.array.name and not conflicts.apart(left, right, indexing)


def _ordered(task: Task, member: Task, indexing: Indexing) -> bool:
    """True when `task` has to stay behind `member`."""
    if _conflicts(task.target, member.target, indexing):
        return True
    if any(_conflicts(read, member.target, indexing) for read in task.reads):
        return True
    return any(_conflicts(read, task.target, indexing) for read in member.reads)
