"""Layers and losses that look numbers up: embeddings, rotary positions, cross-entropy."""

from __future__ import annotations

from typing import Any

from pypto.ir.dtypes import F32
from pypto.language.normalization import log_softmax
from pypto.tracing import indexed
from pypto.tracing.arranging import widened
from pypto.tracing.elementwise import apply, convert, select
from pypto.tracing.indexed import index_tile
from pypto.tracing.ordered import dropped, one_axis, real
from pypto.tracing.shaping import a_tile, concatenated, reduce_tile, reshaped
from pypto.tracing.tiles import Tile


def embedding(indices: Any, weight: Any) -> Tile:
    """Rows of `weight` (rows, width) for each number, in shape (*indices.shape, width), as in torch.

    A number outside 0 .. rows - 1 raises UserError ``index-out-of-range`` when the kernel runs.
    """
    table = a_tile(weight, "pypto.nn.embedding")
    numbers = index_tile(indices, "pypto.nn.embedding")
    if table.rank != 2:
        raise table.tracer.error("matrix-needed", function="embedding", rank=table.rank)
    return indexed.taken(table, numbers, 0, wrap=False)


def rotary_embedding(x: Any, cos: Any, sin: Any, interleaved: bool = False) -> Tile:
    """x (..., d) with pairs of elements turned by angles: ``(a cos - b sin, b cos + a sin)``.

    Pairs are elements i and i + d/2, or 2i and 2i + 1 when `interleaved`. `cos` and `sin` broadcast to (..., d/2), or
    to (..., d) with each angle given for both elements of its pair. Source: Su et al., arXiv 2104.09864. Raises
    UserError ``rotary-width``.
    """
    tile = a_tile(x, "pypto.nn.rotary_embedding")
    angles = [a_tile(item, "pypto.nn.rotary_embedding") for item in (cos, sin)]
    width = tile.extents[-1] if tile.rank else 0
    if not isinstance(width, int) or width % 2 or any(item.rank == 0 for item in angles):
        raise tile.tracer.error("rotary-width", width=width, angles=angles[0].extents)
    if any(item.extents[-1] not in (width, width // 2, 1) for item in angles):
        raise tile.tracer.error("rotary-width", width=width, angles=angles[0].extents)
    first, second = (tile[..., place] for place in _halves(width, interleaved))
    (cos_first, cos_second), (sin_first, sin_second) = (_angles(item, width, interleaved) for item in angles)
    turned = (first * cos_first - second * sin_first, second * cos_second + first * sin_second)
    if not interleaved:
        return concatenated(turned, -1)
    pairs = concatenated([widened(item, -1) for item in turned], -1)
    return reshaped(pairs, (*pairs.extents[:-2], width))


def _halves(width: int, interleaved: bool) -> tuple[slice, slice]:
    if interleaved:
        return slice(0, None, 2), slice(1, None, 2)
    return slice(0, width // 2), slice(width // 2, None)


def _angles(angles: Tile, width: int, interleaved: bool) -> tuple[Tile, Tile]:
    if angles.extents[-1] != width:
        return angles, angles
    left, right = _halves(width, interleaved)
    return angles[..., left], angles[..., right]


def cross_entropy(
    logits: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tile:
    """torch.nn.functional.cross_entropy: logits (C,), (N, C) or (N, C, ...), target class numbers without that axis.

    Targets equal to `ignore_index` count nothing; other numbers outside 0 .. C - 1 raise UserError
    ``index-out-of-range`` when the kernel runs. A target of a float dtype holds probabilities in the shape of the
    logits. `reduction` is "mean" (over the weights of the targets that count), "sum" or "none"; `weight` is one number
    per class. Raises UserError ``loss-reduction``.
    """
    scores = real(a_tile(logits, "pypto.nn.cross_entropy"))
    tracer = scores.tracer
    if reduction not in ("mean", "sum", "none"):
        raise tracer.error("loss-reduction", reduction=reduction)
    axis = one_axis(tracer, 0 if scores.rank == 1 else 1, scores.rank)
    classes = a_tile(target, "pypto.nn.cross_entropy")
    logarithms = log_softmax(scores, axis)
    shape = tuple(-1 if number == axis else 1 for number in range(scores.rank))
    weights = None if weight is None else reshaped(a_tile(weight, "pypto.nn.cross_entropy"), shape)
    smoothed = _smoothed(logarithms, weights, axis)
    if classes.dtype_.is_float:
        loss = -reduce_tile("sum", logarithms * classes * (1 if weights is None else weights), (axis,), False)
        loss = loss * (1.0 - label_smoothing) + smoothed * label_smoothing if label_smoothing else loss
        return _reduced(loss, None, reduction)
    return _of_classes(logarithms, classes, weight, smoothed, axis, ignore_index, reduction, label_smoothing)


def _smoothed(logarithms: Any, weights: Any, axis: int) -> Tile:
    """The loss against all classes alike."""
    weighted = logarithms if weights is None else logarithms * weights
    return -reduce_tile("mean", weighted, (axis,), False)  # type: ignore[no-any-return]  # a tile


def _of_classes(
    logarithms: Tile,
    classes: Tile,
    weight: Any,
    smoothed: Tile,
    axis: int,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tile:
    classes = index_tile(classes, "pypto.nn.cross_entropy")
    counts = apply("ne", classes, ignore_index)
    safe = select(counts, classes, 0)
    picked = indexed.chosen(logarithms, widened(safe, axis), axis, wrap=False)
    loss: Any = -dropped(picked, (axis,))
    share: Any = convert(counts, F32 if not logarithms.dtype_.is_narrow_float else logarithms.dtype_)
    if weight is not None:
        share = share * indexed.taken(a_tile(weight, "pypto.nn.cross_entropy"), safe, 0, wrap=False)
    plain = select(counts, loss * share, 0.0) if weight is not None else select(counts, loss, 0.0)
    if label_smoothing:
        plain = plain * (1.0 - label_smoothing) + select(counts, smoothed, 0.0) * label_smoothing
    return _reduced(plain, share, reduction)


def _reduced(loss: Tile, share: Any, reduction: str) -> Tile:
    if reduction == "none":
        return loss
    total = reduce_tile("sum", loss, tuple(range(loss.rank)), False)
    if reduction == "sum":
        return total
    if share is None:
        return reduce_tile("mean", loss, tuple(range(loss.rank)), False)
    return total / reduce_tile("sum", share, tuple(range(share.rank)), False)  # type: ignore[no-any-return]  # a tile
