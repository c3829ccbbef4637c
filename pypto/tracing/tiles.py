"""`Tile`: the value that a tile function computes with. It behaves like a NumPy array that is not there yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from pypto.ir.dtypes import DType, compute_type
from pypto.ir.index import Extent, Index
from pypto.ir.nodes import Value
from pypto.ir.operations.rules import show_shape
from pypto.tracing.array_methods import ArrayMethods
from pypto.tracing.context import Tracer
from pypto.tracing.elementwise_methods import ElementwiseMethods
from pypto.tracing.extents import shown, specialise
from pypto.tracing.indexing import Picked, composed, resolve
from pypto.tracing.storage import Cell, Fresh, Storage
from pypto.tracing.values import (
    Ranges,
    Shape,
    cast,
    elements,
    filled,
    full,
    is_whole,
    permute,
    reform,
    spread,
    visible_shape,
)

_KIND_ORDER = {"bool": 0, "unsigned": 1, "signed": 1, "float": 2}


class Outputs(Mapping[str, "Tile"]):
    """The outputs of a called tile function, by parameter name (also as attributes)."""

    def __init__(self, tiles: dict[str, Tile]) -> None:
        self._tiles = tiles

    def __getitem__(self, name: str) -> Tile:
        return self._tiles[name]

    def __iter__(self) -> Any:
        return iter(self._tiles)

    def __len__(self) -> int:
        return len(self._tiles)

    def __getattr__(self, name: str) -> Tile:
        try:
            return self.__dict__["_tiles"][name]  # type: ignore[no-any-return]  # filled in __init__
        except KeyError:
            raise AttributeError(name) from None


class Tile(ArrayMethods, ElementwiseMethods):
    """A traced array: a view (ranges and axis order) of a storage.

    NumPy's rules hold: indexing, ``.T`` and reshape give views; ``t[...] = v`` and ``t op= v`` change the elements
    in place, seen through every alias; operators make new tiles. Reading happens when a tile is used, in program
    order.
    """

    __slots__ = ("__weakref__", "axes", "depth", "key", "outputs", "ranges", "scope", "storage", "tracer")
    __array_priority__ = 1000

    def __init__(
        self, tracer: Tracer, storage: Storage, ranges: Ranges | None = None, axes: tuple[int | None, ...] | None = None
    ) -> None:
        self.tracer, self.storage = tracer, storage
        self.ranges, self.axes = ranges, axes
        self.scope, self.depth = tracer.scope, len(tracer.hidden)
        self.key: object = tracer.next_key()
        self.outputs: Outputs | None = None

    @classmethod
    def of_value(cls, tracer: Tracer, value: Value, dtype: DType) -> Tile:
        """Return a new local tile that holds `value`."""
        return cls(tracer, Cell(tracer, dtype, visible_shape(tracer, value), value))

    # -- shape and type

    @property
    def extents(self) -> Shape:
        """The visible shape as extents of the IR."""
        if self.axes is None or self.ranges is None:
            return self.storage.shape
        return tuple(1 if axis is None else self.ranges[axis][1] for axis in self.axes)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Extents of the tile; unknown ones compare and compute as numbers by specialising the kernel."""
        return shown(self.tracer, self.extents)

    @property
    def rank(self) -> int:
        return len(self.storage.shape if self.axes is None else self.axes)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.rank

    @property
    def size(self) -> int:
        """Number of elements."""
        count = elements(self.extents)
        if count is None:
            specialise(self.tracer, *self.extents)
        return count

    @property
    def dtype_(self) -> DType:
        return self.storage.dtype

    @property
    def dtype(self) -> Any:
        """Element type, as a NumPy dtype (bfloat16 is ml_dtypes')."""
        return self.storage.dtype.numpy

    @property
    def T(self) -> Tile:  # noqa: N802  # NumPy's name
        """The axes in reverse order: a view."""
        return self.transposed(tuple(reversed(range(self.rank))))

    # -- reading and writing

    def check(self, tracer: Tracer) -> None:
        """Raise UserError ``loop-value``, ``stale-tile`` or ``captured-tile`` for a tile of somewhere else."""
        if self.tracer is not tracer or not self.tracer.root.alive:
            raise tracer.error("stale-tile")
        if self.depth != len(tracer.hidden):
            raise tracer.error("captured-tile")
        if not self.scope.alive:
            raise tracer.error("loop-value", what="a value first made in the body of a loop or branch")

    def read(self) -> Value:
        """Return the elements as they are now, in the compute type."""
        tracer = self.tracer
        self.check(tracer)
        if self.axes is None or self.ranges is None:
            return self.storage.read(tracer, None)
        ranges = None if is_whole(self.ranges, self.storage.shape) else self.ranges
        value = self.storage.read(tracer, ranges)
        return reform(tracer, permute(tracer, value, self._order()), self.extents)

    def _order(self) -> tuple[int, ...]:
        """Return the storage's axes in the order of the tile's, dropped ones (extent 1) last."""
        assert self.axes is not None
        assert self.ranges is not None
        kept = [axis for axis in self.axes if axis is not None]
        if kept == sorted(kept):
            return tuple(range(len(self.ranges)))
        return (*kept, *(axis for axis in range(len(self.ranges)) if axis not in kept))

    def write(self, value: Value) -> None:
        """Replace all elements by `value`, which has the visible shape and the compute type."""
        tracer = self.tracer
        self.check(tracer)
        if self.axes is None or self.ranges is None:
            self.storage.write(tracer, None, value)
            return
        order = self._order()
        value = full(tracer, value, self.rank)
        value = reform(tracer, value, tuple(self.ranges[axis][1] for axis in order))
        inverse = tuple(order.index(axis) for axis in range(len(order)))
        whole = is_whole(self.ranges, self.storage.shape)
        self.storage.write(tracer, None if whole else self.ranges, permute(tracer, value, inverse))

    def fit(self, value: Value) -> Value:
        """Return `value` as it is assigned to this tile: cast and broadcast; raises UserError ``assign-shape``."""
        tracer = self.tracer
        shape, target = visible_shape(tracer, value), self.extents
        extra = len(shape) - len(target)
        if extra > 0 and all(extent == 1 for extent in shape[:extra]):
            value, shape = reform(tracer, value, shape[extra:]), shape[extra:]
        fits = len(shape) <= len(target) and all(
            mine in (1, theirs) for mine, theirs in zip(reversed(shape), reversed(target), strict=False)
        )
        if not fits:
            raise tracer.error("assign-shape", value=show_shape(shape), target=show_shape(target))
        return spread(tracer, cast(tracer, value, compute_type(self.storage.dtype)), target)

    def assign(self, source: Any) -> None:
        """Write `source` (tile or number) into this tile."""
        from pypto.tracing.elementwise import as_value, checked_number, normal, result_type

        tracer = self.tracer
        source = normal(tracer, source)
        if isinstance(source, Tile):
            source.check(tracer)
        tracer.note("assign", self.key, source.key if isinstance(source, Tile) else repr(source))
        if isinstance(source, Tile) and self._same_elements(source):
            return
        target = self.storage.dtype
        if isinstance(source, (bool, int, float)) and (target.is_float or not isinstance(source, float)):
            self.write(filled(tracer, target, checked_number(tracer, source, target), self.extents))
            return
        self.write(self.fit(as_value(tracer, source, result_type((source,)))))

    def _same_elements(self, other: Tile) -> bool:
        """Return whether both tiles are the same view, as after ``t[a:b] += v``."""
        if self.storage is not other.storage:
            return False
        whole = tuple((0, extent, 1) for extent in self.storage.shape)
        axes = tuple(range(len(whole)))
        return (self.ranges or whole, self.axes if self.axes is not None else axes) == (
            other.ranges or whole,
            other.axes if other.axes is not None else axes,
        )

    # -- indexing

    def __getitem__(self, key: Any) -> Tile:
        self.check(self.tracer)
        if isinstance(key, (Tile, tuple)):
            from pypto.tracing.indexed import by_tile

            found = by_tile(self, key)
            if found is not None:
                return found
        picked = resolve(self.tracer, key, self.extents)
        tile = self._view(picked)
        self.tracer.note("index", self.key, *picked)
        return tile

    def __setitem__(self, key: Any, value: Any) -> None:
        self.check(self.tracer)
        storage = self.storage
        if isinstance(storage, Fresh) and storage.target is None and self.axes is None:
            self._first_write(storage, key, value)
            return
        self._view(resolve(self.tracer, key, self.extents)).assign(value)

    def _first_write(self, storage: Fresh, key: Any, value: Any) -> None:
        """The first write to a fresh output gives it dtype and shape; it must be whole."""
        from pypto.tracing.elementwise import normal, result_type

        whole = key is Ellipsis or (isinstance(key, slice) and (key.start, key.stop, key.step) == (None, None, None))
        if not whole:
            raise self.tracer.error("fresh-partial", parameter=storage.name)
        value = normal(self.tracer, value)
        if not isinstance(value, Tile):
            raise self.tracer.error("fresh-number", parameter=storage.name)
        storage.begin(self.tracer, result_type((value,)), value.extents)
        self.assign(value)

    def _view(self, picked: list[Picked]) -> Tile:
        """Return the view that a resolved key selects."""
        base_ranges = self.ranges
        axes = self.axes
        if axes is None or base_ranges is None:
            base_ranges = tuple((0, extent, 1) for extent in self.storage.shape)
            axes = tuple(range(len(base_ranges)))
        ranges: list[tuple[Index, Extent, int]] = list(base_ranges)
        result: list[int | None] = []
        for item in picked:
            axis = None if item.axis is None else axes[item.axis]
            if axis is None:
                if item.axis is not None and item.extent == 0:
                    return self.copy()._view(picked)
                if not item.dropped:
                    result.append(None)
                continue
            ranges[axis] = composed(ranges[axis], item)
            if not item.dropped:
                result.append(axis)
        return Tile(self.tracer, self.storage, tuple(ranges), tuple(result))

    def transposed(self, order: tuple[int, ...]) -> Tile:
        """Return a view with the axes in `order`."""
        ranges = self.ranges if self.ranges is not None else tuple((0, extent, 1) for extent in self.storage.shape)
        axes = self.axes if self.axes is not None else tuple(range(len(ranges)))
        tile = Tile(self.tracer, self.storage, ranges, tuple(axes[axis] for axis in order))
        self.tracer.note("transpose", self.key, order)
        return tile

    def copy(self) -> Tile:
        """Return a new tile with the elements as they are now."""
        self.tracer.note("copy", self.key)
        return Tile.of_value(self.tracer, spread(self.tracer, self.read(), self.extents), self.storage.dtype)

    def filled(self, number: bool | int | float) -> Tile:
        """Return a new tile of the same shape and dtype with `number` everywhere."""
        return Tile.of_value(
            self.tracer, filled(self.tracer, self.storage.dtype, number, self.extents), self.storage.dtype
        )

    # -- operators

    def _apply(self, name: str, *operands: Any) -> Any:
        from pypto.tracing.elementwise import apply

        return apply(name, *operands)

    def _in_place(self, name: str, other: Any) -> Tile:
        from pypto.tracing.elementwise import apply, power

        result = power(self, other) if name == "pow" else apply(name, self, other)
        if _KIND_ORDER[result.dtype_.kind] > _KIND_ORDER[self.dtype_.kind]:
            raise self.tracer.error("in-place-dtype", target=self.dtype_, value=result.dtype_)
        if result.extents != self.extents:
            raise self.tracer.error("assign-shape", value=show_shape(result.extents), target=show_shape(self.extents))
        self.tracer.note("assign", self.key, result.key)
        self.write(self.fit(result.read()))
        return self

    def __add__(self, other: Any) -> Any:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._apply("add", other, self)

    def __iadd__(self, other: Any) -> Any:
        return self._in_place("add", other)

    def __sub__(self, other: Any) -> Any:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply("sub", other, self)

    def __isub__(self, other: Any) -> Any:
        return self._in_place("sub", other)

    def __mul__(self, other: Any) -> Any:
        return self._apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._apply("mul", other, self)

    def __imul__(self, other: Any) -> Any:
        return self._in_place("mul", other)

    def __truediv__(self, other: Any) -> Any:
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply("div", other, self)

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place("div", other)

    def __floordiv__(self, other: Any) -> Any:
        return self._apply("floor_div", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._apply("floor_div", other, self)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._in_place("floor_div", other)

    def __mod__(self, other: Any) -> Any:
        return self._apply("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._apply("remainder", other, self)

    def __imod__(self, other: Any) -> Any:
        return self._in_place("remainder", other)

    def __pow__(self, other: Any) -> Any:
        from pypto.tracing.elementwise import power

        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        from pypto.tracing.elementwise import power

        return power(other, self)

    def __ipow__(self, other: Any) -> Any:
        return self._in_place("pow", other)

    def __matmul__(self, other: Any) -> Any:
        from pypto.tracing.contractions import multiplied

        return multiplied(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from pypto.tracing.contractions import multiplied

        return multiplied(other, self)

    def __imatmul__(self, other: Any) -> Any:
        self.assign(self @ other)
        return self

    def __and__(self, other: Any) -> Any:
        return self._apply("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._apply("and", other, self)

    def __iand__(self, other: Any) -> Any:
        return self._in_place("and", other)

    def __or__(self, other: Any) -> Any:
        return self._apply("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._apply("or", other, self)

    def __ior__(self, other: Any) -> Any:
        return self._in_place("or", other)

    def __xor__(self, other: Any) -> Any:
        return self._apply("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._apply("xor", other, self)

    def __ixor__(self, other: Any) -> Any:
        return self._in_place("xor", other)

    def __lshift__(self, other: Any) -> Any:
        return self._apply("shift_left", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._apply("shift_left", other, self)

    def __ilshift__(self, other: Any) -> Any:
        return self._in_place("shift_left", other)

    def __rshift__(self, other: Any) -> Any:
        return self._apply("shift_right", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._apply("shift_right", other, self)

    def __irshift__(self, other: Any) -> Any:
        return self._in_place("shift_right", other)

    def __neg__(self) -> Any:
        return self._apply("neg", self)

    def __pos__(self) -> Any:
        return self.copy()

    def __abs__(self) -> Any:
        return self._apply("abs", self)

    def __invert__(self) -> Any:
        return self._apply("not", self)

    def __lt__(self, other: Any) -> Any:
        return self._apply("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self._apply("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._apply("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._apply("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return self._apply("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._apply("ne", self, other)

    __hash__ = object.__hash__  # tables hold tiles by identity: == is elementwise

    # -- what needs a number now

    def __bool__(self) -> NoReturn:
        from pypto.tracing.mistakes import truth_error

        raise truth_error(self.tracer)

    def _no_number(self, function: str) -> NoReturn:
        from pypto.tracing.mistakes import number_error

        raise number_error(self.tracer, function)

    def __float__(self) -> NoReturn:
        self._no_number("float")

    def __int__(self) -> NoReturn:
        self._no_number("int")

    def __index__(self) -> NoReturn:
        raise self.tracer.error("index-kind", kind="a tile")

    def __complex__(self) -> NoReturn:
        self._no_number("complex")

    def __round__(self, digits: int = 0) -> NoReturn:
        self._no_number("round")

    def item(self) -> NoReturn:
        """Not possible while tracing: raises UserError ``tile-as-number``."""
        self._no_number("item")

    def __len__(self) -> NoReturn:
        raise self.tracer.error("tile-len")

    def __iter__(self) -> NoReturn:
        from pypto.tracing.mistakes import iteration_error

        raise iteration_error(self.tracer)

    def __contains__(self, item: object) -> NoReturn:
        raise self.tracer.error("tile-contains")

    def __array__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise self.tracer.error("tile-to-array")

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        from pypto.tracing.numpy_protocol import call_ufunc

        return call_ufunc(self.tracer, function, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        from pypto.tracing.numpy_protocol import call_function

        return call_function(self.tracer, function, arguments, keywords)

    def __repr__(self) -> str:
        if self.tracer.eager and (self.axes is not None or not isinstance(self.storage, Fresh)):
            from pypto.tracing.executor import shown_array

            return shown_array(self)
        if isinstance(self.storage, Fresh) and self.storage.target is None:
            return f"<output {self.storage.name}, not written yet>"
        return f"<tile {self.storage.dtype}{show_shape(self.extents)}>"
