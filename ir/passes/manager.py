"""Running passes: level checks, verification, numbered dumps, timing, and a name for whatever fails."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pypto.ir.base.errors import CompilerBug
from pypto.ir.base.files import write_stage
from pypto.ir.base.settings import current
from pypto.ir.nodes import Kernel, Level, Module
from pypto.ir.operations.definition import RuleViolation
from pypto.ir.printer import print_module
from pypto.ir.verifier import verify

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    CompilerBug,
    LookupError,
    NameError,
    RuleViolation,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a fault in a pass raises. A UserError is no fault: the pass found a mistake in the kernel and says so itself."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One pure function from kernel to kernel, with the level that it needs and the level of what it returns."""

    name: str
    needs: Level
    gives: Level
    run: Callable[[Kernel], Kernel]


@dataclass(frozen=True, slots=True)
class ModulePass:
    """One pure function from module to module, for what turns one kernel into several or several into one."""

    name: str
    needs: Level
    gives: Level
    run: Callable[[Module], Module]


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a stage took, in seconds, and whether it changed anything."""

    name: str
    seconds: float
    changed: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.seconds * 1e3:.2f} ms{'' if self.changed else ' (unchanged)'}"


def keep(name: str, module: Module) -> Module:
    """Take what a pass made as it is."""
    return module


def run_passes(
    module: Module,
    passes: Iterable[Pass | ModulePass],
    first: int = 1,
    take: Callable[[str, Module], Module] = keep,
) -> tuple[Module, tuple[Timing, ...]]:
    """Return `module` after all `passes`, and the time of each.

    `take` is given each pass's name and result and returns what the next one is given. With settings.verify every
    result is verified; with settings.dump each is written to ``NN-name.pto``, numbered from `first`; with
    settings.debug of 2 or more the times go to standard error. Raises CompilerBug, naming the pass and the file with
    the IR that it was given, for anything that goes wrong but a UserError.
    """
    timings: list[Timing] = []
    for number, item in enumerate(passes, first):
        start = time.perf_counter()
        made = _guarded(item, module, number)
        seconds = time.perf_counter() - start
        after = take(item.name, made)
        timings.append(Timing(item.name, seconds, after != module))
        dump(after, number, item.name, "" if timings[-1].changed else " (unchanged)")
        _report(timings[-1])
        module = after
    return module, tuple(timings)


def dump(module: Module, number: int, name: str, note: str = "") -> Path | None:
    """Write ``NN-name.pto`` into the folder settings.dump and return its path; None when dumps are off."""
    folder = current().dump
    return _write(module, Path(folder), f"{number:02}-{name}.pto", f"after {name}{note}") if folder else None


def _write(module: Module, folder: Path, file: str, comment: str) -> Path:
    return write_stage(folder / file, f"# {comment}\n{print_module(module)}")


def _guarded(item: Pass | ModulePass, module: Module, number: int) -> Module:
    try:
        if isinstance(item, ModulePass):
            after = item.run(module)
        else:
            after = replace(module, kernels=tuple(_run_kernel(item, kernel) for kernel in module.kernels))
        if current().verify:
            verify(after)
    except FAULTS as fault:
        folder = Path(current().dump or tempfile.mkdtemp(prefix="pypto-"))
        path = _write(
            module, folder, f"{number:02}-{item.name}.failed.pto", f"what the failing pass {item.name} was given"
        )
        what = fault.what if isinstance(fault, CompilerBug) else f"{type(fault).__name__}: {fault}"
        raise CompilerBug(f"pass {item.name}", what, str(path)) from fault
    return after


def _run_kernel(item: Pass, kernel: Kernel) -> Kernel:
    if kernel.level is not item.needs:
        raise CompilerBug(item.name, f"kernel {kernel.name} is at level {kernel.level.value}, not {item.needs.value}")
    after = item.run(kernel)
    if after.level is not item.gives:
        raise CompilerBug(
            item.name, f"kernel {after.name} came out at level {after.level.value}, not {item.gives.value}"
        )
    return after


def _report(timing: Timing) -> None:
    if current().debug >= 2:
        print(f"pypto: pass {timing}", file=sys.stderr)
