"""One measuring session on this processor: what the measuring process does, command by command.

It holds the arguments, and the candidates that were loaded. Every command is about one candidate, so that whoever
waits for an answer knows whom to blame when none comes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pypto.codegen.llvm.code import CpuCode, Machine
from pypto.ir.comparison import difference
from pypto.runtime.code_cache import read_code
from pypto.runtime.launcher import Launcher, Mode
from pypto.runtime.toolchain import Library
from pypto.runtime.tuning.artefacts import load_binary
from pypto.runtime.tuning.channel import Message
from pypto.runtime.tuning.compiling import CODE, OBJECT
from pypto.runtime.tuning.measuring import event, kernel_rows
from pypto.runtime.tuning.measuring.arguments import WorkingArguments
from pypto.runtime.tuning.measuring.device import CpuDevice
from pypto.runtime.tuning.measuring.options import QUANTILES, Launch

TRIES_FOR_ROWS = 4
"""Launches until a row counts whatever the system did meanwhile."""


class WrongIndex(Exception):
    """A candidate met an index that is no element of its axis."""


@dataclass(slots=True)
class Loaded:
    """A candidate's machine code, ready to launch on the session's arguments."""

    code: CpuCode
    library: Library
    launcher: Launcher
    launch: Launch
    runner: kernel_rows.PhaseRunner | None = None


@dataclass(slots=True)
class Session:
    """Loaded candidates by key, and the arguments that they run on.

    `around` wraps every launch (the user's hooks, None without any).
    """

    arguments: WorkingArguments
    machine: Machine
    around: Callable[[Launch], Launch] | None = None
    device: CpuDevice = field(init=False)
    loaded: dict[str, Loaded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.device = CpuDevice(wall=self.around is not None)

    def load(self, key: str, folder: str, digests: Mapping[str, str]) -> Message:
        """Load an artefact: files that are ours alone and as they were made. Raises OSError or CompilerBug."""
        content = {name: load_binary(Path(folder) / name, digests[name]) for name in (OBJECT, CODE)}
        code = read_code(content[CODE])
        if code is None:
            raise OSError(f"{folder}/{CODE} cannot be read")
        symbols = tuple(dict.fromkeys(phase.symbol for phase in code.phases))
        library = Library(content[OBJECT], self.machine, symbols, {})
        written = [name for name, array in self.arguments.arrays.items() if array.written]
        launcher = Launcher(code, library, written, mistake=_wrong_index)
        launch = self._hooked(_launch(launcher, self.arguments))
        self.loaded[key] = Loaded(code, library, launcher, launch)
        return {}

    def check(self, key: str) -> Message:
        """Launch once on restored arguments, alone, and compare every output with what is expected."""
        begin = time.perf_counter()
        self.arguments.restore_all()
        start = time.perf_counter()
        try:
            self.loaded[key].launch()
        except WrongIndex as error:
            return {"problem": str(error)}
        end = time.perf_counter()
        memory, problem = kernel_rows.memory_bytes(self.loaded[key].code), self._problem()
        return {"problem": problem, "seconds": end - start, "whole": time.perf_counter() - begin, "memory": memory}

    def _problem(self) -> str | None:
        for name, item in self.arguments.expected.items():
            got = self.arguments.arrays[name].view
            problem = difference(name, got, item.value, item.relative, item.absolute)
            if problem is not None:
                return problem
        changed = self.arguments.changed_input() if self.around is None else None  # a hook may change them
        return f"it wrote to its input {changed}" if changed is not None else None

    def estimate(self, key: str, cold: bool) -> Message:
        """Return what one launch takes, and what comes before it."""
        found = event.estimate(self.device, self._timed(key), self._restore, cold)
        return {"launch": found.launch, "flush": found.flush, "restore": found.restore}

    def sample(self, key: str, warmup: int, count: int, cold: bool) -> Message:
        """Return the seconds of `count` launches after `warmup` others, clean and interrupted ones apart."""
        launch = self._timed(key)
        event.sample(self.device, launch, self._restore, warmup, cold)
        found = event.sample(self.device, launch, self._restore, count, cold)
        return {"clean": found.clean, "interrupted": found.interrupted}

    def profile(self, key: str, step: int, cold: bool) -> Message:
        """Launch once as the profiler's step `step`; return the rows that it left.

        A device's profiler would not see what the system does, so a launch that it interrupts is done again.
        """
        for _ in range(TRIES_FOR_ROWS):
            before = self.device.interruptions()
            rows = self._rows(key, step, cold)
            if self.device.interruptions() == before:
                break
        return {"rows": rows}

    def _rows(self, key: str, step: int, cold: bool) -> list[kernel_rows.Row]:
        self.arguments.restore()
        rows = []
        if cold:
            start = time.perf_counter_ns()
            self.device.read_cache()
            rows.append(kernel_rows.row(step, kernel_rows.FLUSH_NAME, start, time.perf_counter_ns() - start, 1))
        runner = self._runner(key)
        for symbol, start, nanoseconds in self._hooked(runner.run)():
            rows.append(kernel_rows.row(step, kernel_rows.phase_name(symbol, key), start, nanoseconds, runner.threads))
        return rows

    def _hooked(self, launch: Launch) -> Launch:
        return launch if self.around is None else self.around(launch)

    def _restore(self) -> None:
        self.device.do(self.arguments.restore)

    def _timed(self, key: str) -> Launch:
        """Return the launch that is timed: with hooks all of it, else what the machine code itself takes."""
        if self.around is not None:
            return self.loaded[key].launch
        runner = self._runner(key)
        return lambda: self.device.worked(runner.run_whole())

    def _runner(self, key: str) -> kernel_rows.PhaseRunner:
        loaded = self.loaded[key]
        if loaded.runner is None:
            self.arguments.restore()
            loaded.launch()  # warm now: what it takes tells the launcher whether one thread is enough
            serial = loaded.launcher.mode is Mode.SHORT
            loaded.runner = kernel_rows.PhaseRunner(loaded.code, loaded.library, self.arguments.arguments, serial)
        return loaded.runner

    def names(self, key: str) -> Message:
        """Return the names of the rows that one launch leaves, in order."""
        return {"names": [kernel_rows.phase_name(phase.symbol, key) for phase in self.loaded[key].code.phases]}

    def bench(self, key: str, do_bench: Callable[..., Any], quantiles: tuple[float, ...] = QUANTILES) -> Message:
        """Return what the user's function measures, in seconds: one number, or one per quantile."""

        def launch() -> None:
            self.arguments.restore()
            self.loaded[key].launch()

        result = do_bench(launch, quantiles=quantiles)
        found = [float(item) * 1e-3 for item in (result if isinstance(result, list | tuple) else [result])]
        if len(found) not in (1, len(quantiles)) or not all(math.isfinite(item) and item >= 0 for item in found):
            raise ValueError(f"do_bench returned {result!r}, not milliseconds: a number or {len(quantiles)} of them")
        return {"seconds": found}


def _wrong_index(site: int, place: int, index: int) -> NoReturn:
    raise WrongIndex(f"operation {site} met the index {index} at place {place}, which is no element of its axis")


def _launch(launcher: Launcher, arguments: WorkingArguments) -> Launch:
    """Return the launch as a repeated call of the user's would do it: the native function when it takes these."""
    fast, values = launcher.fast_call(arguments.arguments), tuple(item.value for item in arguments.arguments)

    def launch() -> None:
        if fast(*values) is not True:
            launcher.run(arguments.arguments)

    return launch
