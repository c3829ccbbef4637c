"""Rewriting ``for`` statements at decoration, so that names re-bound in the body of a `pypto.loop` are carried.

Each ``for target in iterable: body`` becomes

    iterator, loop = enter(iterable, names)
    for target in iterator:
        if loop is not None:
            if loop.binds("name"): name = loop.entry("name")      # one line per name re-bound in the body
        body
    if loop is not None:
        loop.finish()
        if loop.leaves("name"): name = loop.result("name")

with lines and columns kept. An ordinary iterable gives ``loop is None`` and behaves as written.
"""

from __future__ import annotations
import __future__ as future

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from pypto.code_objects import nested_codes

_FUTURE_FLAGS = 0
for _name in future.all_feature_names:
    _FUTURE_FLAGS |= getattr(future, _name).compiler_flag
_ENTER = "__pypto_enter__"
_FACTORY = "__pypto_factory__"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def rewritten(function: FunctionType, enter: Callable[..., Any]) -> FunctionType:
    """Return `function` with its ``for`` statements rewritten to call `enter`; itself without any or without source."""
    if not any(_has_loop(code) for code in nested_codes(function.__code__)):
        return function
    tree = _definition(function)
    if tree is None:
        return function
    plain = _compiled(function, tree, ())
    if plain is None or not _same_code(plain, function.__code__):  # the file changed, or a tool rewrote the code
        return function
    _Rewriter().visit(tree)
    code = _compiled(function, ast.fix_missing_locations(tree), (_ENTER,))
    if code is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[_ENTER] = CellType(enter)
    closure = tuple(cells[name] for name in code.co_freevars)
    result = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__dict__.update(function.__dict__)
    result.__qualname__, result.__doc__ = function.__qualname__, function.__doc__
    result.__module__, result.__annotations__ = function.__module__, function.__annotations__
    return result


def _has_loop(code: CodeType) -> bool:
    return any(instruction.opname == "FOR_ITER" for instruction in dis.get_instructions(code))


def _definition(function: FunctionType) -> ast.FunctionDef | None:
    """Return the parsed definition with its lines and columns, decorators and defaults removed; None without source."""
    try:
        lines, start = inspect.getsourcelines(function)
        text = "".join(lines)
        indented = text[:1].isspace()
        tree = ast.parse("if 1:\n" + text if indented else text)
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    holder: Any = tree.body[0]
    definition = holder.body[0] if indented else holder
    if not isinstance(definition, ast.FunctionDef) or definition.name != function.__name__:
        return None
    ast.increment_lineno(definition, max(1, start) - 1 - (1 if indented else 0))
    definition.decorator_list = []
    definition.args.defaults = [ast.copy_location(ast.Constant(None), item) for item in definition.args.defaults]
    return definition


def _compiled(function: FunctionType, definition: ast.FunctionDef, extra: tuple[str, ...]) -> CodeType | None:
    """Return the code of a definition whose free variables are those of `function` (and `extra`)."""
    names = (*function.__code__.co_freevars, *extra)
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    factory = ast.FunctionDef(name=_FACTORY, args=arguments, body=[definition], decorator_list=[], returns=None)
    if "type_params" in ast.FunctionDef._fields:  # Python 3.12
        factory.type_params = []  # type: ignore[attr-defined]  # Python 3.12
    ast.copy_location(factory, definition)
    module = ast.Module(body=[ast.fix_missing_locations(factory)], type_ignores=[])
    flags = function.__code__.co_flags & _FUTURE_FLAGS
    try:
        code = compile(module, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    outer = next(item for item in code.co_consts if isinstance(item, CodeType))
    found = [item for item in outer.co_consts if isinstance(item, CodeType) and item.co_name == definition.name]
    return found[0] if found else None


def _same_code(left: CodeType, right: CodeType) -> bool:
    """Return whether two code objects come from one source: names, constants and lines are the same.

    The instructions themselves may differ: the compiler looks at the imports around a function.
    """
    return _summary(left) == _summary(right)


def _summary(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(_summary(item) if isinstance(item, CodeType) else repr(item) for item in code.co_consts)
    lines = sorted({line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno})
    return code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, constants, tuple(lines)


class _Rewriter(ast.NodeTransformer):
    """Rewrites the ``for`` statements of a function and of the functions inside it."""

    def __init__(self) -> None:
        self._count = 0

    def visit_For(self, node: ast.For) -> Any:  # ast's name
        self.generic_visit(node)
        self._count += 1
        iterator, loop = f"__pypto_iterator_{self._count}", f"__pypto_loop_{self._count}"
        names = sorted(_bound_names(node))
        enter = f"{iterator}, {loop} = {_ENTER}(None, {tuple(names)!r}, {_break_line(node)!r})"
        before = _parsed(enter, node.iter)
        before[0].value.args[0] = node.iter
        begin = _parsed(_conditional(loop, [], names, "binds", "entry"), node) if names else []
        end = _conditional(loop, [f"{loop}.finish()"], names, "leaves", "result")
        node.iter = ast.copy_location(ast.Name(iterator, ast.Load()), node.iter)
        node.body = [*begin, *node.body]
        if node.orelse:
            node.orelse = [*_parsed(end, node), *node.orelse]
        return [*before, node, *_parsed(end, node)]


def _conditional(loop: str, first: list[str], names: list[str], test: str, take: str) -> str:
    lines = [*first, *(f"if {loop}.{test}({name!r}): {name} = {loop}.{take}({name!r})" for name in names)]
    return f"if {loop} is not None:\n" + textwrap.indent("\n".join(lines), " ")


def _parsed(text: str, place: ast.AST) -> list[Any]:
    """Return the statements of `text`, all at the place of a node."""
    statements = ast.parse(text).body
    for statement in statements:
        for node in ast.walk(statement):
            ast.copy_location(node, place)
    return statements


def _bound_names(loop: ast.For) -> set[str]:
    """Return the names that the body binds in the loop's own scope, other than the target and by ``op=`` alone."""
    bound: set[str] = set()
    excluded = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    pending: list[ast.AST] = [*loop.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            excluded.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            pending.append(node.value)
        elif isinstance(node, _COMPREHENSIONS):
            pending += [item for item in ast.walk(node) if isinstance(item, ast.NamedExpr)]
        elif not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)
    return {name for name in bound - excluded if not name.startswith("__pypto_")}


def _break_line(loop: ast.For) -> int:
    """Return the line of the first ``break`` that leaves this loop, 0 for none."""
    pending: list[ast.AST] = [*reversed(loop.body)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Break):
            return node.lineno
        if isinstance(node, (ast.For, ast.While)):
            pending += reversed(node.orelse)
        elif not isinstance(node, _SCOPES):
            pending += reversed(list(ast.iter_child_nodes(node)))
    return 0
