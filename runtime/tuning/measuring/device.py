"""What both ways of measuring need of a device: marks on its stream, waiting, and caches that can be overwritten."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

SMALLEST_FLUSH = 4 << 20
LARGEST_FLUSH = 512 << 20
UNKNOWN_CACHE = 32 << 20
"""Bytes; for machines that do not say how large their last cache is."""
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


class Device(Protocol):
    """A device with one stream, which runs what it is given in order."""

    source: str
    """Where figures come from, as users see it: ``measured:cpu``, ``measured:npu``."""

    def mark(self) -> Any:
        """Put a mark on the stream, which notes the time when the device reaches it."""

    def seconds(self, start: Any, end: Any) -> float:
        """Return the seconds between two marks that the device has reached."""

    def synchronize(self) -> None:
        """Wait until the device has done what it was given."""

    def interruptions(self) -> int:
        """Return how often the device was taken away from this process so far; 0 where nobody else can use it."""

    def overwrite_cache(self) -> None:
        """Write more memory than the last cache holds (the event method)."""

    def read_cache(self) -> None:
        """Read more memory than the last cache holds (the profiler method)."""


class CpuDevice:
    """This processor as a device: a stream of work, whose clock runs only while work that was given to it is done.

    Launches add what the machine code itself took, so that no mark holds Python or a launcher's checks; other work adds
    what it took by the monotonic clock. With `wall` marks are readings of that clock: then functions of the user count.
    """

    source = "measured:cpu"

    def __init__(self, wall: bool = False) -> None:
        self._wall, self._worked = wall, 0
        self._buffer = np.zeros(flush_bytes() // 8, np.int64)

    def mark(self) -> int:
        """Return nanoseconds."""
        return time.perf_counter_ns() if self._wall else self._worked

    def seconds(self, start: int, end: int) -> float:
        return (end - start) * 1e-9

    def synchronize(self) -> None:
        """Nothing: launches return when they are done."""

    def worked(self, nanoseconds: int) -> None:
        """Let the stream's clock run."""
        self._worked += nanoseconds

    def do(self, work: Callable[[], Any]) -> None:
        """Do work on the stream."""
        start = time.perf_counter_ns()
        work()
        self.worked(time.perf_counter_ns() - start)

    def interruptions(self) -> int:
        """Return how many times the system stopped one of this process's threads to run something else."""
        if sys.platform == "win32":
            return 0
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

    def overwrite_cache(self) -> None:
        self.do(lambda: self._buffer.fill(0))

    def read_cache(self) -> None:
        self.do(self._buffer.sum)


@functools.lru_cache(maxsize=1)
def flush_bytes() -> int:
    """Return how many bytes are overwritten to empty the caches: twice the largest one."""
    return min(LARGEST_FLUSH, max(SMALLEST_FLUSH, 2 * largest_cache()))


def largest_cache() -> int:
    """Return the bytes of this machine's largest cache."""
    sizes = [_size(path) for path in _CACHES.glob("index*/size")]
    if not any(sizes) and hasattr(os, "sysconf") and "SC_LEVEL3_CACHE_SIZE" in os.sysconf_names:
        sizes.append(os.sysconf("SC_LEVEL3_CACHE_SIZE"))
    return max(sizes, default=0) or UNKNOWN_CACHE


def _size(path: Path) -> int:
    """Return what a file like ``32768K`` says, in bytes; 0 for anything else."""
    try:
        text = path.read_text(encoding="ascii").strip()
        return int(text.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
    except (OSError, ValueError):
        return 0
