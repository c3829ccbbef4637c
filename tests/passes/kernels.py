"""Kernels built by hand for the tests of the passes and of the AscendC emitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pypto.ir.base.locations import Location
from pypto.ir.builder import Builder
from pypto.ir.dtypes import F32, DType
from pypto.ir.index import Index, Symbol
from pypto.ir.nodes import (
    Attribute,
    For,
    GridAxis,
    Kernel,
    Load,
    Module,
    Parameter,
    Range,
    Region,
    Role,
    Store,
    TileType,
    Value,
    whole,
)

FILE = "kernel.py"
Shape = tuple[int, ...]


@dataclass
class KernelBuilder:
    """Writes one kernel: parameters, then statements; every statement gets a line of its own."""

    name: str
    parameters: list[Parameter] = field(default_factory=list)
    builder: Builder = field(default_factory=Builder)
    grid: tuple[GridAxis, ...] = ()
    line: int = 0

    def location(self) -> Location:
        self.line += 1
        return Location(FILE, self.line)

    def array(self, name: str, shape: Shape, dtype: DType = F32, role: Role = Role.IN) -> Parameter:
        parameter = Parameter(name, TileType(dtype, shape), role)
        self.parameters.append(parameter)
        return parameter

    def scalar(self, name: str, dtype: DType = F32) -> Value:
        parameter = Parameter(name, TileType(dtype, ()), Role.IN, scalar=True)
        self.parameters.append(parameter)
        return self.load(parameter)

    def load(self, parameter: Parameter, region: Region | None = None, fill: float | None = None) -> Value:
        region = whole(parameter.type) if region is None else region
        result = self.builder.value(TileType(parameter.type.dtype, tuple(item.extent for item in region)))
        self.builder.append(Load(result, parameter.name, region, fill, self.location()))
        return result

    def input(self, name: str, shape: Shape, dtype: DType = F32) -> Value:
        return self.load(self.array(name, shape, dtype))

    def store(self, parameter: Parameter, value: Value, region: Region | None = None, clip: bool = False) -> None:
        region = whole(parameter.type) if region is None else region
        self.builder.append(Store(parameter.name, region, value, clip, self.location()))

    def output(self, name: str, value: Value) -> None:
        self.store(self.array(name, value.shape, value.dtype, Role.OUT), value)  # type: ignore[arg-type]  # numbers

    def op(self, name: str, *operands: Value, **attributes: Attribute) -> Value:
        return self.builder.operation(name, operands, self.location(), **attributes)

    def number(self, value: float | int | bool, dtype: DType = F32) -> Value:
        return self.op("constant", dtype=dtype, value=value)

    def loop(
        self,
        name: str,
        start: Index,
        stop: Index,
        initial: tuple[Value, ...],
        step: int,
        body: Callable[..., tuple[Value, ...]],
    ) -> tuple[Value, ...]:
        """Append a For whose `body(index, *carried)` returns what it yields; returns the results."""
        index = Symbol(name)
        carried = tuple(self.builder.value(value.type) for value in initial)
        outer, self.builder.statements = self.builder.statements, []
        yielded = body(index, *carried)
        inner, self.builder.statements = self.builder.statements, outer
        results = tuple(self.builder.value(value.type) for value in initial)
        loop = For(index, start, stop, step, carried, initial, tuple(inner), yielded, results, self.location())
        self.builder.append(loop)
        return results

    def kernel(self, **attributes: Attribute) -> Kernel:
        made = tuple(sorted(attributes.items()))
        body = tuple(self.builder.statements)
        return Kernel(self.name, tuple(self.parameters), self.grid, body, attributes=made, location=Location(FILE, 1))

    def module(self, **attributes: Attribute) -> Module:
        kernel = self.kernel(**attributes)
        return Module(kernel.name, kernel.parameters, (), (kernel,))


def region(*ranges: tuple[Index, Index] | tuple[Index, Index, int]) -> Region:
    return tuple(Range(*item) for item in ranges)


Arrays = dict[str, np.ndarray]


def arguments(module: Module, seed: int = 0) -> tuple[Arrays, dict[str, float]]:
    """Return made-up arguments: floats around 0, small integers, outputs filled with 7."""
    random = np.random.default_rng(seed)
    arrays: Arrays = {}
    scalars: dict[str, float] = {}
    for item in module.parameters:
        dtype = item.type.dtype
        if item.scalar:
            scalars[item.name] = 1.5 if dtype.is_float else 3
        elif item.role is Role.OUT:
            arrays[item.name] = np.full(item.type.shape, 7, dtype.numpy)
        elif dtype.is_float:
            arrays[item.name] = random.standard_normal(item.type.shape).astype(dtype.numpy)
        elif dtype.kind == "bool":
            arrays[item.name] = random.random(item.type.shape) < 0.5
        else:
            low, high = (0, 120) if dtype.kind == "unsigned" else (-60, 60)
            arrays[item.name] = random.integers(low, high, item.type.shape).astype(dtype.numpy)
    return arrays, scalars
