"""Drop what nobody uses: statements that no store depends on, and stores of what is stored over unread."""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.nodes import (
    For,
    If,
    Kernel,
    Level,
    Load,
    Operation,
    Range,
    Region,
    Statement,
    Store,
    operands,
    results,
    walk,
)
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.manager import Pass


def remove_dead(kernel: Kernel) -> Kernel:
    """Return `kernel` without statements that no store depends on, and without stores to what the same body stores to
    again before anything reads it."""
    return replace(kernel, body=_live(kernel.body, set()))


def _live(body: tuple[Statement, ...], needed: set[str]) -> tuple[Statement, ...]:
    """Return the statements of `body` that store or define a name of `needed`, which grows by what they read."""
    kept: list[Statement] = []
    stored_later: dict[str, list[Region]] = {}
    for statement in reversed(body):
        if _is_stored_over(statement, stored_later) or not _is_needed(statement, needed):
            continue
        made = _with_live_regions(statement, needed)
        needed.update(value.name for value in operands(made))
        kept.append(made)
    return tuple(reversed(kept))


def _is_stored_over(statement: Statement, stored_later: dict[str, list[Region]]) -> bool:
    """Return whether a region that is stored to later holds all that `statement` stores; keep account of regions."""
    if isinstance(statement, Store):
        regions = stored_later.setdefault(statement.target, [])
        if any(all(map(_holds, region, statement.region)) for region in regions):
            return True
        if not statement.clip:
            regions.append(statement.region)
        return False
    for inner in walk((statement,)):
        if isinstance(inner, Load):
            stored_later.pop(inner.source, None)
        elif _synchronises(inner):
            stored_later.clear()
    return False


def _holds(outer: Range, inner: Range) -> bool:
    """Return whether `outer` holds all of `inner`, as far as numbers tell."""
    if outer == inner:
        return True
    sizes = (outer.offset, outer.extent, inner.offset, inner.extent)
    if outer.step != 1 or inner.step != 1 or not all(isinstance(size, int) for size in sizes):
        return False
    start, length, first, count = sizes
    return start <= first and first + count <= start + length  # type: ignore[operator]  # numbers


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
