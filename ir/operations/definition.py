"""What a record of the operation table holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pypto.ir.dtypes import DType
from pypto.ir.nodes import Attribute, Level, Pipe, TileType

Attributes = Mapping[str, Attribute]
InferTypes = Callable[[tuple[TileType, ...], Attributes], tuple[TileType, ...]]
Meaning = Callable[..., Any]


class RuleViolation(Exception):
    """An operation was given operands that its type rule forbids.

    `name` and `details` are a catalogue entry's; whoever knows the source line turns it into a UserError.
    """

    def __init__(self, name: str, **details: object) -> None:
        super().__init__(name, details)
        self.name, self.details = name, details


class IndexOutOfRange(Exception):
    """A meaning met an index that is not an element of its axis; whoever knows the source line makes it a UserError."""

    def __init__(self, value: int, position: tuple[int, ...], shape: tuple[int, ...], extent: int) -> None:
        """`position` is where `value` stands among indices of `shape`; axes of extent 1 are left out."""
        super().__init__(value, position, shape, extent)
        self.value, self.extent = value, extent
        self.position = tuple(place for place, size in zip(position, shape, strict=True) if size != 1) or (0,)


class Category(Enum):
    """How an operation relates the elements of its result to those of its operands; drives fusion and axis analysis."""

    ELEMENTWISE = "elementwise"  # same index in every operand, after NumPy broadcasting
    REDUCTION = "reduction"  # attribute `axes` is reduced and kept as extent 1
    CONTRACTION = "contraction"  # products summed over axes that the operands share and the result lacks
    VIEW = "view"  # each result element is one operand element at another index
    ASSEMBLY = "assembly"  # the result is put together from regions of several operands (insert, pad, concat)
    ARGUMENT_REDUCTION = "argument reduction"  # where along attribute `axis` something is; kept as extent 1
    SCAN = "scan"  # each element along attribute `axis` combines those before it
    SORT = "sort"  # puts elements along attribute `axis` in order
    INDEXING = "indexing"  # elements along attribute `axis` are chosen by the numbers in operand `indices`
    CONSTANT = "constant"  # no operands
    CUBE = "cube"  # moves matrices between the memories of the cube core, and multiplies them
    SYNCHRONISATION = "synchronisation"  # orders pipes, has no values


@dataclass(frozen=True, slots=True)
class Cost:
    """Work per element of the larger of result and operands, for the cost models.

    `flops`: arithmetic operations on the CPU. `cycles_per_repeat`: cycles of the vector pipe for one 256-byte repeat
    of f32 on dav-2201 (1 for a plain instruction; decomposed operations sum theirs).
    """

    flops: float
    cycles_per_repeat: float


@dataclass(frozen=True, slots=True)
class OperationDefinition:
    """One operation: operands, type rule, category, pipe, NumPy meaning and cost.

    `meaning` takes the operands as NumPy arrays (already in the operand dtypes of the IR) and the attributes by
    keyword and returns the result array in the result's dtype; it defines the operation. `dtypes` are the element
    types its operands may have; `error_bound` is what a target may be off by (`docs/numerics.md`). Emission rules are
    kept by target under the same name: `codegen/llvm/rules` and `codegen/ascendc/rules`; a test demands one of each
    for every record.

    `optional` names the attributes that may be left out; `level` is the first level at which the operation occurs.
    """

    name: str
    operands: tuple[str, ...]
    category: Category
    infer: InferTypes
    meaning: Meaning
    cost: Cost
    documentation: str
    dtypes: tuple[DType, ...]
    error_bound: str = "exact"
    attributes: tuple[str, ...] = ()
    pipe: Pipe = Pipe.V
    variadic: bool = False
    optional: tuple[str, ...] = ()
    level: Level = Level.TILE
