"""What a decorator means for given arguments: the whole arguments at once, each tile alone, or explicit blocks.

The rules are in `docs/language.md`. They look at decorators and
arguments only, never at the schedule. `decide` traces the body once as WHOLE, finds the axes that the body looks
across (bound axes), and falls back to TILES where a bound axis of the anchor is cut and the decorator's numbers fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pypto.ir.axes import Axis, AxisAnalysis, Binding, analyse
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.index import Extent, Symbol
from pypto.ir.nodes import GridAxis, Kernel, Load, Role, Store, walk, whole
from pypto.tile_function import Shape, TileFunction
from pypto.tracing.trace import trace
from pypto.tracing.views import ArrayView, FreshView, View, ViewAxis

Kind = Literal["whole", "tiles", "blocks"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """How to trace a body: `views` in parameter order, `hidden` leading axes, and the grid of an explicit SPMD kernel.

    `batch` counts the hidden axes that are batch axes. `notes` are remarks for `explain`. `traced` is the kernel when
    deciding already traced it with these views.
    """

    kind: Kind
    views: tuple[View, ...]
    hidden: tuple[Extent, ...] = ()
    batch: int = 0
    block: GridAxis | None = None
    notes: tuple[str, ...] = ()
    traced: Kernel | None = None


def decide(function: TileFunction, arguments: Sequence[View]) -> Meaning:
    """Return what `function` means for `arguments` (one view per parameter, array axes whole and visible).

    Raises UserError: ``block-count``, ``batch-output``, ``batch-extent``, ``no-anchor``, ``cut-bound-axis``, ``tile-
    view``, ``tile-output``, ``tile-double`` or whatever tracing the body raises.
    """
    arguments = tuple(arguments)
    if function.uses_block_id:
        return _blocks(function, arguments)
    if function.shape is None:
        return Meaning("whole", arguments)
    batched = _strip_batch(function, function.shape, arguments)
    return _whole_or_tiles(function, function.shape, arguments, batched)


def _blocks(function: TileFunction, arguments: tuple[View, ...]) -> Meaning:
    if function.tile_num is None:
        raise UserError("block-count", function.location, function=function.name)
    block = GridAxis(Symbol("block"), function.tile_num)
    items = tuple(_item(function, view) if isinstance(view, ArrayView) else view for view in arguments)
    names = [item.name for item, view in zip(items, arguments, strict=True) if item != view]
    if names:
        try:
            kernel = trace(function, items, (), block)
        except UserError:
            names = []
        else:
            if _used_whole(kernel, names):
                notes = tuple(f"each block sees its own item of {name}" for name in names)
                return Meaning("blocks", items, block=block, notes=notes, traced=kernel)
    return Meaning("blocks", arguments, block=block)


def _item(function: TileFunction, view: ArrayView) -> ArrayView:
    """Return `view` with its first axis indexed by the block id when its shape is (tile_num, *shape)."""
    if function.shape is None or view.visible_shape != (function.tile_num, *function.shape):
        return view
    first = ViewAxis(None, view.axes[0].extent, 1, visible=False)
    return ArrayView(view.name, view.dtype, (first, *view.axes[1:]))


def _used_whole(kernel: Kernel, names: Sequence[str]) -> bool:
    """Return whether every access to the arrays `names` covers the block's whole item."""
    for statement in walk(kernel.body):
        if not isinstance(statement, (Load, Store)):
            continue
        name = statement.source if isinstance(statement, Load) else statement.target
        if name in names and statement.region[1:] != whole(kernel.parameter(name).type)[1:]:
            return False
    return True


# -- batch


def _arrays(arguments: Sequence[View]) -> list[ArrayView]:
    return [view for view in arguments if isinstance(view, ArrayView)]


def _strip_batch(function: TileFunction, shape: Shape, arguments: tuple[View, ...]) -> Meaning:
    """Hide the leading axes beyond the decorator's rank: of every output, and of inputs that have more axes than it."""
    arrays = _arrays(arguments)
    batch = max((len(view.axes) - len(shape) for view in arrays), default=0)
    if batch <= 0:
        return Meaning("whole", arguments)
    hidden = _batch_extents(function, arrays, batch, len(shape))
    views = tuple(
        _batched(function, view, batch, len(shape)) if isinstance(view, ArrayView) else view for view in arguments
    )
    return Meaning("whole", views, hidden, batch)


def _stripped(function: TileFunction, view: ArrayView, batch: int, rank: int) -> int:
    """Return how many leading axes of an argument are batch axes."""
    if view.name not in function.outputs:
        return max(0, len(view.axes) - rank)
    if len(view.axes) < batch:
        raise UserError(
            "batch-output", function.location, parameter=view.name, rank=len(view.axes), batch=batch, shape_rank=rank
        )
    return batch


def _batch_extents(function: TileFunction, arrays: Sequence[ArrayView], batch: int, rank: int) -> tuple[Extent, ...]:
    extents: list[Extent] = [1] * batch
    for view in arrays:
        count = _stripped(function, view, batch, rank)
        for position in range(count):
            axis = batch - count + position
            extent = view.axes[position].extent
            if extents[axis] not in (1, extent) and extent != 1:
                raise UserError(
                    "batch-extent", function.location, parameter=view.name, axis=position, extent=extent,
                    expected=extents[axis], rank=rank,
                )  # fmt: skip
            extents[axis] = extent if extents[axis] == 1 else extents[axis]
    return tuple(extents)


def _batched(function: TileFunction, view: ArrayView, batch: int, rank: int) -> ArrayView:
    count = _stripped(function, view, batch, rank)
    axes = [
        ViewAxis(batch - count + position, axis.extent, 1, visible=False) if position < count else axis
        for position, axis in enumerate(view.axes)
    ]
    return ArrayView(view.name, view.dtype, tuple(axes))


# -- WHOLE or TILES


@dataclass(frozen=True, slots=True)
class _Anchor:
    """The argument whose visible axes the decorator's shape cuts."""

    view: ArrayView
    extents: tuple[Extent, ...]
    tile: tuple[Extent, ...]

    @property
    def cut(self) -> tuple[int, ...]:
        return tuple(axis for axis, extent in enumerate(self.extents) if self.tile[axis] != extent)

    def count(self, axis: int) -> int:
        """Return the number of full tiles along `axis`, 0 when the last one is not full."""
        extent, tile = self.extents[axis], self.tile[axis]
        assert isinstance(extent, int)
        assert isinstance(tile, int)
        return extent // tile if extent % tile == 0 else 0

    def arithmetic(self) -> str:
        return " x ".join(f"{self.extents[axis]}/{self.tile[axis]}" for axis in self.cut)


def _whole_or_tiles(function: TileFunction, shape: Shape, arguments: tuple[View, ...], plain: Meaning) -> Meaning:
    anchor = _find_anchor(function, shape, plain)
    if anchor is None:
        return plain
    failure: UserError | None = None
    kernel: Kernel | None = None
    try:
        kernel = trace(function, plain.views, plain.hidden)
    except UserError as error:
        failure = error
    if kernel is not None:
        complete = function.writing(item.name for item in kernel.parameters if item.role is not Role.IN)
        if complete is not function:  # the anchor is an output, so look again
            return decide(complete, arguments)
    analysis = analyse(kernel) if kernel is not None else None
    bound = [(axis, found) for axis in anchor.cut if (found := _binding(analysis, anchor, axis)) is not None]
    if kernel is not None and not bound:
        notes = (*plain.notes, *_larger_tile(function, shape, anchor))
        return Meaning("whole", plain.views, plain.hidden, plain.batch, notes=notes, traced=kernel)
    if _tiles_fit(function, anchor):
        return _tiles(function, plain, anchor, analysis)
    if failure is not None and (not anchor.cut or function.tile_num is None):
        raise failure
    raise _cut_error(function, anchor, bound, failure)


def _larger_tile(function: TileFunction, shape: Shape, anchor: _Anchor) -> tuple[str, ...]:
    """Return a remark where a number of tiles is given, so that somebody may expect some, and the anchor is not cut."""
    if function.tile_num in (None, 1) or anchor.cut:
        return ()
    sizes = zip(shape, anchor.extents, strict=True)
    larger = [axis for axis, (size, extent) in enumerate(sizes) if _is_larger(size, extent)]
    if not larger:
        return ()
    axis, name = larger[0], anchor.view.name
    extents = f"{name} axis {axis} has {anchor.extents[axis]} elements, less than a tile's {shape[axis]}"
    effect = f"the body applies to the whole arguments, and tile_num={function.tile_num} is only schedule"
    return (f"{function.name}: {extents}: {effect}",)


def _is_larger(size: Extent | None, extent: Extent) -> bool:
    return isinstance(size, int) and isinstance(extent, int) and size > extent


def _find_anchor(function: TileFunction, shape: Shape, plain: Meaning) -> _Anchor | None:
    """Return the largest output of the decorator's rank (ties: the last), else the largest such input."""
    candidates = [view for view in _arrays(plain.views) if len(view.visible_shape) == len(shape)]
    outputs = [view for view in candidates if view.name in function.outputs]
    chosen: ArrayView | None = None
    for view in outputs or candidates:
        if chosen is None or _size(view) > _size(chosen) or (outputs and _size(view) == _size(chosen)):
            chosen = view
    if chosen is None:
        if _arrays(plain.views) and not any(isinstance(view, FreshView) for view in plain.views):
            raise UserError("no-anchor", function.location, function=function.name, shape=shape, rank=len(shape))
        return None
    extents = chosen.visible_shape
    tile = tuple(
        extent if size is None or not isinstance(extent, int) or size >= extent else size
        for size, extent in zip(shape, extents, strict=True)
    )
    return _Anchor(chosen, extents, tile)


def _size(view: ArrayView) -> int:
    return math.prod(axis.extent for axis in view.axes if isinstance(axis.extent, int))


def _array_position(view: ArrayView, visible: int) -> int:
    """Return the array axis that is visible axis number `visible`."""
    positions = [position for position, axis in enumerate(view.axes) if axis.visible]
    return positions[visible]


def _binding(analysis: AxisAnalysis | None, anchor: _Anchor, axis: int) -> Binding | None:
    if analysis is None:
        return None
    return analysis.binding(Axis(anchor.view.name, _array_position(anchor.view, axis)))


def _tiles_fit(function: TileFunction, anchor: _Anchor) -> bool:
    if function.tile_num is None or not anchor.cut:
        return False
    return math.prod(anchor.count(axis) for axis in anchor.cut) == function.tile_num


def _cut_error(
    function: TileFunction, anchor: _Anchor, bound: list[tuple[int, Binding]], failure: UserError | None
) -> UserError:
    counts = [anchor.count(axis) for axis in anchor.cut]
    fitting = math.prod(counts)
    axis = bound[0][0] if bound else anchor.cut[0]
    where: Location = bound[0][1].location if bound else (failure.location if failure else None) or function.location
    because = f"{bound[0][1].operation} works across it" if bound else "the body does not fit the whole arguments"
    whole = tuple(None if position in anchor.cut else size for position, size in enumerate(function.shape or ()))
    advice = f"tile_num={fitting}" if fitting else "extents that the tile divides"
    return UserError(
        "cut-bound-axis", where, axis=axis, parameter=anchor.view.name, extent=anchor.extents[axis],
        tile=anchor.tile[axis], because=because, arithmetic=anchor.arithmetic(), tile_num=function.tile_num,
        advice=advice, whole=whole,
    )  # fmt: skip


# -- TILES: how each argument is cut


def _tiles(function: TileFunction, plain: Meaning, anchor: _Anchor, analysis: AxisAnalysis | None) -> Meaning:
    hidden_of = {axis: len(plain.hidden) + position for position, axis in enumerate(anchor.cut)}
    hidden = (*plain.hidden, *(anchor.count(axis) for axis in anchor.cut))
    notes: list[str] = []
    views = tuple(
        _cut(function, view, anchor, hidden_of, analysis, notes) if isinstance(view, ArrayView) else view
        for view in plain.views
    )
    return Meaning("tiles", views, hidden, plain.batch, notes=(*plain.notes, *notes))


def _cut(
    function: TileFunction,
    view: ArrayView,
    anchor: _Anchor,
    hidden_of: dict[int, int],
    analysis: AxisAnalysis | None,
    notes: list[str],
) -> ArrayView:
    axes, used = list(view.axes), set[int]()
    visible = [position for position, axis in enumerate(axes) if axis.visible]
    for number, position in enumerate(visible):
        target = _anchor_axis(function, view, position, number - len(visible), anchor, analysis)
        if target in used:
            raise UserError("tile-double", function.location, parameter=view.name, axis=number, anchor_axis=target)
        if target is None or target not in hidden_of:
            continue
        cut = _cut_axis(function, view, number, anchor, target, hidden_of[target], notes)
        if cut is not None:
            axes[position] = cut
            used.add(target)
    missing = [axis for axis in hidden_of if axis not in used]
    if view.name in function.outputs and missing:
        raise UserError(
            "tile-output", function.location, parameter=view.name, shape=view.visible_shape, axis=missing[0],
            count=anchor.count(missing[0]),
        )  # fmt: skip
    return ArrayView(view.name, view.dtype, tuple(axes))


def _anchor_axis(
    function: TileFunction,
    view: ArrayView,
    position: int,
    from_right: int,
    anchor: _Anchor,
    analysis: AxisAnalysis | None,
) -> int | None:
    """Return the anchor axis that an argument's axis goes with: the one it is joined to, else the one aligned
    from the right.
    """
    if analysis is not None:
        own = analysis.find(Axis(view.name, position))
        joined = [
            axis
            for axis in range(len(anchor.extents))
            if analysis.find(Axis(anchor.view.name, _array_position(anchor.view, axis))) == own
        ]
        if len(joined) > 1:
            raise UserError("tile-double", function.location, parameter=view.name, axis=position, anchor_axis=joined)
        if joined:
            return joined[0]
        if analysis.contracted(own):
            return None
    aligned = len(anchor.extents) + from_right
    return aligned if aligned >= 0 else None


def _cut_axis(
    function: TileFunction,
    view: ArrayView,
    number: int,
    anchor: _Anchor,
    target: int,
    hidden: int,
    notes: list[str],
) -> ViewAxis | None:
    """Return how one axis is seen: cut like the anchor's, one element per tile, or None for shared."""
    extent, tile, count = view.visible_shape[number], anchor.tile[target], anchor.count(target)
    if extent == anchor.extents[target]:
        return ViewAxis(hidden, count, tile)
    if extent == tile or extent == 1:
        if extent == tile == count and view.name not in function.outputs:
            notes.append(f"{view.name} axis {number}: extent {extent} is both the tile's and the tile count; shared")
        if extent == tile == count and view.name in function.outputs:
            return ViewAxis(hidden, count, 1)
        return None
    if extent == count:
        return ViewAxis(hidden, count, 1)
    raise UserError(
        "tile-view", function.location, parameter=view.name, axis=number, extent=extent, whole=anchor.extents[target],
        tile=tile, count=count,
    )  # fmt: skip
