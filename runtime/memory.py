"""Working memory of calls: one block shared by all kernels, kept between calls; calls at the same time get their own.

The kept block never exceeds 64 MB. A call that needs more, or finds the block taken, gets memory that is freed after
it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from pypto.runtime.native import native
from pypto.runtime.toolchain import LLVM_LOCK

LARGEST_KEPT = 64 << 20  # bytes
ALIGNMENT = 64  # bytes; a cache line, and the widest vector


def round_up(size: int) -> int:
    """Return `size` in bytes, rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Block:
    """Uninitialised memory: `address` is aligned, `bytes` usable."""

    def __init__(self, size: int) -> None:
        self._memory: np.ndarray[Any, Any] = np.empty(size + ALIGNMENT, np.uint8)
        self.bytes = size
        self.address = round_up(int(self._memory.__array_interface__["data"][0]))


class Arena:
    """The kept block. Its claim word, address and size lie in the native code, whose fast path uses them too."""

    def __init__(self) -> None:
        self._native = native()
        self._owner = self._native.library.address("arena_owner")
        self._data, self._bytes = self._native.word("arena_data"), self._native.word("arena_bytes")
        self._block: Block | None = None

    @contextlib.contextmanager
    def borrow(self, size: int) -> Iterator[int]:
        """Yield the address of `size` bytes (0 for none), aligned to 64 bytes."""
        if size == 0:
            yield 0
        elif size > LARGEST_KEPT or not self._native.claim(self._owner):
            block = Block(size)
            yield block.address
        else:
            try:
                yield self._grown(size)
            finally:
                self._native.release(self._owner)

    def _grown(self, size: int) -> int:
        """Return the kept block's address, after making it larger when needed; called by the owner only."""
        if self._block is None or self._block.bytes < size:
            self._data.value, self._bytes.value, self._block = 0, 0, None  # the old block goes before the new one comes
            self._block = Block(size)
            self._data.value, self._bytes.value = self._block.address, size
        return self._block.address


def arena() -> Arena:
    """Return the process's arena."""
    with LLVM_LOCK:
        return _arena()


@functools.lru_cache(maxsize=1)
def _arena() -> Arena:
    return Arena()
