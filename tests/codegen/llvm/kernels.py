"""Kernels written by hand: a small front end for tests, and the shapes of everyday work."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.ir.builder import Builder
from pypto.ir.dtypes import F32, DType
from pypto.ir.nodes import GridAxis, Kernel, Load, Module, Parameter, Range, Role, Store, TileType, Value, whole


class Kern:
    """Collects parameters and statements of one kernel."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.parameters: list[Parameter] = []
        self.grid: tuple[GridAxis, ...] = ()

    def array(
        self, name: str, shape: tuple[int, ...], dtype: DType = F32, role: Role = Role.IN, scalar: bool = False
    ) -> Parameter:
        self.parameters.append(Parameter(name, TileType(dtype, shape), role, scalar))
        return self.parameters[-1]

    def out(self, name: str, shape: tuple[int, ...], dtype: DType = F32) -> Parameter:
        return self.array(name, shape, dtype, Role.OUT)

    def load(self, parameter: Parameter, region: tuple[Range, ...] | None = None, **extra: Any) -> Value:
        region = whole(parameter.type) if region is None else region
        value = self.builder.value(TileType(parameter.type.dtype, tuple(item.extent for item in region)))
        self.builder.append(Load(value, parameter.name, region, **extra))
        return value

    def store(self, parameter: Parameter, value: Value, region: tuple[Range, ...] | None = None, **extra: Any) -> None:
        region = whole(parameter.type) if region is None else region
        self.builder.append(Store(parameter.name, region, value, **extra))

    def op(self, name: str, *operands: Value | float, **attributes: Any) -> Value:
        dtypes = [item.dtype for item in operands if isinstance(item, Value)]
        values = tuple(item if isinstance(item, Value) else self.number(item, dtypes[-1]) for item in operands)
        return self.builder.operation(name, values, **attributes)

    def number(self, value: float, dtype: DType = F32) -> Value:
        return self.builder.operation("constant", (), dtype=dtype, value=value)

    def module(self, name: str = "kernel") -> Module:
        kernel = Kernel(name, tuple(self.parameters), self.grid, tuple(self.builder.statements))
        return Module(name, kernel.parameters, (), (kernel,))


def gelu(kern: Kern, x: Value) -> Value:
    inner = kern.op("mul", x, kern.op("add", kern.op("mul", kern.op("mul", x, x), 0.0713548163), 1.5957691216))
    return kern.op("mul", x, kern.op("sigmoid", inner))


def layer_norm_gelu_add(rows: int, columns: int) -> Module:
    kern = Kern()
    x, residual = kern.array("x", (rows, columns)), kern.array("residual", (rows, columns))
    weight, bias = kern.array("weight", (columns,)), kern.array("bias", (columns,))
    out = kern.out("out", (rows, columns))
    tile = kern.load(x)
    centred = kern.op("sub", tile, kern.op("mean", tile, axes=(1,)))
    variance = kern.op("mean", kern.op("mul", centred, centred), axes=(1,))
    normal = kern.op("mul", centred, kern.op("rsqrt", kern.op("add", variance, 1e-5)))
    scaled = kern.op("add", kern.op("mul", normal, kern.load(weight)), kern.load(bias))
    kern.store(out, kern.op("add", gelu(kern, scaled), kern.load(residual)))
    return kern.module("layer_norm_gelu_add")


def softmax(shape: tuple[int, ...], axis: int) -> Module:
    kern = Kern()
    x, out = kern.array("x", shape), kern.out("out", shape)
    tile = kern.load(x)
    power = kern.op("exp", kern.op("sub", tile, kern.op("max", tile, axes=(axis,))))
    kern.store(out, kern.op("div", power, kern.op("sum", power, axes=(axis,))))
    return kern.module("softmax")


def reduction(name: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: DType = F32) -> Module:
    kern = Kern()
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    x, out = kern.array("x", shape, dtype), kern.out("out", kept, dtype)
    kern.store(out, kern.op(name, kern.load(x), axes=axes))
    return kern.module(name)


def normal_arrays(module: Module, seed: int = 0) -> dict[str, np.ndarray]:
    """Return normally distributed arguments; whole numbers for integers."""
    source = np.random.default_rng(seed)
    return {
        item.name: (source.standard_normal(item.type.shape) * (1 if item.type.dtype.is_float else 50)).astype(  # type: ignore[arg-type]
            item.type.dtype.numpy
        )
        for item in module.parameters
        if not item.scalar
    }
