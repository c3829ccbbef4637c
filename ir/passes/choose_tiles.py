"""Choose tiles that fit the unified buffer and occupy the vector cores.

An axis class (`pypto.ir.passes.cut_axes`) may be cut when no use looks across it and every store has it, so that each
element is stored once. The kernel's schedule (`pypto.ir.schedule`) is followed where it fits: ``tile_shape``,
``tile_num``, ``loop_order``, ``aicore_num`` and ``buffer_depth``; where it does not, the kernel's attribute ``notes``
says what was done instead. The tile taken is kept in the attribute ``tiles``, by axis of the largest stored array.

Explicit blocks (a grid that is there already) are spread over the cores, each cut into tiles only when it does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pypto.ir.axes import Axis
from pypto.ir.index import Extent
from pypto.ir.nodes import For, Kernel, Level, Load, Store, Value, walk
from pypto.ir.passes.apply_tiles import Cut, Tiles, as_blocks, core_limit, tiled
from pypto.ir.passes.assign_buffers import assign_buffers
from pypto.ir.passes.choose_cube_tiles import choose_cube_tiles
from pypto.ir.passes.cut_axes import CutAxes, cut_axes
from pypto.ir.passes.footprint import capacity
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.narrow_accesses import narrow_accesses
from pypto.ir.passes.plan_addresses import packed, peak, too_large
from pypto.ir.passes.rotate_buffers import noted, wanted_depth, with_depth
from pypto.ir.passes.split_cores import is_cube
from pypto.ir.passes.split_work import split_work
from pypto.ir.schedule import Schedule

LANES = 64
"""Elements that cuts of the innermost axis are a multiple of: one repeat of f32."""

SMALLEST_TILE = 1024
"""Elements below which a tile is not made smaller only to occupy more cores."""

FEWEST_TURNS = 4
TURN_ELEMENTS = 4096
"""A core's share is cut into up to so many turns of at least so many elements, to overlap copies and computing."""

USED_PARTS = "a tile needs more than a core has: the parts that it uses are copied alone"

WORTH_NARROWING = 16384
"""Bytes less that a turn of a loop copies, from which on one tile at a time is better than several with whole copies:
about what a core copies while a turn more takes its time."""

PIECES = tuple(2**power for power in range(1, 13))
"""Into how many pieces to try to split a tile that is too large."""


def choose_tiles(kernel: Kernel) -> Kernel:
    """Return `kernel` as tiles on cores; raises UserError ``unified-buffer-full`` when no tiles fit."""
    if is_cube(kernel):
        return choose_cube_tiles(kernel)
    blocks = _one_tile_each(kernel)
    narrow = narrow_accesses(blocks)
    if _bytes_per_turn(blocks) - _bytes_per_turn(narrow) >= WORTH_NARROWING and (made := _in_tiles(narrow)):
        return made if _in_tiles(blocks) else noted(made, USED_PARTS)
    made = _in_tiles(kernel)
    if made is not None:
        return made
    made = _in_tiles(blocks) or (_in_tiles(narrow) if narrow != blocks else None)
    if made is None:
        axes = cut_axes(narrow)
        cuts = possible_cuts(narrow, axes)
        made = _in_pieces(narrow, axes, cuts)
        if made is None:
            smallest = {cut.axis: cut.smallest for cut in cuts}
            raise too_large(assign_buffers(tiled(narrow, axes, cuts, smallest)))
    return noted(made, USED_PARTS) if narrow != blocks else made


def _bytes_per_turn(kernel: Kernel) -> int:
    """Return the bytes of loads and stores in loops of the kernel, of arrays that the same loop stores to."""
    total = 0
    for loop in kernel.body:
        if isinstance(loop, For):
            inner = list(walk(loop.body))
            stored = {item.target for item in inner if isinstance(item, Store)}
            values = [item.value for item in inner if isinstance(item, Store)]
            values += [item.result for item in inner if isinstance(item, Load) and item.source in stored]
            total += sum(math.prod(_known(value.shape)) * value.dtype.bytes for value in values)
    return total


def _one_tile_each(kernel: Kernel) -> Kernel:
    """Return a kernel of TILES with a block for each tile; others as they are."""
    axes = cut_axes(kernel)
    tied = [cut for cut in possible_cuts(kernel, axes) if cut.tied]
    return as_blocks(kernel, axes, tied) if tied and not kernel.grid else kernel


def _in_tiles(kernel: Kernel) -> Kernel | None:
    """Return `kernel` in tiles that are computed as they are, those asked for where they fit, or None."""
    axes = cut_axes(kernel)
    cuts = possible_cuts(kernel, axes)
    for fixed in _relaxed(asked_tiles(kernel, cuts), cuts):
        made = _fitting(kernel, axes, cuts, fixed)
        if made is not None:
            return made
    return None


def _relaxed(asked: Tiles, cuts: list[Cut]) -> Iterator[Tiles]:
    """Yield the tiles to try: what is asked for, then without the axes to be kept whole, then nothing."""
    yield asked
    if asked:
        extents = {cut.axis: cut.extent for cut in cuts}
        yield {axis: tile for axis, tile in asked.items() if tile < extents[axis]}
        yield {}


def _fitting(kernel: Kernel, axes: CutAxes, cuts: list[Cut], fixed: Tiles) -> Kernel | None:
    """Return `kernel` in tiles that fit, `fixed` on the axes that it names, or None."""
    for depth in range(wanted_depth(kernel), 0, -1):
        choice = Choice(kernel, axes, cuts, depth, {cut.axis: fixed.get(cut.axis, cut.extent) for cut in cuts}, fixed)
        if choice.shrink_to_fit():
            choice.spread()
            return choice.finished()
    return None


def _in_pieces(kernel: Kernel, axes: CutAxes, cuts: list[Cut]) -> Kernel | None:
    """Return a kernel whose smallest tile is too large as tiles that are computed in as few pieces as fit, or None."""
    cut = {item.axis for item in cuts}

    def is_whole(value: Value, position: int) -> bool:
        return axes.base(Axis(f"%{value.name}", position))[0] not in cut

    for depth in range(wanted_depth(kernel), 0, -1):
        for parts in PIECES:
            split = split_work(kernel, parts, is_whole)
            if split is None:
                continue
            found = cut_axes(split)
            remaining = possible_cuts(split, found)
            choice = Choice(split, found, remaining, depth, {item.axis: item.extent for item in remaining}, {})
            if choice.shrink_to_fit():
                choice.spread()
                return noted(choice.finished(), f"a tile needs more than a core has: it is computed in {parts} pieces")
    return None


def possible_cuts(kernel: Kernel, axes: CutAxes) -> list[Cut]:
    """Return the classes that may be cut, in the order of the axes of the largest stored array, or as ``loop_order``
    says."""
    stores = [item for item in walk(kernel.body) if isinstance(item, Store)]
    if not stores:
        return []
    bases = [axes.bases_of(f"%{store.value.name}") for store in stores]
    widest = _widest(stores)
    innermost = _innermost(kernel, axes)
    shape = stores[widest].value.shape
    cuts: list[Cut] = []
    for position in _order(kernel, len(shape)):
        base, factor = bases[widest][position]
        extent = shape[position]
        shared = all(base in (item for item, _ in others) for others in bases)
        if shared and isinstance(extent, int) and extent > factor and axes.can_cut(base):
            tied = axes.is_tied(base)
            smallest = min(extent, LANES) if base in innermost and not tied else 1
            even = tied and not axes.leads(base)
            cuts.append(Cut(base, position, extent // factor, smallest, even, factor, tied))
    return cuts


def _order(kernel: Kernel, rank: int) -> list[int]:
    first = [position for position in Schedule.of(kernel).loop_order or () if position < rank]
    return [*first, *(position for position in range(rank) if position not in first)]


def _widest(stores: list[Store]) -> int:
    return max(range(len(stores)), key=lambda number: math.prod(_known(stores[number].value.shape)))


def _known(shape: tuple[Extent, ...]) -> list[int]:
    return [extent for extent in shape if isinstance(extent, int)]


def _innermost(kernel: Kernel, axes: CutAxes) -> frozenset[Axis]:
    """Return the classes that run along memory: last of several longer axes of an array, or never before another.

    A column of numbers, one for each row, does not count: its axis is cut like the rows.
    """
    last: set[Axis] = set()
    before: set[Axis] = set()
    for parameter in kernel.parameters:
        bases = [base for base, _ in axes.bases_of(parameter.name)]
        longer = [item for item, extent in zip(bases, parameter.type.shape, strict=True) if extent != 1]
        before.update(longer[:-1])
        if len(longer) > 1:
            last.add(longer[-1])
    stored = [axes.bases_of(f"%{item.value.name}") for item in walk(kernel.body) if isinstance(item, Store)]
    return frozenset(axis for bases in stored for axis, _ in bases if axis in last or axis not in before)


# what the schedule asks for


def asked_tiles(kernel: Kernel, cuts: list[Cut]) -> dict[Axis, int]:
    """Return the tiles that ``tile_shape`` asks for, by class; its last entries stand for the last axes.

    A decorator's shape asks for nothing where it holds whole arrays, and for a kernel of TILES: how many of its tiles
    are computed together is schedule.
    """
    schedule = Schedule.of(kernel)
    wanted = schedule.tile_shape or ()
    skipped = len(_stored_shape(kernel)) - len(wanted)
    asked: dict[Axis, int] = {}
    for cut in cuts:
        if wanted and cut.position >= skipped:
            asked[cut.axis] = cut.nearest(wanted[cut.position - skipped])
    is_whole = all(asked.get(cut.axis, cut.extent) == cut.extent for cut in cuts)
    declared = "tile_shape" in (schedule.declared or ())
    return {} if declared and (is_whole or _is_meant(kernel, "tile_shape")) else asked


def _is_meant(kernel: Kernel, name: str) -> bool:
    """Return whether a field of the schedule is what the kernel means, no mere schedule."""
    return dict(kernel.attributes).get("meaning") == "tiles" and name in (Schedule.of(kernel).declared or ())


def _stored_shape(kernel: Kernel) -> tuple[Extent, ...]:
    """Return the shape of the largest stored value."""
    stores = [item for item in walk(kernel.body) if isinstance(item, Store)]
    return stores[_widest(stores)].value.shape if stores else ()


@dataclass(slots=True)
class Choice:
    """A choice of tiles in the making, for buffers of up to `depth` slots; `fixed` are those that must stay."""

    kernel: Kernel
    axes: CutAxes
    cuts: list[Cut]
    depth: int
    tiles: dict[Axis, int]
    fixed: Tiles

    def tiled(self) -> Kernel:
        return tiled(self.kernel, self.axes, self.cuts, self.tiles)

    def finished(self) -> Kernel:
        """Return the kernel in tiles, which says what was chosen and what of the schedule was not followed."""
        extents = list(_stored_shape(self.kernel))
        for cut in self.cuts:
            extents[cut.position] = self.tiles[cut.axis] * cut.factor
        made = self.tiled()
        attributes = {**dict(made.attributes), "tiles": tuple(extents)}
        made = replace(made, attributes=tuple(sorted(attributes.items())))
        for note in self.remarks():
            made = noted(made, note)
        return made

    def remarks(self) -> Iterator[str]:
        asked = asked_tiles(self.kernel, self.cuts)
        for cut in self.cuts:
            wanted, taken = (tile * cut.factor for tile in (asked.get(cut.axis, 0), self.tiles[cut.axis]))
            if wanted not in (0, taken, cut.extent * cut.factor):
                yield f"tiles of {wanted} elements along axis {cut.position} do not fit: {taken} are taken"
        number, count = self.wanted_number(), math.prod(cut.count(self.tiles) for cut in self.cuts)
        if number and not asked and count > number:
            yield f"{number} tile{'s' * (number > 1)} would be too large: there are {count}"

    def buffered(self) -> Kernel:
        return with_depth(assign_buffers(self.tiled()), self.depth)

    def size(self) -> int:
        """Return the bytes in use at the peak, which a plan of addresses comes close to."""
        return peak(self.buffered())

    def fits(self) -> bool:
        return packed(self.buffered()) is not None

    def free(self) -> list[Cut]:
        return [cut for cut in self.cuts if cut.axis not in self.fixed]

    def shrink_to_fit(self) -> bool:
        """Cut outer axes first, so that rows stay whole as long as possible; return whether the tiles fit."""
        if self.fits():
            return True
        for cut in self.free():
            self.tiles[cut.axis] = cut.smallest
            if self.fits():
                self.grow(cut)
                return True
        return False

    def grow(self, cut: Cut) -> None:
        """Set the tile of `cut` to about the largest that fits, guessed from how the size grows with it."""
        smallest_size = self.size()
        probe = cut.rounded(min(cut.extent, cut.smallest * 4 if cut.smallest > 1 else 32))
        if probe == cut.smallest:
            probe = cut.extent
        self.tiles[cut.axis] = probe
        growth = max(1, self.size() - smallest_size) / max(1, probe - cut.smallest)
        guess = min(cut.extent, cut.smallest + int((capacity(self.buffered()) - smallest_size) / growth))
        self.tiles[cut.axis] = cut.rounded(guess)
        while not self.fits():
            self.tiles[cut.axis] = cut.rounded(self.tiles[cut.axis] * 7 // 8)

    def spread(self) -> None:
        """Make the tiles that nothing fixes small enough for all cores to have some; not those of explicit blocks."""
        if self.kernel.grid:
            return
        number = self.wanted_number()
        if number and not self.fixed:
            self.divide(number)
        else:
            self.occupy(_largest_store(self.kernel))

    def wanted_number(self) -> int | None:
        """Return how many tiles the schedule asks for."""
        own = self.kernel.grid or _is_meant(self.kernel, "tile_num")
        return None if own else Schedule.of(self.kernel).tile_num

    def divide(self, number: int) -> None:
        """Make at least about `number` tiles, as far as axes can be cut."""
        for cut in self.free():
            others = math.prod(item.count(self.tiles) for item in self.cuts if item is not cut)
            wanted = -(-number // others)
            tile = -(-cut.extent // min(cut.extent, wanted))
            padded = -(-tile // cut.smallest) * cut.smallest
            tile = padded if -(-cut.extent // padded) == -(-cut.extent // tile) else tile
            self.tiles[cut.axis] = min(self.tiles[cut.axis], cut.divisor(tile) if cut.even else tile)

    def occupy(self, total: int) -> None:
        """Make tiles smaller until there are as many as cores, and even out the last round; with several slots, give
        each core a few tiles, so that it copies one while it computes another.

        `total` is the number of elements of the largest stored array.
        """
        cores = core_limit(self.kernel)
        for cut in self.free():
            others = math.prod(item.count(self.tiles) for item in self.cuts if item is not cut)
            elements = max(1, total // (cut.extent * others))
            rounds = max(1, -(-cut.count(self.tiles) * others // cores))
            if self.depth > 1:
                share = total // (cores * TURN_ELEMENTS)
                rounds = max(rounds, min(FEWEST_TURNS, share))
            wanted = max(1, rounds * cores // others)
            even = -(-cut.extent // wanted)
            least = max(cut.smallest, -(-SMALLEST_TILE // elements))
            even = cut.rounded(-(-max(even, least) // cut.smallest) * cut.smallest)
            self.tiles[cut.axis] = min(self.tiles[cut.axis], even)
            if math.prod(item.count(self.tiles) for item in self.cuts) >= cores:
                return


def _largest_store(kernel: Kernel) -> int:
    sizes = [math.prod(_known(item.value.shape)) for item in walk(kernel.body) if isinstance(item, Store)]
    return max(sizes, default=1)


CHOOSE_TILES = Pass("choose_tiles", Level.TILE, Level.TILE, choose_tiles)
