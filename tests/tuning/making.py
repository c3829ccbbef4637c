"""Candidates for the tests of measuring: compiled from kernels, or made by hand to be wrong, to hang or to crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pypto
from pypto.codegen.llvm.code import CpuCode, Phase, Slot, SlotKind
from pypto.ir.dtypes import F32
from pypto.ir.nodes import Module
from pypto.ir.printer import print_module
from pypto.ir.schedule import Schedule, with_schedule
from pypto.runtime.code_cache import write_code
from pypto.runtime.toolchain import emit_object, host_machine
from pypto.runtime.tuning.candidate import Candidate
from pypto.runtime.tuning.compiling import CODE, OBJECT, CompiledCandidate, CompileJob, publish
from pypto.runtime.tuning.measuring.options import Expected, Inputs, MeasureOptions

SHAPE = (16, 24)
QUICK = MeasureOptions(warmup_runs=1, measure_runs=4, hang_least=1.0)


def module_of(function: Any, shapes: Mapping[str, tuple[int, ...]], target: str = "cpu") -> Module:
    """Return the IR at level tile of a tile function."""
    return pypto.compile(function, target=target, shapes=shapes, dtypes="float32").module_at("tile")


@pypto.tile
def double(x: Any, out: Any) -> None:
    out[:] = x * 2.0


@pypto.tile
def grow(x: Any, total: Any) -> None:
    total[:] += x


def double_module(target: str = "cpu") -> Module:
    return module_of(double, {"x": SHAPE, "out": SHAPE}, target)


def candidate(number: int = 0, **more: Any) -> Candidate:
    """Return a candidate that differs from those with other numbers."""
    extent = 8 * (number + 1)
    return Candidate((("tile_m", extent),), Schedule(tile_shape=(extent, None)), is_default=number == 0, **more)


def job(module: Module, item: Candidate, folder: Path, target: str = "cpu") -> CompileJob:
    """Return the job for `item`, whose arrays are contiguous."""
    strides = {}
    for parameter in module.parameters:
        shape = [int(str(extent)) for extent in parameter.type.shape]
        strides[parameter.name] = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    text = print_module(with_schedule(module, item.schedule))
    return CompileJob(item, text, strides, target, host_machine(), folder / "static_kernel" / item.key())


# -- by hand: phases are void(slots, workspace, scratch, stop, first, last)

BODIES = {
    "double": """
  %x.at = load ptr, ptr %slots
  %out.slot = getelementptr ptr, ptr %slots, i64 1
  %out.at = load ptr, ptr %out.slot
  br label %loop
loop:
  %i = phi i64 [ %first, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x.at, i64 %i
  %to = getelementptr float, ptr %out.at, i64 %i
  %value = load float, ptr %from
  %twice = fmul float %value, FACTOR
  store float %twice, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %last
  br i1 %more, label %loop, label %done
done:
  ret void
""",
    "hang": """
  br label %loop
loop:
  %n = load volatile i64, ptr %stop.free
  br label %loop
""",
    "idle": """
  ret void
""",
    "crash": """
  store volatile i64 1, ptr inttoptr (i64 8 to ptr)
  ret void
""",
    "write_input": """
  %x.at = load ptr, ptr %slots
  store float 1.25e2, ptr %x.at
  ret void
""",
}


def code_by_hand(*kinds: str, factor: float = 2.0) -> CpuCode:
    """Return code with a phase for each of `kinds`; ``double`` writes out = x * factor."""
    text = []
    for number, kind in enumerate(kinds):
        body = BODIES[kind].replace("FACTOR", f"{factor:e}").replace("%stop.free", "%slots")
        head = f"define void @phase{number}(ptr %slots, ptr %w, ptr %s, ptr %stop, i64 %first, i64 %last) {{\nentry:"
        text.append(head + body + "}\n")
    elements = SHAPE[0] * SHAPE[1]
    slots = (Slot("x", SlotKind.ARRAY, F32), Slot("out", SlotKind.ARRAY, F32))
    phases = tuple(Phase(f"phase{number}", elements, elements) for number in range(len(kinds)))
    return CpuCode("\n".join(text), slots, phases, 0, 0)


def made(folder: Path, number: int, *kinds: str, factor: float = 2.0, **more: Any) -> CompiledCandidate:
    """Return a compiled candidate made by hand, its artefact in `folder`."""
    item = candidate(number, **more)
    code = code_by_hand(*kinds, factor=factor)
    files = {OBJECT: emit_object(code.text, host_machine()), CODE: write_code(code)}
    digests = publish(folder / item.key(), files)
    return CompiledCandidate(item, "cpu", folder / item.key(), digests, 0.0)


def numbers(shape: Sequence[int] = SHAPE, seed: int = 1) -> Any:
    return np.random.default_rng(seed).random(shape).astype(np.float32)


def doubling(factor: float = 2.0) -> tuple[Inputs, dict[str, Expected]]:
    """Return inputs for `double`, and what it has to give."""
    x, out = numbers(), np.zeros(SHAPE, np.float32)
    inputs = Inputs({"x": x, "out": out}, frozenset({"out"}), frozenset())
    return inputs, {"out": Expected(x * np.float32(factor), 1e-6, 1e-6)}
