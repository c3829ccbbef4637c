"""Loops: `pypto.loop` gives a `Loop`; a ``for`` over it traces its body twice and records one `For`.

The first run finds which tiles the body changes in place and which names it re-binds, and is undone. The second run
is recorded: every changed tile and every re-bound name starts from a carried value. Both runs must trace the same
operations.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.index import Index, Symbol, bounds
from pypto.ir.nodes import For, TileType, Value
from pypto.tracing.aliases import Shared, Sharing, is_private, root, sharing_after_a_turn, shown_by
from pypto.tracing.context import Change, Event, Tracer
from pypto.tracing.indices import IndexValue
from pypto.tracing.rewriting import rewritten
from pypto.tracing.storage import Cell, Fresh, Storage, Viewed
from pypto.tracing.tiles import Tile
from pypto.tracing.values import full, spread

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, dict, set)


def rewrite_loops(function: FunctionType) -> FunctionType:
    """Return `function` with its ``for`` statements rewritten, so that names re-bound in a loop's body are carried.

    Lines, columns, closure, defaults and globals stay. Without source the function is returned as it is; loops in
    it then carry state that is changed in place only.
    """
    return rewritten(function, enter)


class Loop:
    """What `pypto.loop` returns: to be iterated directly by a ``for`` statement."""

    __slots__ = ("location", "start", "step", "stop", "tracer")

    def __init__(self, tracer: Tracer, start: Index, stop: Index, step: int) -> None:
        self.tracer, self.start, self.stop, self.step = tracer, start, stop, step
        self.location = tracer.location()

    def __iter__(self) -> Iterator[Any]:
        """A ``for`` that was not rewritten: in-place state only, unless it is no ``for`` at all."""
        frame = sys._getframe(1)
        if not _starts_for(frame.f_code, frame.f_lasti):
            raise UserError("loop-direct", self.location)
        if self.tracer.eager:
            return self.turns()
        return LoopRun(self, None, 0)

    def turns(self) -> Iterator[Any]:
        """Return the numbers of an eager loop."""
        from pypto.tracing.executor import turns

        assert isinstance(self.start, int)
        assert isinstance(self.stop, int)
        return turns(range(self.start, self.stop, self.step))

    def __len__(self) -> int:
        raise UserError("loop-direct", self.location)

    def __getitem__(self, item: object) -> Any:
        raise UserError("loop-direct", self.location)

    def __reversed__(self) -> Any:
        raise UserError("loop-direct", self.location)


def _starts_for(code: CodeType, last: int) -> bool:
    """Return whether the instruction at `last` is the GET_ITER of a ``for`` statement."""
    instructions = [item for item in dis.get_instructions(code) if item.opname not in ("EXTENDED_ARG", "CACHE")]
    for position, instruction in enumerate(instructions[:-1]):
        if instruction.offset == last:
            is_iteration = instruction.opname == "GET_ITER" and instructions[position + 1].opname == "FOR_ITER"
            return is_iteration and code.co_name not in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
    return False


def enter(iterable: Any, names: tuple[str, ...], break_line: int) -> tuple[Any, LoopRun | None]:
    """Start a rewritten ``for``: a `Loop` gives its run twice over, anything else stays what it is."""
    if not isinstance(iterable, Loop):
        return iterable, None
    if iterable.tracer.eager:
        return iterable.turns(), None
    run = LoopRun(iterable, names, break_line)
    return run, run


@dataclass(slots=True)
class _Carried:
    """One value of the loop's state: a cell changed in place, or a re-bound name with a cell of its own."""

    cell: Cell
    initial: Value
    carried: Value
    name: str | None = None
    original: Tile | None = None


@dataclass(slots=True)
class _FirstRun:
    """What the first run of the body left behind."""

    events: list[Event]
    changes: list[Change]
    shapes: dict[int, tuple[Any, Any]]
    stored: set[int]
    names: dict[str, Any] = field(default_factory=dict)


class LoopRun:
    """The state of one traced loop; iterating it gives the index twice. `names` is None in a ``for`` without source."""

    def __init__(self, loop: Loop, names: tuple[str, ...] | None, break_line: int) -> None:
        tracer = self.tracer = loop.tracer
        self.loop, self.names, self.break_line = loop, names, break_line
        self.location = loop.location
        self.symbol = Symbol(f"i{tracer.next_key()}")
        self.before: dict[str, Any] = {}
        self.shown: dict[str, int] = {}
        self.base = 0
        self.turn = 0
        self.first: _FirstRun | None = None
        self.carried: list[_Carried] = []
        self.entries: dict[str, Tile] = {}
        self.given: dict[str, Tile] = {}
        self.results: dict[str, Tile] = {}
        self.outer_events: list[Event] | None = None
        self.outer_journal: list[Change] | None = None
        self.undone: list[tuple[Viewed, int]] = []
        self._state: dict[str, Any] = {}

    def __iter__(self) -> LoopRun:
        return self

    def __next__(self) -> IndexValue:
        frame = sys._getframe(1)
        self.turn += 1
        if self.turn == 1:
            return self._begin_first(frame)
        self._check_open()
        if self.turn == 2:
            self._end_first(frame)
            return self._begin_second()
        self._end_second(frame)
        raise StopIteration

    # -- the first run

    def _begin_first(self, frame: FrameType) -> IndexValue:
        tracer = self.tracer
        self.before = _names(frame)
        self._state = {name: _snapshot(value) for name, value in self.before.items()}
        self.base = tracer.next_key()
        start = bounds(self.loop.start, tracer.ranges)
        stop = bounds(self.loop.stop, tracer.ranges)
        if start is not None and stop is not None:
            tracer.ranges[self.symbol] = (start[0], max(start[0], stop[1] - 1))
        tracer.domains[self.symbol] = (self.loop.start, self.loop.stop, self.loop.step)
        tracer.open_loops.append(self)
        self.outer_events, self.outer_journal = tracer.events, tracer.begin_trial()
        self._give_each_name_a_tile_of_its_own()
        self.undone = [(memory, getattr(memory, "stores", 0)) for memory in tracer.memories]
        return self._open()

    def _give_each_name_a_tile_of_its_own(self) -> None:
        """Two names of one tile are told apart by the tile they are bound to after the body."""
        for name in self.names or ():
            tile = self.before.get(name)
            if isinstance(tile, Tile) and tile.scope.alive:
                self.entries[name] = self.given[name] = self._handle(tile, tile.storage, tile.ranges, tile.axes)

    def _handle(self, tile: Tile, storage: Storage, ranges: Any = None, axes: Any = None) -> Tile:
        """Return a tile that counts as `tile` when the two runs of the body are compared."""
        handle = Tile(self.tracer, storage, ranges, axes)
        handle.key, handle.outputs = tile.key, tile.outputs
        return handle

    def _open(self) -> IndexValue:
        tracer = self.tracer
        tracer.open_scope("loop")
        tracer.events = []
        tracer.keys = self.base
        return IndexValue(tracer, self.symbol)

    def _end_first(self, frame: FrameType) -> None:
        tracer = self.tracer
        events = tracer.events or []
        names = _names(frame)
        changes = [change for change in tracer.journal or [] if self._is_outer(change.cell)]
        shapes = {id(change.cell): _type_of(change.cell) for change in changes}
        stored = {id(memory) for memory, count in self.undone if getattr(memory, "stores", 0) != count}
        for memory, count in self.undone:
            if hasattr(memory, "stores"):
                memory.stores = count
        tracer.close_scope()
        tracer.end_trial(self.outer_journal)
        self.first = _FirstRun(events, changes, shapes, stored, names)
        self._check_python_state(names)

    def _is_outer(self, cell: Any) -> bool:
        return bool(cell.birth < self.base)

    def _check_python_state(self, names: dict[str, Any]) -> None:
        """A Python number or container that the body changes would change once, not once per turn."""
        for name, snapshot in self._state.items():
            if snapshot is not None and name in names and _snapshot(names[name]) != snapshot:
                raise UserError("loop-python-state", self.location, name=name)

    # -- the second run

    def _begin_second(self) -> IndexValue:
        first = self.first
        assert first is not None
        rebound = self._rebound(first.names)
        if self.names is None and rebound:
            raise UserError("loop-rebinding", self.location, name=rebound[0])
        own: dict[str, Tile] = {}
        pending = [*self._changed_cells(first), *self._rebound_cells(rebound)]
        index = self._open()
        for item in pending:
            item.cell.birth = min(item.cell.birth, self.base - 1)
            if item.name is None:
                item.cell.replace(self.tracer, item.carried)
                continue
            item.cell.value = item.carried
            assert item.original is not None
            own[item.name] = self._handle(item.original, item.cell)
        self._share(own, after_loop=False)
        self.given.update(own)
        self.entries = dict(self.given)
        self.tracer.keys = self.base
        self.carried = pending
        return index

    def _rebound(self, names: dict[str, Any]) -> list[str]:
        """Return the names that held a tile before and hold another object now, of one type with it."""
        candidates = self.before if self.names is None else self.names
        found = []
        for name in candidates:
            before, after = self.before.get(name), names.get(name)
            if not isinstance(before, Tile) or self.given.get(name, before) is after:
                continue
            if not before.scope.alive or (isinstance(before.storage, Fresh) and before.storage.target is None):
                continue
            if isinstance(after, Tile) and (after.extents, after.dtype_) == (before.extents, before.dtype_):
                found.append(name)
            elif self._was_used(before):
                raise self._type_error(name, before, after)
        return found

    def _was_used(self, tile: Tile) -> bool:
        assert self.first is not None
        return any(tile.key == fact for event in self.first.events for fact in event[1:-1])

    def _type_error(self, name: str, before: Tile, after: Any) -> UserError:
        now = repr(after) if isinstance(after, Tile) else f"a {type(after).__name__}"
        return UserError("loop-carried-type", self.location, name=name, before=repr(before), after=now)

    def _changed_cells(self, first: _FirstRun) -> Iterator[_Carried]:
        """Yield the local tiles made before the loop that the body changes in place, in order of the first change."""
        tracer, seen = self.tracer, set[int]()
        for change in first.changes:
            cell: Any = change.cell
            if isinstance(cell, Fresh):
                dtype, shape = first.shapes[id(cell)]
                cell.begin(tracer, dtype, shape)
                cell = cell.target
            if id(cell) in seen or not isinstance(cell, Cell):
                continue
            seen.add(id(cell))
            initial = self._spread(cell.current(tracer), cell.shape)
            yield _Carried(cell, initial, self._new_value(initial.type))

    def _rebound_cells(self, rebound: list[str]) -> Iterator[_Carried]:
        tracer = self.tracer
        for name in rebound:
            tile = self.before[name]
            self._check_alias(name, tile)
            initial = self._spread(tile.read(), tile.extents)
            cell = Cell(tracer, tile.dtype_, tile.extents, None)
            yield _Carried(cell, initial, self._new_value(initial.type), name, tile)

    def _check_alias(self, name: str, tile: Tile) -> None:
        """A name that is re-bound may be changed in place as well only where nothing else shows the same elements."""
        assert self.first is not None
        storage = root(tile.storage)
        changed = {id(change.cell) for change in self.first.changes} | self.first.stored
        if id(storage) in changed and (not is_private(storage) or shown_by(storage, self.before) != [name]):
            raise UserError("loop-alias", self.location, name=name)

    def _share(self, own: dict[str, Tile], after_loop: bool) -> None:
        """Remember which re-bound names share elements with something, at the start of a turn or after the loop."""
        tracer, first = self.tracer, self.first
        assert first is not None
        if tracer.shared is None:
            tracer.shared = Shared()
        sharing = sharing_after_a_turn(self.before, first.names, list(own), self.base, tracer.shared)
        sharing.apply(own, tracer.shared)
        if not after_loop or self._turns_known():
            return
        for name, tile in own.items():  # after no turn at all a name still shows what it showed before
            storage = root(self.before[name].storage)
            if not is_private(storage) or shown_by(storage, self.before) != [name]:
                Sharing(outer=[(name, storage)]).apply({name: tile}, tracer.shared)

    def _turns_known(self) -> bool:
        return isinstance(self.loop.start, int) and isinstance(self.loop.stop, int)

    def _no_turns(self) -> bool:
        start, stop = self.loop.start, self.loop.stop
        return isinstance(start, int) and isinstance(stop, int) and start >= stop

    def _spread(self, value: Value, shape: Any) -> Value:
        """State has all hidden extents from the start, so that its type stays the same."""
        return spread(self.tracer, full(self.tracer, value, len(shape)), shape, self.tracer.hidden)

    def _new_value(self, type_: TileType) -> Value:
        from pypto.tracing.recorder import Recorder

        assert isinstance(self.tracer, Recorder)
        return self.tracer.value(type_)

    # -- what rewritten code asks

    def binds(self, name: str) -> bool:
        """Return whether `name` starts this turn with a tile of its own."""
        return name in self.entries

    def entry(self, name: str) -> Tile:
        return self.entries.pop(name)

    def leaves(self, name: str) -> bool:
        """Return whether `name` holds a carried tile after the loop (once)."""
        return name in self.results

    def result(self, name: str) -> Tile:
        return self.results.pop(name)

    def finish(self) -> None:
        """Raise UserError ``loop-break`` when the body was left before its end."""
        if self.turn < 3:
            location = self.location
            if self.break_line:
                location = Location(location.file, self.break_line)
            raise UserError("loop-break", location)

    # -- closing

    def _check_open(self) -> None:
        if not self.tracer.open_loops or self.tracer.open_loops[-1] is not self:
            inner = self.tracer.open_loops[-1] if self.tracer.open_loops else self
            raise UserError("loop-break", inner.location)

    def _end_second(self, frame: FrameType) -> None:
        tracer, first = self.tracer, self.first
        assert first is not None
        names = _names(frame)
        self._compare(first.events, tracer.events or [])
        yielded = tuple(self._yielded(item, names) for item in self.carried)
        body = tuple(tracer.scope.statements)
        tracer.close_scope()
        results = tuple(self._new_value(item.carried.type) for item in self.carried)
        loop = self.loop
        carried = tuple(item.carried for item in self.carried)
        initial = tuple(item.initial for item in self.carried)
        tracer.scope.statements.append(
            For(self.symbol, loop.start, loop.stop, loop.step, carried, initial, body, yielded, results, self.location)
        )
        tracer.events = self.outer_events
        tracer.open_loops.pop()
        for item, result in zip(self.carried, results, strict=True):
            if item.name is None:
                item.cell.replace(tracer, result, item.cell.missing)
            else:
                self.results[item.name] = Tile.of_value(tracer, result, item.cell.dtype)
        self._share(self.results, after_loop=True)
        for name, given in self.given.items():
            if name not in self.results and names.get(name) is given:
                self.results[name] = self.before[name]  # the body did not bind it anew
        if self._no_turns():
            self.results = {name: self.before[name] for name in self.results}
        self.given.clear()
        tracer.note("loop", repr(loop.start), repr(loop.stop), loop.step, len(self.carried))

    def _yielded(self, item: _Carried, names: dict[str, Any]) -> Value:
        if item.name is None:
            return self._spread(item.cell.current(self.tracer), item.cell.shape)
        after = names.get(item.name)
        assert item.original is not None
        if not isinstance(after, Tile) or (after.extents, after.dtype_) != (item.cell.shape, item.cell.dtype):
            raise self._type_error(item.name, item.original, after)
        return self._spread(after.read(), item.cell.shape)

    def _compare(self, first: list[Event], second: list[Event]) -> None:
        """Raise UserError ``loop-difference`` at the first operation that the two runs of the body do not share."""
        for before, now in zip(first, second, strict=False):
            if before[:-1] != now[:-1]:
                raise UserError("loop-difference", now[-1], first=before[0], second=now[0])
        if len(first) != len(second):
            longer = first if len(first) > len(second) else second
            extra = longer[min(len(first), len(second))]
            names = (extra[0], "nothing") if longer is first else ("nothing", extra[0])
            raise UserError("loop-difference", extra[-1], first=names[0], second=names[1])


def _type_of(cell: Any) -> tuple[Any, Any]:
    return cell.dtype, cell.shape


def _names(frame: FrameType) -> dict[str, Any]:
    """Return what the names of a frame are bound to, without those that rewriting added."""
    return {name: value for name, value in frame.f_locals.items() if not name.startswith("__pypto_")}


def _snapshot(value: Any) -> Any:
    """Return what must not change from turn to turn: a number by value, a container by its items' identity; else
    None.
    """
    if isinstance(value, _PLAIN):
        return type(value).__name__, repr(value)
    if isinstance(value, dict):
        return "dict", tuple((id(key), id(item)) for key, item in value.items())
    if isinstance(value, _CONTAINERS):
        return "items", tuple(id(item) for item in value)
    return None
