"""Running modules of the IR: emitted as AscendC, compiled, and executed under the rules of the hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pypto.codegen.ascendc import emitter
from pypto.ir.index import product
from pypto.ir.nodes import Module
from pypto.runtime.ascendc_host.driver import Argument, Program, RunOptions, Workspace, build, run
from pypto.runtime.ascendc_host.report import Report

Arrays = Mapping[str, np.ndarray[Any, Any]]


def build_module(module: Module, source: str | None = None) -> Program:
    """Compile the `source` of `module` (level *planned*; default: what is emitted for it).

    Raises UserError when there is no C++ compiler or it refuses the source.
    """
    return build(emitter.emit(module) if source is None else source, file=f"{module.name}.asc")


def run_module(
    module: Module,
    arrays: Arrays,
    scalars: Mapping[str, float],
    *,
    program: Program | None = None,
    launcher: str | None = None,
    options: RunOptions | None = None,
) -> Report:
    """Run all kernels of `module` (level *planned*) in order, flags being strict; results are in `outputs` by name.

    Arrays must be dense; intermediate arrays begin without values. `program` may hold several modules: then `launcher`
    names the function that launches this one.
    """
    program = program or build_module(module)
    arguments: list[Argument] = []
    for item in module.parameters:
        if item.scalar:
            arguments.append(np.asarray(scalars[item.name]).astype(item.type.dtype.numpy).tobytes())
        else:
            arguments.append(arrays[item.name])
    for item in module.intermediates:
        elements = product(item.type.shape)
        assert isinstance(elements, int), "memory was planned for fixed shapes"
        arguments.append(Workspace(max(32, elements * item.type.dtype.bytes)))
    options = replace(options or RunOptions(), strict_flags=True)
    report = run(program, arguments, kernel=launcher, options=options)
    names = [item.name for item in module.parameters if not item.scalar]
    outputs = dict(zip(names, report.outputs.values(), strict=True))
    return replace(report, outputs=outputs)
