"""Assembling a tile where it is needed: tasks that fill a local array write to the argument it is copied to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.program import Access, Array, Statement, Task, tasks

Index = tuple[Affine, ...]


def redirected(
    statements: list[Statement], local: Array, array: Array, place: Callable[[Index], Index]
) -> list[Statement] | None:
    """Return the statements with all writes to `local` going to `array` at `place`; None when that could be seen.

    It could when something reads `local`, when it is the target of a reduction to fewer elements, or when anything
    from the first of the writes on touches `array`.
    """
    first = next((number for number, item in enumerate(statements) if _touches(item, local)), None)
    if first is None or any(_touches(item, array) for item in statements[first:]):
        return None
    result = list(statements[:first])
    for statement in statements[first:]:
        if not _touches(statement, local):
            result.append(statement)
        elif isinstance(statement, Task) and _writes_elements(statement) and not _reads(statement, local):
            result.append(replace(statement, target=Access(array, place(statement.target.index))))
        else:
            return None
    return result


def _writes_elements(task: Task) -> bool:
    """True when nothing of a task's target is a partial result that other code keeps there."""
    return task.reduction is None or task.is_sequential


def _touches(statement: Statement, array: Array) -> bool:
    return any(task.target.array.name == array.name or _reads(task, array) for task in tasks([statement]))


def _reads(task: Task, array: Array) -> bool:
    return any(access.array.name == array.name for access in task.reads)
