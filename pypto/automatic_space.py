"""The search space of a kernel for which the user gives none: what its axes and the target can make a difference with.

Extents are powers of two, of the innermost axis multiples of a vector (CPU) or of 32 bytes (NPU); axes that the body
works across stay whole. What depends on each other is not multiplied out: see the conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto.codegen.llvm.code import Machine
from pypto.ir.nodes import Module
from pypto.runtime.tuning.candidate import Value
from pypto.runtime.tuning.facts import Facts, facts
from pypto.search_space import TilingSearchSpace

STREAMED_BYTES = 1 << 20
"""Outputs smaller than this stay in the caches, so that storing past them only costs."""
NPU_BLOCK = 32
"""Bytes that copies of an NPU are multiples of."""

when = TilingSearchSpace.when


def automatic_space(module: Module, target: str, machine: Machine | None = None) -> TilingSearchSpace:
    """Return the space of a module at level tile; an empty one where the target leaves nothing to choose."""
    known = facts(module)
    if target == "cpu":
        from pypto.runtime.toolchain import host_machine

        return TilingSearchSpace(**_cpu_axes(known, machine or host_machine()))
    return TilingSearchSpace(**(_npu_axes(known) if target in ("ascendc", "npu") else {}))


def _powers(low: int, extent: int, ratio: int = 2) -> list[int]:
    """Return low, low * ratio, ... below `extent`."""
    found = []
    while low < extent:
        found.append(low)
        low *= ratio
    return found


def _with_default(values: Iterable[Value]) -> list[Value]:
    return [None, *values]


def _cpu_axes(known: Facts, machine: Machine) -> dict[str, Any]:
    axes = _product_tiles(known) if known.depth > 1 else _tiles(known, machine.vector_bits // (8 * known.element_bytes))
    bits = [bits for bits in (256, 512) if bits <= machine.vector_bits]
    if known.depth <= 1:
        # Narrower registers and shorter turns of loops are two ways to the same end; both at once need not be tried.
        axes["vector_bits"] = [bits[-1], *bits[:-1]] if bits else [machine.vector_bits]
        axes["unroll"] = when([None, 1, 8], vector_bits=axes["vector_bits"][0])
        if known.output_bytes >= STREAMED_BYTES:
            axes["streaming"] = [False, True]
    return axes


def _product_tiles(known: Facts) -> dict[str, Any]:
    """Rows, columns and depth of what is packed at a time."""
    rows, columns = _last_two(known)
    axes: dict[str, Any] = {"tile_k": _with_default(_powers(64, 8 * known.depth)[:4])}
    if _may_cut(known, 3) and not _may_cut(known, 2):  # a convolution: rows are output channels
        axes["tile_d"] = _with_default([*_powers(8, min(known.extents[-3], 256)), known.extents[-3]])
    if rows > 1 and _may_cut(known, 2):
        axes["tile_m"] = _with_default([*_powers(32, min(rows, 512)), rows])
    if columns > 1 and _may_cut(known, 1):
        axes["tile_n"] = _with_default([*_powers(64, min(columns, 1024)), columns])
    return axes


def _tiles(known: Facts, lanes: int) -> dict[str, Any]:
    """Rows and columns of one work item."""
    rows, columns = _last_two(known)
    axes: dict[str, Any] = {}
    if rows > 1 and _may_cut(known, 2):
        axes["tile_m"] = _with_default(_powers(1, min(rows, 257), 4))
    if columns > lanes and _may_cut(known, 1):
        shorter = _powers(max(4 * lanes, columns // 64), columns, 4)
        axes["tile_n"] = [columns, *shorter] if "tile_m" in axes else _with_default([*shorter, columns])
        if "tile_m" in axes and shorter:
            axes["tile_n"] = when(axes["tile_n"], tile_m=[1, 16, 64])
    return axes


def _npu_axes(known: Facts) -> dict[str, Any]:
    """Rows and columns of a tile, with and without several slots per buffer."""
    rows, columns = _last_two(known)
    axes: dict[str, Any] = {}
    if rows > 1 and _may_cut(known, 2):
        axes["tile_m"] = _with_default(_powers(1, rows, 4)[:6])
    if columns > 1 and _may_cut(known, 1):
        least = max(1, NPU_BLOCK // known.element_bytes)
        axes["tile_n"] = _with_default(_powers(8 * least, columns, 4)[:5])
    axes["buffering"] = ["double", "single"]
    return axes


def _last_two(known: Facts) -> tuple[int, int]:
    extents = (1, 1, *known.extents)
    return extents[-2], extents[-1]


def _may_cut(known: Facts, from_right: int) -> bool:
    return len(known.cuttable) >= from_right and known.cuttable[-from_right]
