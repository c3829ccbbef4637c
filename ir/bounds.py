"""Proof that a module stays inside its arrays, for every block and every turn of every loop.

Text from a file is proven before anything native runs, since native code does not check. What tracing makes is right by
construction and needs no proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pypto.ir.affine import Facts, Linear, linear, number
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.index import Extent, Index, IndexOperation, Symbol, add, bounds, multiply, product, subtract, symbols
from pypto.ir.nodes import (
    Attribute,
    Condition,
    For,
    If,
    Kernel,
    Load,
    Module,
    Operation,
    Range,
    Region,
    Statement,
    Store,
    Value,
    results,
)
from pypto.ir.printer import index_text
from pypto.ir.verification.violation import Subject, Violation
from pypto.ir.verifier import extent_symbols

LARGEST_INDEX = 2**62


def check_bounds(module: Module, file: str = "<text>") -> None:
    """Raise UserError, with the arithmetic, for a region of `module` that is not proven to stay inside its array.

    `module` keeps the verifier's rules. `file` names the place of statements that have none. Symbolic extents are only
    known to be 0 or more; a region that is right for some of their values only is an error.
    """
    try:
        for kernel in module.kernels:
            _Check(kernel, _kernel_facts(module, kernel)).run()
    except Violation as fault:
        place = fault.location if fault.location.line else Location(file, 0)
        raise UserError(fault.name, place, **fault.details) from None


def _kernel_facts(module: Module, kernel: Kernel) -> Facts:
    facts = Facts()
    known = extent_symbols((*module.parameters, *module.intermediates, *kernel.parameters))
    for symbol in sorted(known, key=lambda item: item.name):
        values = [guard.value for guard in kernel.guards if guard.symbol == symbol and isinstance(guard.value, int)]
        facts.introduce(symbol, (0, *values), values)
    for axis in kernel.grid:
        facts.introduce(axis.symbol, (0,), (subtract(axis.extent, 1),))
    return facts


@dataclass(slots=True)
class _Check:
    """One body with what is known inside it."""

    kernel: Kernel
    facts: Facts

    def run(self) -> None:
        for axis in self.kernel.grid:
            self.index(axis.extent, axis)
        for item in self.kernel.parameters:
            for extent in item.type.shape:
                self.index(extent, item)
        self.body(self.kernel.body)

    def body(self, body: tuple[Statement, ...]) -> None:
        if self.facts.impossible():
            return
        for statement in body:
            self.statement(statement)
            for value in results(statement):
                self.slot(value, statement)

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Load):
            self.region(statement.region, statement.source, statement, free=statement.fill is not None)
        elif isinstance(statement, Store):
            self.region(statement.region, statement.target, statement, free=statement.clip)
        elif isinstance(statement, For):
            self.loop(statement)
        elif isinstance(statement, If):
            self.branches(statement)
        else:
            self.operation(statement)

    def region(self, region: Region, name: str, subject: Subject, free: bool) -> None:
        self.ranges(region, self.kernel.parameter(name).type.shape, name, subject, free)

    def ranges(self, region: Region, shape: tuple[Extent, ...], name: str, subject: Subject, free: bool) -> None:
        for axis, (item, size) in enumerate(zip(region, shape, strict=True)):
            self.index(item.offset, subject)
            self.index(item.extent, subject)
            if not self.positive(item.extent):
                raise Violation("extent-unproven", subject, number=axis, extent=index_text(item.extent))
            if not free and item.extent != 0 and not self.inside(item, size):
                raise Violation("region-unproven", subject, number=axis, name=name, **self.arithmetic(item, size))

    def inside(self, item: Range, size: Extent) -> bool:
        first, last = (item.offset, _last(item)) if item.step > 0 else (_last(item), item.offset)
        room = linear(size).plus(number(1), -1).plus(linear(last), -1)
        return self.facts.never_negative(linear(first)) and self.facts.never_negative(room)

    def arithmetic(self, item: Range, size: Extent) -> dict[str, object]:
        """The numbers of a region that is not proven: its ends, and what they come to."""
        last = _last(item)
        details: dict[str, object] = {
            "first": index_text(item.offset),
            "last": index_text(last),
            "extent": index_text(size),
        }
        found = symbols(item.offset) | symbols(last) | symbols(size)
        known = [f"{symbol} is {self.show(symbol)}" for symbol in sorted(found, key=lambda one: one.name)]
        ends = bounds(item.offset, self.facts.ranges), bounds(last, self.facts.ranges)
        if ends[0] and ends[1]:
            known.append(f"so it covers {min(ends[0][0], ends[1][0])} to {max(ends[0][1], ends[1][1])}")
        return {**details, "why": ", ".join(known)}

    def show(self, symbol: Symbol) -> str:
        interval = self.facts.ranges.get(symbol)
        return f"{interval[0]} to {interval[1]}" if interval else "not known"

    def positive(self, index: Index, least: int = 0) -> bool:
        return self.facts.never_negative(linear(index).plus(number(least), -1))

    def index(self, index: Index, subject: Subject) -> None:
        """Divisors are at least 1 and no part of the expression leaves 64 bits."""
        if not isinstance(index, IndexOperation):
            return
        self.index(index.left, subject)
        self.index(index.right, subject)
        if index.operator in ("//", "%") and not self.positive(index.right, 1):
            raise Violation("index-divisor", subject, divisor=index_text(index.right))
        interval = bounds(index, self.facts.ranges)
        if interval is not None and max(map(abs, interval)) > LARGEST_INDEX:
            raise Violation("index-size", subject, index=index_text(index), first=interval[0], last=interval[1])

    def attribute(self, value: Attribute, subject: Subject) -> None:
        if isinstance(value, tuple):
            for item in value:
                self.attribute(item, subject)
        elif isinstance(value, IndexOperation):
            self.index(value, subject)

    def operation(self, operation: Operation) -> None:
        for name, value in operation.attributes:
            self.attribute(value, operation)
            if name == "ranges" and isinstance(value, tuple):
                base = operation.operands[0]
                region = tuple(Range(*item) for item in value if isinstance(item, tuple))  # type: ignore[arg-type]  # verified
                self.ranges(region, base.shape, str(base), operation, free=False)
            if name == "shape" and isinstance(value, tuple):
                self.shape(value, operation)

    def shape(self, shape: tuple[Attribute, ...], operation: Operation) -> None:
        for extent in shape:
            if isinstance(extent, Symbol | IndexOperation) and not self.positive(extent):
                raise Violation("extent-unproven", operation, number=shape.index(extent), extent=index_text(extent))
        if operation.name == "reshape" and _factors(operation.operands[0].shape) != _factors(
            operation.results[0].shape
        ):
            before, after = (
                ", ".join(map(index_text, value.shape)) for value in (operation.operands[0], operation.results[0])
            )
            raise Violation("reshape-size", operation, before=f"({before})", after=f"({after})")

    def slot(self, value: Value, subject: Subject) -> None:
        """A value of symbolic extents fits its buffer for all their values; the verifier has checked the others."""
        if value.buffer is None or all(isinstance(extent, int) for extent in value.shape):
            return
        buffer = next(item for item in self.kernel.buffers if item.name == value.buffer)
        needed = multiply(product(value.shape), value.dtype.bytes)
        if not self.facts.never_negative(number(buffer.slot_bytes).plus(linear(needed), -1)):
            details = {"value": value, "buffer": buffer.name, "available": buffer.slot_bytes}
            raise Violation("buffer-size", subject, needed=index_text(needed), **details)

    def loop(self, loop: For) -> None:
        self.index(loop.start, loop)
        self.index(loop.stop, loop)
        inner = replace(self, facts=self.facts.copy())
        last: list[Index] = [subtract(loop.stop, 1)]
        if isinstance(loop.start, int) and isinstance(loop.stop, int):
            last.append(loop.start + max(-1, (loop.stop - 1 - loop.start) // loop.step) * loop.step)
        inner.facts.introduce(loop.index, (loop.start,), last)
        inner.body(loop.body)

    def branches(self, choice: If) -> None:
        self.index(choice.condition.left, choice)
        self.index(choice.condition.right, choice)
        for body, truth in ((choice.then_body, True), (choice.else_body, False)):
            inner = replace(self, facts=self.facts.copy())
            for fact in _facts(choice.condition, truth):
                inner.facts.assume(fact)
            inner.body(body)


def _last(item: Range) -> Index:
    return add(item.offset, multiply(subtract(item.extent, 1), item.step))


def _facts(condition: Condition, truth: bool) -> Iterator[Linear]:
    """Yield forms that are not negative where the condition has this truth value."""
    difference = linear(condition.right).plus(linear(condition.left), -1)
    comparison = condition.comparison
    if comparison == ("==" if truth else "!="):
        yield difference
        yield difference.times(-1)
    elif comparison in ("<", "<="):
        strict = number(1 if comparison == "<" else 0)
        yield difference.plus(strict, -1) if truth else difference.times(-1).plus(number(1 - strict.constant), -1)


def _factors(shape: tuple[Extent, ...]) -> tuple[int, Counter[Index]]:
    """The number of elements as a product: its numeric part and the other factors."""
    numeric, others = 1, Counter[Index]()
    for extent in shape:
        if isinstance(extent, int):
            numeric *= extent
        else:
            others[extent] += 1
    return numeric, others
