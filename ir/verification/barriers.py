"""Rules of barriers between blocks: who takes part, and that all blocks come to each as often."""

from __future__ import annotations

import math

from pypto.ir.index import Symbol, symbols
from pypto.ir.nodes import For, Kernel, Operation, walk
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.verification.violation import Violation

BARRIER_IDS = 11
"""Flags 0 to 10 between cores are free on dav-2201; SyncAll uses 11 to 14."""

BARRIERS = ("set_barrier", "wait_barrier")
MOST_BLOCKS = ASCEND_910B1.vector_cores
"""Blocks that run at once."""


def has_barriers(kernel: Kernel) -> bool:
    return any(is_barrier(item) for item in walk(kernel.body))


def is_barrier(statement: object) -> bool:
    return isinstance(statement, Operation) and statement.name in BARRIERS


def block_count(kernel: Kernel) -> int | None:
    """Return the number of blocks of a grid, None while an extent is unknown."""
    extents = [axis.extent for axis in kernel.grid if isinstance(axis.extent, int)]
    return math.prod(extents) if len(extents) == len(kernel.grid) else None


def check_barriers(kernel: Kernel) -> None:
    """Raise Violation unless all blocks take part in each barrier, equally often, and can run at once."""
    blocks = block_count(kernel)
    for statement in walk(kernel.body):
        if isinstance(statement, Operation) and statement.name in BARRIERS:
            _check_barrier(statement, blocks)
        elif isinstance(statement, For):
            _check_loop(statement, {axis.symbol for axis in kernel.grid})


def _check_barrier(operation: Operation, blocks: int | None) -> None:
    number = operation.attribute("barrier_id")
    assert isinstance(number, int)
    if number >= BARRIER_IDS:
        raise Violation("barrier-id", operation, id=number, limit=BARRIER_IDS - 1)
    if operation.name == "set_barrier":
        given = operation.attribute("participants")
        if given != blocks:
            raise Violation("barrier-participants", operation, id=number, participants=given, blocks=blocks)
    if blocks is not None and blocks > MOST_BLOCKS:
        raise Violation("barrier-blocks", operation, blocks=blocks, cores=MOST_BLOCKS)


def _check_loop(loop: For, blocks: set[Symbol]) -> None:
    uneven = sorted(str(symbol) for symbol in (symbols(loop.start) | symbols(loop.stop)) & blocks)
    for statement in walk(loop.body):
        if uneven and isinstance(statement, Operation) and statement.name in BARRIERS:
            raise Violation("barrier-uneven", statement, what=f"a {statement.name}", symbol=uneven[0])
