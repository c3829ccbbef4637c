"""Compiles emitted kernels against the stub header and runs them here, block after block."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pypto.codegen.ascendc.emitter import emit
from pypto.codegen.ascendc.expressions import register_type
from pypto.codegen.ascendc.names import identifier
from pypto.ir.index import product
from pypto.ir.nodes import Kernel, Module

STUB = Path(__file__).parent / "stub"
FLAGS = ("-std=c++17", "-O1", "-fno-strict-aliasing", "-Wall", "-Werror", "-Wno-missing-field-initializers")


@dataclass(frozen=True)
class Host:
    """A library of many modules, all compiled at once (the header is most of the work)."""

    library: ctypes.CDLL
    modules: Mapping[str, Module]

    def run(self, name: str, arrays: Mapping[str, np.ndarray], scalars: Mapping[str, float]) -> str | None:
        """Run module `name` on dense arrays in place; return what the stub objected to, or None."""
        module = self.modules[name]
        memory = dict(arrays)
        for item in module.intermediates:
            memory[item.name] = np.full(item.type.shape, 7, item.type.dtype.numpy)
        for item in module.parameters:
            if item.scalar:
                memory[item.name] = np.asarray(scalars[item.name]).astype(item.type.dtype.numpy)
        function = getattr(self.library, f"run_{name}")
        function.restype = ctypes.c_char_p
        pointers = [memory[item.name].ctypes.data for item in module.parameters + module.intermediates]
        problem = function((ctypes.c_void_p * len(pointers))(*pointers))
        return problem.decode() if problem else None


def compile_all(modules: Mapping[str, Module], folder: Path, check_only: bool = False) -> Host | None:
    """Compile planned `modules`; with `check_only`, only check that they are valid C++."""
    lines = ['#include "kernel_operator.h"', "static std::string problem;"]
    for name, module in modules.items():
        (folder / f"{name}.asc").write_text(emit(module), encoding="utf-8")
        lines += [f"namespace case_{name} {{", f'#include "{name}.asc"', "}", *runner(name, module)]
    source = folder / "all.cpp"
    source.write_text("\n".join(lines), encoding="utf-8")
    target = ["-fsyntax-only"] if check_only else ["-shared", "-fPIC", "-o", str(folder / "all.so")]
    command = ["g++", *FLAGS, f"-I{STUB}", str(source), *target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:6000]
    return None if check_only else Host(ctypes.CDLL(str(folder / "all.so")), modules)


def runner(name: str, module: Module) -> list[str]:
    """Return a C function that runs all blocks of all kernels of `module` and gives back what went wrong."""
    lines = [f'extern "C" const char* run_{name}(void** arguments) {{', "    try {"]
    order = {item.name: number for number, item in enumerate(module.parameters + module.intermediates)}
    for number, kernel in enumerate(module.kernels):
        lines += call(f"case_{name}::{identifier('pypto_kernel', number, kernel.name)}", kernel, order)
    lines += ["    } catch (const std::exception& error) {", "        problem = error.what();"]
    return [*lines, "        return problem.c_str();", "    }", "    return nullptr;", "}"]


def call(function: str, kernel: Kernel, order: Mapping[str, int]) -> list[str]:
    blocks = product(tuple(axis.extent for axis in kernel.grid))
    arguments = [
        f"*static_cast<{register_type(item.type.dtype)}*>(arguments[{order[item.name]}])"
        if item.scalar
        else f"static_cast<GM_ADDR>(arguments[{order[item.name]}])"
        for item in kernel.parameters
    ]
    return [
        f"        for (int64_t block = 0; block < {blocks}; ++block) {{",
        "            AscendC::core.Start(block);",
        f"            {function}({', '.join(arguments)});",
        "            AscendC::core.Finish();",
        "        }",
    ]
