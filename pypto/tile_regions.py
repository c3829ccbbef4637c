"""Which region of which array each tile of a traced stage reads and writes.

Regions are boxes: per axis the first element and one past the last. They may be larger than what is touched, never
smaller. The items of a batch are tiles when the decorator counts them. A stage whose decorator does not cut it into as
many tiles as it says is one unit, as its work items are then the compiler's choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.axes import Axis, AxisAnalysis, analyse
from pypto.ir.base.locations import Location
from pypto.ir.blocks import block_accesses
from pypto.ir.nodes import Kernel, Load, Role, Store, walk
from pypto.meaning import Meaning
from pypto.tile_function import TileFunction
from pypto.tracing.views import ArrayView, ViewAxis

Boxes = NDArray[np.int64]
"""Shape (tiles, rank, 2)."""


@dataclass(frozen=True, slots=True)
class Touch:
    """What the tiles of a stage read or write of one array. A box without elements touches nothing."""

    array: str
    is_write: bool
    boxes: Boxes
    location: Location
    element_bytes: int


@dataclass(frozen=True, slots=True)
class StageTiles:
    """A traced stage cut into tiles: their number and what they touch."""

    count: int
    touches: tuple[Touch, ...]


def stage_tiles(stage: TileFunction, meaning: Meaning, kernel: Kernel, arrays: dict[str, str]) -> StageTiles:
    """Return the tiles of a stage; `kernel` names arrays as the module does, `arrays` maps parameters to them."""
    if meaning.kind == "blocks":
        return _block_tiles(stage, kernel)
    cutter = _Cutter(stage, meaning, kernel, arrays)
    return StageTiles(cutter.count, tuple(cutter.touches()))


def _block_tiles(stage: TileFunction, kernel: Kernel) -> StageTiles:
    count = stage.tile_num or 1
    found: dict[tuple[str, bool, int], list[tuple[int, Any]]] = {}
    places: dict[tuple[str, bool, int], Location] = {}
    seen: dict[tuple[str, bool, int], int] = {}
    for access in block_accesses(kernel):
        turn = seen.get((access.array, access.is_write, access.block), 0)
        seen[access.array, access.is_write, access.block] = turn + 1
        key = access.array, access.is_write, turn
        found.setdefault(key, []).append((access.block, [interval[:2] for interval in access.intervals]))
        places.setdefault(key, access.location)
    touches = []
    for key, members in found.items():
        boxes = np.zeros((count, len(members[0][1]), 2), np.int64)
        for block, box in members:
            boxes[block] = box
        touches.append(Touch(key[0], key[1], boxes, places[key], kernel.parameter(key[0]).type.dtype.bytes))
    return StageTiles(count, tuple(touches))


class _Cutter:
    """Cuts the arrays of a stage whose tiles the decorator or the meaning gives."""

    def __init__(self, stage: TileFunction, meaning: Meaning, kernel: Kernel, arrays: dict[str, str]) -> None:
        self.stage, self.kernel, self.arrays = stage, kernel, arrays
        self.views = [view for view in meaning.views if isinstance(view, ArrayView)]
        self.analysis: AxisAnalysis | None = None
        self.cuts: dict[Axis, tuple[int, int]] = {}  # anchor axis: number among the grid's axes, extent of a tile
        self.anchor = ""
        hidden = tuple(int(extent) for extent in meaning.hidden if isinstance(extent, int))
        inner = hidden[meaning.batch :] if meaning.kind == "tiles" else self.whole_grid()
        batch = hidden[: meaning.batch]
        whole = math.prod(batch) * math.prod(inner) == stage.tile_num
        self.grid = batch + inner if whole else inner if math.prod(inner) == stage.tile_num else ()
        self.skipped = 0 if whole else meaning.batch
        """Hidden axes that are no axes of the grid: a batch that every tile goes through."""
        self.first = len(batch) if whole else 0
        self.count = math.prod(self.grid)
        self.numbers = list(itertools.product(*map(range, self.grid)))

    def whole_grid(self) -> tuple[int, ...]:
        """Return how the decorator's shape cuts the largest output (else input) of its rank, () for not at all."""
        shape = self.stage.shape
        ranked = [view for view in self.views if shape is not None and len(view.visible_shape) == len(shape)]
        outputs = [view for view in ranked if view.name in self.stage.outputs]
        if shape is None or not ranked:
            return ()
        sizes = [
            math.prod(extent for extent in view.visible_shape if isinstance(extent, int)) for view in outputs or ranked
        ]
        anchor = (outputs or ranked)[max(range(len(sizes)), key=lambda number: (sizes[number], number))]
        positions = [position for position, axis in enumerate(anchor.axes) if axis.visible]
        grid: list[int] = []
        cuts: dict[Axis, tuple[int, int]] = {}
        for extent, size, position in zip(anchor.visible_shape, shape, positions, strict=True):
            assert isinstance(extent, int)
            tile = min(size or extent, extent)
            if not tile or extent % tile:
                return ()
            if extent > tile:
                cuts[Axis(self.arrays[anchor.name], position)] = len(grid), tile
                grid.append(extent // tile)
        self.analysis, self.cuts, self.anchor = analyse(self.kernel), cuts, self.arrays[anchor.name]
        return tuple(grid)

    def touches(self) -> Iterator[Touch]:
        places: dict[tuple[str, bool], Location] = {}
        for statement in walk(self.kernel.body):
            if isinstance(statement, (Load, Store)):
                name = statement.source if isinstance(statement, Load) else statement.target
                places.setdefault((name, isinstance(statement, Store)), statement.location)
        roles = {item.name: item.role for item in self.kernel.parameters}
        done: set[tuple[str, bool]] = set()
        for view in self.views:
            array = self.arrays[view.name]
            for is_write in (False, True):
                if (array, is_write) not in places or (array, is_write) in done:
                    continue
                if not is_write and roles[array] is Role.OUT:
                    continue  # reads only what it has written itself
                done.add((array, is_write))
                boxes = self.boxes(view, array, is_write)
                yield Touch(array, is_write, boxes, places[array, is_write], view.dtype.bytes)

    def boxes(self, view: ArrayView, array: str, is_write: bool) -> Boxes:
        boxes = np.zeros((self.count, len(view.axes), 2), np.int64)
        for position, axis in enumerate(view.axes):
            number, tile, extent = self.cut(axis, Axis(array, position), is_write)
            for row, place in enumerate(self.numbers):
                first = place[number] * tile if number is not None else 0
                boxes[row, position] = first, first + tile if number is not None else extent
        return boxes

    def cut(self, axis: ViewAxis, name: Axis, is_write: bool) -> tuple[int | None, int, int]:
        """Return the grid axis that cuts an array axis (None: not cut), the tile's extent, and the whole extent."""
        tiles, extent = axis.tiles, axis.extent
        assert isinstance(tiles, int)
        assert isinstance(extent, int)
        if axis.hidden is not None:
            number = axis.hidden - self.skipped
            return (number if 0 <= number < len(self.grid) and tiles > 1 else None), extent, tiles * extent
        whole = extent if axis.visible else tiles
        if self.analysis is None or not self.cuts or not self.grid:
            return None, 0, whole
        place, tile = self.cuts[name] if is_write and name in self.cuts else self.joined(self.analysis, name)
        return (None if place is None else place + self.first), tile, whole

    def joined(self, analysis: AxisAnalysis, name: Axis) -> tuple[int | None, int]:
        own = analysis.find(name)
        members = [cut for axis, cut in self.cuts.items() if analysis.find(axis) == own]
        if len(members) != 1 or not analysis.splittable(name) or analysis.contracted(own):
            return None, 0
        return members[0]
