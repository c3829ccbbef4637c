"""Calls on target ascendc: emitted kernels run on this machine on the host model, under the rules of the hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.compiler import Built
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.ir.nodes import Level, Role
from pypto.runtime.ascendc_host.execution import build_module, run_module


def run_emitted(built: Built, arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, Any]) -> None:
    """Run the emitted kernels of `built`; results are written into `arrays`.

    Raises UserError ``no-compiler`` without a C++ compiler. Emitted kernels keep the rules, so that whatever the model
    reports is a CompilerBug; a UserError ``edited-kernel`` when somebody wrote flags or source himself.
    """
    (planned,) = built.lowered
    dense = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    report = run_module(planned, dense, scalars, program=build_module(planned, built.source))
    if report.findings and (built.stages.notes or built.module.level is not Level.TILE):
        first = str(report.findings[0]).splitlines()[0]
        raise UserError("edited-kernel", None, kernel=planned.name, count=len(report.findings), first=first)
    if report.findings:
        raise CompilerBug("ascendc", f"the emitted kernels break rules of the hardware:\n{report}")
    for item in planned.parameters:
        if not item.scalar and item.role is not Role.IN:
            arrays[item.name][...] = report.outputs[item.name].reshape(arrays[item.name].shape)
