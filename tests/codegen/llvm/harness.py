"""Compiles a module with llvmlite alone and runs its phases, chunk by chunk, in one thread."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from pypto.codegen.llvm.code import CpuCode, Layout, Machine, SlotKind
from pypto.codegen.llvm.emitter import emit
from pypto.ir.nodes import Module

PHASE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)


@functools.cache
def machine(bits: int = 512) -> Machine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features, bits)


class Compiled:
    """Machine code of a module; calling it runs all phases. Several chunks in any order, as threads would."""

    def __init__(self, code: CpuCode, target: Machine) -> None:
        self.code = code
        module = llvm.parse_assembly(code.text)
        module.verify()
        description = llvm.Target.from_triple(target.triple)
        self.target = description.create_target_machine(cpu=target.cpu, features=target.features, opt=2, jit=True)
        self.engine = llvm.create_mcjit_compiler(module, self.target)
        self.engine.finalize_object()
        self.functions = [PHASE(self.engine.get_function_address(phase.symbol)) for phase in code.phases]
        self.workspace = aligned(code.workspace_bytes)
        self.stop = np.zeros(1, np.int32)

    def slots(
        self, arrays: Mapping[str, np.ndarray], scalars: Mapping[str, Any]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        table, kept = np.zeros(max(1, len(self.code.slots)), np.uint64), []
        for number, slot in enumerate(self.code.slots):
            if slot.kind is SlotKind.ARRAY:
                table[number] = arrays[slot.name].ctypes.data
            elif slot.kind is SlotKind.INTERMEDIATE:
                kept.append(aligned(slot.bytes))
                table[number] = kept[-1].ctypes.data
            elif slot.kind is SlotKind.SCALAR:
                raw = np.asarray(scalars[slot.name], slot.dtype.numpy).tobytes().ljust(8, b"\0")
                table[number] = int.from_bytes(raw, "little")
        return table, kept

    def __call__(
        self,
        arrays: Mapping[str, np.ndarray],
        scalars: Mapping[str, Any] | None = None,
        chunk: int | None = None,
        backwards: bool = False,
    ) -> None:
        table, kept = self.slots(arrays, scalars or {})
        self.table = table
        scratch = aligned(self.code.scratch_bytes)
        for phase, function in zip(self.code.phases, self.functions, strict=True):
            grain = chunk or phase.grain
            starts = list(range(0, phase.items, grain))
            for first in reversed(starts) if backwards else starts:
                scratch[:] = 0xFF
                last = min(first + grain, phase.items)
                function(
                    table.ctypes.data,
                    self.workspace.ctypes.data,
                    scratch.ctypes.data,
                    self.stop.ctypes.data,
                    first,
                    last,
                )
        del kept


def aligned(size: int) -> np.ndarray:
    """Return memory that starts at a multiple of 64, filled with NaN patterns."""
    raw = np.full(size + 128, 0xFF, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def layouts(arrays: Mapping[str, np.ndarray]) -> dict[str, Layout]:
    return {name: Layout(tuple(stride // array.itemsize for stride in array.strides)) for name, array in arrays.items()}


def compile_module(module: Module, arrays: Mapping[str, np.ndarray], bits: int = 512) -> Compiled:
    target = machine(bits)
    return Compiled(emit(module, layouts(arrays), target), target)


def cross_compile(module: Module, arrays: Mapping[str, np.ndarray], triple: str, features: str, bits: int) -> bytes:
    """Return object code for another processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = replace(machine(bits), triple=triple, cpu="generic", features=features)
    code = llvm.parse_assembly(emit(module, layouts(arrays), target).text)
    code.verify()
    description = llvm.Target.from_triple(triple)
    return description.create_target_machine(cpu="generic", features=features, opt=2).emit_object(code)
