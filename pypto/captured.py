"""The Python values that a tile function reads besides its arguments: globals and closure variables.

Tracing bakes them into the kernel, so they are part of its signature: a launch after one of them changed compiles
again. Numbers, strings and the like count by value, containers and NumPy arrays by content, classes and objects by
identity and by their fields, functions by identity and by what they read themselves.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import EnumMeta
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pypto.tile_function import TileFunction

_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype)
_BY_IDENTITY = (*_PLAIN, FunctionType, TileFunction, ModuleType)
_OPAQUE_MODULES = ("builtins", "numpy", "pypto", "torch", "math")
_DEPTH = 6
_CLASS_DEPTH = 2  # a class may hold its own instances, whose class holds them again


@dataclass(frozen=True, slots=True)
class _State:
    """Who reads what: `values` as they were read, `frozen` to compare them by."""

    readers: tuple[Reader, ...]
    values: tuple[Any, ...]
    frozen: tuple[Any, ...]
    only_plain: bool

    def same(self, values: tuple[Any, ...]) -> bool:
        return self.only_plain and all(old is new for old, new in zip(self.values, values, strict=True))


class Captured:
    """What some tile functions read from outside. `unchanged` is quick; `snapshot` is hashable."""

    def __init__(self, functions: tuple[TileFunction, ...]) -> None:
        self._functions = functions
        self._state: _State | None = None

    def snapshot(self) -> tuple[Any, ...]:
        """Return everything read, as a hashable value."""
        state = self._state
        if state is None or not self._holds(state):
            # a function, class or module in place of another reads other things: look again at who reads what
            state = self._state = _collect(self._functions)
        return state.frozen

    def unchanged(self, snapshot: tuple[Any, ...]) -> bool:
        """Return whether everything read is still as in `snapshot`; False when that is not the last one taken."""
        state = self._state
        return state is not None and snapshot is state.frozen and self._holds(state)

    @staticmethod
    def _holds(state: _State) -> bool:
        if not state.readers:
            return True
        values = tuple([read() for read in state.readers])
        return state.same(values) or tuple([freeze(value, _DEPTH) for value in values]) == state.frozen


def _collect(functions: tuple[TileFunction, ...]) -> _State:
    readers = tuple(_readers(functions))
    values = tuple(read() for read in readers)
    frozen = tuple(freeze(value, _DEPTH) for value in values)
    return _State(readers, values, frozen, all(isinstance(value, _BY_IDENTITY) for value in values))


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
            pending.extend(_functions_in(read(), _DEPTH))
            yield read


def _functions_in(value: Any, depth: int) -> Iterator[FunctionType]:
    """Yield the functions of users that a body may call when it can see `value`."""
    if isinstance(value, TileFunction):
        yield value.original
    elif isinstance(value, FunctionType):
        if not _is_opaque(value.__module__):
            yield value
    elif depth:
        for item in _callable_parts(value):
            yield from _functions_in(item, depth - 1)


def _callable_parts(value: Any) -> Iterator[Any]:
    """Yield what `value` may hold functions in."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (MethodType, staticmethod, classmethod)):
        yield value.__func__
        yield from (value.__self__,) if isinstance(value, MethodType) else ()
    elif isinstance(value, property):
        yield value.fget
    elif isinstance(value, functools.partial):
        yield value.func
    elif isinstance(value, type):
        yield from _class_functions(value)
    elif _has_fields(value):
        yield from _fields(value).values()
        yield type(value)


def _class_functions(kind: type) -> Iterator[Any]:
    for item in _own_classes(kind):
        for part in vars(item).values():
            if isinstance(part, (FunctionType, TileFunction, staticmethod, classmethod, property)):
                yield part


def _is_opaque(module: str | None) -> bool:
    return (module or "builtins").split(".")[0] in _OPAQUE_MODULES


def _reads_of(function: FunctionType) -> Iterator[Reader]:
    """Yield a reader for each global, closure variable and imported module of `function` that is worth watching."""
    codes = tuple(_codes(function.__code__))
    attributes = {name for code in codes for name in code.co_names}
    for cell in function.__closure__ or ():
        yield from _watched(_cell_reader(cell), attributes, set())
    space = function.__globals__
    for name in sorted({name for code in codes for name in _names(code, "LOAD_GLOBAL", "LOAD_NAME")}):
        if name in space or not hasattr(builtins, name):
            yield from _watched(_global_reader(space, name), attributes, set())
    for name in sorted({name for code in codes for name in _names(code, "IMPORT_NAME")}):
        yield from _watched(_global_reader(sys.modules, name), attributes, set())


def _watched(read: Reader, attributes: set[str], seen: set[int]) -> Iterator[Reader]:
    """Yield `read`, and for a module readers of those of `attributes` that it has; nothing for what never changes."""
    value = read()
    if not isinstance(value, ModuleType):
        if not (callable(value) and _is_opaque(getattr(value, "__module__", None))):
            yield read
    elif not _is_opaque(value.__name__) and id(value) not in seen:
        seen.add(id(value))
        yield read
        for name in sorted(attributes & vars(value).keys()):
            yield from _watched(_global_reader(vars(value), name), attributes, seen)


def _names(code: CodeType, *instructions: str) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in instructions:
            yield instruction.argval


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


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
    return _freeze_parts(value, depth) if depth else _Identity(value)


def _freeze_parts(value: Any, depth: int) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(freeze(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return "dict", tuple((freeze(key, depth - 1), freeze(item, depth - 1)) for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return "set", frozenset(freeze(item, depth - 1) for item in value)
    if isinstance(value, MethodType):
        return "method", _Identity(value.__func__), freeze(value.__self__, depth - 1)
    if isinstance(value, functools.partial):
        return "partial", tuple(freeze(item, depth - 1) for item in (value.func, value.args, value.keywords))
    if isinstance(value, type):
        return _Identity(value), _freeze_class(value, depth)
    if _has_fields(value):
        fields = tuple((name, freeze(item, depth - 1)) for name, item in _fields(value).items())
        return "object", _Identity(value), fields, _freeze_class(type(value), depth)
    return _Identity(value)


def _freeze_class(kind: type, depth: int) -> Any:
    """Return a stand-in for the fields of a class; its functions count by identity."""
    inner = min(depth - 1, _CLASS_DEPTH)
    return tuple(
        (name, freeze(item, inner) if not isinstance(item, property) else _Identity(item))
        for own in _own_classes(kind)
        for name, item in vars(own).items()
        if not (name.startswith("__") and name.endswith("__"))
    )


def _own_classes(kind: type) -> Iterator[type]:
    """Yield the user's classes that `kind` inherits from, itself first; members of an Enum never change."""
    if not isinstance(kind, EnumMeta):
        yield from (item for item in kind.__mro__ if not _is_opaque(item.__module__))


def _has_fields(value: Any) -> bool:
    """Return whether `value` is an object of a user's class, whose fields a body may read."""
    if isinstance(value, (type, FunctionType, ModuleType, TileFunction)) or _is_opaque(type(value).__module__):
        return False
    return hasattr(value, "__dict__") or hasattr(type(value), "__slots__")


def _fields(value: Any) -> dict[str, Any]:
    slots = [
        name
        for kind in type(value).__mro__
        for names in (vars(kind).get("__slots__", ()),)
        for name in ((names,) if isinstance(names, str) else names)
    ]
    fields = {name: getattr(value, name) for name in slots if name[:2] != "__" and hasattr(value, name)}
    return fields | getattr(value, "__dict__", {})


class _Identity:
    """Equal only to itself wrapped again; keeps the object alive so that its id is not used again."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
