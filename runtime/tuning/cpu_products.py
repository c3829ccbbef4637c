"""Cycles of one contraction on one core: packing, micro-kernels, and the panels that the caches serve."""

from __future__ import annotations

import math

from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.contraction_shape import Blocking, Roles, Tile, depth_run, reads_of, roles, step_of, tile_of
from pypto.codegen.llvm.program import Task
from pypto.runtime.tuning.cpu_figures import Figures

CALL = 24.0
"""Cycles around one micro-kernel: call, addresses, first loads."""


def contraction_cycles(task: Task, machine: Machine, blocking: Blocking, figures: Figures) -> float:
    """Return the cycles of one run of a contraction inside an item.

    The loops are those of `ContractionEmitter`: columns, depth, packed right operand, rows, packed left operand, tiles.
    """
    axes = roles(task)
    rows, columns = (axis.extent if axis is not None else 1 for axis in (axes.row, axes.column))
    tile = tile_of(min(rows, blocking.rows), columns, task.dtype, machine)
    inner = math.prod(axis.extent for axis in axes.depth[1:])
    run = depth_run(axes.depth[0].extent, max(1, blocking.depth // inner)) * inner
    depth = math.prod(axis.extent for axis in axes.depth)
    runs = -(-depth // run)
    width = max(1, blocking.columns // tile.columns) * tile.columns
    height = max(1, blocking.rows // tile.rows) * tile.rows
    panels, strips = -(-columns // tile.columns), -(-rows // tile.rows)
    cycles = panels * strips * runs * tile_cycles(tile, run, task.dtype.bytes, min(rows, height), figures)
    cycles += _edges(rows, columns, tile, runs)
    cycles += _packing(task, axes, machine, (rows, columns, depth), -(-columns // width), tile, figures)
    return cycles * math.prod(axis.extent for axis in axes.loops)


def tile_cycles(tile: Tile, run: int, element: int, height: int, figures: Figures) -> float:
    """Return the cycles of one micro-kernel call.

    One step of depth multiplies `rows` x `vectors` registers; it loads the vectors and broadcasts the rows, two a
    cycle; fewer accumulators than a multiplication takes cycles leave units idle. A panel of the right operand comes
    from the first cache while it stays there from one strip of rows to the next.
    """
    products, loads = tile.rows * tile.vectors, tile.rows + tile.vectors
    step = max(products * figures.vector_every, loads * figures.vector_every, figures.fma_latency)
    line = tile.columns * element
    panel = run * line
    step += line * _surcharge(panel + tile.rows * run * element, figures)
    step += tile.rows * element * _surcharge(height * run * element + panel, figures)
    stores = products * figures.vector_every * 4
    return run * step + stores + CALL


def _surcharge(footprint: float, figures: Figures) -> float:
    """Return cycles per byte beyond those of the first cache; half of them hide behind multiplications."""
    level = figures.level(footprint)
    return 0.0 if level is figures.levels[0] else 0.5 * level.read


def _edges(rows: int, columns: int, tile: Tile, runs: int) -> float:
    """Return the cycles of copying tiles that hang over the edge."""
    strips, panels = -(-rows // tile.rows), -(-columns // tile.columns)
    over = (strips if columns % tile.columns else 0) + (panels if rows % tile.rows else 0)
    return over * runs * tile.rows * (4.0 * tile.vectors + 2)


def _packing(
    task: Task,
    axes: Roles,
    machine: Machine,
    sizes: tuple[int, int, int],
    column_blocks: int,
    tile: Tile,
    figures: Figures,
) -> float:
    """Return the cycles of packing: the right operand once, the left one for each block of columns, unless it is read
    where it lies.
    """
    rows, columns, depth = sizes
    assert task.contraction is not None
    cycles = 0.0
    for number, (place, symbol) in enumerate(zip(task.contraction, (axes.row, axes.column), strict=True)):
        count = depth * (rows * column_blocks if number == 0 else columns)
        reads = reads_of(task.nodes, place)
        along = [step_of(access, axes.depth[-1].symbol) for access in reads]
        across = [step_of(access, symbol.symbol) if symbol is not None else 0 for access in reads]
        is_plain = task.nodes[place].access is not None
        if (
            number == 0
            and is_plain
            and along == [1]
            and not (across[0] * task.dtype.bytes % 1024 == 0 and tile.rows > 4)
        ):
            continue  # read where it lies
        lanes = machine.vector_bits / task.dtype.bits
        contiguous = all(abs(step) == 1 for step in (along if number == 0 else across))
        per_vector = (2.0 if contiguous else 3.5) if is_plain else 4.0
        cycles += count / lanes * per_vector
    return cycles
