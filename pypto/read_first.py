"""Parameters that a tile function surely reads before it writes them, found in its source without running it."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from pypto.tile_function import TileFunction

_DESCRIBES = frozenset({"shape", "dtype", "ndim", "size"})
"""Attributes that say something about an array and read none of its elements."""


@functools.lru_cache(maxsize=1024)
def read_first(plain: FunctionType) -> frozenset[str]:
    """Return the names whose first use in ``plain``, in the order of evaluation, reads elements.

    Uses that may be reads or writes (a branch, a helper that is given the whole array, an alias that is written
    later) decide against a name; so does a function without source.
    """
    if not _may_read(plain.__code__):
        return frozenset()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return frozenset()
    if not isinstance(tree, ast.FunctionDef):
        return frozenset()
    uses = _Uses(_known(plain), tree)
    for statement in tree.body:
        uses.visit(statement)
    return frozenset(name for name, reads in uses.first.items() if reads)


def _may_read(code: CodeType) -> bool:
    """Return whether some name is loaded twice, or changed by an operator; quick, as most functions have no such."""
    loads: Counter[str] = Counter()
    for item in dis.get_instructions(code):
        if item.opname.startswith("INPLACE") or (item.opname == "BINARY_OP" and item.argrepr.endswith("=")):
            return True
        if item.opname.startswith("LOAD"):
            loads.update(item.argval if isinstance(item.argval, tuple) else [str(item.argval)])
    names = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    return any(count > 1 and name in names for name, count in loads.items())


def _known(plain: FunctionType) -> Mapping[str, Any]:
    found = inspect.getclosurevars(plain)
    return {**vars(builtins), **found.globals, **found.nonlocals}


class _Uses(ast.NodeVisitor):
    """The first use of each name: whether it surely reads."""

    def __init__(self, known: Mapping[str, Any], function: ast.FunctionDef) -> None:
        self.first: dict[str, bool] = {}
        self.known = known
        self.written = {name for node in ast.walk(function) for name in self._maybe_written(node)}

    def _maybe_written(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.AugAssign):
            yield from _root(node.target)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from _root(node.value)
        elif isinstance(node, ast.Call) and not self._only_reads(node.func):
            yield from _names(_arguments(node))

    def _only_reads(self, callee: ast.expr) -> bool:
        """Return whether a call is of an operation, or of a method: tile functions and helpers may write."""
        found = _resolve(callee, self.known)
        if found is None:
            return isinstance(callee, ast.Attribute)
        module = getattr(found, "__module__", None) or ""
        return module.split(".")[0] in ("pypto", "builtins") and not isinstance(found, TileFunction)

    def undecided(self, *nodes: ast.AST) -> None:
        for name in _names(nodes):
            self.first.setdefault(name, False)

    def visit_Name(self, node: ast.Name) -> None:
        self.first.setdefault(node.id, isinstance(node.ctx, ast.Load))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr not in _DESCRIBES:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.slice)
        if isinstance(node.ctx, ast.Load):
            self.visit(node.value)
        else:
            self.undecided(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if {name for target in node.targets for name in _root(target)} & self.written and not _stores(node.targets):
            self.undecided(node.value)
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        for name in _root(node.target):
            self.first.setdefault(name, True)

    def visit_Call(self, node: ast.Call) -> None:
        self.visit(node.func)
        if not self._only_reads(node.func):
            self.undecided(*_arguments(node))
        for argument in _arguments(node):
            self.visit(argument)

    def visit_For(self, node: ast.For) -> None:
        counts = isinstance(node.iter, ast.Call) and _resolve(node.iter.func, self.known) is range
        self.visit(node.iter) if counts else self.undecided(node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        self.visit(node.test)
        self.undecided(node)

    visit_IfExp = visit_While = visit_If  # noqa: N815  # names of `ast.NodeVisitor`

    def _visit_undecided(self, node: ast.AST) -> None:
        self.undecided(node)

    visit_Try = visit_Lambda = visit_FunctionDef = visit_NamedExpr = _visit_undecided  # noqa: N815  # as above
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_undecided  # noqa: N815  # as above


def _stores(targets: Iterable[ast.expr]) -> bool:
    """Return whether all targets are elements, which take a copy of the value."""
    return all(isinstance(target, ast.Subscript) for target in targets)


def _arguments(node: ast.Call) -> tuple[ast.expr, ...]:
    return (*node.args, *(keyword.value for keyword in node.keywords))


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (item.id for node in nodes for item in ast.walk(node) if isinstance(item, ast.Name))


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return _names([node])


def _resolve(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return what a name or a module's attribute stands for; None where that is unknown."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, known)
        return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
    return None
