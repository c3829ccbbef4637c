"""Buffers with several slots: which loop they rotate in, and the number of the slot that a turn uses.

A buffer of depth d rotates in the innermost loop around everything that touches it: turn k of that loop, counted from 0
at each entry, uses slot k % d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pypto.ir.index import Bounds, Index, Symbol, bounds, floor_divide, make, subtract
from pypto.ir.nodes import Buffer, For, Kernel, Statement, Value, operands, regions, results

Path = tuple[For, ...]

SUB_BLOCKS = 2
"""Vector cores that work beside one cube core."""


def sub_blocks(kernel: Kernel) -> frozenset[str]:
    """Return the indices of the loops whose turns run on the vector cores beside a cube core, each on one of them.

    For such a core that loop is none: it runs the body once.
    """
    names = dict(kernel.attributes).get("sub_blocks", ())
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, tuple) else frozenset()


def as_one_core(body: tuple[Statement, ...], spread: frozenset[str]) -> tuple[Statement, ...]:
    """Return `body` as a vector core beside a cube core runs it: loops over such cores are none for it."""
    made: list[Statement] = []
    for statement in body:
        if isinstance(statement, For) and statement.index.name in spread:
            made += as_one_core(statement.body, spread)
        elif isinstance(statement, For):
            made.append(replace(statement, body=as_one_core(statement.body, spread)))
        else:
            made.append(statement)
    return tuple(made)


def loops_around(kernel: Kernel) -> dict[str, Path]:
    """Return for each buffer the loops around everything that touches it, outermost first."""
    found: dict[str, Path] = {}
    _visit(kernel.body, (), found, sub_blocks(kernel))
    return found


def rotations(kernel: Kernel) -> dict[str, For]:
    """Return the loop in which each buffer of several slots rotates; those outside of all loops stay in slot 0."""
    deep = {buffer.name for buffer in kernel.buffers if buffer.depth > 1}
    if not deep:
        return {}
    return {name: path[-1] for name, path in loops_around(kernel).items() if name in deep and path}


def depth_in(loop: For, kernel: Kernel, rotating: dict[str, For]) -> int:
    """Return the largest depth of the buffers that rotate in `loop`; 1 when none does."""
    return max((item.depth for item in kernel.buffers if rotating.get(item.name) is loop), default=1)


def turn(loop: For, ranges: dict[Symbol, Bounds]) -> Index:
    """Return the number of the present turn of `loop`, counted from 0."""
    first = bounds(loop.start, ranges)
    if first is not None and first[0] >= 0 and first[1] < loop.step:
        return floor_divide(loop.index, loop.step)
    return floor_divide(subtract(loop.index, loop.start), loop.step)


def slot(loop: For, depth: int, ranges: dict[Symbol, Bounds]) -> Index:
    return make("%", turn(loop, ranges), depth)


def most_turns(loop: For, ranges: Mapping[Symbol, Bounds]) -> int | None:
    """Return an upper bound of the turns of `loop`, or None when it is not known."""
    return turn_bounds(loop, ranges)[1]


def turn_bounds(loop: For, ranges: Mapping[Symbol, Bounds]) -> tuple[int, int | None]:
    """Return a lower and an upper bound of the turns of `loop`; 0 and None when nothing is known."""
    span = bounds(subtract(loop.stop, loop.start), ranges)
    if span is None:
        return 0, None
    low, high = (max(0, -(-end // loop.step)) for end in span)
    return low, high


def touched(statement: Statement) -> Iterator[Value]:
    """Yield the values that `statement` itself reads or defines, those in registers included."""
    yield from operands(statement)
    yield from results(statement)
    if isinstance(statement, For):
        yield from statement.carried


def _visit(body: tuple[Statement, ...], path: Path, found: dict[str, Path], spread: frozenset[str]) -> None:
    for statement in body:
        for value in touched(statement):
            if value.buffer is not None:
                found[value.buffer] = _common(found.get(value.buffer, path), path)
        turning = isinstance(statement, For) and statement.index.name not in spread
        inner = (*path, statement) if turning and isinstance(statement, For) else path
        for region in regions(statement):
            _visit(region, inner, found, spread)


def _common(left: Path, right: Path) -> Path:
    count = 0
    while count < min(len(left), len(right)) and left[count] is right[count]:
        count += 1
    return left[:count]


def of_name(buffers: tuple[Buffer, ...]) -> dict[str, Buffer]:
    return {buffer.name: buffer for buffer in buffers}
