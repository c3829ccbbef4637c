"""Positions, scans, sorting and indexing in the forms that `codegen/ascendc/rules` emits.

Positions of extremes are made of reductions of numbers along the axis; scans, orders and indexing stay operations, on
whole 32-bit elements, with i32 positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import BOOL, F32, I32, I64, DType
from pypto.ir.nodes import Operation, Value
from pypto.ir.passes import decompose_integers, held_integers
from pypto.ir.passes.decompose_integers import as_number, is_nonzero, number

if TYPE_CHECKING:
    from pypto.ir.passes.decompose import Decomposer

Rule = Callable[["Decomposer", Operation, tuple[Value, ...]], Value]

LARGEST_EXACT = 2**24
"""Numbers up to this one are exact in f32."""


def _axis(operation: Operation) -> int:
    axis = operation.attribute("axis")
    assert isinstance(axis, int)
    return axis


def _extent(rewriter: Decomposer, operation: Operation, value: Value) -> int:
    extent = value.shape[_axis(operation)]
    if not isinstance(extent, int):
        raise UserError("unknown-extent", rewriter.location, kernel=rewriter.kernel.name, extent=extent)
    if extent > LARGEST_EXACT:
        details = {"operation": operation.name, "dtype": value.dtype.long_name}
        alternative = f"use axes of at most {LARGEST_EXACT} elements"
        raise UserError("npu-operation", rewriter.location, alternative=alternative, **details)
    return extent


def _whole_elements(rewriter: Decomposer, value: Value) -> Value:
    """Return `value` with an address for each element: booleans, which are bits, as numbers."""
    return as_number(rewriter, value, F32) if value.dtype == BOOL else value


def along(rewriter: Decomposer, rank: int, axis: int, extent: int) -> Value:
    """Return 0, 1, 2, ... as i32 along one axis, the others of extent 1."""
    shape = tuple(extent if k == axis else 1 for k in range(rank))
    return rewriter.call("iota", axis=axis, dtype=I32, shape=shape)


def iota(rewriter: Decomposer, operation: Operation, operands: tuple[Value, ...]) -> Value:
    result, axis = operation.results[0], _axis(operation)
    extent = result.shape[axis]
    if not isinstance(extent, int):
        raise UserError("unknown-extent", rewriter.location, kernel=rewriter.kernel.name, extent=extent)
    made = along(rewriter, result.type.rank, axis, extent)
    made = decompose_integers.fit(rewriter, made, I32 if result.dtype == I64 else result.dtype)
    if made.shape != result.shape:
        made = rewriter.call("broadcast_to", made, shape=result.shape)
    return held_integers.note(rewriter, made, (0, max(0, extent - 1))) if result.dtype == I64 else made


def _position(extreme: str) -> Rule:
    """The smallest number along the axis where the extreme is. Where NaN is it is lowered below all others, so that the
    first NaN comes first, whatever the device's Max makes of one."""

    def rule(rewriter: Decomposer, operation: Operation, operands: tuple[Value, ...]) -> Value:
        x = _whole_elements(rewriter, operands[0])
        axis, extent = _axis(operation), _extent(rewriter, operation, operands[0])
        if extent == 1:
            made = rewriter.call("constant", dtype=I32, value=0, shape=operation.results[0].shape)
            return held_integers.note(rewriter, made, (0, 0))
        wanted = rewriter.call("eq", x, rewriter.call(extreme, x, axes=(axis,)))
        numbers = rewriter.call("cast", along(rewriter, x.type.rank, axis, extent), dtype=F32)
        far = number(rewriter, F32, LARGEST_EXACT)
        there = rewriter.call("where", wanted, numbers, far)
        if operation.operands[0].dtype == F32:
            lowered = rewriter.call("sub", numbers, far)
            there = rewriter.call("where", rewriter.call("ne", x, x), lowered, there)
        first = rewriter.call("min", there, axes=(axis,))
        if operation.operands[0].dtype == F32:
            below = rewriter.call("lt", first, number(rewriter, F32, 0.0))
            first = rewriter.call("where", below, rewriter.call("add", first, far), first)
        return held_integers.note(rewriter, rewriter.call("cast", first, dtype=I32), (0, extent - 1))

    return rule


def scan(rewriter: Decomposer, operation: Operation, operands: tuple[Value, ...]) -> Value:
    before = operation.operands[0].dtype
    (x,) = held_integers.all_held(rewriter, operands, operation.name)
    if x.shape[_axis(operation)] == 1:
        return x
    made = rewriter.call(operation.name, x, **dict(operation.attributes))
    if before != I64:
        return decompose_integers.wrap(rewriter, made, operation.name, before)
    extent = _extent(rewriter, operation, x)
    low, high = held_integers.interval_of(rewriter, x)
    interval = (min(low, low * extent), max(high, high * extent))
    if operation.name == "cumprod" or not held_integers.fits(interval):
        return held_integers.refuse(rewriter, operation.name)
    return held_integers.note(rewriter, made, interval)


def argsort(rewriter: Decomposer, operation: Operation, operands: tuple[Value, ...]) -> Value:
    (x,) = held_integers.all_held(rewriter, operands, operation.name)
    extent = _extent(rewriter, operation, x)
    order = rewriter.call("argsort", _whole_elements(rewriter, x), **dict(operation.attributes))
    return held_integers.note(rewriter, rewriter.call("cast", order, dtype=I32), (0, max(0, extent - 1)))


def indexing(rewriter: Decomposer, operation: Operation, operands: tuple[Value, ...]) -> Value:
    """Gather and scatter; a scatter of nothing is its operand."""
    dtype = operation.operands[0].dtype
    x, indices, *updates = held_integers.all_held(rewriter, operands, operation.name)
    if updates and any(0 in value.shape for value in (indices, *updates)):
        return x
    tiles = [_whole_elements(rewriter, value) for value in (x, *updates)]
    made = rewriter.call(operation.name, tiles[0], indices, *tiles[1:], **dict(operation.attributes))
    if dtype == BOOL:
        return is_nonzero(rewriter, made)
    if dtype == I64:
        if operation.name == "scatter_add":
            return held_integers.refuse(rewriter, operation.name)
        return held_integers.note(rewriter, made, held_integers.union(rewriter, (x, *updates)))
    return _fitted(rewriter, operation, made, dtype)


def _fitted(rewriter: Decomposer, operation: Operation, made: Value, dtype: DType) -> Value:
    return decompose_integers.wrap(rewriter, made, operation.name, dtype) if operation.name == "scatter_add" else made


RULES: dict[str, Rule] = {
    "iota": iota,
    "argmax": _position("max"),
    "argmin": _position("min"),
    "cumsum": scan,
    "cumprod": scan,
    "argsort": argsort,
    "gather": indexing,
    "scatter": indexing,
    "scatter_add": indexing,
}
