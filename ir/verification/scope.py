"""What is visible at a statement: values by name, index symbols, parameters and buffers of the kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pypto.ir.base.errors import nearest
from pypto.ir.index import Index, IndexOperation, Symbol, symbols
from pypto.ir.nodes import Attribute, Buffer, Kernel, Level, Parameter, TileType, Value
from pypto.ir.printer import index_text, type_text
from pypto.ir.verification.violation import Subject, Violation

LARGEST_EXTENT = 2**63 - 1


@dataclass(slots=True)
class Scope:
    """The state of one walk over a kernel: `values` and `indices` are what is visible now, `names` all names so far."""

    kernel: Kernel
    parameters: dict[str, Parameter]
    buffers: dict[str, Buffer]
    indices: set[Symbol]
    values: dict[str, Value] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)

    @property
    def level(self) -> Level:
        return self.kernel.level

    @contextlib.contextmanager
    def body(self, carried: Iterable[Value] = (), index: Symbol | None = None) -> Iterator[None]:
        """Open the body of a loop or branch: what it defines is gone after it."""
        values, indices = dict(self.values), set(self.indices)
        self.values.update((value.name, value) for value in carried)
        if index is not None:
            self.indices.add(index)
        yield
        self.values, self.indices = values, indices

    def define(self, value: Value, subject: Subject) -> None:
        if value.name in self.names:
            raise Violation("value-redefined", subject, value=value)
        self.check_shape(value.type, str(value), subject)
        self.check_buffer(value, subject)
        self.names.add(value.name)
        self.values[value.name] = value

    def use(self, value: Value, subject: Subject) -> None:
        known = self.values.get(value.name)
        if known is None:
            hint = nearest(str(value), map(str, self.values.values())) if self.values else "no value is defined here"
            raise Violation("undefined-value", subject, value=value, hint=hint)
        if known != value:
            raise Violation("value-changed", subject, value=value, used=describe(value), defined=describe(known))

    def check_index(self, index: Index, subject: Subject) -> None:
        for symbol in sorted(symbols(index) - self.indices, key=lambda item: item.name):
            hint = nearest(str(symbol), map(str, self.indices)) if self.indices else "no index is known here"
            raise Violation("undefined-symbol", subject, symbol=symbol, hint=hint)

    def check_new_symbol(self, symbol: Symbol, subject: Subject) -> None:
        if symbol in self.indices:
            raise Violation("symbol-redefined", subject, symbol=symbol)

    def check_attribute(self, value: Attribute, subject: Subject) -> None:
        """Check the index symbols inside an attribute."""
        if isinstance(value, tuple):
            for item in value:
                self.check_attribute(item, subject)
        elif isinstance(value, Symbol | IndexOperation):
            self.check_index(value, subject)

    def check_shape(self, type_: TileType, name: str, subject: Subject) -> None:
        for extent in type_.shape:
            self.check_extent(extent, name, subject)

    def check_extent(self, extent: Index, name: str, subject: Subject) -> None:
        if isinstance(extent, int) and not 0 <= extent <= LARGEST_EXTENT:
            raise Violation("bad-extent", subject, extent=extent, name=name)
        self.check_index(extent, subject)

    def check_buffer(self, value: Value, subject: Subject) -> None:
        """At level tile no value has a buffer; below, each has one of the kernel's, large enough, but for scalars."""
        if self.level is Level.TILE:
            if value.buffer is not None:
                what = f"value {value} has buffer {value.buffer}"
                raise Violation("wrong-level", subject, what=what, level=Level.TILE.value, needed=Level.BUFFERED.value)
            return
        if value.buffer is None:
            if value.shape:
                raise Violation("missing-buffer", subject, value=value, level=self.level.value)
            return
        self._check_buffer_size(value, self.find_buffer(value.buffer, subject), subject)

    def find_buffer(self, name: str, subject: Subject) -> Buffer:
        if name not in self.buffers:
            hint = nearest(name, self.buffers) if self.buffers else "declare it with a `buffer` line"
            raise Violation("unknown-buffer", subject, kernel=self.kernel.name, buffer=name, hint=hint)
        return self.buffers[name]

    def _check_buffer_size(self, value: Value, buffer: Buffer, subject: Subject) -> None:
        elements = 1
        for extent in value.shape:
            if not isinstance(extent, int):
                return
            elements *= extent
        needed = elements * value.dtype.bytes
        if needed > buffer.slot_bytes:
            details = {"value": value, "needed": needed, "buffer": buffer.name, "available": buffer.slot_bytes}
            raise Violation("buffer-size", subject, **details)

    def find_parameter(self, name: str, subject: Subject) -> Parameter:
        if name not in self.parameters:
            hint = nearest(name, self.parameters) if self.parameters else "declare it in the kernel's line"
            raise Violation("unknown-parameter", subject, kernel=self.kernel.name, parameter=name, hint=hint)
        return self.parameters[name]


def describe(value: Value) -> str:
    """Return a value's type and buffer."""
    return type_text(value.type) + (f" @{value.buffer}" if value.buffer else "")


def span(offset: Index, extent: Index, step: int) -> tuple[str, str]:
    """Return the first and last element of a range as text."""
    if isinstance(offset, int) and isinstance(extent, int):
        return str(offset), str(offset + (extent - 1) * step)
    return index_text(offset), f"{index_text(offset)} + ({index_text(extent)} - 1) * {step}"
