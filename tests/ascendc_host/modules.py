"""Many emitted modules in one program: the model's headers are most of the work of compiling."""

from __future__ import annotations

from collections.abc import Mapping

from pypto.codegen.ascendc.emitter import emit
from pypto.codegen.ascendc.names import identifier
from pypto.ir.nodes import Module
from pypto.runtime.ascendc_host.driver import Program, build


def launcher(name: str) -> str:
    return identifier("pypto", 0, f"launch_{name}")


def build_all(modules: Mapping[str, Module]) -> Program:
    """Each module in a namespace of its own, its lines counted from 1 in a file of its name."""
    parts = []
    for name, module in modules.items():
        text = emit(module).replace(launcher(module.name), launcher(name))
        parts.append(f'namespace case_{name} {{\n#line 1 "{name}.asc"\n{text}\n}}\nusing namespace case_{name};\n')
    return build("".join(parts), file="modules.asc", launchers_only=True)
