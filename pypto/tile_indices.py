"""Tile numbers as users write them: ``"*"``, ``3``, ``"0..7"``, ``(0, 7)``, and mappings from tile to tile.

A mapping is ``"tile_idx"``, a text over ``tile_idx``, ``src_tile_num`` and ``dst_tile_num``, or a callable. Texts are
parsed to index expressions; nothing is evaluated as Python.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Union

from pypto.ir.base.errors import UserError
from pypto.ir.index import Index, Symbol, evaluate, make

TileRange = Union[tuple[int, int], None]
"""First and last tile, both included; None for all tiles."""

Mapping = Union[Index, Callable[[int], object]]

TILE = Symbol("tile_idx")
SOURCE_COUNT = Symbol("src_tile_num")
DESTINATION_COUNT = Symbol("dst_tile_num")
WANTS_RANGE = 'a tile number, "first..last", (first, last) or "*" (both ends count)'
_RANGE = re.compile(r"\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?")
_LONGEST = 400
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_NAMES = {symbol.name: symbol for symbol in (TILE, SOURCE_COUNT, DESTINATION_COUNT)}


def read_range(value: object) -> TileRange:
    """Return a range of tiles; raises ValueError for anything that is none, an empty range included."""
    if isinstance(value, str):
        return _read_text(value)
    if _is_number(value):
        return _checked(value, value)
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(map(_is_number, value)):
        return _checked(*value)
    raise ValueError(value)


def _read_text(text: str) -> TileRange:
    if text.strip() == "*":
        return None
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    first = int(match[1])
    return _checked(first, int(match[2]) if match[2] else first)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _checked(first: object, last: object) -> tuple[int, int]:
    assert isinstance(first, int)
    assert isinstance(last, int)
    if not 0 <= first <= last:
        raise ValueError((first, last))
    return first, last


def show_range(tiles: TileRange) -> str:
    """Return a range of tiles as text, such as ``0..7``."""
    if tiles is None:
        return "*"
    return str(tiles[0]) if tiles[0] == tiles[1] else f"{tiles[0]}..{tiles[1]}"


# -- mappings


def read_mapping(value: object) -> Mapping | None:
    """Return a mapping; raises UserError ``mapping-syntax`` for what is none."""
    if value is None:
        return None
    if callable(value):
        return _checked_callable(value)
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise _mistake(value, "it is neither a short text nor a callable")
    try:
        tree = ast.parse(value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _mistake(value, "it is not an expression") from None
    return _index(tree, value)


def _checked_callable(mapping: Callable[..., object]) -> Callable[[int], object]:
    try:
        inspect.signature(mapping).bind(0)
    except TypeError as mistake:
        raise _mistake(mapping, f"called with a tile's number, it says {str(mistake)!r}") from None
    except ValueError:  # some built-in functions have no signature
        pass
    return mapping


def _mistake(text: object, why: str) -> UserError:
    return UserError("mapping-syntax", None, mapping=text, why=why)


def _index(node: ast.expr, text: str) -> Index:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in _NAMES:
            raise _mistake(text, f"there is no {node.id!r}")
        return _NAMES[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _operation(_OPERATORS[type(node.op)], _index(node.left, text), _index(node.right, text), text)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return make("-", 0, _index(node.operand, text))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        return _extreme(node, text)
    raise _mistake(text, f"{ast.unparse(node)!r} cannot be used")


def _operation(operator: str, left: Index, right: Index, text: str) -> Index:
    if operator in ("//", "%") and right == 0:
        raise _mistake(text, "it divides by 0")
    return make(operator, left, right)


def _extreme(node: ast.Call, text: str) -> Index:
    assert isinstance(node.func, ast.Name)
    if len(node.args) < 2 or node.keywords:
        raise _mistake(text, f"{node.func.id} takes two or more operands")
    result = _index(node.args[0], text)
    for argument in node.args[1:]:
        result = make(node.func.id, result, _index(argument, text))
    return result


def apply_mapping(mapping: Mapping, tile: int, source_count: int, destination_count: int) -> object:
    """Return what `mapping` gives for a tile of the destination: a tile number of the source, when it is right."""
    if callable(mapping):
        return mapping(tile)
    values = {TILE: tile, SOURCE_COUNT: source_count, DESTINATION_COUNT: destination_count}
    try:
        return evaluate(mapping, values)
    except ZeroDivisionError:
        return "a division by 0"
