"""Calls on target ascendc: emitted kernels run on this machine on the host model, under the rules of the hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.compiler import Built
from pypto.ir.base.errors import CompilerBug
from pypto.ir.nodes import Role
from pypto.runtime.ascendc_host.execution import build_module, run_module


def run_emitted(built: Built, arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, Any]) -> None:
    """Run the emitted kernels of `built`; results are written into `arrays`.

    Raises UserError ``no-compiler`` without a C++ compiler, and CompilerBug for whatever the model reports, since
    emitted kernels keep the rules.
    """
    (planned,) = built.lowered
    dense = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    report = run_module(planned, dense, scalars, program=build_module(planned))
    if report.findings:
        raise CompilerBug("ascendc", f"the emitted kernels break rules of the hardware:\n{report}")
    for item in planned.parameters:
        if not item.scalar and item.role is not Role.IN:
            arrays[item.name][...] = report.outputs[item.name].reshape(arrays[item.name].shape)
