"""The common part of passes that replace statements: visit in order, remember replacements, name new values."""

from __future__ import annotations

import itertools
from dataclasses import replace

from pypto.ir.base.locations import UNKNOWN, Location
from pypto.ir.builder import Builder
from pypto.ir.nodes import Attribute, For, If, Kernel, Load, Operation, Statement, Store, TileType, Value, results, walk


def first_free_number(kernel: Kernel) -> int:
    """Return a number above every value name of `kernel` that is a number."""
    names = [value.name for statement in walk(kernel.body) for value in results(statement)]
    names += [value.name for item in walk(kernel.body) if isinstance(item, For) for value in item.carried]
    return max((int(name) + 1 for name in names if name.isdecimal()), default=0)


class Rewriter:
    """Copies a kernel statement by statement; subclasses override what they change.

    `values` maps a name of the old kernel to its value in the new one; `location` is that of the statement being
    rewritten and goes to everything made for it.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.builder = Builder(numbers=itertools.count(first_free_number(kernel)))
        self.values: dict[str, Value] = {}
        self.location: Location = UNKNOWN

    def run(self) -> Kernel:
        body, _ = self.body(self.kernel.body)
        return replace(self.kernel, body=body)

    def body(
        self, statements: tuple[Statement, ...], yielded: tuple[Value, ...] = ()
    ) -> tuple[tuple[Statement, ...], tuple[Value, ...]]:
        """Return the rewritten `statements` and what stands for the values that they yield."""
        outer, self.builder.statements = self.builder.statements, []
        for statement in statements:
            self.location = statement.location
            self.statement(statement)
        values = self.yields(yielded)
        inner, self.builder.statements = self.builder.statements, outer
        return tuple(inner), values

    def yields(self, yielded: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return what a body yields; called at its end, so that statements may still be appended to it."""
        return self.all(yielded)

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Operation):
            self.operation(statement)
        elif isinstance(statement, Load):
            self.load(statement)
        elif isinstance(statement, Store):
            self.store(statement)
        elif isinstance(statement, For):
            self.loop(statement)
        else:
            self.choice(statement)

    def value(self, value: Value) -> Value:
        """Return what stands for `value` in the new kernel."""
        return self.values.get(value.name, value)

    def all(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.value(value) for value in values)

    def type_of(self, type_: TileType) -> TileType:
        """Return the type that carried values and results of type `type_` have in the new kernel."""
        return type_

    def redefine(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return `values` with their new types, and map the old ones to them."""
        made = tuple(replace(value, type=self.type_of(value.type)) for value in values)
        self.values.update((old.name, new) for old, new in zip(values, made, strict=True))
        return made

    def call(self, name: str, *operands: Value, **attributes: Attribute) -> Value:
        """Append an operation at the current location and return its result."""
        return self.builder.operation(name, operands, self.location, **attributes)

    def operation(self, operation: Operation) -> None:
        self.builder.append(replace(operation, operands=self.all(operation.operands)))

    def load(self, load: Load) -> None:
        self.builder.append(load)

    def store(self, store: Store) -> None:
        self.builder.append(replace(store, value=self.value(store.value)))

    def loop(self, loop: For) -> None:
        initial = self.yields(loop.initial)
        carried = self.redefine(loop.carried)
        body, yielded = self.body(loop.body, loop.yielded)
        made = replace(loop, carried=carried, initial=initial, body=body, yielded=yielded)
        self.builder.append(replace(made, results=self.redefine(loop.results)))

    def choice(self, choice: If) -> None:
        then_body, then_yielded = self.body(choice.then_body, choice.then_yielded)
        else_body, else_yielded = self.body(choice.else_body, choice.else_yielded)
        made = replace(choice, then_body=then_body, then_yielded=then_yielded, else_body=else_body)
        self.builder.append(replace(made, else_yielded=else_yielded, results=self.redefine(choice.results)))
