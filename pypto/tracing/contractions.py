"""Matrix products, convolution and attention: ranks, broadcasting and dtypes as NumPy's and torch's."""

from __future__ import annotations

import math
from typing import Any

from pypto.ir.dtypes import F32, I8, I32, U8, DType, compute_type
from pypto.ir.index import Extent
from pypto.ir.nodes import Value
from pypto.ir.operations.rules import show_shape
from pypto.tracing.context import Tracer
from pypto.tracing.elementwise import as_value, result_type, select
from pypto.tracing.shaping import a_tile, dtype_of, padded
from pypto.tracing.tiles import Tile
from pypto.tracing.values import Shape, cast, full, reform

BYTES = (I8, U8)


def multiplied(left: Any, right: Any, out_dtype: object = None, function: str = "pypto.matmul") -> Tile:
    """Return the matrix product by numpy.matmul's rule; raises UserError ``matmul-shapes`` or ``matmul-scalar``.

    8-bit integers add up in i32, f16 and bf16 in f32, everything else in its promoted dtype. `out_dtype` is the
    result's, and that of the sums when it is a wider integer.
    """
    x, y = a_tile(left, function), a_tile(right, function)
    tracer = x.tracer
    wanted = None if out_dtype is None else dtype_of(tracer, out_dtype)
    if not x.rank or not y.rank:
        raise tracer.error("matmul-scalar", left=show_shape(x.extents), right=show_shape(y.extents))
    tracer.note("matmul", x.key, y.key, str(wanted))
    dtype, operand = _product_types((x, y), wanted)
    rows = x.extents if x.rank > 1 else (1, *x.extents)
    columns = y.extents if y.rank > 1 else (*y.extents, 1)
    values = tuple(_operand(tracer, item, shape, operand) for item, shape in ((x, rows), (y, columns)))
    rank = max(len(rows), len(columns))
    lifted = tuple(full(tracer, value, rank) for value in values) if tracer.hidden else values
    product = tracer.emit("matmul", lifted)
    shape = product.shape[len(tracer.hidden) :]
    kept = shape[:-2] + (shape[-2:-1] if x.rank > 1 else ()) + (shape[-1:] if y.rank > 1 else ())
    return _result(tracer, reform(tracer, product, kept), dtype, wanted is not None)


def _product_types(tiles: tuple[Tile, ...], wanted: DType | None) -> tuple[DType, DType | None]:
    """Return the dtype of the result, and that of the operands (None: each keeps its 8 bits)."""
    found = {tile.dtype_ for tile in tiles}
    if found <= set(BYTES):
        return (I32 if wanted is None else wanted), (wanted if wanted is not None and _is_wide(wanted) else None)
    dtype = result_type(tiles)
    if dtype.kind == "bool":
        dtype = I32
    if wanted is None:
        return dtype, dtype
    return wanted, wanted if wanted.kind == dtype.kind and wanted.bits > dtype.bits else dtype


def _is_wide(dtype: DType) -> bool:
    return dtype.bits > 32


def _operand(tracer: Tracer, tile: Tile, shape: Shape, dtype: DType | None) -> Value:
    value = full(tracer, as_value(tracer, tile, tile.dtype_ if dtype is None else dtype), tile.rank)
    return reform(tracer, value, shape)


def _result(tracer: Tracer, value: Value, dtype: DType, rounds: bool = False) -> Tile:
    """Return `value` as a tile of `dtype`; it rounds to f16 or bf16 only where the user asked for that dtype."""
    value = cast(tracer, value, dtype) if rounds else value
    return Tile.of_value(tracer, cast(tracer, value, compute_type(dtype)), dtype)


def dotted(left: Any, right: Any) -> Tile:
    """Return numpy.dot's product of two tiles of at most two axes; raises UserError ``dot-rank``."""
    x, y = a_tile(left, "dot"), a_tile(right, "dot")
    if not x.rank or not y.rank:
        return x * y  # type: ignore[no-any-return]  # a tile
    if x.rank > 2 or y.rank > 2:
        raise x.tracer.error("dot-rank", left=x.rank, right=y.rank)
    return multiplied(x, y, function="dot")


def affine_map(x: Any, weight: Any, bias: Any) -> Tile:
    """Return ``x @ weight.T + bias``; `weight` is (outputs, inputs), or (inputs,) for one output."""
    tile = a_tile(weight, "pypto.nn.linear")
    result = multiplied(x, tile.T, function="pypto.nn.linear")
    return result if bias is None else result + bias


# -- convolution


def convolved(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Tile:
    """Return torch's conv2d; raises UserError ``conv-arguments`` or what the type rule of convolution raises."""
    image, kernel = a_tile(x, "pypto.nn.conv2d"), a_tile(weight, "pypto.nn.conv2d")
    tracer = image.tracer
    steps, spread = _pair(tracer, "stride", stride, 1), _pair(tracer, "dilation", dilation, 1)
    if image.rank not in (3, 4) or kernel.rank != 4:
        raise tracer.error("conv-arguments", what=f"an image of rank {image.rank} and kernels of rank {kernel.rank}")
    widths = _padding(tracer, padding, steps, spread, kernel.extents[-2:])
    if any(any(pair) for pair in widths):
        image = padded(image, (((0, 0),) * (image.rank - 2)) + widths, 0)
    tracer.note("conv2d", image.key, kernel.key, steps, spread, groups)
    dtype, operand = _product_types((image, kernel), None)
    values = _grouped(tracer, image, kernel, operand, groups)
    value = tracer.emit("convolution", values, dilation=spread, stride=steps)
    shape = value.shape[len(tracer.hidden) :]
    outputs, (height, width) = kernel.extents[0], shape[-2:]
    batch = image.extents[: image.rank - 3]
    result = _result(tracer, reform(tracer, value, (*batch, outputs, height, width)), dtype)
    if bias is None:
        return result
    return result + a_tile(bias, "pypto.nn.conv2d").reshape(-1, 1, 1)  # type: ignore[no-any-return]  # a tile


def _grouped(tracer: Tracer, image: Tile, kernel: Tile, dtype: DType | None, groups: int) -> tuple[Value, Value]:
    """Return image [.., groups, c, h, w] and kernels [groups, o, c, p, q], or both without groups."""
    values = [_operand(tracer, tile, tile.extents, dtype) for tile in (image, kernel)]
    channels, outputs = image.extents[-3], kernel.extents[0]
    what = f"{channels} channels, {outputs} outputs and groups={groups}"
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise tracer.error("conv-arguments", what=what)
    if groups > 1:
        if not isinstance(channels, int) or not isinstance(outputs, int) or channels % groups or outputs % groups:
            raise tracer.error("conv-arguments", what=what)
        inner, rest = channels // groups, image.extents[-2:]
        values[0] = reform(tracer, values[0], (*image.extents[:-3], groups, inner, *rest))
        values[1] = reform(tracer, values[1], (groups, outputs // groups, *kernel.extents[1:]))
    if tracer.hidden:
        rank = max(value.type.rank - len(tracer.hidden) - more for value, more in zip(values, (0, 1), strict=True))
        values = [full(tracer, value, rank + more) for value, more in zip(values, (0, 1), strict=True)]
    return values[0], values[1]


def _pair(tracer: Tracer, name: str, given: Any, smallest: int) -> tuple[int, int]:
    """Return a number or a pair of them as a pair; raises UserError ``conv-arguments``."""
    pair = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
    whole = all(isinstance(item, int) and not isinstance(item, bool) and item >= smallest for item in pair)
    if len(pair) != 2 or not whole:
        raise tracer.error("conv-arguments", what=f"{name}={given!r}")
    return int(pair[0]), int(pair[1])


def _padding(
    tracer: Tracer, given: Any, stride: tuple[int, int], dilation: tuple[int, int], kernel: tuple[Extent, ...]
) -> tuple[tuple[int, int], ...]:
    """Return the rows and columns added before and after; "same" keeps the extents, at stride 1 only."""
    if given == "valid":
        return (0, 0), (0, 0)
    if given != "same":
        return tuple((item, item) for item in _pair(tracer, "padding", given, 0))
    if stride != (1, 1) or not all(isinstance(size, int) for size in kernel):
        raise tracer.error("conv-arguments", what=f'padding="same" with stride {stride}')
    totals = [step * (int(size) - 1) for step, size in zip(dilation, kernel, strict=True)]  # type: ignore[arg-type]
    return tuple((total // 2, total - total // 2) for total in totals)


# -- attention


def attended(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float | None, grouped: bool) -> Tile:
    """Return torch's scaled_dot_product_attention; raises UserError ``attention-arguments`` or as its type rule."""
    name = "pypto.nn.scaled_dot_product_attention"
    tiles = tuple(a_tile(item, name) for item in (query, key, value))
    tracer, dtype = tiles[0].tracer, result_type(tiles)
    if mask is not None and causal:
        raise tracer.error("attention-arguments", what="attn_mask together with is_causal=True")
    if min(tile.rank for tile in tiles) < 2:
        raise tracer.error("attention-arguments", what="a query, key or value of less than two axes")
    dtype = dtype if dtype.is_float else F32
    tracer.note("attention", *(tile.key for tile in tiles), mask.key if isinstance(mask, Tile) else None, causal, scale)
    compute = compute_type(dtype)
    values = [_operand(tracer, tile, tile.extents, compute) for tile in tiles]
    added = None if mask is None else _additive(tracer, mask, compute)
    result_shape: Shape | None = None
    if grouped:
        values, added, result_shape = _head_groups(tracer, tiles, values, added)
    rank = max(value.type.rank for value in values) - len(tracer.hidden)
    if tracer.hidden:
        values = [full(tracer, item, rank) for item in values]
    if added is None:
        added = tracer.emit("constant", (), dtype=compute, value=0.0)
    elif tracer.hidden:
        added = full(tracer, added, rank)
    factor = _scale(tracer, tiles[0], scale)
    output = tracer.emit("attention", (*values, added), causal=bool(causal), scale=factor)
    if result_shape is not None:
        output = reform(tracer, output, result_shape)
    return _result(tracer, output, dtype)


def _scale(tracer: Tracer, query: Tile, scale: float | None) -> float:
    """Return `scale`, or one over the root of the query's last extent."""
    if scale is not None:
        return float(scale)
    extent = query.extents[-1]
    if not isinstance(extent, int):
        from pypto.tracing.extents import specialise

        specialise(tracer, extent)
    return 1.0 / math.sqrt(extent) if extent else 1.0


def _additive(tracer: Tracer, mask: Any, dtype: DType) -> Value:
    """Return a mask as numbers to add to the scores: a bool mask is 0 where it holds and -inf elsewhere."""
    tile = a_tile(mask, "pypto.nn.scaled_dot_product_attention")
    if tile.dtype_.kind == "bool":
        tile = select(tile, 0.0, -math.inf)
    return _operand(tracer, tile, tile.extents, dtype)


def _head_groups(
    tracer: Tracer, tiles: tuple[Tile, ...], values: list[Value], mask: Value | None
) -> tuple[list[Value], Value | None, Shape]:
    """Give query heads that share a key head an axis of their own: (.., h, l, e) becomes (.., k, h / k, l, e)."""
    query, key, value = tiles
    heads = query.extents[-3] if query.rank > 2 else 1
    shared = key.extents[-3] if key.rank > 2 else 1
    same = value.rank == key.rank and (value.rank < 3 or value.extents[-3] == shared)
    if not isinstance(heads, int) or not isinstance(shared, int) or not same or not shared or heads % shared:
        raise tracer.error("attention-arguments", what=f"enable_gqa with {heads} query heads and {shared} key heads")
    split = (shared, heads // shared)
    if query.rank < 3 or key.rank < 3:
        raise tracer.error("attention-arguments", what="enable_gqa without an axis of heads")
    shapes = [(*query.extents[:-3], *split, *query.extents[-2:])]
    shapes += [(*tile.extents[:-3], shared, 1, *tile.extents[-2:]) for tile in (key, value)]
    split_values = [reform(tracer, item, shape) for item, shape in zip(values, shapes, strict=True)]
    if mask is not None:
        extents = mask.shape[len(tracer.hidden) :]
        if len(extents) > 2:
            between = (1, 1) if extents[-3] == 1 else split
            mask = reform(tracer, mask, (*extents[:-3], *between, *extents[-2:]))
    return split_values, mask, (*query.extents[:-1], value.extents[-1])
