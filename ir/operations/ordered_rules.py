"""Type rules of the operations along one axis: positions, scans, sorting, and choosing elements by index."""

from __future__ import annotations

from pypto.ir.dtypes import I32, I64
from pypto.ir.index import Extent
from pypto.ir.nodes import TileType
from pypto.ir.operations.definition import Attributes, RuleViolation
from pypto.ir.operations.rules import broadcast_shapes, show_shape

Types = tuple[TileType, ...]


def _axis(attributes: Attributes) -> int:
    axis = attributes["axis"]
    assert isinstance(axis, int)
    return axis


def position(types: Types, attributes: Attributes) -> Types:
    """The axis stays, with extent 1; an empty one is an error."""
    axis, shape = _axis(attributes), types[0].shape
    if shape[axis] == 0:
        raise RuleViolation("empty-reduction", axis=axis, shape=show_shape(shape))
    return (TileType(I64, (*shape[:axis], 1, *shape[axis + 1 :])),)


def scan(types: Types, attributes: Attributes) -> Types:
    assert 0 <= _axis(attributes) < types[0].rank
    return types


def order(types: Types, attributes: Attributes) -> Types:
    """Attribute ``count``: how many positions of the order are wanted, at most the extent of the axis."""
    axis, shape, count = _axis(attributes), types[0].shape, attributes["count"]
    assert isinstance(count, int) and count >= 0
    extent = shape[axis]
    if isinstance(extent, int) and count > extent:
        raise RuleViolation("too-many-wanted", count=count, axis=axis, extent=extent)
    return (TileType(I64, (*shape[:axis], count, *shape[axis + 1 :])),)


def gather(types: Types, attributes: Attributes) -> Types:
    """Along the axis the result has the extent of the indices; the other axes broadcast."""
    x, indices = types
    _check_indices(types, attributes)
    axis = _axis(attributes)
    if x.shape[axis] == 0 and 0 not in indices.shape:
        raise RuleViolation("empty-indexed", axis=axis, shape=show_shape(x.shape))
    around = broadcast_shapes((_without(x, axis), _without(indices, axis)))
    return (TileType(x.dtype, (*around[:axis], indices.shape[axis], *around[axis:])),)


def scatter(types: Types, attributes: Attributes) -> Types:
    """The result is like the first operand; indices and updates broadcast to each other, and but for the axis to it."""
    x, indices, updates = types
    _check_indices(types, attributes)
    if updates.dtype != x.dtype:
        raise RuleViolation("dtype-mismatch", dtypes=f"{x.dtype} and {updates.dtype}")
    axis = _axis(attributes)
    steps = broadcast_shapes((indices.shape, updates.shape))
    around = (*steps[:axis], *steps[axis + 1 :])
    if broadcast_shapes((_without(x, axis), around)) != _without(x, axis):
        raise RuleViolation("shape-mismatch", shapes=f"{show_shape(x.shape)} and {show_shape(steps)}")
    if x.shape[axis] == 0 and 0 not in steps:
        raise RuleViolation("empty-indexed", axis=axis, shape=show_shape(x.shape))
    return (x,)


def _without(type_: TileType, axis: int) -> tuple[Extent, ...]:
    return (*type_.shape[:axis], *type_.shape[axis + 1 :])


def _check_indices(types: Types, attributes: Attributes) -> None:
    indices = types[1]
    if indices.dtype not in (I32, I64):
        raise RuleViolation("index-dtype", dtype=indices.dtype)
    if any(type_.rank != types[0].rank for type_ in types):
        raise RuleViolation("index-rank", rank=types[0].rank, other=indices.rank)
    assert 0 <= _axis(attributes) < types[0].rank
