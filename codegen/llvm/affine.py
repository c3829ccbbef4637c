"""Index arithmetic in normal form: a constant plus integer multiples of atoms.

An atom is a `Symbol` (loop index, block id) or a `Derived` quotient, remainder, minimum, maximum or product that has
no linear form. Every form is canonical, so that two equal ones compare equal; quotients and remainders simplify by
the ranges of the symbols, and ``d * (e // d) + e % d`` becomes ``e``: an access through a reshape of contiguous
memory is linear again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Union

from pypto.ir.index import Index, IndexOperation, Symbol

Bounds = tuple[int, int]
Ranges = Mapping[Symbol, Bounds]


@dataclass(frozen=True, slots=True)
class Derived:
    """``left operator right`` as one atom; `name` is its text and orders atoms."""

    operator: str
    left: Affine
    right: Affine
    name: str


Atom = Union[Symbol, Derived]


@dataclass(frozen=True, slots=True)
class Affine:
    """``constant + sum(coefficient * atom)``; terms are sorted by the atoms' names, coefficients are never 0."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = ()

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def coefficient(self, atom: Atom) -> int:
        """Return the multiple of `atom`; 0 when it is not a term."""
        for item, coefficient in self.terms:
            if item == atom:
                return coefficient
        return 0

    @property
    def name(self) -> str:
        parts = [f"{coefficient}*{atom.name}" for atom, coefficient in self.terms]
        return f"({'+'.join([*parts, str(self.constant)])})"


ZERO = Affine(0)


def number(value: int) -> Affine:
    return Affine(value)


def symbol(item: Symbol) -> Affine:
    return Affine(0, ((item, 1),))


def _from_terms(constant: int, terms: dict[Atom, int]) -> Affine:
    kept = [item for item in terms.items() if item[1]]
    if len(kept) > 1:
        kept.sort(key=lambda item: item[0].name)
    return Affine(constant, tuple(kept))


def add(left: Affine, right: Affine) -> Affine:
    """Return the sum; a quotient that meets its remainder becomes the divided form again."""
    if not right.terms:
        return left if right.constant == 0 else Affine(left.constant + right.constant, left.terms)
    if not left.terms:
        return Affine(left.constant + right.constant, right.terms)
    terms = dict(left.terms)
    for atom, coefficient in right.terms:
        terms[atom] = terms.get(atom, 0) + coefficient
    total = _from_terms(left.constant + right.constant, terms)
    if any(isinstance(atom, Derived) and atom.operator == "%" for atom, _ in total.terms):
        return _recombine(total)
    return total


def _recombine(form: Affine) -> Affine:
    for atom, coefficient in form.terms:
        if not (isinstance(atom, Derived) and atom.operator == "%"):
            continue
        divisor = atom.right.constant
        quotient = _quotient_atom(atom.left, divisor)
        if quotient is not None and form.coefficient(quotient) == coefficient * divisor:
            rest = {item: count for item, count in form.terms if item not in (atom, quotient)}
            return add(_from_terms(form.constant, rest), scale(atom.left, coefficient))
    return form


def scale(form: Affine, factor: int) -> Affine:
    if factor == 1:
        return form
    if factor == 0:
        return ZERO
    return Affine(form.constant * factor, tuple((atom, count * factor) for atom, count in form.terms))


def subtract(left: Affine, right: Affine) -> Affine:
    return add(left, scale(right, -1))


def _derived(operator: str, left: Affine, right: Affine) -> Derived:
    return Derived(operator, left, right, f"({left.name}{operator}{right.name})")


def _quotient_atom(form: Affine, divisor: int) -> Derived | None:
    """Return ``form // divisor`` as an atom; ``(e // a) // b`` is ``e // (a * b)``."""
    if form.constant == 0 and len(form.terms) == 1:
        atom, count = form.terms[0]
        if count == 1 and isinstance(atom, Derived) and atom.operator == "//" and atom.right.is_constant:
            return _derived("//", atom.left, Affine(atom.right.constant * divisor))
    return _derived("//", form, Affine(divisor))


def _split(form: Affine, divisor: int) -> tuple[Affine, Affine]:
    """Return quotient and rest with ``form == divisor * quotient + rest``, terms divisible by `divisor` in the
    quotient.
    """
    whole = tuple((atom, count // divisor) for atom, count in form.terms if count % divisor == 0)
    rest = tuple((atom, count) for atom, count in form.terms if count % divisor)
    return Affine(form.constant // divisor, whole), Affine(form.constant % divisor, rest)


def divide(form: Affine, divisor: int, ranges: Ranges) -> Affine:
    """Return ``form // divisor`` (floor) for a positive number `divisor`."""
    quotient, rest = _split(form, divisor)
    if rest.is_constant:
        return quotient
    limits = bounds(rest, ranges)
    if limits is not None and limits[0] // divisor == limits[1] // divisor:
        return add(quotient, Affine(limits[0] // divisor))
    atom = _quotient_atom(rest, divisor)
    assert atom is not None
    return add(quotient, Affine(0, ((atom, 1),)))


def modulo(form: Affine, divisor: int, ranges: Ranges) -> Affine:
    """Return ``form % divisor`` (of the divisor's sign) for a positive number `divisor`."""
    _, rest = _split(form, divisor)
    if rest.is_constant:
        return rest
    limits = bounds(rest, ranges)
    if limits is not None and limits[0] // divisor == limits[1] // divisor:
        return add(rest, Affine(-(limits[0] // divisor) * divisor))
    return Affine(0, ((_derived("%", rest, Affine(divisor)), 1),))


def extremum(operator: str, left: Affine, right: Affine, ranges: Ranges) -> Affine:
    """Return the minimum or maximum, decided by the ranges where they decide it."""
    if left.is_constant and right.is_constant:
        function = min if operator == "min" else max
        return Affine(function(left.constant, right.constant))
    limits = bounds(subtract(left, right), ranges)
    if limits is not None and (limits[1] <= 0 or limits[0] >= 0):
        left_is_less = limits[1] <= 0
        return left if left_is_less == (operator == "min") else right
    return Affine(0, ((_derived(operator, left, right), 1),))


def multiply(left: Affine, right: Affine) -> Affine:
    if left.is_constant:
        return scale(right, left.constant)
    if right.is_constant:
        return scale(left, right.constant)
    return Affine(0, ((_derived("*", left, right), 1),))


def combine(operator: str, left: Affine, right: Affine, ranges: Ranges) -> Affine:
    """Return ``left operator right`` for an operator of index expressions."""
    if operator == "+":
        return add(left, right)
    if operator == "-":
        return subtract(left, right)
    if operator == "*":
        return multiply(left, right)
    if operator in ("min", "max"):
        return extremum(operator, left, right, ranges)
    if right.is_constant and right.constant > 0:
        return divide(left, right.constant, ranges) if operator == "//" else modulo(left, right.constant, ranges)
    return Affine(0, ((_derived(operator, left, right), 1),))


def of(index: Index, ranges: Ranges, names: Mapping[Symbol, Symbol]) -> Affine:
    """Return the normal form of an index expression, its symbols replaced by those that `names` gives."""
    if isinstance(index, int):
        return Affine(index)
    if isinstance(index, Symbol):
        return symbol(names.get(index, index))
    assert isinstance(index, IndexOperation)
    return combine(index.operator, of(index.left, ranges, names), of(index.right, ranges, names), ranges)


def bounds(form: Affine, ranges: Ranges) -> Bounds | None:
    """Return an inclusive interval of every value of `form`; None when an atom has none. Sound, not always tight."""
    low = high = form.constant
    for atom, count in form.terms:
        limits = ranges.get(atom) if isinstance(atom, Symbol) else _derived_bounds(atom, ranges)
        if limits is None:
            return None
        low += count * (limits[0] if count > 0 else limits[1])
        high += count * (limits[1] if count > 0 else limits[0])
    return low, high


def _derived_bounds(atom: Derived, ranges: Ranges) -> Bounds | None:
    left, right = bounds(atom.left, ranges), bounds(atom.right, ranges)
    if left is None or right is None:
        return None
    if atom.operator in ("min", "max"):
        function = min if atom.operator == "min" else max
        return function(left[0], right[0]), function(left[1], right[1])
    if atom.operator == "*":
        corners = [a * b for a in left for b in right]
        return min(corners), max(corners)
    if right[0] <= 0:
        return None
    if atom.operator == "//":
        corners = [a // b for a in left for b in right]
        return min(corners), max(corners)
    return 0, right[1] - 1


def substitute(form: Affine, values: Mapping[Symbol, Affine], ranges: Ranges) -> Affine:
    """Return `form` with every symbol that `values` names replaced, normalised again."""
    result = Affine(form.constant)
    for atom, count in form.terms:
        result = add(result, scale(_substitute_atom(atom, values, ranges), count))
    return result


def _substitute_atom(atom: Atom, values: Mapping[Symbol, Affine], ranges: Ranges) -> Affine:
    if isinstance(atom, Symbol):
        return values.get(atom) or symbol(atom)
    left, right = substitute(atom.left, values, ranges), substitute(atom.right, values, ranges)
    return combine(atom.operator, left, right, ranges)


def symbols(form: Affine) -> frozenset[Symbol]:
    """Return the symbols that occur anywhere in `form`."""
    return frozenset(_walk(form))


def _walk(form: Affine) -> Iterable[Symbol]:
    for atom, _ in form.terms:
        if isinstance(atom, Symbol):
            yield atom
        else:
            yield from _walk(atom.left)
            yield from _walk(atom.right)


def evaluate(form: Affine, value: Callable[[Symbol], int]) -> int:
    """Return the number that `form` has when each symbol has the number `value` gives."""
    total = form.constant
    for atom, count in form.terms:
        if isinstance(atom, Symbol):
            total += count * value(atom)
            continue
        left, right = evaluate(atom.left, value), evaluate(atom.right, value)
        total += count * _EVALUATE[atom.operator](left, right)
    return total


_EVALUATE: dict[str, Callable[[int, int], int]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "*": lambda a, b: a * b,
    "min": min,
    "max": max,
}
