"""The nodes of the IR: SSA values inside structured regions (kernel, for, if), the same at all four levels.

    Module   a list of kernels that run one after another, with the arrays that carry values between them
    Kernel   parameters, an optional grid of blocks, buffers (from level *buffered* on), a body
    For, If  structured control with carried values
    Load     reads a rectangular region of a parameter into a tile value
    Store    writes a tile value into a rectangular region of a parameter
    Operation   anything of the operation table, synchronisation included

Nodes are immutable; a pass makes new ones with `dataclasses.replace`. Locations never take part in equality.
A `Value` is identified by its name, which is unique within a kernel. Values of a body are tiles, no memory, at level
*tile*; from level *buffered* on each value names the `Buffer` that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Union

from pypto.ir.base.locations import UNKNOWN, Location
from pypto.ir.dtypes import DType
from pypto.ir.index import Extent, Index, Symbol


class Level(Enum):
    """How much of the machine is decided; see docs/ir.md."""

    TILE = "tile"
    BUFFERED = "buffered"
    SYNCHRONISED = "synchronised"
    PLANNED = "planned"

    @property
    def rank(self) -> int:
        return list(Level).index(self)


class Role(Enum):
    """What a kernel does with a parameter. INOUT: its entry value reaches a result."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


class Space(Enum):
    """The memories of dav-2201."""

    GM = "gm"
    UB = "ub"
    L1 = "l1"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"
    BT = "bt"


class Pipe(Enum):
    """The in-order hardware queues of one core."""

    S = "S"
    V = "V"
    M = "M"
    MTE1 = "MTE1"
    MTE2 = "MTE2"
    MTE3 = "MTE3"
    FIX = "FIX"


@dataclass(frozen=True, slots=True)
class TileType:
    """Element type and shape of a value or a parameter."""

    dtype: DType
    shape: tuple[Extent, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Value:
    """A tile value. `buffer` names the kernel's buffer that holds it, from level *buffered* on."""

    name: str
    type: TileType
    buffer: str | None = None

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> tuple[Extent, ...]:
        return self.type.shape

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a kernel: an array in global memory, or a scalar (``scalar=True``, shape ())."""

    name: str
    type: TileType
    role: Role
    scalar: bool = False
    location: Location = field(default=UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Range:
    """One axis of a region: `extent` elements from `offset`, `step` apart (step may be negative, never 0)."""

    offset: Index
    extent: Extent
    step: int = 1


Region = tuple[Range, ...]
Attribute = Union[None, bool, int, float, str, DType, Index, tuple["Attribute", ...]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the table (`pypto.ir.operations`) applied to values. Attributes are sorted by name."""

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)

    def attribute(self, name: str) -> Attribute:
        """Return an attribute's value; raises KeyError when the operation has none of that name."""
        return dict(self.attributes)[name]


@dataclass(frozen=True, slots=True)
class Load:
    """``%result = load source[region]``. The result's shape is the region's extents (axes of extent 1 are kept).

    With `fill` the region may leave the array; elements outside read as `fill`.
    """

    result: Value
    source: str
    region: Region
    fill: float | int | bool | None = None
    location: Location = field(default=UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Store:
    """``store target[region], %value``. With `clip` the region may leave the array; elements outside are not
    written.
    """

    target: str
    region: Region
    value: Value
    clip: bool = False
    location: Location = field(default=UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class For:
    """A counted loop: `index` takes start, start + step, ... below stop (step > 0).

    `carried` are the values that the body sees, `initial` what they are at first, `yielded` what the next turn sees,
    and `results` what is left after the last turn (`initial` after no turn). All four have the same types in the same
    order.
    """

    index: Symbol
    start: Index
    stop: Index
    step: int
    carried: tuple[Value, ...]
    initial: tuple[Value, ...]
    body: tuple[Statement, ...]
    yielded: tuple[Value, ...]
    results: tuple[Value, ...]
    location: Location = field(default=UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two index expressions; `comparison` is one of ``< <= == !=``."""

    left: Index
    comparison: str
    right: Index


@dataclass(frozen=True, slots=True)
class If:
    """Structured choice on an index condition. `results` take the values yielded by the side that runs."""

    condition: Condition
    then_body: tuple[Statement, ...]
    then_yielded: tuple[Value, ...]
    else_body: tuple[Statement, ...]
    else_yielded: tuple[Value, ...]
    results: tuple[Value, ...]
    location: Location = field(default=UNKNOWN, compare=False)


Statement = Union[Operation, Load, Store, For, If]


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One axis of the grid of blocks: `symbol` takes 0 .. extent - 1. Blocks are independent and run in any order."""

    symbol: Symbol
    extent: Extent
    location: Location = field(default=UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Buffer:
    """On-chip storage of one or several values: `depth` slots of `shape` elements each.

    `shape` is the storage shape in elements (rows padded to the memory's alignment); `address` is the byte address of
    slot 0, known at level *planned* at the latest; slots follow each other, at multiples of 256 bytes. Turn k of the
    innermost loop around all that touches the buffer uses slot k % depth.
    """

    name: str
    space: Space
    dtype: DType
    shape: tuple[int, ...]
    depth: int = 1
    address: int | None = None
    location: Location = field(default=UNKNOWN, compare=False)

    @property
    def slot_bytes(self) -> int:
        elements = 1
        for extent in self.shape:
            elements *= extent
        alignment = 256 if self.depth > 1 else 32
        return -(-elements * self.dtype.bytes // alignment) * alignment


@dataclass(frozen=True, slots=True)
class Guard:
    """A fact about a symbolic extent that tracing relied on: ``symbol == value``."""

    symbol: Symbol
    value: Extent
    location: Location = field(default=UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: what a single launch runs.

    `attributes` hold schedule and notes as plain data (``tile_num``, ``block_dim``, ...). `grid` is empty unless the
    kernel asks for its block id, or a pass split it into blocks.
    """

    name: str
    parameters: tuple[Parameter, ...]
    grid: tuple[GridAxis, ...]
    body: tuple[Statement, ...]
    level: Level = Level.TILE
    buffers: tuple[Buffer, ...] = ()
    guards: tuple[Guard, ...] = ()
    attributes: tuple[tuple[str, Attribute], ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)

    def parameter(self, name: str) -> Parameter:
        """Return the parameter called `name`; raises KeyError for another name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Module:
    """Kernels that run in the listed order; a kernel sees all writes of those before it.

    Kernel parameters are matched to `parameters` (the arguments of a launch) and `intermediates` (arrays that only
    carry values between kernels, allocated by the runtime) by name.
    """

    name: str
    parameters: tuple[Parameter, ...]
    intermediates: tuple[Parameter, ...]
    kernels: tuple[Kernel, ...]

    @property
    def level(self) -> Level:
        return self.kernels[0].level if self.kernels else Level.TILE

    @property
    def is_concrete(self) -> bool:
        """Whether all extents of all arrays are numbers."""
        arrays = (*self.parameters, *self.intermediates)
        return all(isinstance(extent, int) for item in arrays for extent in item.type.shape)


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of `body` in program order, those inside loops and branches after their owner."""
    for statement in body:
        yield statement
        for region in regions(statement):
            yield from walk(region)


def regions(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """Return the bodies nested directly in `statement`."""
    if isinstance(statement, For):
        return (statement.body,)
    if isinstance(statement, If):
        return (statement.then_body, statement.else_body)
    return ()


def operands(statement: Statement) -> tuple[Value, ...]:
    """Return the values that `statement` itself reads, those its regions yield included."""
    if isinstance(statement, Operation):
        return statement.operands
    if isinstance(statement, Store):
        return (statement.value,)
    if isinstance(statement, For):
        return statement.initial + statement.yielded
    if isinstance(statement, If):
        return statement.then_yielded + statement.else_yielded
    return ()


def results(statement: Statement) -> tuple[Value, ...]:
    """Return the values that `statement` defines for the statements after it."""
    if isinstance(statement, Load):
        return (statement.result,)
    if isinstance(statement, Store):
        return ()
    return statement.results


def whole(type_: TileType) -> Region:
    """Return the region that covers an array of `type_`."""
    return tuple(Range(0, extent) for extent in type_.shape)
