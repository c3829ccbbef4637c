"""What each attribute of an operation may be: plain data of the right kind, checked before a type rule looks at it."""

from __future__ import annotations

from collections.abc import Callable

from pypto.ir.dtypes import DType
from pypto.ir.index import IndexOperation, Symbol
from pypto.ir.nodes import Attribute, Operation, Pipe
from pypto.ir.operations.definition import OperationDefinition
from pypto.ir.printer import attribute_text
from pypto.ir.verification.violation import Subject, Violation

Check = Callable[[Operation, Attribute], bool]
LARGEST = 2**64 - 1
SMALLEST = -(2**63)
PIPES = frozenset(pipe.value for pipe in Pipe)


def is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_extent(value: object) -> bool:
    return (isinstance(value, int) and is_int(value) and value >= 0) or isinstance(value, Symbol | IndexOperation)


def is_index(value: object) -> bool:
    return is_int(value) or isinstance(value, Symbol | IndexOperation)


def is_data(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(is_data, value))
    return value is None or isinstance(value, bool | int | float | str | DType | Symbol | IndexOperation)


def _rank(operation: Operation) -> int:
    if operation.operands:
        return operation.operands[0].type.rank
    shape = dict(operation.attributes).get("shape", ())
    return len(shape) if isinstance(shape, tuple) else 0


def _axis(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, int) and is_int(value) and 0 <= value < _rank(operation)


def _axes(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, tuple) and all(_axis(operation, item) for item in value) and len(set(value)) == len(value)


def _extents(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, tuple) and all(map(is_extent, value))


def _permutation(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, tuple) and all(map(is_int, value))


def _ranges(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, tuple) and len(value) == _rank(operation) and all(map(_is_range, value))


def _is_range(item: object) -> bool:
    if not (isinstance(item, tuple) and len(item) == 3):
        return False
    offset, extent, step = item
    return is_index(offset) and is_extent(extent) and is_int(step) and step != 0


def _paddings(operation: Operation, value: Attribute) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == _rank(operation)
        and all(isinstance(item, int) and is_int(item) and item >= 0 for item in value)
    )


def _dtype(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, DType)


def _number(operation: Operation, value: Attribute) -> bool:
    """A float only where the element type is one; integers of 64 bits."""
    if isinstance(value, float):
        return _element_type(operation).is_float
    return isinstance(value, int) and SMALLEST <= value <= LARGEST


def _element_type(operation: Operation) -> DType:
    if operation.operands:
        return operation.operands[0].dtype
    dtype = dict(operation.attributes).get("dtype")
    assert isinstance(dtype, DType), "attributes are checked in order of name: dtype before value"
    return dtype


def _index(operation: Operation, value: Attribute) -> bool:
    return is_index(value)


def _pipe(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, str) and value in PIPES


def _core(operation: Operation, value: Attribute) -> bool:
    return value in ("cube", "vector")


def _flag(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, bool)


def _count(operation: Operation, value: Attribute) -> bool:
    return isinstance(value, int) and is_int(value) and value >= 0


_PIPES_TEXT = "one of " + ", ".join(f'"{pipe.value}"' for pipe in Pipe)

CHECKS: dict[str, tuple[Check, str]] = {
    "axes": (_axes, "a list of different axes of the operand, for example [0, 1]"),
    "axis": (_axis, "an axis of the operand, or of the shape of an operation without operands"),
    "barrier_id": (_count, "a number of at least 0"),
    "core": (_core, '"cube" or "vector"'),
    "count": (_count, "a number of at least 0"),
    "descending": (_flag, "true or false"),
    "destination": (_pipe, _PIPES_TEXT),
    "dtype": (_dtype, "a dtype, for example f32"),
    "high": (_paddings, "a list with one number of at least 0 for each axis"),
    "id": (_index, "a number, or an index expression"),
    "low": (_paddings, "a list with one number of at least 0 for each axis"),
    "participants": (_count, "the number of blocks of the grid"),
    "permutation": (_permutation, "a list of axes, for example [1, 0]"),
    "pipe": (_pipe, _PIPES_TEXT),
    "relu": (_flag, "true or false"),
    "ranges": (_ranges, "a list with one [offset, extent, step] for each axis of the first operand, step not 0"),
    "shape": (_extents, "a list of extents, for example [4, 8]"),
    "source": (_pipe, _PIPES_TEXT),
    "transposed": (_flag, "true or false"),
    "turn": (_index, "an index expression, for example %k"),
    "wrap": (_flag, "true or false"),
    "value": (_number, "a number of 64 bits; a float only where the dtype is one"),
}
"""The check of each attribute by name, and what to write. Names not listed may be any plain data."""

_OF_INDEX: tuple[Check, str] = (_index, "an index expression, for example (%i * 4)")


def check_attributes(operation: Operation, record: OperationDefinition) -> None:
    """Raise Violation for an attribute that is unknown, missing, out of order or of the wrong kind."""
    names = [name for name, _ in operation.attributes]
    for name in names:
        if name not in record.attributes:
            known = f"its attributes are: {', '.join(record.attributes)}" if record.attributes else "it has none"
            raise Violation("unknown-attribute", operation, operation=operation.name, attribute=name, hint=known)
        if names.count(name) > 1:
            raise Violation("duplicate-attribute", operation, attribute=name)
    for name in record.attributes:
        if name not in names and name not in record.optional:
            raise Violation("missing-attribute", operation, operation=operation.name, attribute=name)
    if names != sorted(names):
        raise Violation("attribute-order", operation, attributes=", ".join(names))
    for name, value in operation.attributes:
        _check_value(operation, name, value)


def _check_value(operation: Operation, name: str, value: Attribute) -> None:
    if operation.name == "index" and name == "value":
        check, expected = _OF_INDEX
    else:
        check, expected = CHECKS.get(name, (lambda _, item: is_data(item), "plain data"))
    if not check(operation, value):
        shown = attribute_text(value) if is_data(value) else repr(value)
        details = {"operation": operation.name, "attribute": name, "value": shown, "expected": expected}
        raise Violation("attribute-value", operation, **details)
    if check is _number and isinstance(value, int | float):
        check_range(value, _element_type(operation), f"attribute {name} of {operation.name}", operation)


def check_range(value: float, dtype: DType, what: str, subject: Subject) -> None:
    """Raise Violation ``constant-range`` for a number that `dtype` cannot hold."""
    if not dtype.holds(value):
        least, largest = (attribute_text(limit) for limit in dtype.limits)
        details = {"what": what, "value": attribute_text(value), "dtype": dtype, "least": least, "largest": largest}
        raise Violation("constant-range", subject, **details)
