"""The bytes that buffers take, rounded up to whole repeats so that instructions on whole repeats stay inside."""

from __future__ import annotations

import math

from pypto.ir.dtypes import BOOL, F16
from pypto.ir.nodes import Buffer, Kernel, Operation, Space, walk
from pypto.ir.passes.limits import ASCEND_910B1


def whole_repeats(buffer: Buffer) -> int:
    """Return the bytes that all slots of `buffer` take, rounded up to whole repeats."""
    repeat = ASCEND_910B1.repeat_bytes
    return buffer.depth * (-(-buffer.slot_bytes // repeat) * repeat)


def touched_bytes(kernel: Kernel) -> dict[str, int]:
    """Return for each buffer how many bytes of a slot instructions may touch.

    Comparisons read whole repeats; everything else goes by blocks, bits of comparisons too, of whole repeats.
    """
    whole: set[str] = set()
    for item in walk(kernel.body):
        if isinstance(item, Operation) and any(value.dtype == BOOL for value in item.results):
            whole.update(value.buffer for value in item.operands if value.buffer is not None)
    return {
        buffer.name: whole_repeats(buffer) // buffer.depth
        if buffer.space is not Space.UB or (buffer.name in whole and buffer.dtype != BOOL)
        else _whole_blocks(buffer)
        for buffer in kernel.buffers
    }


def _whole_blocks(buffer: Buffer) -> int:
    size = buffer.slot_bytes
    if buffer.dtype == BOOL:
        lanes = ASCEND_910B1.repeat_bytes // F16.bytes
        size = -(-math.prod(buffer.shape) // lanes) * lanes // 8
    return -(-size // ASCEND_910B1.block_bytes) * ASCEND_910B1.block_bytes


CAPACITIES = {
    Space.UB: ASCEND_910B1.unified_buffer,
    Space.L1: ASCEND_910B1.l1,
    Space.L0A: ASCEND_910B1.l0a,
    Space.L0B: ASCEND_910B1.l0b,
    Space.L0C: ASCEND_910B1.l0c,
    Space.BT: ASCEND_910B1.bias_table,
}


def capacity(kernel: Kernel, space: Space = Space.UB) -> int:
    """Return the bytes of a memory that `kernel` may use: Select takes a part of the unified buffer for itself."""
    if space is not Space.UB:
        return CAPACITIES[space]
    selects = any(isinstance(item, Operation) and item.name == "where" for item in walk(kernel.body))
    return ASCEND_910B1.unified_buffer - (ASCEND_910B1.select_reserve if selects else 0)
