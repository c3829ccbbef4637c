"""Numbers in registers, tiles filled with one number, index expressions."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.ascendc.emission import Emission, only_result
from pypto.codegen.ascendc.expressions import literal, register_type
from pypto.codegen.ascendc.rules.elementwise import as_bits
from pypto.ir.dtypes import BOOL
from pypto.ir.index import IndexOperation, Symbol
from pypto.ir.nodes import Operation


def constant(emission: Emission, operation: Operation) -> None:
    """A number in a register is written where it is used; a tile is filled by Duplicate."""
    result, value = only_result(operation), operation.attribute("value")
    if result.buffer is None:
        note_float(emission, emission.names.setdefault(result.name, literal(value, result.dtype)))
        return
    if result.dtype == BOOL or result.dtype.bytes == 1:
        fill_bytes(emission, operation, value)
        return
    text = literal(value, result.dtype)
    note_float(emission, text)
    emission.call("Duplicate", emission.tensor(result), text, emission.count(result))


def fill_bytes(emission: Emission, operation: Operation, value: object) -> None:
    """Duplicate has no 8-bit form: 16-bit words of two equal bytes, or of comparison bits all alike."""
    result = only_result(operation)
    if emission.buffer(result).dtype == BOOL:
        words, count = as_bits(emission, result)
        byte = 255 if value else 0
    else:
        words = emission.as_type(result, "uint16_t")
        count = f"({emission.count(result)} + 1) / 2"
        byte = int(value) & 255  # type: ignore[call-overload]  # a number by the verifier
    emission.call("Duplicate", words, f"static_cast<uint16_t>({byte * 257})", count)


def note_float(emission: Emission, text: str) -> None:
    if "FloatFromBits" in text:
        emission.helpers.add("FloatFromBits")


def undefined(emission: Emission, operation: Operation) -> None:
    """Memory as it is: nothing to write."""


def index(emission: Emission, operation: Operation) -> None:
    result, value = only_result(operation), operation.attribute("value")
    assert isinstance(value, int | Symbol | IndexOperation)
    type_ = register_type(result.dtype)
    text = emission.index(value)
    emission.line(f"const {type_} {emission.name_register(result)} = {text};")


def iota(emission: Emission, operation: Operation) -> None:
    """Only one axis is longer than 1: its elements are neighbours."""
    result = only_result(operation)
    first = f"static_cast<{emission.element_type(result)}>(0)"
    emission.call("CreateVecIndex", emission.tensor(result), first, emission.count(result))


RULES: dict[str, Callable[[Emission, Operation], None]] = {
    "constant": constant,
    "undefined": undefined,
    "index": index,
    "iota": iota,
}
