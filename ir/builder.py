"""Making operations: infer the result type from the table, name the result, keep the location."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from pypto.ir.base.locations import UNKNOWN, Location
from pypto.ir.nodes import Attribute, Operation, Statement, TileType, Value
from pypto.ir.operations.definition import RuleViolation
from pypto.ir.operations.table import TABLE


@dataclass(slots=True)
class Builder:
    """Appends statements to a body; every value gets a name of its own."""

    statements: list[Statement] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def value(self, type_: TileType) -> Value:
        """Return a new value of `type_` that no statement defines yet."""
        return Value(str(next(self.numbers)), type_)

    def append(self, statement: Statement) -> None:
        self.statements.append(statement)

    def operation(
        self, name: str, operands: tuple[Value, ...], location: Location = UNKNOWN, /, **attributes: Attribute
    ) -> Value:
        """Append an operation with one result and return the result; raises RuleViolation where its rule does."""
        types = tuple(operand.type for operand in operands)
        check_dtypes(name, types)
        (type_,) = TABLE[name].infer(types, attributes)
        result = self.value(type_)
        self.append(Operation(name, operands, (result,), tuple(sorted(attributes.items())), location))
        return result


def check_dtypes(name: str, types: tuple[TileType, ...]) -> None:
    """Raise RuleViolation ``unsupported-dtype`` when an operand's dtype is not among the record's."""
    allowed = TABLE[name].dtypes
    for type_ in types:
        if type_.dtype not in allowed:
            names = ", ".join(dtype.name for dtype in allowed)
            raise RuleViolation("unsupported-dtype", operation=name, dtype=type_.dtype, allowed=names)
