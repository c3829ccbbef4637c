"""Which arrays are read after others are written: what copying an input before a launch would change."""

from __future__ import annotations

from collections.abc import Iterator

from pypto.ir.nodes import For, If, Kernel, Load, Module, Statement, Store

Access = tuple[str, bool]


def reads_after_writes(module: Module, source: str, target: str) -> bool:
    """Return whether any read of array `source` may come after a write of array `target`, in program order.

    If not, a launch on arrays that share memory means the same as one on a copy of `source`. Loops count as
    running more than once, blocks of a grid as running in any order.
    """
    written = False
    for kernel in module.kernels:
        accesses = list(_kernel_accesses(kernel))
        for array, is_write in accesses:
            if array == target and is_write:
                written = True
            elif array == source and not is_write and written:
                return True
    return False


def _kernel_accesses(kernel: Kernel) -> Iterator[Access]:
    yield from _accesses(kernel.body)
    if kernel.grid:
        yield from _accesses(kernel.body)


def _accesses(body: tuple[Statement, ...]) -> Iterator[Access]:
    """Yield (array, written) for each access in program order; loop bodies twice."""
    for statement in body:
        if isinstance(statement, Load):
            yield statement.source, False
        elif isinstance(statement, Store):
            yield statement.target, True
        elif isinstance(statement, For):
            yield from _accesses(statement.body)
            yield from _accesses(statement.body)
        elif isinstance(statement, If):
            yield from _accesses(statement.then_body)
            yield from _accesses(statement.else_body)
