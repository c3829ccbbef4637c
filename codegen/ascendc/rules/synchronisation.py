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


RULES: dict[str, Callable[[Emission, Operation], None]] = {
    "set_flag": flag("SetFlag"),
    "wait_flag": flag("WaitFlag"),
    "pipe_barrier": pipe_barrier,
}
