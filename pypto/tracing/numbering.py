"""Names of a finished body: values numbered in program order, loop indices named i, j, k by depth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pypto.ir.index import Index, IndexOperation, Symbol, substitute, symbols
from pypto.ir.nodes import (
    Attribute,
    Condition,
    For,
    If,
    Load,
    Operation,
    Range,
    Region,
    Statement,
    Store,
    Value,
)

_LETTERS = "ijklmn"


def numbered(body: tuple[Statement, ...], taken: Iterable[Symbol]) -> tuple[Statement, ...]:
    """Return `body` with values called 0, 1, 2, ... and each loop index by a name of its own, none of `taken`."""
    return _Numbering(used={symbol.name for symbol in taken}).body(body, 0)


@dataclass(slots=True)
class _Numbering:
    values: dict[str, Value] = field(default_factory=dict)
    indices: dict[Symbol, Index] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def body(self, body: tuple[Statement, ...], depth: int) -> tuple[Statement, ...]:
        return tuple(self.statement(statement, depth) for statement in body)

    def statement(self, statement: Statement, depth: int) -> Statement:
        if isinstance(statement, Operation):
            operands = self.use(statement.operands)
            attributes = statement.attributes
            if self.indices:
                attributes = tuple((name, self.attribute(value)) for name, value in attributes)
            return replace(statement, operands=operands, results=self.define(statement.results), attributes=attributes)
        if isinstance(statement, Load):
            (result,) = self.define((statement.result,))
            return replace(statement, result=result, region=self.region(statement.region))
        if isinstance(statement, Store):
            (value,) = self.use((statement.value,))
            return replace(statement, value=value, region=self.region(statement.region))
        return self.loop(statement, depth) if isinstance(statement, For) else self.choice(statement, depth)

    def loop(self, loop: For, depth: int) -> For:
        index = self.name_index(loop.index, depth)
        start, stop = self.index(loop.start), self.index(loop.stop)
        initial, carried = self.use(loop.initial), self.define(loop.carried)
        body = self.body(loop.body, depth + 1)
        return replace(
            loop, index=index, start=start, stop=stop, initial=initial, carried=carried, body=body,
            yielded=self.use(loop.yielded), results=self.define(loop.results),
        )  # fmt: skip

    def choice(self, choice: If, depth: int) -> If:
        condition = choice.condition
        condition = Condition(self.index(condition.left), condition.comparison, self.index(condition.right))
        then_body = self.body(choice.then_body, depth)
        then_yielded = self.use(choice.then_yielded)
        else_body = self.body(choice.else_body, depth)
        return replace(
            choice, condition=condition, then_body=then_body, then_yielded=then_yielded, else_body=else_body,
            else_yielded=self.use(choice.else_yielded), results=self.define(choice.results),
        )  # fmt: skip

    def define(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        for value in values:
            self.values[value.name] = replace(value, name=str(len(self.values)))
        return tuple(self.values[value.name] for value in values)

    def use(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.values[value.name] for value in values)

    def name_index(self, symbol: Symbol, depth: int) -> Symbol:
        letter = _LETTERS[min(depth, len(_LETTERS) - 1)]
        name, count = letter, 1
        while name in self.used:
            name, count = f"{letter}{count}", count + 1
        self.used.add(name)
        self.indices[symbol] = Symbol(name)
        return Symbol(name)

    def index(self, index: Index) -> Index:
        return substitute(index, self.indices) if self.indices and symbols(index) else index

    def region(self, region: Region) -> Region:
        if not self.indices:
            return region
        return tuple(Range(self.index(item.offset), item.extent, item.step) for item in region)

    def attribute(self, value: Attribute) -> Attribute:
        if isinstance(value, tuple):
            return tuple(self.attribute(item) for item in value)
        return self.index(value) if isinstance(value, Symbol | IndexOperation) else value
