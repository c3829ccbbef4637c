"""Generated kernels that put the array of a linked parameter together: tiles picked, or several arrays combined.

An array holds T tiles in one of two ways: item t of a leading axis of extent T, or block t (in row-major order) of an
array that the decorator's shape cuts. An array of one tile is that tile.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pypto.graph import Graph, Join
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.builder import Builder
from pypto.ir.dtypes import F32, DType
from pypto.ir.index import Index, Symbol, add, floor_divide, make, multiply
from pypto.ir.nodes import For, Kernel, Load, Parameter, Range, Region, Role, Store, TileType, Value, whole
from pypto.links import tile_count
from pypto.tile_function import TileFunction

_COMBINE = {"sum": "add", "mean": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


@dataclass(frozen=True, slots=True)
class _Tiles:
    """How an array holds its tiles: `leading` axis, or blocks of the array, `counts` along each axis."""

    type: TileType
    leading: bool
    counts: tuple[int, ...]
    tile: tuple[int, ...]

    @property
    def number(self) -> int:
        return math.prod(self.counts)

    def region(self, tile: Index) -> Region:
        if self.leading:
            return (Range(tile, 1), *(Range(0, extent) for extent in self.tile))
        offsets = []
        after = self.number
        for count, extent in zip(self.counts, self.tile, strict=True):
            after //= count
            offset = make("%", floor_divide(tile, after), count) if count > 1 else 0
            offsets.append(Range(multiply(offset, extent), extent))
        return tuple(offsets)


@dataclass(slots=True)
class _Body:
    """A kernel's body while it grows; loops are bodies of their own that share the numbering of values."""

    location: Location
    builder: Builder = field(default_factory=Builder)
    loops: itertools.count[int] = field(default_factory=itertools.count)

    def load(self, name: str, type_: TileType, region: Region, shape: tuple[int, ...] | None = None) -> Value:
        value = self.builder.value(TileType(type_.dtype, tuple(item.extent for item in region)))
        self.builder.append(Load(value, name, region, location=self.location))
        return self.reshaped(value, shape)

    def store(self, name: str, region: Region, value: Value) -> None:
        value = self.reshaped(value, tuple(item.extent for item in region))
        self.builder.append(Store(name, region, value, location=self.location))

    def reshaped(self, value: Value, shape: tuple[Index, ...] | None) -> Value:
        if shape is None or value.shape == shape:
            return value
        return self.builder.operation("reshape", (value,), self.location, shape=shape)

    def cast(self, value: Value, dtype: DType) -> Value:
        if value.dtype == dtype:
            return value
        return self.builder.operation("cast", (value,), self.location, dtype=dtype)

    def loop(
        self, start: int, stop: int, turn: Callable[[_Body, Symbol, Value | None], Value | None], entry: Value | None
    ) -> Value | None:
        """Append a loop; `turn` appends one turn for an index and the carried value, and returns the next one."""
        if start >= stop:
            return entry
        inner = _Body(self.location, Builder(numbers=self.builder.numbers), self.loops)
        index = Symbol(f"tile{next(self.loops)}")
        carried = inner.builder.value(entry.type) if entry is not None else None
        after = turn(inner, index, carried)
        result = self.builder.value(entry.type) if entry is not None else None
        statements = tuple(inner.builder.statements)
        loop = For(index, start, stop, 1, _one(carried), _one(entry), statements, _one(after), _one(result))
        self.builder.append(loop)
        return result


def _one(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)


def join_kernel(graph: Graph, join: Join, types: Sequence[TileType], name: str) -> tuple[TileType, Kernel]:
    """Return the type of a join's array and the kernel that fills it from source arrays of `types`.

    Raises UserError ``link-tiles``, ``join-types``, ``gather-dtype`` or ``shapes-needed``.
    """
    destination = graph.stages[join.destination]
    _check_types(graph, join, types)
    arrays = [graph.names[number][buffer] for number, buffer in join.sources]
    body = _Body(destination.location)
    writer = _Writer(graph, join, tuple(types), tuple(arrays), body)
    type_ = writer.write()
    inputs = {array: Parameter(array, given, Role.IN) for array, given in zip(arrays, types, strict=True)}
    output = Parameter(join.name, type_, Role.OUT)
    kernel = Kernel(name, (*inputs.values(), output), (), tuple(body.builder.statements), location=destination.location)
    return type_, kernel


def _check_types(graph: Graph, join: Join, types: Sequence[TileType]) -> None:
    destination = graph.stages[join.destination]
    first = types[0]
    for port, given in zip(join.sources, types, strict=True):
        needs_shape = join.reduction is not None
        if given.dtype != first.dtype or (needs_shape and not _may_combine(join, given, first)):
            ends = [f"{graph.stages[number].name}.{buffer}" for number, buffer in (join.sources[0], port)]
            raise UserError(
                "join-types", destination.location, first=ends[0], first_type=first, second=ends[1],
                second_type=given, stage=destination.name, parameter=join.buffer,
            )  # fmt: skip
    is_bool, is_float = first.dtype.kind == "bool", first.dtype.is_float
    if (join.reduction in ("sum", "prod", "mean") and is_bool) or (join.reduction == "mean" and not is_float):
        raise UserError(
            "gather-dtype", destination.location, reduction=join.reduction, dtype=first.dtype,
            stage=destination.name, parameter=join.buffer,
        )  # fmt: skip


def _may_combine(join: Join, given: TileType, first: TileType) -> bool:
    if join.reduction == "concat":
        return given.rank == first.rank > 0 and given.shape[1:] == first.shape[1:]
    return given.shape == first.shape


def tiles_of(stage: TileFunction, buffer: str, type_: TileType, count: int) -> _Tiles:
    """Return how an array of a stage holds `count` tiles; raises UserError ``link-tiles`` or ``shapes-needed``."""
    extents = tuple(extent for extent in type_.shape if isinstance(extent, int))
    if len(extents) < type_.rank:
        why = f"{stage.name} hands single tiles of {buffer!r} on"
        raise UserError("shapes-needed", stage.location, parameters=buffer, why=why, example="{...}", first=buffer)
    if count == 1:
        return _Tiles(type_, False, (1,) * len(extents), extents)
    shape = stage.shape
    if extents[1:] == shape and extents[0] == count:
        return _Tiles(type_, True, (count,), extents[1:])
    if shape is not None and len(shape) == len(extents):
        tile = tuple(whole_ if cut is None else min(cut, whole_) for cut, whole_ in zip(shape, extents, strict=True))
        counts = tuple(extent // max(size, 1) for extent, size in zip(extents, tile, strict=True))
        full = all(size * times == extent for size, times, extent in zip(tile, counts, extents, strict=True))
        if full and math.prod(counts) == count:
            return _Tiles(type_, False, counts, tile)
    raise UserError(
        "link-tiles", stage.location, stage=stage.name, parameter=buffer, array=type_, count=count,
        shape="no shape" if shape is None else shape,
    )  # fmt: skip


@dataclass(slots=True)
class _Writer:
    graph: Graph
    join: Join
    types: tuple[TileType, ...]
    arrays: tuple[str, ...]
    body: _Body

    def write(self) -> TileType:
        """Append all statements and return the type of the array they fill."""
        if self.join.picks is not None:
            return self.pick(self.join.picks)
        if self.join.reduction is None:
            return self.copy()
        count, wanted = self.source_count, tile_count(self.destination)
        across = count > 1 and wanted == 1
        if self.join.reduction == "concat":
            return self.concat_across() if across else self.concat()
        return self.reduce_across() if across else self.reduce()

    @property
    def destination(self) -> TileFunction:
        return self.graph.stages[self.join.destination]

    @property
    def source_count(self) -> int:
        return tile_count(self.graph.stages[self.join.sources[0][0]]) or 1

    def tiles(self, position: int) -> _Tiles:
        number, buffer = self.join.sources[position]
        stage = self.graph.stages[number]
        return tiles_of(stage, buffer, self.types[position], tile_count(stage) or 1)

    def copy(self) -> TileType:
        region = whole(self.types[0])
        self.body.store(self.join.name, region, self.body.load(self.arrays[0], self.types[0], region))
        return self.types[0]

    # -- tiles

    def pick(self, picks: tuple[tuple[int, int], ...]) -> TileType:
        sources = [self.tiles(position) for position in range(len(self.arrays))]
        shapes = {source.tile for source in sources}
        if len(shapes) > 1:
            shown = ", ".join(map(str, sorted(shapes)))
            raise UserError(
                "pick-shapes", self.destination.location, stage=self.destination.name, parameter=self.join.buffer,
                shapes=shown,
            )  # fmt: skip
        filled = self.filled(sources, len(picks))
        for first, last, position, read, step in _runs(picks):
            self.copy_run(sources[position], self.arrays[position], filled, (first, last, read, step))
        return filled.type

    def filled(self, sources: list[_Tiles], count: int) -> _Tiles:
        """Return how the destination's array holds its tiles: like the sources where their number is the same."""
        source, dtype = sources[0], self.types[0].dtype
        if count == 1:
            return _Tiles(TileType(dtype, source.tile), False, (1,) * len(source.tile), source.tile)
        if count == source.number and not self.destination.uses_block_id:
            return source
        return _Tiles(TileType(dtype, (count, *source.tile)), True, (count,), source.tile)

    def copy_run(self, source: _Tiles, array: str, filled: _Tiles, run: tuple[int, int, int, int]) -> None:
        first, last, read, step = run

        def turn(body: _Body, tile: Index, _: Value | None = None) -> None:
            chosen = add(multiply(make("-", tile, first), step), read)
            value = body.load(array, source.type, source.region(chosen), source.tile)
            body.store(self.join.name, filled.region(tile), value)

        if first == last:
            turn(self.body, first)
        else:
            self.body.loop(first, last + 1, turn, None)

    # -- gathers of equal tiles

    def reduce(self) -> TileType:
        region = whole(self.types[0])
        value = self.value(self.body, 0, region, None)
        for position in range(1, len(self.arrays)):
            value = self.combine(self.body, value, self.value(self.body, position, region, None))
        self.body.store(self.join.name, region, self.finished(value, len(self.arrays)))
        return self.types[0]

    def concat(self) -> TileType:
        sources = [self.tiles(position) for position in range(len(self.arrays))]
        tile = (sum(source.tile[0] for source in sources), *sources[0].tile[1:])
        first = sources[0]
        if first.leading:
            shape: tuple[int, ...] = (first.number, *tile)
        else:
            shape = tuple(count * extent for count, extent in zip(first.counts, tile, strict=True))
        filled = _Tiles(TileType(self.types[0].dtype, shape), first.leading, first.counts, tile)
        before = 0
        for position, source in enumerate(sources):
            self.concat_one(position, source, filled, before)
            before += source.tile[0]
        return filled.type

    def concat_one(self, position: int, source: _Tiles, filled: _Tiles, before: int) -> None:
        """Store every tile of one source at row `before` of the same tile of the result."""
        axis = 1 if source.leading else 0

        def turn(body: _Body, tile: Index, _: Value | None = None) -> None:
            target = list(filled.region(tile))
            target[axis] = Range(add(target[axis].offset, before), source.tile[0])
            value = body.load(self.arrays[position], source.type, source.region(tile))
            body.store(self.join.name, tuple(target), value)

        if source.number == 1:
            turn(self.body, 0)
        else:
            self.body.loop(0, source.number, turn, None)

    # -- gathers over all tiles

    def reduce_across(self) -> TileType:
        source = self.tiles(0)
        value = self.value(self.body, 0, source.region(0), source.tile)
        for position in range(len(self.arrays)):
            tiles = self.tiles(position)

            def turn(
                body: _Body, tile: Symbol, carried: Value | None, tiles: _Tiles = tiles, number: int = position
            ) -> Value:
                assert carried is not None
                return self.combine(body, carried, self.value(body, number, tiles.region(tile), tiles.tile))

            result = self.body.loop(1 if position == 0 else 0, tiles.number, turn, value)
            assert result is not None
            value = result
        type_ = TileType(self.types[0].dtype, source.tile)
        self.body.store(self.join.name, whole(type_), self.finished(value, source.number * len(self.arrays)))
        return type_

    def concat_across(self) -> TileType:
        rows = 0
        for position in range(len(self.arrays)):
            tiles = self.tiles(position)

            def turn(
                body: _Body,
                tile: Symbol,
                _: Value | None,
                tiles: _Tiles = tiles,
                at: int = rows,
                number: int = position,
            ) -> None:
                value = body.load(self.arrays[number], tiles.type, tiles.region(tile), tiles.tile)
                first = Range(add(multiply(tile, tiles.tile[0]), at), tiles.tile[0])
                body.store(self.join.name, (first, *(Range(0, extent) for extent in tiles.tile[1:])), value)

            self.body.loop(0, tiles.number, turn, None)
            rows += tiles.number * tiles.tile[0]
        return TileType(self.types[0].dtype, (rows, *self.tiles(0).tile[1:]))

    # -- arithmetic

    def value(self, body: _Body, position: int, region: Region, shape: tuple[int, ...] | None) -> Value:
        loaded = body.load(self.arrays[position], self.types[position], region, shape)
        return body.cast(loaded, F32 if loaded.dtype.is_narrow_float else loaded.dtype)

    def combine(self, body: _Body, left: Value, right: Value) -> Value:
        assert self.join.reduction is not None
        return body.builder.operation(_COMBINE[self.join.reduction], (left, right), body.location)

    def finished(self, value: Value, count: int) -> Value:
        """Return the mean of a sum of `count` values, or the value itself, in the dtype of the sources."""
        body = self.body
        if self.join.reduction == "mean":
            divisor = body.builder.operation("constant", (), body.location, dtype=value.dtype, value=float(count))
            value = body.builder.operation("div", (value, divisor), body.location)
        return body.cast(value, self.types[0].dtype)


def _runs(picks: Sequence[tuple[int, int]]) -> list[tuple[int, int, int, int, int]]:
    """Return ``(first, last, source, tile, step)``: destination tiles first..last read tiles ``tile + k * step``."""
    runs: list[tuple[int, int, int, int, int]] = []
    for tile, (source, read) in enumerate(picks):
        if runs:
            first, last, before, start, step = runs[-1]
            if first == last:
                step = read - start
            if before == source and read == start + (tile - first) * step:
                runs[-1] = (first, tile, source, start, step)
                continue
        runs.append((tile, tile, source, read, 0))
    return runs
