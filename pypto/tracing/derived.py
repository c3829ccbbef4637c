"""Views that ranges and axis order cannot express: reshapes, repeated axes, and blocks that are clipped at the edge."""

from __future__ import annotations

from typing import Any

from pypto.ir.dtypes import DType
from pypto.ir.index import Index, add, maximum, minimum
from pypto.ir.nodes import Range, Value
from pypto.ir.operations.rules import show_shape
from pypto.tracing.context import Number, Tracer
from pypto.tracing.storage import Memory, Storage, guarded
from pypto.tracing.tiles import Tile
from pypto.tracing.values import Ranges, Shape, full, put, reform, spread, take


class Derived(Storage):
    """Something of another shape that shows elements of `parent`."""

    __slots__ = ("_shape", "parent")

    def __init__(self, parent: Tile, shape: Shape) -> None:
        self.parent, self._shape = parent, shape

    @property
    def birth(self) -> int:  # type: ignore[override]  # as old as what it shows
        return self.parent.storage.birth

    @property
    def dtype(self) -> DType:
        return self.parent.storage.dtype

    @property
    def shape(self) -> Shape:
        return self._shape


class Reshaped(Derived):
    """A tile in another shape with the same elements."""

    __slots__ = ()

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        value = full(tracer, self.parent.read(), self.parent.rank)
        value = reform(tracer, value, self._shape)
        return value if ranges is None else take(tracer, value, ranges)

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        if ranges is not None:
            value = put(tracer, self.read(tracer, None), value, ranges)
        value = full(tracer, value, len(self._shape))
        self.parent.write(reform(tracer, value, self.parent.extents))


class Repeated(Derived):
    """A tile with axes of extent 1 repeated, as `numpy.broadcast_to` shows it: a view that cannot be written."""

    __slots__ = ()

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        value = spread(tracer, self.parent.read(), self._shape)
        return value if ranges is None else take(tracer, value, ranges)

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        raise tracer.error("broadcast-write", shape=show_shape(self.parent.extents), wide=show_shape(self._shape))


class Clipped(Derived):
    """A block of a tile at an offset, which may leave it: elements outside read as `fill` and are not written."""

    __slots__ = ("fill", "offset")

    def __init__(self, parent: Tile, offset: tuple[Index, ...], shape: Shape, fill: Number) -> None:
        super().__init__(parent, shape)
        self.offset, self.fill = offset, fill

    def _memory(self, tracer: Tracer) -> Memory | None:
        """Return the parameter when the block is a plain region of it."""
        storage = self.parent.storage
        plain = isinstance(storage, Memory) and all(axis.visible and axis.hidden is None for axis in storage.axes)
        whole = self.parent.axes is None
        return storage if plain and whole and not tracer.hidden and isinstance(storage, Memory) else None

    def _region(self) -> tuple[Range, ...]:
        return tuple(Range(offset, extent) for offset, extent in zip(self.offset, self._shape, strict=True))

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        memory = self._memory(tracer)
        if memory is not None:
            value = memory.load_clipped(tracer, self._region(), self.fill)
        else:
            value = take(tracer, self._padded(tracer), self._inside())
        return value if ranges is None else take(tracer, value, ranges)

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        if ranges is not None:
            value = put(tracer, self.read(tracer, None), value, ranges)
        memory = self._memory(tracer)
        if memory is not None:
            value = guarded(tracer, value, lambda: self.read(tracer, None))
            memory.store_clipped(tracer, self._region(), spread(tracer, value, self._shape))
            return
        after = put(tracer, self._padded(tracer), value, self._inside())
        low = tuple((extent, size, 1) for extent, size in zip(self._shape, self.parent.extents, strict=True))
        self.parent.write(take(tracer, after, low))

    def _padded(self, tracer: Tracer) -> Value:
        """Return the tile with a border as wide as the block, so that every block lies inside."""
        value = full(tracer, self.parent.read(), self.parent.rank)
        border: tuple[Any, ...] = (0,) * len(tracer.hidden) + self._shape
        return tracer.emit("pad", (value,), low=border, high=border, value=self.fill)

    def _inside(self) -> Ranges:
        found = []
        for offset, extent, size in zip(self.offset, self._shape, self.parent.extents, strict=True):
            shifted = add(offset, extent)
            found.append((maximum(0, minimum(shifted, add(size, extent))), extent, 1))
        return tuple(found)
