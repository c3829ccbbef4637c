"""How a group's loops run: their order, the vector axis and its lanes, and what is computed outside the inner loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Union

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.groups import Group
from pypto.codegen.llvm.program import Access, Axis, Node, NodeKind, Task, bounding_symbols
from pypto.ir.index import Symbol

GATHER_COST = 6.0
"""What an access of stride other than 0 and 1 costs, in contiguous accesses."""
MOST_UNROLLED_NODES = 96
"""Nodes that the unrolled copies of a loop body may have together."""
MOST_UNROLL = 16
"""Copies of a loop body that a schedule may ask for."""

Step = Union[int, Task]


@dataclass(slots=True)
class LoopPlan:
    """One loop nest. `nodes` are those of all tasks; `steps` are positions of nodes to evaluate and tasks to store.

    `loops` run from the outermost to the innermost; the last one is `vector` (None: no loops). `outputs` gives each
    task the position of its value. A node's `symbols` are the group's loop symbols that it depends on.
    """

    loops: list[Axis]
    vector: Axis | None
    lanes: int
    unroll: int
    nodes: list[Node] = field(default_factory=list)
    symbols: list[frozenset[Symbol]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: list[tuple[Task, int]] = field(default_factory=list)

    @property
    def reductions(self) -> list[tuple[Task, int]]:
        return [(task, value) for task, value in self.outputs if task.reduction is not None]

    def level(self, symbols: frozenset[Symbol]) -> int:
        """Return how many loops are open when everything of `symbols` is known."""
        return max((number + 1 for number, axis in enumerate(self.loops) if axis.symbol in symbols), default=0)

    def is_varying(self, symbols: frozenset[Symbol]) -> bool:
        """True when the lanes of a vector differ."""
        return self.vector is not None and self.vector.symbol in symbols


def plan(group: Group, machine: Machine, ranges: affine.Ranges, unroll: int | None = None) -> LoopPlan:
    """Return the loops of a group; `unroll` is how many vectors a turn of the innermost loop should take."""
    first = group.tasks[0]
    reduced = group.reduced or frozenset()
    vector = _sequential_axis(group, machine) if first.is_sequential else _vector_axis(group, machine)
    rest = [axis for axis in first.axes if axis is not vector]
    loops = [axis for axis in rest if axis.symbol not in reduced] + [axis for axis in rest if axis.symbol in reduced]
    lanes = 1
    if vector is not None:
        loops.append(vector)
        lanes = min(_lanes(group, machine, vector.symbol), 1 << max(0, vector.extent - 1).bit_length())
    result = LoopPlan(loops, vector, max(1, lanes), 1)
    _collect(group, result, ranges)
    result.unroll = _unroll(result) if unroll is None else 1 << (min(unroll, MOST_UNROLL).bit_length() - 1)
    return result


def _unroll(plan: LoopPlan) -> int:
    varying = sum(1 for symbols in plan.symbols if plan.is_varying(symbols))
    wanted = 4 if plan.reductions or varying <= 6 else 2
    while wanted > 1 and wanted * _weight(plan) > MOST_UNROLLED_NODES:
        wanted //= 2
    return wanted


def _weight(plan: LoopPlan) -> float:
    from pypto.ir.operations.table import TABLE

    total = 0.0
    for node, symbols in zip(plan.nodes, plan.symbols, strict=True):
        if plan.is_varying(symbols):
            total += max(1.0, TABLE[node.name].cost.flops) if node.kind is NodeKind.OPERATION else 1.0
    return total


def _lanes(group: Group, machine: Machine, vector: Symbol | None = None) -> int:
    """Return the lanes that fill a register with the widest dtype that is computed in or stored.

    What is the same in all lanes when `vector` is the vector axis does not count, as far as indices into tiles go.
    """
    bits = 8
    for task in group.tasks:
        same = _indices_same(task, vector)
        for position, node in enumerate(task.nodes):
            if node.kind is not NodeKind.INDEX and position not in same:
                bits = max(bits, 32 if node.dtype.is_narrow_float else node.dtype.bits)
    return machine.vector_bits // bits


def _indices_same(task: Task, vector: Symbol | None) -> set[int]:
    """Return the nodes that lead to checked indices and do not depend on `vector`."""
    if vector is None or not any(node.kind is NodeKind.CHECKED for node in task.nodes):
        return set()
    same: set[int] = set()
    for position, node in enumerate(task.nodes):
        forms = node.access.index if node.access is not None else (node.value,)
        moves = any(isinstance(form, Affine) and vector in affine.symbols(form) for form in forms)
        if not moves and all(operand in same for operand in node.operands):
            same.add(position)
    return same


def _sequential_axis(group: Group, machine: Machine) -> Axis | None:
    """Return the vector axis of a task that walks its reduced axis in order: a contiguous one beside that, or none."""
    (task,) = group.tasks
    axis = _vector_axis(group, machine)
    if task.reduction == "argsort" or axis is None or axis.reduced:
        return None
    return axis


def _vector_axis(group: Group, machine: Machine) -> Axis | None:
    """Return the axis that costs least per element: contiguous for most accesses and long enough to fill the lanes."""
    lanes = _lanes(group, machine)
    accesses = {(access.array.name, access.index): access for task in group.tasks for access in task.reads}
    listed = [*accesses.values(), *(task.target for task in group.tasks if task.reduction is None)]
    best: tuple[float, Axis] | None = None
    bounding = bounding_symbols(group.tasks[0].axes)
    for axis in group.tasks[0].axes:
        if axis.symbol in bounding:
            continue
        cost = sum(_access_cost(access, axis.symbol) for access in listed) + 1.0
        used = axis.extent / (lanes * max(1, -(-axis.extent // lanes)))
        cost /= max(used, 1 / 64)
        if best is None or cost <= best[0]:
            best = (cost, axis)
    return best[1] if best else None


def _access_cost(access: Access, symbol: Symbol) -> float:
    """Return the cost of one vector of an access along `symbol`."""
    step = 0
    for stride, index in zip(access.array.strides, access.index, strict=True):
        for atom, count in index.terms:
            if atom == symbol:
                step += stride * count
            elif not isinstance(atom, Symbol) and symbol in affine.symbols(index):
                return 2 * GATHER_COST
    if step == 0:
        return 0.25
    return 1.0 if step == 1 else 1.5 if step == -1 else GATHER_COST


# -- one list of nodes for all tasks


@dataclass(slots=True)
class _Collector:
    plan: LoopPlan
    loop_symbols: frozenset[Symbol]
    written: frozenset[str]
    ranges: affine.Ranges
    known: dict[object, int] = field(default_factory=dict)
    memory: dict[tuple[str, tuple[Affine, ...]], int] = field(default_factory=dict)
    """What the group's earlier tasks stored to the element of this turn."""
    aliases: dict[Symbol, Affine] = field(default_factory=dict)
    """Symbols of checked indices that an equal node checked before."""

    def task(self, task: Task) -> None:
        places: list[int] = []
        for node in task.nodes:
            places.append(self.node(node, places))
        value = places[task.result]
        self.plan.outputs.append((task, value))
        self.plan.steps.append(task)
        key = (task.target.array.name, task.target.index)
        for stale in [item for item in self.known if isinstance(item, tuple) and item[:2] == ("load", key[0])]:
            del self.known[stale]
        if task.reduction is None and not task.target.guarded:
            self.memory[key] = value

    def node(self, node: Node, places: list[int]) -> int:
        if places and node.operands:
            node = self.renamed(replace(node, operands=tuple(places[position] for position in node.operands)))
        if node.access is not None:
            stored = self.memory.get((node.access.array.name, node.access.index))
            if stored is not None:
                return stored
            access = node.access
            key: object = ("load", access.array.name, access.index, access.guarded, repr(access.fill))
        else:
            key = (node.kind, node.dtype.name, node.name, node.operands, repr(node.attributes), repr(node.value))
        if key not in self.known:
            self.known[key] = self.append(node)
        place = self.known[key]
        first = self.plan.nodes[place].symbol
        if node.symbol is not None and first is not None and node.symbol != first:
            self.aliases[node.symbol] = affine.symbol(first)
        return place

    def renamed(self, node: Node) -> Node:
        """Return the node with checked indices under the symbols of the nodes that are kept."""
        if not self.aliases:
            return node
        if node.access is not None:
            index = tuple(affine.substitute(item, self.aliases, self.ranges) for item in node.access.index)
            return replace(node, access=replace(node.access, index=index))
        if isinstance(node.value, Affine):
            return replace(node, value=affine.substitute(node.value, self.aliases, self.ranges))
        return node

    def append(self, node: Node) -> int:
        self.plan.nodes.append(node)
        self.plan.symbols.append(self.symbols(node))
        self.plan.steps.append(len(self.plan.nodes) - 1)
        return len(self.plan.nodes) - 1

    def symbols(self, node: Node) -> frozenset[Symbol]:
        """Return the loop symbols of a node; a load of what the group writes must stay innermost."""
        if node.access is not None:
            if node.access.array.name in self.written:
                return self.loop_symbols
            forms: tuple[Affine, ...] = node.access.index
        else:
            forms = (node.value,) if isinstance(node.value, Affine) else ()
        own = frozenset().union(*map(affine.symbols, forms)) & self.loop_symbols
        return own.union(*(self.plan.symbols[position] for position in node.operands))


def _collect(group: Group, plan: LoopPlan, ranges: affine.Ranges) -> None:
    symbols = frozenset(axis.symbol for axis in plan.loops)
    written = frozenset(task.target.array.name for task in group.tasks if task.reduction is None)
    collector = _Collector(plan, symbols, written, ranges)
    for task in group.tasks:
        collector.task(task)


def shifted(form: Affine, shifts: Mapping[Symbol, int], ranges: affine.Ranges) -> Affine:
    """Return `form` with constants added to symbols."""
    if not shifts:
        return form
    values = {symbol: Affine(amount, ((symbol, 1),)) for symbol, amount in shifts.items() if amount}
    return affine.substitute(form, values, ranges) if values else form
