"""Type rules: from operand types and attributes to result types. Each raises RuleViolation where the operands do
not fit.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.ir.dtypes import BOOL, DType
from pypto.ir.index import Extent, add, product
from pypto.ir.nodes import TileType
from pypto.ir.operations.definition import Attributes, InferTypes, RuleViolation

Types = tuple[TileType, ...]


def broadcast_extent(left: Extent, right: Extent) -> Extent | None:
    """Return the common extent of two aligned axes, or None when they differ and neither is 1."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    return None


def broadcast_shapes(shapes: tuple[tuple[Extent, ...], ...]) -> tuple[Extent, ...]:
    """Return the common shape of right-aligned shapes by NumPy's rule; raises RuleViolation ``shape-mismatch``."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Extent] = [1] * rank
    for shape in shapes:
        start = rank - len(shape)
        for axis, extent in enumerate(shape):
            common = broadcast_extent(result[start + axis], extent)
            if common is None:
                raise RuleViolation("shape-mismatch", shapes=show_shapes(shapes))
            result[start + axis] = common
    return tuple(result)


def show_shapes(shapes: tuple[tuple[Extent, ...], ...]) -> str:
    return " and ".join(show_shape(shape) for shape in shapes)


def show_shape(shape: tuple[Extent, ...]) -> str:
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def elementwise(result: Callable[[DType], DType] = lambda dtype: dtype) -> InferTypes:
    """All operands have one dtype and broadcast; the result's dtype is a function of theirs."""

    def infer(types: Types, attributes: Attributes) -> Types:
        dtypes = {type_.dtype for type_ in types}
        if len(dtypes) > 1:
            raise RuleViolation("dtype-mismatch", dtypes=" and ".join(sorted(map(str, dtypes))))
        shape = broadcast_shapes(tuple(type_.shape for type_ in types))
        return (TileType(result(types[0].dtype), shape),)

    return infer


def comparison(types: Types, attributes: Attributes) -> Types:
    return elementwise(lambda _: BOOL)(types, attributes)


def where(types: Types, attributes: Attributes) -> Types:
    condition, left, right = types
    if condition.dtype != BOOL:
        raise RuleViolation("condition-dtype", dtype=condition.dtype)
    if left.dtype != right.dtype:
        raise RuleViolation("dtype-mismatch", dtypes=f"{left.dtype} and {right.dtype}")
    return (TileType(left.dtype, broadcast_shapes((condition.shape, left.shape, right.shape))),)


def cast(types: Types, attributes: Attributes) -> Types:
    dtype = attributes["dtype"]
    assert isinstance(dtype, DType)
    return (TileType(dtype, types[0].shape),)


def _axes(attributes: Attributes) -> tuple[int, ...]:
    axes = attributes["axes"]
    assert isinstance(axes, tuple)
    return tuple(axis for axis in axes if isinstance(axis, int))


def reduction(types: Types, attributes: Attributes) -> Types:
    """Reduced axes stay, with extent 1."""
    axes = _axes(attributes)
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(types[0].shape))
    return (TileType(types[0].dtype, shape),)


def ordered_reduction(types: Types, attributes: Attributes) -> Types:
    """A reduction without an identity (max, min): an empty axis is an error."""
    for axis in _axes(attributes):
        if types[0].shape[axis] == 0:
            raise RuleViolation("empty-reduction", axis=axis, shape=show_shape(types[0].shape))
    return reduction(types, attributes)


def _shape(attributes: Attributes) -> tuple[Extent, ...]:
    shape = attributes["shape"]
    assert isinstance(shape, tuple)
    return shape  # type: ignore[return-value]  # the verifier checks that a shape holds extents


def reshape(types: Types, attributes: Attributes) -> Types:
    shape = _shape(attributes)
    before, after = product(types[0].shape), product(shape)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        raise RuleViolation("reshape-size", before=show_shape(types[0].shape), after=show_shape(shape))
    return (TileType(types[0].dtype, shape),)


def transpose(types: Types, attributes: Attributes) -> Types:
    permutation = attributes["permutation"]
    assert isinstance(permutation, tuple)
    if sorted(axis for axis in permutation if isinstance(axis, int)) != list(range(types[0].rank)):
        raise RuleViolation("transpose-axes", axes=permutation, rank=types[0].rank)
    shape = tuple(types[0].shape[axis] for axis in permutation if isinstance(axis, int))
    return (TileType(types[0].dtype, shape),)


def broadcast_to(types: Types, attributes: Attributes) -> Types:
    shape = _shape(attributes)
    if broadcast_shapes((types[0].shape, shape)) != shape:
        raise RuleViolation("shape-mismatch", shapes=show_shapes((types[0].shape, shape)))
    return (TileType(types[0].dtype, shape),)


def slice_(types: Types, attributes: Attributes) -> Types:
    """Attribute ``ranges``: one (offset, extent, step) per axis."""
    ranges = attributes["ranges"]
    assert isinstance(ranges, tuple)
    shape = tuple(item[1] for item in ranges if isinstance(item, tuple))
    return (TileType(types[0].dtype, shape),)  # type: ignore[arg-type]  # extents, as the verifier checks


def insert(types: Types, attributes: Attributes) -> Types:
    """Attribute ``ranges`` says where in the first operand the second one goes; the result has the first one's type."""
    base, piece = types
    if base.dtype != piece.dtype:
        raise RuleViolation("dtype-mismatch", dtypes=f"{base.dtype} and {piece.dtype}")
    return (base,)


def pad(types: Types, attributes: Attributes) -> Types:
    """Attributes ``low`` and ``high``: elements added before and after each axis, never negative."""
    low, high = attributes["low"], attributes["high"]
    assert isinstance(low, tuple) and isinstance(high, tuple)
    shape: list[Extent] = []
    for extent, before, after in zip(types[0].shape, low, high, strict=True):
        assert isinstance(before, int) and isinstance(after, int)
        shape.append(add(extent, before + after))
    return (TileType(types[0].dtype, tuple(shape)),)


def concat(types: Types, attributes: Attributes) -> Types:
    axis = attributes["axis"]
    assert isinstance(axis, int)
    first = types[0]
    for type_ in types[1:]:
        same = all(a == b for k, (a, b) in enumerate(zip(first.shape, type_.shape, strict=False)) if k != axis)
        if type_.rank != first.rank or not same:
            raise RuleViolation("shape-mismatch", shapes=show_shapes(tuple(item.shape for item in types)))
        if type_.dtype != first.dtype:
            raise RuleViolation("dtype-mismatch", dtypes=f"{first.dtype} and {type_.dtype}")
    total: Extent = 0
    for type_ in types:
        total = add(total, type_.shape[axis])
    return (TileType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :])),)


def constant(types: Types, attributes: Attributes) -> Types:
    """A scalar of attribute ``dtype``; attribute ``shape`` is optional and () by default."""
    dtype = attributes["dtype"]
    assert isinstance(dtype, DType)
    shape = attributes.get("shape", ())
    assert isinstance(shape, tuple)
    return (TileType(dtype, shape),)  # type: ignore[arg-type]  # extents, as the verifier checks


def nothing(types: Types, attributes: Attributes) -> Types:
    return ()
