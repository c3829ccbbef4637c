"""Which pipe of which core runs a statement, and what memory it touches there.

A kernel whose buffers lie in the unified buffer runs on vector cores, one whose buffers lie in L1 and the L0 memories
on cube cores. A kernel with both is mixed: each statement runs on the core that has its buffers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from pypto.ir.dtypes import F32
from pypto.ir.index import Extent, bounds
from pypto.ir.nodes import (
    Buffer,
    For,
    If,
    Kernel,
    Load,
    Operation,
    Parameter,
    Pipe,
    Space,
    Statement,
    Store,
    Value,
    operands,
    regions,
    results,
    walk,
)
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.forms import attribute_axis, by_elements, is_alias, is_dense, reduced_axis
from pypto.ir.passes.independence import apart_arrays
from pypto.ir.passes.layout import Ranges, row_multiple, stored_rank, strides, symbol_ranges
from pypto.ir.passes.limits import ASCEND_910B1

CUBE = "cube"
VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class Queue:
    """A pipe of a core; `core` is ``cube`` or ``vector`` in a mixed kernel and empty in others."""

    pipe: Pipe
    core: str = ""

    @property
    def value(self) -> str:
        return f"{self.core} {self.pipe.value}" if self.core else self.pipe.value

    def __str__(self) -> str:
        return self.value


Span = tuple[int, int]


class Part(Enum):
    """Which part of an instruction touches a memory: some wait inside, by a barrier, for all ahead in their pipe."""

    ANY = "any"
    BEFORE = "before the last barrier inside"
    AFTER = "after the first barrier inside"
    BETWEEN = "both"


@dataclass(frozen=True, slots=True)
class Access:
    """One touch of a memory: a buffer's name, or ``gm:`` and an array's; `span`: of these bytes of a slot only."""

    pipe: Queue
    resource: str
    write: bool
    part: Part = Part.ANY
    span: Span | None = None


def is_cube_space(space: Space) -> bool:
    return space not in (Space.UB, Space.GM)


def is_mixed(kernel: Kernel) -> bool:
    """Return whether `kernel` runs on a cube core and the vector cores beside it."""
    return len({is_cube_space(buffer.space) for buffer in kernel.buffers}) > 1


@dataclass(frozen=True, slots=True)
class Pipes:
    """Answers for the statements of one kernel at level *buffered* or below.

    `apart` are the arrays that no two statements touch in one place: nothing orders anything for their sake.
    """

    parameters: Mapping[str, Parameter]
    multiple: int
    buffers: Mapping[str, Buffer]
    ranges: Ranges
    mixed: bool
    apart: frozenset[str] = frozenset()

    @staticmethod
    def of(kernel: Kernel) -> Pipes:
        buffers = {buffer.name: buffer for buffer in kernel.buffers}
        ranges = symbol_ranges(kernel) if buffers else {}
        parameters = {item.name: item for item in kernel.parameters}
        return Pipes(parameters, row_multiple(kernel), buffers, ranges, is_mixed(kernel), apart_arrays(kernel))

    def is_cube(self, statement: Statement) -> bool:
        """Return whether the cube core runs `statement` or, for a loop or branch, anything in it."""
        for inner in walk((statement,)):
            for value in (*operands(inner), *results(inner)):
                if value.buffer is not None:
                    return is_cube_space(self.buffers[value.buffer].space)
        return False

    def queue(self, statement: Statement) -> Queue | None:
        """Return the pipe that runs `statement`; None when no instruction touches memory for it."""
        pipe = self.pipe(statement)
        if pipe is None or not self.mixed:
            return None if pipe is None else Queue(pipe)
        return Queue(pipe, CUBE if self.is_cube(statement) else VECTOR)

    def space(self, value: Value) -> Space | None:
        return None if value.buffer is None else self.buffers[value.buffer].space

    def pipe(self, statement: Statement) -> Pipe | None:
        if isinstance(statement, Load):
            return self.load_pipe(statement)
        if isinstance(statement, Store):
            return Pipe.FIX if self.space(statement.value) is Space.L0C else Pipe.MTE3
        if isinstance(statement, Operation):
            return self.operation_pipe(statement)
        return None

    def load_pipe(self, load: Load) -> Pipe | None:
        if self.parameters[load.source].scalar:
            return None
        if self.space(load.result) is Space.L1:
            return Pipe.MTE2
        shape = self.parameters[load.source].type.shape
        return Pipe.MTE2 if is_dense(load.region, stored_rank(load.result.shape), shape) else Pipe.S

    def operation_pipe(self, operation: Operation) -> Pipe | None:
        record = TABLE[operation.name]
        if record.category is Category.SYNCHRONISATION or operation.name == "undefined":
            return None
        if record.category is Category.CUBE:
            return None if record.pipe is Pipe.FIX else record.pipe
        if operation.results[0].buffer is None or is_alias(operation, self.multiple):
            return None
        return Pipe.S if by_elements(operation, self.multiple) else Pipe.V

    def in_order(self, statement: Statement) -> bool:
        """Return whether `statement` starts by itself only when the work ahead of it in its pipe has finished: a
        product of at least 10 fractals hides the time that the one before it still takes to add up."""
        if not isinstance(statement, Operation) or TABLE[statement.name].pipe is not Pipe.M:
            return False
        rows, columns = statement.results[0].shape
        return self.fractals(rows) * self.fractals(columns) >= FRACTALS_IN_ORDER

    def waits_inside(self, statement: Statement) -> bool:
        """Return whether `statement` has a barrier of its pipe inside, so that all ahead has finished when it ends."""
        if not isinstance(statement, Operation) or self.operation_pipe(statement) is not Pipe.V:
            return False
        shapes = [value.shape for value in (*statement.operands[:1], *statement.results)]
        if not all(self.least(extent) for shape in shapes for extent in shape):
            return False  # nothing to do, perhaps
        if statement.name == "row_broadcast":
            return True
        if statement.name in ROW_OPERATIONS:
            columns = statement.operands[0].shape[reduced_axis(statement)]
            return self.least(columns) * F32.bytes > ASCEND_910B1.repeat_bytes
        steps = STEPWISE.get(statement.name)
        return steps is not None and self.least(statement.operands[0].shape[steps(statement)]) > 1

    def least(self, extent: Extent) -> int:
        found = bounds(extent, self.ranges)
        return 0 if found is None else max(0, found[0])

    def fractals(self, extent: Extent) -> int:
        return -(-self.least(extent) // ASCEND_910B1.fractal)

    def accesses(self, statement: Statement) -> frozenset[Access]:
        """Return all touches of `statement`, those of its regions included."""
        if isinstance(statement, For | If):
            inner = [self.accesses(item) for body in regions(statement) for item in body]
            return frozenset().union(*inner)
        queue = self.queue(statement)
        return frozenset() if queue is None else frozenset(self._direct(statement, queue))

    def _direct(self, statement: Statement, queue: Queue) -> Iterator[Access]:
        if isinstance(statement, Load):
            assert statement.result.buffer is not None
            yield Access(queue, f"gm:{statement.source}", False)
            yield Access(queue, statement.result.buffer, True)
        elif isinstance(statement, Store):
            assert statement.value.buffer is not None
            yield Access(queue, statement.value.buffer, False)
            if statement.target not in self.apart:
                yield Access(queue, f"gm:{statement.target}", True)
        elif isinstance(statement, Operation):
            yield from self._of_operation(statement, queue)

    def _of_operation(self, operation: Operation, queue: Queue) -> Iterator[Access]:
        names = TABLE[operation.name].operands
        if operation.name == "insert" and queue.pipe is Pipe.V and (span := inserted_bytes(operation, self.multiple)):
            base, piece, result = (value.buffer for value in (*operation.operands, *operation.results))
            if piece is not None and result is not None and base == result:
                yield Access(queue, piece, False)
                yield Access(queue, result, True, span=span)
                return
        by_rows = operation.name in ROW_OPERATIONS and self.waits_inside(operation)
        for position, value in enumerate(operation.operands):
            is_workspace = position < len(names) and names[position] == "workspace"
            if value.buffer is not None and not (is_workspace and is_short(operation)):
                if by_rows and not is_workspace:
                    yield from self._by_turns(operation, value, Access(queue, value.buffer, False, Part.BEFORE))
                else:
                    yield Access(queue, value.buffer, is_workspace)
        for value in operation.results:
            assert value.buffer is not None
            if by_rows:
                yield from self._by_turns(operation, value, Access(queue, value.buffer, True, Part.AFTER))
            else:
                yield Access(queue, value.buffer, True)

    def _by_turns(self, operation: Operation, value: Value, access: Access) -> Iterator[Access]:
        """Yield what one call for all rows touches of `value`; or several calls, one for each index of the axes before,
        with barriers between them: the first reads, or the last writes, on this side of all of those."""
        narrow = operation.operands[0] if operation.name == "row_broadcast" else operation.results[0]
        outer = max(0, stored_rank(narrow.shape) - 1)
        extents = [extent for extent in value.shape[: stored_rank(value.shape)] if isinstance(extent, int)]
        turns = math.prod(extents[:outer])
        if turns < 2 or len(extents) < stored_rank(value.shape):
            yield access
            return
        extents[-1] = -(-extents[-1] // self.multiple) * self.multiple
        size, total = (math.prod(part) * value.dtype.bytes for part in (extents[outer:], extents))
        cut = total - size if access.write else size
        spans = ((cut, total), (0, cut)) if access.write else ((0, cut), (cut, total))
        yield replace(access, span=spans[0])
        yield replace(access, span=spans[1], part=Part.BETWEEN)


def is_short(operation: Operation) -> bool:
    """Return whether `operation` reduces rows of at most one repeat, which takes one step and no workspace."""
    if operation.name not in ("row_sum", "row_max", "row_min"):
        return False
    columns = operation.operands[0].shape[reduced_axis(operation)]
    return isinstance(columns, int) and columns * F32.bytes <= ASCEND_910B1.repeat_bytes


ROW_OPERATIONS = frozenset(("row_broadcast", "row_sum", "row_max", "row_min"))
"""What is done by functions of several instructions: they read their operand, wait, and write their result."""

STEPWISE = {
    **dict.fromkeys(("sum", "max", "min", "prod"), reduced_axis),
    **dict.fromkeys(("cumsum", "cumprod"), attribute_axis),
}
"""What combines one slab after another along an axis, waiting between them."""

FRACTALS_IN_ORDER = 10
"""Fractals of a product from which on no barrier is needed before another one adds to it."""


def inserted_bytes(operation: Operation, multiple: int) -> Span | None:
    """Return the bytes from the lowest to the highest row that an insert of whole blocks writes, if all are numbers."""
    result, ranges = operation.results[0], operation.attribute("ranges")
    assert isinstance(ranges, tuple)
    rank = stored_rank(result.shape)
    extents = [extent for extent in result.shape[:rank] if isinstance(extent, int)]
    numbers = [
        tuple(number for number in item if isinstance(number, int)) for item in ranges if isinstance(item, tuple)
    ]
    if len(extents) < rank or any(len(item) < 3 for item in numbers[:rank]):
        return None
    if any(count < 1 for _, count, _ in numbers[:rank]):
        return None
    pitches = strides((*extents[:-1], -(-extents[-1] // multiple) * multiple))
    # with a negative step the row written last lies below the first
    ends = [(offset, offset + (count - 1) * step) for offset, count, step in numbers[:rank]]
    start = sum(min(pair) * pitch for pair, pitch in zip(ends, pitches, strict=True)) // multiple * multiple
    last = sum(max(pair) * pitch for pair, pitch in zip(ends, pitches, strict=True))
    end = (last // multiple + 1) * multiple
    return start * result.dtype.bytes, end * result.dtype.bytes


def are_apart(first: Span | None, second: Span | None) -> bool:
    """Return whether two touches of one slot have no byte in common."""
    return first is not None and second is not None and (first[1] <= second[0] or second[1] <= first[0])


def conflict(first: Access, second: Access) -> bool:
    return first.resource == second.resource and (first.write or second.write)
