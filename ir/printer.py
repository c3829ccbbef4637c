"""The text of the IR (``.pto``): what `pypto.ir.parser` reads back to an equal module.

The grammar is `ir/grammar.lark`; docs/ir.md explains it with examples. The text holds everything but source locations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from pypto.ir.dtypes import DType
from pypto.ir.index import Index, IndexOperation, Symbol
from pypto.ir.nodes import (
    Attribute,
    Buffer,
    For,
    If,
    Kernel,
    Load,
    Module,
    Operation,
    Parameter,
    Range,
    Region,
    Role,
    Statement,
    Store,
    TileType,
    Value,
)

VERSION = 1
"""Version of the text format, the number after ``pto`` in the first line."""

STATEMENT_WORDS = frozenset(("buffer", "for", "grid", "guard", "if", "load", "store", "yield"))
"""Words that begin a statement; an operation called like one is written in quotes. Other names are never confused."""

INDENT = "  "
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_SIGIL_NAME = re.compile(r"\w[\w.]*")
_SHORT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def print_module(module: Module) -> str:
    """Return the text of `module`, version header first.

    A module that is one kernel and nothing else is written as that kernel alone.
    """
    if len(module.kernels) == 1 and module == _around(module.kernels[0]):
        return print_kernel(module.kernels[0])
    lines = [f"pto {VERSION}", "", f"module {_name(module.name)}{_signature(module.parameters)}"]
    lines += [f"intermediate {_parameter(item)}" for item in module.intermediates]
    for kernel in module.kernels:
        lines += ["", *_kernel_lines(kernel)]
    return "\n".join(lines) + "\n"


def print_kernel(kernel: Kernel) -> str:
    """Return the text of one kernel, version header first."""
    return "\n".join([f"pto {VERSION}", "", *_kernel_lines(kernel)]) + "\n"


def print_statement(statement: Statement, indent: str = "") -> str:
    """Return the text of one statement, that of its regions included."""
    return "\n".join(indent + line for line in _statement_lines(statement))


def same(left: Module | Kernel, right: Module | Kernel) -> bool:
    """Return whether two modules or kernels are the same in every bit: here NaN is NaN and 0.0 is not -0.0."""
    return _text(left) == _text(right)


def _text(node: Module | Kernel) -> str:
    return print_module(node) if isinstance(node, Module) else print_kernel(node)


def _around(kernel: Kernel) -> Module:
    return Module(kernel.name, kernel.parameters, (), (kernel,))


def _kernel_lines(kernel: Kernel) -> list[str]:
    lines = [f"@fusion({_attribute_list(kernel.attributes)})"] if kernel.attributes else []
    head = f"kernel {_name(kernel.name)}{_signature(kernel.parameters)} level {kernel.level.value} {{"
    lines.append(head)
    if kernel.grid:
        axes = ", ".join(f"{index_text(axis.symbol)} : {index_text(axis.extent)}" for axis in kernel.grid)
        lines.append(f"{INDENT}grid {axes}")
    lines += [f"{INDENT}guard {index_text(item.symbol)} == {index_text(item.value)}" for item in kernel.guards]
    lines += [INDENT + _buffer(item) for item in kernel.buffers]
    lines += _indented(kernel.body)
    lines.append("}")
    return lines


def _signature(parameters: tuple[Parameter, ...]) -> str:
    """The trailing outputs go behind the arrow; an output before another parameter keeps its place and says ``out``."""
    first_output = len(parameters)
    while first_output and parameters[first_output - 1].role is Role.OUT:
        first_output -= 1
    inputs = ", ".join(map(_parameter, parameters[:first_output]))
    outputs = ", ".join(_parameter(item, written=True) for item in parameters[first_output:])
    return f"({inputs}) -> ({outputs})" if outputs else f"({inputs})"


def _parameter(parameter: Parameter, written: bool = False) -> str:
    role = "" if parameter.role is Role.IN or written else f"{parameter.role.value} "
    if parameter.scalar:
        return f"{_name(parameter.name)}: {role}scalar {type_text(parameter.type)}"
    return f"{_name(parameter.name)}: {role}gm {type_text(parameter.type)}"


def _buffer(buffer: Buffer) -> str:
    shape = ", ".join(map(str, buffer.shape))
    text = f"buffer {_sigil('@', buffer.name)} : {buffer.space.value} {buffer.dtype}[{shape}] depth {buffer.depth}"
    return text if buffer.address is None else f"{text} address {buffer.address}"


def _indented(body: Iterable[Statement]) -> list[str]:
    return [INDENT + line for statement in body for line in _statement_lines(statement)]


def _statement_lines(statement: Statement) -> list[str]:
    """The lines of a statement; recursion follows the nesting of loops and branches only, not the length of a body."""
    if isinstance(statement, Operation):
        return [_operation(statement)]
    if isinstance(statement, Load):
        return [_load(statement)]
    if isinstance(statement, Store):
        clip = " clip" if statement.clip else ""
        return [f"store {_name(statement.target)}{_region(statement.region)}, {statement_value(statement.value)}{clip}"]
    return _for_lines(statement) if isinstance(statement, For) else _if_lines(statement)


def _operation(operation: Operation) -> str:
    name = quote(operation.name) if operation.name in STATEMENT_WORDS else _name(operation.name)
    text = _results(operation.results) + name
    if operation.operands:
        text += " " + _values(operation.operands)
    if operation.attributes:
        text += f" {{{_attribute_list(operation.attributes)}}}"
    return text + _types(operation.results)


def _load(load: Load) -> str:
    fill = "" if load.fill is None else f" fill {attribute_text(load.fill)}"
    source = _name(load.source) + _region(load.region)
    return f"{_results((load.result,))}load {source}{fill}{_types((load.result,))}"


def _for_lines(loop: For) -> list[str]:
    step = "" if loop.step == 1 else f" step {loop.step}"
    carried = ", ".join(
        f"{_definition(value)} = {statement_value(start)}"
        for value, start in zip(loop.carried, loop.initial, strict=True)
    )
    carry = f" carry ({carried})" if carried else ""
    bounds = f"{index_text(loop.index)} = {index_text(loop.start)} to {index_text(loop.stop)}"
    head = f"{_results(loop.results)}for {bounds}{step}{carry} {{"
    return [head, *_region_lines(loop.body, loop.yielded), "}" + _types(loop.results)]


def _if_lines(choice: If) -> list[str]:
    condition = choice.condition
    test = f"{index_text(condition.left)} {condition.comparison} {index_text(condition.right)}"
    lines = [f"{_results(choice.results)}if {test} {{", *_region_lines(choice.then_body, choice.then_yielded)]
    if choice.else_body or choice.else_yielded:
        lines += ["} else {", *_region_lines(choice.else_body, choice.else_yielded)]
    return [*lines, "}" + _types(choice.results)]


def _region_lines(body: tuple[Statement, ...], yielded: tuple[Value, ...]) -> list[str]:
    lines = _indented(body)
    if yielded:
        lines.append(f"{INDENT}yield {_values(yielded)}")
    return lines


def _results(results: tuple[Value, ...]) -> str:
    return ", ".join(map(_definition, results)) + " = " if results else ""


def _types(results: tuple[Value, ...]) -> str:
    return " : " + ", ".join(type_text(value.type) for value in results) if results else ""


def _definition(value: Value) -> str:
    name = _sigil("%", value.name)
    return name if value.buffer is None else f"{name} {_sigil('@', value.buffer)}"


def statement_value(value: Value) -> str:
    """Return how a statement refers to `value`."""
    return _sigil("%", value.name)


def _values(values: tuple[Value, ...]) -> str:
    return ", ".join(map(statement_value, values))


def _region(region: Region) -> str:
    return f"[{', '.join(map(_range, region))}]"


def _range(item: Range) -> str:
    text = f"{index_text(item.offset)} : {index_text(item.extent)}"
    return text if item.step == 1 else f"{text} : {item.step}"


def type_text(type_: TileType) -> str:
    """Return ``f32[4, 8]``, or ``f32`` for a scalar."""
    return f"{type_.dtype}[{', '.join(map(index_text, type_.shape))}]" if type_.shape else type_.dtype.name


_STRENGTH = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


def index_text(index: Index) -> str:
    """Return an index expression with the parentheses that reading it back to the same tree takes, and no others."""
    if isinstance(index, Symbol):
        return _sigil("%", index.name)
    if not isinstance(index, IndexOperation):
        return int.__repr__(index)
    if index.operator in ("min", "max"):
        return f"{index.operator}({index_text(index.left)}, {index_text(index.right)})"
    strength = _STRENGTH[index.operator]
    return f"{_operand(index.left, strength)} {index.operator} {_operand(index.right, strength + 1)}"


def _operand(index: Index, least: int) -> str:
    """Operators of one strength group to the left, so a right operand needs parentheses at the same strength too."""
    text = index_text(index)
    weak = isinstance(index, IndexOperation) and _STRENGTH.get(index.operator, least) < least
    return f"({text})" if weak else text


def _attribute_list(attributes: Iterable[tuple[str, Attribute]]) -> str:
    return ", ".join(f"{_name(name)} = {attribute_text(value)}" for name, value in attributes)


def attribute_text(value: Attribute) -> str:
    """Return the text of an attribute; floats are exact (shortest digits that read back to the same number)."""
    if isinstance(value, np.generic):
        value = value.item()
    for kind, show in _ATTRIBUTE_TEXTS:
        if isinstance(value, kind):
            return show(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be an attribute")


def quote(text: str) -> str:
    """Return `text` in double quotes with everything unprintable escaped; `unquote` is the inverse."""
    return '"' + "".join(_SHORT_ESCAPES.get(character) or _escape(character) for character in text) + '"'


def _escape(character: str) -> str:
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"


def _tuple_text(value: tuple[Attribute, ...]) -> str:
    return f"[{', '.join(map(attribute_text, value))}]"


def _bool_text(value: bool) -> str:
    return "true" if value else "false"


_ATTRIBUTE_TEXTS: tuple[tuple[type | tuple[type, ...], Callable[..., str]], ...] = (
    (type(None), lambda _: "none"),
    (bool, _bool_text),
    (float, float.__repr__),
    (str, quote),
    (DType, lambda value: str(value.name)),
    ((int, Symbol, IndexOperation), index_text),
    (tuple, _tuple_text),
)
"""The kinds of attributes; bool stands before int, whose subclass it is."""


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)


def _sigil(sigil: str, name: str) -> str:
    return sigil + (name if _SIGIL_NAME.fullmatch(name) else quote(name))


__all__ = [
    "VERSION",
    "attribute_text",
    "index_text",
    "print_kernel",
    "print_module",
    "print_statement",
    "quote",
    "same",
    "type_text",
]
