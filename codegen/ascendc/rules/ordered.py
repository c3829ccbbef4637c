"""Scans and orders: across rows by the vector pipe, along rows by device functions on the scalar unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pypto.codegen.ascendc.emission import Emission, only_result
from pypto.ir.index import Extent, Index, subtract
from pypto.ir.nodes import Operation, Value
from pypto.ir.passes.forms import attribute_axis, by_elements
from pypto.ir.passes.layout import stored_rank

Positions = tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What a device function needs to know of the elements of a tile along one axis: tile, first element, distance."""

    arguments: tuple[str, str, str]

    @staticmethod
    def of(emission: Emission, value: Value, axis: int, positions: Positions) -> Line:
        """`positions` are those on all other axes, and any number on `axis`."""
        at = tuple(0 if k == axis else position for k, position in enumerate(positions))
        first = emission.index(emission.offset(value, at))
        return Line((emission.tensor(value), first, str(emission.strides(value)[axis])))


def around(shape: tuple[Extent, ...], axis: int) -> tuple[Extent, ...]:
    """Return the extents to loop over so that each line along `axis` is met once."""
    return tuple(1 if k == axis else extent for k, extent in enumerate(shape))


def scan(helper: str, function: str) -> Callable[[Emission, Operation], None]:
    def rule(emission: Emission, operation: Operation) -> None:
        if not by_elements(operation, emission.multiple):
            _scan_across(emission, operation, function)
            return
        result, (operand,), axis = only_result(operation), operation.operands, attribute_axis(operation)
        with emission.loops(around(result.shape[: stored_rank(result.shape)], axis)) as positions:
            to = Line.of(emission, result, axis, positions).arguments
            source = Line.of(emission, operand, axis, positions).arguments
            emission.help(helper, *to, *source, emission.index(operand.shape[axis]))

    return rule


def _scan_across(emission: Emission, operation: Operation, function: str) -> None:
    """The first slab is copied, each other one is the one before combined with the operand's."""
    result, (operand,), axis = only_result(operation), operation.operands, attribute_axis(operation)
    length = str(emission.strides(operand)[axis])
    with emission.loops(operand.shape[:axis]) as positions:
        target = emission.tensor(result, emission.offset(result, (*positions, 0)))
        first = emission.tensor(operand, emission.offset(operand, (*positions, 0)))
        emission.call("DataCopy", target, first, length)
        with emission.loop(operand.shape[axis], start=1) as number:
            emission.barrier()
            slab = emission.tensor(result, emission.offset(result, (*positions, number)))
            above = emission.tensor(result, emission.offset(result, (*positions, subtract(number, 1))))
            source = emission.tensor(operand, emission.offset(operand, (*positions, number)))
            emission.call(function, slab, above, source, length)


def row_order(emission: Emission, operation: Operation) -> None:
    result, (operand, workspace), axis = only_result(operation), operation.operands, attribute_axis(operation)
    count, descending = operation.attribute("count"), operation.attribute("descending")
    with emission.loops(around(operand.shape, axis)) as positions:
        to = Line.of(emission, result, axis, positions).arguments
        source = Line.of(emission, operand, axis, positions).arguments
        order = "true" if descending else "false"
        numbers = (emission.index(operand.shape[axis]), str(count), order)
        emission.help("RowOrder", *to, *source, emission.tensor(workspace), *numbers)


RULES: dict[str, Callable[[Emission, Operation], None]] = {
    "cumsum": scan("CumulativeSum", "Add"),
    "cumprod": scan("CumulativeProduct", "Mul"),
    "row_order": row_order,
}
