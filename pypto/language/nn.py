"""Neural-network functions, each composed of the operations of the table. f16 and bf16 tiles are computed in f32."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.language import activations, contractions, indexing, lookups, mathematics, normalization
from pypto.tracing.elementwise import apply
from pypto.tracing.shaping import a_real_tile, a_tile, axes_of, one_name, padded, reduce_named, reduce_tile, shape_of
from pypto.tracing.tiles import Tile

celu = activations.celu
dequantize = activations.dequantize
elu = activations.elu
geglu = activations.geglu
gelu = activations.gelu
glu = activations.glu
hard_sigmoid = activations.hard_sigmoid
hard_swish = activations.hard_swish
hardsigmoid = activations.hardsigmoid
hardswish = activations.hardswish
hardtanh = activations.hardtanh
leaky_relu = activations.leaky_relu
log_sigmoid = activations.log_sigmoid
logsigmoid = activations.logsigmoid
mish = activations.mish
prelu = activations.prelu
quantize = activations.quantize
relu = activations.relu
relu6 = activations.relu6
selu = activations.selu
sigmoid = mathematics.sigmoid
silu = activations.silu
softplus = activations.softplus
softsign = activations.softsign
swiglu = activations.swiglu
swish = activations.swish
tanh = mathematics.tanh
conv2d = contractions.conv2d
linear = contractions.linear
scaled_dot_product_attention = contractions.scaled_dot_product_attention
batch_norm = normalization.batch_norm
cross_entropy = lookups.cross_entropy
embedding = lookups.embedding
group_norm = normalization.group_norm
log_softmax = normalization.log_softmax
one_hot = indexing.one_hot
rotary_embedding = lookups.rotary_embedding


def softmax(x: Any, axis: Any = -1, **torch_names: Any) -> Tile:
    """``exp(x - max) / sum(exp(x - max))`` over `axis` (or `dim`).

    A row of -inf only, or with +inf or NaN, is NaN as in torch; -inf beside finite elements gives exactly 0.
    """
    tile = a_real_tile(x, "pypto.nn.softmax")
    axis = one_name(tile.tracer, "axis", axis, -1, torch_names, "dim")
    axes = axes_of(tile.tracer, axis, tile.rank)
    if any(tile.extents[number] == 0 for number in axes):
        return tile.copy()
    exponential = apply("exp", tile - reduce_tile("max", tile, axes, True))
    return exponential / reduce_tile("sum", exponential, axes, True)  # type: ignore[no-any-return]  # a tile


def layer_norm(
    x: Any,
    normalized_shape: Any = None,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    axes: Any = None,
) -> Tile:
    """``(x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias`` over the last axes.

    `normalized_shape` is their shape as in torch, or `axes` names them; default: the last axis. The variance is
    that of the centred values, so that an offset does not cost digits. Source: Ba, Kiros and Hinton, arXiv
    1607.06450. Raises UserError ``norm-shape``.
    """
    tile = a_real_tile(x, "pypto.nn.layer_norm")
    numbers = _norm_axes(tile, normalized_shape, axes)
    centred = tile - reduce_tile("mean", tile, numbers, True)
    variance = reduce_tile("mean", centred * centred, numbers, True)
    return _scaled(centred * apply("rsqrt", variance + eps), weight, bias)


def rms_norm(
    x: Any, normalized_shape: Any = None, weight: Any = None, eps: float | None = None, *, axes: Any = None
) -> Tile:
    """``x / sqrt(mean(x^2) + eps) * weight`` over the last axes; eps None is the dtype's epsilon, as in torch.

    Source: Zhang and Sennrich, arXiv 1910.07467. Raises UserError ``norm-shape``.
    """
    tile = a_real_tile(x, "pypto.nn.rms_norm")
    numbers = _norm_axes(tile, normalized_shape, axes)
    epsilon = _epsilon(tile) if eps is None else eps
    square = reduce_tile("mean", tile * tile, numbers, True)
    return _scaled(tile * apply("rsqrt", square + epsilon), weight, None)


def _epsilon(tile: Tile) -> float:
    """Return 2 ** -(bits of the fraction) of the tile's dtype."""
    fraction = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[tile.dtype_.name]
    return float(np.ldexp(1.0, -fraction))


def _norm_axes(tile: Tile, shape: Any, axes: Any) -> tuple[int, ...]:
    if axes is not None and shape is not None:
        raise tile.tracer.error("both-keywords", first="normalized_shape", second="axes")
    if shape is None:
        return axes_of(tile.tracer, -1 if axes is None else axes, tile.rank)
    extents = shape_of(tile.tracer, shape)
    if not extents or extents != tile.extents[-len(extents) :]:
        raise tile.tracer.error("norm-shape", given=extents, shape=tile.extents)
    return tuple(range(tile.rank - len(extents), tile.rank))


def _scaled(normal: Any, weight: Any, bias: Any) -> Tile:
    result = normal if weight is None else normal * weight
    return result if bias is None else result + bias  # type: ignore[no-any-return]  # a tile


def pad(x: Any, pad_width: Any, value: bool | int | float = 0, mode: str = "constant") -> Tile:
    """x with `value` before and after each axis: ``pad(x, ((2, 2), (1, 0)))``, one pair or one number for all axes.

    As numpy.pad with mode "constant", the only one. Raises UserError ``pad-widths`` or ``pad-mode``.
    """
    if mode != "constant":
        raise a_tile(x, "pypto.nn.pad").tracer.error("pad-mode", mode=mode)
    return padded(x, pad_width, value)


def reduce_sum(x: Any, axes: Any = None, keepdims: bool = False) -> Tile:
    """Sum over `axes` (None: all). As `pypto.sum`."""
    return reduce_named("sum", x, axes, keepdims, {})


def reduce_mean(x: Any, axes: Any = None, keepdims: bool = False) -> Tile:
    """Arithmetic mean over `axes` (None: all). As `pypto.mean`."""
    return reduce_named("mean", x, axes, keepdims, {})


def reduce_prod(x: Any, axes: Any = None, keepdims: bool = False) -> Tile:
    """Product over `axes` (None: all). As `pypto.prod`."""
    return reduce_named("prod", x, axes, keepdims, {})


def reduce_max(x: Any, axes: Any = None, keepdims: bool = False) -> Tile:
    """Largest element over `axes` (None: all). As `pypto.max`."""
    return reduce_named("max", x, axes, keepdims, {})


def reduce_min(x: Any, axes: Any = None, keepdims: bool = False) -> Tile:
    """Smallest element over `axes` (None: all). As `pypto.min`."""
    return reduce_named("min", x, axes, keepdims, {})
