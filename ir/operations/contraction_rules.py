"""Type rules of the contractions. Each raises RuleViolation where the operands do not fit."""

from __future__ import annotations

from pypto.ir.dtypes import I8, I32, U8, DType
from pypto.ir.index import Extent
from pypto.ir.nodes import TileType
from pypto.ir.operations.definition import Attributes, RuleViolation
from pypto.ir.operations.rules import Types, broadcast_shapes, show_shape

BYTES = (I8, U8)


def accumulated(dtype: DType) -> DType:
    """Return the dtype in which products of `dtype` add up: i32 for 8 bits, else the dtype itself."""
    return I32 if dtype in BYTES else dtype


def _one_dtype(types: Types) -> DType:
    """Return the common dtype; i8 and u8 may meet."""
    dtypes = {type_.dtype for type_ in types}
    if len(dtypes) > 1 and not dtypes <= set(BYTES):
        raise RuleViolation("dtype-mismatch", dtypes=" and ".join(sorted(map(str, dtypes))))
    return types[0].dtype


def matmul(types: Types, attributes: Attributes) -> Types:
    """[.., m, k] and [.., k, n] give [.., m, n]; leading axes broadcast."""
    left, right = types
    dtype = accumulated(_one_dtype(types))
    if left.rank < 2 or right.rank < 2 or left.shape[-1] != right.shape[-2]:
        raise RuleViolation("matmul-shapes", left=show_shape(left.shape), right=show_shape(right.shape))
    batch = broadcast_shapes((left.shape[:-2], right.shape[:-2]))
    return (TileType(dtype, (*batch, left.shape[-2], right.shape[-1])),)


def convolution(types: Types, attributes: Attributes) -> Types:
    """[.., c, h, w] and [.., o, c, p, q] give [.., o, oh, ow]; attributes ``stride`` and ``dilation`` per h and w."""
    image, kernel = types
    dtype = accumulated(_one_dtype(types))
    if image.rank < 3 or kernel.rank < 4 or image.shape[-3] != kernel.shape[-3]:
        raise RuleViolation("convolution-shapes", image=show_shape(image.shape), kernel=show_shape(kernel.shape))
    batch = broadcast_shapes((image.shape[:-3], kernel.shape[:-4]))
    steps = zip(
        image.shape[-2:], kernel.shape[-2:], _pair(attributes["stride"]), _pair(attributes["dilation"]), strict=True
    )
    extents = tuple(window_count(*item) for item in steps)
    return (TileType(dtype, (*batch, kernel.shape[-4], *extents)),)


def _pair(value: object) -> tuple[int, int]:
    assert isinstance(value, tuple)
    first, second = value
    assert isinstance(first, int) and isinstance(second, int) and first > 0 and second > 0
    return first, second


def window_count(extent: Extent, size: Extent, stride: int, dilation: int) -> int:
    """Return how many windows of `size` elements, `dilation` apart, start `stride` apart inside `extent`."""
    if not isinstance(extent, int) or not isinstance(size, int):
        raise RuleViolation("convolution-extents", extent=extent, size=size)
    reach = dilation * (size - 1) + 1
    if size < 1 or reach > extent:
        raise RuleViolation("convolution-window", reach=reach, extent=extent)
    return (extent - reach) // stride + 1


def attention(types: Types, attributes: Attributes) -> Types:
    """[.., l, e], [.., s, e], [.., s, v] and a mask that broadcasts to [.., l, s] give [.., l, v]."""
    query, key, value, mask = types
    dtype = _one_dtype(types)
    fits = min(query.rank, key.rank, value.rank) >= 2
    if not fits or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        shapes = {"query": query, "key": key, "value": value}
        raise RuleViolation("attention-shapes", **{name: show_shape(type_.shape) for name, type_ in shapes.items()})
    batch = broadcast_shapes((query.shape[:-2], key.shape[:-2], value.shape[:-2]))
    scores = (*batch, query.shape[-2], key.shape[-2])
    start = len(scores) - mask.rank
    if start < 0 or any(a not in (1, b) for a, b in zip(mask.shape, scores[max(0, start) :], strict=False)):
        raise RuleViolation("attention-mask", mask=show_shape(mask.shape), scores=show_shape(scores))
    return (TileType(dtype, (*batch, query.shape[-2], value.shape[-1])),)
