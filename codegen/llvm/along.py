"""From operations along one axis (positions of extremes, scans, sorting, scattering) to tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from pypto.codegen.llvm import affine, usage
from pypto.codegen.llvm.evaluation import Evaluation, broadcast, extents
from pypto.codegen.llvm.program import Access, Array, NodeKind, Task
from pypto.ir.dtypes import BOOL, I32, I64, DType
from pypto.ir.nodes import Attribute, Operation, TileType, Value
from pypto.ir.operations.rules import broadcast_shapes

if TYPE_CHECKING:
    from pypto.codegen.llvm.lowering import Lowering


def lower_along(lowering: Lowering, statement: Operation, value: Value) -> None:
    """Append the tasks of an operation along attribute ``axis`` and define its value."""
    RULES[statement.name](lowering, statement, value)


# -- positions


def _position(lowering: Lowering, statement: Operation, value: Value) -> None:
    """The extreme first, then the smallest position where it is; a NaN is the extreme where there is one."""
    (operand,) = statement.operands
    axis, extent = _axis(statement), extents(operand.shape)[_axis(statement)]
    maker = _Maker(lowering, value.name)
    dtype = I32 if extent < 1 << 31 else I64
    extreme = "max" if statement.name == "argmax" else "min"
    best = maker.stored(lowering.reduce(operand, (axis,), extreme, TileType(operand.dtype, value.shape)))
    found = maker.make("eq", BOOL, operand.shape, operand, best)
    if operand.dtype.is_float:
        found = maker.make("or", BOOL, operand.shape, found, maker.make("ne", BOOL, operand.shape, operand, operand))
    numbers = tuple(extent if number == axis else 1 for number in range(operand.type.rank))
    place = maker.make("iota", dtype, numbers, axis=axis, dtype=dtype, shape=numbers)
    none = maker.make("constant", dtype, (), dtype=dtype, value=extent)
    candidate = maker.make("where", dtype, operand.shape, found, place, none)
    first = maker.stored(lowering.reduce(candidate, (axis,), "min", TileType(dtype, value.shape)))
    lowering.definitions[value.name] = Operation("cast", (first,), (value,), (("dtype", I64),))


class _Maker:
    """Defines values that no statement of the kernel has."""

    def __init__(self, lowering: Lowering, stem: str) -> None:
        self.lowering, self.stem, self.count = lowering, stem, 0

    def value(self, dtype: DType, shape: tuple[object, ...]) -> Value:
        self.count += 1
        return Value(f"{self.stem}.{self.count}", TileType(dtype, shape))  # type: ignore[arg-type]  # extents

    def make(
        self, name: str, result: DType, extent: tuple[object, ...], /, *operands: Value, **attributes: Attribute
    ) -> Value:
        made = self.value(result, extent)
        self.lowering.definitions[made.name] = Operation(name, operands, (made,), tuple(sorted(attributes.items())))
        return made

    def stored(self, array: Array) -> Value:
        made = self.value(array.dtype, array.shape)
        self.lowering.definitions[made.name] = array
        return made


# -- scans and sorting


def _scan(lowering: Lowering, statement: Operation, value: Value) -> None:
    (operand,) = statement.operands
    array = lowering.local(value.type)
    lowering.definitions[value.name] = array
    if extents(operand.shape)[_axis(statement)] == 1:
        lowering.write(operand, lambda point: Access(array, point))
        return
    _append(lowering, statement, array)


def _append(lowering: Lowering, statement: Operation, array: Array) -> None:
    """Append the task that walks the operand along the axis."""
    (operand,) = statement.operands
    if usage.elements(operand) == 0 or 0 in array.shape:
        return
    axes, point = lowering.axes(operand.shape, (_axis(statement),))
    evaluation = lowering.evaluation()
    result = evaluation.evaluate(operand, point)
    if any(node.kind is NodeKind.CHECKED for node in evaluation.nodes):
        # Walking an axis reads its elements in an order of its own, where an index would be checked again and again.
        gathered = lowering.local(operand.type)
        lowering.write(operand, lambda index: Access(gathered, index))
        lowering.definitions[operand.name] = gathered
        evaluation = lowering.evaluation()
        result = evaluation.evaluate(operand, point)
    settings = tuple(item for item in statement.attributes if item[0] != "axis")
    task = Task(Access(array, point), axes, tuple(evaluation.nodes), result, statement.name, settings)
    lowering.output.append(task)


def _sort(lowering: Lowering, statement: Operation, value: Value) -> None:
    """Of one element the order is known."""
    if extents(statement.operands[0].shape)[_axis(statement)] == 1:
        attributes = (("dtype", I64), ("shape", value.shape), ("value", 0))
        lowering.definitions[value.name] = Operation("constant", (), (value,), attributes)
        return
    array = lowering.local(value.type)
    lowering.definitions[value.name] = array
    _append(lowering, statement, array)


# -- scattering


def _scatter(lowering: Lowering, statement: Operation, value: Value) -> None:
    base, indices, updates = statement.operands
    array = lowering.owned(base, statement)
    if array is None:
        array = lowering.local(value.type)
        lowering.initialise(base, array)
    task = _scattering(lowering, statement, array, indices, updates)
    if task is not None and any(access.array is array for access in task.reads):
        saved = lowering.saved(indices), lowering.saved(updates)
        task = _scattering(lowering, statement, array, *saved)
    if task is not None:
        lowering.output.append(task)
    lowering.definitions[value.name] = array


def _scattering(lowering: Lowering, statement: Operation, array: Array, indices: Value, updates: Value) -> Task | None:
    base, axis = statement.operands[0], _axis(statement)
    steps = extents(broadcast_shapes((indices.shape, updates.shape)))
    shape = (*extents(base.shape)[:axis], steps[axis], *extents(base.shape)[axis + 1 :])
    if 0 in shape:
        return None
    axes, point = lowering.axes(shape, (axis,))
    evaluation: Evaluation = lowering.evaluation()
    place = broadcast(indices, point)
    evaluation.evaluate(indices, place)
    target = list(point)
    target[axis] = affine.symbol(evaluation.check(statement, base, indices, place))
    result = evaluation.evaluate(updates, broadcast(updates, point))
    return Task(Access(array, tuple(target)), axes, tuple(evaluation.nodes), result, statement.name)


def _axis(statement: Operation) -> int:
    return cast("int", statement.attribute("axis"))


RULES: dict[str, Callable[[Lowering, Operation, Value], None]] = {
    "argmax": _position,
    "argmin": _position,
    "cumsum": _scan,
    "cumprod": _scan,
    "argsort": _sort,
    "scatter": _scatter,
    "scatter_add": _scatter,
}
