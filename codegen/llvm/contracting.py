"""From contractions of tile values to tasks: matrix products and convolutions (attention: `attending.py`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, cast

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.contraction_shape import MOST_ROWS, roles, spread_out
from pypto.codegen.llvm.evaluation import Definition, Evaluation, Point, broadcast, extents
from pypto.codegen.llvm.program import Access, Array, Axis, Home, Node, NodeKind, Statement, Task
from pypto.ir.dtypes import DType
from pypto.ir.index import Index, Symbol
from pypto.ir.nodes import Operation, TileType, Value


class Lowering(Protocol):
    """What of the lowering is needed here."""

    definitions: dict[str, Definition]
    output: list[Statement]

    def local(self, type_: TileType) -> Array: ...

    def symbol(self, stem: str, limits: affine.Bounds | None) -> Symbol: ...

    def axes(self, shape: tuple[Index, ...], reduced: tuple[int, ...] = ()) -> tuple[tuple[Axis, ...], Point]: ...

    def evaluation(self) -> Evaluation: ...


def lower_contraction(lowering: Lowering, statement: Operation, value: Value) -> None:
    """Append the tasks of a contraction and say where its value is."""
    depth = _depth(statement)
    if 0 in extents(value.shape) or 0 in depth:
        lowering.definitions[value.name] = zeros(value)
        return
    kept, place = lowering.axes(value.shape)
    summed, position = lowering.axes(depth, tuple(range(len(depth))))
    x, w = statement.operands
    if statement.name == "matmul":
        (k,) = position
        points = (*place[:-1], k), (*place[:-2], k, place[-1])
    else:
        # The kernels come first: outputs are rows, positions along the last axis columns.
        points, (x, w) = _windows(statement, place, position), (w, x)
        if x.dtype == value.dtype:
            x, points = _laid_out(lowering, x, value, points)
    task = product(lowering, ((x, points[0]), (w, points[1])), value.dtype)
    array = lowering.local(value.type)
    axes = (*kept, *summed)
    task = with_roles(replace(task, target=Access(array, place), axes=axes), bool(summed))
    lowering.output.append(task)
    lowering.definitions[value.name] = array


def with_roles(task: Task, is_sum: bool) -> Task:
    """Return a product as what it is: a contraction, a sum of vectors, or one product for each element."""
    if not is_sum:
        return replace(task, reduction=None, contraction=None)
    return task if _is_matrix(task) else replace(task, contraction=None)


def zeros(value: Value) -> Operation:
    """Return the definition of a value of zeros."""
    number = 0.0 if value.dtype.is_float else 0
    attributes = (("dtype", value.dtype), ("shape", value.shape), ("value", number))
    return Operation("constant", (), (value,), attributes)


def _depth(statement: Operation) -> tuple[int, ...]:
    """Return the extents that a contraction sums over."""
    shape = extents(statement.operands[1].shape)
    return (shape[-2],) if statement.name == "matmul" else shape[-3:]


def _windows(statement: Operation, place: Point, position: Point) -> tuple[Point, Point]:
    """Return the elements of kernels and image that meet at an element of the result and a position of the sum."""
    *batch, output, y, x = place
    channel, p, q = position
    stride = cast("tuple[int, int]", statement.attribute("stride"))
    dilation = cast("tuple[int, int]", statement.attribute("dilation"))

    def along(number: int, outer: Affine, inner: Affine) -> Affine:
        return affine.add(affine.scale(outer, stride[number]), affine.scale(inner, dilation[number]))

    return (*batch, output, channel, p, q), (*batch, channel, along(0, y, p), along(1, x, q))


def _laid_out(
    lowering: Lowering, kernels: Value, value: Value, points: tuple[Point, Point]
) -> tuple[Value, tuple[Point, Point]]:
    """Copy kernels [.., o, c, p, q] once, to rows that every item can read as they are: [.., o, depth].

    There is room for a last tile of rows that hangs over.
    """
    *batch, outputs, channels, height, width = extents(kernels.shape)
    depth = channels * height * width
    shape = (*batch, outputs + MOST_ROWS, spread_out(depth, kernels.dtype))
    array = lowering.local(TileType(kernels.dtype, shape))
    axes, point = lowering.axes(kernels.shape)
    evaluation = lowering.evaluation()
    result = evaluation.evaluate(kernels, point)

    def along(c: Affine, p: Affine, q: Affine) -> Affine:
        return affine.add(affine.scale(affine.add(affine.scale(c, height), p), width), q)

    target = Access(array, (*point[:-3], along(*point[-3:])))
    lowering.output.append(Task(target, axes, tuple(evaluation.nodes), result))
    made = Value(f"{value.name}.kernels", TileType(kernels.dtype, shape))
    lowering.definitions[made.name] = array
    place = broadcast(kernels, points[0])
    return made, ((*place[:-3], along(*points[0][-3:])), points[1])


def product(
    lowering: Lowering, operands: tuple[tuple[Value, Point], tuple[Value, Point]], dtype: DType, scale: float = 1.0
) -> Task:
    """Return a task, without axes and target, that sums products of two values at two points; the first is scaled."""
    evaluation = lowering.evaluation()
    places = []
    for value, point in operands:
        place = evaluation.evaluate(value, broadcast(value, point))
        if value.dtype != dtype:
            place = evaluation.append(Node(NodeKind.OPERATION, dtype, "cast", (place,), (("dtype", dtype),)))
        places.append(place)
    if scale != 1.0:
        factor = evaluation.append(Node(NodeKind.CONSTANT, dtype, value=scale))
        places[0] = evaluation.append(Node(NodeKind.OPERATION, dtype, "mul", (places[0], factor)))
    result = evaluation.append(Node(NodeKind.OPERATION, dtype, "mul", tuple(places)))
    nowhere = Access(Array("", dtype, (), Home.SCRATCH), ())
    return Task(nowhere, (), tuple(evaluation.nodes), result, "sum", contraction=(places[0], places[1]))


def _is_matrix(task: Task) -> bool:
    """True when both operands have an axis of their own; a product with a vector is an ordinary sum."""
    axes = roles(task)
    return axes.row is not None and axes.column is not None
