"""Parameters that a tile function surely never reads: its source only assigns all of them."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from types import FunctionType


@functools.lru_cache(maxsize=1024)
def never_read(plain: FunctionType) -> frozenset[str]:
    """Return the names that stand nowhere but in ``name[:] = value`` or ``name[...] = value``; none without source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    assigned = [target for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets]
    whole = [target.value for target in assigned if isinstance(target, ast.Subscript) and _is_whole(target.slice)]
    written = {id(node): node.id for node in whole if isinstance(node, ast.Name)}
    others = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in written}
    return frozenset(written.values()) - others


def _is_whole(index: ast.expr) -> bool:
    if isinstance(index, ast.Slice):
        return index.lower is None and index.upper is None and index.step is None
    return isinstance(index, ast.Constant) and index.value is Ellipsis
