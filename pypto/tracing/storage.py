"""Where a tile's elements live: a local cell, a kernel parameter, or a view of another tile.

Every storage reads and writes rectangular regions of its visible axes. A read gives the elements as they are now; a
write happens now. Values are in the compute type of the storage's dtype (f32 for f16 and bf16).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import DType, compute_type
from pypto.ir.index import multiply
from pypto.ir.nodes import GridAxis, Range, Value
from pypto.tracing.context import Number, Tracer
from pypto.tracing.values import (
    Ranges,
    Shape,
    cast,
    elements,
    full,
    is_whole,
    put,
    rounded,
    spread,
    take,
    visible_shape,
)
from pypto.tracing.views import ArrayView, ViewAxis

_MASK_LIMIT = 1 << 24


class Restorable(Protocol):
    """What a trial can undo."""

    def restore(self, before: tuple[Any, ...]) -> None: ...


class Storage(ABC):
    """Elements of one dtype in a visible shape."""

    __slots__ = ()
    birth = 0

    @property
    @abstractmethod
    def dtype(self) -> DType: ...

    @property
    @abstractmethod
    def shape(self) -> Shape: ...

    @abstractmethod
    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        """Return the elements of a region (None: all), all axes there."""

    @abstractmethod
    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        """Replace the elements of a region by `value`, which has the region's visible shape and the compute type."""


def guarded(tracer: Tracer, value: Value, old: Callable[[], Value]) -> Value:
    """Return what a write under data-dependent conditions leaves: `value` where all of them hold, else `old`."""
    if not tracer.predicates:
        return value
    before = old()
    rank = len(visible_shape(tracer, value))
    predicate = tracer.predicates[-1]
    if tracer.hidden and predicate.type.rank:
        predicate = full(tracer, predicate, rank)
    return tracer.emit("where", (predicate, value, before))


class Cell(Storage):
    """A local tile: the SSA value it holds now. `missing` marks elements that nothing was written to yet."""

    __slots__ = ("_dtype", "_shape", "birth", "missing", "name", "rounds", "value")

    def __init__(self, tracer: Tracer, dtype: DType, shape: Shape, value: Value | None, rounds: bool = False) -> None:
        self._dtype, self._shape = dtype, shape
        self.value = value
        self.missing: NDArray[np.bool_] | None = None
        self.rounds = rounds
        self.birth = tracer.keys

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> Shape:
        return self._shape

    def restore(self, before: tuple[Any, ...]) -> None:
        self.value, self.missing = before

    def state(self) -> tuple[Any, ...]:
        return self.value, None if self.missing is None else self.missing.copy()

    def replace(self, tracer: Tracer, value: Value, missing: NDArray[np.bool_] | None = None) -> None:
        """Hold `value` from now on."""
        tracer.changed(self, self.state())
        self.value, self.missing = value, missing

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        if self.missing is not None and _any_missing(self.missing, ranges):
            raise tracer.error("read-unwritten")
        value = self.current(tracer)
        return value if ranges is None else take(tracer, value, ranges)

    def current(self, tracer: Tracer) -> Value:
        """Return the value, undefined elements included."""
        if self.value is None:
            shape = (1,) * len(tracer.hidden) + self._shape
            tracer.changed(self, self.state())
            self.value = tracer.emit("undefined", (), dtype=compute_type(self._dtype), shape=shape)
        return self.value

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        tracer.check_shared(self)
        if self.rounds and self._dtype.is_narrow_float:
            value = rounded(tracer, value, self._dtype)
        whole = ranges is None or is_whole(ranges, self._shape)
        if whole:
            value = guarded(tracer, value, lambda: self.current(tracer))
            self.replace(tracer, value)
            return
        assert ranges is not None
        value = guarded(tracer, value, lambda: take(tracer, self.current(tracer), ranges))
        self.replace(tracer, put(tracer, self.current(tracer), value, ranges), _written(self.missing, ranges))


def unwritten(tracer: Tracer, dtype: DType, shape: Shape) -> Cell:
    """Return a cell that nothing was written to."""
    cell = Cell(tracer, dtype, shape, None)
    count = elements(shape)
    if count is None or count > _MASK_LIMIT:
        cell.missing = np.ones((1,) * len(shape), np.bool_)
    elif count:
        cell.missing = np.ones(tuple(map(int, shape)), np.bool_)  # type: ignore[arg-type]  # numbers: counted above
    return cell


def _selection(missing: NDArray[np.bool_], ranges: Ranges) -> tuple[Any, ...] | None:
    """Return the NumPy index of a region, or None when it depends on an index or the mask is coarse."""
    picked = []
    for (offset, extent, step), size in zip(ranges, missing.shape, strict=True):
        if not isinstance(offset, int) or not isinstance(extent, int):
            return None
        positions = offset + step * np.arange(extent)
        if extent and (positions.max() >= size or positions.min() < 0):
            return None
        picked.append(positions)
    return np.ix_(*picked)


def _any_missing(missing: NDArray[np.bool_], ranges: Ranges | None) -> bool:
    if ranges is None:
        return bool(missing.any())
    selection = _selection(missing, ranges)
    return bool(missing.all()) if selection is None else bool(missing[selection].any())


def _written(missing: NDArray[np.bool_] | None, ranges: Ranges) -> NDArray[np.bool_] | None:
    """Return the mask after a write. A region that depends on an index counts as everything: no false alarms."""
    selection = None if missing is None else _selection(missing, ranges)
    if missing is None or selection is None:
        return None
    after = missing.copy()
    after[selection] = False
    return after if after.any() else None


class Viewed(Storage):
    """An array seen through a `ViewAxis` per axis: hidden axes first, block items picked, the rest visible.

    Subclasses fetch and put regions of the array itself. What was fetched or put last is remembered until something
    else may have changed it.
    """

    __slots__ = ("_dtype", "_known", "_shape", "axes", "birth", "name", "prefix")

    def __init__(self, tracer: Tracer, view: ArrayView, prefix: int = 0) -> None:
        self.name, self.axes, self.prefix = view.name, view.axes, prefix
        self._dtype, self._shape = view.dtype, view.visible_shape
        self._known: dict[Any, Value] = {}
        self.birth = tracer.keys
        tracer.memories.append(self)

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> Shape:
        return self._shape

    def forget(self) -> None:
        self._known.clear()

    @abstractmethod
    def fetch(self, tracer: Tracer, region: tuple[Range, ...]) -> Value:
        """Return the elements of an array region, in the compute type, the array's axes after `prefix` hidden ones."""

    @abstractmethod
    def put(self, tracer: Tracer, region: tuple[Range, ...], value: Value) -> Value:
        """Write an array region; returns what reading it gives from now on."""

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        ranges = self._all() if ranges is None else ranges
        region, rest = self._split(tracer, ranges)
        value = self._known.get(region)
        if value is None:
            value = to_internal(tracer, self.fetch(tracer, region), self.axes, self.prefix)
            self._known[region] = value
        return take(tracer, value, rest)

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        tracer.check_shared(self)
        ranges = self._all() if ranges is None else ranges
        value = guarded(tracer, value, lambda: self.read(tracer, ranges))
        region, rest = self._split(tracer, ranges)
        extents = tuple(extent for _, extent, _ in self._fetched(ranges))
        if not is_whole(rest, extents):
            value = put(tracer, self.read(tracer, self._fetched(ranges)), value, rest)
        stored = self.put(tracer, region, self._external(tracer, value))
        for memory in tracer.memories:
            memory.forget()
        self._known[region] = to_internal(tracer, stored, self.axes, self.prefix)

    def _all(self) -> Ranges:
        return tuple((0, extent, 1) for extent in self._shape)

    def _visible(self) -> list[ViewAxis]:
        return [axis for axis in self.axes if axis.visible]

    def _fetched(self, ranges: Ranges) -> Ranges:
        """Return what is fetched for `ranges`: cut axes whole."""
        return tuple(
            item if axis.hidden is None else (0, axis.extent, 1)
            for item, axis in zip(ranges, self._visible(), strict=True)
        )

    def _split(self, tracer: Tracer, ranges: Ranges) -> tuple[tuple[Range, ...], Ranges]:
        """Return the array region to fetch and what to take from it afterwards."""
        pending = iter(ranges)
        region: list[Range] = []
        rest: list[tuple[Any, Any, int]] = []
        for axis in self.axes:
            if not axis.visible:
                region.append(Range(0, axis.tiles) if axis.hidden is not None else Range(_block(tracer), 1))
                continue
            offset, extent, step = next(pending)
            if axis.hidden is None:
                region.append(Range(offset, extent, step))
                rest.append((0, extent, 1))
            else:
                region.append(Range(0, multiply(axis.tiles, axis.extent)))
                rest.append((offset, extent, step))
        return tuple(region), tuple(rest)

    def _external(self, tracer: Tracer, value: Value) -> Value:
        """Return an internal value as the array region it goes to."""
        used = {axis.hidden: axis.tiles for axis in self.axes if axis.hidden is not None}
        count = len(tracer.hidden)
        for number in range(self.prefix, count):
            if value.type.rank and value.shape[number] != 1 and number - self.prefix not in used:
                raise tracer.error("hidden-output", parameter=self.name, count=value.shape[number])
        shape = visible_shape(tracer, value)
        before = value.shape[: self.prefix] if value.type.rank else (1,) * self.prefix
        hidden = tuple(used.get(number, 1) for number in range(count - self.prefix))
        return to_external(tracer, spread(tracer, value, shape, (*before, *hidden)), self.axes, self.prefix)


def _block(tracer: Tracer) -> Any:
    return tracer.block.symbol if isinstance(tracer.block, GridAxis) else tracer.block


def to_internal(tracer: Tracer, value: Value, axes: tuple[ViewAxis, ...], prefix: int) -> Value:
    """Reshape and transpose an array region so that hidden axes come first.

    Before: `prefix` hidden axes of the caller, then the region's axes. After: all hidden axes, then the visible ones.
    """
    if all(axis.visible and axis.hidden is None for axis in axes) and len(tracer.hidden) == prefix:
        return value
    split, hidden, visible = list(value.shape[:prefix]), dict[int, int](), list[int]()
    for axis, extent in zip(axes, value.shape[prefix:], strict=True):
        if axis.hidden is not None:
            hidden[axis.hidden] = len(split)
            split.append(axis.tiles)
        if axis.visible:
            visible.append(len(split))
            split.append(axis.extent if axis.hidden is not None else extent)
    value = value if value.shape == tuple(split) else tracer.emit("reshape", (value,), shape=tuple(split))
    order = (*range(prefix), *(hidden[number] for number in sorted(hidden)), *visible)
    if order != tuple(range(len(order))):
        value = tracer.emit("transpose", (value,), permutation=order)
    after = (
        *value.shape[:prefix],
        *(split[hidden[number]] if number in hidden else 1 for number in range(len(tracer.hidden) - prefix)),
        *(split[position] for position in visible),
    )
    return value if value.shape == after else tracer.emit("reshape", (value,), shape=after)


def to_external(tracer: Tracer, value: Value, axes: tuple[ViewAxis, ...], prefix: int) -> Value:
    """The inverse of `to_internal`; hidden axes that the array lacks have extent 1."""
    if all(axis.visible and axis.hidden is None for axis in axes) and len(tracer.hidden) == prefix:
        return value
    count = len(tracer.hidden)
    extents = list(value.shape[count:])
    kept = sorted(axis.hidden for axis in axes if axis.hidden is not None)
    compact = (*value.shape[:prefix], *(value.shape[prefix + number] for number in kept), *extents)
    value = value if value.shape == compact else tracer.emit("reshape", (value,), shape=compact)
    order, result, seen = list(range(prefix)), list(value.shape[:prefix]), 0
    for axis in axes:
        if axis.hidden is not None:
            order.append(prefix + kept.index(axis.hidden))
        if axis.visible:
            order.append(prefix + len(kept) + seen)
            seen += 1
        extent = extents[seen - 1] if axis.visible else 1
        result.append(multiply(axis.tiles, extent) if axis.hidden is not None else extent)
    if order != list(range(len(order))):
        value = tracer.emit("transpose", (value,), permutation=tuple(order))
    return value if value.shape == tuple(result) else tracer.emit("reshape", (value,), shape=tuple(result))


class Memory(Viewed):
    """A parameter of the kernel: loads where it is read, stores where it is written."""

    __slots__ = ("stores",)

    def __init__(self, tracer: Tracer, view: ArrayView) -> None:
        super().__init__(tracer, view)
        self.stores = 0

    def fetch(self, tracer: Tracer, region: tuple[Range, ...]) -> Value:
        value = tracer.load(self.name, self._dtype, region)
        return cast(tracer, value, compute_type(self._dtype))

    def put(self, tracer: Tracer, region: tuple[Range, ...], value: Value) -> Value:
        value = cast(tracer, value, self._dtype)
        tracer.store(self.name, region, value)
        self.stores += 1
        return cast(tracer, value, compute_type(self._dtype))

    def load_clipped(self, tracer: Tracer, region: tuple[Range, ...], fill: Number) -> Value:
        """Read a region that may leave the array."""
        value = tracer.load(self.name, self._dtype, region, fill)
        return cast(tracer, value, compute_type(self._dtype))

    def store_clipped(self, tracer: Tracer, region: tuple[Range, ...], value: Value) -> None:
        """Write the part of a region that lies in the array."""
        tracer.check_shared(self)
        tracer.store(self.name, region, cast(tracer, value, self._dtype), clip=True)
        self.stores += 1
        tracer.forget_memory()


class Scalar(Storage):
    """A scalar parameter: a 0-d value that the body reads."""

    __slots__ = ("_dtype", "birth", "name")

    def __init__(self, tracer: Tracer, name: str, dtype: DType) -> None:
        self.name, self._dtype = name, dtype
        self.birth = tracer.keys

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> Shape:
        return ()

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        return cast(tracer, tracer.load(self.name, self._dtype, ()), compute_type(self._dtype))

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        raise tracer.error("scalar-write", parameter=self.name)


class Fresh(Storage):
    """An output that takes shape and dtype from its first whole write; `make` gives the storage behind it then."""

    __slots__ = ("_target", "birth", "make", "name")

    def __init__(self, tracer: Tracer, name: str, make: Callable[[DType, Shape], Storage]) -> None:
        self.name, self.make = name, make
        self._target: Storage | None = None
        self.birth = tracer.keys

    @property
    def target(self) -> Storage | None:
        return self._target

    def begin(self, tracer: Tracer, dtype: DType, shape: Shape) -> None:
        """Take dtype and shape: the first whole write is about to happen."""
        tracer.changed(self, (self._target,))
        self._target = self.make(dtype, shape)

    def restore(self, before: tuple[Any, ...]) -> None:
        (self._target,) = before

    def _require(self) -> Storage:
        if self._target is None:
            from pypto.tracing.context import require

            raise require("an output").error("fresh-read", parameter=self.name)
        return self._target

    @property
    def dtype(self) -> DType:
        return self._require().dtype

    @property
    def shape(self) -> Shape:
        return self._require().shape

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        return self._require().read(tracer, ranges)

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        self._require().write(tracer, ranges, value)
