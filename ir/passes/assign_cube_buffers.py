"""Write a product out for the cube core: blocks over cores, panels through L1, steps through L0, results in L0C.

    grid %core
    for %tile                              one block of the result after the other
      for %panel                           one panel of the contracted axis
        load x, load y                     into L1                    pipe MTE2
        for %step                          one step of the panel
          load_a, load_b                   into L0A and L0B           pipe MTE1
          mmad                             adds up in L0C             pipe M
      store fixpipe                        into global memory         pipe FIX

A loop that would turn once is left out. Values are matrices in logical order; buffers have the size of whole fractals.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pypto.ir.base.locations import Location
from pypto.ir.builder import Builder
from pypto.ir.dtypes import DType
from pypto.ir.index import Extent, Index, Symbol, add, floor_divide, make, minimum, multiply, subtract
from pypto.ir.nodes import (
    Attribute,
    Buffer,
    For,
    GridAxis,
    Kernel,
    Level,
    Load,
    Operation,
    Range,
    Region,
    Space,
    Store,
    TileType,
    Value,
)
from pypto.ir.operations.cube import accumulator
from pypto.ir.passes.choose_cube_tiles import Blocks, cube_cores, grain, rounded_up, the_product
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.passes.products import Product, Source
from pypto.ir.passes.rewriting import first_free_number

Axis = str | int
"""``m``, ``n``, ``k``, or the number of a batch axis of the result."""


@dataclass(frozen=True, slots=True)
class Part:
    """Where a block lies on one axis."""

    offset: Index
    extent: Extent


Parts = Mapping[Axis, Part]


def assign_cube_buffers(kernel: Kernel) -> Kernel:
    """Return `kernel`, one product with the attribute ``cube_tile``, at level *buffered*."""
    return Writer(kernel).written()


@dataclass(slots=True)
class Writer:
    """Writes the body of one kernel."""

    kernel: Kernel
    product: Product = field(init=False)
    blocks: Blocks = field(init=False)
    loads: dict[str, Load] = field(init=False)
    builder: Builder = field(init=False)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    extents: dict[Axis, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.product = the_product(self.kernel)
        tile = dict(self.kernel.attributes)["cube_tile"]
        assert isinstance(tile, tuple)
        rows, columns, step, panel = (item for item in tile if isinstance(item, int))
        self.blocks = Blocks(rows, columns, step, panel)
        self.loads = {item.result.name: item for item in self.kernel.body if isinstance(item, Load)}
        self.builder = Builder(numbers=itertools.count(first_free_number(self.kernel)))
        *batch, m, n = self.product.matmul.results[0].shape
        k = self.product.matmul.operands[0].shape[-1]
        named: list[tuple[Axis, Extent]] = [*enumerate(batch), ("m", m), ("n", n), ("k", k)]
        self.extents = {name: extent for name, extent in named if isinstance(extent, int)}

    @property
    def location(self) -> Location:
        return self.product.matmul.location

    # loops

    def written(self) -> Kernel:
        """The blocks go over the cores, or stay in the block of the grid that is there already."""
        order = self.result_axes()
        counts = {axis: -(-self.extents[axis] // self.tile(axis)) for axis in order}
        count = 1
        for item in counts.values():
            count *= item
        cores = 1 if self.kernel.grid else min(cube_cores(self.kernel), count)
        core = Symbol("core") if cores > 1 else 0
        self.loop("tile", core, count, cores, lambda tile: self.block(self.located(tile, counts)))
        grid = (GridAxis(core, cores),) if isinstance(core, Symbol) else self.kernel.grid
        made = replace(self.kernel, grid=grid, body=tuple(self.builder.statements), level=Level.BUFFERED)
        return replace(made, buffers=tuple(self.buffers.values()), attributes=self.attributes())

    def result_axes(self) -> list[Axis]:
        return [*(axis for axis in self.extents if isinstance(axis, int)), "m", "n"]

    def attributes(self) -> tuple[tuple[str, Attribute], ...]:
        """Turns of the loop over blocks touch different elements of the results, as synchronisation may rely on."""
        attributes = dict(self.kernel.attributes)
        before = attributes.get("independent", ())
        assert isinstance(before, tuple)
        attributes["independent"] = (*before, "tile")
        return tuple(sorted(attributes.items()))

    def tile(self, axis: Axis) -> int:
        return {"m": self.blocks.rows, "n": self.blocks.columns}.get(axis, 1) if isinstance(axis, str) else 1

    def located(self, tile: Index, counts: dict[Axis, int]) -> dict[Axis, Part]:
        """Return where block number `tile` lies; the last axis runs fastest."""
        parts: dict[Axis, Part] = {}
        following = 1
        for position, (axis, count) in enumerate(reversed(counts.items())):
            digit = floor_divide(tile, following)
            digit = digit if position == len(counts) - 1 else make("%", digit, count)
            parts[axis] = self.part(axis, digit if count > 1 else 0, self.tile(axis))
            following *= count
        return parts

    def part(self, axis: Axis, number: Index, size: int) -> Part:
        return self.piece(multiply(number, size), self.extents[axis], size)

    def piece(self, offset: Index, whole: Extent, size: int) -> Part:
        """Return the piece of `size` elements at `offset` of an axis of `whole`, or what is left there."""
        if isinstance(whole, int) and whole <= size:
            return Part(offset, whole)
        even = isinstance(whole, int) and whole % size == 0
        return Part(offset, size if even else minimum(size, subtract(whole, offset)))

    def loop(self, name: str, start: Index, stop: Index, step: int, body: Callable[[Index], None]) -> None:
        """Append a loop without carried values around what `body` appends; no loop if it would turn once."""
        if isinstance(stop, int) and stop <= step:
            body(start)
            return
        outer, self.builder.statements = self.builder.statements, []
        body(Symbol(name))
        inner, self.builder.statements = self.builder.statements, outer
        self.builder.append(For(Symbol(name), start, stop, step, (), (), tuple(inner), (), (), self.location))

    def adding(self, name: str, stop: Extent, step: int, before: Value, body: Callable[[Index, Value], Value]) -> Value:
        """Append a loop that carries what adds up, and return that; no loop if it would turn once."""
        if isinstance(stop, int) and stop <= step:
            return body(0, before)
        outer, self.builder.statements = self.builder.statements, []
        carried = self.placed(before.type, before.buffer)
        after = body(Symbol(name), carried)
        inner, self.builder.statements = self.builder.statements, outer
        result = self.placed(before.type, before.buffer)
        self.builder.append(
            For(Symbol(name), 0, stop, step, (carried,), (before,), tuple(inner), (after,), (result,), self.location)
        )
        return result

    # one block

    def block(self, parts: dict[Axis, Part]) -> None:
        dtype = self.product.dtype
        shape = (parts["m"].extent, parts["n"].extent)
        home = self.buffer("c", Space.L0C, accumulator(dtype), (self.blocks.rows, self.blocks.columns))
        start = self.placed(TileType(accumulator(dtype), shape), home)
        self.append("undefined", (), start, dtype=start.dtype, shape=shape)
        bias = None if self.product.bias is None else self.bias(self.product.bias, parts)
        total = self.adding(
            "panel",
            self.extents["k"],
            self.blocks.panel,
            start,
            lambda k, before: self.panel(
                parts | {"k": self.piece(k, self.extents["k"], self.blocks.panel)}, before, bias
            ),
        )
        self.stores(total, parts)

    def bias(self, source: Source, parts: Parts) -> Value:
        labels: list[Axis] = ["n"]
        row = self.into_l1("bias_row", source, labels, parts, (1, self.blocks.columns))
        dtype = accumulator(self.product.dtype)
        home = self.buffer("bias", Space.BT, dtype, (self.blocks.columns,))
        made = self.placed(TileType(dtype, (parts["n"].extent,)), home)
        return self.append("load_bias", (row,), made)

    def panel(self, parts: dict[Axis, Part], before: Value, bias: Value | None) -> Value:
        blocks = self.blocks
        x = self.into_l1("x", self.product.left, ["m", "k"], parts, (blocks.rows, blocks.panel))
        y = self.into_l1("y", self.product.right, ["k", "n"], parts, (blocks.panel, blocks.columns))
        along = parts["k"]

        def step(offset: Index, carried: Value) -> Value:
            inner = self.piece(offset, along.extent, blocks.step)
            return self.step((x, y), {**parts, "k": inner}, add(along.offset, offset), carried, bias)

        return self.adding("step", along.extent, blocks.step, before, step)

    def step(
        self, panels: tuple[Value, Value], parts: dict[Axis, Part], turn: Index, before: Value, bias: Value | None
    ) -> Value:
        blocks, (x, y) = self.blocks, panels
        a = self.into_l0("load_a", Space.L0A, x, self.product.left, ("m", "k"), parts, (blocks.rows, blocks.step))
        b = self.into_l0("load_b", Space.L0B, y, self.product.right, ("k", "n"), parts, (blocks.step, blocks.columns))
        made = self.placed(before.type, before.buffer)
        if bias is None:
            return self.append("mmad", (before, a, b), made, turn=turn)
        return self.append("mmad_bias", (before, a, b, bias), made, turn=turn)

    def stores(self, total: Value, parts: Parts) -> None:
        product = self.product
        assert product.stores, "the kernel was split off to store this product"
        for store in product.stores:
            region = self.region(store.region, self.result_axes(), parts)
            shape = tuple(item.extent for item in region)
            dtype = store.value.dtype
            value = self.placed(TileType(dtype, shape), total.buffer)
            self.append("fixpipe", (total,), value, dtype=dtype, relu=product.relu, shape=shape)
            self.builder.append(Store(store.target, region, value, False, store.location))

    # copies

    def into_l1(self, name: str, source: Source, labels: list[Axis], parts: Parts, shape: tuple[int, int]) -> Value:
        load = self.loads[source.base.name]
        order = self.labels(source, labels)
        region = self.region(load.region, order, parts)
        stored = shape[::-1] if source.transposed and len(labels) > 1 else shape
        home = self.buffer(name, Space.L1, load.result.dtype, stored)
        value = self.placed(TileType(load.result.dtype, tuple(item.extent for item in region)), home)
        self.builder.append(Load(value, load.source, region, None, load.location))
        return value

    def labels(self, source: Source, matrix: list[Axis]) -> list[Axis]:
        """Return the axes of the base of an operand: those of its batch, then of its matrix."""
        operand = source.chain[0].results[0] if source.chain else source.base
        rank = len(self.product.matmul.results[0].shape) - 2
        batch = operand.shape[: -len(matrix)] if len(matrix) == 2 else ()
        labels: list[Axis] = [rank - len(batch) + k for k, extent in enumerate(batch) if extent != 1]
        return labels + (matrix[::-1] if source.transposed else matrix)

    def region(self, region: Region, labels: list[Axis], parts: Parts) -> Region:
        """Return the part of `region` that a block has: axes longer than 1 are those of `labels` in their order."""
        long = iter([axis for axis in labels if self.extents[axis] != 1])
        return tuple(item if item.extent == 1 else self.cut(item, parts[next(long)]) for item in region)

    def cut(self, item: Range, part: Part) -> Range:
        return Range(add(item.offset, part.offset), part.extent)

    def into_l0(
        self,
        name: str,
        space: Space,
        panel: Value,
        source: Source,
        axes: tuple[str, str],
        parts: Parts,
        shape: tuple[int, int],
    ) -> Value:
        """Append the copy of a step of `panel`: all of it along its own axis, the step along the contracted one."""
        extents = (parts[axes[0]].extent, parts[axes[1]].extent)
        home = self.buffer(name.removeprefix("load_"), space, panel.dtype, shape)
        made = self.placed(TileType(panel.dtype, extents), home)
        order = axes[::-1] if source.transposed else axes
        long = iter([axis for axis in order if self.extents[axis] != 1])
        ranges = tuple((0, 1, 1) if extent == 1 else self.along(next(long), parts) for extent in panel.shape)
        return self.append(name, (panel,), made, ranges=ranges, shape=extents, transposed=source.transposed)

    def along(self, axis: str, parts: Parts) -> tuple[Index, Extent, int]:
        return (parts[axis].offset if axis == "k" else 0, parts[axis].extent, 1)

    # values

    def buffer(self, name: str, space: Space, dtype: DType, shape: tuple[int, ...]) -> str:
        """Return the name of a buffer of whole fractals that holds a matrix of `shape`."""
        unit = grain(dtype) if space is not Space.BT else 1
        padded = tuple(extent if extent == 1 else rounded_up(extent, unit) for extent in shape)
        if space not in (Space.BT, Space.L1):
            padded = tuple(rounded_up(extent, ASCEND_910B1.fractal) for extent in padded)
        self.buffers.setdefault(name, Buffer(name, space, dtype, padded))
        return name

    def placed(self, type_: TileType, buffer: str | None) -> Value:
        return replace(self.builder.value(type_), buffer=buffer)

    def append(self, name: str, operands: tuple[Value, ...], result: Value, **attributes: object) -> Value:
        made = Operation(name, operands, (result,), tuple(sorted(attributes.items())), self.location)  # type: ignore[arg-type]
        self.builder.append(made)
        return result
