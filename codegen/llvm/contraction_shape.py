"""How a contraction runs: which axes are rows, columns and depth, the tile that registers hold, the blocks for caches.

One micro-kernel computes a tile of `rows` x `vectors` registers over a run of the depth axes; its operands are packed
in the order in which it reads them. A run of depth of `DEPTH` elements keeps a panel of the right operand in the first
cache, `ROWS` rows of the left one in the second. The scheme is that of Goto and van de Geijn, "Anatomy of
high-performance matrix multiplication", ACM TOMS 34 (2008).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.program import Access, Axis, Node, Task
from pypto.ir.dtypes import DType
from pypto.ir.index import Symbol
from pypto.ir.schedule import Schedule

DEPTH = 320
"""Longest run of depth that one micro-kernel call adds up."""
ROWS = 112
"""Rows that are packed at a time: a multiple of the usual tiles' rows."""
COLUMNS = 512
"""Columns that are packed at a time."""
WIDEST = 6
"""Most registers across a tile's row."""
MOST_ROWS = 24
"""Most rows of a tile."""
SMALL = 1 << 18
"""Products up to which a contraction is one item."""
ENOUGH_ITEMS = 16
"""Items that need not be cut further."""
LOCAL_BYTES = 1 << 18
"""Bytes of the results of one item, where its columns cannot be cut."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """What is packed at a time: positions of depth, rows of the left operand, columns of the right one, at most."""

    depth: int = DEPTH
    rows: int = ROWS
    columns: int = COLUMNS


def blocking(schedule: Schedule) -> Blocking:
    """Return the blocks for the caches: a tile that was chosen is packed as one."""
    depth = schedule.tile_k or DEPTH
    return Blocking(depth) if schedule.tile_shape is None else Blocking(depth, 1 << 30, 1 << 30)


@dataclass(frozen=True, slots=True)
class Roles:
    """The axes of a contraction: `loops` are those that both or neither operand has, and all but one of the others."""

    row: Axis | None
    column: Axis | None
    depth: tuple[Axis, ...]
    loops: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """What the accumulators hold: `rows` times `vectors` registers of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


def reachable(nodes: tuple[Node, ...], result: int) -> set[int]:
    """Return the positions of the nodes that `result` needs, itself included."""
    found, pending = {result}, [result]
    while pending:
        for operand in nodes[pending.pop()].operands:
            if operand not in found:
                found.add(operand)
                pending.append(operand)
    return found


def forms_of(node: Node) -> tuple[Affine, ...]:
    """Return the index expressions that a node itself depends on."""
    if node.access is not None:
        return node.access.index
    return (node.value,) if isinstance(node.value, Affine) else ()


def symbols_of(nodes: tuple[Node, ...], result: int) -> frozenset[Symbol]:
    """Return the symbols that a node and its operands depend on."""
    found: set[Symbol] = set()
    for position in reachable(nodes, result):
        for form in forms_of(nodes[position]):
            found |= affine.symbols(form)
    return frozenset(found)


def reads_of(nodes: tuple[Node, ...], result: int) -> list[Access]:
    accesses = (nodes[position].access for position in reachable(nodes, result))
    return [access for access in accesses if access is not None]


def roles(task: Task) -> Roles:
    """Return what the axes of a contraction are, from the operands that depend on them."""
    assert task.contraction is not None
    left, right = (symbols_of(task.nodes, position) for position in task.contraction)
    kept = [axis for axis in task.axes if not axis.reduced]
    rows = [axis for axis in kept if axis.symbol in left and axis.symbol not in right]
    columns = [axis for axis in kept if axis.symbol in right and axis.symbol not in left]
    target = task.target
    row = max(rows, key=lambda axis: axis.extent, default=None)
    column = next((axis for axis in columns if step_of(target, axis.symbol) == 1), None)
    depth = tuple(axis for axis in task.axes if axis.reduced)
    chosen = (row, column)
    return Roles(row, column, depth, tuple(axis for axis in kept if axis not in chosen))


def step_of(access: Access, symbol: Symbol) -> int:
    """Return how many elements further an access is when `symbol` grows by one, as far as it is linear in it."""
    steps = zip(access.array.strides, access.index, strict=True)
    return sum(stride * index.coefficient(symbol) for stride, index in steps)


def registers(machine: Machine) -> int:
    """Return how many vector registers the processor has."""
    arm = machine.triple.startswith(("aarch64", "arm64"))
    return 32 if arm or "+avx512vl" in machine.features.split(",") else 16


def tile_of(rows: int, columns: int, dtype: DType, machine: Machine) -> Tile:
    """Return the tile for a block of `rows` x `columns`: as little left over as can be, all accumulators in use."""
    lanes = max(1, machine.vector_bits // dtype.bits)
    lanes = min(lanes, 1 << max(0, columns - 1).bit_length())
    across = -(-columns // lanes)
    budget = 28 if registers(machine) == 32 else 12
    vectors = min(2, across)
    most = min(budget // vectors, MOST_ROWS)
    count = -(-rows // -(-rows // most))
    return Tile(count, max(vectors, min(budget // count, across, WIDEST)), lanes)


def spread_out(length: int, dtype: DType) -> int:
    """Return a pitch of at least `length` that spreads rows over the sets of a cache: an odd number of lines."""
    line = max(1, 64 // dtype.bytes)
    lines = -(-length // line)
    return (lines + 1 - lines % 2) * line


def depth_run(extent: int, most: int = DEPTH) -> int:
    """Return the length of the runs of at most `most` that an axis of depth is cut into: nearly equal ones."""
    return -(-extent // -(-extent // most)) if extent > most else extent


def blocks(all_tasks: list[Task], parallel: set[Symbol], extents: Mapping[Symbol, int]) -> dict[Symbol, int] | None:
    """Return the lengths of the blocks of rows and columns that one item takes; None without a contraction."""
    result: dict[Symbol, int] = {}
    found = False
    for task in all_tasks:
        if task.contraction is None:
            continue
        found = True
        axes = roles(task)
        work = math.prod(axis.extent for axis in task.axes)
        for axis, wanted in ((axes.row, _row_block(axes, parallel)), (axes.column, _column_block(axes))):
            if axis is not None and axis.symbol in parallel:
                size = axis.extent if work <= SMALL else min(wanted, axis.extent)
                result[axis.symbol] = min(size, result.get(axis.symbol, size))
    return result if found else None


def _row_block(axes: Roles, parallel: set[Symbol]) -> int:
    extent = axes.row.extent if axes.row is not None else 1
    others = math.prod(axis.extent for axis in axes.loops if axis.symbol in parallel)
    is_coarse = extent >= 4 * ROWS or (extent <= ROWS and others >= ENOUGH_ITEMS)
    size = ROWS if is_coarse else ROWS // 2
    if axes.column is not None and axes.column.symbol not in parallel:
        size = ROWS // 2
        while size > ROWS // 8 and size * axes.column.extent * 4 > LOCAL_BYTES:
            size //= 2
    return size


def _column_block(axes: Roles) -> int:
    extent = axes.column.extent if axes.column is not None else 1
    if extent >= 2 * COLUMNS:
        return COLUMNS
    return COLUMNS // 2
