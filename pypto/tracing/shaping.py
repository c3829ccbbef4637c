"""Reductions, reshapes, transposes, assembly and new tiles."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from pypto.ir.base.errors import nearest
from pypto.ir.dtypes import ALL, BOOL, F32, I64, DType, find
from pypto.ir.index import Extent, product
from pypto.ir.nodes import Value
from pypto.ir.operations.rules import show_shape
from pypto.tracing.context import Tracer, require
from pypto.tracing.derived import Clipped, Repeated, Reshaped
from pypto.tracing.elementwise import checked_number, convert, normal, result_type, tracer_of
from pypto.tracing.extents import as_extent, specialise, valid_numbers
from pypto.tracing.indices import as_index
from pypto.tracing.storage import unwritten
from pypto.tracing.tiles import Tile
from pypto.tracing.values import (
    Shape,
    cast,
    common_shape,
    elements,
    filled,
    full,
    join_hidden,
    reform,
    spread,
)


def a_tile(operand: Any, what: str) -> Tile:
    """Return `operand`, which must be a tile of the running body; raises UserError ``not-a-tile``."""
    tracer = tracer_of((operand,), what)
    operand = normal(tracer, operand)
    if not isinstance(operand, Tile):
        raise tracer.error("not-a-tile", function=what, kind=f"a {type(operand).__name__}")
    return operand


def a_real_tile(operand: Any, what: str) -> Tile:
    """Return `operand` as a tile of a float dtype: integers become f32. Raises UserError ``not-a-tile``."""
    tile = a_tile(operand, what)
    return tile if tile.dtype_.is_float else convert(tile, F32)


def one_name(tracer: Tracer, own: str, value: Any, default: Any, others: dict[str, Any], also: str) -> Any:
    """Return the value given under NumPy's name `own` or torch's `also`; raises UserError ``function-keyword``."""
    for name in others:
        if name not in (own, also):
            raise tracer.error("function-keyword", keyword=name, hint=nearest(name, (own, also)))
    if also in others:
        if value is not default:
            raise tracer.error("both-keywords", first=own, second=also)
        return others[also]
    return value


def axes_of(tracer: Tracer, axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that `axis` (None, a number or several) names, as numbers from 0, in order.

    Raises UserError ``axis-range``, ``axis-kind`` or ``axis-twice``.
    """
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    found: list[int] = []
    for item in given:
        try:
            number = operator.index(item)
        except TypeError:
            raise tracer.error("axis-kind", axis=item) from None
        if not -rank <= number < rank:
            raise tracer.error("axis-range", axis=number, rank=rank, use=valid_numbers(rank))
        found.append(number % rank)
    if len(set(found)) != len(found):
        raise tracer.error("axis-twice", axes=tuple(given))
    return tuple(sorted(found))


# -- reductions


def reduce_named(name: str, operand: Any, axis: Any, keepdims: Any, others: dict[str, Any]) -> Tile:
    """Reduce with NumPy's or torch's keyword names."""
    tile = a_tile(operand, f"pypto.{name}")
    tracer = tile.tracer
    known = {"dim": "axis", "axes": "axis", "keepdim": "keepdims"}
    for keyword, value in others.items():
        if keyword not in known:
            raise tracer.error("function-keyword", keyword=keyword, hint=nearest(keyword, ("axis", "dim", "keepdims")))
        if known[keyword] == "axis":
            if axis is not None:
                raise tracer.error("both-keywords", first="axis", second=keyword)
            axis = value
        else:
            keepdims = value
    return reduce_tile(name, tile, axes_of(tracer, axis, tile.rank), bool(keepdims))


_ACCUMULATED = {"sum": I64, "prod": I64, "mean": F32}


def reduce_tile(name: str, tile: Tile, axes: tuple[int, ...], keepdims: bool) -> Tile:
    """Reduce visible `axes`: integers sum in i64, the mean of integers is f32."""
    tracer = tile.tracer
    tracer.note(name, tile.key, axes, keepdims)
    dtype, value = tile.dtype_, tile.read()
    if name in _ACCUMULATED and not dtype.is_float:
        dtype = _ACCUMULATED[name]
        value = cast(tracer, value, dtype)
    if not axes:
        return Tile.of_value(tracer, spread(tracer, value, tile.extents), dtype)
    _check_not_empty(tracer, name, tile.extents, axes)
    count = len(tracer.hidden)
    value = tracer.emit(name, (full(tracer, value, tile.rank),), axes=tuple(count + axis for axis in axes))
    if not keepdims:
        value = reform(tracer, value, tuple(item for axis, item in enumerate(tile.extents) if axis not in axes))
    return Tile.of_value(tracer, value, dtype)


def _check_not_empty(tracer: Tracer, name: str, shape: Shape, axes: tuple[int, ...]) -> None:
    if name in ("max", "min"):
        for axis in axes:
            if shape[axis] == 0:
                raise tracer.error("empty-reduction", axis=axis, shape=show_shape(shape))


# -- shapes


def shape_of(tracer: Tracer, shape: Any) -> tuple[Extent, ...]:
    """Return a shape argument (a number or a sequence) as extents; raises UserError ``shape-kind``."""
    single = as_extent(shape)
    items: Sequence[Any] = (single,) if single is not None else tuple(shape) if _is_sequence(shape) else (None,)
    extents = tuple(as_extent(item) for item in items)
    for extent, item in zip(extents, items, strict=True):
        if extent is None or (isinstance(extent, int) and extent < -1):
            raise tracer.error("shape-kind", shape=shape, item=item)
    return extents  # type: ignore[return-value]  # no None: checked above


def _is_sequence(shape: Any) -> bool:
    return isinstance(shape, (tuple, list))


def reshaped(tile: Tile, shape: Any) -> Tile:
    """Return the tile in another shape: a view where NumPy's reshape gives one, else a copy."""
    tracer = tile.tracer
    tile.check(tracer)
    wanted = _inferred(tracer, tile.extents, shape_of(tracer, shape))
    tracer.note("reshape", tile.key, wanted)
    before, after = product(tile.extents), product(wanted)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        raise tracer.error("reshape-size", before=show_shape(tile.extents), after=show_shape(wanted))
    if not _is_view(tile, wanted):
        tile = tile.copy()
    return Tile(tracer, Reshaped(tile, wanted))


def _inferred(tracer: Tracer, before: Shape, wanted: Shape) -> Shape:
    """Replace an extent of -1 by what is left."""
    unknown = [axis for axis, extent in enumerate(wanted) if extent == -1]
    if not unknown:
        return wanted
    if len(unknown) > 1:
        raise tracer.error("shape-kind", shape=wanted, item=-1)
    others = list(wanted[: unknown[0]] + wanted[unknown[0] + 1 :])
    left = list(before)
    for extent in tuple(others):
        if extent in left and not isinstance(extent, int):
            others.remove(extent)
            left.remove(extent)
    known, total = product(tuple(others)), product(tuple(left))
    if known == 1:
        return (*wanted[: unknown[0]], total, *wanted[unknown[0] + 1 :])
    if not isinstance(known, int) or not isinstance(total, int):
        specialise(tracer, *before, *(extent for extent in wanted if not isinstance(extent, int)))
    if known == 0 or total % known:
        raise tracer.error("reshape-size", before=show_shape(before), after=show_shape(wanted))
    return (*wanted[: unknown[0]], total // known, *wanted[unknown[0] + 1 :])


def _is_view(tile: Tile, wanted: Shape) -> bool:
    """Return whether NumPy's reshape of the tile would be a view, the storage being in row-major order."""
    if tile.axes is None or tile.ranges is None:
        return True
    base = tile.storage.shape
    if elements(base) is None or elements(tile.extents) in (None, 0) or elements(wanted) is None:
        return False
    strides, stride = [0] * len(base), 1
    for axis in reversed(range(len(base))):
        strides[axis] = stride
        stride *= int(base[axis])  # type: ignore[arg-type]  # all numbers: counted above
    own = [
        (int(extent), 0 if axis is None else strides[axis] * tile.ranges[axis][2])  # type: ignore[arg-type]
        for extent, axis in zip(tile.extents, tile.axes, strict=True)
    ]
    return _strides_fit([item for item in own if item[0] != 1], [int(item) for item in wanted if item != 1])  # type: ignore[arg-type]


def _strides_fit(own: list[tuple[int, int]], wanted: list[int]) -> bool:
    """NumPy's rule: groups of old axes that become groups of new ones must each be contiguous in themselves."""
    old = new = 0
    while old < len(own) and new < len(wanted):
        first, left, right = old, own[old][0], wanted[new]
        while left != right:
            if left < right:
                old += 1
                left *= own[old][0]
            else:
                new += 1
                right *= wanted[new]
        for axis in range(first, old):
            if own[axis][1] != own[axis + 1][0] * own[axis + 1][1]:
                return False
        old, new = old + 1, new + 1
    return True


def permuted(operand: Any, axes: Any) -> Tile:
    """Return a view with axes in another order; raises UserError ``transpose-axes``."""
    tile = a_tile(operand, "pypto.transpose")
    tracer, rank = tile.tracer, tile.rank
    tile.check(tracer)
    if axes is None:
        return tile.T
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    numbers = [item for item in (as_extent(item) for item in given) if isinstance(item, int)]
    order = tuple(number % rank if -rank <= number < rank else number for number in numbers) if rank else ()
    if sorted(order) != list(range(rank)) or len(numbers) != len(given):
        raise tracer.error("transpose-axes", axes=tuple(given), rank=rank)
    return tile.transposed(order)


def broadcasted(operand: Any, shape: Any) -> Tile:
    """Return a view with axes of extent 1 repeated; raises UserError ``shape-mismatch``."""
    tile = a_tile(operand, "pypto.broadcast_to")
    tracer = tile.tracer
    wanted = shape_of(tracer, shape)
    tracer.note("broadcast_to", tile.key, wanted)
    if len(wanted) < tile.rank or common_shape(tracer, (tile.extents, wanted)) != wanted:
        raise tracer.error("shape-mismatch", shapes=f"{show_shape(tile.extents)} and {show_shape(wanted)}")
    return Tile(tracer, Repeated(tile, wanted))


def concatenated(pieces: Any, axis: Any) -> Tile:
    """Return tiles one after another along `axis`; raises UserError ``concat-pieces`` or ``concat-shapes``."""
    tracer = require("pypto.concat")
    if not isinstance(pieces, (tuple, list)) or not pieces:
        raise tracer.error("concat-pieces")
    tiles = tuple(a_tile(piece, "pypto.concat") for piece in pieces)
    (number,) = axes_of(tracer, axis, tiles[0].rank) if tiles[0].rank else (None,)
    if number is None:
        raise tracer.error("axis-range", axis=axis, rank=0, use=valid_numbers(0))
    for tile in tiles[1:]:
        if len(tile.extents) != len(tiles[0].extents) or any(
            a != b for k, (a, b) in enumerate(zip(tile.extents, tiles[0].extents, strict=True)) if k != number
        ):
            raise tracer.error(
                "concat-shapes", first=show_shape(tiles[0].extents), other=show_shape(tile.extents), axis=number
            )
    tracer.note("concat", *(tile.key for tile in tiles), number)
    dtype = result_type(tiles)
    values = [cast(tracer, full(tracer, tile.read(), tile.rank), _compute(dtype)) for tile in tiles]
    hidden = join_hidden(tracer, *values)
    spread_values = tuple(
        spread(tracer, value, tile.extents, hidden) for value, tile in zip(values, tiles, strict=True)
    )
    value = tracer.emit("concat", spread_values, axis=len(tracer.hidden) + number)
    return Tile.of_value(tracer, value, dtype)


def _compute(dtype: DType) -> DType:
    from pypto.ir.dtypes import compute_type

    return compute_type(dtype)


def padded(operand: Any, widths: Any, number: Any) -> Tile:
    """Return a tile with elements of a constant before and after each axis; raises UserError ``pad-widths``."""
    tile = a_tile(operand, "pypto.nn.pad")
    tracer = tile.tracer
    pairs = _pairs(tracer, widths, tile.rank)
    tracer.note("pad", tile.key, pairs, repr(number))
    if not isinstance(number, (bool, int, float)):
        raise tracer.error("operand-kind", kind=f"a {type(number).__name__}")
    count = (0,) * len(tracer.hidden)
    low, high = (*count, *(pair[0] for pair in pairs)), (*count, *(pair[1] for pair in pairs))
    dtype = tile.dtype_
    filler: float | int | bool = float(number)
    if not dtype.is_float:
        filler = bool(number) if dtype is BOOL else checked_number(tracer, int(number), dtype)
    value: Value = full(tracer, tile.read(), tile.rank)
    if any(low) or any(high):
        value = tracer.emit("pad", (value,), low=low, high=high, value=filler)
    return Tile.of_value(tracer, value, dtype)


def _pairs(tracer: Tracer, widths: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Return (before, after) per axis from a number, a pair, or one pair per axis (NumPy's spellings)."""
    if isinstance(widths, int) and not isinstance(widths, bool):
        widths = ((widths, widths),) * rank
    elif isinstance(widths, (tuple, list)) and len(widths) == 2 and all(isinstance(item, int) for item in widths):
        widths = (tuple(widths),) * rank
    fits = isinstance(widths, (tuple, list)) and len(widths) == rank
    for pair in widths if fits else ():
        two = isinstance(pair, (tuple, list)) and len(pair) == 2
        fits = fits and two and all(isinstance(item, int) and item >= 0 for item in pair)
    if not fits:
        raise tracer.error("pad-widths", widths=widths, rank=rank)
    return tuple((int(pair[0]), int(pair[1])) for pair in widths)


# -- dtypes, blocks and new tiles


def dtype_of(tracer: Tracer, dtype: object) -> DType:
    """Return the DType a user names; raises UserError ``no-such-dtype``."""
    found = find(dtype)
    if found is None:
        names = [name for item in ALL for name in (item.name, item.long_name)]
        raise tracer.error("no-such-dtype", dtype=dtype, hint=nearest(str(dtype), names))
    return found


def cast_named(operand: Any, dtype: object, rounding: str | None = None) -> Tile:
    """Return a tile in the dtype that `dtype` names."""
    from pypto.tracing.functions import cast_rounded

    tracer = tracer_of((operand,), "pypto.cast")
    return cast_rounded(operand, dtype_of(tracer, dtype), rounding)


def new_tile(what: str, shape: Any, number: bool | int | float | None, dtype: object) -> Tile:
    """Return a new local tile full of `number`, or with nothing written when it is None."""
    tracer = require(what)
    extents, found = shape_of(tracer, shape), dtype_of(tracer, dtype)
    for extent in extents:
        if extent == -1:
            raise tracer.error("shape-kind", shape=shape, item=-1)
    tracer.note(what, extents, found.name, repr(number))
    if number is None:
        return Tile(tracer, unwritten(tracer, found, extents))
    checked_number(tracer, number, found)
    return Tile.of_value(tracer, filled(tracer, found, number, extents), found)


def clipped_block(operand: Any, offset: Any, shape: Any, fill: bool | int | float) -> Tile:
    """Return a block of a tile, clipped at the edge; raises UserError ``block-arguments``."""
    tile = a_tile(operand, "pypto.block")
    tracer = tile.tracer
    tile.check(tracer)
    offsets = tuple(offset) if isinstance(offset, (tuple, list)) else (offset,)
    extents = shape_of(tracer, shape)
    indices = tuple(as_index(item) for item in offsets)
    if len(indices) != tile.rank or len(extents) != tile.rank or any(item is None for item in indices):
        raise tracer.error("block-arguments", offset=offsets, shape=extents, rank=tile.rank)
    tracer.note("block", tile.key, indices, extents)
    known = tuple(item for item in indices if item is not None)
    return Tile(tracer, Clipped(tile, known, extents, fill))
