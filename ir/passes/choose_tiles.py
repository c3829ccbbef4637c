"""Cut the work of a kernel into tiles that fit the unified buffer and spread them over the vector cores.

An axis class (`pypto.ir.axes`) may be cut when no use looks across it and every store has it, so that each element is
stored once. Tiles are numbered through all cut axes, last axis fastest; core c takes tiles c, c + cores, ... Tails have
extents that are index expressions, such as ``min(64, 1000 - %tile * 64)``. Explicit blocks (a grid that is there
already) are spread over the cores the same way, each cut into tiles only when it does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pypto.ir.axes import Axis, AxisAnalysis, analyse
from pypto.ir.index import Extent, Index, Symbol, add, floor_divide, make, minimum, multiply, subtract, symbols
from pypto.ir.nodes import (
    Attribute,
    For,
    GridAxis,
    Kernel,
    Level,
    Load,
    Operation,
    Range,
    Region,
    Store,
    TileType,
    Value,
    walk,
)
from pypto.ir.passes.assign_buffers import assign_buffers
from pypto.ir.passes.footprint import capacity
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.plan_addresses import packed, peak, too_large
from pypto.ir.passes.rewriting import Rewriter
from pypto.ir.passes.rotate_buffers import noted, wanted_depth, with_depth
from pypto.ir.passes.split_work import split_work

LANES = 64
"""Elements that cuts of the innermost axis are a multiple of: one repeat of f32."""

SMALLEST_TILE = 1024
"""Elements below which a tile is not made smaller only to occupy more cores."""

FEWEST_TURNS = 4
TURN_ELEMENTS = 4096
"""A core's share is cut into up to so many turns of at least so many elements, to overlap copies and computing."""

Tiles = Mapping[Axis, int]


@dataclass(frozen=True, slots=True)
class Cut:
    """An axis class that may be cut: its extent, and the smallest tile that makes sense for it."""

    axis: Axis
    extent: int
    smallest: int


def choose_tiles(kernel: Kernel) -> Kernel:
    """Return `kernel` as tiles on cores; raises UserError ``unified-buffer-full`` when no tiles fit."""
    analysis = analyse(kernel)
    cuts = possible_cuts(kernel, analysis)
    for depth in range(wanted_depth(kernel), 0, -1):
        choice = Choice(kernel, analysis, cuts, depth, {cut.axis: cut.extent for cut in cuts})
        if choice.shrink_to_fit():
            if not kernel.grid:
                choice.occupy(_largest_store(kernel))
            return choice.tiled()
    made = _in_pieces(kernel, analysis, cuts)
    if made is None:
        raise too_large(assign_buffers(choice.tiled()))
    return made


PIECES = tuple(2**power for power in range(1, 13))
"""Into how many pieces to try to split a tile that is too large."""


def _in_pieces(kernel: Kernel, analysis: AxisAnalysis, cuts: list[Cut]) -> Kernel | None:
    """Return a kernel whose smallest tile is too large as tiles that are computed in as few pieces as fit, or None."""
    cut = {analysis.find(item.axis) for item in cuts}

    def is_whole(value: Value, position: int) -> bool:
        return analysis.find(Axis(f"%{value.name}", position)) not in cut

    for depth in range(wanted_depth(kernel), 0, -1):
        for parts in PIECES:
            split = split_work(kernel, parts, is_whole)
            if split is None:
                return None
            found = analyse(split)
            remaining = possible_cuts(split, found)
            choice = Choice(split, found, remaining, depth, {item.axis: item.extent for item in remaining})
            if choice.shrink_to_fit():
                if not kernel.grid:
                    choice.occupy(_largest_store(kernel))
                return noted(choice.tiled(), f"a tile needs more than a core has: it is computed in {parts} pieces")
    return None


def possible_cuts(kernel: Kernel, analysis: AxisAnalysis) -> list[Cut]:
    """Return the classes that may be cut, in the order of the axes of the largest stored array."""
    stores = [item for item in walk(kernel.body) if isinstance(item, Store)]
    if not stores:
        return []
    classes = [analysis.classes_of(f"%{store.value.name}") for store in stores]
    widest = max(range(len(stores)), key=lambda k: math.prod(_known(stores[k].value.shape)))
    innermost = _innermost(kernel, analysis)
    cuts = []
    for axis, extent in zip(classes[widest], stores[widest].value.shape, strict=True):
        shared = all(axis in others for others in classes)
        if shared and isinstance(extent, int) and extent > 1 and analysis.splittable(axis):
            cuts.append(Cut(axis, extent, min(extent, LANES) if axis in innermost else 1))
    return cuts


def _known(shape: tuple[Extent, ...]) -> list[int]:
    return [extent for extent in shape if isinstance(extent, int)]


def _innermost(kernel: Kernel, analysis: AxisAnalysis) -> frozenset[Axis]:
    """Return the classes that run along memory: last of several longer axes of an array, or never before another.

    A column of numbers, one for each row, does not count: its axis is cut like the rows.
    """
    last: set[Axis] = set()
    before: set[Axis] = set()
    for parameter in kernel.parameters:
        classes = analysis.classes_of(parameter.name)
        longer = [item for item, extent in zip(classes, parameter.type.shape, strict=True) if extent != 1]
        before.update(longer[:-1])
        if len(longer) > 1:
            last.add(longer[-1])
    stored = [analysis.classes_of(f"%{item.value.name}") for item in walk(kernel.body) if isinstance(item, Store)]
    return frozenset(axis for classes in stored for axis in classes if axis in last or axis not in before)


@dataclass(slots=True)
class Choice:
    """A choice of tiles in the making, for buffers of up to `depth` slots."""

    kernel: Kernel
    analysis: AxisAnalysis
    cuts: list[Cut]
    depth: int
    tiles: dict[Axis, int]

    def tiled(self) -> Kernel:
        return _tiled(self.kernel, self.analysis, self.cuts, self.tiles)

    def buffered(self) -> Kernel:
        return with_depth(assign_buffers(self.tiled()), self.depth)

    def size(self) -> int:
        """Return the bytes in use at the peak, which a plan of addresses comes close to."""
        return peak(self.buffered())

    def fits(self) -> bool:
        made = self.buffered()
        return peak(made) <= capacity(made) and packed(made) is not None

    def shrink_to_fit(self) -> bool:
        """Cut outer axes first, so that rows stay whole as long as possible; return whether the tiles fit."""
        if self.fits():
            return True
        for cut in self.cuts:
            self.tiles[cut.axis] = cut.smallest
            if self.fits():
                self.grow(cut)
                return True
        return False

    def grow(self, cut: Cut) -> None:
        """Set the tile of `cut` to about the largest that fits, guessed from how the size grows with it."""
        smallest_size = self.size()
        probe = min(cut.extent, cut.smallest * 4 if cut.smallest > 1 else 32)
        self.tiles[cut.axis] = probe
        growth = max(1, self.size() - smallest_size) / max(1, probe - cut.smallest)
        guess = min(cut.extent, cut.smallest + int((capacity(self.buffered()) - smallest_size) / growth))
        self.tiles[cut.axis] = _rounded(cut, guess)
        while not self.fits():
            self.tiles[cut.axis] = _rounded(cut, self.tiles[cut.axis] * 7 // 8)

    def occupy(self, total: int) -> None:
        """Make tiles smaller until there are as many as cores, and even out the last round; with several slots, give
        each core a few tiles, so that it copies one while it computes another.

        `total` is the number of elements of the largest stored array.
        """
        cores = core_limit(self.kernel)
        for cut in self.cuts:
            others = math.prod(_count(item, self.tiles) for item in self.cuts if item is not cut)
            elements = max(1, total // (cut.extent * others))
            rounds = max(1, -(-_count(cut, self.tiles) * others // cores))
            if self.depth > 1:
                share = total // (cores * TURN_ELEMENTS)
                rounds = max(rounds, min(FEWEST_TURNS, share))
            wanted = max(1, rounds * cores // others)
            even = -(-cut.extent // wanted)
            least = max(cut.smallest, -(-SMALLEST_TILE // elements))
            even = -(-max(even, least) // cut.smallest) * cut.smallest
            self.tiles[cut.axis] = min(self.tiles[cut.axis], even)
            if math.prod(_count(item, self.tiles) for item in self.cuts) >= cores:
                return


def _rounded(cut: Cut, tile: int) -> int:
    if tile >= cut.extent:
        return cut.extent
    return max(cut.smallest, tile // cut.smallest * cut.smallest)


def _largest_store(kernel: Kernel) -> int:
    sizes = [math.prod(_known(item.value.shape)) for item in walk(kernel.body) if isinstance(item, Store)]
    return max(sizes, default=1)


def _count(cut: Cut, tiles: Tiles) -> int:
    return -(-cut.extent // tiles[cut.axis])


def core_limit(kernel: Kernel) -> int:
    """Return the vector cores to use: those of the chip, or fewer by the attribute ``aicore_num``."""
    wanted = dict(kernel.attributes).get("aicore_num")
    return (
        min(ASCEND_910B1.vector_cores, wanted) if isinstance(wanted, int) and wanted > 0 else ASCEND_910B1.vector_cores
    )


# applying a choice


def _tiled(kernel: Kernel, analysis: AxisAnalysis, cuts: list[Cut], tiles: Tiles) -> Kernel:
    used = [cut for cut in cuts if tiles[cut.axis] < cut.extent]
    count = math.prod(_count(cut, tiles) for cut in used)
    if kernel.grid:
        return _spread_blocks(_inside_blocks(kernel, analysis, used, tiles, count))
    cores = min(core_limit(kernel), count)
    core = GridAxis(_fresh(kernel, "core"), cores)
    if count == 1:
        return kernel
    tile = core.symbol if count == cores else _fresh(kernel, "tile")
    body = _Tiler(kernel, analysis, _places(used, tiles, tile)).run().body
    if count == cores:
        return replace(kernel, grid=(core,), body=body)
    loop = For(tile, core.symbol, count, cores, (), (), body, (), (), kernel.location)
    return replace(kernel, grid=(core,), body=(loop,), attributes=_independent(kernel, tile))


def _inside_blocks(kernel: Kernel, analysis: AxisAnalysis, used: list[Cut], tiles: Tiles, count: int) -> Kernel:
    if count == 1:
        return kernel
    tile = _fresh(kernel, "tile")
    body = _Tiler(kernel, analysis, _places(used, tiles, tile)).run().body
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
    """Where a tile lies on one axis."""

    offset: Index
    extent: Extent


def _places(used: list[Cut], tiles: Tiles, number: Index) -> dict[Axis, Place]:
    """Return the place of tile `number` on each cut axis; the last cut axis runs fastest."""
    places: dict[Axis, Place] = {}
    following = math.prod(_count(cut, tiles) for cut in used)
    for position, cut in enumerate(used):
        count, tile = _count(cut, tiles), tiles[cut.axis]
        following //= count
        digit = floor_divide(number, following)
        if position:
            digit = make("%", digit, count)
        offset = multiply(digit, tile)
        extent: Extent = tile if cut.extent % tile == 0 else minimum(tile, subtract(cut.extent, offset))
        places[cut.axis] = Place(offset, extent)
    return places


class _Tiler(Rewriter):
    """Restricts every value and region to one tile."""

    def __init__(self, kernel: Kernel, analysis: AxisAnalysis, places: dict[Axis, Place]) -> None:
        super().__init__(kernel)
        self.analysis, self.places = analysis, places

    def place(self, owner: str, position: int) -> Place | None:
        return self.places.get(self.analysis.find(Axis(owner, position)))

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


CHOOSE_TILES = Pass("choose_tiles", Level.TILE, Level.TILE, choose_tiles)
