"""The Python values that a tile function reads besides its arguments: globals and closure variables.

Tracing bakes them into the kernel, so they are part of its signature: a launch after one of them changed compiles
again. Numbers, strings and the like count by value, containers and NumPy arrays by content, functions by identity and
by what they read themselves.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from pypto.tile_function import TileFunction

_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype)
_BY_IDENTITY = (*_PLAIN, FunctionType, TileFunction, type)
_OPAQUE_MODULES = ("builtins", "numpy", "pypto", "torch", "math")
_DEPTH = 6


class Captured:
    """What some tile functions read from outside. `unchanged` is quick; `snapshot` is hashable."""

    def __init__(self, functions: tuple[TileFunction, ...]) -> None:
        self._readers = tuple(_readers(functions))
        self._seen: tuple[Any, ...] = ()
        self._frozen: tuple[Any, ...] | None = None
        self._only_plain = False

    def snapshot(self) -> tuple[Any, ...]:
        """Return everything read, as a hashable value."""
        values = tuple(read() for read in self._readers)
        if self._frozen is not None and self._same(values):
            return self._frozen
        self._only_plain = all(isinstance(value, _BY_IDENTITY) for value in values)
        self._seen, self._frozen = values, tuple(freeze(value, _DEPTH) for value in values)
        return self._frozen

    def unchanged(self, snapshot: tuple[Any, ...]) -> bool:
        """Return whether everything read is still as in `snapshot`; False when that is not the last one taken."""
        if snapshot is not self._frozen:
            return False
        if not self._readers:
            return True
        values = tuple([read() for read in self._readers])
        return self._same(values) or tuple(freeze(value, _DEPTH) for value in values) == snapshot

    def _same(self, values: tuple[Any, ...]) -> bool:
        return self._only_plain and all(old is new for old, new in zip(self._seen, values, strict=True))


_MISSING = object()
Reader = Callable[[], Any]


def _readers(functions: tuple[TileFunction, ...]) -> Iterator[Reader]:
    seen: set[int] = set()
    pending: list[FunctionType] = [
        function for item in functions for function in (item.original, *(part.original for part in item.parts))
    ]
    while pending:
        function = pending.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        for read in _reads_of(function):
            value = _plain_function(read())
            if value is not None and not _is_opaque(value.__module__):
                pending.append(value)
            yield read


def _plain_function(value: Any) -> FunctionType | None:
    if isinstance(value, TileFunction):
        return value.original
    return value if isinstance(value, FunctionType) else None


def _is_opaque(module: str | None) -> bool:
    return (module or "builtins").split(".")[0] in _OPAQUE_MODULES


def _reads_of(function: FunctionType) -> Iterator[Reader]:
    """Yield a reader for each global and closure variable of `function` that is worth watching."""
    for cell in function.__closure__ or ():
        yield _cell_reader(cell)
    codes = tuple(_codes(function.__code__))
    attributes = {name for code in codes for name in code.co_names}
    space = function.__globals__
    for name in sorted({name for code in codes for name in _global_names(code)}):
        value = space.get(name, _MISSING)
        if isinstance(value, ModuleType):
            yield from _module_readers(value, attributes)
        elif not (callable(value) and _is_opaque(getattr(value, "__module__", None))):
            yield _global_reader(space, name)


def _global_names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and not hasattr(builtins, instruction.argval):
            yield instruction.argval


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


def _module_readers(module: ModuleType, names: set[str]) -> Iterator[Reader]:
    if _is_opaque(module.__name__):
        return
    for name in sorted(names & vars(module).keys()):
        if not isinstance(vars(module)[name], ModuleType):
            yield _global_reader(vars(module), name)


def _cell_reader(cell: Any) -> Reader:
    def read() -> Any:
        try:
            return cell.cell_contents
        except ValueError:  # not bound yet
            return _MISSING

    return read


def _global_reader(space: dict[str, Any], name: str) -> Reader:
    return lambda: space.get(name, _MISSING)


def freeze(value: Any, depth: int) -> Any:
    """Return a hashable stand-in for `value` that differs when what tracing could see of it differs."""
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, _PLAIN):
        return type(value).__name__, value if not isinstance(value, np.generic) else value.tobytes()
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, value.tobytes()
    if depth and isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(freeze(item, depth - 1) for item in value)
    if depth and isinstance(value, dict):
        return "dict", tuple((freeze(key, depth - 1), freeze(item, depth - 1)) for key, item in value.items())
    if depth and isinstance(value, (set, frozenset)):
        return "set", frozenset(freeze(item, depth - 1) for item in value)
    if depth and _has_plain_fields(value):
        fields = tuple((name, freeze(item, depth - 1)) for name, item in vars(value).items())
        return "object", _Identity(value), fields
    return _Identity(value)


def _has_plain_fields(value: Any) -> bool:
    """Return whether `value` is an ordinary object of a user's class, whose fields a body may read."""
    if isinstance(value, (type, FunctionType, ModuleType, TileFunction)) or callable(value):
        return False
    return hasattr(value, "__dict__") and not _is_opaque(type(value).__module__)


class _Identity:
    """Equal only to itself wrapped again; keeps the object alive so that its id is not used again."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
