"""What the passes must know of the chip. `codegen/targets/ascend910b1.toml` has the same numbers with their sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes: the unified buffer, the part at its top that Select uses, the alignment of planned addresses.

    Addresses are aligned to a whole repeat (256 bytes), so that Compare, whose count is rounded up to one, never
    writes into another buffer.
    """

    unified_buffer: int = 192 * 1024
    select_reserve: int = 8 * 1024
    block_bytes: int = 32
    repeat_bytes: int = 256
    vector_cores: int = 48
    cube_cores: int = 24
    l1: int = 512 * 1024
    l0a: int = 64 * 1024
    l0b: int = 64 * 1024
    l0c: int = 128 * 1024
    bias_table: int = 1024
    fractal: int = 16


ASCEND_910B1 = Limits()
