"""Loops that need not go further than an item's block of an axis: keys after the last query of a causal attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.program import Choice, Outer, Repeat, Statement, Walk
from pypto.ir.index import Symbol


def limited(
    statements: list[Statement], find: Callable[[Symbol], Symbol], outers: Mapping[Symbol, Outer], ranges: affine.Ranges
) -> list[Statement]:
    """Return the statements with limited loops ending where the item's block does; `find` gives an axis' class."""

    def inside(body: list[Statement]) -> list[Statement]:
        return limited(body, find, outers, ranges)

    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Repeat):
            outer = outers.get(find(statement.limit)) if statement.limit is not None else None
            stop = affine.extremum("min", statement.stop, _end(outer), ranges) if outer else statement.stop
            result.append(replace(statement, stop=stop, body=inside(statement.body)))
        elif isinstance(statement, Walk):
            result.append(replace(statement, body=inside(statement.body)))
        elif isinstance(statement, Choice):
            sides = inside(statement.then_body), inside(statement.else_body)
            result.append(replace(statement, then_body=sides[0], else_body=sides[1]))
        else:
            result.append(statement)
    return result


def _end(outer: Outer) -> Affine:
    """Return where an item's block of an axis ends."""
    if outer.block == outer.extent:
        return affine.number(outer.extent)
    if outer.block == 1:
        return affine.add(affine.symbol(outer.symbol), affine.number(1))
    return affine.symbol(outer.upper)
