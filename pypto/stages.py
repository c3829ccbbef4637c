"""Running the stages of one compilation: each is timed, dumped under its name, and named when it fails."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pypto.ir.base.errors import CompilerBug
from pypto.ir.base.files import write_stage
from pypto.ir.base.settings import current
from pypto.ir.nodes import Module
from pypto.ir.passes.manager import FAULTS, ModulePass, Pass, Timing, dump, run_passes
from pypto.ir.printer import print_module
from pypto.overrides import Overrides, current_overrides

T = TypeVar("T")


class Stages:
    """The stages that one compilation has run: `timings` in order, `modules` of those that make one, and `notes` on
    results that a text of the folder settings.override replaced.
    """

    def __init__(self) -> None:
        self.timings: list[Timing] = []
        self.modules: dict[str, Module] = {}
        self.notes: list[str] = []
        self._overrides: Overrides = current_overrides()

    def run(self, name: str, stage: Callable[..., T], /, *inputs: Any) -> T:
        """Return ``stage(*inputs)``; record its time, and dump a module or a source text under `name`."""
        start = time.perf_counter()
        result = stage(*inputs)
        self.timings.append(Timing(name, time.perf_counter() - start, True))
        result = self._overrides.replaced(name, result, self.notes)
        self._keep(name, result)
        if current().debug >= 2:
            print(f"pypto: {self.timings[-1]}", file=sys.stderr)
        return result

    def generate(self, name: str, stage: Callable[..., T], module: Module, /, *inputs: Any) -> T:
        """Like `run` for a code generator: a fault in it is a CompilerBug that says where `module` was written."""
        try:
            return self.run(name, stage, module, *inputs)
        except FAULTS as fault:
            folder = Path(current().dump or tempfile.mkdtemp(prefix="pypto-"))
            path = write_stage(folder / f"{len(self.timings):02}-{name}.failed.pto", print_module(module))
            what = fault.what if isinstance(fault, CompilerBug) else f"{type(fault).__name__}: {fault}"
            raise CompilerBug(f"stage {name}", what, str(path)) from fault

    def run_passes(self, module: Module, passes: tuple[Pass | ModulePass, ...]) -> Module:
        """Return `module` after the passes that its level still needs; each is a stage of its own."""
        for item in passes:
            if item.needs.rank < module.level.rank:
                continue
            module, timings = run_passes(module, (item,), len(self.timings), self._take)
            self.timings += timings
            self.modules[item.name] = module
        return module

    def _take(self, name: str, module: Module) -> Module:
        return self._overrides.replaced(name, module, self.notes)

    def _keep(self, name: str, result: object) -> None:
        number = len(self.timings) - 1
        result = getattr(result, "module", result)  # a traced program carries its module
        if isinstance(result, Module):
            self.modules[name] = result
            dump(result, number, name)
        elif current().dump and (isinstance(result, str) or hasattr(result, "text")):
            folder = Path(current().dump)
            text, ending = (result, "cpp") if isinstance(result, str) else (getattr(result, "text", ""), "ll")
            write_stage(folder / f"{number:02}-{name}.{ending}", text)
