"""From a tile value at an index to the steps that compute that one element.

Views become index arithmetic, so that a chain of operations and views over loads is one straight list of nodes. No
Python recursion: chains of thousands of operations are ordinary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Union, cast

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import ZERO, Affine
from pypto.codegen.llvm.program import Access, Array, Node, NodeKind
from pypto.ir.dtypes import I64, DType
from pypto.ir.index import Index, Symbol
from pypto.ir.nodes import Load, Operation, Range, Region, Value
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

Point = tuple[Affine, ...]
Definition = Union[Operation, Load, Array]
Ranges3 = tuple[tuple[Index, Index, int], ...]


@dataclass(slots=True)
class Indexing:
    """What symbols mean: their ranges, and the unique names given to the kernel's own loop and block symbols."""

    ranges: dict[Symbol, affine.Bounds] = field(default_factory=dict)
    names: dict[Symbol, Symbol] = field(default_factory=dict)
    sites: dict[int, int] = field(default_factory=dict)
    """The numbers, from 1, of the operations that check indices, by ``id``."""

    def of(self, index: Index) -> Affine:
        return affine.of(index, self.ranges, self.names)

    def along(self, region: Region, point: Point) -> Point:
        """Return the array index of element `point` of a region."""
        return tuple(
            affine.add(self.of(item.offset), affine.scale(position, item.step))
            for item, position in zip(region, point, strict=True)
        )

    def inside(self, index: Point, shape: tuple[int, ...]) -> bool:
        """True when every value of `index` is proven to lie in an array of `shape`."""
        for position, extent in zip(index, shape, strict=True):
            limits = affine.bounds(position, self.ranges)
            if limits is None or limits[0] < 0 or limits[1] >= extent:
                return False
        return True


def region_of(ranges: Ranges3) -> Region:
    """Return the attribute ``ranges`` of a slice or insert as a region."""
    return tuple(Range(*item) for item in ranges)


def extents(shape: tuple[Index, ...]) -> tuple[int, ...]:
    """Return a shape as numbers; kernels are specialised before code is made for them."""
    return cast("tuple[int, ...]", shape)


@dataclass(slots=True)
class Evaluation:
    """Collects the nodes of one task."""

    definitions: Mapping[str, Definition]
    arrays: Mapping[str, Array]
    indexing: Indexing
    nodes: list[Node] = field(default_factory=list)
    checked: dict[Symbol, int] = field(default_factory=dict)
    """The nodes that check what these symbols stand for."""
    _known: dict[tuple[str, Point], int] = field(default_factory=dict)
    _unique: dict[object, int] = field(default_factory=dict)

    def evaluate(self, value: Value, point: Point) -> int:
        """Append the nodes that compute element `point` of `value`; return the position of the last one."""
        stack = [(value, point)]
        while stack:
            item = stack[-1]
            key = (item[0].name, item[1])
            if key in self._known:
                stack.pop()
                continue
            children = self._children(*item)
            missing = [child for child in children if (child[0].name, child[1]) not in self._known]
            if missing:
                stack.extend(reversed(missing))
                continue
            operands = tuple(self._known[child[0].name, child[1]] for child in children)
            self._known[key] = self._finish(*item, operands)
            stack.pop()
        return self._known[value.name, point]

    def _children(self, value: Value, point: Point) -> list[tuple[Value, Point]]:
        definition = self.definitions[value.name]
        if not isinstance(definition, Operation):
            return []
        if definition.name == "gather":
            return self._gathered(definition, point)
        if TABLE[definition.name].category is Category.VIEW:
            return [(definition.operands[0], viewed(definition, point, self.indexing))]
        return [(operand, broadcast(operand, point)) for operand in definition.operands]

    def _gathered(self, gather: Operation, point: Point) -> list[tuple[Value, Point]]:
        """The index is needed first; then the operand where it says."""
        x, indices = gather.operands
        place = broadcast(indices, point)
        if (indices.name, place) not in self._known:
            return [(indices, place)]
        chosen = list(broadcast(x, point))
        axis = cast("int", gather.attribute("axis"))
        chosen[axis] = affine.symbol(self.check(gather, x, indices, place))
        return [(indices, place), (x, tuple(chosen))]

    def check(self, operation: Operation, x: Value, indices: Value, place: Point) -> Symbol:
        """Return the symbol of a checked index into `x`: that at `place` of `indices`, evaluated already."""
        axis = cast("int", operation.attribute("axis"))
        key = ("checked", id(operation), place)
        if key not in self._unique:
            extent = extents(x.shape)[axis]
            symbol = Symbol(f"g{len(self.indexing.ranges):05d}")
            self.indexing.ranges[symbol] = (0, max(0, extent - 1))
            flat = affine.ZERO
            for size, position in zip(extents(indices.shape), place, strict=True):
                flat = affine.add(affine.scale(flat, size), position)
            attributes = (
                ("extent", extent),
                ("site", self.indexing.sites[id(operation)]),
                ("wrap", operation.attribute("wrap")),
            )
            operands = (self._known[indices.name, place],)
            self.nodes.append(Node(NodeKind.CHECKED, I64, "", operands, attributes, None, flat, symbol))
            self.checked[symbol] = self._unique[key] = len(self.nodes) - 1
        found = self.nodes[self._unique[key]].symbol
        assert found is not None
        return found

    def _checks(self, forms: Iterable[Affine]) -> tuple[int, ...]:
        """Return the nodes that check the indices in `forms`."""
        if not self.checked:
            return ()
        found = frozenset().union(*map(affine.symbols, forms))
        return tuple(sorted(position for symbol, position in self.checked.items() if symbol in found))

    def _finish(self, value: Value, point: Point, operands: tuple[int, ...]) -> int:
        definition = self.definitions[value.name]
        if isinstance(definition, Array):
            return self.load(Access(definition, point))
        if isinstance(definition, Load):
            return self.load(self._access(definition, point))
        if TABLE[definition.name].category is Category.VIEW:
            return operands[0]
        if definition.name == "gather":
            return operands[1]
        if definition.name == "iota":
            position = point[cast("int", definition.attribute("axis"))]
            return self.append(Node(NodeKind.INDEX, value.dtype, "", self._checks([position]), value=position))
        return self.append(_operation_node(definition, value.dtype, operands, self.indexing))

    def _access(self, load: Load, point: Point) -> Access:
        array = self.arrays[load.source]
        index = self.indexing.along(load.region, point)
        guarded = load.fill is not None and not self.indexing.inside(index, array.shape)
        return Access(array, index, guarded, load.fill if guarded else None)

    def load(self, access: Access) -> int:
        key = (access.array.name, access.index, access.guarded, repr(access.fill))
        return self._once(key, lambda: self._load_node(access))

    def _load_node(self, access: Access) -> Node:
        return Node(NodeKind.LOAD, access.array.dtype, "", self._checks(access.index), access=access)

    def append(self, node: Node) -> int:
        """Append `node` unless an equal one is there. Numbers compare by text: 0.0 and -0.0 differ, a NaN equals
        itself.
        """
        key = (node.kind, node.dtype.name, node.name, node.operands, repr(node.attributes), repr(node.value))
        return self._once(key, lambda: node)

    def _once(self, key: object, make: Callable[[], Node]) -> int:
        if key not in self._unique:
            self.nodes.append(make())
            self._unique[key] = len(self.nodes) - 1
        return self._unique[key]


def _operation_node(operation: Operation, dtype: DType, operands: tuple[int, ...], indexing: Indexing) -> Node:
    if operation.name == "constant":
        return Node(NodeKind.CONSTANT, dtype, value=cast("float", operation.attribute("value")))
    if operation.name == "undefined":
        return Node(NodeKind.CONSTANT, dtype, value=float("nan") if dtype.is_float else 0)
    if operation.name == "index":
        return Node(NodeKind.INDEX, dtype, value=indexing.of(cast("Index", operation.attribute("value"))))
    return Node(NodeKind.OPERATION, dtype, operation.name, operands, operation.attributes)


def broadcast(operand: Value, point: Point) -> Point:
    """Return the element of an operand that NumPy's broadcasting pairs with `point`."""
    tail = point[len(point) - len(operand.shape) :]
    return tuple(ZERO if extent == 1 else position for extent, position in zip(operand.shape, tail, strict=True))


def viewed(view: Operation, point: Point, indexing: Indexing) -> Point:
    """Return the element of a view's operand that is element `point` of the view."""
    (operand,) = view.operands
    if view.name == "transpose":
        permutation = cast("tuple[int, ...]", view.attribute("permutation"))
        return tuple(point[permutation.index(axis)] for axis in range(len(permutation)))
    if view.name == "broadcast_to":
        return broadcast(operand, point)
    if view.name == "slice":
        return indexing.along(region_of(cast("Ranges3", view.attribute("ranges"))), point)
    return reshaped(extents(view.results[0].shape), extents(operand.shape), point, indexing.ranges)


def reshaped(after: tuple[int, ...], before: tuple[int, ...], point: Point, ranges: affine.Ranges) -> Point:
    """Return the index in shape `before` of the element that is `point` in shape `after`, both in row-major order."""
    wide = [position for extent, position in zip(after, point, strict=True) if extent != 1]
    if [extent for extent in after if extent != 1] == [extent for extent in before if extent != 1]:
        rest = iter(wide)
        return tuple(ZERO if extent == 1 else next(rest) for extent in before)
    if 0 in before:  # nothing is ever read; the index only has to be one
        return (ZERO,) * len(before)
    linear = ZERO
    for extent, position in zip(after, point, strict=True):
        linear = affine.add(affine.scale(linear, extent), position)
    result: list[Affine] = []
    below = math.prod(before)
    for extent in before:
        below //= extent
        quotient = affine.divide(linear, below, ranges)
        result.append(affine.modulo(quotient, extent, ranges) if extent > 1 else ZERO)
    return tuple(result)


def rename(access: Access, values: Mapping[Symbol, Affine], ranges: affine.Ranges) -> Access:
    """Return `access` with symbols replaced."""
    return replace(access, index=tuple(affine.substitute(position, values, ranges) for position in access.index))
