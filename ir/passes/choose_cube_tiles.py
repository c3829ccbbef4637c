"""Choose the blocks in which the cube core computes a product: from the sizes of L0A, L0B, L0C and L1.

A block of the result is `rows` by `columns`; it stays in L0C while the contracted axis is gone through, `step` elements
at a time in L0A and L0B, `panel` elements at a time in L1. All are whole fractals. Of all blocks that fit, that one is
taken which takes least time: the products, or the copies into L1 when these take longer, of the core with most blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pypto.ir.dtypes import DType
from pypto.ir.nodes import Kernel, Space
from pypto.ir.passes.footprint import CAPACITIES
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.passes.products import Product, Products
from pypto.ir.schedule import Schedule

SLOTS = 2
"""Slots that L0A, L0B and L1 have room for, so that copies run while products do."""

FEED = 80
"""Bytes that reach L1 in one cycle: 77 to 85 were measured in products of matrices on silicon."""

PANEL_BYTES = 512
"""Most bytes of a row of a panel: longer bursts are no faster, and short panels let the first product start soon."""

ACCUMULATOR_BYTES = 4


@dataclass(frozen=True, slots=True)
class Blocks:
    """Extents of a block of the result and of what goes through L0 and L1 at a time."""

    rows: int
    columns: int
    step: int
    panel: int


@dataclass(frozen=True, slots=True)
class Extents:
    """Extents of a product: `batch` matrices of [m, k] times [k, n]."""

    batch: int
    m: int
    k: int
    n: int


def choose_cube_tiles(kernel: Kernel) -> Kernel:
    """Return `kernel`, one product, with the attribute ``cube_tile``: rows, columns, step and panel of its blocks."""
    product = the_product(kernel)
    extents, share = extents_of(product), share_of(kernel)
    if share is not None:
        extents = replace(extents, batch=1, m=min(extents.m, share))
    blocks = choose_blocks(extents, product.dtype, cube_cores(kernel), Schedule.of(kernel), share)
    attributes = dict(kernel.attributes)
    attributes["cube_tile"] = (blocks.rows, blocks.columns, blocks.step, blocks.panel)
    return replace(kernel, attributes=tuple(sorted(attributes.items())))


def share_of(kernel: Kernel) -> int | None:
    """Return the rows that a cube core goes through before its vector cores take over; None when it works alone."""
    share = dict(kernel.attributes).get("share")
    rows = share[2] if isinstance(share, tuple) else None
    return rows if isinstance(rows, int) else None


def the_product(kernel: Kernel) -> Product:
    """Return the one product of a kernel for the cube cores."""
    (product,) = Products(kernel).all()
    assert isinstance(product, Product), "the kernel was split off for this product"
    return product


def extents_of(product: Product) -> Extents:
    *batch, m, n = (int(extent) for extent in product.matmul.results[0].shape if isinstance(extent, int))
    k = product.matmul.operands[0].shape[-1]
    assert isinstance(k, int)
    return Extents(math.prod(batch), m, k, n)


def cube_cores(kernel: Kernel) -> int:
    wanted = Schedule.of(kernel).aicore_num
    return min(ASCEND_910B1.cube_cores, wanted) if wanted else ASCEND_910B1.cube_cores


def grain(dtype: DType) -> int:
    """Return what the extents of blocks are multiples of: a fractal in both directions, so that it may be turned."""
    return max(ASCEND_910B1.fractal, ASCEND_910B1.block_bytes // dtype.bytes)


def rounded_up(extent: int, multiple: int) -> int:
    return -(-extent // multiple) * multiple


def choose_blocks(extents: Extents, dtype: DType, cores: int, schedule: Schedule, share: int | None = None) -> Blocks:
    """Return the blocks that take least time, whose rows divide `share` if there is one; `schedule` may ask for rows
    and columns (``tile_shape``) and a step (``tile_k``), which are followed where they fit."""
    found = [item for item in _fitting(extents, dtype, schedule) if share is None or share % item.rows == 0]
    found = found or [item for item in _fitting(extents, dtype, Schedule()) if share is None or share % item.rows == 0]
    return min(found, key=lambda blocks: (_cycles(blocks, extents, dtype, cores), -blocks.rows * blocks.columns))


def _fitting(extents: Extents, dtype: DType, schedule: Schedule) -> Iterator[Blocks]:
    unit = grain(dtype)
    asked = (schedule.tile_shape or ())[-2:]
    rows = _sizes(extents.m, unit, asked[0] if len(asked) == 2 else None)
    columns = _sizes(extents.n, unit, asked[1] if len(asked) == 2 else None)
    for row in rows:
        for column in columns:
            if row * column * ACCUMULATOR_BYTES <= CAPACITIES[Space.L0C]:
                yield _with_steps(row, column, extents, dtype, schedule.tile_k)


def _sizes(extent: int, unit: int, asked: int | None) -> list[int]:
    """Return the extents of blocks to look at: even parts of an axis, at most 256."""
    largest = min(256, rounded_up(extent, unit))
    if asked is not None and asked <= largest:
        return [rounded_up(asked, unit)]
    parts = range(-(-extent // largest), -(-extent // unit) + 1)
    sizes = (rounded_up(-(-extent // count), unit) for count in (*parts[:24], parts[-1]))
    return list(dict.fromkeys((largest, *sizes)))


def _with_steps(rows: int, columns: int, extents: Extents, dtype: DType, asked: int | None) -> Blocks:
    unit = grain(dtype)
    longest = rounded_up(extents.k, unit)
    half = min(CAPACITIES[Space.L0A] // rows, CAPACITIES[Space.L0B] // columns) // (SLOTS * dtype.bytes)
    step = min(longest, max(unit, half // unit * unit))
    if asked is not None and unit <= asked <= step:
        step = rounded_up(asked, unit)
    room = (CAPACITIES[Space.L1] - SLOTS * 2 * rounded_up(columns * ACCUMULATOR_BYTES, 512)) // SLOTS
    panel = min(room // ((rows + columns) * dtype.bytes), max(step, PANEL_BYTES // dtype.bytes))
    return Blocks(rows, columns, step, min(rounded_up(longest, step), max(step, panel // step * step)))


def _cycles(blocks: Blocks, extents: Extents, dtype: DType, cores: int) -> float:
    """Return about how long the core with most blocks takes, in cycles."""
    count = extents.batch * -(-extents.m // blocks.rows) * -(-extents.n // blocks.columns)
    fractals = blocks.rows * blocks.columns * rounded_up(extents.k, blocks.step) // ASCEND_910B1.fractal**3
    product = fractals * {1: 0.5, 2: 1.0, 4: 4.0}[dtype.bytes]
    copies = (blocks.rows + blocks.columns) * extents.k * dtype.bytes / FEED
    store = blocks.rows * blocks.columns * ACCUMULATOR_BYTES / FEED
    return -(-count // cores) * (max(product, copies) + store)
