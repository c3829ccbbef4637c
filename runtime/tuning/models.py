"""Which model ranks candidates on which target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pypto.codegen.llvm.code import Layout, Machine
from pypto.ir.nodes import Module
from pypto.ir.schedule import Schedule
from pypto.runtime.tuning.ranking import Model


@dataclass(frozen=True, slots=True)
class NoModel:
    """For targets that generate no code: every schedule is the same."""

    source: str = "modelled:none"

    def predict(self, module: Module, schedule: Schedule) -> float:
        return 0.0


def model_for(
    target: str,
    layouts: Mapping[str, Layout],
    machine: Machine | None = None,
    threads: int | None = None,
    cold: bool = False,
) -> Model:
    """Return the model of a target; `layouts` are strides by parameter, `machine` and `threads` this one's if None.

    `cold` says that the caches are emptied before each launch, as measuring does unless told otherwise.
    """
    if target == "cpu":
        from pypto.runtime.native import thread_count
        from pypto.runtime.toolchain import host_machine
        from pypto.runtime.tuning.cpu_model import CpuModel

        return CpuModel(layouts, machine or host_machine(), threads or thread_count(), cold)
    if target in ("ascendc", "npu"):
        from pypto.runtime.tuning.roofline import Roofline

        return Roofline()
    return NoModel()
