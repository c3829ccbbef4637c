"""Apply a choice of tiles: every value and region restricted to one tile, tiles numbered and spread over the cores.

Tiles are numbered through all cut axes, the last fastest; core c takes tiles c, c + cores, ... Tails have extents that
are index expressions, such as ``min(64, 1000 - %tile * 64)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pypto.ir.axes import Axis
from pypto.ir.index import Extent, Index, Symbol, add, floor_divide, make, minimum, multiply, subtract, symbols
from pypto.ir.nodes import (
    Attribute,
    For,
    GridAxis,
    Kernel,
    Load,
    Operation,
    Range,
    Region,
    Store,
    TileType,
    Value,
    walk,
)
from pypto.ir.passes.cut_axes import CutAxes
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.passes.rewriting import Rewriter
from pypto.ir.schedule import Schedule

Tiles = Mapping[Axis, int]


@dataclass(frozen=True, slots=True)
class Cut:
    """An axis class that may be cut.

    position: its axis of the largest stored array. extent, smallest: of the class, and of a tile that makes sense.
    tied: other classes are cut with it, by reshapes. even: all tiles must be equally long. factor: elements of the
    array that one of the class stands for.
    """

    axis: Axis
    position: int
    extent: int
    smallest: int
    even: bool = False
    factor: int = 1
    tied: bool = False

    def rounded(self, tile: int) -> int:
        """Return a tile that may be, at most `tile` where that is not too small."""
        if tile >= self.extent:
            return self.extent
        tile = max(self.smallest, tile // self.smallest * self.smallest)
        return self.divisor(tile) if self.even else tile

    def nearest(self, elements: int | None) -> int:
        """Return the tile that `elements` of the array ask for; None asks for the whole axis."""
        if elements is None or elements >= self.extent * self.factor:
            return self.extent
        tile = max(1, elements // self.factor)
        return self.divisor(tile) if self.even else tile

    def divisor(self, most: int) -> int:
        """Return the largest tile of at most `most` elements that divides the axis."""
        return max(number for number in range(1, max(1, most) + 1) if self.extent % number == 0)

    def count(self, tiles: Tiles) -> int:
        return -(-self.extent // tiles[self.axis])


def core_limit(kernel: Kernel) -> int:
    """Return the vector cores to use: those of the chip, or fewer where the schedule says so."""
    wanted = Schedule.of(kernel).aicore_num
    return min(ASCEND_910B1.vector_cores, wanted) if wanted else ASCEND_910B1.vector_cores


def tiled(kernel: Kernel, axes: CutAxes, cuts: list[Cut], tiles: Tiles) -> Kernel:
    """Return `kernel` in `tiles` along `cuts`, spread over the cores."""
    used = [cut for cut in cuts if tiles[cut.axis] < cut.extent]
    count = math.prod(cut.count(tiles) for cut in used)
    if kernel.grid:
        return _spread_blocks(_inside_blocks(kernel, axes, used, tiles, count))
    cores = min(core_limit(kernel), count)
    core = GridAxis(_fresh(kernel, "core"), cores)
    if count == 1:
        return kernel
    tile = core.symbol if count == cores else _fresh(kernel, "tile")
    body = _Tiler(kernel, axes, _places(used, tiles, tile)).run().body
    if count == cores:
        return replace(kernel, grid=(core,), body=body)
    loop = For(tile, core.symbol, count, cores, (), (), body, (), (), kernel.location)
    return replace(kernel, grid=(core,), body=(loop,), attributes=_independent(kernel, tile))


def as_blocks(kernel: Kernel, axes: CutAxes, cuts: list[Cut]) -> Kernel:
    """Return `kernel` with one block for each smallest tile along `cuts`."""
    tiles = {cut.axis: cut.smallest for cut in cuts}
    block = GridAxis(_fresh(kernel, "block"), math.prod(cut.count(tiles) for cut in cuts))
    body = _Tiler(kernel, axes, _places(cuts, tiles, block.symbol)).run().body
    return replace(kernel, grid=(block,), body=body)


def _inside_blocks(kernel: Kernel, axes: CutAxes, used: list[Cut], tiles: Tiles, count: int) -> Kernel:
    if count == 1:
        return kernel
    tile = _fresh(kernel, "tile")
    body = _Tiler(kernel, axes, _places(used, tiles, tile)).run().body
    loop = For(tile, 0, count, 1, (), (), body, (), (), kernel.location)
    return replace(kernel, body=(loop,), attributes=_independent(kernel, tile))


def _spread_blocks(kernel: Kernel) -> Kernel:
    """More blocks than cores: each core takes every so many of them."""
    (axis,) = kernel.grid
    cores = core_limit(kernel)
    if not isinstance(axis.extent, int) or axis.extent <= cores:
        return kernel
    core = GridAxis(_fresh(kernel, "core"), cores)
    loop = For(axis.symbol, core.symbol, axis.extent, cores, (), (), kernel.body, (), (), kernel.location)
    return replace(kernel, grid=(core,), body=(loop,), attributes=_independent(kernel, axis.symbol))


def _independent(kernel: Kernel, loop: Symbol) -> tuple[tuple[str, Attribute], ...]:
    """Note that the turns of `loop` touch different elements of the arrays, as synchronisation may rely on."""
    attributes = dict(kernel.attributes)
    before = attributes.get("independent", ())
    assert isinstance(before, tuple)
    attributes["independent"] = (*before, loop.name)
    return tuple(sorted(attributes.items()))


def _fresh(kernel: Kernel, name: str) -> Symbol:
    """Return a symbol that occurs nowhere in `kernel`, called like `name`."""
    taken = {axis.symbol.name for axis in kernel.grid}
    taken |= {item.index.name for item in walk(kernel.body) if isinstance(item, For)}
    for parameter in kernel.parameters:
        taken |= {symbol.name for extent in parameter.type.shape for symbol in symbols(extent)}
    while name in taken:
        name += "_"
    return Symbol(name)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tile lies on one axis: `tile` elements from `offset` on, or what is left of `total`."""

    offset: Index
    tile: int
    total: int

    @property
    def extent(self) -> Extent:
        if self.total % self.tile == 0:
            return self.tile
        return minimum(self.tile, subtract(self.total, self.offset))

    def times(self, factor: int) -> Place:
        """Return the place on an axis of which `factor` elements are one here."""
        return Place(multiply(self.offset, factor), self.tile * factor, self.total * factor)


def _places(used: list[Cut], tiles: Tiles, number: Index) -> dict[Axis, Place]:
    """Return the place of tile `number` on each cut axis; the last cut axis runs fastest."""
    places: dict[Axis, Place] = {}
    following = math.prod(cut.count(tiles) for cut in used)
    for position, cut in enumerate(used):
        count, tile = cut.count(tiles), tiles[cut.axis]
        following //= count
        digit = floor_divide(number, following)
        if position:
            digit = make("%", digit, count)
        places[cut.axis] = Place(multiply(digit, tile), tile, cut.extent)
    return places


class _Tiler(Rewriter):
    """Restricts every value and region to one tile."""

    def __init__(self, kernel: Kernel, axes: CutAxes, places: dict[Axis, Place]) -> None:
        super().__init__(kernel)
        self.axes, self.places = axes, places

    def place(self, owner: str, position: int) -> Place | None:
        base, factor = self.axes.base(Axis(owner, position))
        found = self.places.get(base)
        return found if found is None or factor == 1 else found.times(factor)

    def shape(self, value: Value) -> tuple[Extent, ...]:
        """Return the shape of one tile of `value`; axes of extent 1 are shared by all tiles."""
        found = [self.place(f"%{value.name}", position) for position in range(value.type.rank)]
        return tuple(
            place.extent if place is not None and extent != 1 else extent
            for place, extent in zip(found, value.shape, strict=True)
        )

    def redefine(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        made = tuple(replace(value, type=TileType(value.dtype, self.shape(value))) for value in values)
        self.values.update((old.name, new) for old, new in zip(values, made, strict=True))
        return made

    def region(self, array: str, region: Region) -> Region:
        return tuple(self.range(item, self.place(array, position)) for position, item in enumerate(region))

    def range(self, item: Range, place: Place | None) -> Range:
        if place is None or item.extent == 1:
            return item
        return Range(add(item.offset, place.offset), place.extent, item.step)

    def load(self, load: Load) -> None:
        (result,) = self.redefine((load.result,))
        self.builder.append(replace(load, result=result, region=self.region(load.source, load.region)))

    def store(self, store: Store) -> None:
        region = self.region(store.target, store.region)
        self.builder.append(replace(store, region=region, value=self.value(store.value)))

    def operation(self, operation: Operation) -> None:
        operands = self.all(operation.operands)
        base = operation.operands[0] if operation.operands else None
        results = self.redefine(operation.results)
        attributes = dict(operation.attributes)
        if "shape" in attributes:
            attributes["shape"] = results[0].shape
        if "ranges" in attributes and base is not None:
            attributes["ranges"] = self.ranges(base, attributes["ranges"])
        self.builder.append(
            replace(operation, operands=operands, results=results, attributes=tuple(attributes.items()))
        )

    def ranges(self, base: Value, ranges: Attribute) -> Attribute:
        assert isinstance(ranges, tuple)
        made: list[Attribute] = []
        for position, item in enumerate(ranges):
            place = self.place(f"%{base.name}", position)
            assert isinstance(item, tuple)
            made.append(item if place is None or item[1] == 1 else (0, place.extent, 1))
        return tuple(made)
