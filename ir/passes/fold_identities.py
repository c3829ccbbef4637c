"""Replace operations that give one of their operands as it is: ``x * 1``, ``-(-x)``, a reshape to the same shape.

Only what keeps every bit of every element, NaN, -0.0 and infinities included: ``x - 0.0`` and ``x + -0.0`` are x, but
``x + 0.0`` is not (-0.0 + 0.0 is 0.0), nor is ``x * 0`` a zero. Integers have no such elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pypto.ir.dtypes import DType
from pypto.ir.nodes import Kernel, Level, Operation, Value
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.rewriting import Rewriter


def fold_identities(kernel: Kernel) -> Kernel:
    """Return `kernel` without operations that change nothing."""
    return _Folder(kernel).run()


@dataclass(slots=True)
class Known:
    """The operations that made the values so far."""

    makers: dict[str, Operation] = field(default_factory=dict)

    def maker(self, value: Value, name: str) -> Operation | None:
        """Return the operation that made `value` when it is called `name`."""
        found = self.makers.get(value.name)
        return found if found is not None and found.name == name else None

    def is_number(self, value: Value, number: float) -> bool:
        """Return whether all elements of `value` are `number`, with its sign."""
        made = self.maker(value, "constant")
        found = made.attribute("value") if made is not None else None
        if isinstance(found, bool) or not isinstance(found, int | float):
            return False
        return found == number and math.copysign(1, found) == math.copysign(1, number)


class _Folder(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.known = Known()

    def operation(self, operation: Operation) -> None:
        operation = replace(operation, operands=self.all(operation.operands))
        rule = RULES.get(operation.name)
        found = rule(operation, self.known) if rule is not None else None
        if found is not None and found.type == operation.results[0].type:
            self.values[operation.results[0].name] = found
            return
        super().operation(operation)
        if operation.results:
            self.known.makers[operation.results[0].name] = operation


Rule = Callable[[Operation, Known], Value | None]


def _neutral(*numbers: float, commutes: bool = False, integers: float | None = None) -> Rule:
    """Return the rule of an operation that leaves its left operand as it is beside one of `numbers`; integers also
    beside `integers`."""

    def rule(operation: Operation, known: Known) -> Value | None:
        left, right = operation.operands
        sides = ((left, right), (right, left)) if commutes else ((left, right),)
        for kept, other in sides:
            accepted = numbers if kept.dtype.is_float or integers is None else (*numbers, integers)
            if any(known.is_number(other, number) for number in accepted):
                return kept
        return None

    return rule


def _same_operands(operation: Operation, known: Known) -> Value | None:
    left, right = operation.operands
    return left if left == right else None


def _where(operation: Operation, known: Known) -> Value | None:
    _, left, right = operation.operands
    return left if left == right else None


def _undone(operation: Operation, known: Known) -> Value | None:
    """``-(-x)`` and ``not not x``."""
    before = known.maker(operation.operands[0], operation.name)
    return before.operands[0] if before is not None else None


def _settled(operation: Operation, known: Known) -> Value | None:
    """An operation that does nothing the second time."""
    before = known.maker(operation.operands[0], operation.name)
    return operation.operands[0] if before is not None else None


def _cast(operation: Operation, known: Known) -> Value | None:
    """To the same dtype; back from a dtype that holds every number of the first."""
    (operand,), (result,) = operation.operands, operation.results
    before = known.maker(operand, "cast")
    if operand.dtype == result.dtype:
        return operand
    if before is not None and before.operands[0].dtype == result.dtype and holds(operand.dtype, result.dtype):
        return before.operands[0]
    return None


def holds(wide: DType, narrow: DType) -> bool:
    """Return whether every number of `narrow` is one of `wide`, of the same kind."""
    return wide.kind == narrow.kind and wide.bits > narrow.bits


def _reshape(operation: Operation, known: Known) -> Value | None:
    """To the same shape, at once or by way of another one."""
    (operand,), (result,) = operation.operands, operation.results
    while operand.shape != result.shape:
        before = known.maker(operand, "reshape")
        if before is None:
            return None
        operand = before.operands[0]
    return operand


def _transpose(operation: Operation, known: Known) -> Value | None:
    (operand,) = operation.operands
    permutation = operation.attribute("permutation")
    assert isinstance(permutation, tuple)
    before = known.maker(operand, "transpose")
    if before is not None:
        first = before.attribute("permutation")
        assert isinstance(first, tuple)
        permutation = tuple(first[axis] for axis in permutation if isinstance(axis, int))
        operand = before.operands[0]
    return operand if permutation == tuple(range(len(permutation))) else None


def _slice(operation: Operation, known: Known) -> Value | None:
    (operand,) = operation.operands
    whole = tuple((0, extent, 1) for extent in operand.shape)
    return operand if operation.attribute("ranges") == whole else None


def _insert(operation: Operation, known: Known) -> Value | None:
    base, piece = operation.operands
    whole = tuple((0, extent, 1) for extent in base.shape)
    return piece if operation.attribute("ranges") == whole else None


def _first(operation: Operation, known: Known) -> Value | None:
    """The operand, where the result has its type: nothing was repeated, padded or joined to it."""
    return operation.operands[0] if len(operation.operands) == 1 else None


RULES: dict[str, Rule] = {
    "add": _neutral(-0.0, commutes=True, integers=0),
    "sub": _neutral(0.0),
    "mul": _neutral(1.0, commutes=True),
    "div": _neutral(1.0),
    "pow": _neutral(1.0),
    "or": _same_operands,
    "and": _same_operands,
    "maximum": _same_operands,
    "minimum": _same_operands,
    "where": _where,
    "neg": _undone,
    "not": _undone,
    "abs": _settled,
    "floor": _settled,
    "ceil": _settled,
    "round": _settled,
    "trunc": _settled,
    "cast": _cast,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "insert": _insert,
    "broadcast_to": _first,
    "pad": _first,
    "concat": _first,
}

FOLD_IDENTITIES = Pass("fold_identities", Level.TILE, Level.TILE, fold_identities)
