"""Where the elements of a value lie in the unified buffer.

The storage shape of a value drops trailing axes of extent 1 and rounds the last axis left up to whole 32-byte blocks of
the smallest element type in the kernel, so that values of one shape have one pitch whatever their dtype and flat
elementwise instructions over whole padded rows line up. Extents that vary are stored at their largest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import BOOL, U8, DType
from pypto.ir.index import Bounds, Extent, Index, Symbol, bounds
from pypto.ir.nodes import For, Kernel, Load, Operation, Space, Statement, Store, Value, results, walk
from pypto.ir.passes.limits import ASCEND_910B1

Ranges = Mapping[Symbol, Bounds]


def stored_rank(shape: tuple[Extent, ...]) -> int:
    """Return the number of axes that storage has: trailing axes of extent 1 take no part."""
    rank = len(shape)
    while rank and shape[rank - 1] == 1:
        rank -= 1
    return rank


def symbol_ranges(kernel: Kernel) -> dict[Symbol, Bounds]:
    """Return the interval of every grid symbol and loop index of `kernel`; raises UserError for unknown extents."""
    ranges: dict[Symbol, Bounds] = {}
    for axis in kernel.grid:
        ranges[axis.symbol] = (0, max(0, largest(axis.extent, ranges, kernel) - 1))
    for statement in walk(kernel.body):
        if isinstance(statement, For):
            low = bounds(statement.start, ranges)
            high = largest(statement.stop, ranges, kernel)
            first = low[0] if low else 0
            ranges[statement.index] = (first, max(first, high - 1))
    return ranges


def largest(index: Index, ranges: Ranges, kernel: Kernel) -> int:
    """Return an upper bound of `index`; raises UserError when an extent in it is not known."""
    found = bounds(index, ranges)
    if found is None:
        raise UserError("unknown-extent", kernel.location, kernel=kernel.name, extent=index)
    return found[1]


def row_multiple(kernel: Kernel) -> int:
    """Return the number of elements that rows in the unified buffer are padded to a multiple of: whole blocks of the
    smallest elements. Kernels that are to be parts of one agree on it by the attribute ``row_multiple``."""
    elsewhere = {buffer.name for buffer in kernel.buffers if buffer.space is not Space.UB}
    smallest = 4
    for statement in walk(kernel.body):
        for value in stored_values(statement):
            if value.buffer not in elsewhere:
                smallest = min(smallest, value.dtype.bytes)
    agreed = dict(kernel.attributes).get("row_multiple")
    return max(ASCEND_910B1.block_bytes // smallest, agreed if isinstance(agreed, int) else 0)


def stored_values(statement: Statement) -> tuple[Value, ...]:
    """Return the values of `statement` that take memory by their dtype: all but booleans, which are bits, unless they
    come from or go to global memory, where they are bytes."""
    if isinstance(statement, Load):
        return (statement.result,)
    if isinstance(statement, Store):
        return (statement.value,)
    return tuple(value for value in results(statement) if value.shape and value.dtype != BOOL)


def storage_shape(shape: tuple[Extent, ...], multiple: int, ranges: Ranges, kernel: Kernel) -> tuple[int, ...]:
    """Return the storage shape of a value of `shape` in `kernel`, its last axis rounded up to `multiple` elements."""
    rank = stored_rank(shape)
    if not rank:
        return (multiple,)
    extents = [max(0, largest(extent, ranges, kernel)) for extent in shape[:rank]]
    extents[-1] = -(-extents[-1] // multiple) * multiple
    return tuple(extents)


def strides(storage: tuple[int, ...]) -> tuple[int, ...]:
    """Return the distance in elements between neighbours along each axis of `storage`."""
    return tuple(math.prod(storage[axis + 1 :]) for axis in range(len(storage)))


def is_bytes(value: Value, producer: Statement) -> bool:
    """Return whether a boolean value lies in memory as one byte per element: straight from or for global memory."""
    from_cast = isinstance(producer, Operation) and producer.name == "cast"
    return value.dtype == BOOL and (isinstance(producer, Load) or from_cast)


def buffer_dtype(value: Value, producer: Statement) -> DType:
    """Return the element type of the buffer of `value`; BOOL there means packed bits."""
    return U8 if is_bytes(value, producer) else value.dtype
