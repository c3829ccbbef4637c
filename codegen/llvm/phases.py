"""From nests to phases: which axes the items of a phase walk, how long an item is, and where local arrays lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import ZERO, Affine
from pypto.codegen.llvm.blocking import choose, cut, is_walked, private_arrays
from pypto.codegen.llvm.evaluation import Indexing, rename
from pypto.codegen.llvm.limiting import limited
from pypto.codegen.llvm.merging import Merger, change_accesses, transform
from pypto.codegen.llvm.nests import Nest, form_nests
from pypto.codegen.llvm.program import (
    Access,
    Array,
    Axis,
    Home,
    Node,
    Outer,
    Program,
    Repeat,
    Statement,
    Task,
    Walk,
    tasks,
)
from pypto.codegen.llvm.splitting import split_reductions
from pypto.codegen.llvm.tiling import Wanted, largest_output, wanted_blocks
from pypto.ir.index import Symbol
from pypto.ir.schedule import Schedule

CHUNK_COST = 400_000
"""Evaluated nodes, over all elements, that a chunk of items should have."""


@dataclass(slots=True)
class PhasePlan:
    """One parallel loop: items are the points of `outers`, the last one fastest."""

    outers: tuple[Outer, ...]
    body: list[Statement]
    items: int
    grain: int


@dataclass(slots=True)
class Placement:
    """Byte offsets of local arrays by name, and the sizes of the two memories."""

    offsets: dict[str, int] = field(default_factory=dict)
    homes: dict[str, Home] = field(default_factory=dict)
    workspace: int = 0
    scratch: int = 0

    def place(self, array: Array, home: Home) -> None:
        size = -(-max(1, math.prod(array.shape)) * array.dtype.bytes // 64) * 64
        self.homes[array.name] = home
        if home is Home.WORKSPACE:
            self.offsets[array.name], self.workspace = self.workspace, self.workspace + size
        else:
            self.offsets[array.name], self.scratch = self.scratch, self.scratch + size


def plan(program: Program, placement: Placement, schedule: Schedule) -> list[PhasePlan]:
    """Return the phases of a program as `schedule` wants them and place its local arrays."""
    if program.grid:
        return [_grid_phase(program, placement)]
    indexing = Indexing(program.ranges)
    output = largest_output(program)
    nests = form_nests(split_reductions(program, schedule.split_k), indexing)
    shared = _shared(nests)
    for array in program.arrays:
        if array.name in shared:
            placement.place(array, Home.WORKSPACE)
    highest, phases = placement.scratch, []
    for number, nest in enumerate(nests):
        own = replace(placement, scratch=placement.scratch)
        phases.append(_phase(nest, number, own, shared, wanted_blocks(nest, schedule, output)))
        if schedule.tile_num is not None:
            phases[-1].grain = max(1, -(-phases[-1].items // schedule.tile_num))
        highest = max(highest, own.scratch)
    placement.scratch = highest
    return phases


def _shared(nests: list[Nest]) -> set[str]:
    """Return the names of local arrays that more than one nest accesses."""
    owners: dict[str, set[int]] = {}
    for number, nest in enumerate(nests):
        for name in nest.accesses:
            owners.setdefault(name, set()).add(number)
    return {name for name, users in owners.items() if len(users) > 1}


def _grid_phase(program: Program, placement: Placement) -> PhasePlan:
    """Items are blocks; inside, tasks that share local arrays walk their common axes together."""
    outers = tuple(Outer(symbol, extent, 1, symbol, symbol) for symbol, extent in program.grid)
    nests = form_nests(program.body, Indexing(program.ranges))
    shared = _shared(nests)
    for array in program.arrays:
        if array.name in shared:
            placement.place(array, Home.SCRATCH)
    body: list[Statement] = []
    highest = placement.scratch
    for number, nest in enumerate(nests):
        own = replace(placement, scratch=placement.scratch)
        phase = _phase(nest, number, own, shared, Wanted())
        body += [Walk(phase.outers, phase.body)] if phase.outers else phase.body
        highest = max(highest, own.scratch)
    placement.scratch = highest
    items = math.prod(extent for _, extent in program.grid)
    return PhasePlan(outers, body, items, _grain(body, items))


def _phase(nest: Nest, number: int, placement: Placement, shared: set[str], wanted: Wanted) -> PhasePlan:
    merger = Merger(nest.indexing.ranges, set(nest.parallel()), blocks=dict(wanted.blocks))
    statements = merger.run(_renamed(nest))
    members = list(tasks(statements))
    private, wanted = private_arrays(members, shared), Wanted(merger.blocks, wanted.order)
    outers = choose(members, merger.parallel, private, nest.indexing, number, wanted)
    statements = _inside(statements, outers, shared, placement)
    by_symbol = {outer.symbol: outer for outer in outers}
    statements = limited(statements, nest.find, by_symbol, nest.indexing.ranges)
    items = math.prod(outer.count for outer in outers)
    return PhasePlan(outers, statements, items, _grain(statements, items))


def _renamed(nest: Nest) -> list[Statement]:
    """Give every axis the symbol of its class."""

    def change(task: Task) -> Task:
        values = {axis.symbol: nest.find(axis.symbol) for axis in task.axes}
        if all(old == new for old, new in values.items()):
            return task
        forms = {old: affine.symbol(new) for old, new in values.items()}
        axes = tuple(_renamed_axis(axis, values[axis.symbol], forms, nest.indexing.ranges) for axis in task.axes)
        renamed = change_accesses(task, axes, lambda access: rename(access, forms, nest.indexing.ranges))
        return replace(renamed, nodes=tuple(_renamed_node(node, forms, nest.indexing.ranges) for node in renamed.nodes))

    return transform(nest.statements, change)


def _renamed_node(node: Node, forms: Mapping[Symbol, Affine], ranges: affine.Ranges) -> Node:
    if not isinstance(node.value, Affine):
        return node
    return replace(node, value=affine.substitute(node.value, forms, ranges))


def _renamed_axis(axis: Axis, symbol: Symbol, forms: Mapping[Symbol, Affine], ranges: affine.Ranges) -> Axis:
    lower, upper = affine.substitute(axis.lower, forms, ranges), affine.substitute(axis.upper, forms, ranges)
    return replace(axis, symbol=symbol, lower=lower, upper=upper)


def _inside(
    statements: list[Statement], outers: tuple[Outer, ...], shared: set[str], placement: Placement
) -> list[Statement]:
    """Return the tasks as one item sees them: outer axes fixed or cut into a block, local arrays as small as that."""
    by_symbol = {outer.symbol: outer for outer in outers}
    local = _LocalArrays(by_symbol, _pointwise(statements, by_symbol, shared), placement)

    def change(task: Task) -> Task:
        axes = tuple(cut(axis, by_symbol) for axis in task.axes if is_walked(axis, by_symbol))
        return change_accesses(task, axes, local.access)

    return transform(statements, change)


def _pointwise(
    statements: list[Statement], outers: Mapping[Symbol, Outer], shared: set[str]
) -> dict[str, dict[int, Symbol]]:
    """Return for each private local array the axes that every access indexes with one outer symbol."""
    found: dict[str, dict[int, Symbol]] = {}
    for task in tasks(statements):
        for access in (*task.reads, task.target):
            if access.array.is_local and access.array.name not in shared:
                here = _outer_axes(access.index, outers)
                known = found.setdefault(access.array.name, here)
                found[access.array.name] = {axis: item for axis, item in known.items() if here.get(axis) == item}
    return found


def _outer_axes(index: Iterable[Affine], outers: Mapping[Symbol, Outer]) -> dict[int, Symbol]:
    forms = {affine.symbol(symbol): symbol for symbol in outers}
    return {axis: forms[item] for axis, item in enumerate(index) if item in forms}


@dataclass(slots=True)
class _LocalArrays:
    outers: Mapping[Symbol, Outer]
    pointwise: dict[str, dict[int, Symbol]]
    placement: Placement
    made: dict[str, Array] = field(default_factory=dict)

    def access(self, access: Access) -> Access:
        """Return an access to a private array as one to the part of it that an item has."""
        axes = self.pointwise.get(access.array.name)
        if axes is None:
            return access
        array = self.small(access.array, axes)
        index = tuple(self.position(item, axes.get(axis)) for axis, item in enumerate(access.index))
        return replace(access, array=array, index=index)

    def small(self, array: Array, axes: Mapping[int, Symbol]) -> Array:
        if array.name not in self.made:
            shape = tuple(
                self.outers[axes[axis]].block if axis in axes else extent for axis, extent in enumerate(array.shape)
            )
            self.made[array.name] = Array(array.name, array.dtype, shape, Home.SCRATCH)
            self.placement.place(self.made[array.name], Home.SCRATCH)
        return self.made[array.name]

    def position(self, index: Affine, symbol: Symbol | None) -> Affine:
        if symbol is None:
            return index
        outer = self.outers[symbol]
        if outer.block == 1:
            return ZERO
        return index if outer.block == outer.extent else affine.subtract(index, affine.symbol(outer.lower))


def _grain(statements: list[Statement], items: int) -> int:
    """Return the items per chunk: by the work of the tasks, so by shapes alone."""
    cost = _cost(statements)
    return max(1, min(max(1, items), CHUNK_COST // max(1, cost)))


def _cost(statements: list[Statement]) -> int:
    total = 0
    for statement in statements:
        if isinstance(statement, Task):
            total += math.prod(axis.extent for axis in statement.axes) * (len(statement.nodes) + 1)
        elif isinstance(statement, Walk):
            total += statement.count * _cost(statement.body)
        elif isinstance(statement, Repeat):
            total += 8 * _cost(statement.body)
        else:
            total += max(_cost(statement.then_body), _cost(statement.else_body))
    return total
