"""Run a tile function here: traced and interpreted, and in eager mode; both must agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.ir.dtypes import BY_NUMPY, F32, I64
from pypto.ir.interpreter import run_kernel
from pypto.ir.nodes import Kernel, Module
from pypto.ir.parser import parse_module
from pypto.ir.printer import print_module
from pypto.ir.verifier import verify
from pypto.meaning import Meaning, decide
from pypto.tile_function import TileFunction
from pypto.tracing import eager
from pypto.tracing.trace import trace
from pypto.tracing.views import ArrayView, ConstantView, ScalarView, View, ViewAxis


def views_of(kernel: TileFunction, arguments: tuple[Any, ...]) -> tuple[View, ...]:
    """Return one view per argument: arrays whole, numbers scalars, others constants."""
    found: list[View] = []
    parameters = [item for item in kernel.parameters if item.name != "tile_id"]
    for parameter, value in zip(parameters, arguments, strict=True):
        if isinstance(value, np.ndarray):
            axes = tuple(ViewAxis(None, 1, extent) for extent in value.shape)
            found.append(ArrayView(parameter.name, BY_NUMPY[value.dtype], axes))
        elif isinstance(value, float):
            found.append(ScalarView(parameter.name, F32))
        elif isinstance(value, int) and parameter.annotation not in (int, "int"):
            found.append(ScalarView(parameter.name, I64))
        else:
            found.append(ConstantView(parameter.name, value))
    return tuple(found)


def traced(kernel: TileFunction, *arguments: Any) -> tuple[Kernel, Meaning]:
    """Return the verified kernel, which must survive printing and parsing."""
    meaning = decide(kernel, views_of(kernel, arguments))
    found = meaning.traced or trace(kernel, meaning.views, meaning.hidden, meaning.block)
    module = Module(found.name, found.parameters, (), (found,))
    verify(module)
    text = print_module(module)
    assert print_module(parse_module(text)) == text  # text, not nodes: NaN is not equal to itself
    return found, meaning


def _memory(kernel: TileFunction, arguments: tuple[Any, ...]) -> dict[str, Any]:
    names = [item.name for item in kernel.parameters if item.name != "tile_id"]
    return {
        name: np.asarray(value, {float: np.float32, int: np.int64}.get(type(value)))
        for name, value in zip(names, arguments, strict=True)
        if isinstance(value, (np.ndarray, float, int))
    }


def run(kernel: TileFunction, *arguments: Any) -> Kernel:
    """Run on `arguments` (arrays changed in place) through tracing and the reference; eager mode must give the same bits."""
    copies = tuple(value.copy() if isinstance(value, np.ndarray) else value for value in arguments)
    found, meaning = traced(kernel, *arguments)
    run_kernel(found, _memory(kernel, arguments))
    eager.run(kernel, meaning, _memory(kernel, copies))
    for value, copy in zip(arguments, copies, strict=True):
        if isinstance(value, np.ndarray):
            wide = value.dtype.kind not in "biu"  # NumPy compares NaN of bfloat16 as unequal
            np.testing.assert_array_equal(*((item.astype(np.float64) if wide else item) for item in (value, copy)))
    return found


def statements(kernel: Kernel) -> list[str]:
    """Return the names of the statements of a kernel, those of bodies included."""
    from pypto.ir.nodes import Operation, walk

    return [item.name if isinstance(item, Operation) else type(item).__name__.lower() for item in walk(kernel.body)]
