"""Reading the text of the IR: ``parse_module(print_module(m)) == m``. Nothing in a text is ever executed.

The grammar is `ir/grammar.lark`; docs/ir.md explains it. Every mistake is a UserError with line, column and caret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.locations import Location
from pypto.ir.index import Symbol
from pypto.ir.nodes import (
    Attribute,
    Buffer,
    Condition,
    For,
    GridAxis,
    Guard,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Parameter,
    Space,
    Statement,
    Store,
    TileType,
    Value,
)
from pypto.ir.operations.table import TABLE
from pypto.ir.printer import VERSION, attribute_text
from pypto.ir.verification.attributes import check_attributes
from pypto.ir.verification.operations import check_counts, infer_types
from pypto.ir.verification.violation import Violation
from pypto.ir.verifier import verify_text

if TYPE_CHECKING:
    from lark import Token

    from pypto.ir import syntax

_HEADER = re.compile(r"(?:[ \t\f\r]*(?:#[^\n]*)?\n)*[ \t\f]*pto[ \t\f]+(\d{1,20})(?!\w)")
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"?|#[^\n]*|[\[({]|[\])}]')


def read_module(path: str | Path) -> Module:
    """Return the module in a ``.pto`` file; raises UserError for a mistake in it, OSError when it cannot be read."""
    data = Path(path).read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        raise UserError("text-encoding", Location(str(path), line), offset=fault.start) from None
    return parse_module(text, str(path))


def parse_module(text: str, file: str = "<text>", *, verified: bool = True) -> Module:
    """Return the module that `text` writes, checked by the rules of its level unless `verified` is False.

    A text without a module line is the module of its first kernel. Raises UserError for every mistake, with its place
    in `file` (a name for messages only).
    """
    source = _Source(file, text)
    source.check_header()
    source.check_depth()
    module = _Resolver(source).module(source.syntax())
    if verified:
        verify_text(module)
    return module


def parse_kernel(text: str, file: str = "<text>", *, verified: bool = True) -> Kernel:
    """Return the first kernel of `text`; raises UserError like `parse_module`, also when there is none."""
    module = parse_module(text, file, verified=verified)
    if not module.kernels:
        raise UserError("text-syntax", Location(file, 1), found="the end of the text", expected="write a kernel")
    return module.kernels[0]


class _Source:
    """A text with its name: turns tokens into locations and lark's complaints into ours."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.lines = text.split("\n")

    def location(self, line: int, column: int, end_column: int = 0) -> Location:
        shown = self.lines[min(line, len(self.lines)) - 1].rstrip("\r")
        return Location(self.file, line, column, end_column or column + 1, shown)

    def at(self, token: Token) -> Location:
        return self.location(token.line or 1, token.column or 1, token.end_column or 0)

    def statement(self, token: Token) -> Location:
        """The place of a whole statement: the line that `token` is on, without blanks at its ends."""
        line = token.line or 1
        text = self.lines[line - 1].rstrip()
        return self.location(line, len(text) - len(text.lstrip()) + 1, len(text) + 1)

    def offset(self, position: int, length: int = 1) -> Location:
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        return self.location(line, column, column + length)

    def check_header(self) -> None:
        match = _HEADER.match(self.text)
        if match is None:
            raise UserError("text-header", self.location(1, 1), supported=VERSION)
        if int(match[1]) != VERSION:
            place = self.offset(match.start(1), len(match[1]))
            raise UserError("text-version", place, version=match[1], supported=VERSION)

    def check_depth(self) -> None:
        """Refuse deep nesting before anything walks it by recursion."""
        from pypto.ir.syntax import LARGEST_DEPTH

        depth = 0
        for match in _BRACKETS.finditer(self.text):
            depth += (match[0] in "[({") - (match[0] in "])}")
            if depth > LARGEST_DEPTH:
                raise UserError("text-nesting", self.offset(match.start()), limit=LARGEST_DEPTH)

    def syntax(self) -> syntax.ModuleSyntax:
        """Return the parts of the text; raises UserError where it is not in the grammar."""
        from lark.exceptions import UnexpectedCharacters, UnexpectedToken

        from pypto.ir.syntax import Fault, ModuleSyntax, grammar

        try:
            parts = grammar().parse(self.text + "\n")
        except UnexpectedToken as fault:
            raise self._unexpected(fault.token, fault.accepts or fault.expected) from None
        except UnexpectedCharacters as fault:
            place = self.location(fault.line, fault.column)
            raise UserError(
                "text-syntax", place, found=f"character {fault.char!r}", expected=_expected(fault.allowed)
            ) from None
        except Fault as fault:
            raise UserError(fault.name, self.at(fault.token), **fault.details) from None
        assert isinstance(parts, ModuleSyntax), "the transformer makes one of every text"
        return parts

    def _unexpected(self, token: Token, accepted: set[str]) -> UserError:
        if token.type == "$END":
            last = len(self.lines)
            place = self.location(last, len(self.lines[last - 1]) + 1)
            return UserError("text-syntax", place, found="end of the text", expected=_expected(accepted))
        if token.type == "_NL":
            line = token.line or 1
            return UserError(
                "text-syntax",
                self.location(line, token.column or 1),
                found="end of the line",
                expected=_expected(accepted),
            )
        return UserError("text-syntax", self.at(token), found=str(token), expected=_expected(accepted))


_TERMINALS = {
    "$END": "the end",
    "BUFFER": "@buffer",
    "COMPARISON": "a comparison",
    "FLOAT": "a number",
    "INT": "a number",
    "NAME": "a name",
    "PLACE": "gm or scalar",
    "ROLE": "inout or out",
    "STRING": "a string",
    "VALUE": "%name",
    "_NL": "the end of the line",
}


def _expected(terminals: set[str] | None) -> str:
    """Say what may stand here, in words."""
    from pypto.ir.syntax import grammar

    patterns = {item.name: item.pattern.value for item in grammar().terminals}
    words = {_TERMINALS.get(name) or f"`{patterns.get(name, name)}`" for name in terminals or ()}
    return "here may stand: " + ", ".join(sorted(words)) if words else "remove it"


@dataclass(slots=True)
class _Resolver:
    """Gives names their meaning: parameters, values and types; one walk over the parts of a text."""

    source: _Source
    parameters: dict[str, Parameter] = field(default_factory=dict)
    kernel_name: str = ""
    values: dict[str, Value] = field(default_factory=dict)

    def module(self, parts: syntax.ModuleSyntax) -> Module:
        kernels = tuple(map(self.kernel, parts.kernels))
        if parts.name is not None:
            parameters = tuple(map(self.parameter, parts.parameters))
            return Module(parts.name.text, parameters, tuple(map(self.parameter, parts.intermediates)), kernels)
        if not kernels:
            return Module("", (), (), ())
        return Module(kernels[0].name, kernels[0].parameters, (), kernels)

    def kernel(self, parts: syntax.KernelSyntax) -> Kernel:
        parameters = tuple(map(self.parameter, parts.parameters))
        self.parameters, self.kernel_name, self.values = {item.name: item for item in parameters}, parts.name.text, {}
        body, _ = self.body(parts.body, None)
        return Kernel(
            name=parts.name.text,
            parameters=parameters,
            grid=tuple(GridAxis(_symbol(item.symbol), item.extent, self.place(item.symbol)) for item in parts.grid),
            body=body,
            level=self.level(parts.level),
            buffers=tuple(map(self.buffer, parts.buffers)),
            guards=tuple(Guard(_symbol(item.symbol), item.value, self.place(item.symbol)) for item in parts.guards),
            attributes=_attributes(parts.attributes),
            location=self.source.statement(parts.name.token),
        )

    def place(self, word: syntax.Word) -> Location:
        return self.source.at(word.token)

    def level(self, token: Token) -> Level:
        try:
            return Level(str(token))
        except ValueError:
            raise UserError("unknown-level", self.source.at(token), level=token) from None

    def parameter(self, parts: syntax.ParameterSyntax) -> Parameter:
        return Parameter(parts.name.text, parts.type, parts.role, parts.scalar, self.place(parts.name))

    def buffer(self, parts: syntax.BufferSyntax) -> Buffer:
        names = [space.value for space in Space]
        if parts.space not in names:
            hint = nearest(parts.space, names)
            raise UserError("unknown-space", self.source.at(parts.space), space=parts.space, hint=hint)
        shape: list[int] = []
        for extent in parts.type.shape:
            if not isinstance(extent, int):
                raise UserError("buffer-extent", self.place(parts.name), buffer=parts.name.text, extent=extent)
            shape.append(extent)
        space, dtype, place = Space(str(parts.space)), parts.type.dtype, self.place(parts.name)
        return Buffer(parts.name.text, space, dtype, tuple(shape), parts.depth, parts.address, place)

    @contextmanager
    def scope(self) -> Iterator[None]:
        outer = dict(self.values)
        yield
        self.values = outer

    def body(
        self, parts: tuple[syntax.StatementSyntax, ...], owner: Token | None
    ) -> tuple[tuple[Statement, ...], tuple[Value, ...]]:
        """Return the statements and what the closing yield gives; `owner` is None for the body of a kernel."""
        from pypto.ir.syntax import YieldSyntax

        statements: list[Statement] = []
        yielded: tuple[Value, ...] = ()
        for number, item in enumerate(parts):
            if isinstance(item, YieldSyntax):
                self.check_yield(item, owner, last=number == len(parts) - 1)
                yielded = self.uses(item.values)
            else:
                statements.append(self.statement(item))
        return tuple(statements), yielded

    def check_yield(self, item: syntax.YieldSyntax, owner: Token | None, last: bool) -> None:
        if owner is None:
            raise UserError("yield-outside", self.source.statement(item.token))
        if not last:
            raise UserError("yield-position", self.source.statement(item.token))

    def statement(self, item: syntax.StatementSyntax) -> Statement:
        from pypto.ir.syntax import LoadSyntax, LoopSyntax, OperationSyntax, StoreSyntax

        if isinstance(item, OperationSyntax):
            return self.operation(item)
        if isinstance(item, LoadSyntax):
            return self.load(item)
        if isinstance(item, StoreSyntax):
            return self.store(item)
        if isinstance(item, LoopSyntax):
            return self.loop(item)
        return self.branches(item)  # type: ignore[arg-type]  # yields are taken out before

    def use(self, word: syntax.Word) -> Value:
        value = self.values.get(word.text)
        if value is None:
            names = [f"%{name}" for name in self.values]
            hint = nearest(f"%{word.text}", names) if names else "no value is defined before it"
            raise UserError("undefined-value", self.place(word), value=f"%{word.text}", hint=hint)
        return value

    def uses(self, words: tuple[syntax.Word, ...]) -> tuple[Value, ...]:
        return tuple(map(self.use, words))

    def define(self, targets: tuple[syntax.Target, ...], types: tuple[TileType, ...]) -> tuple[Value, ...]:
        results = tuple(_value(target, type_) for target, type_ in zip(targets, types, strict=True))
        self.values.update((value.name, value) for value in results)
        return results

    def counted(
        self, targets: tuple[syntax.Target, ...], types: tuple[TileType, ...], name: str, place: Location
    ) -> None:
        if len(targets) != len(types):
            raise UserError("result-count", place, operation=name, expected=len(types), count=len(targets))

    def operation(self, item: syntax.OperationSyntax) -> Operation:
        place = self.source.statement(item.targets[0].value.token if item.targets else item.name.token)
        if item.name.text not in TABLE:
            hint = nearest(item.name.text, TABLE)
            raise UserError("unknown-operation", self.place(item.name), operation=item.name.text, hint=hint)
        self.check_attribute_names(item)
        bare = Operation(item.name.text, self.uses(item.operands), (), _attributes(item.attributes), place)
        types = self.inferred(bare) if item.types is None else item.types
        self.counted(item.targets, types, item.name.text, place)
        return Operation(bare.name, bare.operands, self.define(item.targets, types), bare.attributes, place)

    def check_attribute_names(self, item: syntax.OperationSyntax) -> None:
        """The verifier checks them too, but a reader wants the caret at the attribute."""
        record = TABLE[item.name.text]
        for attribute in item.attributes:
            if attribute.name.text not in record.attributes:
                known = f"its attributes are: {', '.join(record.attributes)}" if record.attributes else "it has none"
                details = {"operation": record.name, "attribute": attribute.name.text, "hint": known}
                raise UserError("unknown-attribute", self.place(attribute.name), **details)

    def inferred(self, operation: Operation) -> tuple[TileType, ...]:
        record = TABLE[operation.name]
        try:
            check_counts(operation, record)
            check_attributes(operation, record)
            return infer_types(operation, record)
        except Violation as fault:
            raise UserError(fault.name, fault.location, **fault.details) from None

    def load(self, item: syntax.LoadSyntax) -> Load:
        place = self.source.statement(item.targets[0].value.token)
        source = self.find_parameter(item.source)
        types = item.types or (TileType(source.type.dtype, tuple(one.extent for one in item.region)),)
        if len(types) != 1 or len(item.targets) != 1:
            raise UserError("result-count", place, operation="load", expected=1, count=len(item.targets))
        (result,) = self.define(item.targets, types)
        return Load(result, item.source.text, item.region, self.fill(item, source.type), place)

    def fill(self, item: syntax.LoadSyntax, type_: TileType) -> float | int | bool | None:
        if item.fill is None:
            return None
        token, value = item.fill
        fits = type_.dtype.is_float if isinstance(value, float) else isinstance(value, int)
        if not fits or not isinstance(value, int | float):
            raise UserError("fill-value", self.source.at(token), value=attribute_text(value))
        return value

    def store(self, item: syntax.StoreSyntax) -> Store:
        target = self.find_parameter(item.target)
        place = self.source.statement(item.target.token)
        return Store(target.name, item.region, self.use(item.value), item.clip, place)

    def find_parameter(self, word: syntax.Word) -> Parameter:
        if word.text not in self.parameters:
            hint = nearest(word.text, self.parameters) if self.parameters else "it has none"
            details = {"kernel": self.kernel_name, "parameter": word.text, "hint": hint}
            raise UserError("unknown-parameter", self.place(word), **details)
        return self.parameters[word.text]

    def loop(self, item: syntax.LoopSyntax) -> For:
        place = self.source.statement(item.targets[0].value.token if item.targets else item.index.token)
        initial = self.uses(tuple(word for _, word in item.carried))
        types = tuple(value.type for value in initial)
        with self.scope():
            carried = self.define(tuple(target for target, _ in item.carried), types)
            body, yielded = self.body(item.body, item.index.token)
        types = types if item.types is None else item.types
        self.counted(item.targets, types, "this loop", place)
        results = self.define(item.targets, types)
        index = _symbol(item.index)
        return For(index, item.start, item.stop, item.step, carried, initial, body, yielded, results, place)

    def branches(self, item: syntax.BranchesSyntax) -> If:
        place = self.source.statement(item.targets[0].value.token if item.targets else item.token)
        with self.scope():
            then_body, then_yielded = self.body(item.then_body, item.token)
        with self.scope():
            else_body, else_yielded = self.body(item.else_body, item.token)
        types = tuple(value.type for value in then_yielded) if item.types is None else item.types
        self.counted(item.targets, types, "this branch", place)
        results = self.define(item.targets, types)
        condition = Condition(item.left, item.comparison, item.right)
        return If(condition, then_body, then_yielded, else_body, else_yielded, results, place)


def _symbol(word: syntax.Word) -> Symbol:
    return Symbol(word.text)


def _value(target: syntax.Target, type_: TileType) -> Value:
    return Value(target.value.text, type_, None if target.buffer is None else target.buffer.text)


def _attributes(parts: tuple[syntax.AttributeSyntax, ...]) -> tuple[tuple[str, Attribute], ...]:
    return tuple((item.name.text, item.value) for item in parts)
