"""Compute operations whose operands are all numbers; settle arrays of no elements and loops of no turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pypto.ir.dtypes import DType
from pypto.ir.nodes import For, Kernel, Level, Operation, Store
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.rewriting import Rewriter


def fold_constants(kernel: Kernel) -> Kernel:
    """Return `kernel` without operations whose operands are all numbers, empty stores and loops that never turn.

    A reduction of no elements becomes its number (0, 1 for prod and all, NaN for mean), a matrix product over none 0,
    so that no value that a store needs has an extent of 0 afterwards.
    """
    return _Folder(kernel).run()


class _Folder(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.numbers: dict[str, object] = {}

    def operation(self, operation: Operation) -> None:
        operation = replace(operation, operands=self.all(operation.operands))
        if operation.name == "constant" and not operation.results[0].shape:
            (result,) = operation.results
            self.numbers[result.name] = _number(operation.attribute("value"), result.dtype)
            super().operation(operation)
            return
        number = self.folded(operation)
        if number is None:
            super().operation(operation)
            return
        (result,) = operation.results
        made = self.call("constant", dtype=result.dtype, value=number, shape=result.shape)
        self.values[result.name] = made
        if not result.shape:
            self.numbers[made.name] = number

    def folded(self, operation: Operation) -> bool | int | float | None:
        """Return the number that every element of the result is, or None when it depends on anything."""
        category = TABLE[operation.name].category
        if category is Category.REDUCTION and 0 in operation.operands[0].shape and 0 not in operation.results[0].shape:
            return _of_nothing(operation)
        if category is Category.CONTRACTION and operation.name == "matmul" and operation.operands[0].shape[-1] == 0:
            return _number(0, operation.results[0].dtype)
        known = [value.name in self.numbers for value in operation.operands]
        if category is not Category.ELEMENTWISE or not all(known):
            return None
        arrays = [np.asarray(self.numbers[value.name]).astype(value.dtype.numpy) for value in operation.operands]
        outcome = TABLE[operation.name].meaning(*arrays, **dict(operation.attributes))
        return _number(outcome, operation.results[0].dtype)

    def loop(self, loop: For) -> None:
        """A loop of no turns leaves what it was given."""
        if isinstance(loop.start, int) and isinstance(loop.stop, int) and loop.start >= loop.stop:
            initial = self.all(loop.initial)
            self.values.update((old.name, new) for old, new in zip(loop.results, initial, strict=True))
        else:
            super().loop(loop)

    def store(self, store: Store) -> None:
        if all(item.extent != 0 for item in store.region):
            super().store(store)


def _number(value: object, dtype: DType) -> bool | int | float:
    """Return an attribute's number as it is in `dtype`."""
    number: bool | int | float = np.asarray(value).astype(dtype.numpy).item()
    return float(number) if dtype.is_float else number


def _of_nothing(operation: Operation) -> bool | int | float:
    result = operation.results[0].dtype
    if operation.name == "mean":
        return float("nan")
    return _number(operation.name in ("prod", "all"), result)


FOLD_CONSTANTS = Pass("fold_constants", Level.TILE, Level.TILE, fold_constants)
