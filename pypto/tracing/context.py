"""What one run of a body keeps: the current scope, hidden axes, predicates, and a journal to undo a trial.

`Tracer` is abstract. `recorder.Recorder` records IR; `executor.Executor` computes at once (eager mode). Tiles,
storage, loops and public functions are the same for both.
"""

from __future__ import annotations

import contextlib
import contextvars
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.dtypes import DType
from pypto.ir.index import Bounds, Extent, Index, Symbol
from pypto.ir.nodes import Attribute, GridAxis, Region, Statement, Value
from pypto.tracing.locations import Locator, user_frame

if TYPE_CHECKING:
    from pypto.tracing.aliases import Shared
    from pypto.tracing.storage import Restorable, Storage, Viewed

Number = bool | int | float
Event = tuple[Any, ...]


@dataclass(slots=True, eq=False)
class Scope:
    """A body that is being traced: kernel, loop or branch. Values made in it are unusable once it is no longer
    alive.
    """

    kind: str
    parent: Scope | None = None
    alive: bool = True
    statements: list[Statement] = field(default_factory=list)
    known: dict[Any, Value] = field(default_factory=dict)

    def close(self) -> None:
        self.alive = False
        self.known.clear()


@dataclass(slots=True)
class Change:
    """What a cell held before a write, so that a trial can be undone."""

    cell: Restorable
    before: tuple[Any, ...]


class Specialise(BaseException):
    """Tracing has to start again with these extents known as numbers (not an error; never seen by users)."""

    def __init__(self, values: Mapping[Symbol, int]) -> None:
        super().__init__(values)
        self.values = dict(values)


class Tracer(ABC):
    """State of one run of a body; subclasses say what an operation, a load and a store do."""

    eager = False

    def __init__(self, hidden: tuple[Extent, ...] = (), hints: Mapping[Symbol, int] | None = None) -> None:
        self.hidden = hidden
        self.hints = dict(hints or {})
        self.root = self.scope = Scope("kernel")
        self.predicates: list[Value] = []
        self.events: list[Event] | None = None
        self.journal: list[Change] | None = None
        self.keys = 0
        self.ranges: dict[Symbol, Bounds] = {}
        self.domains: dict[Symbol, tuple[Index, Index, int]] = {}
        self.block: GridAxis | int | None = None
        self.memories: list[Viewed] = []
        self.locator = Locator()
        self.open_loops: list[Any] = []
        self.frames: dict[CodeType, FrameType] = {}
        self.watched: set[CodeType] = set()
        self.conditional = 0
        self.shared: Shared | None = None

    # -- what an operation does

    @abstractmethod
    def emit(self, name: str, operands: tuple[Value, ...], /, **attributes: Attribute) -> Value:
        """Apply an operation of the table; raises UserError where its type rule is violated."""

    @abstractmethod
    def load(self, source: str, dtype: DType, region: Region, fill: Number | None = None) -> Value:
        """Read a region of an array."""

    @abstractmethod
    def store(self, target: str, region: Region, value: Value, clip: bool = False) -> None:
        """Write a region of an array."""

    # -- places

    def location(self) -> Location:
        """Return the place in the user's source that is being evaluated; remember the frame of a watched function."""
        frame = user_frame()
        if frame is None:
            return Location("<unknown>", 0)
        if frame.f_code in self.watched:
            self.frames[frame.f_code] = frame
        return self.locator.of_frame(frame)

    def error(self, name: str, /, **details: object) -> UserError:
        return UserError(name, self.location(), **details)

    # -- keys and events (loops compare two runs of their body)

    def next_key(self) -> int:
        self.keys += 1
        return self.keys

    def note(self, label: str, *facts: object) -> None:
        """Record that an operation was traced, to compare the two runs of a loop's body."""
        if self.events is not None:
            self.events.append((label, *facts, self.location()))

    # -- scopes

    def open_scope(self, kind: str) -> Scope:
        self.forget_memory()
        self.scope = Scope(kind, self.scope)
        return self.scope

    def close_scope(self) -> Scope:
        """Leave the current scope and return it; its values die."""
        closed = self.scope
        assert closed.parent is not None
        closed.close()
        self.scope = closed.parent
        self.forget_memory()
        return closed

    def forget_memory(self) -> None:
        """Forget what loads and stores are known to hold: another scope begins or ends."""
        for memory in self.memories:
            memory.forget()

    @contextlib.contextmanager
    def hidden_axes(self, hidden: tuple[Extent, ...]) -> Iterator[None]:
        """Values have these hidden axes inside the ``with`` block."""
        before, self.hidden = self.hidden, hidden
        try:
            yield
        finally:
            self.hidden = before

    def check_shared(self, storage: Storage) -> None:
        """Raise UserError ``loop-alias`` before a change in place that another tile would have to show."""
        name = self.shared.conflict(storage) if self.shared is not None else None
        if name is not None:
            raise self.error("loop-alias", name=name)

    # -- the journal

    def changed(self, cell: Restorable, before: tuple[Any, ...]) -> None:
        if self.journal is not None:
            self.journal.append(Change(cell, before))

    def begin_trial(self) -> list[Change] | None:
        """Start to journal changes of cells; returns what `end_trial` needs."""
        outer, self.journal = self.journal, []
        return outer

    def end_trial(self, outer: list[Change] | None) -> list[Change]:
        """Undo every change since `begin_trial`; returns them in order."""
        changes = self.journal or []
        for change in reversed(changes):
            change.cell.restore(change.before)
        self.journal = outer
        return changes


_CURRENT: contextvars.ContextVar[Tracer | None] = contextvars.ContextVar("pypto_tracer", default=None)


def active() -> Tracer | None:
    """Return the tracer of the body that is running, or None outside a tile function."""
    return _CURRENT.get()


def require(what: str) -> Tracer:
    """Return the tracer of the running body; raises UserError ``outside-tile-function`` when there is none."""
    tracer = _CURRENT.get()
    if tracer is None:
        frame = user_frame()
        location = Locator().of_frame(frame) if frame is not None else None
        raise UserError("outside-tile-function", location, what=what)
    return tracer


@contextlib.contextmanager
def running(tracer: Tracer) -> Iterator[None]:
    """Make `tracer` the current one inside the ``with`` block."""
    token = _CURRENT.set(tracer)
    try:
        yield
    finally:
        _CURRENT.reset(token)
