"""Statistics, positions of extremes, scans and sorting of tiles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pypto.ir.base.errors import nearest
from pypto.ir.dtypes import BOOL, F32, I64
from pypto.ir.nodes import Attribute, Value
from pypto.ir.operations.rules import show_shape
from pypto.tracing.context import Tracer
from pypto.tracing.elementwise import apply, convert, select
from pypto.tracing.extents import as_extent, specialise, valid_numbers
from pypto.tracing.shaping import a_tile, axes_of, reduce_tile, reshaped
from pypto.tracing.tiles import Tile
from pypto.tracing.values import cast, elements, full

SPELLINGS = {"dim": "axis", "axes": "axis", "keepdim": "keepdims", "ddof": "correction", "unbiased": "correction"}


class Ordered(NamedTuple):
    """Elements in order and the positions they come from."""

    values: Tile
    indices: Tile


def settled(tracer: Tracer, given: Mapping[str, Any], defaults: Mapping[str, Any], others: Mapping[str, Any]) -> Any:
    """Return the arguments `given` under pypto's names joined with `others` under NumPy's or torch's.

    Raises UserError ``function-keyword`` for a name that is none, ``both-keywords`` for one given twice.
    """
    found = dict(given)
    for keyword, value in others.items():
        own = SPELLINGS.get(keyword, keyword)
        if own not in given:
            valid = [*given, *(name for name, meant in SPELLINGS.items() if meant in given)]
            raise tracer.error("function-keyword", keyword=keyword, hint=nearest(keyword, valid))
        if found[own] is not defaults[own] and found[own] != defaults[own]:
            raise tracer.error("both-keywords", first=own, second=keyword)
        found[own] = int(bool(value)) if keyword == "unbiased" else value
    return found


# -- statistics


def real(tile: Tile) -> Tile:
    """Return a tile of a float dtype: integers become f32."""
    return tile if tile.dtype_.is_float else convert(tile, F32)


def count_along(tile: Tile, axes: tuple[int, ...]) -> int:
    """Return how many elements the axes have together; the kernel is specialised where that is not known."""
    extents = tuple(tile.extents[axis] for axis in axes)
    count = elements(extents)
    if count is None:
        specialise(tile.tracer, *extents)
    return count


def variance(tile: Tile, axis: Any, correction: Any, keepdims: bool) -> Tile:
    """Mean of the squared distances from the mean: two passes, so that an offset costs no digits."""
    tile = real(tile)
    axes = axes_of(tile.tracer, axis, tile.rank)
    if isinstance(correction, bool) or not isinstance(correction, (int, float)):
        raise tile.tracer.error("correction-kind", correction=correction)
    centred = tile - reduce_tile("mean", tile, axes, True)
    if correction == 0:
        return reduce_tile("mean", centred * centred, axes, keepdims)
    total = reduce_tile("sum", centred * centred, axes, keepdims)
    left = float(max(0.0, count_along(tile, axes) - correction))
    return total / left  # type: ignore[no-any-return]  # a tile


def log_sum_exp(tile: Tile, axis: Any, keepdims: bool) -> Tile:
    """The logarithm of the sum of exponentials, around the largest element; of nothing -inf."""
    tile = real(tile)
    axes = axes_of(tile.tracer, axis, tile.rank)
    if any(tile.extents[number] == 0 for number in axes):
        return apply("log", reduce_tile("sum", tile, axes, keepdims))
    largest = reduce_tile("max", tile, axes, True)
    shift = select(apply("eq", apply("abs", largest), math.inf), 0.0, largest)
    total = apply("log", reduce_tile("sum", apply("exp", tile - shift), axes, True)) + shift
    return total if keepdims else dropped(total, axes)


def dropped(tile: Tile, axes: tuple[int, ...]) -> Tile:
    """Return the tile without axes of extent 1."""
    return reshaped(tile, tuple(extent for axis, extent in enumerate(tile.extents) if axis not in axes))


def truth(tile: Tile) -> Tile:
    """Return which elements are not 0; NaN is not 0."""
    return tile if tile.dtype_ == BOOL else apply("ne", tile, 0)


# -- along one axis


def one_axis(tracer: Tracer, axis: Any, rank: int) -> int:
    """Return one axis as a number from 0; raises UserError ``axis-kind`` or ``axis-range``."""
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise tracer.error("axis-kind", axis=axis)
    if rank == 0:
        raise tracer.error("axis-range", axis=axis, rank=0, use=valid_numbers(0))
    return axes_of(tracer, axis, rank)[0]


def emit_along(tile: Tile, name: str, axis: int, value: Value | None = None, **attributes: Attribute) -> Value:
    """Emit an operation along a visible axis of a tile."""
    tracer = tile.tracer
    operand = full(tracer, tile.read() if value is None else value, tile.rank)
    return tracer.emit(name, (operand,), axis=len(tracer.hidden) + axis, **attributes)


def position(name: str, operand: Any, axis: Any, keepdims: Any, others: Mapping[str, Any]) -> Tile:
    """Where along an axis the extreme is, as i64; None looks through all elements in row-major order."""
    tile = a_tile(operand, f"pypto.{name}")
    tracer = tile.tracer
    defaults = {"axis": None, "keepdims": False}
    given = settled(tracer, {"axis": axis, "keepdims": keepdims}, defaults, others)
    axis, keepdims = given["axis"], given["keepdims"]
    rank = tile.rank
    if axis is None:
        tile, number = reshaped(tile, -1), 0
    else:
        number = one_axis(tracer, axis, rank)
    if tile.extents[number] == 0:
        raise tracer.error("empty-reduction", axis=number, shape=show_shape(tile.extents))
    tracer.note(name, tile.key, number, bool(keepdims))
    result = Tile.of_value(tracer, emit_along(tile, name, number), I64)
    if not keepdims:
        return dropped(result, (number,))
    return reshaped(result, (1,) * rank) if axis is None else result


def scan(name: str, operand: Any, axis: Any, others: Mapping[str, Any]) -> Tile:
    """Running sums or products along an axis; None takes all elements in row-major order."""
    tile = a_tile(operand, f"pypto.{name}")
    tracer = tile.tracer
    axis = settled(tracer, {"axis": axis}, {"axis": None}, others)["axis"]
    if axis is None:
        tile, axis = reshaped(tile, -1), 0
    number = one_axis(tracer, axis, tile.rank)
    tracer.note(name, tile.key, number)
    dtype = tile.dtype_ if tile.dtype_.is_float else I64
    value = cast(tracer, tile.read(), tile.read().dtype if dtype.is_float else I64)
    return Tile.of_value(tracer, emit_along(tile, name, number, value), dtype)


def order(tile: Tile, axis: Any, descending: Any, count: int | None = None) -> Tile:
    """The positions along an axis in the order of their elements; the first `count` of them."""
    tracer = tile.tracer
    number = one_axis(tracer, axis, tile.rank)
    extent = count_along(tile, (number,))
    wanted = extent if count is None else count
    if not 0 <= wanted <= extent:
        raise tracer.error("too-many-wanted", count=wanted, axis=number, extent=extent)
    tracer.note("argsort", tile.key, number, bool(descending), wanted)
    value = emit_along(tile, "argsort", number, count=wanted, descending=bool(descending))
    return Tile.of_value(tracer, value, I64)


def ordered(tile: Tile, axis: Any, descending: Any, count: int | None = None) -> Ordered:
    """Elements in order along an axis, with their positions."""
    from pypto.tracing.indexed import chosen

    positions = order(tile, axis, descending, count)
    number = one_axis(tile.tracer, axis, tile.rank)
    return Ordered(chosen(tile, positions, number, wrap=False), positions)


def whole_number(tracer: Tracer, what: str, number: Any) -> int:
    """Return a whole number of at least 0 given by the user; raises UserError ``count-kind``."""
    found = None if isinstance(number, Tile) else as_extent(number)
    if isinstance(found, int) and not isinstance(number, bool) and found >= 0:
        return found
    raise tracer.error("count-kind", what=what, number=number)
