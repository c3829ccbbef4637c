"""Proving that an index expression is never negative, from what is known of its symbols.

An expression is taken as a linear form: a constant plus whole multiples of *atoms*, which are symbols or operations
that are not linear. Atoms are replaced one after another, the innermost symbol first, by something that is no larger,
until a number is left. Where several replacements are possible all are tried, within a budget. The method is sound
and, for affine expressions of loop indices, nearly always succeeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pypto.ir.index import Bounds, Index, IndexOperation, Symbol, bounds, symbols

BUDGET = 2000
"""Most steps of one proof."""


@dataclass(frozen=True, slots=True)
class Linear:
    """``constant + sum of coefficient * atom``; coefficients are not 0."""

    constant: int
    terms: dict[Index, int]

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            total = terms.pop(atom, 0) + factor * coefficient
            if total:
                terms[atom] = total
        return Linear(self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Linear:
        return Linear(0, {}).plus(self, factor)

    def without(self, atom: Index) -> Linear:
        return Linear(self.constant, {other: count for other, count in self.terms.items() if other != atom})


def number(value: int) -> Linear:
    return Linear(value, {})


def linear(index: Index) -> Linear:
    """Return `index` as a linear form."""
    if isinstance(index, int):
        return number(index)
    if isinstance(index, IndexOperation):
        if index.operator in ("+", "-"):
            return linear(index.left).plus(linear(index.right), 1 if index.operator == "+" else -1)
        if index.operator == "*":
            left, right = linear(index.left), linear(index.right)
            if not left.terms:
                return right.times(left.constant)
            if not right.terms:
                return left.times(right.constant)
    return Linear(0, {index: 1})


@dataclass(slots=True)
class Facts:
    """What is known of symbols, outermost first: bounds as linear forms of symbols further out, and as numbers.

    `lower` and `upper` hold alternatives: each of them is true, so a proof may use whichever helps. `assumed` holds
    further forms that are not negative, by their innermost symbol.
    """

    order: list[Symbol] = field(default_factory=list)
    lower: dict[Symbol, tuple[Linear, ...]] = field(default_factory=dict)
    upper: dict[Symbol, tuple[Linear, ...]] = field(default_factory=dict)
    ranges: dict[Symbol, Bounds] = field(default_factory=dict)
    assumed: dict[Symbol, tuple[Linear, ...]] = field(default_factory=dict)

    def copy(self) -> Facts:
        return Facts(list(self.order), dict(self.lower), dict(self.upper), dict(self.ranges), dict(self.assumed))

    def introduce(self, symbol: Symbol, lower: Iterable[Index], upper: Iterable[Index]) -> None:
        """Add a symbol, inside all known ones, between inclusive bounds."""
        self.order.append(symbol)
        lowest, highest = tuple(lower), tuple(upper)
        self.lower[symbol] = tuple(map(linear, lowest))
        self.upper[symbol] = tuple(map(linear, highest))
        starts = [item for item in (bounds(index, self.ranges) for index in lowest) if item]
        stops = [item for item in (bounds(index, self.ranges) for index in highest) if item]
        if starts and stops:
            self.ranges[symbol] = (max(item[0] for item in starts), min(item[1] for item in stops))

    def assume(self, form: Linear) -> None:
        """Add the fact that `form` is not negative: a bound of its innermost symbol."""
        inner = max((atom for atom in form.terms if isinstance(atom, Symbol)), key=self.depth, default=None)
        if inner is None or any(self._mentions(atom, inner) for atom in form.terms):
            return
        self.assumed[inner] = (*self.assumed.get(inner, ()), form)
        coefficient, rest = form.terms[inner], form.without(inner)
        if rest.terms or inner not in self.ranges:
            return
        low, high = self.ranges[inner]
        if coefficient > 0:
            low = max(low, -(rest.constant // coefficient))
        else:
            high = min(high, rest.constant // -coefficient)
        self.ranges[inner] = (low, high)

    def _mentions(self, atom: Index, inner: Symbol) -> bool:
        """An atom that hides `inner` or something further in cannot bound it: replacing could go round in circles."""
        return isinstance(atom, IndexOperation) and any(
            self.depth(symbol) >= self.depth(inner) for symbol in symbols(atom)
        )

    def depth(self, symbol: Symbol) -> int:
        return self.order.index(symbol) if symbol in self.order else -1

    def impossible(self) -> bool:
        """True when some symbol has no value left: the code is never reached."""
        return any(low > high for low, high in self.ranges.values())

    def never_negative(self, form: Linear) -> bool:
        """Return whether `form` is proven to be 0 or more; False means unknown."""
        return _Proof(self).holds(form)


@dataclass(slots=True)
class _Proof:
    facts: Facts
    steps: int = 0

    def holds(self, form: Linear) -> bool:
        self.steps += 1
        if not form.terms:
            return form.constant >= 0
        if self.steps > BUDGET:
            return False
        atom = self._innermost(form)
        rest, coefficient = form.without(atom), form.terms[atom]
        for cases in self._replacements(atom, coefficient):
            if all(self.holds(rest.plus(case)) for case in cases):
                return True
        return False

    def _innermost(self, form: Linear) -> Index:
        """Operations before symbols, so that what they contain is replaced later."""
        operations = [atom for atom in form.terms if isinstance(atom, IndexOperation)]
        if operations:
            return operations[-1]
        return max((atom for atom in form.terms if isinstance(atom, Symbol)), key=self.facts.depth)

    def _replacements(self, atom: Index, coefficient: int) -> Iterator[tuple[Linear, ...]]:
        """Yield alternatives; in each, ``coefficient * atom`` is never less than the smallest of the forms."""
        if isinstance(atom, Symbol):
            sides = self.facts.lower if coefficient > 0 else self.facts.upper
            yield from ((form.times(coefficient),) for form in sides.get(atom, ()))
            yield from self._from_facts(atom, coefficient)
            return
        assert isinstance(atom, IndexOperation)
        if atom.operator in ("min", "max"):
            yield from _choices(atom, coefficient)
        elif atom.operator == "//":
            yield from _quotients(atom, coefficient)
        elif atom.operator == "%" and isinstance(atom.right, int):
            yield (number(0 if coefficient > 0 else coefficient * (atom.right - 1)),)
        elif atom.operator == "*" and coefficient > 0 and self._both_positive(atom):
            yield (number(0),)
        interval = bounds(atom, self.facts.ranges)
        if interval is not None:
            yield (number(coefficient * interval[0 if coefficient > 0 else 1]),)

    def _from_facts(self, atom: Symbol, coefficient: int) -> Iterator[tuple[Linear, ...]]:
        """From ``a * atom + rest >= 0`` follows ``n * a * atom >= -n * rest`` for a whole n > 0."""
        for fact in self.facts.assumed.get(atom, ()):
            times, remainder = divmod(coefficient, fact.terms[atom])
            if remainder == 0 and times > 0:
                yield (fact.without(atom).times(-times),)
        if atom in self.facts.ranges:
            yield (number(coefficient * self.facts.ranges[atom][0 if coefficient > 0 else 1]),)

    def _both_positive(self, atom: IndexOperation) -> bool:
        return self.holds(linear(atom.left)) and self.holds(linear(atom.right))


def _choices(atom: IndexOperation, coefficient: int) -> Iterator[tuple[Linear, ...]]:
    """min is at most each of its arguments and equal to one of them; max the other way round."""
    left, right = linear(atom.left).times(coefficient), linear(atom.right).times(coefficient)
    if (atom.operator == "min") == (coefficient < 0):
        yield (left,)
        yield (right,)
    else:
        yield (left, right)


def _quotients(atom: IndexOperation, coefficient: int) -> Iterator[tuple[Linear, ...]]:
    """``(x - d + 1) / d <= x // d <= x / d``, used where the division by d cancels against the coefficient."""
    divisor = atom.right
    if isinstance(divisor, int) and divisor > 0 and coefficient % divisor == 0:
        numerator = linear(atom.left)
        rounded = numerator.plus(number(divisor - 1), -1) if coefficient > 0 else numerator
        yield (rounded.times(coefficient // divisor),)
