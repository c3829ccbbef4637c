"""How much work a kernel is, whatever its schedule: arithmetic operations, and bytes that have to be moved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pypto.ir.index import Extent, Symbol, evaluate
from pypto.ir.nodes import For, If, Kernel, Load, Module, Operation, Parameter, Statement, Store, Value
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

Middle = Mapping[Symbol, int]
"""What indices around a statement are, in the middle of their ranges."""


@dataclass(frozen=True, slots=True)
class Work:
    """operations: arithmetic ones, by the cost entries of the operation table. bytes: the arguments, each once (in/out
    ones twice): what any schedule has to move at least.
    """

    operations: float
    bytes: int


def work_of(module: Module) -> Work:
    """Return the work of one launch of `module`, whose shapes are numbers; level tile, before any schedule cuts it."""
    operations = sum(_kernel_operations(kernel) for kernel in module.kernels)
    return Work(operations, sum(_moved(item) for item in module.parameters if not item.scalar))


def _moved(parameter: Parameter) -> int:
    times = 2 if parameter.role.value == "inout" else 1
    return times * _product(parameter.type.shape) * parameter.type.dtype.bytes


def _kernel_operations(kernel: Kernel) -> float:
    blocks = {axis.symbol: _product((axis.extent,)) for axis in kernel.grid}
    middle = {symbol: extent // 2 for symbol, extent in blocks.items()}
    return math.prod(blocks.values()) * _body_operations(kernel.body, middle)


def _body_operations(body: Iterable[Statement], at: Middle) -> float:
    return sum(_statement_operations(statement, at) for statement in body)


def _statement_operations(statement: Statement, at: Middle) -> float:
    if isinstance(statement, (Load, Store)):
        return 0.0
    if isinstance(statement, For):
        return _loop_operations(statement, at)
    if isinstance(statement, If):
        return max(_body_operations(statement.then_body, at), _body_operations(statement.else_body, at))
    return _operations(statement)


def _loop_operations(loop: For, at: Middle) -> float:
    """Return the operations of all turns; bounds that depend on outer indices count at the middle of these."""
    start, stop = evaluate(loop.start, at), evaluate(loop.stop, at)
    turns = max(0, -(-(stop - start) // loop.step))
    return turns * _body_operations(loop.body, {**at, loop.index: start + turns // 2 * loop.step})


def _operations(operation: Operation) -> float:
    """Return the cost entry times the elements: of the larger of result and operands, or of all products summed."""
    record = TABLE[operation.name]
    if record.category is Category.CONTRACTION:
        return _CONTRACTIONS[operation.name](operation, record.cost.flops)
    values: tuple[Value, ...] = (*operation.results, *operation.operands)
    sizes = [_product(value.shape) for value in values]
    return record.cost.flops * (max(sizes, default=0) if all(sizes) else 0)  # numbers beside an empty array: no work


def _matmul(operation: Operation, flops: float) -> float:
    return flops * _product(operation.results[0].shape) * _product(operation.operands[0].shape[-1:])


def _convolution(operation: Operation, flops: float) -> float:
    return flops * _product(operation.results[0].shape) * _product(operation.operands[1].shape[-3:])


def _attention(operation: Operation, flops: float) -> float:
    """Two products per score, and the cost entry for each score's softmax."""
    query, key, value = (item.shape for item in operation.operands[:3])
    scores = _product(operation.results[0].shape[:-1]) * _product(key[-2:-1])
    return scores * (2.0 * (_product(query[-1:]) + _product(value[-1:])) + flops)


_CONTRACTIONS = {"matmul": _matmul, "convolution": _convolution, "attention": _attention}


def _product(extents: Iterable[Extent]) -> int:
    return math.prod(extent if isinstance(extent, int) else 1 for extent in extents)
