"""Load and compute before a loop what each of its turns would load and compute again, such as one bias for all tiles.

A statement is invariant when neither the loop's index nor anything that its body defines reaches it, and, for a load,
when the body does not store to its array. What may go wrong where the loop has no turn at all (a load whose region lies
in the array only then, an index out of range) leaves only loops that surely turn. Invariants take memory for the whole
loop: where that would cost slots of the buffers, only loads are moved, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pypto.ir.index import Bounds, Symbol, bounds, symbols
from pypto.ir.nodes import Attribute, For, If, Kernel, Level, Load, Operation, Statement, Store, results, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.assign_buffers import assign_buffers
from pypto.ir.passes.footprint import capacity
from pypto.ir.passes.layout import symbol_ranges
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.plan_addresses import packed, peak
from pypto.ir.passes.rotate_buffers import wanted_depth, with_depth
from pypto.ir.passes.split_cores import is_cube

TOTAL = frozenset(
    (Category.ELEMENTWISE, Category.REDUCTION, Category.VIEW, Category.ASSEMBLY, Category.CONSTANT, Category.SCAN)
)
"""Categories whose operations have a result for whatever they are given."""


def hoist_invariants(kernel: Kernel) -> Kernel:
    """Return `kernel` with invariants before their loops, where the buffers keep the slots that they have without."""
    if is_cube(kernel) or not any(isinstance(item, For) for item in walk(kernel.body)):
        return kernel
    ranges = symbol_ranges(kernel)
    depth: int | None = None
    for loads_only in (False, True):
        made = replace(kernel, body=_hoisted(kernel.body, ranges, loads_only))
        if made.body == kernel.body:
            return kernel
        depth = slots(kernel) if depth is None else depth
        if slots(made) >= depth:
            return made
    return kernel


def slots(kernel: Kernel) -> int:
    """Return how many slots the buffers of `kernel` can have, at most those it asks for; 0 when it does not fit."""
    buffered = assign_buffers(kernel)
    for depth in range(wanted_depth(kernel), 0, -1):
        made = with_depth(buffered, depth)
        if peak(made) <= capacity(made) and packed(made) is not None:
            return depth
    return 0


def _hoisted(body: tuple[Statement, ...], ranges: dict[Symbol, Bounds], loads_only: bool) -> tuple[Statement, ...]:
    """Return `body` with the invariants of its loops before them, inner loops first."""
    made: list[Statement] = []
    for statement in body:
        if isinstance(statement, For):
            inner = _hoisted(statement.body, ranges, loads_only)
            moved, kept = _divided(replace(statement, body=inner), ranges, loads_only)
            made += [*moved, replace(statement, body=kept)]
        elif isinstance(statement, If):
            sides = (_hoisted(side, ranges, loads_only) for side in (statement.then_body, statement.else_body))
            then_body, else_body = sides
            made.append(replace(statement, then_body=then_body, else_body=else_body))
        else:
            made.append(statement)
    return tuple(made)


def _divided(
    loop: For, ranges: dict[Symbol, Bounds], loads_only: bool
) -> tuple[list[Load | Operation], tuple[Statement, ...]]:
    """Return the statements of the body of `loop` that no turn changes, and the others."""
    changing = {loop.index.name, *(value.name for value in loop.carried)}
    changing |= {item.index.name for item in walk(loop.body) if isinstance(item, For)}
    written = {item.target for item in walk(loop.body) if isinstance(item, Store)}
    turns = _surely_turns(loop, ranges)
    moved: list[Load | Operation] = []
    kept: list[Statement] = []
    for statement in loop.body:
        movable = _movable(statement, written, turns, loads_only)
        if movable is not None and not changing & set(_needs(movable)):
            moved.append(movable)
        else:
            kept.append(statement)
            changing |= {value.name for value in results(statement)}
    return _useful(moved, kept)


def _useful(
    moved: list[Load | Operation], kept: list[Statement]
) -> tuple[list[Load | Operation], tuple[Statement, ...]]:
    """Leave numbers where they are, which cost nothing: only what something moved needs goes with it."""
    needed: set[str] = set()
    away: list[Load | Operation] = []
    for statement in reversed(moved):
        free = isinstance(statement, Operation) and not statement.results[0].shape
        if not free or needed & {value.name for value in results(statement)}:
            away.insert(0, statement)
            needed |= set(_needs(statement))
    return away, tuple(item for item in (*moved, *kept) if item not in away)


def _surely_turns(loop: For, ranges: dict[Symbol, Bounds]) -> bool:
    start, stop = bounds(loop.start, ranges), bounds(loop.stop, ranges)
    return start is not None and stop is not None and start[1] < stop[0]


def _movable(statement: Statement, written: set[str], turns: bool, loads_only: bool) -> Load | Operation | None:
    """Return `statement` when nothing but its operands could keep it in the loop."""
    if isinstance(statement, Load):
        return statement if turns and statement.source not in written else None
    if not isinstance(statement, Operation) or statement.name == "undefined":
        return None
    total = TABLE[statement.name].category in TOTAL
    return statement if (turns or total) and not (loads_only and statement.results[0].shape) else None


def _needs(statement: Load | Operation) -> Iterator[str]:
    """Yield the names of all values and symbols that `statement` depends on."""
    types = [value.type for value in results(statement)]
    yield from (symbol.name for type_ in types for extent in type_.shape for symbol in symbols(extent))
    if isinstance(statement, Load):
        yield from (symbol.name for item in statement.region for symbol in symbols(item.offset) | symbols(item.extent))
    else:
        yield from (value.name for value in statement.operands)
        yield from (name for _, value in statement.attributes for name in _symbols_of(value))


def _symbols_of(value: Attribute) -> Iterator[str]:
    if isinstance(value, tuple):
        for item in value:
            yield from _symbols_of(item)
    elif isinstance(value, Symbol) or hasattr(value, "operator"):
        yield from (symbol.name for symbol in symbols(value))  # type: ignore[arg-type]  # an index expression


HOIST_INVARIANTS = Pass("hoist_invariants", Level.TILE, Level.TILE, hoist_invariants)
