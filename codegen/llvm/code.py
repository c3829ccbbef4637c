"""What the CPU target hands to the runtime: LLVM IR text and how to call it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pypto.ir.dtypes import DType


@dataclass(frozen=True, slots=True)
class Machine:
    """The processor that code is made for. `vector_bits` is the register width used (128, 256 or 512)."""

    triple: str
    cpu: str
    features: str
    vector_bits: int

    def lanes(self, dtype: DType) -> int:
        """Elements of `dtype` in one vector register; f16, bf16 and bool count at the width they are computed in."""
        bits = 32 if dtype.is_narrow_float else max(8, dtype.bits)
        return self.vector_bits // bits


@dataclass(frozen=True, slots=True)
class Layout:
    """How an argument lies in memory: strides in elements (zero and negative ones are possible), one per axis."""

    strides: tuple[int, ...]


class SlotKind(Enum):
    """What a slot holds: the address of an array's first element, the bits of a scalar, the address of an
    intermediate, or a word of the status.

    The status is four words: a lock, the number of the operation that met an index out of range (from 1 in order of
    the module; 0: none), the place of that index among the indices (row-major), the index. Of several mistakes the
    first operation's first is kept, whatever the threads do. All must be 0 before a call.
    """

    ARRAY = "array"
    SCALAR = "scalar"
    INTERMEDIATE = "intermediate"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class Slot:
    """One 8-byte entry of the slot table. A scalar lies in the low bytes, in its own dtype; `bytes` is an
    intermediate's size.
    """

    name: str
    kind: SlotKind
    dtype: DType
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Phase:
    """One parallel loop. Phases run in order; all items of one finish before the next starts.

    `symbol` is ``void symbol(ptr slots, ptr workspace, ptr scratch, ptr stop, i64 first, i64 last)``: it does the
    items first .. last - 1 in order. `items` and `grain` (items per chunk) depend on shapes only, never on the number
    of threads, and a chunk's result does not depend on which chunks ran before it, so bits never depend on threads or
    timing. A function returns early, at a loop boundary, once the 32-bit word at `stop` is not 0.
    """

    symbol: str
    items: int
    grain: int


@dataclass(frozen=True, slots=True)
class CpuCode:
    """A compiled module before the toolchain.

    `workspace_bytes` is shared by all threads, `scratch_bytes` is for each thread; `threads` run it at most (0: any
    number).

    Both are 64-byte aligned, hold nothing between phases but what the code itself put there (workspace) or nothing
    (scratch).
    """

    text: str
    slots: tuple[Slot, ...]
    phases: tuple[Phase, ...]
    workspace_bytes: int
    scratch_bytes: int
    notes: tuple[str, ...] = ()
    threads: int = 0
