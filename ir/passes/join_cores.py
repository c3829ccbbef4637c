"""Parts for cube and vector cores that share their rows become one kernel, which both kinds of cores run together.

    grid %core
    for %group                                 a turn: `copies` shares of rows
      for %tile ...                            first part, on the cube core: share 0, then share 1
      for %half = 0 to 2                       second part, on the two vector cores beside it: share 0, then share 1
        for %tile ...
      ...

Each part keeps its loop over tiles, which goes over those of one share, or of one half of it, only. What parts hand on
lies in workspaces that have room for one share of each core, one workspace for each share of a turn, so that the vector
cores work on one while the cube core fills the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pypto.ir.index import Index, Symbol, add, floor_divide, make, maximum, minimum, multiply, subtract
from pypto.ir.nodes import (
    Attribute,
    For,
    GridAxis,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Parameter,
    Range,
    Region,
    Role,
    Statement,
    Store,
    TileType,
    Value,
    results,
    walk,
)
from pypto.ir.passes.join_phases import apart_buffers, joined_attributes
from pypto.ir.passes.manager import ModulePass
from pypto.ir.passes.merge_kernels import Renamer, joined_parts, kept_apart
from pypto.ir.passes.plan_cores import SHARE, Shares, runs, with_attributes
from pypto.ir.passes.slots import SUB_BLOCKS
from pypto.ir.passes.split_cores import ROWS, is_cube

CORE, GROUP, HALF = Symbol("core"), Symbol("group"), Symbol("half")
PART_ATTRIBUTES = ("aicore_num", "core", "cube_tile", "share", "stages", "tile_shape", "tiles", ROWS)
"""Attributes of single parts, which a joined kernel has not."""


def join_cores(module: Module) -> Module:
    """Return `module` (level *buffered*) with parts that have shares joined, and workspaces as large as these."""
    kernels: list[Kernel] = []
    workspaces: dict[str, tuple[Parameter, ...]] = {item.name: (item,) for item in module.intermediates}
    for run in runs(module.kernels, ROWS):
        if SHARE not in dict(run[0].attributes):
            kernels += run
            continue
        join = Join(run, [item for item in module.intermediates if _is_inner(item, run, module)])
        kernels.append(join.kernel())
        workspaces |= join.replaced
    intermediates = tuple(item for items in workspaces.values() for item in items)
    return replace(module, kernels=tuple(kernels), intermediates=intermediates)


def _is_inner(array: Parameter, run: Sequence[Kernel], module: Module) -> bool:
    """Return whether an intermediate array is made and used in `run` only."""
    inside = [kernel for kernel in module.kernels if any(item.name == array.name for item in kernel.parameters)]
    made = any(isinstance(item, Store) and item.target == array.name for kernel in run for item in walk(kernel.body))
    return made and all(any(kernel is own for own in run) for kernel in inside)


@dataclass(slots=True)
class Join:
    """Joins one run of parts. `replaced` are the workspaces in place of the whole arrays `inner`."""

    run: Sequence[Kernel]
    inner: list[Parameter]
    shares: Shares = field(init=False)
    replaced: dict[str, tuple[Parameter, ...]] = field(default_factory=dict)
    whole: Kernel | None = None
    body: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers = dict(self.run[0].attributes)[SHARE]
        assert isinstance(numbers, tuple)
        self.shares = Shares(*(item for item in numbers if isinstance(item, int)))
        for array in self.inner:
            self.replaced[array.name] = tuple(self.workspace(array, copy) for copy in range(self.shares.copies))

    @property
    def cores(self) -> int:
        return min(self.shares.cores, self.shares.turns)

    def workspace(self, array: Parameter, copy: int) -> Parameter:
        *batch, _, columns = array.type.shape
        shape = (*(1 for _ in batch), self.cores * self.shares.share, columns)
        name = array.name if self.shares.copies == 1 else f"{array.name}_{copy}"
        return replace(array, name=name, type=TileType(array.type.dtype, shape), role=Role.INOUT)

    def kernel(self) -> Kernel:
        for part in self.run:
            for copy in range(self.shares.copies):
                self.add(part, copy)
        assert self.whole is not None
        body = tuple(self.body)
        if self.shares.turns > self.cores:
            body = (For(GROUP, CORE, self.shares.turns, self.cores, (), (), body, (), (), self.whole.location),)
        name = dict(self.run[0].attributes)[ROWS]
        assert isinstance(name, str)
        made = replace(self.whole, name=name, body=body, grid=(GridAxis(CORE, self.cores),))
        return with_attributes(made, **self.attributes(made))

    def attributes(self, made: Kernel) -> dict[str, Attribute]:
        loops = dict(made.attributes).get("independent", ())
        assert isinstance(loops, tuple)
        arrays = [item.name for items in self.replaced.values() for item in items]
        reused: tuple[Attribute, ...] = tuple((GROUP.name, name) for name in arrays)
        every = tuple(dict.fromkeys((*loops, GROUP.name, HALF.name)))
        dropped: dict[str, Attribute] = dict.fromkeys(PART_ATTRIBUTES)
        multiples = [dict(part.attributes).get("row_multiple") for part in self.run if not is_cube(part)]
        dropped["row_multiple"] = multiples[0]
        return {**dropped, "independent": every, "reused": reused or None, "sub_blocks": (HALF.name,)}

    def add(self, part: Kernel, copy: int) -> None:
        """Append share number `copy` of a part."""
        part = replace(part, grid=())
        if self.whole is not None:
            part = apart_buffers(kept_apart(part, self.whole), self.whole)
        part = self.moved(self.bounded(part, copy), copy)
        before = self.whole
        self.body += part.body
        together = tuple(self.body)
        if before is None:
            self.whole = part
            return
        joined = joined_parts(before, part, together)
        self.whole = replace(joined, buffers=before.buffers + part.buffers, attributes=joined_attributes(joined, part))

    # the tiles of a share

    def number(self, copy: int) -> Index:
        """Return the number of a share in the present turn."""
        turn = GROUP if self.shares.turns > self.cores else CORE
        return add(multiply(turn, self.shares.copies), copy)

    def matrix_and_place(self, copy: int) -> tuple[Index, Index]:
        """Return the matrix that a share belongs to, and its number there."""
        number = self.number(copy)
        if self.shares.matrices == 1:
            return 0, number
        return floor_divide(number, self.shares.per_matrix), make("%", number, self.shares.per_matrix)

    def bounded(self, part: Kernel, copy: int) -> Kernel:
        """Return `part` with its loop over tiles restricted to one share, or to the half of a vector core."""
        tile, columns = tile_of_part(part)
        per_share = max(1, self.shares.share // tile)
        down, across = -(-self.shares.rows // tile), columns
        matrix, place = self.matrix_and_place(copy)
        first, count = multiply(place, per_share), per_share
        if not is_cube(part):
            per_share = max(per_share, SUB_BLOCKS)
            count = per_share // SUB_BLOCKS
            first = add(multiply(place, per_share), multiply(HALF, count))
        there = minimum(count, maximum(0, subtract(down, first)))
        if self.shares.matrices > 1:  # behind the last matrix there is nothing
            there = multiply(there, minimum(1, maximum(0, subtract(self.shares.matrices, matrix))))
        start = multiply(add(multiply(matrix, down), first), across)
        body = turning(part, start, multiply(there, across), self.shares.matrices * down * across)
        if not is_cube(part):
            body = (For(HALF, 0, SUB_BLOCKS, 1, (), (), body, (), (), part.location),)
        return replace(part, body=body)

    # workspaces

    def moved(self, part: Kernel, copy: int) -> Kernel:
        """Return `part` with what it reads and writes of whole arrays in the workspaces of share number `copy`."""
        names = {name: items[copy] for name, items in self.replaced.items()}
        parameters = tuple(
            replace(names[item.name], role=item.role) if item.name in names else item for item in part.parameters
        )
        return replace(part, parameters=parameters, body=self.moved_body(part.body, names, copy))

    def moved_body(self, body: tuple[Statement, ...], names: dict[str, Parameter], copy: int) -> tuple[Statement, ...]:
        return tuple(self.moved_statement(item, names, copy) for item in body)

    def moved_statement(self, statement: Statement, names: dict[str, Parameter], copy: int) -> Statement:
        if isinstance(statement, Load) and statement.source in names:
            region = self.region(statement.region, copy)
            return replace(statement, source=names[statement.source].name, region=region)
        if isinstance(statement, Store) and statement.target in names:
            region = self.region(statement.region, copy)
            return replace(statement, target=names[statement.target].name, region=region)
        if isinstance(statement, For):
            return replace(statement, body=self.moved_body(statement.body, names, copy))
        if isinstance(statement, If):
            then_body = self.moved_body(statement.then_body, names, copy)
            return replace(statement, then_body=then_body, else_body=self.moved_body(statement.else_body, names, copy))
        return statement

    def region(self, region: Region, copy: int) -> Region:
        """Return where a region of the whole array lies in the workspace: rows count from the start of the share."""
        *batch, rows, columns = region
        _, place = self.matrix_and_place(copy)
        own = multiply(CORE, self.shares.share)
        offset = add(own, subtract(rows.offset, multiply(place, self.shares.share)))
        return (*(Range(0, item.extent) for item in batch), Range(offset, rows.extent, rows.step), columns)


def turning(part: Kernel, start: Index, turns: Index, total: int) -> tuple[Statement, ...]:
    """Return the body of `part` for so many of its `total` tiles from number `start` on."""
    *before, last = part.body
    if total == 1 and is_cube(part):
        return part.body
    if total == 1:
        return (For(Symbol("once"), 0, turns, 1, (), (), part.body, (), (), part.location),)
    assert isinstance(last, For), "tiles follow each other in a loop"
    names = {value.name: value.name for item in walk(part.body) for value in defined(item)}
    moved = Renamer(names, {last.index: add(start, last.index)}).of(last.body)
    return (*before, replace(last, start=0, stop=turns, step=1, body=moved))


def defined(statement: Statement) -> tuple[Value, ...]:
    carried = statement.carried if isinstance(statement, For) else ()
    return (*carried, *results(statement))


def tile_of_part(part: Kernel) -> tuple[int, int]:
    """Return the rows of a tile, and how many tiles lie beside each other in a row of tiles."""
    attributes = dict(part.attributes)
    tile = attributes["cube_tile"] if is_cube(part) else attributes["tiles"]
    assert isinstance(tile, tuple)
    sizes = [item for item in tile if isinstance(item, int)]
    rows, wide = sizes[:2] if is_cube(part) else sizes[-2:]
    store = next(item for item in walk(part.body) if isinstance(item, Store))
    whole = part.parameter(store.target).type.shape[-1]
    assert isinstance(whole, int)
    return rows, -(-whole // wide)


JOIN_CORES = ModulePass("join_cores", Level.BUFFERED, Level.BUFFERED, join_cores)
