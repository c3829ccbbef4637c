"""One rule alone as a native function over arrays: what its tests and measurements run. Needs llvmlite."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.rules import element, elementwise, from_memory, memory_element, to_memory
from pypto.ir.dtypes import BOOL, DType
from pypto.ir.nodes import Attribute, TileType
from pypto.ir.operations.table import TABLE

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Application:
    """An operation on operands of given dtypes; `target` is the dtype of a cast."""

    operation: str
    dtypes: tuple[DType, ...]
    target: DType | None = None

    @staticmethod
    def of(operation: str, dtype: DType, target: DType | None = None) -> Application:
        """`dtype` is that of every value operand."""
        names = TABLE[operation].operands
        return Application(operation, tuple(BOOL if name == "condition" else dtype for name in names), target)

    @property
    def attributes(self) -> dict[str, Attribute]:
        return {} if self.target is None else {"dtype": self.target}

    @property
    def result(self) -> DType:
        types = tuple(TileType(dtype, ()) for dtype in self.dtypes)
        return TABLE[self.operation].infer(types, self.attributes)[0].dtype


def loop_text(application: Application, lanes: int, machine: Machine) -> str:
    """Return the module of ``void loop(ptr result, ptr operand ..., i64 count)``; count is a multiple of the lanes."""
    builder = FunctionBuilder.for_machine(machine)
    builder.jump("head")
    builder.label("head")
    place = len(builder.lines)
    builder.branch(builder.emit("icmp slt i64 %i, %count", "i1"), "body", "exit")
    builder.label("body")
    _emit_body(builder, application, lanes)
    builder.line(f"%next = add i64 %i, {lanes}")
    builder.lines.insert(place, f"  %i = phi i64 [0, %entry], [%next, %{builder.block}]")
    builder.jump("head")
    builder.label("exit")
    builder.line("ret void")
    parameters = ", ".join(f"ptr %p{k}" for k in range(len(application.dtypes)))
    head = f"define void @loop(ptr %result, {parameters}, i64 %count) {{\nentry:"
    return "\n".join([*sorted(builder.declarations), head, *builder.lines, "}\n"])


def _emit_body(builder: FunctionBuilder, application: Application, lanes: int) -> None:
    index, operands = Register("%i", "i64"), []
    for k, dtype in enumerate(application.dtypes):
        memory = memory_element(dtype)
        loaded = builder.load(builder.offset(Register(f"%p{k}", "ptr"), index, memory), memory, lanes)
        operands.append(from_memory(builder, loaded, dtype))
    dtypes, result = application.dtypes, application.result
    value = elementwise(builder, application.operation, tuple(operands), dtypes, result, application.attributes)
    if (value.element, value.lanes) != (element(result), lanes):
        raise ValueError(f"the rule of {application.operation} gives {value.type}")
    address = builder.offset(Register("%result", "ptr"), index, memory_element(result))
    builder.store(to_memory(builder, value, result), address)


def _target_machine(machine: Machine) -> Any:
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(cpu=machine.cpu, features=machine.features, opt=2)


def _parse(application: Application, lanes: int, machine: Machine) -> Any:
    module = llvm.parse_assembly(loop_text(application, lanes, machine))
    module.triple = machine.triple
    module.verify()
    return module


def object_code(application: Application, lanes: int, machine: Machine) -> bytes:
    """Compile for any machine that LLVM knows."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    code: bytes = _target_machine(machine).emit_object(_parse(application, lanes, machine))
    return code


@dataclass(slots=True)
class RuleLoop:
    """A compiled loop. `engine` owns the code."""

    application: Application
    lanes: int
    engine: Any
    function: Callable[..., None]

    @staticmethod
    def compile(application: Application, lanes: int, machine: Machine) -> RuleLoop:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        engine = llvm.create_mcjit_compiler(_parse(application, lanes, machine), _target_machine(machine))
        engine.finalize_object()
        pointers = [ctypes.c_void_p] * (1 + len(application.dtypes))
        function = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(engine.get_function_address("loop"))
        return RuleLoop(application, lanes, engine, function)

    def __call__(self, *operands: Array) -> Array:
        """Apply the rule to one-dimensional arrays of one length (padded with ones to a multiple of the lanes)."""
        size = operands[0].size
        count = -(-size // self.lanes) * self.lanes
        padded = [_pad(operand, dtype, count) for operand, dtype in zip(operands, self.application.dtypes, strict=True)]
        result = np.zeros(count, self.application.result.numpy)
        self.function(result.ctypes.data, *(operand.ctypes.data for operand in padded), count)
        return result[:size]


def _pad(operand: Array, dtype: DType, count: int) -> Array:
    whole = np.ones(count, dtype.numpy)
    whole[: operand.size] = operand
    return whole


@dataclass(slots=True)
class Rules:
    """Compiled loops by operation, lanes and machine, compiled when first used."""

    machine: Machine
    _loops: dict[tuple[Application, int, Machine], RuleLoop] = field(default_factory=dict)

    def loop(self, application: Application, lanes: int, machine: Machine | None = None) -> RuleLoop:
        key = (application, lanes, machine or self.machine)
        if key not in self._loops:
            self._loops[key] = RuleLoop.compile(*key)
        return self._loops[key]

    def restricted(self, cpu: str, features: str, vector_bits: int) -> Machine:
        """This machine with fewer instructions."""
        return replace(self.machine, cpu=cpu, features=features, vector_bits=vector_bits)
