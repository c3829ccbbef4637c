"""Which axes belong together, and which may be split.

Axes joined elementwise, by reductions' kept axes, transposition, loads, stores or loops are one *class*. A class is
*bound* when any use looks across its elements (a reduction, a partial slice, padding, concatenation, a reshape that
merges or splits it): then a tile's result depends on more than the tile. The front end decides the meaning of a
kernel from this (docs/language.md, "Two meanings"); schedules split classes that are neither bound nor found twice in
one value. A class that a contraction sums over is not bound, but every tile needs all of it: it is *contracted*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from pypto.ir.base.locations import Location
from pypto.ir.index import Extent
from pypto.ir.nodes import For, If, Kernel, Load, Operation, Region, Statement, Store, Value, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE


class Axis(NamedTuple):
    """One axis of a value (``%name``) or of a parameter (``name``): a tuple, for its hash is taken often."""

    owner: str
    position: int


@dataclass(frozen=True, slots=True)
class Binding:
    """Why a class is bound: the operation that looks across its elements, and where it stands."""

    operation: str
    location: Location


@dataclass(frozen=True, slots=True)
class Split:
    """A reshape between one axis and several: element i of `outer` is elements i * factor ... of `whole`."""

    whole: Axis
    outer: Axis
    factor: int


@dataclass(slots=True)
class AxisAnalysis:
    """The axis classes of one kernel; make it with `analyse`."""

    parents: dict[Axis, Axis] = field(default_factory=dict)
    bindings: dict[Axis, Binding] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    summed: set[Axis] = field(default_factory=set)
    """Axes that contractions sum over; their classes are contracted."""
    splits: list[Split] | None = None
    """Where reshapes split an axis or merge several into one; None when all axes of such a reshape are bound."""

    def find(self, axis: Axis) -> Axis:
        """Return the representative of the class that `axis` belongs to."""
        root = axis
        while (parent := self.parents.get(root, root)) != root:
            root = parent
        while axis != root:
            axis, self.parents[axis] = self.parents.get(axis, axis), root
        return root

    def join(self, left: Axis, right: Axis) -> None:
        left, right = self.find(left), self.find(right)
        if left == right:
            return
        self.parents[right] = left
        if right in self.bindings:
            self.bindings.setdefault(left, self.bindings.pop(right))

    def bind(self, axis: Axis, operation: str, location: Location) -> None:
        self.bindings.setdefault(self.find(axis), Binding(operation, location))

    def binding(self, axis: Axis) -> Binding | None:
        """Return why the class of `axis` is bound, or None when it is not."""
        return self.bindings.get(self.find(axis))

    def classes_of(self, owner: str) -> tuple[Axis, ...]:
        """Return the class of each axis of a value (``%name``) or parameter (``name``)."""
        return tuple(self.find(Axis(owner, position)) for position in range(self.ranks[owner]))

    def repeated(self) -> frozenset[Axis]:
        """Return the classes that some value or parameter has on two of its axes (``t + t.T``)."""
        found: set[Axis] = set()
        for owner in self.ranks:
            classes = self.classes_of(owner)
            found.update(item for item in classes if classes.count(item) > 1)
        return frozenset(found)

    def splittable(self, axis: Axis) -> bool:
        """Return whether the class of `axis` can be cut into pieces that are computed alone."""
        root = self.find(axis)
        return root not in self.bindings and root not in self.repeated() and not self.contracted(axis)

    def contracted(self, axis: Axis) -> bool:
        """Return whether a contraction sums over the class of `axis`."""
        root = self.find(axis)
        return any(self.find(item) == root for item in self.summed)


def value_axis(value: Value, position: int) -> Axis:
    return Axis(f"%{value.name}", position)


def analyse(kernel: Kernel, *, follow_reshapes: bool = False) -> AxisAnalysis:
    """Return the axis classes of `kernel` (level tile).

    With `follow_reshapes`, a reshape between one axis and several binds only the inner ones: the outermost and the
    whole are listed in `splits`, for a schedule that can cut both together.
    """
    analysis = AxisAnalysis(splits=[] if follow_reshapes else None)
    for parameter in kernel.parameters:
        analysis.ranks[parameter.name] = parameter.type.rank
    shapes = {parameter.name: parameter.type.shape for parameter in kernel.parameters}
    for statement in walk(kernel.body):
        for value in _defined(statement):
            analysis.ranks[f"%{value.name}"] = value.type.rank
        _visit(analysis, statement, shapes)
    return analysis


def _defined(statement: Statement) -> tuple[Value, ...]:
    if isinstance(statement, Load):
        return (statement.result,)
    if isinstance(statement, For):
        return statement.carried + statement.results
    if isinstance(statement, (Operation, If)):
        return statement.results
    return ()


def _visit(analysis: AxisAnalysis, statement: Statement, shapes: dict[str, tuple[Extent, ...]]) -> None:
    if isinstance(statement, Load):
        _access(analysis, statement.source, shapes, statement.region, statement.result, statement.location, "slice")
    elif isinstance(statement, Store):
        _access(analysis, statement.target, shapes, statement.region, statement.value, statement.location, "slice")
    elif isinstance(statement, For):
        groups = (statement.carried, statement.initial, statement.yielded, statement.results)
        _join_values(analysis, zip(*groups, strict=True))
    elif isinstance(statement, If):
        _join_values(analysis, zip(statement.results, statement.then_yielded, statement.else_yielded, strict=True))
    else:
        _operation(analysis, statement)


def _join_values(analysis: AxisAnalysis, groups: Iterable[tuple[Value, ...]]) -> None:
    for first, *others in groups:
        for other in others:
            for position in range(first.type.rank):
                analysis.join(value_axis(first, position), value_axis(other, position))


def _access(
    analysis: AxisAnalysis,
    array: str,
    shapes: dict[str, tuple[Extent, ...]],
    region: Region,
    value: Value,
    location: Location,
    reason: str,
) -> None:
    for position, (range_, extent) in enumerate(zip(region, shapes[array], strict=True)):
        axis = Axis(array, position)
        if range_.offset == 0 and range_.extent == extent and range_.step == 1:
            analysis.join(axis, value_axis(value, position))
        else:
            analysis.bind(axis, reason, location)
            analysis.bind(value_axis(value, position), reason, location)


def _operation(analysis: AxisAnalysis, operation: Operation) -> None:
    category = TABLE[operation.name].category
    if category is Category.ELEMENTWISE:
        _elementwise(analysis, operation)
    elif category is Category.REDUCTION:
        _reduction(analysis, operation)
    elif category is Category.VIEW:
        _VIEWS[operation.name](analysis, operation)
    elif category is Category.ASSEMBLY:
        _assembly(analysis, operation)
    elif category is Category.CONTRACTION:
        _CONTRACTIONS[operation.name](analysis, operation)
    elif category in (Category.ARGUMENT_REDUCTION, Category.SCAN, Category.SORT):
        _along(analysis, operation)
    elif category is Category.INDEXING:
        _indexing(analysis, operation)
    elif operation.name == "iota":
        axis = operation.attribute("axis")
        assert isinstance(axis, int)
        analysis.bind(value_axis(operation.results[0], axis), "iota", operation.location)


def _elementwise(analysis: AxisAnalysis, operation: Operation) -> None:
    (result,) = operation.results
    for operand in operation.operands:
        shift = result.type.rank - operand.type.rank
        for position, extent in enumerate(operand.shape):
            if extent == result.shape[position + shift]:
                analysis.join(value_axis(operand, position), value_axis(result, position + shift))


def _reduction(analysis: AxisAnalysis, operation: Operation) -> None:
    (operand,), (result,) = operation.operands, operation.results
    axes = operation.attribute("axes")
    assert isinstance(axes, tuple)
    for position in range(operand.type.rank):
        if position in axes:
            analysis.bind(value_axis(operand, position), operation.name, operation.location)
        else:
            analysis.join(value_axis(operand, position), value_axis(result, position))


def _along(analysis: AxisAnalysis, operation: Operation) -> None:
    """What looks along attribute ``axis`` binds it, in operand and result."""
    (operand,), (result,) = operation.operands, operation.results
    axis = operation.attribute("axis")
    for position in range(operand.type.rank):
        if position == axis:
            analysis.bind(value_axis(operand, position), operation.name, operation.location)
            analysis.bind(value_axis(result, position), operation.name, operation.location)
        else:
            analysis.join(value_axis(operand, position), value_axis(result, position))


def _indexing(analysis: AxisAnalysis, operation: Operation) -> None:
    """The indexed axis is bound; that of a gather's indices becomes the result's. The other axes belong together."""
    (result,), (x, indices, *updates) = operation.results, operation.operands
    axis = operation.attribute("axis")
    assert isinstance(axis, int)
    analysis.bind(value_axis(x, axis), operation.name, operation.location)
    if operation.name == "gather":
        analysis.join(value_axis(indices, axis), value_axis(result, axis))
    else:
        for value in (result, indices, *updates):
            analysis.bind(value_axis(value, axis), operation.name, operation.location)
    for operand in operation.operands:
        for position, extent in enumerate(operand.shape):
            if position != axis and extent == result.shape[position]:
                analysis.join(value_axis(operand, position), value_axis(result, position))


def _transpose(analysis: AxisAnalysis, operation: Operation) -> None:
    (operand,), (result,) = operation.operands, operation.results
    permutation = operation.attribute("permutation")
    assert isinstance(permutation, tuple)
    for position, source in enumerate(permutation):
        assert isinstance(source, int)
        analysis.join(value_axis(operand, source), value_axis(result, position))


def _slice(analysis: AxisAnalysis, operation: Operation) -> None:
    (operand,), (result,) = operation.operands, operation.results
    ranges = operation.attribute("ranges")
    assert isinstance(ranges, tuple)
    for position, range_ in enumerate(ranges):
        if range_ == (0, operand.shape[position], 1):
            analysis.join(value_axis(operand, position), value_axis(result, position))
        else:
            analysis.bind(value_axis(operand, position), "slice", operation.location)
            analysis.bind(value_axis(result, position), "slice", operation.location)


def _reshape(analysis: AxisAnalysis, operation: Operation) -> None:
    (operand,), (result,) = operation.operands, operation.results
    for before, after in reshape_groups(operand.shape, result.shape):
        if len(before) == 1 and len(after) == 1:
            analysis.join(value_axis(operand, before[0]), value_axis(result, after[0]))
            continue
        axes = [value_axis(operand, position) for position in before]
        others = [value_axis(result, position) for position in after]
        split = _split(axes, others, operand, result) if analysis.splits is not None else None
        if split is not None and analysis.splits is not None:
            analysis.splits.append(split)
        for axis in (*axes, *others):
            if split is None or axis not in (split.whole, split.outer):
                analysis.bind(axis, "reshape", operation.location)


def _split(before: list[Axis], after: list[Axis], operand: Value, result: Value) -> Split | None:
    """Return how the only axis on one side is made of those on the other; None where both sides have several."""
    if len(before) != 1 and len(after) != 1:
        return None
    whole, parts = (operand, after) if len(before) == 1 else (result, before)
    (axis,), inner = (before, result) if len(before) == 1 else (after, operand)
    extent, outer = whole.shape[axis.position], inner.shape[parts[0].position] if parts else None
    if not isinstance(extent, int) or not isinstance(outer, int) or extent % max(1, outer):
        return None
    return Split(axis, parts[0], extent // max(1, outer))


def reshape_groups(
    before: tuple[Extent, ...], after: tuple[Extent, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the smallest groups of axes of `before` and `after` with equal products; axes of extent 1 are left out.

    One axis on each side means that the axis is only moved. Symbolic extents match an equal extent only.
    """
    left = [position for position, extent in enumerate(before) if extent != 1]
    right = [position for position, extent in enumerate(after) if extent != 1]
    while left or right:
        if left and right and before[left[0]] == after[right[0]]:
            yield (left.pop(0),), (right.pop(0),)
            continue
        yield _group(before, after, left, right)


def _group(
    before: tuple[Extent, ...], after: tuple[Extent, ...], left: list[int], right: list[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Take the shortest prefixes with equal products off `left` and `right`; everything when there are none."""
    taken_left: list[int] = []
    taken_right: list[int] = []
    product_left, product_right = 1, 1
    while left or right:
        grow_left = left and (product_left <= product_right or not right)
        side, shape, taken = (left, before, taken_left) if grow_left else (right, after, taken_right)
        position = side.pop(0)
        taken.append(position)
        extent = shape[position]
        if not isinstance(extent, int):
            break
        if grow_left:
            product_left *= extent
        else:
            product_right *= extent
        if product_left == product_right and taken_left and taken_right:
            return tuple(taken_left), tuple(taken_right)
    taken_left, taken_right = taken_left + left, taken_right + right
    left.clear()
    right.clear()
    return tuple(taken_left), tuple(taken_right)


def _assembly(analysis: AxisAnalysis, operation: Operation) -> None:
    (result,) = operation.results
    for operand in operation.operands:
        for position, extent in enumerate(operand.shape):
            if _covers(operation, position, extent, result.shape[position]):
                analysis.join(value_axis(operand, position), value_axis(result, position))
            else:
                analysis.bind(value_axis(operand, position), operation.name, operation.location)
                analysis.bind(value_axis(result, position), operation.name, operation.location)


def _covers(operation: Operation, position: int, extent: Extent, whole: Extent) -> bool:
    """Return whether an operand reaches over the whole of a result axis, in order."""
    if operation.name == "concat":
        return operation.attribute("axis") != position
    if operation.name == "insert" and extent == whole:
        ranges = operation.attribute("ranges")
        assert isinstance(ranges, tuple)
        return ranges[position] == (0, whole, 1)
    return extent == whole


def _broadcast(analysis: AxisAnalysis, operation: Operation) -> None:
    _elementwise(analysis, operation)


_VIEWS = {"reshape": _reshape, "transpose": _transpose, "slice": _slice, "broadcast_to": _broadcast}


def _contraction(
    analysis: AxisAnalysis, operation: Operation, labels: tuple[str, ...], bound: str = "", result_labels: str = "mn"
) -> None:
    """Join the axes of the operands that have one label; leading axes are a batch, right-aligned.

    `labels` names the last axes of each operand by one letter each, `result_labels` those of the result. Letters that
    the result lacks are summed, letters in `bound` bound.
    """
    (result,) = operation.results
    first: dict[str, Axis] = {}
    for value, names in ((result, result_labels), *zip(operation.operands, labels, strict=True)):
        start = value.type.rank - len(names)
        for position, letter in enumerate(names[max(0, -start) :], max(0, start)):
            axis = value_axis(value, position)
            if value.shape[position] == 1 and letter in result_labels:
                continue
            analysis.join(first.setdefault(letter, axis), axis)
            if letter in bound:
                analysis.bind(axis, operation.name, operation.location)
            if letter not in result_labels:
                analysis.summed.add(axis)
        _join_batch(analysis, value, start, result, result.type.rank - len(result_labels))


def _join_batch(analysis: AxisAnalysis, value: Value, count: int, result: Value, batch: int) -> None:
    for position in range(count):
        target = position + batch - count
        if value.shape[position] == result.shape[target]:
            analysis.join(value_axis(value, position), value_axis(result, target))


def _matmul(analysis: AxisAnalysis, operation: Operation) -> None:
    _contraction(analysis, operation, ("mk", "kn"))


def _convolution(analysis: AxisAnalysis, operation: Operation) -> None:
    _contraction(analysis, operation, ("chw", "ocpq"), "hwyx", "oyx")


def _attention(analysis: AxisAnalysis, operation: Operation) -> None:
    _contraction(analysis, operation, ("le", "se", "sv", "ls"), "ls" if operation.attribute("causal") else "", "lv")


_CONTRACTIONS = {"matmul": _matmul, "convolution": _convolution, "attention": _attention}
