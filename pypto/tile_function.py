"""Tile functions: the `tile` and `fuse` decorators and what they learn from a function without running it."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any, overload

from pypto.code_objects import nested_codes
from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.locations import Location
from pypto.registry import register
from pypto.tiling_level import TilingLevel

Shape = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class TileFunction:
    """A Python function that describes one tile's work, with what its decorator says.

    `python` is the function that tracing runs (its ``for`` statements are rewritten to carry state), `original` the
    function as written. `outputs` are the parameters it writes, in parameter order. Calling one inside another tile
    function makes it part of that kernel; outside it is an error (use `pypto.compile`).
    """

    original: FunctionType
    python: FunctionType
    name: str
    shape: Shape | None
    tile_num: int | None
    parameters: tuple[inspect.Parameter, ...]
    outputs: tuple[str, ...]
    uses_block_id: bool
    location: Location
    parts: tuple[TileFunction, ...] = ()
    level: TilingLevel | None = None
    signature: inspect.Signature = field(default_factory=inspect.Signature, repr=False)

    def __post_init__(self) -> None:
        for attribute in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(self.original, attribute):
                object.__setattr__(self, attribute, getattr(self.original, attribute))
        object.__setattr__(self, "__wrapped__", self.original)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from pypto.tracing.calls import call

        return call(self, arguments, keywords)

    def writing(self, names: Iterable[str]) -> TileFunction:
        """Return the function with `names` among its outputs; itself when they are.

        Tracing finds outputs that are written through an alias or a helper, which the code does not show.
        """
        written = frozenset((*names, *self.outputs))
        if len(written) == len(self.outputs):
            return self
        return replace(self, outputs=tuple(item.name for item in self.parameters if item.name in written))

    def __copy__(self) -> TileFunction:
        return self

    def __deepcopy__(self, memo: object) -> TileFunction:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by module and name, as Python does functions; raises UserError ``cannot-pickle`` for a local one."""
        from pypto.pickling import find, place

        return find, (place(self, self.name),)

    def __repr__(self) -> str:
        return f"<tile function {self.name} at {self.location}>"


Decorator = Callable[[FunctionType], TileFunction]


@overload
def tile(function: Callable[..., Any], /) -> TileFunction: ...


@overload
def tile(
    *,
    shape: Sequence[int | None] | int | None = ...,
    tile_num: int | None = ...,
    name: str | None = ...,
    level: TilingLevel | None = ...,
    outputs: Sequence[str] | None = ...,
    **unknown: Any,
) -> Decorator: ...


def tile(
    function: Callable[..., Any] | None = None,
    /,
    *,
    shape: Sequence[int | None] | int | None = None,
    tile_num: int | None = None,
    name: str | None = None,
    level: TilingLevel | None = None,
    outputs: Sequence[str] | None = None,
    **unknown: Any,
) -> TileFunction | Decorator:
    """Mark a function as a tile function: ``@tile`` or ``@tile(shape=(64, 64), tile_num=8)``.

    `shape`: extents of one tile, None for a whole axis; leading axes of arguments beyond its rank are a batch.
    `tile_num`: how many tiles there are. `name`: the name in graphs and dumps (default: the function's). `level`: a
    `TilingLevel`, for a `Scheduler`. `outputs`: the parameters it writes, where that cannot be seen in its code.
    Raises UserError ``unknown-option``, ``option-value``, ``tile-shape``, ``tile-number``, ``unknown-output`` or
    ``not-a-function``.
    """
    for option in unknown:
        valid = ("shape", "tile_num", "name", "level", "outputs")
        raise UserError("unknown-option", _caller(), option=option, what="tile", hint=nearest(option, valid))

    if level is not None and not isinstance(level, TilingLevel):
        wants = "TilingLevel.COARSE or TilingLevel.FINE"
        raise UserError("option-value", _caller(), what="tile", option="level", value=level, wants=wants)

    def decorate(plain: Callable[..., Any]) -> TileFunction:
        return _make(plain, _check_shape(shape, plain), _check_number(tile_num, plain), name, outputs, level=level)

    return decorate if function is None else decorate(function)


def fuse(*parts: TileFunction) -> Decorator:
    """Mark a function as one kernel made of the tile functions `parts`: ``@fuse(norm, gelu, add)``.

    The function's body may call its parts or repeat their arithmetic; intermediates stay on chip when they fit.
    Raises UserError ``not-a-tile-function`` for a part that is none.
    """
    for part in parts:
        if not isinstance(part, TileFunction):
            raise UserError("not-a-tile-function", _caller(), what=repr(part))

    def decorate(plain: Callable[..., Any]) -> TileFunction:
        return _make(plain, None, None, None, None, parts)

    return decorate


def _caller() -> Location:
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno) if frame else Location("<unknown>", 0)


def _location(function: FunctionType) -> Location:
    return Location(function.__code__.co_filename, function.__code__.co_firstlineno)


def _make(
    plain: Callable[..., Any],
    shape: Shape | None,
    tile_num: int | None,
    name: str | None,
    outputs: Sequence[str] | None,
    parts: tuple[TileFunction, ...] = (),
    level: TilingLevel | None = None,
) -> TileFunction:
    from pypto.tracing.loops import rewrite_loops

    if not isinstance(plain, FunctionType):
        raise UserError("not-a-function", _caller(), what=type(plain).__name__)
    signature = inspect.signature(plain)
    parameters = tuple(signature.parameters.values())
    _check_parameters(parameters, plain)
    stage = TileFunction(
        original=plain,
        python=rewrite_loops(plain),
        name=name or plain.__name__,
        shape=shape,
        tile_num=tile_num,
        parameters=parameters,
        outputs=_outputs(plain, parameters, outputs),
        uses_block_id=_uses_block_id(plain),
        location=_location(plain),
        parts=parts,
        level=level,
        signature=signature,
    )
    register(stage)
    return stage


def _check_shape(shape: Sequence[int | None] | int | None, plain: Callable[..., Any]) -> Shape | None:
    if shape is None:
        return None
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    for extent in extents:
        if extent is not None and (isinstance(extent, bool) or not isinstance(extent, int) or extent < 1):
            raise UserError("tile-shape", _place(plain), shape=extents, extent=extent)
    return extents


def _check_number(tile_num: int | None, plain: Callable[..., Any]) -> int | None:
    if tile_num is not None and (isinstance(tile_num, bool) or not isinstance(tile_num, int) or tile_num < 1):
        raise UserError("tile-number", _place(plain), tile_num=tile_num)
    return tile_num


def _place(plain: Callable[..., Any]) -> Location:
    return _location(plain) if isinstance(plain, FunctionType) else _caller()


def _check_parameters(parameters: tuple[inspect.Parameter, ...], plain: FunctionType) -> None:
    for parameter in parameters:
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise UserError("variable-parameters", _location(plain), parameter=str(parameter))


def _uses_block_id(plain: FunctionType) -> bool:
    if "tile_id" in plain.__code__.co_varnames[: plain.__code__.co_argcount + plain.__code__.co_kwonlyargcount]:
        return True
    return any("get_block_id" in code.co_names for code in nested_codes(plain.__code__))


# -- which parameters a function writes


def _outputs(
    plain: FunctionType, parameters: tuple[inspect.Parameter, ...], declared: Sequence[str] | None
) -> tuple[str, ...]:
    names = [parameter.name for parameter in parameters]
    if declared is None:
        written = _written_in_source(plain) or _written_in_bytecode(plain.__code__)
        return tuple(name for name in names if name in written)
    for name in declared:
        if name not in names:
            raise UserError("unknown-output", _location(plain), output=name, hint=nearest(name, names))
    return tuple(name for name in names if name in declared)


def _written_in_source(plain: FunctionType) -> set[str]:
    """Return the names that the source assigns into (``n[...] = v``, ``n += v``), through plain aliases; empty
    without source.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
    except (OSError, TypeError, SyntaxError):
        return set()
    aliases = {
        node.targets[0].id: node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name)
    }
    names = {name for node in ast.walk(tree) for name in _targets(node, plain)}
    return names | {aliases[name] for name in names if name in aliases}


def _targets(node: ast.AST, plain: FunctionType) -> Iterator[str]:
    if isinstance(node, ast.AugAssign):
        yield from _base_name(node.target)
    elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        yield from _base_name(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield from _written_by_call(node, plain)


def _base_name(node: ast.expr) -> Iterator[str]:
    """Yield the name at the root of ``name``, ``name[...]``, ``name.T`` or ``block(name, ...)``."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    if isinstance(node, ast.Name):
        yield node.id


def _written_by_call(node: ast.Call, plain: FunctionType) -> Iterator[str]:
    """Yield the names passed as outputs to a tile function that is called with all its parameters."""
    assert isinstance(node.func, ast.Name)
    callee = plain.__globals__.get(node.func.id) or inspect.getclosurevars(plain).nonlocals.get(node.func.id)
    if not isinstance(callee, TileFunction) or len(node.args) + len(node.keywords) != len(callee.parameters):
        return
    passed = dict(zip((item.name for item in callee.parameters), node.args, strict=False))
    passed.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
    for name in callee.outputs:
        if isinstance(value := passed.get(name), ast.Name):
            yield value.id


def _written_in_bytecode(code: CodeType) -> set[str]:
    """The same from bytecode, for functions without source: the container of each STORE_SUBSCR is the first
    thing pushed for it.
    """
    instructions = list(dis.get_instructions(code))
    written: set[str] = set()
    for position, instruction in enumerate(instructions):
        above = {"STORE_SUBSCR": 1, "STORE_SLICE": 2}.get(instruction.opname)
        if above is not None:
            written |= _pushed_first(instructions, position, above + 1)
        if instruction.opname == "STORE_FAST" and position and _is_in_place(instructions[position - 1]):
            written.add(str(instruction.argval))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            written |= _written_in_bytecode(constant)
    return written


def _is_in_place(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("INPLACE_") or (
        instruction.opname == "BINARY_OP"
        and instruction.argrepr.endswith("=")
        and instruction.argrepr not in ("==", "!=")
    )


def _pushed_first(instructions: list[dis.Instruction], position: int, depth: int) -> set[str]:
    """Return the local variable whose load begins the sequence that leaves `depth` items before `position`."""
    pushed = 0
    for instruction in reversed(instructions[:position]):
        pushed += dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if pushed >= depth:
            if "LOAD_FAST" not in instruction.opname and "LOAD_DEREF" not in instruction.opname:
                return set()
            name = instruction.argval
            return {str(name[-1] if isinstance(name, tuple) else name)}
    return set()
