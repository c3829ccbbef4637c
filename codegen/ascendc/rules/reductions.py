"""Reductions of one axis: along rows by repeats, across rows by adding slabs, of integers and of
products along rows one by one."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.ascendc.emission import Emission, only_result
from pypto.ir.nodes import Operation
from pypto.ir.passes.forms import is_row_reduction, reduced_axis
from pypto.ir.passes.layout import stored_rank

SCALAR_STEP = {
    "sum": "{total} = static_cast<int32_t>(static_cast<uint32_t>({total}) + static_cast<uint32_t>({element}));",
    "max": "{total} = {element} > {total} ? {element} : {total};",
    "min": "{total} = {element} < {total} ? {element} : {total};",
    "prod": "{total} = Times({total}, {element});",
}


def row_reduction(helper: str) -> Callable[[Emission, Operation], None]:
    """One call for all rows that follow each other; loops over the axes before them."""

    def rule(emission: Emission, operation: Operation) -> None:
        result, (operand, workspace) = only_result(operation), operation.operands
        row_axis = stored_rank(result.shape) - 1
        rows = result.shape[row_axis] if row_axis >= 0 else 1
        pitch = emission.strides(operand)[row_axis] if row_axis >= 0 else emission.storage(operand)[-1]
        columns = operand.shape[reduced_axis(operation)]
        with emission.loops(result.shape[: max(0, row_axis)]) as positions:
            emission.barrier_between(positions)
            emission.help(
                helper,
                emission.tensor(result, emission.offset(result, positions)),
                emission.tensor(operand, emission.offset(operand, positions)),
                emission.tensor(workspace),
                *(emission.index(number) for number in (rows, columns, pitch)),
            )

    return rule


def reduction(function: str) -> Callable[[Emission, Operation], None]:
    def rule(emission: Emission, operation: Operation) -> None:
        operand = operation.operands[0]
        if is_row_reduction(operand.type, reduced_axis(operation)):
            _by_elements(emission, operation)
        else:
            _across(emission, operation, function)

    return rule


def _across(emission: Emission, operation: Operation, function: str) -> None:
    """The first slab is copied, the others are combined with it."""
    result, (operand,) = only_result(operation), operation.operands
    axis = reduced_axis(operation)
    length = emission.strides(operand)[axis]
    with emission.loops(operand.shape[:axis]) as positions:
        target = emission.tensor(result, emission.offset(result, positions))
        first = emission.offset(operand, (*positions, 0))
        emission.call("DataCopy", target, emission.tensor(operand, first), str(length))
        with emission.loop(operand.shape[axis], start=1) as number:
            source = emission.tensor(operand, emission.offset(operand, (*positions, number)))
            emission.barrier()
            emission.call(function, target, target, source, str(length))


def _by_elements(emission: Emission, operation: Operation) -> None:
    result, (operand,) = only_result(operation), operation.operands
    axis, type_ = reduced_axis(operation), emission.element_type(operand)
    if operation.name == "prod":
        emission.helpers.add("Times")
    with emission.loops(operand.shape[:axis]) as positions:
        total = f"total{next(emission.counter)}"
        tile = emission.tensor(operand)
        first = emission.index(emission.offset(operand, (*positions, 0)))
        emission.line(f"{type_} {total} = {tile}.GetValue({first});")
        with emission.loop(operand.shape[axis], start=1) as number:
            offset = emission.index(emission.offset(operand, (*positions, number)))
            element = f"element{next(emission.counter)}"
            emission.line(f"const {type_} {element} = {tile}.GetValue({offset});")
            emission.line(SCALAR_STEP[operation.name].format(total=total, element=element))
        target = emission.index(emission.offset(result, positions))
        emission.line(f"{emission.tensor(result)}.SetValue({target}, {total});")


RULES: dict[str, Callable[[Emission, Operation], None]] = {
    "row_sum": row_reduction("RowSum"),
    "row_max": row_reduction("RowMax"),
    "row_min": row_reduction("RowMin"),
    "sum": reduction("Add"),
    "prod": reduction("Mul"),
    "max": reduction("Max"),
    "min": reduction("Min"),
}
