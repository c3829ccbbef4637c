"""What a candidate lowers to: the code that decides whether two candidates are one, and what it needs."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from pypto.codegen.llvm.code import CpuCode, Layout, Machine
from pypto.ir.base.settings import settings
from pypto.ir.nodes import Module, Space
from pypto.ir.schedule import Schedule, with_schedule


@dataclass(frozen=True, slots=True)
class Lowered:
    """`identity`: equal exactly for candidates that are the same code. `on_chip`: bytes of the unified buffer in use
    at the peak (NPU). `workspace`, `block_dim`: as `Candidate` has them. `code` and `planned`: what a cost model looks
    at.
    """

    identity: str
    workspace: int = 0
    block_dim: int = 1
    on_chip: int = 0
    code: CpuCode | None = None
    planned: Module | None = None


def lower_candidate(
    module: Module, target: str, layouts: Mapping[str, Layout], machine: Machine | None = None
) -> Lowered:
    """Return what `module` (level tile, carrying its schedule) becomes on `target`.

    Raises UserError ``unified-buffer-full`` and whatever lowering raises. On targets that generate no code every
    schedule is the same.
    """
    if target == "cpu":
        return _on_cpu(module, layouts, machine)
    if target in ("ascendc", "npu"):
        return _on_npu(module)
    return Lowered("")


def _on_cpu(module: Module, layouts: Mapping[str, Layout], machine: Machine | None) -> Lowered:
    from pypto.codegen.llvm.emitter import emit
    from pypto.runtime.toolchain import host_machine

    code = emit(module, layouts, machine or host_machine())
    parts = (code.text, code.phases, code.workspace_bytes, code.scratch_bytes, code.threads)
    return Lowered(_digest(repr(parts)), code.workspace_bytes, code.threads, code=code)


def _on_npu(module: Module) -> Lowered:
    from pypto.ir.printer import print_module

    planned = planned_module(module)
    text = print_module(with_schedule(planned, Schedule()))
    cores = [axis.extent for kernel in planned.kernels for axis in kernel.grid[:1] if isinstance(axis.extent, int)]
    return Lowered(_digest(text), block_dim=max(cores, default=1), on_chip=_peak(planned), planned=planned)


@functools.lru_cache(maxsize=128)
def planned_module(module: Module) -> Module:
    """Return a module (level tile) at level planned, without dumps; what was planned lately is kept, since the search
    and the model both ask for it.
    """
    from pypto.ir.passes.manager import run_passes
    from pypto.ir.passes.pipeline import NPU_PASSES

    with settings(dump=""):
        return run_passes(module, NPU_PASSES)[0]


def _peak(planned: Module) -> int:
    """Return the end of the highest buffer on chip."""
    ends = (
        (buffer.address or 0) + buffer.slot_bytes * buffer.depth
        for kernel in planned.kernels
        for buffer in kernel.buffers
        if buffer.space is Space.UB
    )
    return max(ends, default=0)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(maxsize=1)
def memory_bytes() -> int:
    """Return the bytes of this machine's memory."""
    import os

    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # systems without these names
        return 1 << 36
