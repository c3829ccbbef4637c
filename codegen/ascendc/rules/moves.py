"""Broadcasts, and views and inserts that move elements inside the unified buffer."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.ascendc.emission import Emission, only_result
from pypto.ir.index import Index, add, floor_divide, make, multiply, product
from pypto.ir.nodes import Operation, Value
from pypto.ir.passes.forms import is_alias, moves_rows
from pypto.ir.passes.layout import stored_rank

Positions = tuple[Index, ...]


def broadcast_to(emission: Emission, operation: Operation) -> None:
    """A number in a register fills the tile; otherwise slabs are copied along the one axis that grows."""
    result, (operand,) = only_result(operation), operation.operands
    if operand.buffer is None:
        emission.call("Duplicate", emission.tensor(result), emission.register(operand), emission.count(result))
        return
    (axis,) = (k for k, extent in enumerate(result.shape) if operand.shape[k] != extent)
    length = emission.strides(result)[axis]
    with emission.loops(result.shape[: axis + 1]) as positions:
        source = emission.offset(operand, (*positions[:axis], 0))
        target = emission.offset(result, positions)
        emission.call("DataCopy", emission.tensor(result, target), emission.tensor(operand, source), str(length))


def row_broadcast(emission: Emission, operation: Operation) -> None:
    result, (operand, workspace) = only_result(operation), operation.operands
    row_axis = stored_rank(operand.shape) - 1
    columns = result.shape[stored_rank(result.shape) - 1]
    pitch = emission.strides(result)[row_axis] if row_axis >= 0 else 0
    rows = operand.shape[row_axis] if row_axis >= 0 else 1
    with emission.loops(operand.shape[: max(0, row_axis)]) as positions:
        emission.barrier_between(positions)
        emission.help(
            "RowBroadcast",
            emission.tensor(result, emission.offset(result, positions)),
            emission.tensor(operand, emission.offset(operand, positions)),
            emission.tensor(workspace),
            *(emission.index(number) for number in (rows, columns, pitch)),
        )


def view(emission: Emission, operation: Operation) -> None:
    """Nothing for memory as it is, whole rows by the vector pipe, else element by element."""
    result, (operand,) = only_result(operation), operation.operands
    if is_alias(operation, emission.multiple):
        return
    if operation.name == "slice" and moves_rows(operation, emission.multiple):
        _copy_rows(emission, operation, small=result)
        return
    with emission.loops(result.shape[: stored_rank(result.shape)]) as positions:
        whole = (*positions, *(0 for _ in range(result.type.rank - len(positions))))
        _element(emission, result, whole, operand, _SOURCES[operation.name](operation, whole))


def _element(emission: Emission, result: Value, to: Positions, operand: Value, source: Positions) -> None:
    element = f"{emission.tensor(operand)}.GetValue({emission.index(emission.offset(operand, source))})"
    target = emission.index(emission.offset(result, to))
    emission.line(f"{emission.tensor(result)}.SetValue({target}, {element});")


def _ranges(operation: Operation) -> tuple[tuple[Index, Index, int], ...]:
    return operation.attribute("ranges")  # type: ignore[return-value]  # checked by the verifier


def _in_large(operation: Operation, positions: Positions) -> Positions:
    """Return where in the larger tile of a slice or an insert the element of the smaller one at `positions` is."""
    return tuple(
        add(offset, multiply(position, step))
        for position, (offset, _, step) in zip(positions, _ranges(operation), strict=False)
    )


def _transposed(operation: Operation, positions: Positions) -> Positions:
    permutation = operation.attribute("permutation")
    assert isinstance(permutation, tuple)
    source: list[Index] = [0] * len(positions)
    for position, axis in zip(positions, permutation, strict=True):
        assert isinstance(axis, int)
        source[axis] = position
    return tuple(source)


def _reshaped(operation: Operation, positions: Positions) -> Positions:
    before, after = operation.operands[0].shape, operation.results[0].shape
    number: Index = 0
    for position, extent in zip(positions, after, strict=True):
        number = add(multiply(number, extent), position)
    source: list[Index] = []
    for axis, extent in enumerate(before):
        quotient = floor_divide(number, product(before[axis + 1 :]))
        source.append(make("%", quotient, extent) if axis else quotient)
    return tuple(source)


_SOURCES: dict[str, Callable[[Operation, Positions], Positions]] = {
    "slice": _in_large,
    "transpose": _transposed,
    "reshape": _reshaped,
}


def _copy_rows(emission: Emission, operation: Operation, small: Value) -> None:
    """Whole 32-byte blocks of each row of the smaller tile of a slice or an insert."""
    large = operation.operands[0] if operation.name == "slice" else only_result(operation)
    last = stored_rank(small.shape) - 1
    length = emission.index(emission.rounded(small.shape[last], emission.multiple))
    with emission.loops(small.shape[:last]) as positions:
        at = (*positions, 0)
        large_tile = emission.tensor(large, emission.offset(large, _in_large(operation, at)))
        small_tile = emission.tensor(small, emission.offset(small, at))
        target, source = (small_tile, large_tile) if operation.name == "slice" else (large_tile, small_tile)
        emission.call("DataCopy", target, source, f"static_cast<uint32_t>({length})")


def insert(emission: Emission, operation: Operation) -> None:
    """In place: the result is the base's memory."""
    piece, result = operation.operands[1], only_result(operation)
    if moves_rows(operation, emission.multiple):
        _copy_rows(emission, operation, small=piece)
        return
    with emission.loops(piece.shape[: stored_rank(piece.shape)]) as positions:
        whole = (*positions, *(0 for _ in range(piece.type.rank - len(positions))))
        _element(emission, result, _in_large(operation, whole), piece, whole)


RULES: dict[str, Callable[[Emission, Operation], None]] = {
    "broadcast_to": broadcast_to,
    "row_broadcast": row_broadcast,
    "slice": view,
    "transpose": view,
    "reshape": view,
    "insert": insert,
}
