"""The program that loops are made from: tasks over arrays, between a kernel's tile values and LLVM text.

Tile values are gone: every value is either evaluated inside a task, element by element, or is the content of an
`Array`. Loops' carried tiles, branches' results, reductions, assembled tiles and shared expensive values are *local*
arrays. What remains is a sequence of tasks, loops and branches with memory semantics in program order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Union

from pypto.codegen.llvm.affine import Affine, symbols
from pypto.ir.dtypes import DType
from pypto.ir.index import Symbol
from pypto.ir.nodes import Attribute, Condition


class Home(Enum):
    """Where an array lies."""

    ARGUMENT = "argument"  # a slot of the launch: array or intermediate
    SCALAR = "scalar"  # the bits of a scalar argument, in the slot itself
    WORKSPACE = "workspace"  # shared by all threads, lives between phases
    SCRATCH = "scratch"  # of one thread, lives within one item of a phase


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a contiguous array, in elements."""
    strides, below = [], 1
    for extent in reversed(shape):
        strides.append(below)
        below *= max(1, extent)
    return tuple(reversed(strides))


@dataclass(slots=True)
class Array:
    """Memory that tasks read and write. `strides` are in elements.

    Arrays with the same name are the same memory, perhaps seen with other axes.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    home: Home
    strides: tuple[int, ...] = ()
    slot: int = 0
    """Slot number of an argument."""

    def __post_init__(self) -> None:
        if not self.strides:
            self.strides = row_major(self.shape)

    @property
    def is_local(self) -> bool:
        return self.home in (Home.WORKSPACE, Home.SCRATCH)


@dataclass(frozen=True, slots=True)
class Access:
    """An element of an array: one index per axis. `fill`: elements outside the array are that number instead."""

    array: Array
    index: tuple[Affine, ...]
    guarded: bool = False
    fill: float | int | bool | None = None


class NodeKind(Enum):
    LOAD = "load"
    OPERATION = "operation"
    CONSTANT = "constant"
    INDEX = "index"
    CHECKED = "checked"  # an index from a tile, after the check that it is an element of its axis


@dataclass(frozen=True, slots=True)
class Node:
    """One step of evaluating a task's element. `operands` are positions of earlier nodes of the same task."""

    kind: NodeKind
    dtype: DType
    name: str = ""
    operands: tuple[int, ...] = ()
    attributes: tuple[tuple[str, Attribute], ...] = ()
    access: Access | None = None
    value: float | int | bool | Affine = 0
    symbol: Symbol | None = None
    """What accesses call a checked index; `value` is then its place among the indices."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop of a task: `symbol` from `lower` below `upper`. `extent` is the most turns it can take."""

    symbol: Symbol
    extent: int
    lower: Affine
    upper: Affine
    reduced: bool = False


SEQUENTIAL = frozenset(("cumsum", "cumprod", "argsort", "scatter", "scatter_add"))
"""What `sequential.py` emits: scans, sorting, and writing to places that indices choose."""


def bounding_symbols(axes: tuple[Axis, ...]) -> frozenset[Symbol]:
    """Return the symbols that the bounds of the loops depend on."""
    return frozenset().union(*(symbols(form) for axis in axes for form in (axis.lower, axis.upper)))


@dataclass(frozen=True, slots=True)
class Task:
    """For every element of `axes`: evaluate `nodes` and store the last one (`result`) to `target`.

    With `reduction` (sum, max, min ...) the axes marked reduced are combined, and `target` does not depend on them.
    With one of `SEQUENTIAL` the axes marked reduced are walked in order by one item. `settings` are its attributes.
    """

    target: Access
    axes: tuple[Axis, ...]
    nodes: tuple[Node, ...]
    result: int
    reduction: str | None = None
    settings: tuple[tuple[str, Attribute], ...] = ()
    contraction: tuple[int, int] | None = None
    """The nodes whose product is summed, when both depend on an axis that the other lacks (see `contraction.py`)."""

    @property
    def is_sequential(self) -> bool:
        return self.reduction in SEQUENTIAL

    @property
    def reads(self) -> Iterator[Access]:
        for node in self.nodes:
            if node.access is not None:
                yield node.access

    @property
    def dtype(self) -> DType:
        return self.nodes[self.result].dtype


@dataclass(slots=True)
class Repeat:
    """A counted loop over a sequence: `symbol` takes start, start + step, ... below stop."""

    symbol: Symbol
    start: Affine
    stop: Affine
    step: int
    body: list[Statement] = field(default_factory=list)
    limit: Symbol | None = None
    """An axis of the tasks: the loop may stop where the item's block of that axis ends."""


@dataclass(slots=True)
class Choice:
    """One of two sequences, by a condition on index expressions."""

    condition: Condition
    left: Affine
    right: Affine
    then_body: list[Statement] = field(default_factory=list)
    else_body: list[Statement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outer:
    """An axis that items walk: one position each, or (`block` > 1) a block from `lower` below `upper`."""

    symbol: Symbol
    extent: int
    block: int
    lower: Symbol
    upper: Symbol

    @property
    def count(self) -> int:
        return -(-self.extent // self.block)

    @property
    def is_even(self) -> bool:
        """True when all blocks have the same length."""
        return self.extent % self.block == 0


@dataclass(slots=True)
class Walk:
    """A sequence that runs for each point of some axes, one after another, with local arrays as small as one point."""

    outers: tuple[Outer, ...]
    body: list[Statement] = field(default_factory=list)

    @property
    def count(self) -> int:
        return math.prod(outer.count for outer in self.outers)


Statement = Union[Task, Repeat, Choice, Walk]


@dataclass(slots=True)
class Program:
    """A kernel as tasks. `ranges` bounds every symbol; `grid` are the block symbols with their extents."""

    name: str
    arrays: list[Array]
    body: list[Statement]
    grid: tuple[tuple[Symbol, int], ...]
    ranges: dict[Symbol, tuple[int, int]]


def tasks(statements: list[Statement]) -> Iterator[Task]:
    """Yield every task in program order, those inside loops and branches too."""
    for statement in statements:
        if isinstance(statement, Task):
            yield statement
        elif isinstance(statement, (Repeat, Walk)):
            yield from tasks(statement.body)
        else:
            yield from tasks(statement.then_body)
            yield from tasks(statement.else_body)
