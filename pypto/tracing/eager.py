"""Eager mode: the body runs as plain Python on NumPy arrays, once per batch item, tile or block.

`print`, `breakpoint` and a debugger work; loops really iterate. Each operation is the operation table's NumPy
meaning, so that the results are those of the reference.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.base.errors import UserError
from pypto.ir.index import evaluate
from pypto.tracing.executor import EagerIndex, Executor
from pypto.tracing.storage import Memory, Scalar, Storage
from pypto.tracing.tiles import Tile
from pypto.tracing.trace import check_python, run_body
from pypto.tracing.views import ArrayView, ConstantView, ScalarView, View, ViewAxis

if TYPE_CHECKING:
    from pypto.meaning import Meaning
    from pypto.tile_function import TileFunction

Array = NDArray[Any]
Number = bool | int | float


def run(
    function: TileFunction,
    meaning: Meaning,
    arrays: Mapping[str, Array],
    scalars: Mapping[str, Number] | None = None,
) -> None:
    """Run `function` on `arrays` (by parameter name, changed in place), as `meaning` says.

    `scalars` gives the scalar parameters' numbers. Raises UserError for the same mistakes as tracing.
    """
    check_python(function)
    blocks = range(evaluate(meaning.block.extent, {})) if meaning.block is not None else (None,)
    for item in itertools.product(*(range(evaluate(extent, {})) for extent in meaning.hidden)):
        for block in blocks:
            _run_item(function, meaning.views, arrays, scalars or {}, item, block)


def _run_item(
    function: TileFunction,
    views: tuple[View, ...],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, Number],
    item: tuple[int, ...],
    block: int | None,
) -> None:
    seen = {
        view.name: _array(view, arrays, scalars, item, block) for view in views if not isinstance(view, ConstantView)
    }
    tracer = Executor({name: array for name, array in seen.items() if array is not None})
    tracer.block = None if block is None else EagerIndex(block)
    arguments: dict[str, Any] = {}
    for view in views:
        arguments[view.name] = (
            view.value if isinstance(view, ConstantView) else Tile(tracer, _storage(tracer, view, seen))
        )
    if block is not None and "tile_id" in (parameter.name for parameter in function.parameters):
        arguments["tile_id"] = EagerIndex(block)
    run_body(tracer, function, arguments)
    tracer.root.close()


def _array(
    view: View, arrays: Mapping[str, Array], scalars: Mapping[str, Number], item: tuple[int, ...], block: int | None
) -> Array | None:
    """Return the part of an argument that one run sees, its visible axes only."""
    if isinstance(view, ScalarView):
        given = scalars[view.name] if view.name in scalars else arrays[view.name]
        return np.asarray(given).astype(view.dtype.numpy)
    if isinstance(view, ArrayView):
        return arrays[view.name][(*_selections(view.axes, item, block), ...)]
    raise UserError("fresh-read", None, parameter=view.name)


def _selections(axes: tuple[ViewAxis, ...], item: tuple[int, ...], block: int | None) -> Iterator[Any]:
    for axis in axes:
        if axis.hidden is not None:
            number = item[axis.hidden] if axis.tiles != 1 else 0
            extent = evaluate(axis.extent, {})
            yield slice(number * extent, (number + 1) * extent) if axis.visible else number
        else:
            yield slice(None) if axis.visible else block


def _storage(tracer: Executor, view: View, seen: Mapping[str, Array | None]) -> Storage:
    if isinstance(view, ScalarView):
        return Scalar(tracer, view.name, view.dtype)
    array = seen[view.name]
    assert array is not None
    assert isinstance(view, ArrayView)
    axes = tuple(ViewAxis(None, 1, int(extent)) for extent in array.shape)
    return Memory(tracer, ArrayView(view.name, view.dtype, axes))
