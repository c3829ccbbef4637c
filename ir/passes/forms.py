"""How an operation on tiles is carried out: by no instruction, on whole rows by the vector pipe, or element by element.

Shared by the passes below level *tile* and by the emitter, so that all agree on pipes.
"""

from __future__ import annotations

from pypto.ir.dtypes import F32
from pypto.ir.index import Extent
from pypto.ir.nodes import Attribute, Operation, Region, TileType
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.layout import stored_rank

ALIAS_CANDIDATES = frozenset(("reshape", "transpose", "slice"))

IN_BASE = frozenset(("insert", "scatter", "scatter_add"))
"""Operations that change their first operand where it lies."""

SCALAR_OPERATIONS = frozenset(
    ("gather", "gcd", "pow", "row_order", "scatter", "scatter_add", "shift_left", "shift_right")
)
"""Operations that the vector pipe has no exact instruction for."""


def moving_axes(shape: tuple[Extent, ...]) -> list[Extent]:
    return [extent for extent in shape if extent != 1]


def is_contiguous(shape: tuple[Extent, ...], multiple: int) -> bool:
    """Return whether storage of `shape` has no padding between rows."""
    rank = stored_rank(shape)
    if rank <= 1:
        return True
    last = shape[rank - 1]
    return isinstance(last, int) and last % multiple == 0


def is_alias(operation: Operation, multiple: int) -> bool:
    """Return whether the result of a view is its operand's memory as it is."""
    if operation.name == "fixpipe":
        return True
    if operation.name not in ALIAS_CANDIDATES:
        return False
    before, after = operation.operands[0].shape, operation.results[0].shape
    if operation.name == "slice":
        return is_prefix(before, operation.attribute("ranges"), after)
    if operation.name == "transpose" and not _keeps_order(operation, before):
        return False
    if moving_axes(before) == moving_axes(after):
        return True
    return operation.name == "reshape" and is_contiguous(before, multiple) and is_contiguous(after, multiple)


def _keeps_order(operation: Operation, shape: tuple[Extent, ...]) -> bool:
    permutation = operation.attribute("permutation")
    assert isinstance(permutation, tuple)
    moving = [axis for axis in permutation if isinstance(axis, int) and shape[axis] != 1]
    return moving == sorted(moving)


def is_prefix(before: tuple[Extent, ...], ranges: Attribute, after: tuple[Extent, ...]) -> bool:
    """Return whether a slice keeps everything but the end of the first moving axis, which moves no element."""
    assert isinstance(ranges, tuple)
    if any(not isinstance(item, tuple) or item[0] != 0 or item[2] != 1 for item in ranges):
        return False
    changed = [axis for axis, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    leading = all(extent == 1 for extent in before[: changed[0]]) if changed else True
    return not changed or (len(changed) == 1 and leading and stored_rank(before) == stored_rank(after))


def is_repeated_row(shape: tuple[Extent, ...], whole: tuple[Extent, ...]) -> bool:
    """Return whether a tile of `shape` is one row that is combined with each row of a tile of the shape `whole`."""
    last = stored_rank(whole) - 1
    aligned = (1,) * (len(whole) - len(shape)) + shape
    is_row = last > 0 and all(extent == 1 for extent in aligned[:last]) and aligned[last:] == whole[last:]
    return is_row and shape != whole and any(extent != 1 for extent in whole[:last])


def is_dense(region: Region, rank: int, shape: tuple[Extent, ...]) -> bool:
    """Return whether neighbours along the last of `rank` stored axes of a region are neighbours in its array."""
    return not rank or (region[rank - 1].step == 1 and all(extent == 1 for extent in shape[rank:]))


def moves_rows(operation: Operation, multiple: int) -> bool:
    """Return whether a slice or an insert moves whole 32-byte blocks of rows, which the vector pipe copies."""
    large = operation.operands[0].shape
    small = operation.results[0].shape if operation.name == "slice" else operation.operands[1].shape
    rank = stored_rank(large)
    ranges = operation.attribute("ranges")
    if rank == 0 or rank != stored_rank(small) or not isinstance(ranges, tuple):
        return False
    last = ranges[rank - 1]
    assert isinstance(last, tuple)
    offset, extent, step = last
    if step != 1 or not isinstance(offset, int) or offset % multiple:
        return False
    if operation.name == "slice" or (offset == 0 and extent == large[rank - 1]):
        return True
    ends_row = isinstance(extent, int) and offset + extent == large[rank - 1]
    return ends_row or (isinstance(extent, int) and extent % multiple == 0)


def is_row_reduction(type_: TileType, axis: int) -> bool:
    """Return whether reducing `axis` goes along the last stored axis."""
    return axis == stored_rank(type_.shape) - 1


def reduced_axis(operation: Operation) -> int:
    """Return the one axis that a reduction has left after decomposition."""
    axes = operation.attribute("axes")
    assert isinstance(axes, tuple)
    (axis,) = axes
    assert isinstance(axis, int)
    return axis


def attribute_axis(operation: Operation) -> int:
    """Return the attribute ``axis`` of a scan, an order, or the like."""
    axis = operation.attribute("axis")
    assert isinstance(axis, int)
    return axis


def by_elements(operation: Operation, multiple: int) -> bool:
    """Return whether an operation on tiles goes element by element through the scalar unit: slow, for any shape."""
    if operation.name in ("reshape", "transpose"):
        return True
    if operation.name in ("slice", "insert"):
        return not moves_rows(operation, multiple)
    if operation.name in SCALAR_OPERATIONS:
        return True
    if TABLE[operation.name].category is Category.SCAN:
        return operation.attribute("axis") == stored_rank(operation.operands[0].shape) - 1
    if operation.name in ("sum", "max", "min", "prod"):
        operand = operation.operands[0]
        return is_row_reduction(operand.type, reduced_axis(operation)) and (
            operand.dtype != F32 or operation.name == "prod"
        )
    return False
