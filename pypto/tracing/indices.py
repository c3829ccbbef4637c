"""Block ids and loop indices as a body sees them: whole numbers known only when the kernel runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from pypto.ir.dtypes import I64
from pypto.ir.index import Bounds, Index, IndexOperation, Symbol, bounds, evaluate, make, subtract, symbols
from pypto.ir.nodes import Condition as ConditionNode
from pypto.ir.nodes import Value
from pypto.tracing.context import Tracer
from pypto.tracing.extents import SymbolicExtent

if TYPE_CHECKING:
    from pypto.tracing.tiles import Tile

_MOST_COMBINATIONS = 4096


class IndexValue:
    """A block id, a loop index, or + - * // % minimum maximum of them and whole numbers. Usable in slices and in
    arithmetic.
    """

    __slots__ = ("expression", "scope", "tracer")

    def __init__(self, tracer: Tracer, expression: Index) -> None:
        self.tracer, self.expression, self.scope = tracer, expression, tracer.scope

    def use(self) -> Index:
        """Return the expression; raises UserError ``loop-value`` once its loop is over."""
        if not self.scope.alive:
            raise self.tracer.error("loop-value", what="a loop index")
        return self.expression

    def value(self) -> Value:
        """Return the number as an i64 value of shape ()."""
        return self.tracer.emit("index", (), dtype=I64, value=self.use())

    def _arithmetic(self, operator: str, other: Any, name: str, swap: bool = False) -> Any:
        right = as_index(other)
        if right is None or (operator in ("//", "%") and (self.use() if swap else right) == 0):
            from pypto.tracing.elementwise import apply

            return apply(name, other, self) if swap else apply(name, self, other)
        left = self.use()
        return IndexValue(self.tracer, make(operator, right, left) if swap else make(operator, left, right))

    def __add__(self, other: Any) -> Any:
        return self._arithmetic("+", other, "add")

    def __radd__(self, other: Any) -> Any:
        return self._arithmetic("+", other, "add", swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._arithmetic("-", other, "sub")

    def __rsub__(self, other: Any) -> Any:
        return self._arithmetic("-", other, "sub", swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._arithmetic("*", other, "mul")

    def __rmul__(self, other: Any) -> Any:
        return self._arithmetic("*", other, "mul", swap=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._arithmetic("//", other, "floor_div")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._arithmetic("//", other, "floor_div", swap=True)

    def __mod__(self, other: Any) -> Any:
        return self._arithmetic("%", other, "remainder")

    def __rmod__(self, other: Any) -> Any:
        return self._arithmetic("%", other, "remainder", swap=True)

    def __truediv__(self, other: Any) -> Any:
        from pypto.tracing.elementwise import apply

        return apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        from pypto.tracing.elementwise import apply

        return apply("div", other, self)

    def __neg__(self) -> IndexValue:
        return IndexValue(self.tracer, subtract(0, self.use()))

    def _compare(self, comparison: str, name: str, other: Any, swap: bool = False) -> Any:
        right = as_index(other)
        if right is None:
            from pypto.tracing.elementwise import apply

            return apply(name, self, other)
        left = self.use()
        return Condition(self.tracer, *((right, comparison, left) if swap else (left, comparison, right)))

    def __lt__(self, other: Any) -> Any:
        return self._compare("<", "lt", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("<=", "le", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("<", "gt", other, swap=True)

    def __ge__(self, other: Any) -> Any:
        return self._compare("<=", "ge", other, swap=True)

    def __eq__(self, other: object) -> Any:
        return self._compare("==", "eq", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", "ne", other)

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise self.tracer.error("index-bool", what="a block id or loop index")

    def __index__(self) -> NoReturn:
        raise self.tracer.error("index-number")

    def __int__(self) -> NoReturn:
        raise self.tracer.error("index-number")

    def __float__(self) -> NoReturn:
        raise self.tracer.error("index-number")

    def __len__(self) -> NoReturn:
        raise self.tracer.error("index-number")

    def __iter__(self) -> NoReturn:
        raise self.tracer.error("index-number")

    def __repr__(self) -> str:
        return str(self.expression)


class Condition:
    """A comparison of block ids, loop indices and numbers, for `pypto.cond` and `pypto.where`."""

    __slots__ = ("comparison", "left", "right", "scope", "tracer")

    def __init__(self, tracer: Tracer, left: Index, comparison: str, right: Index) -> None:
        self.tracer, self.scope = tracer, tracer.scope
        self.left, self.comparison, self.right = left, comparison, right

    def node(self) -> ConditionNode:
        if not self.scope.alive:
            raise self.tracer.error("loop-value", what="a comparison of a loop index")
        return ConditionNode(self.left, self.comparison, self.right)

    def tile(self) -> Tile:
        """Return the condition as a 0-d bool tile."""
        from pypto.tracing.elementwise import apply

        names = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne"}
        left, right = IndexValue(self.tracer, self.left), IndexValue(self.tracer, self.right)
        return apply(names[self.comparison], left, right)

    def __bool__(self) -> NoReturn:
        raise self.tracer.error("index-bool", what="a comparison of a block id or loop index")

    def __and__(self, other: Any) -> Any:
        return self.tile() & _tile(other)

    def __or__(self, other: Any) -> Any:
        return self.tile() | _tile(other)

    def __xor__(self, other: Any) -> Any:
        return self.tile() ^ _tile(other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        inverse = {"==": "!=", "!=": "=="}
        if self.comparison in inverse:
            return Condition(self.tracer, self.left, inverse[self.comparison], self.right)
        comparison = "<=" if self.comparison == "<" else "<"
        return Condition(self.tracer, self.right, comparison, self.left)

    def __repr__(self) -> str:
        return f"{self.left} {self.comparison} {self.right}"


def _tile(operand: Any) -> Any:
    return operand.tile() if isinstance(operand, Condition) else operand


def as_index(value: Any) -> Index | None:
    """Return the index expression that a Python object stands for, or None."""
    if isinstance(value, IndexValue):
        return value.use()
    if isinstance(value, SymbolicExtent):
        return value.extent
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return None
    from pypto.tracing.tiles import Tile

    return None if isinstance(value, Tile) else value.__index__()


Linear = tuple[dict[Index, int], int]


def _linear(index: Index) -> Linear:
    """Return `index` as coefficients of opaque terms and a constant."""
    if isinstance(index, int):
        return {}, index
    if isinstance(index, IndexOperation) and index.operator in "+-":
        left, right = _linear(index.left), _linear(index.right)
        sign = 1 if index.operator == "+" else -1
        return _combined(left, right, sign)
    if isinstance(index, IndexOperation) and index.operator == "*":
        left, right = _linear(index.left), _linear(index.right)
        for terms, factor in ((left, right), (right, left)):
            if not factor[0]:
                return {term: count * factor[1] for term, count in terms[0].items()}, terms[1] * factor[1]
    return {index: 1}, 0


def _combined(left: Linear, right: Linear, sign: int) -> Linear:
    terms = dict(left[0])
    for term, count in right[0].items():
        terms[term] = terms.get(term, 0) + sign * count
    return {term: count for term, count in terms.items() if count}, left[1] + sign * right[1]


def constant_difference(stop: Index, start: Index) -> int | None:
    """Return ``stop - start`` where it is the same number whatever the symbols are."""
    terms, constant = _combined(_linear(stop), _linear(start), -1)
    return None if terms else constant


def extremes(tracer: Tracer, index: Index) -> tuple[Bounds | None, bool]:
    """Return an interval that holds every value of `index`, and whether both ends occur in some turn or block."""
    if isinstance(index, int):
        return (index, index), True
    exact = _enumerate(tracer, index)
    if exact is not None:
        return exact, True
    return bounds(index, tracer.ranges), False


def _enumerate(tracer: Tracer, index: Index) -> Bounds | None:
    domains: list[range] = []
    names = sorted(symbols(index), key=str)
    for symbol in names:
        start, stop, step = tracer.domains.get(symbol, (None, None, 1))
        if not isinstance(start, int) or not isinstance(stop, int):
            return None
        domains.append(range(start, stop, step))
    if math.prod(map(len, domains)) > _MOST_COMBINATIONS:
        return None
    values = [_evaluated(index, dict(zip(names, turn, strict=True))) for turn in itertools.product(*domains)]
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known and len(known) == len(values) else None


def _evaluated(index: Index, values: Mapping[Symbol, int]) -> int | None:
    try:
        return evaluate(index, values)
    except ZeroDivisionError:
        return None
