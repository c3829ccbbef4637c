"""Elementwise functions of neural networks, composed of the table's operations with torch's meaning.

f16 and bf16 tiles are computed in f32, integers as f32. All of them raise UserError ``not-a-tile`` for a number.
"""

from __future__ import annotations

import math
from typing import Any

from pypto.ir.dtypes import F32
from pypto.tracing.elementwise import apply, convert, select
from pypto.tracing.functions import cast_rounded, clipped
from pypto.tracing.shaping import a_real_tile, a_tile, axes_of, dtype_of, one_name
from pypto.tracing.tiles import Tile


def relu(x: Any) -> Tile:
    """max(x, 0); NaN stays."""
    return apply("maximum", x, 0)


def relu6(x: Any) -> Tile:
    """x between 0 and 6; NaN stays."""
    return clipped(x, 0, 6)


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tile:
    """x between `min_val` and `max_val`; NaN stays."""
    return clipped(x, min_val, max_val)


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Tile:
    """x above 0, else ``negative_slope * x``."""
    tile = a_real_tile(x, "pypto.nn.leaky_relu")
    return select(tile > 0.0, tile, tile * negative_slope)


def prelu(x: Any, weight: Any) -> Tile:
    """x above 0, else ``weight * x``; a weight of rank 1 is one number, or one per channel (axis 1) as in torch.

    Source: He et al., arXiv 1502.01852.
    """
    tile = a_real_tile(x, "pypto.nn.prelu")
    if isinstance(weight, Tile) and weight.rank == 1 and weight.extents[0] != 1 and tile.rank > 2:
        weight = weight.reshape((-1, *(1,) * (tile.rank - 2)))
    return select(tile > 0.0, tile, tile * weight)


def elu(x: Any, alpha: float = 1.0) -> Tile:
    """x above 0, else ``alpha * (exp(x) - 1)``. Source: Clevert et al., arXiv 1511.07289."""
    tile = a_real_tile(x, "pypto.nn.elu")
    return select(tile > 0.0, tile, apply("expm1", tile) * alpha)


def celu(x: Any, alpha: float = 1.0) -> Tile:
    """x above 0, else ``alpha * (exp(x / alpha) - 1)``. Source: Barron, arXiv 1704.07483."""
    tile = a_real_tile(x, "pypto.nn.celu")
    return select(tile > 0.0, tile, apply("expm1", tile / alpha) * alpha)


def selu(x: Any) -> Tile:
    """A scaled `elu` whose constants keep mean and variance. Source: Klambauer et al., arXiv 1706.02515."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    tile = a_real_tile(x, "pypto.nn.selu")
    return select(tile > 0.0, tile * scale, apply("expm1", tile) * (alpha * scale))


def gelu(x: Any, approximate: str = "none") -> Tile:
    """Gaussian error linear unit: ``x * 0.5 * (1 + erf(x / sqrt 2))``, or with ``approximate="tanh"`` the tanh form.

    The tanh form is ``0.5 * x * (1 + tanh(u))``, u = sqrt(2/pi) * (x + 0.044715 x^3), written as the equal ``x *
    sigmoid(2 u)``, which does not cancel for negative x. Source: Hendrycks and Gimpel, arXiv 1606.08415. Raises
    UserError ``gelu-form``.
    """
    tile = a_real_tile(x, "pypto.nn.gelu")
    if approximate == "none":
        return tile * 0.5 * (apply("erf", tile * math.sqrt(0.5)) + 1.0)  # type: ignore[no-any-return]  # a tile
    if approximate != "tanh":
        raise tile.tracer.error("gelu-form", approximate=approximate)
    twice = 2.0 * math.sqrt(2.0 / math.pi)
    inner = tile * (twice + (twice * 0.044715) * (tile * tile))
    return tile * apply("sigmoid", inner)  # type: ignore[no-any-return]  # a tile


def silu(x: Any) -> Tile:
    """``x * sigmoid(x)``, also called swish."""
    tile = a_real_tile(x, "pypto.nn.silu")
    return tile * apply("sigmoid", tile)  # type: ignore[no-any-return]  # a tile


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Tile:
    """``log(1 + exp(beta * x)) / beta``; x itself where beta * x is above `threshold`."""
    tile = a_real_tile(x, "pypto.nn.softplus")
    scaled = tile * beta
    return select(scaled > threshold, tile, apply("log1p", apply("exp", scaled)) / beta)


def logsigmoid(x: Any) -> Tile:
    """log(sigmoid(x)) without overflow or cancellation: ``min(x, 0) - log1p(exp(-|x|))``."""
    tile = a_real_tile(x, "pypto.nn.logsigmoid")
    tail = apply("log1p", apply("exp", -abs(tile)))
    return apply("minimum", tile, 0.0) - tail  # type: ignore[no-any-return]  # a tile


def mish(x: Any) -> Tile:
    """``x * tanh(softplus(x))``. Source: Misra, arXiv 1908.08681."""
    tile = a_real_tile(x, "pypto.nn.mish")
    return tile * apply("tanh", softplus(tile))  # type: ignore[no-any-return]  # a tile


def softsign(x: Any) -> Tile:
    """``x / (1 + |x|)``."""
    tile = a_real_tile(x, "pypto.nn.softsign")
    return tile / (abs(tile) + 1.0)  # type: ignore[no-any-return]  # a tile


def hardsigmoid(x: Any) -> Tile:
    """``min(max(x + 3, 0), 6) / 6``."""
    tile = a_real_tile(x, "pypto.nn.hardsigmoid")
    return clipped(tile + 3.0, 0.0, 6.0) / 6.0  # type: ignore[no-any-return]  # a tile


def hardswish(x: Any) -> Tile:
    """``x * min(max(x + 3, 0), 6) / 6``. Source: Howard et al., arXiv 1905.02244."""
    tile = a_real_tile(x, "pypto.nn.hardswish")
    return tile * clipped(tile + 3.0, 0.0, 6.0) / 6.0  # type: ignore[no-any-return]  # a tile


# -- gated units. Source: Shazeer, arXiv 2002.05202


def glu(x: Any, axis: int = -1, **torch_names: Any) -> Tile:
    """The first half of `axis` (or `dim`) times sigmoid of the second. Raises UserError ``odd-halves``."""
    first, second = _halves(x, axis, torch_names, "pypto.nn.glu")
    return first * apply("sigmoid", second)  # type: ignore[no-any-return]  # a tile


def swiglu(x: Any, y: Any = None, axis: int = -1, **torch_names: Any) -> Tile:
    """``silu(x) * y``; without y, x is cut in two halves along `axis` (or `dim`), of which the first is activated.

    Raises UserError ``odd-halves``.
    """
    first, second = (x, y) if y is not None else _halves(x, axis, torch_names, "pypto.nn.swiglu")
    return silu(first) * second  # type: ignore[no-any-return]  # a tile


def geglu(x: Any, y: Any = None, axis: int = -1, approximate: str = "none", **torch_names: Any) -> Tile:
    """``x * gelu(y)``; without y, x is cut in two halves along `axis` (or `dim`), of which the second is activated.

    Raises UserError ``odd-halves`` or ``gelu-form``.
    """
    first, second = (x, y) if y is not None else _halves(x, axis, torch_names, "pypto.nn.geglu")
    return gelu(second, approximate) * first  # type: ignore[no-any-return]  # a tile


def _halves(x: Any, axis: int, names: dict[str, Any], function: str) -> tuple[Any, Any]:
    tile = a_tile(x, function)
    (number,) = axes_of(tile.tracer, one_name(tile.tracer, "axis", axis, -1, names, "dim"), tile.rank)
    extent = tile.extents[number]
    if not isinstance(extent, int) or extent % 2:
        raise tile.tracer.error("odd-halves", axis=number, extent=extent)
    before = (slice(None),) * number
    return tile[(*before, slice(0, extent // 2))], tile[(*before, slice(extent // 2, extent))]


# -- quantization


def quantize(x: Any, scale: Any, zero_point: Any = 0, dtype: object = "int8", axis: int | None = None) -> Tile:
    """``round(x / scale) + zero_point`` in an integer `dtype`, saturated; ties to even, NaN gives 0.

    `scale` and `zero_point` are numbers or tiles; with `axis` (torch: per channel) they have rank 1 and belong to that
    axis. Raises UserError ``quantized-dtype`` for a dtype that is no integer.
    """
    tile = a_real_tile(x, "pypto.nn.quantize")
    target = dtype_of(tile.tracer, dtype)
    if not target.is_integer:
        raise tile.tracer.error("quantized-dtype", dtype=target)
    scale, zero_point = (_along(tile, item, axis) for item in (scale, zero_point))
    steps = apply("round", tile / scale)
    return cast_rounded(steps + _as_real(zero_point), target, None)


def dequantize(x: Any, scale: Any, zero_point: Any = 0, dtype: object = F32, axis: int | None = None) -> Tile:
    """``(x - zero_point) * scale`` in a float `dtype`; arguments as those of `quantize`."""
    tile = a_real_tile(x, "pypto.nn.dequantize")
    scale, zero_point = (_along(tile, item, axis) for item in (scale, zero_point))
    return convert((tile - _as_real(zero_point)) * scale, dtype_of(tile.tracer, dtype))


def _along(tile: Tile, item: Any, axis: int | None) -> Any:
    """Return a tile of rank 1 with axes after it, so that it lies along `axis`; anything else as it is."""
    if axis is None or not isinstance(item, Tile) or item.rank != 1:
        return item
    (number,) = axes_of(tile.tracer, axis, tile.rank)
    return item.reshape((-1, *(1,) * (tile.rank - number - 1)))


def _as_real(item: Any) -> Any:
    return item if not isinstance(item, Tile) or item.dtype_.is_float else convert(item, F32)


hard_swish, hard_sigmoid, log_sigmoid, swish = hardswish, hardsigmoid, logsigmoid, silu
