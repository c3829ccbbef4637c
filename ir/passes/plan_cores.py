"""Choose which parts of a kernel cube and vector cores run together, and the rows of one tile that they hand on.

Parts follow each other through workspaces. Where all of them store matrices of one number of rows, row by row from the
same rows (a product and what is done to it, attention), the cores need not wait for whole arrays: a cube core and its
two vector cores take a *share* of rows through all parts. With one product a turn has two shares, where there are rows
enough for all cores: while the vector cores work on one share the cube core goes on with another. With several products
it has one: the flags of the loops of more would not find ids.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Attribute, Kernel, Level, Module, Store, walk
from pypto.ir.passes.choose_cube_tiles import cube_cores, grain, rounded_up, the_product
from pypto.ir.passes.choose_tiles import choose_tiles
from pypto.ir.passes.layout import row_multiple
from pypto.ir.passes.manager import ModulePass
from pypto.ir.passes.slots import SUB_BLOCKS
from pypto.ir.passes.split_cores import ROWS, is_cube

SHARE = "share"
"""Attribute of parts that run together, with the fields of `Shares`."""

FED_ROWS = 96
"""Rows of a product below which it takes as long: the other matrix comes into L1 no faster (16^3 / 80 * 2 bytes)."""

MOST_ROWS = 128
"""Rows of the largest share: as many as a product of good shape has."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How `matrices` of `rows` are shared out: rows of a share, shares in a turn, turns, and cores that take them."""

    matrices: int
    rows: int
    share: int
    copies: int
    cores: int

    @property
    def attribute(self) -> tuple[int, ...]:
        return (self.matrices, self.rows, self.share, self.copies, self.cores)

    @property
    def per_matrix(self) -> int:
        return -(-self.rows // self.share)

    @property
    def count(self) -> int:
        return self.matrices * self.per_matrix

    @property
    def turns(self) -> int:
        return -(-self.count // self.copies)


def plan_cores(module: Module) -> Module:
    """Return `module` with the attribute ``share`` on parts that cube and vector cores run together."""
    kernels: list[Kernel] = []
    for run in runs(module.kernels, ROWS):
        kernels += _shared(run) or run
    return replace(module, kernels=tuple(kernels))


def runs(kernels: Sequence[Kernel], name: str) -> Iterator[list[Kernel]]:
    """Yield the kernels in groups: neighbours that have the attribute `name` with one value, others alone."""
    run: list[Kernel] = []
    for kernel in kernels:
        value = dict(kernel.attributes).get(name)
        if run and (value is None or dict(run[-1].attributes).get(name) != value):
            yield run
            run = []
        run.append(kernel)
    if run:
        yield run


def _shared(run: list[Kernel]) -> list[Kernel] | None:
    """Return the kernels of `run` with shares, or None where they cannot run together."""
    if len({is_cube(kernel) for kernel in run}) < 2:
        return None
    shares = choose_shares(run)
    multiple = max(row_multiple(kernel) for kernel in run if not is_cube(kernel))
    made = [_cube(kernel, shares) if is_cube(kernel) else _vector(kernel, shares, multiple) for kernel in run]
    found = [kernel for kernel in made if kernel is not None]
    return found if len(found) == len(run) else None


def choose_shares(run: Sequence[Kernel]) -> Shares:
    """Return the shares that take least time on the core that has most."""
    *batch, rows = _stored_rows(run[0])
    matrices = math.prod(batch)
    cores = min(cube_cores(kernel) for kernel in run)
    unit = max(grain(the_product(kernel).dtype) for kernel in run if is_cube(kernel))
    largest = min(MOST_ROWS, rounded_up(rows, unit))
    sizes = range(unit, largest + 1, unit)

    def longest(share: int) -> tuple[int, int]:
        return -(-matrices * -(-rows // share) // cores) * max(share, FED_ROWS), share

    share = min(sizes, key=longest)
    count = matrices * -(-rows // share)
    products = sum(map(is_cube, run))
    return Shares(matrices, rows, share, 2 if count > cores and products == 1 else 1, cores)


def _stored_rows(kernel: Kernel) -> tuple[int, ...]:
    """Return the extents of all axes but the last of what a part stores."""
    store = next(item for item in walk(kernel.body) if isinstance(item, Store))
    return tuple(extent for extent in store.value.shape[:-1] if isinstance(extent, int))


def _cube(kernel: Kernel, shares: Shares) -> Kernel:
    return with_attributes(kernel, share=shares.attribute, aicore_num=1)


def _vector(kernel: Kernel, shares: Shares, multiple: int) -> Kernel | None:
    """Return `kernel` with the most rows in a tile that fit and share a half of a share evenly; None: none fit."""
    half = shares.share // SUB_BLOCKS
    *batch, rows = _stored_rows(kernel)
    for size in sorted((number for number in range(1, half + 1) if half % number == 0), reverse=True):
        asked = with_attributes(
            kernel,
            share=shares.attribute,
            row_multiple=multiple,
            aicore_num=1,
            declared=None,
            tile_num=None,
            tile_shape=(*(1 for _ in batch), size, None),
        )
        tile = tile_of(asked)
        wanted = (*(1 for _ in batch), min(size, rows))
        if tile is not None and tile[:-1] == wanted:
            return asked
    return None


def tile_of(kernel: Kernel) -> tuple[int, ...] | None:
    """Return the tile that `kernel` would get, or None when none fits."""
    try:
        made = choose_tiles(kernel)
    except UserError:
        return None
    tile = dict(made.attributes).get("tiles")
    assert isinstance(tile, tuple)
    return tuple(extent for extent in tile if isinstance(extent, int))


def with_attributes(kernel: Kernel, **values: Attribute) -> Kernel:
    """Return `kernel` with attributes set; None takes one away."""
    attributes = dict(kernel.attributes) | values
    return replace(kernel, attributes=tuple(sorted(item for item in attributes.items() if item[1] is not None)))


PLAN_CORES = ModulePass("plan_cores", Level.TILE, Level.TILE, plan_cores)
