"""What buffers hold: a value is read only while its buffer still holds it, from level *buffered* on."""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.ir.nodes import For, If, Kernel, Operation, Statement, Value, operands, results, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.verification.violation import Violation


def check_contents(kernel: Kernel) -> None:
    """Raise Violation for a value that is read after another one was put into its buffer.

    Also for values that pass from one to the other round a loop or out of a branch but lie in different buffers: no
    statement would move them.
    """
    _Contents().body(kernel.body)


@dataclass(slots=True)
class _Contents:
    """One walk: which values each buffer holds now, and by which value the others were replaced."""

    held: dict[str, frozenset[str]] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)

    def body(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            if isinstance(statement, For):
                self.loop(statement)
            elif isinstance(statement, If):
                self.branches(statement)
            else:
                self.read(operands(statement), statement)
                for value in results(statement):
                    self.write(value, _alias(statement))

    def read(self, values: tuple[Value, ...], statement: Statement) -> None:
        for value in values:
            if value.buffer is not None and value.name not in self.held.get(value.buffer, frozenset()):
                other = self.replaced.get(value.buffer, "another value")
                raise Violation("buffer-overwritten", statement, value=value, buffer=value.buffer, other=other)

    def write(self, value: Value, alias: Value | None = None) -> None:
        """Put `value` into its buffer; what it held is lost, unless the value is a view of that."""
        if value.buffer is None:
            return
        keeps = alias is not None and alias.buffer == value.buffer
        before = self.held.get(value.buffer, frozenset()) if keeps else frozenset[str]()
        self.held[value.buffer] = before | {value.name}
        if not keeps:
            self.replaced[value.buffer] = str(value)

    def loop(self, loop: For) -> None:
        self.read(loop.initial, loop)
        _same_buffers(loop, loop.carried, loop.initial, "initial value")
        for value in _written(loop.body):
            self.lose(value)
        before = dict(self.held)
        for value in loop.carried:
            self.write(value)
        self.body(loop.body)
        self.read(loop.yielded, loop)
        _same_buffers(loop, loop.carried, loop.yielded, "yielded value")
        _same_buffers(loop, loop.carried, loop.results, "result")
        self.held = _both(before, self.held)
        for value in loop.results:
            self.write(value)

    def lose(self, value: Value) -> None:
        """Later turns of a loop find in a buffer what the body put there, not what was there before the loop."""
        if value.buffer is not None:
            self.held[value.buffer] = frozenset()
            self.replaced[value.buffer] = str(value)

    def branches(self, choice: If) -> None:
        before = dict(self.held)
        self.body(choice.then_body)
        self.read(choice.then_yielded, choice)
        then, self.held = self.held, before
        self.body(choice.else_body)
        self.read(choice.else_yielded, choice)
        self.held = _both(then, self.held)
        for role, values in (("then value", choice.then_yielded), ("else value", choice.else_yielded)):
            _same_buffers(choice, choice.results, values, role)
        for value in choice.results:
            self.write(value)


def _alias(statement: Statement) -> Value | None:
    """The operand that a view, or what a store converts, may share its memory with."""
    views = isinstance(statement, Operation) and TABLE[statement.name].category is Category.VIEW
    if isinstance(statement, Operation) and (views or statement.name == "fixpipe"):
        return statement.operands[0]
    return None


def _written(body: tuple[Statement, ...]) -> list[Value]:
    """All values that a body puts into buffers, those of loops and branches inside it included; not views in place."""
    values: list[Value] = []
    for statement in walk(body):
        alias = _alias(statement)
        values += [value for value in results(statement) if alias is None or alias.buffer != value.buffer]
        if isinstance(statement, For):
            values += statement.carried
    return values


def _both(left: dict[str, frozenset[str]], right: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    return {name: left[name] & right[name] for name in left.keys() & right.keys()}


def _same_buffers(statement: For | If, values: tuple[Value, ...], others: tuple[Value, ...], role: str) -> None:
    for value, other in zip(values, others, strict=True):
        if value.buffer != other.buffer:
            names = {"value": value, "buffer": value.buffer or "none", "other": other, "place": other.buffer or "none"}
            raise Violation("buffer-changed", statement, role=role, **names)
