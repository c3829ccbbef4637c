"""Compute and load once what is computed or loaded several times from the same operands.

Two statements are the same when all they are made from is, floats by their bits. A load counts as another one after a
store to its array; values of a loop or branch serve only inside it. Nothing that is rounded differently is merged, so
the results keep their bits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from pypto.ir.nodes import Attribute, For, If, Kernel, Level, Load, Operation, Statement, Store, Value, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.rewriting import Rewriter


def remove_common(kernel: Kernel) -> Kernel:
    """Return `kernel` with one value for all statements that give the same."""
    return _Sharer(kernel).run()


class _Sharer(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.known: dict[Hashable, Value] = {}

    def body(
        self, statements: tuple[Statement, ...], yielded: tuple[Value, ...] = ()
    ) -> tuple[tuple[Statement, ...], tuple[Value, ...]]:
        outer = dict(self.known)
        made = super().body(statements, yielded)
        self.known = outer
        return made

    def loop(self, loop: For) -> None:
        self.forget(loop)
        super().loop(loop)

    def choice(self, choice: If) -> None:
        super().choice(choice)
        self.forget(choice)

    def forget(self, statement: Statement) -> None:
        """Forget what was loaded from arrays that `statement` stores to."""
        written = {item.target for item in walk((statement,)) if isinstance(item, Store)}
        self.known = {key: value for key, value in self.known.items() if _array(key) not in written}

    def store(self, store: Store) -> None:
        super().store(store)
        self.forget(store)

    def load(self, load: Load) -> None:
        key = ("load", load.source, load.region, exact(load.fill), load.result.type)
        found = self.known.setdefault(key, load.result)
        self.values[load.result.name] = found
        if found is load.result:
            super().load(load)

    def operation(self, operation: Operation) -> None:
        operation = replace(operation, operands=self.all(operation.operands))
        if operation.name == "undefined" or TABLE[operation.name].category is Category.SYNCHRONISATION:
            super().operation(operation)
            return
        (result,) = operation.results
        attributes = tuple((name, exact(value)) for name, value in operation.attributes)
        key = (operation.name, tuple(value.name for value in operation.operands), attributes, result.type)
        found = self.known.setdefault(key, result)
        self.values[result.name] = found
        if found is result:
            super().operation(operation)


def _array(key: Hashable) -> object:
    """Return the array that the key of a load names, None for that of an operation."""
    return key[1] if isinstance(key, tuple) and key[0] == "load" and isinstance(key[1], str) else None


def exact(value: Attribute) -> Hashable:
    """Return what two attributes have in common only when they are the same: 1, 1.0, True, 0.0 and -0.0 differ."""
    if isinstance(value, tuple):
        return tuple(map(exact, value))
    return (type(value), value.hex()) if isinstance(value, float) else (type(value), value)


REMOVE_COMMON = Pass("remove_common", Level.TILE, Level.TILE, remove_common)
