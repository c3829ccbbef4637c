"""Tracing: from a tile function and views of its arguments to a kernel at level tile."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.dtypes import DType
from pypto.ir.index import Extent, Symbol, substitute, symbols
from pypto.ir.nodes import GridAxis, Guard, Kernel, Operation, Parameter, Role, Statement, Store, TileType, walk
from pypto.tracing.context import Specialise, Tracer, running
from pypto.tracing.indices import IndexValue
from pypto.tracing.numbering import numbered
from pypto.tracing.recorder import Recorder
from pypto.tracing.roles import live_values, prune, with_roles
from pypto.tracing.storage import Fresh, Memory, Scalar, Storage
from pypto.tracing.tiles import Tile
from pypto.tracing.views import ArrayView, ConstantView, FreshView, ScalarView, View, ViewAxis

if TYPE_CHECKING:
    from pypto.tile_function import TileFunction

_FORBIDDEN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def trace(
    function: TileFunction,
    views: tuple[View, ...],
    hidden: tuple[Extent, ...],
    block: GridAxis | None = None,
    name: str | None = None,
    hints: Mapping[Symbol, int] | None = None,
) -> Kernel:
    """Return the kernel that `function` means for arguments seen as `views` with leading `hidden` axes.

    `hints` are example values of symbolic extents: where the body looks at one as a number, the kernel is traced
    for that value and records a guard. Parameters get the role that the body gives them; those it never touches
    stay as IN. Raises UserError for every mistake in the body, at its place.
    """
    guards: dict[Symbol, int] = {}
    while True:
        try:
            kernel = _trace_once(function, _known(views, guards), _all_known(hidden, guards), block, hints)
        except Specialise as request:
            guards.update(request.values)
            continue
        found = tuple(Guard(symbol, value) for symbol, value in guards.items())
        return replace(kernel, name=name or function.name, guards=found)


def _all_known(extents: tuple[Extent, ...], guards: dict[Symbol, int]) -> tuple[Extent, ...]:
    return tuple(substitute(extent, guards) for extent in extents)


def _known(views: tuple[View, ...], guards: dict[Symbol, int]) -> tuple[View, ...]:
    """Return the views with the extents that guards fix as numbers."""
    if not guards:
        return views

    def axis(item: ViewAxis) -> ViewAxis:
        return replace(item, tiles=substitute(item.tiles, guards), extent=substitute(item.extent, guards))

    return tuple(
        replace(view, axes=tuple(map(axis, view.axes))) if isinstance(view, ArrayView) else view for view in views
    )


@dataclass(slots=True)
class _Run:
    """One run of a body: what its parameters are bound to."""

    tracer: Recorder
    location: Location
    arguments: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    tiles: dict[str, Tile] = field(default_factory=dict)


def _trace_once(
    function: TileFunction,
    views: tuple[View, ...],
    hidden: tuple[Extent, ...],
    block: GridAxis | None,
    hints: Mapping[Symbol, int] | None,
) -> Kernel:
    check_python(function)
    tracer = Recorder(hidden, hints)
    if block is not None:
        start_blocks(tracer, block)
    run = _Run(tracer, function.location)
    for view in views:
        _bind(run, view, views)
    if block is not None and "tile_id" in (item.name for item in function.parameters):
        run.arguments["tile_id"] = IndexValue(tracer, block.symbol)
    frame = run_body(tracer, function, run.arguments)
    body = tuple(tracer.root.statements)
    live = live_values(body)
    _check_outputs(run, function, frame, body, live)
    parameters = with_roles(_ordered(run, function), body, live)
    tracer.root.close()
    grid = (block,) if block is not None else ()
    taken = {symbol for item in parameters for extent in item.type.shape for symbol in symbols(extent)}
    taken |= {axis.symbol for axis in grid}
    body = numbered(prune(body, live), taken)
    return Kernel(function.name, parameters, grid, body, location=function.location)


def start_blocks(tracer: Tracer, block: GridAxis) -> None:
    """Give the body a block id."""
    tracer.block = block
    tracer.domains[block.symbol] = (0, block.extent, 1)
    if isinstance(block.extent, int):
        tracer.ranges[block.symbol] = (0, max(0, block.extent - 1))


def check_python(function: TileFunction) -> None:
    """Raise UserError ``generator-body`` for a body with ``yield`` or ``await``."""
    if function.python.__code__.co_flags & _FORBIDDEN:
        raise UserError("generator-body", function.location, function=function.name)


def run_body(tracer: Tracer, function: TileFunction, arguments: Mapping[str, Any]) -> FrameType | None:
    """Run a body on bound arguments; returns its frame after the end, when it made any tile.

    Raises UserError ``returned-value`` or ``loop-break`` (a loop left by ``return`` or a caught exception).
    """
    code = function.python.__code__
    tracer.watched.add(code)
    positional, keywords = [], {}
    for parameter in function.parameters:
        if parameter.name not in arguments:
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[parameter.name] = arguments[parameter.name]
        else:
            positional.append(arguments[parameter.name])
    loops = len(tracer.open_loops)
    with running(tracer):
        result = function.python(*positional, **keywords)
    if len(tracer.open_loops) != loops:
        raise UserError("loop-break", tracer.open_loops[-1].location)
    if result is not None:
        frame = tracer.frames.get(code)
        location = tracer.locator.of_frame(frame) if frame is not None else function.location
        raise UserError("returned-value", location, function=function.name, value=type(result).__name__)
    return tracer.frames.pop(code, None)


# -- parameters


def _bind(run: _Run, view: View, views: tuple[View, ...]) -> None:
    """Bind one parameter to what the body sees."""
    tracer, name = run.tracer, view.name
    if isinstance(view, ConstantView):
        run.arguments[name] = view.value
        return
    storage: Storage
    if isinstance(view, ArrayView):
        storage = _memory(run, view)
    elif isinstance(view, ScalarView):
        storage = Scalar(tracer, name, view.dtype)
        run.parameters[name] = Parameter(name, TileType(view.dtype, ()), Role.IN, scalar=True, location=run.location)
    else:
        storage = Fresh(tracer, name, _maker(run, view, views))
    run.arguments[name] = run.tiles[name] = Tile(tracer, storage)


def _memory(run: _Run, view: ArrayView) -> Memory:
    type_ = TileType(view.dtype, array_shape(view))
    run.parameters[view.name] = Parameter(view.name, type_, Role.IN, location=run.location)
    return Memory(run.tracer, view)


def array_shape(view: ArrayView) -> tuple[Extent, ...]:
    """Return the shape of the array that a view shows."""
    from pypto.ir.index import multiply

    return tuple(multiply(axis.tiles, axis.extent) for axis in view.axes)


def _maker(run: _Run, view: FreshView, views: tuple[View, ...]) -> Callable[[DType, tuple[Extent, ...]], Storage]:
    def make(dtype: DType, shape: tuple[Extent, ...]) -> Storage:
        return _memory(run, fresh_view(view.name, dtype, shape, run.tracer.hidden, views))

    return make


def fresh_view(
    name: str, dtype: DType, shape: tuple[Extent, ...], hidden: tuple[Extent, ...], views: tuple[View, ...]
) -> ArrayView:
    """Return the view of an output that takes its shape from the body: batch axes first, cut axes where the others
    have them.

    A hidden axis that cuts a visible axis of some argument cuts the axis of the output at the same place from the
    right.
    """
    places = _cut_places(views)
    axes = [ViewAxis(None, 1, extent) for extent in shape]
    leading: list[ViewAxis] = []
    for number, extent in enumerate(hidden):
        place = places.get(number)
        if place is None or len(shape) + place < 0:
            leading.append(ViewAxis(number, extent, 1, visible=False))
        else:
            axes[place] = ViewAxis(number, extent, shape[place])
    return ArrayView(name, dtype, (*leading, *axes))


def _cut_places(views: tuple[View, ...]) -> dict[int, int]:
    """Return for each hidden axis that cuts a visible one its place from the right (-1 is the last)."""
    places: dict[int, int] = {}
    arrays = sorted((view for view in views if isinstance(view, ArrayView)), key=lambda view: len(view.visible_shape))
    for view in arrays:
        visible = [axis for axis in view.axes if axis.visible]
        for position, axis in enumerate(visible):
            if axis.hidden is not None:
                places[axis.hidden] = position - len(visible)
    return places


def _ordered(run: _Run, function: TileFunction) -> tuple[Parameter, ...]:
    names = [item.name for item in function.parameters]
    return tuple(run.parameters[name] for name in names if name in run.parameters)


# -- what reaches an output


def _check_outputs(
    run: _Run, function: TileFunction, frame: FrameType | None, body: tuple[Statement, ...], live: set[str]
) -> None:
    """Raise UserError ``rebound-parameter`` or ``no-output``: something was computed that no output gets."""
    locals_ = dict(frame.f_locals) if frame is not None else {}
    places = {
        result.name: statement.location
        for statement in walk(body)
        if isinstance(statement, Operation)
        for result in statement.results
    }
    for name, tile in run.tiles.items():
        now = locals_.get(name, tile)
        if now is tile or not isinstance(now, Tile) or not _is_lost(now, live):
            continue
        place = places.get(getattr(getattr(now.storage, "value", None), "name", ""), function.location)
        raise UserError("rebound-parameter", place, parameter=name)
    if not any(isinstance(statement, Store) for statement in walk(body)):
        raise UserError("no-output", function.location, function=function.name)


def _is_lost(tile: Tile, live: set[str]) -> bool:
    """Return whether a tile is a computed value that no store needs."""
    value = getattr(tile.storage, "value", None)
    return value is not None and value.name not in live
