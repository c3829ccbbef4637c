"""The tracer that records IR."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from pypto.ir.base.errors import UserError
from pypto.ir.builder import check_dtypes
from pypto.ir.dtypes import DType
from pypto.ir.index import Extent, Symbol
from pypto.ir.nodes import Attribute, Load, Operation, Region, Store, TileType, Value
from pypto.ir.operations.definition import Category, RuleViolation
from pypto.ir.operations.table import TABLE
from pypto.tracing.context import Number, Scope, Tracer

_SHARED = (Category.VIEW, Category.CONSTANT)


class Recorder(Tracer):
    """Appends statements to the current scope. Equal views, casts and constants are recorded once per scope."""

    def __init__(self, hidden: tuple[Extent, ...] = (), hints: Mapping[Symbol, int] | None = None) -> None:
        super().__init__(hidden, hints)
        self._numbers = itertools.count()

    def value(self, type_: TileType) -> Value:
        """Return a value that no statement defines yet."""
        return Value(str(next(self._numbers)), type_)

    def emit(self, name: str, operands: tuple[Value, ...], /, **attributes: Attribute) -> Value:
        record = TABLE[name]
        sorted_attributes = tuple(sorted(attributes.items()))
        key = None
        if record.category in _SHARED or name == "cast":
            key = (name, tuple(operand.name for operand in operands), _hashable(sorted_attributes))
            if (known := self._known(key)) is not None:
                return known
        types = tuple(operand.type for operand in operands)
        try:
            check_dtypes(name, types)
            (type_,) = record.infer(types, attributes)
        except RuleViolation as violation:
            raise UserError(violation.name, self.location(), **violation.details) from None
        result = self.value(type_)
        self.scope.statements.append(Operation(name, operands, (result,), sorted_attributes, self.location()))
        if key is not None:
            self.scope.known[key] = result
        return result

    def _known(self, key: object) -> Value | None:
        scope: Scope | None = self.scope
        while scope is not None:
            if key in scope.known:
                return scope.known[key]
            scope = scope.parent
        return None

    def load(self, source: str, dtype: DType, region: Region, fill: Number | None = None) -> Value:
        result = self.value(TileType(dtype, tuple(item.extent for item in region)))
        self.scope.statements.append(Load(result, source, region, fill, self.location()))
        return result

    def store(self, target: str, region: Region, value: Value, clip: bool = False) -> None:
        self.scope.statements.append(Store(target, region, value, clip, self.location()))


def _hashable(attributes: tuple[tuple[str, Attribute], ...]) -> tuple[tuple[str, object], ...]:
    """Tell 0.0 from -0.0 and True from 1, which are equal in Python."""
    return tuple(
        (name, (type(value).__name__, repr(value)) if isinstance(value, bool | int | float) else value)
        for name, value in attributes
    )
