"""Packing an operand whose memory runs along the depth: squares of a register's lanes, transposed in registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.codegen.llvm import affine, control, rules
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.codegen.llvm.program import Access, Array, NodeKind

if TYPE_CHECKING:
    from pypto.codegen.llvm.contraction import Block, ContractionEmitter


def transposable(emitter: ContractionEmitter, run: int) -> tuple[Access, int, Affine] | None:
    """Return the right operand, the elements from column to column, and the rest of its place in the array.

    None unless it is plain memory that is contiguous along its one axis of depth, cut into runs (of `run` positions)
    that are never shorter than a register.
    """
    task, column, lanes = emitter.contraction, emitter.axes.column, emitter.tile.lanes
    assert task.contraction is not None
    node = task.nodes[task.contraction[1]]
    if node.kind is not NodeKind.LOAD or node.access is None or node.access.guarded or node.operands:
        return None
    if column is None or len(emitter.axes.depth) != 1 or node.access.array.dtype.kind == "bool" or lanes < 4:
        return None
    depth = emitter.axes.depth[0]
    length = affine.subtract(depth.upper, depth.lower)
    if not length.is_constant or length.constant - (-(-length.constant // run) - 1) * run < lanes:
        return None
    form = emitter.host.memory.flat(node.access)
    step = form.coefficient(column.symbol)
    rest = Affine(form.constant, tuple(term for term in form.terms if term[0] not in (column.symbol, depth.symbol)))
    linear = not affine.symbols(rest) & {column.symbol, depth.symbol}
    if not linear or form.coefficient(depth.symbol) != 1 or abs(step) <= 1:
        return None
    return node.access, step, rest


def pack_transposed(
    emitter: ContractionEmitter, source: tuple[Access, int, Affine], columns: Block, depth: Block, target: Array
) -> None:
    """Fill `target` [panel, depth, column]. Columns past the end repeat the last one; nobody reads their products."""
    builder, tile = emitter.host.builder, emitter.tile
    lanes, element = tile.lanes, rules.element(target.dtype)
    access, step, rest = source
    base = emitter.host.memory.address(access.array, rest)
    start, stop = emitter.scalar(columns.lower), emitter.scalar(columns.upper)
    first, last = emitter.scalar(depth.lower), emitter.scalar(depth.upper)
    final = builder.binary("sub", stop, constant(1, "i64"))
    latest = builder.binary("sub", last, constant(lanes, "i64"))
    length = builder.binary("sub", last, first)

    def group(index: Register, carried: list[Register]) -> list[Register]:
        """`lanes` columns over the whole run."""
        where = builder.binary("sub", index, start)
        panel = builder.binary("udiv", where, constant(tile.columns, "i64"))
        inside = builder.binary("urem", where, constant(tile.columns, "i64"))
        place = builder.binary("mul", panel, constant(target.shape[1] * tile.columns, "i64"))
        place = builder.binary("add", place, inside)
        out = builder.offset(emitter.host.memory.pointers[target.name], place, element)
        rows = [_row(builder, base, (index, number), final, step, element) for number in range(lanes)]

        def square(position: Register, inner: list[Register]) -> list[Register]:
            begin = builder.binary("add", first, position)
            early = builder.compare("icmp slt", begin, latest)
            begin = builder.select(early, begin, latest)  # the last square overlaps the one before
            values = [
                builder.load(builder.offset(row, begin, element), element, lanes, target.dtype.bytes) for row in rows
            ]
            shift = builder.binary("mul", builder.binary("sub", begin, first), constant(tile.columns, "i64"))
            origin = builder.offset(out, shift, element)
            for number, value in enumerate(transposed(builder, values)):
                address = builder.offset(origin, constant(number * tile.columns, "i64"), element)
                builder.store(value, address, target.dtype.bytes)
            return inner

        control.loop(builder, constant(0, "i64"), length, lanes, [], square)
        return carried

    control.loop(builder, start, stop, lanes, [], group)


def _row(
    builder: FunctionBuilder, base: Register, column: tuple[Register, int], final: Register, step: int, element: str
) -> Register:
    """Return the address of a column's element at depth 0; of the last column's when there is no such column."""
    wanted = builder.binary("add", column[0], constant(column[1], "i64"))
    wanted = builder.select(builder.compare("icmp slt", wanted, final), wanted, final)
    return builder.offset(base, builder.binary("mul", wanted, constant(step, "i64")), element)


def transposed(builder: FunctionBuilder, rows: list[Register]) -> list[Register]:
    """Return the columns of a square of registers; as many registers as lanes, a power of two."""
    lanes, distance, result = len(rows), 1, list(rows)
    while distance < lanes:
        for row in range(lanes):
            if not row & distance:
                pair = result[row], result[row + distance]
                low = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
                high = [lane + distance if not lane & distance else lanes + lane for lane in range(lanes)]
                result[row], result[row + distance] = _shuffle(builder, pair, low), _shuffle(builder, pair, high)
        distance *= 2
    return result


def _shuffle(builder: FunctionBuilder, pair: tuple[Register, Register], places: list[int]) -> Register:
    mask = ", ".join(f"i32 {place}" for place in places)
    text = f"shufflevector {pair[0].typed}, {pair[1].typed}, <{len(places)} x i32> <{mask}>"
    return builder.emit(text, pair[0].element, pair[0].lanes)
