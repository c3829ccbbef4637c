"""The bytes that buffers take, rounded up to whole repeats so that instructions on whole repeats stay inside."""

from __future__ import annotations

from pypto.ir.nodes import Buffer, Kernel, Operation, walk
from pypto.ir.passes.limits import ASCEND_910B1


def whole_repeats(buffer: Buffer) -> int:
    """Return the bytes that all slots of `buffer` take, rounded up to whole repeats."""
    repeat = ASCEND_910B1.repeat_bytes
    return buffer.depth * (-(-buffer.slot_bytes // repeat) * repeat)


def capacity(kernel: Kernel) -> int:
    """Return the bytes of the unified buffer that `kernel` may use: Select takes a part for itself."""
    selects = any(isinstance(item, Operation) and item.name == "where" for item in walk(kernel.body))
    return ASCEND_910B1.unified_buffer - (ASCEND_910B1.select_reserve if selects else 0)
