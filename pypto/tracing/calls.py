"""Calls of tile functions inside a tile function: expressions with fresh outputs, or writing into given tiles."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pypto.ir.base.errors import UserError, nearest
from pypto.ir.dtypes import DType
from pypto.ir.nodes import GridAxis, Range, Value
from pypto.tracing.context import Tracer, active
from pypto.tracing.elementwise import normal
from pypto.tracing.indexing import Picked
from pypto.tracing.indices import IndexValue
from pypto.tracing.locations import Locator, user_frame
from pypto.tracing.loops import Loop, LoopRun
from pypto.tracing.storage import Cell, Fresh, Memory, Storage, Viewed, unwritten
from pypto.tracing.tiles import Outputs, Tile
from pypto.tracing.trace import array_shape, check_python, fresh_view, run_body
from pypto.tracing.values import Ranges, Shape, rounded
from pypto.tracing.views import ArrayView, ConstantView, FreshView, ScalarView, View, ViewAxis

if TYPE_CHECKING:
    from pypto.meaning import Meaning
    from pypto.tile_function import TileFunction

Arguments = dict[str, Any]


def call(function: TileFunction, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Tile | None:
    """Apply a tile function inside another one.

    With all parameters it writes into the given tiles and returns None. With the parameters that it does not write
    (and those it reads before writing) it is an expression: its value is the last output, the others are in
    ``.outputs``. Raises UserError ``call-outside``, ``call-arguments``, ``call-missing``, ``call-keyword``,
    ``call-output``, ``call-recursion`` or what the body raises.
    """
    tracer = active()
    if tracer is None:
        frame = user_frame()
        location = Locator().of_frame(frame) if frame is not None else None
        raise UserError("call-outside", location, function=function.name)
    check_python(function)
    tracer.note("call", function.name)
    given = _write_into(function, arguments, keywords)
    if given is None:
        given = _expression(tracer, function, arguments, keywords)
    for name in function.outputs:
        if name in given and not isinstance(given[name], Tile):
            raise tracer.error("call-output", function=function.name, parameter=name, value=repr(given[name]))
    try:
        outputs = _run(tracer, function, given)
    except RecursionError:
        raise tracer.error("call-recursion", function=function.name) from None
    if not outputs:
        return None
    last = list(outputs.values())[-1]
    last.outputs = Outputs(outputs)
    return last


# -- which argument goes where


def _parameters(function: TileFunction) -> list[inspect.Parameter]:
    return [item for item in function.parameters if item.name != "tile_id" or not function.uses_block_id]


def _write_into(function: TileFunction, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Arguments | None:
    """Return the arguments by name when they name every output with a tile, else None."""
    names = [item.name for item in _parameters(function)]
    if len(arguments) > len(names) or any(name not in names for name in keywords):
        return None
    bound = {**dict(zip(names, arguments, strict=False)), **keywords}
    if len(bound) != len(arguments) + len(keywords):
        return None
    if not all(isinstance(bound.get(name), Tile) for name in function.outputs):
        return None
    for item in _parameters(function):
        if item.name not in bound:
            if item.default is inspect.Parameter.empty:
                return None
            bound[item.name] = item.default
    return bound


def _expression(
    tracer: Tracer, function: TileFunction, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Arguments:
    """Return the arguments by name, outputs left out except those that the body reads before it writes them."""
    named = [name for name in function.outputs if name in keywords]
    free = [name for name in function.outputs if name not in named]
    inputs = len(_parameters(function)) - len(function.outputs)
    extra = max(0, len(arguments) + len([name for name in keywords if name not in named]) - inputs)
    if extra > len(free):
        raise _wrong_number(tracer, function, len(arguments) + len(keywords))
    if not extra:
        return _bind(tracer, function, tuple(named), arguments, keywords)
    for choice in itertools.combinations(free, extra):
        bound = _bind(tracer, function, (*named, *choice), arguments, keywords)
        if _fits(tracer, function, bound) and all(_reads_first(tracer, function, bound, name) for name in choice):
            return bound
    raise _wrong_number(tracer, function, len(arguments) + len(keywords))


def _reads_first(tracer: Tracer, function: TileFunction, bound: Arguments, output: str) -> bool:
    """Return whether the body needs what `output` holds on entry: it does not run without."""
    return not _fits(tracer, function, {name: value for name, value in bound.items() if name != output})


def _wrong_number(tracer: Tracer, function: TileFunction, given: int) -> UserError:
    inputs = [item.name for item in _parameters(function) if item.name not in function.outputs]
    return tracer.error(
        "call-arguments", function=function.name, given=given, inputs=", ".join(inputs),
        outputs=", ".join(function.outputs) or "none",
    )  # fmt: skip


def _bind(
    tracer: Tracer,
    function: TileFunction,
    in_out: tuple[str, ...],
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
) -> Arguments:
    taken = [item for item in _parameters(function) if item.name not in function.outputs or item.name in in_out]
    names = [item.name for item in taken]
    positional = [item.name for item in taken if item.kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(arguments) > len(positional):
        raise _wrong_number(tracer, function, len(arguments) + len(keywords))
    bound = dict(zip(positional, arguments, strict=False))
    for name, value in keywords.items():
        if name not in names or name in bound:
            raise tracer.error("call-keyword", function=function.name, keyword=name, hint=nearest(name, names))
        bound[name] = value
    for item in taken:
        if item.name not in bound:
            if item.default is inspect.Parameter.empty:
                raise tracer.error("call-missing", function=function.name, parameter=item.name)
            bound[item.name] = item.default
    return bound


def _fits(tracer: Tracer, function: TileFunction, bound: Arguments) -> bool:
    """Return whether the body runs with these outputs given and tiles, undoing everything."""
    if not all(isinstance(bound[name], Tile) for name in function.outputs if name in bound):
        return False
    outer = tracer.begin_trial()
    tracer.open_scope("trial")
    keys, events = tracer.keys, tracer.events
    tracer.events = None
    try:
        _run(tracer, function, bound)
    except UserError as error:
        if error.name not in ("fresh-read", "fresh-partial"):
            raise
        return False
    finally:
        tracer.close_scope()
        tracer.end_trial(outer)
        tracer.keys, tracer.events = keys, events
    return True


# -- running the body


class Rounding(Storage):
    """A named output of a called tile function: f16 and bf16 values round when they are written."""

    __slots__ = ("parent",)

    def __init__(self, parent: Tile) -> None:
        self.parent = parent

    @property
    def birth(self) -> int:  # type: ignore[override]  # as old as what it shows
        return self.parent.storage.birth

    @property
    def dtype(self) -> DType:
        return self.parent.dtype_

    @property
    def shape(self) -> Shape:
        return self.parent.extents

    def _part(self, ranges: Ranges | None) -> Tile:
        if ranges is None:
            return self.parent
        return self.parent._view([Picked(axis, *item) for axis, item in enumerate(ranges)])

    def read(self, tracer: Tracer, ranges: Ranges | None) -> Value:
        return self._part(ranges).read()

    def write(self, tracer: Tracer, ranges: Ranges | None, value: Value) -> None:
        self._part(ranges).write(rounded(tracer, value, self.dtype) if self.dtype.is_narrow_float else value)


class Recut(Viewed):
    """A tile of the caller as the called body sees it: with hidden axes of its own, or one item per block."""

    __slots__ = ("hidden", "parent", "rounds")

    def __init__(self, tracer: Tracer, parent: Tile, view: ArrayView, rounds: bool) -> None:
        super().__init__(tracer, view, len(tracer.hidden))
        self.parent, self.hidden, self.rounds = parent, tracer.hidden, rounds
        self.birth = parent.storage.birth

    def _part(self, region: tuple[Range, ...]) -> Tile:
        picked = [Picked(axis, item.offset, item.extent, item.step) for axis, item in enumerate(region)]
        return self.parent._view(picked)

    def fetch(self, tracer: Tracer, region: tuple[Range, ...]) -> Value:
        from pypto.tracing.values import full

        with tracer.hidden_axes(self.hidden):
            return full(tracer, self._part(region).read(), len(region))

    def put(self, tracer: Tracer, region: tuple[Range, ...], value: Value) -> Value:
        with tracer.hidden_axes(self.hidden):
            if self.rounds and self._dtype.is_narrow_float:
                value = rounded(tracer, value, self._dtype)
            self._part(region).write(value)
            return value


@dataclass(slots=True)
class _Output:
    """A fresh output: the caller's tile behind it once it is known."""

    storage: Fresh
    tile: Tile | None = None


def _run(tracer: Tracer, function: TileFunction, given: Arguments) -> dict[str, Tile]:
    """Run the body with `given` arguments; returns the fresh outputs by name."""
    views = tuple(_view(tracer, item, given) for item in _parameters(function))
    meaning = _meaning(function, views)
    memories = len(tracer.memories)
    try:
        if meaning is not None and meaning.block is not None:
            return _run_blocks(tracer, function, given, meaning)
        return _run_once(tracer, function, given, views, meaning)
    finally:
        added = tracer.memories[memories:]
        tracer.memories[memories:] = [memory for memory in added if not isinstance(memory, Recut)]


def _view(tracer: Tracer, parameter: inspect.Parameter, given: Arguments) -> View:
    name = parameter.name
    if name not in given:
        return FreshView(name)
    value = given[name]
    if isinstance(value, Tile):
        return whole_view(name, value.dtype_, value.extents)
    if isinstance(value, (bool, int, float, IndexValue)):
        normal_value = normal(tracer, value)
        return ScalarView(name, _index_type()) if isinstance(normal_value, IndexValue) else ConstantView(name, value)
    return ConstantView(name, value)


def _index_type() -> DType:
    from pypto.ir.dtypes import I64

    return I64


def whole_view(name: str, dtype: DType, shape: Shape) -> ArrayView:
    """Return the view of a whole array of `shape`."""
    return ArrayView(name, dtype, tuple(ViewAxis(None, 1, extent) for extent in shape))


def _meaning(function: TileFunction, views: tuple[View, ...]) -> Meaning | None:
    """Return what the decorator means for these arguments; None where it is simply the whole arguments."""
    if function.shape is None and not function.uses_block_id:
        return None
    from pypto.meaning import decide

    return decide(function, views)


def _run_once(
    tracer: Tracer, function: TileFunction, given: Arguments, views: tuple[View, ...], meaning: Meaning | None
) -> dict[str, Tile]:
    hidden = meaning.hidden if meaning is not None else ()
    seen = meaning.views if meaning is not None else views
    outputs: dict[str, _Output] = {}
    arguments: Arguments = {}
    for view in seen:
        if view.name not in given:
            outputs[view.name] = _fresh(tracer, view.name, hidden, seen)
        else:
            arguments[view.name] = _seen(tracer, function, given[view.name], view, hidden)
    with tracer.hidden_axes((*tracer.hidden, *hidden)):
        for name, output in outputs.items():
            arguments[name] = Tile(tracer, output.storage)
        for name, value in arguments.items():
            if isinstance(value, Storage):
                arguments[name] = Tile(tracer, value)
        run_body(tracer, function, arguments)
    return {name: _written(tracer, function, output) for name, output in outputs.items()}


def _seen(tracer: Tracer, function: TileFunction, value: Any, view: View, hidden: Shape) -> Any:
    """Return what the body's parameter is bound to: the caller's tile itself where nothing differs."""
    if not isinstance(value, Tile) or not isinstance(view, ArrayView):
        return value
    is_output = view.name in function.outputs
    if hidden or any(not axis.visible for axis in view.axes):
        return Recut(tracer, value, view, rounds=is_output)
    if is_output and value.dtype_.is_narrow_float and not isinstance(value.storage, Memory):
        return Rounding(value)
    return value


def _fresh(tracer: Tracer, name: str, hidden: Shape, views: tuple[View, ...]) -> _Output:
    outer = tracer.hidden

    def make(dtype: DType, shape: Shape) -> Storage:
        view = fresh_view(name, dtype, shape, hidden, views)
        with tracer.hidden_axes(outer):
            cell = Cell(tracer, dtype, array_shape(view), None, rounds=True)
            output.tile = Tile(tracer, cell)
            return Recut(tracer, output.tile, view, rounds=False) if hidden else cell

    output = _Output(Fresh(tracer, name, make))
    return output


def _written(tracer: Tracer, function: TileFunction, output: _Output) -> Tile:
    if output.tile is None or output.storage.target is None:
        raise tracer.error("fresh-unwritten", function=function.name, parameter=output.storage.name)
    return Tile(tracer, output.tile.storage)


# -- explicit SPMD: a loop over the blocks


def _run_blocks(tracer: Tracer, function: TileFunction, given: Arguments, meaning: Meaning) -> dict[str, Tile]:
    from pypto.tracing.executor import EagerIndex

    assert meaning.block is not None
    count = meaning.block.extent
    before = tracer.block
    outputs = _allocate(tracer, function, given, meaning)
    arguments = {**given, **outputs}
    items = {name: _item_view(tile, name) for name, tile in outputs.items()}
    views = tuple(items.get(view.name, view) for view in meaning.views)
    try:
        if tracer.eager:
            assert isinstance(count, int)
            for number in range(count):
                _run_block(tracer, function, arguments, views, EagerIndex(number))
        else:
            run = LoopRun(Loop(tracer, 0, count, 1), (), 0)
            for index in run:
                _run_block(tracer, function, arguments, views, GridAxis(run.symbol, count), index)
    finally:
        tracer.block = before
    return outputs


def _run_block(
    tracer: Tracer,
    function: TileFunction,
    given: Arguments,
    views: tuple[View, ...],
    block: GridAxis | int,
    index: IndexValue | None = None,
) -> None:
    tracer.block = block
    arguments: Arguments = {}
    for view in views:
        value = _seen(tracer, function, given[view.name], view, ())
        arguments[view.name] = Tile(tracer, value) if isinstance(value, Storage) else value
    if any(item.name == "tile_id" for item in function.parameters):
        arguments["tile_id"] = index if index is not None else block
    run_body(tracer, function, arguments)


def _item_view(tile: Tile, name: str) -> ArrayView:
    """Return the view of an array of items, one per block."""
    first = ViewAxis(None, tile.extents[0], 1, visible=False)
    return ArrayView(name, tile.dtype_, (first, *(ViewAxis(None, 1, extent) for extent in tile.extents[1:])))


def _allocate(tracer: Tracer, function: TileFunction, given: Arguments, meaning: Meaning) -> dict[str, Tile]:
    """Return a tile of (blocks, *shape) for each fresh output; the body runs once, undone, to learn their shapes."""
    names = [view.name for view in meaning.views if view.name not in given]
    if not names:
        return {}
    found = _learn(tracer, function, given, meaning, names)
    assert meaning.block is not None
    outputs = {}
    for name, (dtype, shape) in found.items():
        cell = unwritten(tracer, dtype, (meaning.block.extent, *shape))
        cell.missing, cell.rounds = None, True
        cell.value = None
        cell.current(tracer)
        outputs[name] = Tile(tracer, cell)
    return outputs


def _learn(
    tracer: Tracer, function: TileFunction, given: Arguments, meaning: Meaning, names: list[str]
) -> dict[str, tuple[DType, Shape]]:
    from pypto.meaning import decide

    assert meaning.block is not None
    if not tracer.eager:
        return _learn_by_trial(tracer, function, given, meaning, names)
    views = tuple(_view(tracer, item, given) for item in _parameters(function))
    kernel = (decide(function, views).traced) or _traced(function, views, meaning)
    return {name: (kernel.parameter(name).type.dtype, kernel.parameter(name).type.shape) for name in names}


def _traced(function: TileFunction, views: tuple[View, ...], meaning: Meaning) -> Any:
    from pypto.tracing.trace import trace

    return trace(function, views, (), meaning.block)


def _learn_by_trial(
    tracer: Tracer, function: TileFunction, given: Arguments, meaning: Meaning, names: list[str]
) -> dict[str, tuple[DType, Shape]]:
    outputs = {name: _fresh(tracer, name, (), ()) for name in names}
    outer = tracer.begin_trial()
    tracer.open_scope("trial")
    keys, events, before = tracer.keys, tracer.events, tracer.block
    tracer.events = None
    block = meaning.block
    assert block is not None
    tracer.domains[block.symbol] = (0, block.extent, 1)
    try:
        fresh = {name: Tile(tracer, output.storage) for name, output in outputs.items()}
        index = IndexValue(tracer, block.symbol)
        _run_block(tracer, function, {**given, **fresh}, meaning.views, block, index)
        for output in outputs.values():
            _written(tracer, function, output)
        return {name: (output.storage.dtype, output.storage.shape) for name, output in outputs.items()}
    finally:
        tracer.close_scope()
        tracer.end_trial(outer)
        tracer.keys, tracer.events, tracer.block = keys, events, before
