"""Rules of the cube core, from level *buffered* on: the memory of each operand, and what stores take from L0C."""

from __future__ import annotations

from collections.abc import Iterator

from pypto.ir.nodes import Buffer, Kernel, Load, Operation, Space, Statement, Store, Value, operands, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.verification.violation import Violation

OPERAND_SPACES: dict[str, tuple[Space, ...]] = {
    "load_a": (Space.L1,),
    "load_b": (Space.L1,),
    "load_bias": (Space.L1,),
    "mmad": (Space.L0C, Space.L0A, Space.L0B),
    "mmad_bias": (Space.L0C, Space.L0A, Space.L0B, Space.BT),
    "fixpipe": (Space.L0C,),
}
RESULT_SPACES = {
    "load_a": Space.L0A,
    "load_b": Space.L0B,
    "load_bias": Space.BT,
    "mmad": Space.L0C,
    "mmad_bias": Space.L0C,
    "fixpipe": Space.L0C,
}
IN_PLACE = ("fixpipe", "mmad", "mmad_bias")
"""Operations whose result lies where their first operand does."""


def check_cube(kernel: Kernel, buffers: dict[str, Buffer]) -> None:
    """Raise Violation ``wrong-memory``, ``buffer-changed``, ``buffer-shape`` or ``fixpipe-use``."""
    for buffer in kernel.buffers:
        _check_fractals(buffer)
    for statement in walk(kernel.body):
        for value, allowed in _places(statement):
            space = None if value.buffer is None else buffers[value.buffer].space
            if space is not None and space not in allowed:
                names = " or ".join(item.value for item in allowed)
                raise Violation("wrong-memory", statement, value=value, space=space.value, allowed=names)
        if isinstance(statement, Operation) and statement.name in IN_PLACE:
            _check_in_place(statement)
    _check_conversions(kernel, buffers)


def _check_fractals(buffer: Buffer) -> None:
    whole = len(buffer.shape) == 2 and not any(extent % ASCEND_910B1.fractal for extent in buffer.shape)
    if buffer.space in (Space.L0A, Space.L0B, Space.L0C) and not whole:
        raise Violation("buffer-shape", buffer, buffer=buffer.name, what="of other than whole fractals of 16 by 16")


def _places(statement: Statement) -> Iterator[tuple[Value, tuple[Space, ...]]]:
    """Yield what `statement` touches, with the memories that its instruction can reach."""
    if isinstance(statement, Load):
        yield statement.result, (Space.UB, Space.L1)
    elif isinstance(statement, Store):
        yield statement.value, (Space.UB, Space.L0C)
    elif isinstance(statement, Operation):
        yield from _places_of(statement)


def _places_of(operation: Operation) -> Iterator[tuple[Value, tuple[Space, ...]]]:
    if TABLE[operation.name].category is Category.CUBE:
        for value, space in zip(operation.operands, OPERAND_SPACES[operation.name], strict=True):
            yield value, (space,)
        yield operation.results[0], (RESULT_SPACES[operation.name],)
    elif operation.name == "undefined":
        yield operation.results[0], (Space.UB, Space.L0C)
    else:
        for value in operation.operands + operation.results:
            yield value, (Space.UB,)


def _check_in_place(operation: Operation) -> None:
    before, after = operation.operands[0], operation.results[0]
    if before.buffer != after.buffer:
        names = {"value": after, "buffer": after.buffer or "none", "other": before, "place": before.buffer or "none"}
        raise Violation("buffer-changed", operation, role="result", **names)


def _check_conversions(kernel: Kernel, buffers: dict[str, Buffer]) -> None:
    """What a fixpipe makes goes to stores only, and stores take from L0C only what a fixpipe made."""
    operations = [item for item in walk(kernel.body) if isinstance(item, Operation) and item.name == "fixpipe"]
    made = {item.results[0].name: item for item in operations}
    stored: set[str] = set()
    for statement in walk(kernel.body):
        for value in operands(statement):
            from_l0c = value.buffer is not None and buffers[value.buffer].space is Space.L0C
            if (value.name in made) != (isinstance(statement, Store) and from_l0c):
                raise Violation("fixpipe-use", statement, value=value)
            stored.add(value.name)
    for name, operation in made.items():
        if name not in stored:
            raise Violation("fixpipe-use", operation, value=operation.results[0])
