"""What stands for a device's profiler on this processor: a row for every phase of a launch, by the runtime's own clock.

A kernel for the CPU is a list of parallel loops. Each is run by itself and timed inside the machine code, so a row
holds neither Python nor the launcher. Rows are written as a ``kernel_details.csv``, so both targets share the reader.
"""

from __future__ import annotations

import csv
import ctypes
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pypto.codegen.llvm.code import CpuCode
from pypto.runtime.arguments import Argument, ArrayArgument, ScalarArgument
from pypto.runtime.launcher import Frame, Mode
from pypto.runtime.memory import Block, round_up
from pypto.runtime.native import native, thread_count
from pypto.runtime.toolchain import Library

FILE = "kernel_details.csv"
FLUSH_NAME = "cache_flush"
_HEADER = ("Step Id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Block Num")
_PHASE_BYTES = 4 * ctypes.sizeof(ctypes.c_uint64)

Row = tuple[int, str, str, str, str, str, int]


class PhaseRunner:
    """Runs a compiled module on the same arguments each time, as a whole or phase by phase, timed in the machine code.

    `serial`: on one thread, as the launcher runs short kernels.
    """

    def __init__(self, code: CpuCode, library: Library, arguments: Sequence[Argument], serial: bool) -> None:
        self._code = code
        self._frame = Frame(code, library, Mode.LONG)
        self.threads = 1 if serial else thread_count()
        call = self._frame.call
        self._memory = Block(call.workspace_bytes + call.scratch_bytes * self.threads)
        call.workspace, call.scratch = self._memory.address, self._memory.address + call.workspace_bytes
        self._phases = call.phases
        self._fill(arguments)

    def run(self) -> list[tuple[str, int, int]]:
        """Run all phases; return symbol, start and duration of each in nanoseconds."""
        self._frame.clear_status()
        return [self._run_phase(index) for index in range(len(self._code.phases))]

    def run_whole(self) -> int:
        """Run all phases as one call; return its nanoseconds."""
        self._frame.clear_status()
        return self._run(0, len(self._code.phases))

    def _run_phase(self, index: int) -> tuple[str, int, int]:
        start = time.perf_counter_ns()
        return self._code.phases[index].symbol, start, self._run(index, 1)

    def _run(self, first: int, count: int) -> int:
        call = self._frame.call
        call.phases, call.phase_count = self._phases + first * _PHASE_BYTES, count
        call.threads, call.mode = self.threads, Mode.LONG
        native().run(self._frame.address)
        return int(call.nanoseconds)

    def _fill(self, arguments: Sequence[Argument]) -> None:
        scalars = {slot.name: slot.dtype for slot in self._code.slots}
        for item in arguments:
            if isinstance(item, ArrayArgument):
                self._frame.fill(item.name, item.address)
            elif isinstance(item, ScalarArgument) and item.name in scalars:
                self._frame.fill(item.name, int.from_bytes(item.pack(scalars[item.name]), sys.byteorder))


def phase_name(symbol: str, key: str) -> str:
    """Return the name of a phase's rows: no two candidates share one."""
    return f"{symbol}_{key}"


def row(step: int, name: str, start: int, nanoseconds: int, threads: int) -> Row:
    """Return a row of the table for a task that began at `start` nanoseconds."""
    kind = "FLUSH" if name == FLUSH_NAME else "PHASE"
    return step, name, kind, "CPU", f"{start / 1000:.3f}", f"{nanoseconds / 1000:.3f}", threads


def write_rows(folder: Path, rows: Sequence[Row]) -> None:
    """Write ``kernel_details.csv``."""
    with open(folder / FILE, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADER)
        writer.writerows(rows)


def memory_bytes(code: CpuCode) -> int:
    """Return the bytes that a call on all threads needs beside its arguments."""
    intermediates = sum(round_up(slot.bytes) for slot in code.slots)
    return intermediates + round_up(code.workspace_bytes) + round_up(code.scratch_bytes) * thread_count()
