"""Running a graph of stages eagerly: each body as plain Python, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pypto.graph import Graph
from pypto.ir.interpreter import run_kernel
from pypto.ir.nodes import Parameter
from pypto.program import Program


def run_graph(graph: Graph, program: Program, values: Mapping[str, Any]) -> None:
    """Run all stages in order on launch arguments (arrays by launch name, changed in place, and numbers).

    `program` says what each stage means and which intermediates there are; they are allocated here.
    """
    from pypto.tracing.eager import run

    memory = dict(values)
    memory.update({item.name: _allocate(item) for item in program.module.intermediates})
    for stage, names, meaning, joins in zip(graph.stages, graph.names, program.meanings, program.joins, strict=True):
        for kernel in joins:
            run_kernel(kernel, memory)
        own = {parameter: memory[name] for parameter, name in names.items()}
        arrays = {name: value for name, value in own.items() if isinstance(value, np.ndarray)}
        scalars = {name: value for name, value in own.items() if name not in arrays}
        run(stage, meaning, arrays, scalars)


def _allocate(item: Parameter) -> Any:
    shape = tuple(extent for extent in item.type.shape if isinstance(extent, int))
    return np.zeros(shape, item.type.dtype.numpy)
