"""Extents and index expressions: integers, symbols and + - * // % min max over them.

An extent is the size of an axis; an index expression is an offset made from block ids and loop indices. Both are
`Index` values: a plain ``int``, a `Symbol`, or an `IndexOperation`. Constants fold on construction, so equal numbers
are equal expressions. ``//`` and ``%`` are Python's (floor).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Union

Operator = str  # one of the keys of OPERATORS


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named unknown: an extent that is not known yet, a block id, or a loop index."""

    name: str

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True, slots=True)
class IndexOperation:
    """An arithmetic operation on index expressions."""

    operator: Operator
    left: Index
    right: Index

    def __str__(self) -> str:
        if self.operator in ("min", "max"):
            return f"{self.operator}({self.left}, {self.right})"
        return f"({self.left} {self.operator} {self.right})"


Index = Union[int, Symbol, IndexOperation]
Extent = Index

OPERATORS: dict[Operator, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}

_IDENTITY_RIGHT = {"+": 0, "-": 0, "*": 1, "//": 1}


def make(operator: Operator, left: Index, right: Index) -> Index:
    """Return ``left operator right``, folded where both are numbers or one is neutral."""
    if isinstance(left, int) and isinstance(right, int):
        return OPERATORS[operator](left, right)
    if _IDENTITY_RIGHT.get(operator) == right and isinstance(right, int):
        return left
    if operator == "+" and left == 0:
        return right
    if operator == "*" and (left == 0 or right == 0):
        return 0
    if operator == "*" and left == 1:
        return right
    if operator == "-" and left == right:
        return 0
    if operator in ("min", "max") and left == right:
        return left
    if operator == "%" and right == 1:
        return 0
    return IndexOperation(operator, left, right)


def add(left: Index, right: Index) -> Index:
    return make("+", left, right)


def subtract(left: Index, right: Index) -> Index:
    return make("-", left, right)


def multiply(left: Index, right: Index) -> Index:
    return make("*", left, right)


def floor_divide(left: Index, right: Index) -> Index:
    return make("//", left, right)


def ceil_divide(left: Index, right: int) -> Index:
    """Return the smallest whole number that is at least ``left / right`` for a positive `right`."""
    return make("//", add(left, right - 1), right)


def minimum(left: Index, right: Index) -> Index:
    return make("min", left, right)


def maximum(left: Index, right: Index) -> Index:
    return make("max", left, right)


def product(extents: tuple[Index, ...]) -> Index:
    """Return the product of all extents; 1 for none."""
    total: Index = 1
    for extent in extents:
        total = multiply(total, extent)
    return total


def substitute(index: Index, values: Mapping[Symbol, Index]) -> Index:
    """Return `index` with every symbol that `values` names replaced, folding as it goes."""
    if isinstance(index, int):
        return index
    if isinstance(index, Symbol):
        return values.get(index, index)
    return make(index.operator, substitute(index.left, values), substitute(index.right, values))


def evaluate(index: Index, values: Mapping[Symbol, int]) -> int:
    """Return the number that `index` has under `values`; raises KeyError for a symbol without a value."""
    if isinstance(index, int):
        return index
    if isinstance(index, Symbol):
        return values[index]
    return OPERATORS[index.operator](evaluate(index.left, values), evaluate(index.right, values))


def symbols(index: Index) -> frozenset[Symbol]:
    """Return the symbols that occur in `index`."""
    if isinstance(index, int):
        return frozenset()
    if isinstance(index, Symbol):
        return frozenset((index,))
    return symbols(index.left) | symbols(index.right)


Bounds = tuple[int, int]


def bounds(index: Index, ranges: Mapping[Symbol, Bounds]) -> Bounds | None:
    """Return an inclusive interval that holds every value of `index`, or None when a symbol has no range.

    `ranges` gives each symbol's inclusive interval. The result is sound but not always tight (interval arithmetic).
    """
    if isinstance(index, int):
        return index, index
    if isinstance(index, Symbol):
        return ranges.get(index)
    left, right = bounds(index.left, ranges), bounds(index.right, ranges)
    if left is None or right is None:
        return None
    return _combine_bounds(index.operator, left, right)


def _combine_bounds(operator: Operator, left: Bounds, right: Bounds) -> Bounds | None:
    if operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    if operator in ("min", "max"):
        function = OPERATORS[operator]
        return function(left[0], right[0]), function(left[1], right[1])
    if operator == "*":
        corners = [a * b for a in left for b in right]
        return min(corners), max(corners)
    if right[0] <= 0:
        return None
    if operator == "//":
        corners = [a // b for a in left for b in right]
        return min(corners), max(corners)
    if right[0] == right[1] and left[0] // right[0] == left[1] // right[0]:
        return left[0] % right[0], left[1] % right[0]
    return 0, right[1] - 1
