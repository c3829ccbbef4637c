"""Emits contractions: blocks for the caches, packed operands, micro-kernels, and what hangs over the edge of a tile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from pypto.codegen.llvm import affine, control, rules
from pypto.codegen.llvm.affine import ZERO, Affine
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.contraction_shape import (
    Blocking,
    Roles,
    Tile,
    depth_run,
    reachable,
    reads_of,
    roles,
    spread_out,
    step_of,
    tile_of,
)
from pypto.codegen.llvm.indices import Frames, Indices
from pypto.codegen.llvm.masked import masked_load, masked_store
from pypto.codegen.llvm.memory import Memory
from pypto.codegen.llvm.micro_kernel import MicroKernel, adds_pairs
from pypto.codegen.llvm.program import Access, Array, Axis, Node, NodeKind, Task
from pypto.codegen.llvm.transposing import pack_transposed, transposable
from pypto.ir.dtypes import I8, I16, I32, U8, DType
from pypto.ir.index import Symbol


class Host(Protocol):
    """What emits the phase around a contraction."""

    builder: FunctionBuilder
    machine: Machine
    frames: Frames
    indices: Indices
    memory: Memory
    blocking: Blocking

    def task(self, task: Task) -> None:
        """Emit an ordinary task."""

    def scratch(self, stem: str, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Return new scratch memory."""

    def function(self, kernel: MicroKernel) -> str:
        """Return the symbol of a micro-kernel."""

    def fresh_symbol(self, limits: affine.Bounds) -> Symbol:
        """Return a new index symbol."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an axis: from `lower` below `upper`, at most `extent` positions."""

    lower: Affine
    upper: Affine
    extent: int


@dataclass(frozen=True, slots=True)
class Rows:
    """The left operand of a block: its first element, the elements from row to row and along the depth."""

    base: Register
    row_step: int
    depth_step: int


POINT = Block(ZERO, affine.number(1), 1)


@dataclass(slots=True)
class ContractionEmitter:
    """Emits one contraction inside an item."""

    host: Host
    contraction: Task
    axes: Roles = field(init=False)
    tile: Tile = field(init=False)
    dtype: DType = field(init=False)
    inner: int = field(init=False)
    """Positions of the depth axes but the first."""
    operands: tuple[int, int] = field(init=False)
    """The nodes that are packed."""
    packed: DType = field(init=False)

    def __post_init__(self) -> None:
        self.axes = roles(self.contraction)
        self.dtype = self.contraction.dtype
        rows, columns = (axis.extent if axis is not None else 1 for axis in (self.axes.row, self.axes.column))
        self.tile = tile_of(min(rows, self.host.blocking.rows), columns, self.dtype, self.host.machine)
        self.inner = math.prod(axis.extent for axis in self.axes.depth[1:])
        assert self.contraction.contraction is not None
        self.operands, self.packed = self.contraction.contraction, self.dtype
        bytes_ = tuple(map(self._byte, self.operands))
        if bytes_[0] is not None and bytes_[1] is not None and adds_pairs(self.host.machine, self.tile.lanes):
            self.operands, self.packed = (bytes_[0], bytes_[1]), I16

    def _byte(self, position: int) -> int | None:
        """Return the value of 8 bits that a node widens; None when it does something else."""
        node = self.contraction.nodes[position]
        if node.kind is not NodeKind.OPERATION or node.name != "cast" or self.dtype != I32:
            return None
        source = self.contraction.nodes[node.operands[0]]
        return node.operands[0] if source.dtype in (I8, U8) else None

    @property
    def pairs(self) -> bool:
        """True when two neighbours in depth are multiplied and added at once."""
        return self.packed != self.dtype

    @property
    def ranges(self) -> affine.Ranges:
        return self.host.indices.ranges

    def emit(self) -> None:
        with self.host.frames.inner():
            self._loops(self.axes.loops)

    def _loops(self, axes: tuple[Axis, ...]) -> None:
        """Emit the loops over axes that are neither rows nor columns nor depth."""
        if not axes:
            self._blocks()
            return

        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with self.host.frames.inner():
                self.host.indices.bind(axes[0].symbol, index)
                self._loops(axes[1:])
            return carried

        start, stop = self.scalar(axes[0].lower), self.scalar(axes[0].upper)
        control.loop(self.host.builder, start, stop, 1, [], turn)

    # -- blocks

    def _blocks(self) -> None:
        across, rows = self.tile.columns, self.tile.rows
        blocking = self.host.blocking
        width = max(1, blocking.columns // across) * across
        height = max(1, blocking.rows // rows) * rows
        first = self.axes.depth[0]
        most = max(1, blocking.depth // self.inner)
        run = depth_run(first.extent, most)

        def columns(block: Block) -> None:
            self._divide(first, run, lambda depth: self._packed(block, depth, height, run))

        self._divide(self.axes.column, width, columns)

    def _packed(self, columns: Block, depth: Block, height: int, run: int) -> None:
        right = self._pack_right(columns, depth, run)

        def rows(block: Block) -> None:
            left = direct_left(self, block, depth) or self._pack_left(block, depth)
            self._tiles(block, columns, depth, left, right)

        self._divide(self.axes.row, height, rows)

    def _divide(self, axis: Axis | None, size: int, body: Callable[[Block], None]) -> None:
        """Emit `body` for each block of an axis of `size` positions (the last one has fewer)."""
        if axis is None:
            body(POINT)
            return
        if axis.extent <= size:
            body(Block(axis.lower, axis.upper, axis.extent))
            return
        low, high = affine.bounds(axis.lower, self.ranges), affine.bounds(axis.upper, self.ranges)
        symbol = self.host.fresh_symbol((low[0] if low else 0, high[1] - 1 if high else axis.extent - 1))

        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with self.host.frames.inner():
                self.host.indices.bind(symbol, index)
                start = affine.symbol(symbol)
                end = affine.extremum("min", affine.add(start, affine.number(size)), axis.upper, self.ranges)
                body(Block(start, end, size))
            return carried

        start, stop = self.scalar(axis.lower), self.scalar(axis.upper)
        control.loop(self.host.builder, start, stop, size, [], turn)

    # -- packing

    def _depth_axes(self, depth: Block) -> tuple[tuple[Axis, ...], Affine]:
        """Return the loops over a run of depth and the position in the run."""
        first, rest = self.axes.depth[0], self.axes.depth[1:]
        position = affine.subtract(affine.symbol(first.symbol), depth.lower)
        for axis in rest:
            position = affine.add(affine.scale(position, axis.extent), affine.symbol(axis.symbol))
        axes = (Axis(first.symbol, depth.extent, depth.lower, depth.upper), *(replace(a, reduced=False) for a in rest))
        return axes, position

    def _pack_left(self, rows: Block, depth: Block) -> Rows:
        """Pack rows one after another, or depth first where memory is contiguous along the rows."""
        task, row = self.contraction, self.axes.row
        axes, position = self._depth_axes(depth)
        length, height = depth.extent * self.inner, -(-rows.extent // self.tile.rows) * self.tile.rows
        reads = reads_of(task.nodes, self.operands[0])
        is_column_major = row is not None and any(abs(step_of(access, row.symbol)) == 1 for access in reads)
        is_column_major = is_column_major and not self.pairs
        place = ZERO
        if row is not None:
            place = affine.subtract(affine.symbol(row.symbol), rows.lower)
            axes = (Axis(row.symbol, rows.extent, rows.lower, rows.upper), *axes)
        if is_column_major:
            array = self._reserve("left", (length, spread_out(height, self.packed)))
            index = (position, place)
        else:
            array = self._reserve("left", (height, spread_out(length + self.pairs, self.packed)))
            index = (place, position)
        self.host.task(self._part(self.operands[0], axes, Access(array, index)))
        if self.pairs:
            self._end_with_zeros(axes[: row is not None], place, depth, array)
        base, pitch = self.host.memory.pointers[array.name], array.shape[1]
        return Rows(base, 1, pitch) if is_column_major else Rows(base, pitch, 1)

    def _pack_right(self, columns: Block, depth: Block, run: int) -> Array:
        """Pack panels of a tile's columns, each contiguous: [panel, depth, column]."""
        column = self.axes.column
        axes, position = self._depth_axes(depth)
        across = self.tile.columns
        count = -(-columns.extent // across)
        array = self._reserve("right", (count, depth.extent * self.inner + self.pairs, across))
        found = transposable(self, run) if not self.pairs else None
        if found is not None:
            pack_transposed(self, found, columns, depth, array)
            return array
        source = self._part(self.operands[1], axes, Access(array, (ZERO, position, ZERO)))
        if column is None:
            self.host.task(source)
            return array
        lane, panel = self.host.fresh_symbol((0, across - 1)), ZERO
        left = affine.subtract(columns.upper, columns.lower)
        outer: tuple[Axis, ...] = ()
        if count > 1:
            number = self.host.fresh_symbol((0, count - 1))
            panel = affine.symbol(number)
            panels = affine.divide(affine.add(left, affine.number(across - 1)), across, self.ranges)
            outer = (Axis(number, count, ZERO, panels),)
        left = affine.subtract(left, affine.scale(panel, across))
        width = affine.extremum("min", affine.number(across), left, self.ranges)
        inside = Axis(lane, min(across, columns.extent), ZERO, width)
        where = affine.add(columns.lower, affine.add(affine.scale(panel, across), affine.symbol(lane)))
        moved = moved_axis(source, column.symbol, where, self.ranges)
        target = Access(array, (panel, position, affine.symbol(lane)))
        self.host.task(replace(moved, axes=(*outer, *axes, inside), target=target))
        return array

    def _reserve(self, stem: str, shape: tuple[int, ...]) -> Array:
        return self.host.scratch(stem, self.packed, shape)

    def _part(self, position: int, axes: tuple[Axis, ...], target: Access) -> Task:
        """Return the task that packs a node, in the dtype that the micro-kernel reads."""
        task = part(self.contraction, position, axes, target)
        if task.dtype == self.packed:
            return task
        widened = Node(NodeKind.OPERATION, self.packed, "cast", (task.result,), (("dtype", self.packed),))
        return replace(task, nodes=(*task.nodes, widened), result=len(task.nodes))

    def _end_with_zeros(self, axes: tuple[Axis, ...], place: Affine, depth: Block, array: Array) -> None:
        """Put 0 behind each row: the partner of the last position when their number is odd."""
        end = affine.scale(affine.subtract(depth.upper, depth.lower), self.inner)
        zero = Node(NodeKind.CONSTANT, self.packed, value=0)
        self.host.task(Task(Access(array, (place, end)), axes, (zero,), 0))

    # -- tiles

    def _tiles(self, rows: Block, columns: Block, depth: Block, left: Rows, right: Array) -> None:
        """Emit the loops over the tiles of a block: a panel of the right operand stays in the first cache."""
        builder = self.host.builder
        length = affine.subtract(depth.upper, depth.lower)
        run = builder.binary("mul", self.scalar(length), constant(self.inner, "i64"))
        if self.pairs:
            run = builder.binary("lshr", builder.binary("add", run, constant(1, "i64")), constant(1, "i64"))
        first = self.scalar(affine.subtract(depth.lower, self.axes.depth[0].lower))
        adds = builder.compare("icmp ne", first, constant(0, "i64"))
        element = rules.element(self.packed)
        steps = (left.row_step, left.depth_step, right.shape[2])
        kernel = MicroKernel(self.tile, rules.element(self.dtype), self.dtype.bytes, *steps, self.pairs)
        call = _Call(self, self.host.function(kernel), run, adds, rows, columns)

        def column(index: Register, carried: list[Register]) -> list[Register]:
            with self.host.frames.inner():
                from_start = builder.binary("sub", index, self.scalar(columns.lower))
                place = builder.binary("mul", from_start, constant(right.shape[1], "i64"))
                panel = builder.offset(self.host.memory.pointers[right.name], place, element)
                self._each(rows, self.tile.rows, lambda row: self._one(call, left, (row, index), panel))
            return carried

        start, stop = self.scalar(columns.lower), self.scalar(columns.upper)
        control.loop(builder, start, stop, self.tile.columns, [], column)

    def _each(self, block: Block, step: int, body: Callable[[Register], None]) -> None:
        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with self.host.frames.inner():
                body(index)
            return carried

        control.loop(self.host.builder, self.scalar(block.lower), self.scalar(block.upper), step, [], turn)

    def _one(self, call: _Call, left: Rows, position: tuple[Register, Register], panel: Register) -> None:
        builder = self.host.builder
        from_start = builder.binary("sub", position[0], self.scalar(call.rows.lower))
        place = builder.binary("mul", from_start, constant(left.row_step, "i64"))
        panel_of_rows = builder.offset(left.base, place, rules.element(self.packed))
        call.emit(panel_of_rows, panel, position)

    def scalar(self, form: Affine) -> Register:
        """Return the value of an index expression."""
        return self.host.indices.scalar(form)


@dataclass(slots=True)
class _Call:
    """Calls of the micro-kernel: for whole tiles, and by way of memory of its own for one that hangs over the edge."""

    emitter: ContractionEmitter
    symbol: str
    run: Register
    adds: Register
    rows: Block
    columns: Block

    def emit(self, left: Register, right: Register, position: tuple[Register, Register]) -> None:
        host, tile = self.emitter.host, self.emitter.tile
        builder = host.builder
        target, pitch = self._target(position)
        rows = builder.binary("sub", self.emitter.scalar(self.rows.upper), position[0])
        columns = builder.binary("sub", self.emitter.scalar(self.columns.upper), position[1])
        if self._is_even():
            self._call(left, right, target, constant(pitch, "i64"), self.adds)
            return
        enough = builder.compare("icmp sge", rows, constant(tile.rows, "i64"))
        whole = builder.binary("and", enough, builder.compare("icmp sge", columns, constant(tile.columns, "i64")))

        def edge() -> None:
            array = host.scratch("edge", self.emitter.dtype, (tile.rows, tile.columns))
            base = host.memory.pointers[array.name]
            self._call(left, right, base, constant(tile.columns, "i64"), constant(False, "i1"))
            self._copy(base, target, pitch, rows, columns)

        control.branch(builder, whole, lambda: self._call(left, right, target, constant(pitch, "i64"), self.adds), edge)

    def _is_even(self) -> bool:
        """True when no tile hangs over the edge."""
        sides = ((self.rows, self.emitter.tile.rows), (self.columns, self.emitter.tile.columns))
        lengths = [(affine.subtract(block.upper, block.lower), size) for block, size in sides]
        return all(length.is_constant and length.constant % size == 0 for length, size in lengths)

    def _target(self, position: tuple[Register, Register]) -> tuple[Register, int]:
        """Return the address of a tile's first result and the elements from row to row."""
        host, task, axes = self.emitter.host, self.emitter.contraction, self.emitter.axes
        for axis, index in zip((axes.row, axes.column), position, strict=True):
            if axis is not None:
                host.indices.bind(axis.symbol, index)
        address = host.memory.address(task.target.array, host.memory.flat(task.target))
        return address, step_of(task.target, axes.row.symbol) if axes.row is not None else 0

    def _call(self, left: Register, right: Register, target: Register, pitch: Register, adds: Register) -> None:
        values = ", ".join(item.typed for item in (left, right, target, self.run, pitch, adds))
        self.emitter.host.builder.line(f"call void @{self.symbol}({values})")

    def _copy(self, source: Register, target: Register, pitch: int, rows: Register, columns: Register) -> None:
        """Store the part of a tile that counts."""
        builder, tile = self.emitter.host.builder, self.emitter.tile
        element, width = rules.element(self.emitter.dtype), self.emitter.dtype.bytes
        most = constant(tile.rows, "i64")
        count = builder.select(builder.compare("icmp slt", rows, most), rows, most)

        def turn(row: Register, carried: list[Register]) -> list[Register]:
            origin = builder.offset(source, builder.binary("mul", row, constant(tile.columns, "i64")), element)
            place = builder.offset(target, builder.binary("mul", row, constant(pitch, "i64")), element)
            for vector in range(tile.vectors):
                shift = constant(vector * tile.lanes, "i64")
                mask = self._mask(builder.binary("sub", columns, shift))
                value = builder.load(builder.offset(origin, shift, element), element, tile.lanes, width)
                address = builder.offset(place, shift, element)
                before = masked_load(builder, address, mask, constant(0, element, tile.lanes), width)
                operator = "fadd" if self.emitter.dtype.is_float else "add"
                total = builder.binary(operator, before, value)
                adds = Register(self.adds.text, "i1")
                kept = builder.emit(f"select {adds.typed}, {total.typed}, {value.typed}", element, tile.lanes)
                masked_store(builder, kept, address, mask, width)
            return carried

        control.loop(builder, constant(0, "i64"), count, 1, [], turn)

    def _mask(self, left: Register) -> Register:
        builder, lanes = self.emitter.host.builder, self.emitter.tile.lanes
        if lanes == 1:
            return builder.compare("icmp slt", constant(0, "i64"), left)
        steps = ", ".join(f"i64 {number}" for number in range(lanes))
        return builder.compare("icmp slt", Register(f"<{steps}>", "i64", lanes), builder.splat(left, lanes))


def direct_left(emitter: ContractionEmitter, rows: Block, depth: Block) -> Rows | None:
    """Return the left operand where it lies, when a micro-kernel can read it there; else None.

    It must be plain memory with one step along all of the depth, whose rows do not meet in few sets of the cache, and
    whole tiles of rows must lie in its array.
    """
    node, row, axes = emitter.contraction.nodes[emitter.operands[0]], emitter.axes.row, emitter.axes.depth
    access = node.access
    if access is None or access.guarded or node.operands or node.dtype != emitter.packed or row is None:
        return None
    form = emitter.host.memory.flat(access)
    step, along, inner = form.coefficient(row.symbol), form.coefficient(axes[-1].symbol), 1
    for axis in reversed(axes):
        if form.coefficient(axis.symbol) != along * inner:
            return None
        inner *= axis.extent
    own = {row.symbol, *(axis.symbol for axis in axes)}
    rest = Affine(form.constant, tuple(term for term in form.terms if term[0] not in own))
    crowded = step * access.array.dtype.bytes % 1024 == 0 and emitter.tile.rows > 4
    if affine.symbols(rest) & own or along != 1 or crowded or not _has_whole_tiles(emitter, access, row, rows):
        return None
    first = affine.add(affine.scale(rows.lower, step), affine.scale(depth.lower, along * inner // axes[0].extent))
    return Rows(emitter.host.memory.address(access.array, affine.add(rest, first)), step, along)


def _has_whole_tiles(emitter: ContractionEmitter, access: Access, row: Axis, rows: Block) -> bool:
    """True when the rows of a block, filled up to whole tiles, lie in the array."""
    size = emitter.tile.rows
    length = affine.subtract(rows.upper, rows.lower)
    if length.is_constant and length.constant % size == 0:
        return True
    for extent, index in zip(access.array.shape, access.index, strict=True):
        if row.symbol in affine.symbols(index):
            rest = affine.subtract(index, affine.symbol(row.symbol))
            limits = affine.bounds(affine.add(rest, rows.lower), emitter.ranges)
            if not access.array.is_local or row.symbol in affine.symbols(rest) or limits is None:
                return False
            return limits[1] + -(-rows.extent // size) * size <= extent
    return False


def part(task: Task, result: int, axes: tuple[Axis, ...], target: Access) -> Task:
    """Return the task that stores one node of `task`, with only the nodes that it needs."""
    kept = sorted(reachable(task.nodes, result))
    numbers = {old: new for new, old in enumerate(kept)}
    nodes = tuple(
        replace(task.nodes[old], operands=tuple(numbers[item] for item in task.nodes[old].operands)) for old in kept
    )
    return Task(target, axes, nodes, numbers[result])


def moved_axis(task: Task, symbol: Symbol, form: Affine, ranges: affine.Ranges) -> Task:
    """Return `task` with a symbol replaced in what it reads."""
    values = {symbol: form}

    def change(node: Node) -> Node:
        if node.access is not None:
            index = tuple(affine.substitute(item, values, ranges) for item in node.access.index)
            return replace(node, access=replace(node.access, index=index))
        if isinstance(node.value, Affine):
            return replace(node, value=affine.substitute(node.value, values, ranges))
        return node

    return replace(task, nodes=tuple(map(change, task.nodes)))
