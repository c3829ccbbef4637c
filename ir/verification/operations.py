"""Operations against their records: operands, attributes, types and regions."""

from __future__ import annotations

from pypto.ir.base.errors import nearest
from pypto.ir.dtypes import DType
from pypto.ir.index import Index
from pypto.ir.nodes import Level, Operation, Range, TileType
from pypto.ir.operations.definition import Category, OperationDefinition, RuleViolation
from pypto.ir.operations.table import TABLE
from pypto.ir.printer import type_text
from pypto.ir.verification.attributes import check_attributes
from pypto.ir.verification.scope import Scope, span
from pypto.ir.verification.violation import Subject, Violation

_RULE_FAULTS = (AssertionError, IndexError, KeyError, TypeError, ValueError)
"""What a type rule raises for attributes that it cannot make sense of."""


def check_operation(operation: Operation, scope: Scope) -> None:
    """Raise Violation unless `operation` fits its record at the scope's level; define its results."""
    record = TABLE.get(operation.name)
    if record is None:
        raise Violation("unknown-operation", operation, operation=operation.name, hint=nearest(operation.name, TABLE))
    _check_level(operation, record, scope.level)
    for value in operation.operands:
        scope.use(value, operation)
    check_counts(operation, record)
    check_attributes(operation, record)
    for _, attribute in operation.attributes:
        scope.check_attribute(attribute, operation)
    _check_types(operation, record)
    _check_ranges(operation)
    for value in operation.results:
        scope.define(value, operation)


def _check_level(operation: Operation, record: OperationDefinition, level: Level) -> None:
    if level.rank < record.level.rank:
        what = f"operation {operation.name}"
        raise Violation("wrong-level", operation, what=what, level=level.value, needed=record.level.value)


def check_counts(operation: Operation, record: OperationDefinition) -> None:
    """Raise Violation ``operand-count`` unless the record takes as many operands."""
    count, expected = len(operation.operands), len(record.operands)
    wrong = count < 1 if record.variadic else count != expected
    if wrong:
        shown = "at least 1" if record.variadic else expected
        names = ", ".join(record.operands) or "none"
        details = {"operation": operation.name, "expected": shown, "count": count, "names": names}
        raise Violation("operand-count", operation, **details)


def _check_types(operation: Operation, record: OperationDefinition) -> None:
    inferred = infer_types(operation, record)
    if len(inferred) != len(operation.results):
        details = {"operation": operation.name, "expected": len(inferred), "count": len(operation.results)}
        raise Violation("result-count", operation, **details)
    for value, type_ in zip(operation.results, inferred, strict=True):
        if value.type != type_:
            details = {"written": type_text(value.type), "inferred": type_text(type_)}
            raise Violation("result-type", operation, **details)


def infer_types(operation: Operation, record: OperationDefinition) -> tuple[TileType, ...]:
    """Return the result types of `operation` by the table's rule; raises Violation where the rule does."""
    types = tuple(value.type for value in operation.operands)
    _check_dtypes(operation, record, types)
    try:
        return record.infer(types, dict(operation.attributes))
    except RuleViolation as fault:
        raise Violation(fault.name, operation, **fault.details) from None
    except _RULE_FAULTS:
        names = ", ".join(record.attributes)
        shown = "not what its type rule expects"
        details = {"operation": operation.name, "attribute": names, "value": shown, "expected": record.documentation}
        raise Violation("attribute-value", operation, **details) from None


def _check_dtypes(operation: Operation, record: OperationDefinition, types: tuple[TileType, ...]) -> None:
    dtypes = [type_.dtype for type_ in types]
    if record.category is Category.CONSTANT:
        dtypes += [value for _, value in operation.attributes if isinstance(value, DType)]
    for position, dtype in enumerate(dtypes):
        if dtype not in record.dtypes and not (operation.name == "where" and position == 0):
            allowed = ", ".join(item.name for item in record.dtypes)
            details = {"operation": operation.name, "dtype": dtype, "allowed": allowed}
            raise Violation("unsupported-dtype", operation, **details)


def _check_ranges(operation: Operation) -> None:
    """Slices and inserts stay inside their operand, as far as numbers tell; an inserted piece fills its region."""
    ranges = dict(operation.attributes).get("ranges")
    if not isinstance(ranges, tuple):
        return
    region = tuple(Range(*item) for item in ranges if isinstance(item, tuple))  # type: ignore[arg-type]  # checked
    base = operation.operands[0]
    check_region(region, base.shape, str(base), operation)
    if len(operation.operands) > 1:
        piece = operation.operands[1]
        expected = TileType(base.dtype, tuple(item.extent for item in region))
        if piece.type != expected:
            details = {"value": piece, "type": type_text(piece.type), "expected": type_text(expected)}
            raise Violation("stored-type", operation, **details)


def check_region(
    region: tuple[Range, ...], shape: tuple[Index, ...], name: str, subject: Subject, free: bool = False
) -> None:
    """Raise Violation for a wrong rank, a step of 0, a negative extent or numbers outside `shape` (unless `free`)."""
    if len(region) != len(shape):
        raise Violation("region-rank", subject, count=len(region), name=name, rank=len(shape))
    for number, (item, size) in enumerate(zip(region, shape, strict=True)):
        if item.step == 0:
            raise Violation("region-step", subject, number=number)
        if isinstance(item.extent, int) and item.extent < 0:
            raise Violation("region-extent", subject, number=number, extent=item.extent)
        if not free and _leaves(item, size):
            first, last = span(item.offset, item.extent, item.step)
            details = {"number": number, "first": first, "last": last, "name": name, "extent": size}
            raise Violation("region-bounds", subject, **details)


def _leaves(item: Range, size: Index) -> bool:
    """True when numbers alone show that the range leaves 0 .. size - 1."""
    if not (isinstance(item.offset, int) and isinstance(item.extent, int) and isinstance(size, int)):
        return False
    last = item.offset + (item.extent - 1) * item.step
    return item.extent > 0 and not (0 <= item.offset < size and 0 <= last < size)
