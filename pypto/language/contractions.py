"""Matrix products, and the layers made of them. f16 and bf16 add up in f32, 8-bit integers in i32."""

from __future__ import annotations

from typing import Any

from pypto.tracing.contractions import affine_map, attended, convolved, multiplied
from pypto.tracing.tiles import Tile


def matmul(x: Any, y: Any, out_dtype: object = None) -> Tile:
    """Matrix product (..., m, k) x (..., k, n), also written ``x @ y``; leading axes broadcast, as in numpy.matmul.

    A 1-D operand counts as one row (x) or one column (y) and leaves no axis. f16 and bf16 add up in f32; i8 and u8
    add up in i32, which is the result's dtype; other integers wrap. `out_dtype` is the dtype of the result.
    An empty k gives 0. Raises UserError ``matmul-shapes`` or ``matmul-scalar``.
    """
    return multiplied(x, y, out_dtype)


def linear(x: Any, weight: Any, bias: Any = None) -> Tile:
    """``x @ weight.T + bias``: x (..., inputs), weight (outputs, inputs), bias (outputs,), as in torch.

    Raises UserError ``matmul-shapes``.
    """
    return affine_map(x, weight, bias)


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tile:
    """2-D convolution (cross-correlation) as in torch: x (n, c, h, w) or (c, h, w), weight (o, c / groups, p, q).

    `stride`, `padding` and `dilation` are numbers or pairs for height and width; `padding` may be "valid" or "same".
    bias is (o,). Raises UserError ``conv-arguments``, ``convolution-shapes`` or ``convolution-window``.
    """
    return convolved(x, weight, bias, stride, padding, dilation, groups)


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tile:
    """``softmax(query key^T scale + mask) value``: query (..., l, e), key (..., s, e), value (..., s, v), as in torch.

    `attn_mask` broadcasts to (..., l, s): a bool mask keeps keys where it holds, numbers are added to the scores.
    `is_causal` keeps key j for query i where j <= i. `scale` is 1 / sqrt(e) unless given. With `enable_gqa` groups of
    query heads (axis -3) share one key head. A query with every key masked gives 0. Values of keys that a mask leaves
    out must be finite. Sources: Vaswani et al., arXiv 1706.03762; Dao et al., arXiv 2205.14135. Raises UserError
    ``attention-arguments``, ``attention-shapes`` or ``attention-mask``.
    """
    return attended(query, key, value, attn_mask, is_causal, scale, enable_gqa)
