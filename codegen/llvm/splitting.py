"""Large reductions with few results, in parallel: partial results of blocks, then one more reduction over those.

The number of blocks follows from the shape alone and partial results combine in the order of their index, so that bits
do not depend on threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import ZERO, Affine
from pypto.codegen.llvm.merging import Merger, contiguous_axis
from pypto.codegen.llvm.program import Access, Array, Axis, Home, Node, NodeKind, Program, Statement, Task, tasks
from pypto.ir.index import Symbol

SPLIT_ELEMENTS = 1 << 18
"""Elements from which a reduction is worth two phases."""
BLOCK_ELEMENTS = 1 << 15
"""Fewest elements of a block."""
FEW_ITEMS = 8
"""A reduction with fewer items than this leaves threads idle."""
MOST_BLOCKS = 64
COLUMNS_PER_ITEM = 512


def split_reductions(program: Program, parts: int | None = None) -> list[Statement]:
    """Return the top level of a program with its large reductions of few results split in two.

    `parts` is the number of blocks that a schedule asks for, where any are worth it (1: none).
    """
    written = {task.target.array.name for task in tasks(program.body)}
    splitter = _Splitter(program, frozenset(written), parts)
    return [part for statement in program.body for part in splitter.statement(statement)]


@dataclass(slots=True)
class _Splitter:
    program: Program
    written: frozenset[str]
    parts: int | None = None
    count: int = 0
    made: list[Array] = field(default_factory=list)

    def statement(self, statement: Statement) -> Iterator[Statement]:
        if (
            not isinstance(statement, Task)
            or statement.reduction is None
            or not _is_large(statement)
            or statement.is_sequential
            or statement.contraction is not None
        ):
            yield statement
            return
        task = self.merged(statement)
        blocks = _blocks(task)
        if blocks >= 2 and self.parts is not None:
            blocks = min(self.parts, MOST_BLOCKS)
        if blocks < 2:
            yield statement
            return
        axis = max((axis for axis in task.axes if axis.reduced), key=lambda axis: axis.extent)
        size = -(-axis.extent // blocks)
        size = -(-size // COLUMNS_PER_ITEM) * COLUMNS_PER_ITEM if size > 8 * COLUMNS_PER_ITEM else size
        yield from self.split(task, axis, size, -(-axis.extent // size))

    def merged(self, task: Task) -> Task:
        """Return the task with as few axes as its arrays allow; others must not see a written array with other axes."""
        if any(access.array.name in self.written for access in task.reads):
            return task
        (result,) = Merger(self.program.ranges, set(), frozenset((task.target.array.name,))).run([task])
        assert isinstance(result, Task)
        return result

    def split(self, task: Task, axis: Axis, size: int, blocks: int) -> Iterator[Task]:
        target, block = task.target.array, self.symbol(blocks)
        partial = Array(f"partial{self.count}", target.dtype, (blocks, *target.shape), Home.SCRATCH)
        self.program.arrays.append(partial)
        lower = affine.scale(affine.symbol(block), size)
        end = affine.add(lower, affine.number(size))
        upper = affine.extremum("min", end, affine.number(axis.extent), self.program.ranges)
        part = replace(axis, extent=min(size, axis.extent), lower=lower, upper=upper)
        axes = (
            Axis(block, blocks, ZERO, affine.number(blocks)),
            *(part if item is axis else item for item in task.axes),
        )
        yield replace(task, axes=axes, target=Access(partial, (affine.symbol(block), *task.target.index)))
        yield self.combination(task, partial, blocks)

    def combination(self, task: Task, partial: Array, blocks: int) -> Task:
        """Return the task that combines the partial results in order of their index."""
        kept = [axis for axis in task.axes if not axis.reduced]
        renamed = {axis.symbol: affine.symbol(self.symbol(axis.extent)) for axis in kept}
        axes = [replace(axis, symbol=_symbol(renamed[axis.symbol])) for axis in kept]
        index = tuple(affine.substitute(item, renamed, self.program.ranges) for item in task.target.index)
        block = self.symbol(blocks)
        read = Access(partial, (affine.symbol(block), *index))
        node = Node(NodeKind.LOAD, task.dtype, access=read)
        target = replace(task.target, index=index)
        last = Axis(block, blocks, ZERO, affine.number(blocks), reduced=True)
        return Task(target, (*axes, last), (node,), 0, task.reduction)

    def symbol(self, extent: int) -> Symbol:
        self.count += 1
        symbol = Symbol(f"p{self.count:04d}")
        self.program.ranges[symbol] = (0, extent - 1)
        return symbol


def _symbol(form: Affine) -> Symbol:
    (atom, _) = form.terms[0]
    assert isinstance(atom, Symbol)
    return atom


def _is_large(task: Task) -> bool:
    return math.prod(axis.extent for axis in task.axes) >= SPLIT_ELEMENTS


def _blocks(task: Task) -> int:
    """Return into how many blocks the longest reduced axis is worth splitting; below 2: none."""
    walked = contiguous_axis([task])
    items = 1
    for axis in task.axes:
        if not axis.reduced:
            items *= -(-axis.extent // COLUMNS_PER_ITEM) if axis.symbol == walked else axis.extent
    longest = max((axis.extent for axis in task.axes if axis.reduced), default=1)
    if items >= FEW_ITEMS:
        return 1
    elements = math.prod(axis.extent for axis in task.axes)
    return min(MOST_BLOCKS // items, elements // BLOCK_ELEMENTS // items, longest)
