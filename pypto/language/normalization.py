"""Normalisation over channels, and the logarithm of softmax."""

from __future__ import annotations

from typing import Any

from pypto.tracing.elementwise import apply
from pypto.tracing.ordered import real
from pypto.tracing.shaping import a_tile, axes_of, one_name, reduce_tile, reshaped
from pypto.tracing.tiles import Tile


def log_softmax(x: Any, axis: Any = -1, **torch_names: Any) -> Tile:
    """``x - logsumexp(x)`` over `axis` (or `dim`), without overflow and without the logarithm of 0.

    A row of -inf only, or with +inf or NaN, is NaN as in torch.
    """
    tile = real(a_tile(x, "pypto.nn.log_softmax"))
    axis = one_name(tile.tracer, "axis", axis, -1, torch_names, "dim")
    axes = axes_of(tile.tracer, axis, tile.rank)
    if any(tile.extents[number] == 0 for number in axes):
        return tile.copy()
    shifted = tile - reduce_tile("max", tile, axes, True)
    total = reduce_tile("sum", apply("exp", shifted), axes, True)
    return shifted - apply("log", total)  # type: ignore[no-any-return]  # a tile


def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tile:
    """x (N, C, ...) with mean 0 and variance 1 over each of `num_groups` groups of channels; then weight and bias (C,).

    The variance is that of the centred values. Source: Wu and He, arXiv 1803.08494. Raises UserError ``norm-groups``.
    """
    tile = real(a_tile(x, "pypto.nn.group_norm"))
    tracer = tile.tracer
    if tile.rank < 2:
        raise tracer.error("norm-channels", function="group_norm", rank=tile.rank)
    channels = tile.extents[1]
    if not isinstance(num_groups, int) or num_groups < 1 or not isinstance(channels, int) or channels % num_groups:
        raise tracer.error("norm-groups", groups=num_groups, channels=channels)
    grouped = reshaped(tile, (tile.extents[0], num_groups, -1))
    centred = grouped - reduce_tile("mean", grouped, (2,), True)
    variance = reduce_tile("mean", centred * centred, (2,), True)
    normal = reshaped(centred * apply("rsqrt", variance + eps), tile.extents)
    return _per_channel(normal, weight, bias)


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tile:
    """``(x - running_mean) / sqrt(running_var + eps) * weight + bias`` with one number per channel, x (N, C, ...).

    Inference only: `training` must be false, `momentum` has no effect. Source: Ioffe and Szegedy, arXiv 1502.03167.
    Raises UserError ``norm-training`` or ``norm-channels``.
    """
    tile = real(a_tile(x, "pypto.nn.batch_norm"))
    if training:
        raise tile.tracer.error("norm-training")
    if tile.rank < 2:
        raise tile.tracer.error("norm-channels", function="batch_norm", rank=tile.rank)
    scale = apply("rsqrt", real(a_tile(running_var, "pypto.nn.batch_norm")) + eps)
    centred = tile - _channel(tile, running_mean)
    return _per_channel(centred * _channel(tile, scale), weight, bias)


def _channel(tile: Tile, values: Any) -> Tile:
    """Return one number per channel in a shape that broadcasts to the tile."""
    return reshaped(a_tile(values, "pypto.nn"), (-1, *(1,) * (tile.rank - 2)))


def _per_channel(normal: Any, weight: Any, bias: Any) -> Tile:
    result = normal if weight is None else normal * _channel(normal, weight)
    return result if bias is None else result + _channel(normal, bias)  # type: ignore[no-any-return]  # a tile
