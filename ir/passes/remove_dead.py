"""Drop what nobody uses: statements that no store depends on."""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.nodes import For, If, Kernel, Level, Operation, Statement, Store, operands, results, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.manager import Pass


def remove_dead(kernel: Kernel) -> Kernel:
    """Return `kernel` without statements that no store depends on."""
    return replace(kernel, body=_live(kernel.body, set()))


def _live(body: tuple[Statement, ...], needed: set[str]) -> tuple[Statement, ...]:
    """Return the statements of `body` that store or define a name of `needed`, which grows by what they read."""
    kept: list[Statement] = []
    for statement in reversed(body):
        if not _is_needed(statement, needed):
            continue
        made = _with_live_regions(statement, needed)
        needed.update(value.name for value in operands(made))
        kept.append(made)
    return tuple(reversed(kept))


def _is_needed(statement: Statement, needed: set[str]) -> bool:
    if any(isinstance(inner, Store) or _synchronises(inner) for inner in walk((statement,))):
        return True
    return any(value.name in needed for value in results(statement))


def _synchronises(statement: Statement) -> bool:
    return isinstance(statement, Operation) and TABLE[statement.name].category is Category.SYNCHRONISATION


def _with_live_regions(statement: Statement, needed: set[str]) -> Statement:
    if isinstance(statement, For):
        needed.update(value.name for value in statement.yielded)
        return replace(statement, body=_live(statement.body, needed))
    if isinstance(statement, If):
        needed.update(value.name for value in statement.then_yielded + statement.else_yielded)
        then_body, else_body = _live(statement.then_body, needed), _live(statement.else_body, needed)
        return replace(statement, then_body=then_body, else_body=else_body)
    return statement


REMOVE_DEAD = Pass("remove_dead", Level.TILE, Level.TILE, remove_dead)
