"""`pypto.cond`: a choice on an index condition becomes an `If`; a choice on data runs both sides and selects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import BOOL
from pypto.ir.nodes import Condition as ConditionNode
from pypto.ir.nodes import If, Statement, Value
from pypto.tracing.context import Tracer, require
from pypto.tracing.elementwise import apply, combine, select
from pypto.tracing.indices import Condition, IndexValue
from pypto.tracing.recorder import Recorder
from pypto.tracing.storage import Cell
from pypto.tracing.tiles import Tile
from pypto.tracing.values import spread

Side = Callable[[], Any]


def choose(predicate: Any, then: Side, other: Side | None) -> Any:
    """Run one of two functions; see `pypto.cond`."""
    tracer = require("pypto.cond")
    for side in (then, other):
        if side is not None and not callable(side):
            raise tracer.error("cond-function", kind=f"a {type(side).__name__}")
    if isinstance(predicate, bool):
        return then() if predicate else other() if other is not None else None
    if isinstance(predicate, Condition):
        _choose_by_index(tracer, predicate.node(), then, other)
        return None
    if not isinstance(predicate, Tile) or predicate.dtype_ != BOOL or predicate.rank:
        shown = predicate if isinstance(predicate, (Tile, IndexValue)) else f"a {type(predicate).__name__}"
        raise tracer.error("cond-predicate", predicate=shown)
    predicate.check(tracer)
    if tracer.eager:
        from pypto.tracing.executor import number_of

        return then() if number_of(predicate) else other() if other is not None else None
    return _choose_by_data(tracer, predicate, then, other)


# -- conditions on data: every write is a selection


def _choose_by_data(tracer: Tracer, predicate: Tile, then: Side, other: Side | None) -> Any:
    predicate = predicate.copy()
    first = _run_where(tracer, predicate, then)
    if other is None:
        return None
    second = _run_where(tracer, apply("not", predicate), other)
    return _joined(tracer, first, second, lambda a, b: select(predicate, a, b))


def _run_where(tracer: Tracer, predicate: Tile, side: Side) -> Any:
    value = predicate.read()
    if tracer.predicates:
        value = combine(tracer, "and", (tracer.predicates[-1], value))
    tracer.predicates.append(value)
    try:
        return _run_side(tracer, side)
    finally:
        tracer.predicates.pop()


def _run_side(tracer: Tracer, side: Side) -> Any:
    """Run one side; a name of the enclosing function that it re-binds is an error."""
    location = tracer.location()
    before = _closed_over(side)
    loops = len(tracer.open_loops)
    result = side()
    for name, value in _closed_over(side).items():
        if before.get(name) is not value:
            raise UserError("cond-rebinding", location, name=name)
    if len(tracer.open_loops) != loops:
        raise UserError("loop-break", tracer.open_loops[-1].location)
    return result


def _closed_over(side: Side) -> dict[str, Any]:
    found: dict[str, Any] = {}
    code = getattr(side, "__code__", None)
    for name, cell in zip(code.co_freevars if code else (), getattr(side, "__closure__", None) or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found


def _joined(tracer: Tracer, first: Any, second: Any, join: Callable[[Any, Any], Any]) -> Any:
    """Return what both sides returned, joined element by element."""
    if first is None and second is None:
        return None
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        return tuple(_joined(tracer, a, b, join) for a, b in zip(first, second, strict=True))
    kinds = (Tile, int, float, bool)
    if not isinstance(first, kinds) or not isinstance(second, kinds):
        raise tracer.error("cond-results", first=type(first).__name__, second=type(second).__name__)
    return join(first, second)


# -- conditions on block ids and loop indices: an If


def _choose_by_index(tracer: Tracer, condition: ConditionNode, then: Side, other: Side | None) -> None:
    assert isinstance(tracer, Recorder)
    location = tracer.location()
    tracer.conditional += 1
    try:
        first = _record(tracer, then)
        second = _record(tracer, other if other is not None else _nothing)
    finally:
        tracer.conditional -= 1
    cells = {id(cell): cell for cell in (*first.cells, *second.cells)}
    then_body, then_yielded = _finish(tracer, first, list(cells.values()))
    else_body, else_yielded = _finish(tracer, second, list(cells.values()))
    results = tuple(tracer.value(value.type) for value in then_yielded)
    tracer.scope.statements.append(If(condition, then_body, then_yielded, else_body, else_yielded, results, location))
    for cell, result in zip(cells.values(), results, strict=True):
        cell.replace(tracer, result)
    tracer.note("cond", condition, len(results))


def _nothing() -> None:
    return None


class _Side:
    """What one side of an `If` did: its statements, the cells it changed with the values they hold at its end."""

    def __init__(self, statements: list[Statement], cells: dict[int, Cell], values: dict[int, Value]) -> None:
        self.statements, self.by_id, self.values = statements, cells, values

    @property
    def cells(self) -> list[Cell]:
        return list(self.by_id.values())


def _record(tracer: Recorder, side: Side) -> _Side:
    base = tracer.keys
    outer = tracer.begin_trial()
    scope = tracer.open_scope("branch")
    try:
        result = _run_side(tracer, side)
        if result is not None:
            raise tracer.error("cond-index-result")
        changed = [change.cell for change in tracer.journal or []]
        cells = {id(cell): cell for cell in changed if isinstance(cell, Cell) and cell.birth <= base}
        values = {number: cell.current(tracer) for number, cell in cells.items()}
    finally:
        tracer.close_scope()
        tracer.end_trial(outer)
    return _Side(scope.statements, cells, values)


def _finish(tracer: Recorder, side: _Side, cells: list[Cell]) -> tuple[tuple[Statement, ...], tuple[Value, ...]]:
    """Return the body of a side with the statements that bring what it yields to the common type."""
    before, tracer.scope.statements = tracer.scope.statements, []
    known, tracer.scope.known = tracer.scope.known, {}
    yielded = []
    for cell in cells:
        value = side.values.get(id(cell), None)
        yielded.append(
            spread(tracer, value if value is not None else _outside(tracer, cell, before), cell.shape, tracer.hidden)
        )
    body = (*side.statements, *tracer.scope.statements)
    tracer.scope.statements, tracer.scope.known = before, known
    return body, tuple(yielded)


def _outside(tracer: Recorder, cell: Cell, statements: list[Statement]) -> Value:
    """Return what a cell held before, recorded in the body around the `If`."""
    inner, tracer.scope.statements = tracer.scope.statements, statements
    value = cell.current(tracer)
    tracer.scope.statements = inner
    return value
