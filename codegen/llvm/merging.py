"""Fewer, longer loops: two adjacent axes that are always walked together become one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import ZERO, Affine
from pypto.codegen.llvm.program import (
    Access,
    Array,
    Axis,
    Choice,
    Repeat,
    Statement,
    Task,
    Walk,
    bounding_symbols,
    tasks,
)
from pypto.ir.index import Symbol


def transform(statements: list[Statement], change: Callable[[Task], Task]) -> list[Statement]:
    """Return the statements with every task changed."""
    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Task):
            result.append(change(statement))
        elif isinstance(statement, (Repeat, Walk)):
            result.append(replace(statement, body=transform(statement.body, change)))
        else:
            assert isinstance(statement, Choice)
            then_body, else_body = transform(statement.then_body, change), transform(statement.else_body, change)
            result.append(replace(statement, then_body=then_body, else_body=else_body))
    return result


def change_accesses(task: Task, axes: tuple[Axis, ...], change: Callable[[Access], Access]) -> Task:
    """Return `task` with other axes and every access changed."""
    nodes = tuple(node if node.access is None else replace(node, access=change(node.access)) for node in task.nodes)
    return replace(task, axes=axes, nodes=nodes, target=change(task.target))


@dataclass(slots=True)
class Merger:
    """Merges axes of a nest's tasks as long as a pair is found. `ranges` gets the new symbols."""

    ranges: dict[Symbol, affine.Bounds]
    parallel: set[Symbol]
    fixed: frozenset[str] = frozenset()
    """Arrays that keep their axes."""
    blocks: dict[Symbol, int] = field(default_factory=dict)
    """Wanted lengths of blocks by axis: an axis that is cut stays apart from the one around it."""
    views: dict[tuple[str, int, tuple[int, ...]], Array] = field(default_factory=dict)

    def run(self, statements: list[Statement]) -> list[Statement]:
        while True:
            pair = self.find(list(tasks(statements)))
            if pair is None:
                return statements
            statements = self.merge(statements, *pair)

    def find(self, all_tasks: list[Task]) -> tuple[Axis, Axis] | None:
        rejected: set[tuple[Symbol, Symbol]] = set()
        for task in all_tasks:
            loops = {axis.symbol: axis for axis in task.axes}
            for pair in (pair for access in (task.target, *task.reads) for pair in _adjacent(access)):
                if pair in rejected or pair[0] not in loops or pair[1] not in loops:
                    continue
                if self.fits(loops[pair[0]], loops[pair[1]], all_tasks):
                    return loops[pair[0]], loops[pair[1]]
                rejected.add(pair)
        return None

    def fits(self, outer: Axis, inner: Axis, all_tasks: list[Task]) -> bool:
        if (outer.symbol in self.parallel) != (inner.symbol in self.parallel):
            return False
        if not (_is_whole(outer) and _is_whole(inner)):
            return False
        if self.blocks.get(inner.symbol, inner.extent) < inner.extent:
            return False
        if not all(_task_fits(task, outer, inner) for task in all_tasks):
            return False
        return self.positions(outer.symbol, all_tasks) is not None

    def positions(self, outer: Symbol, all_tasks: list[Task]) -> dict[str, int] | None:
        """Return for each array which axis `outer` walks; None when one has several or cannot be seen otherwise."""
        found: dict[str, int] = {}
        guarded: set[str] = set()
        for access in _accesses(all_tasks):
            name = access.array.name
            if access.guarded:
                guarded.add(name)
            for position, index in enumerate(access.index):
                if index == affine.symbol(outer) and found.setdefault(name, position) != position:
                    return None
        return None if (guarded | self.fixed) & found.keys() else found

    def merge(self, statements: list[Statement], outer: Axis, inner: Axis) -> list[Statement]:
        extent = outer.extent * inner.extent
        merged = Symbol(f"{outer.symbol.name}x{inner.symbol.name}")
        self.ranges[merged] = (0, extent - 1)
        if outer.symbol in self.parallel:
            self.parallel -= {outer.symbol, inner.symbol}
            self.parallel.add(merged)
        self.blocks.pop(inner.symbol, None)
        if outer.symbol in self.blocks:
            self.blocks[merged] = self.blocks.pop(outer.symbol) * inner.extent
        positions = self.positions(outer.symbol, list(tasks(statements)))
        assert positions is not None

        def change(task: Task) -> Task:
            axes = tuple(
                Axis(merged, extent, ZERO, affine.number(extent), axis.reduced) if axis.symbol == outer.symbol else axis
                for axis in task.axes
                if axis.symbol != inner.symbol
            )
            return change_accesses(task, axes, lambda access: self.view(access, positions, outer.symbol, merged))

        return transform(statements, change)

    def view(self, access: Access, positions: dict[str, int], outer: Symbol, merged: Symbol) -> Access:
        """Return the access through the array with the two axes as one."""
        array = access.array
        position = positions.get(array.name)
        if position is None:
            return access
        first, second = access.index[position], access.index[position + 1]
        if first == affine.symbol(outer):
            index = affine.symbol(merged)
        else:
            index = affine.add(affine.scale(first, array.shape[position + 1]), second)
        around = access.index[:position], access.index[position + 2 :]
        return replace(access, array=self.joined(array, position), index=(*around[0], index, *around[1]))

    def joined(self, array: Array, position: int) -> Array:
        key = (array.name, position, array.shape)
        if key not in self.views:
            extent = array.shape[position] * array.shape[position + 1]
            shape = (*array.shape[:position], extent, *array.shape[position + 2 :])
            strides = (*array.strides[:position], *array.strides[position + 1 :])
            self.views[key] = replace(array, shape=shape, strides=strides)
        return self.views[key]


def _accesses(all_tasks: list[Task]) -> Iterator[Access]:
    for task in all_tasks:
        yield from task.reads
        yield task.target


def _adjacent(access: Access) -> Iterator[tuple[Symbol, Symbol]]:
    for first, second in zip(access.index, access.index[1:], strict=False):
        a, b = _single(first), _single(second)
        if a is not None and b is not None and a != b:
            yield a, b


def _single(form: Affine) -> Symbol | None:
    """Return the symbol that `form` is, or None when it is anything else."""
    if form.constant == 0 and len(form.terms) == 1 and form.terms[0][1] == 1:
        atom = form.terms[0][0]
        return atom if isinstance(atom, Symbol) else None
    return None


def _is_whole(axis: Axis) -> bool:
    return axis.lower == ZERO and axis.upper == affine.number(axis.extent)


def _task_fits(task: Task, outer: Axis, inner: Axis) -> bool:
    loops = {axis.symbol: axis for axis in task.axes}
    first, second = loops.get(outer.symbol), loops.get(inner.symbol)
    if first is None and second is None:
        return True
    if first is None or second is None or first.reduced != second.reduced:
        return False
    if any(isinstance(node.value, Affine) and _mentions(node.value, outer, inner) for node in task.nodes):
        return False
    if bounding_symbols(task.axes) & {outer.symbol, inner.symbol}:
        return False
    return all(_access_fits(access, outer, inner) for access in (*task.reads, task.target))


def _access_fits(access: Access, outer: Axis, inner: Axis) -> bool:
    """True when the access walks both axes, one after the other, over contiguous elements; or neither."""
    used = [position for position, index in enumerate(access.index) if _mentions(index, outer, inner)]
    if not used:
        return True
    if len(used) != 2 or used[1] != used[0] + 1 or access.guarded:
        return False
    first, second = used
    if _single(access.index[first]) != outer.symbol or _single(access.index[second]) != inner.symbol:
        return False
    array = access.array
    if array.shape[second] != inner.extent:
        return False
    return array.shape[first] == 1 or array.strides[first] == array.strides[second] * inner.extent


def _mentions(index: Affine, outer: Axis, inner: Axis) -> bool:
    if not index.terms:
        return False
    found = affine.symbols(index)
    return outer.symbol in found or inner.symbol in found


def contiguous_axis(all_tasks: list[Task]) -> Symbol | None:
    """Return the axis along which most of the memory is contiguous."""
    weights = contiguity(all_tasks)
    return min(weights, key=lambda symbol: (-weights[symbol], symbol.name), default=None)


def contiguity(all_tasks: list[Task]) -> dict[Symbol, int]:
    """Return for each axis how many elements lie in arrays that are contiguous along it."""
    weights: dict[Symbol, int] = {}
    for task in all_tasks:
        bounding = bounding_symbols(task.axes)
        for access in (*task.reads, task.target):
            for axis in task.axes:
                if axis.symbol not in bounding and abs(stride(access, axis.symbol)) == 1:
                    weight = math.prod(access.array.shape)
                    weights[axis.symbol] = weights.get(axis.symbol, 0) + weight
    return weights


def stride(access: Access, symbol: Symbol) -> int:
    """Return how many elements further the access is when `symbol` grows by one, as far as it is linear in it."""
    return sum(step * index.coefficient(symbol) for step, index in zip(access.array.strides, access.index, strict=True))
