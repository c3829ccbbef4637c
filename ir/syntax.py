"""From the text of the IR to its parts: what `grammar.lark` produces, before any name is looked up.

Imports lark, so `pypto.ir.parser` imports this module only when a text is read.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, v_args

from pypto.ir import dtypes
from pypto.ir.base.errors import nearest
from pypto.ir.dtypes import DType
from pypto.ir.index import Index, IndexOperation, Symbol, make
from pypto.ir.nodes import Attribute, Range, Region, Role, TileType

LARGEST_DEPTH = 64
"""Deepest nesting of brackets, braces and index expressions: what follows walks them by recursion."""

LARGEST_DIGITS = 20
"""Most digits of a whole number: those of 2**64 - 1."""

_ESCAPE = re.compile(r"\\(u\{([0-9a-fA-F]{1,6})\}|.)")
_ESCAPES = {"\\": "\\", '"': '"', "n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Attribute] = {"none": None, "true": True, "false": False}


class Fault(Exception):
    """A mistake at a token: a catalogue entry's name and details; the parser knows the file."""

    def __init__(self, name: str, token: Token, /, **details: object) -> None:
        super().__init__(name, details)
        self.name, self.token, self.details = name, token, details


@dataclass(frozen=True, slots=True)
class Word:
    """A name and where it stands."""

    text: str
    token: Token


@dataclass(frozen=True, slots=True)
class Target:
    """The left of an assignment: a value's name and its buffer's."""

    value: Word
    buffer: Word | None


@dataclass(frozen=True, slots=True)
class AttributeSyntax:
    name: Word
    value: Attribute


@dataclass(frozen=True, slots=True)
class OperationSyntax:
    targets: tuple[Target, ...]
    name: Word
    operands: tuple[Word, ...]
    attributes: tuple[AttributeSyntax, ...]
    types: tuple[TileType, ...] | None


@dataclass(frozen=True, slots=True)
class LoadSyntax:
    targets: tuple[Target, ...]
    source: Word
    region: Region
    fill: tuple[Token, Attribute] | None
    types: tuple[TileType, ...] | None


@dataclass(frozen=True, slots=True)
class StoreSyntax:
    target: Word
    region: Region
    value: Word
    clip: bool


@dataclass(frozen=True, slots=True)
class LoopSyntax:
    targets: tuple[Target, ...]
    index: Word
    start: Index
    stop: Index
    step: int
    carried: tuple[tuple[Target, Word], ...]
    body: tuple[StatementSyntax, ...]
    types: tuple[TileType, ...] | None


@dataclass(frozen=True, slots=True)
class BranchesSyntax:
    targets: tuple[Target, ...]
    left: Index
    comparison: str
    right: Index
    token: Token
    then_body: tuple[StatementSyntax, ...]
    else_body: tuple[StatementSyntax, ...]
    types: tuple[TileType, ...] | None


@dataclass(frozen=True, slots=True)
class YieldSyntax:
    token: Token
    values: tuple[Word, ...]


StatementSyntax = OperationSyntax | LoadSyntax | StoreSyntax | LoopSyntax | BranchesSyntax | YieldSyntax


@dataclass(frozen=True, slots=True)
class ParameterSyntax:
    name: Word
    role: Role
    scalar: bool
    type: TileType


@dataclass(frozen=True, slots=True)
class AxisSyntax:
    symbol: Word
    extent: Index


@dataclass(frozen=True, slots=True)
class GuardSyntax:
    symbol: Word
    value: Index


@dataclass(frozen=True, slots=True)
class BufferSyntax:
    name: Word
    space: Token
    type: TileType
    depth: int
    address: int | None


@dataclass(frozen=True, slots=True)
class KernelSyntax:
    attributes: tuple[AttributeSyntax, ...]
    name: Word
    parameters: tuple[ParameterSyntax, ...]
    level: Token
    grid: tuple[AxisSyntax, ...]
    guards: tuple[GuardSyntax, ...]
    buffers: tuple[BufferSyntax, ...]
    body: tuple[StatementSyntax, ...]


@dataclass(frozen=True, slots=True)
class ModuleSyntax:
    """A whole text. `name` is None when it has no module line."""

    name: Word | None
    parameters: tuple[ParameterSyntax, ...]
    intermediates: tuple[ParameterSyntax, ...]
    kernels: tuple[KernelSyntax, ...]


def integer(token: Token) -> int:
    digits = len(token.lstrip("-"))
    if digits > LARGEST_DIGITS:
        raise Fault("text-number", token, digits=digits, limit=LARGEST_DIGITS)
    return int(token)


def unquote(text: str, token: Token) -> str:
    """Return what a string in quotes stands for; the inverse of `printer.quote`."""

    def replacement(match: re.Match[str]) -> str:
        if match[2] and int(match[2], 16) <= 0x10FFFF:
            return chr(int(match[2], 16))
        if match[1] not in _ESCAPES:
            raise Fault("text-escape", token, escape=match[0])
        return _ESCAPES[match[1]]

    return _ESCAPE.sub(replacement, text[1:-1])


def word(token: Token, sigil: int = 0) -> Word:
    """Return the name that a token writes, without its `sigil` characters and quotes."""
    text = token[sigil:]
    return Word(unquote(text, token) if text.startswith('"') else str(text), token)


def dtype(token: Token) -> DType:
    found = dtypes.BY_NAME.get(token)
    if found is None or found.name != token:
        raise Fault("unknown-dtype", token, dtype=token, hint=nearest(token, (item.name for item in dtypes.ALL)))
    return found


def depth(index: Index) -> int:
    return 1 + max(depth(index.left), depth(index.right)) if isinstance(index, IndexOperation) else 0


def operate(operator: Token, left: Index, right: Index) -> Index:
    """Return ``left operator right``; raises Fault for a divisor below 1, deep nesting or too large a number."""
    if operator in ("//", "%") and isinstance(right, int) and right < 1:
        raise Fault("index-divisor", operator, divisor=right)
    result = make(str(operator), left, right)
    if depth(result) > LARGEST_DEPTH:
        raise Fault("text-nesting", operator, limit=LARGEST_DEPTH)
    if isinstance(result, int) and abs(result) >= 10**LARGEST_DIGITS:
        raise Fault("text-number", operator, digits=len(str(abs(result))), limit=LARGEST_DIGITS)
    return result


@v_args(inline=True)
class Syntax(Transformer[Token, ModuleSyntax]):
    """Builds the records, bottom up, while the text is parsed; one method for each rule of the grammar."""

    def start(self, version: Token, module: Any, *kernels: KernelSyntax) -> ModuleSyntax:
        name, parameters, intermediates = module or (None, (), ())
        return ModuleSyntax(name, parameters, intermediates, kernels)

    def module(self, name: Word, parameters: tuple[ParameterSyntax, ...], *intermediates: ParameterSyntax) -> Any:
        return name, parameters, intermediates

    def intermediate(self, parameter: ParameterSyntax) -> ParameterSyntax:
        return parameter

    def kernel(self, fusion: Any, name: Word, parameters: Any, level: Token, *lines: Any) -> KernelSyntax:
        grid = tuple(axis for line in lines if isinstance(line, list) for axis in line)
        guards = tuple(line for line in lines if isinstance(line, GuardSyntax))
        buffers = tuple(line for line in lines if isinstance(line, BufferSyntax))
        body = tuple(line for line in lines if not isinstance(line, list | GuardSyntax | BufferSyntax))
        return KernelSyntax(fusion or (), name, parameters, level, grid, guards, buffers, body)

    def fusion(self, attributes: tuple[AttributeSyntax, ...]) -> tuple[AttributeSyntax, ...]:
        return attributes

    def signature(self, *parts: Any) -> tuple[ParameterSyntax, ...]:
        *inputs, outputs = parts
        return (*inputs, *(outputs or ()))

    def outputs(self, *parameters: ParameterSyntax) -> tuple[ParameterSyntax, ...]:
        for item in parameters:
            if item.role is not Role.IN:
                raise Fault("output-role", item.name.token, parameter=item.name.text, role=item.role.value)
        return tuple(ParameterSyntax(item.name, Role.OUT, item.scalar, item.type) for item in parameters)

    def parameter(self, name: Word, role: Token | None, place: Token, type_: TileType) -> ParameterSyntax:
        return ParameterSyntax(name, Role(str(role)) if role else Role.IN, place == "scalar", type_)

    def type(self, name: Token, shape: tuple[Index, ...] | None) -> TileType:
        return TileType(dtype(name), shape or ())

    def shape(self, *extents: Index) -> tuple[Index, ...]:
        return extents

    def grid(self, *axes: AxisSyntax) -> list[AxisSyntax]:
        return list(axes)

    def axis(self, symbol: Token, extent: Index) -> AxisSyntax:
        return AxisSyntax(word(symbol, 1), extent)

    def guard(self, symbol: Token, value: Index) -> GuardSyntax:
        return GuardSyntax(word(symbol, 1), value)

    def buffer(self, name: Token, space: Token, type_: TileType, slots: Token, address: Token | None) -> BufferSyntax:
        place = None if address is None else integer(address)
        return BufferSyntax(word(name, 1), space, type_, integer(slots), place)

    def operation(self, targets: Any, name: Word, operands: Any, attributes: Any, types: Any) -> OperationSyntax:
        return OperationSyntax(targets or (), name, operands, attributes or (), types)

    def load(self, targets: Any, source: Word, region: Region, fill: Any, types: Any) -> LoadSyntax:
        return LoadSyntax(targets, source, region, fill, types)

    def store(self, target: Word, region: Region, value: Token, clip: Token | None) -> StoreSyntax:
        return StoreSyntax(target, region, word(value, 1), clip is not None)

    def loop(
        self,
        targets: Any,
        index: Token,
        start: Index,
        stop: Index,
        step: Token | None,
        carried: Any,
        body: Any,
        types: Any,
    ) -> LoopSyntax:
        size = 1 if step is None else integer(step)
        return LoopSyntax(targets or (), word(index, 1), start, stop, size, carried or (), body, types)

    def branches(
        self, targets: Any, left: Index, comparison: Token, right: Index, then: Any, other: Any, types: Any
    ) -> BranchesSyntax:
        return BranchesSyntax(targets or (), left, str(comparison), right, comparison, then, other or (), types)

    def yielding(self, token: Token, values: tuple[Word, ...]) -> YieldSyntax:
        return YieldSyntax(token, values)

    def targets(self, *targets: Target) -> tuple[Target, ...]:
        return targets

    def target(self, value: Token, buffer: Token | None) -> Target:
        return Target(word(value, 1), None if buffer is None else word(buffer, 1))

    def values(self, *values: Token) -> tuple[Word, ...]:
        return tuple(word(item, 1) for item in values)

    def types(self, *types: TileType) -> tuple[TileType, ...]:
        return types

    def carry(self, *carried: tuple[Target, Word]) -> tuple[tuple[Target, Word], ...]:
        return carried

    def carried(self, target: Target, start: Token) -> tuple[Target, Word]:
        return target, word(start, 1)

    def block(self, *statements: StatementSyntax) -> tuple[StatementSyntax, ...]:
        return statements

    def region(self, *ranges: Range) -> Region:
        return ranges

    def range(self, offset: Index, extent: Index, step: Token | None) -> Range:
        return Range(offset, extent, 1 if step is None else integer(step))

    def fill(self, token: Token) -> tuple[Token, Attribute]:
        if token.type == "INT":
            return token, integer(token)
        return token, self.float_value(token) if token.type == "FLOAT" else self.word_value(token)

    def attribute_block(self, attributes: tuple[AttributeSyntax, ...]) -> tuple[AttributeSyntax, ...]:
        return attributes

    def attributes(self, *attributes: AttributeSyntax) -> tuple[AttributeSyntax, ...]:
        return attributes

    def attribute(self, name: Word, value: Attribute) -> AttributeSyntax:
        return AttributeSyntax(name, value)

    def float_value(self, token: Token) -> float:
        """NaN is always the one object `math.nan`, so that tuples that hold it compare equal."""
        return math.nan if token.endswith("nan") else float(token)

    def string_value(self, token: Token) -> str:
        return unquote(token, token)

    def word_value(self, token: Token) -> Attribute:
        if token in _WORDS:
            return _WORDS[token]
        found = dtypes.BY_NAME.get(token)
        if found is None or found.name != token:
            names = [item.name for item in dtypes.ALL]
            raise Fault("unknown-word", token, word=token, hint=nearest(token, [*names, *_WORDS, "inf", "nan"]))
        return found

    def list_value(self, *items: Attribute) -> tuple[Attribute, ...]:
        return items

    def arithmetic(self, left: Index, operator: Token, right: Index) -> Index:
        return operate(operator, left, right)

    def function(self, name: Token, left: Index, right: Index) -> Index:
        return operate(name, left, right)

    def number(self, token: Token) -> int:
        return integer(token)

    def symbol(self, token: Token) -> Symbol:
        return Symbol(word(token, 1).text)

    def name(self, token: Token) -> Word:
        return word(token)

    def name_of_operation(self, token: Token) -> Word:
        return word(token)


@lru_cache(maxsize=1)
def grammar() -> Lark:
    """Return the parser of the text; made once, it holds no state of a text."""
    text = files("pypto.ir").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", transformer=Syntax(), maybe_placeholders=True)
