"""Flags and barriers."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.ascendc.emission import Emission
from pypto.codegen.ascendc.expressions import hard_event
from pypto.ir.index import IndexOperation, Symbol
from pypto.ir.nodes import Operation, Pipe


def flag(function: str) -> Callable[[Emission, Operation], None]:
    def rule(emission: Emission, operation: Operation) -> None:
        event = hard_event(str(operation.attribute("source")), str(operation.attribute("destination")))
        number = operation.attribute("id")
        assert isinstance(number, int | Symbol | IndexOperation)
        shown = f"EVENT_ID{number}" if isinstance(number, int) else f"static_cast<int32_t>({emission.index(number)})"
        emission.line(f"AscendC::{function}<{event}>({shown});")

    return rule


def pipe_barrier(emission: Emission, operation: Operation) -> None:
    pipe = Pipe(str(operation.attribute("pipe")))
    emission.line(f"AscendC::PipeBarrier<PIPE_{pipe.value}>();")


def set_barrier(emission: Emission, operation: Operation) -> None:
    """Mode 0: every vector core of the launch sets the flag, then it is raised for all of them."""
    emission.line(f"AscendC::CrossCoreSetFlag<0x0, PIPE_MTE3>({operation.attribute('barrier_id')});")


def wait_barrier(emission: Emission, operation: Operation) -> None:
    emission.line(f"AscendC::CrossCoreWaitFlag({operation.attribute('barrier_id')});")


RULES: dict[str, Callable[[Emission, Operation], None]] = {
    "set_flag": flag("SetFlag"),
    "wait_flag": flag("WaitFlag"),
    "pipe_barrier": pipe_barrier,
    "set_barrier": set_barrier,
    "wait_barrier": wait_barrier,
}
