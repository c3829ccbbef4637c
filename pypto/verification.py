"""Comparing a launch with the reference: how far two results may be apart, and what to say when they are farther."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.comparison import difference
from pypto.ir.dtypes import F32, DType
from pypto.ir.nodes import For, Module, Operation, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

Array = NDArray[Any]
_ROUNDINGS_PER_OPERATION = 8
"""Units in the last place that each inexact operation may add: 4 for itself, 4 for what it does to errors before it."""


def tolerance(module: Module, dtype: DType) -> float:
    """Return the relative error that an output of `dtype` may have: roundings of all operations, plus its own.

    Every inexact operation counts 8 ulp of the compute type, a sum over n elements log2(n) more, a sum of n products
    the root of n more, which is what roundings in a row add up to unless all go the same way.
    """
    if not dtype.is_float:
        return 0.0
    compute = F32 if dtype.is_narrow_float else dtype
    roundings = 1.0 + sum(_roundings(statement) for kernel in module.kernels for statement in _operations(kernel.body))
    own = _epsilon(dtype) if dtype.is_narrow_float else 0.0
    return own + roundings * _ROUNDINGS_PER_OPERATION * _epsilon(compute)


def _epsilon(dtype: DType) -> float:
    digits = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}[dtype.name]
    return 2.0**-digits


def _operations(body: tuple[Any, ...]) -> list[Operation]:
    """Return every operation, those in loops once for each turn (at most 64 times)."""
    found: list[Operation] = []
    for statement in body:
        if isinstance(statement, Operation):
            found.append(statement)
        elif isinstance(statement, For):
            turns = (
                statement.stop - statement.start
                if isinstance(statement.stop, int) and isinstance(statement.start, int)
                else 64
            )
            found += _operations(statement.body) * max(1, min(64, turns))
        else:
            found += [item for item in walk((statement,)) if isinstance(item, Operation)]
    return found


def _roundings(operation: Operation) -> float:
    record = TABLE[operation.name]
    if record.category is Category.REDUCTION and record.error_bound != "exact":
        before, after = operation.operands[0].shape, operation.results[0].shape
        counts = [a for a, b in zip(before, after, strict=True) if a != b and isinstance(a, int)]
        return 1.0 + math.log2(max(2, math.prod(counts)))
    if record.category is Category.ELEMENTWISE and operation.results[0].dtype.is_float:
        return 1.0
    if record.category is Category.CONTRACTION and operation.results[0].dtype.is_float:
        return 1.0 + math.sqrt(_summed(operation))
    return 0.0


def _summed(operation: Operation) -> int:
    """Return how many products a contraction adds; of an attention those of both its sums."""
    shapes = [value.shape for value in operation.operands]
    extents = {
        "matmul": shapes[0][-1:],
        "convolution": shapes[1][-3:],
        "attention": (*shapes[0][-1:], *shapes[1][-2:-1]),
    }[operation.name]
    return math.prod(extent for extent in extents if isinstance(extent, int))


def compare(
    module: Module, dtypes: Mapping[str, DType], got: Mapping[str, Array], wanted: Mapping[str, Array], scale: float
) -> str | None:
    """Return None when all arrays `got` are within bounds of `wanted`, else a sentence about the worst element.

    `scale` is the largest finite magnitude among inputs and outputs: cancellation makes errors relative to it.
    """
    for name, expected in wanted.items():
        relative = tolerance(module, dtypes[name])
        problem = difference(name, got[name], expected, relative, relative * scale)
        if problem:
            return problem
    return None


def magnitude(arrays: Mapping[str, Array]) -> float:
    """Return the largest finite magnitude in the float arrays, at least the smallest normal number."""
    largest = 0.0
    for array in arrays.values():
        if array.size and array.dtype.kind not in "biu":
            finite = np.abs(array.astype(np.float64))
            largest = max(largest, float(np.max(finite, initial=0.0, where=np.isfinite(finite))))
    return max(largest, 1e-30)
