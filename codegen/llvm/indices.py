"""Index registers: the value of an affine form, computed once in the outermost loop where it is known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import Affine, Derived
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.ir.index import Symbol


@dataclass(slots=True)
class Frames:
    """What the open loops have computed: one table per loop, the innermost last."""

    tables: list[dict[object, Register]] = field(default_factory=lambda: [{}])

    def get(self, key: object) -> Register | None:
        for table in reversed(self.tables):
            if key in table:
                return table[key]
        return None

    def set(self, key: object, register: Register) -> None:
        self.tables[-1][key] = register

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A loop body or branch: what it computes is not known after it."""
        self.tables.append({})
        try:
            yield
        finally:
            self.tables.pop()


@dataclass(slots=True)
class Indices:
    """Emits index arithmetic (i64). A symbol's register is set when its loop opens."""

    builder: FunctionBuilder
    frames: Frames
    ranges: affine.Ranges
    vectors: dict[Symbol, Register] = field(default_factory=dict)
    """Symbols that stand for another number in each lane: checked indices."""

    def varies(self, form: Affine, symbol: Symbol) -> bool:
        """True when `form` differs between the lanes of a vector along `symbol`."""
        found = affine.symbols(form)
        return symbol in found or (bool(self.vectors) and not self.vectors.keys().isdisjoint(found))

    def bind(self, symbol: Symbol, register: Register) -> None:
        self.frames.set(symbol, register)

    def scalar(self, form: Affine) -> Register:
        """Return the value of `form`."""
        if form.is_constant:
            return constant(form.constant, "i64")
        known = self.frames.get(form)
        if known is None:
            known = self._sum(form)
            self.frames.set(form, known)
        return known

    def _sum(self, form: Affine) -> Register:
        total: Register | None = None
        for atom, count in form.terms:
            term = self._atom(atom) if isinstance(atom, Derived) else self._symbol(atom)
            if count != 1:
                term = self.builder.binary("mul", term, constant(count, "i64"))
            total = term if total is None else self.builder.binary("add", total, term)
        assert total is not None
        if form.constant == 0:
            return total
        return self.builder.binary("add", total, constant(form.constant, "i64"))

    def _symbol(self, symbol: Symbol) -> Register:
        register = self.frames.get(symbol)
        assert register is not None, f"{symbol} has no register here"
        return register

    def _atom(self, atom: Derived) -> Register:
        known = self.frames.get(atom)
        if known is None:
            left, right = self.scalar(atom.left), self.scalar(atom.right)
            known = self.operate(atom, left, right)
            self.frames.set(atom, known)
        return known

    def vector(self, form: Affine, symbol: Symbol, position: Register, lanes: int) -> Register:
        """Return the values of `form` in the lanes, where `symbol` is `position` (already one value per lane)."""
        total = constant(form.constant, "i64", lanes)
        for atom, count in form.terms:
            term = self._lane_term(atom, symbol, position, lanes)
            if count != 1:
                term = self.builder.binary("mul", term, constant(count, "i64", lanes))
            total = self.builder.binary("add", total, term)
        return total

    def _lane_term(self, atom: affine.Atom, symbol: Symbol, position: Register, lanes: int) -> Register:
        if atom == symbol:
            return position
        if isinstance(atom, Symbol) and atom in self.vectors:
            return self.vectors[atom]
        if not self.varies(Affine(0, ((atom, 1),)), symbol):
            return self.builder.splat(self.scalar(Affine(0, ((atom, 1),))), lanes)
        assert isinstance(atom, Derived)
        left = self.vector(atom.left, symbol, position, lanes)
        right = self.vector(atom.right, symbol, position, lanes)
        return self.operate(atom, left, right)

    def operate(self, atom: Derived, left: Register, right: Register) -> Register:
        if atom.operator == "*":
            return self.builder.binary("mul", left, right)
        if atom.operator in ("min", "max"):
            predicate = "icmp slt" if atom.operator == "min" else "icmp sgt"
            return self.builder.select(self.builder.compare(predicate, left, right), left, right)
        limits = affine.bounds(atom.left, self.ranges)
        if limits is not None and limits[0] >= 0 and atom.right.is_constant and atom.right.constant > 0:
            return self.builder.binary("udiv" if atom.operator == "//" else "urem", left, right)
        return self._floor(atom.operator, left, right)

    def _floor(self, operator: str, left: Register, right: Register) -> Register:
        """Quotient toward minus infinity, or the remainder of the divisor's sign."""
        zero = constant(0, "i64", left.lanes)
        rest = self.builder.binary("srem", left, right)
        crossed = self.builder.compare("icmp slt", self.builder.binary("xor", rest, right), zero)
        inexact = self.builder.compare("icmp ne", rest, zero)
        wrong = self.builder.binary("and", crossed, inexact)
        if operator == "%":
            return self.builder.select(wrong, self.builder.binary("add", rest, right), rest)
        quotient = self.builder.binary("sdiv", left, right)
        return self.builder.binary("sub", quotient, self.builder.convert("zext", wrong, "i64"))

    def lanes_from(self, start: Register, lanes: int) -> Register:
        """Return start, start + 1, ... in the lanes."""
        if lanes == 1:
            return start
        steps = ", ".join(f"i64 {number}" for number in range(lanes))
        return self.builder.binary("add", self.builder.splat(start, lanes), Register(f"<{steps}>", "i64", lanes))
