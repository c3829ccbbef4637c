"""From a kernel of tile values to a program of tasks over arrays (see `program.py`).

A value is evaluated lazily in its consumers' loops, except: reductions, assembled tiles, loops' carried tiles and
branches' results, expensive values that several loops share (`usage.py`), and reads that a later write of the same
array would overtake. Those become local arrays, written by tasks of their own at their place in program order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from pypto.codegen.llvm import affine, along, attending, conflicts, contracting, redirection, usage
from pypto.codegen.llvm.affine import ZERO, Affine
from pypto.codegen.llvm.evaluation import Definition, Evaluation, Indexing, Point, Ranges3, extents, region_of
from pypto.codegen.llvm.program import Access, Array, Axis, Choice, Home, NodeKind, Program, Repeat, Statement, Task
from pypto.ir import nodes
from pypto.ir.index import Index, Symbol
from pypto.ir.nodes import For, If, Kernel, Load, Operation, Region, Store, TileType, Value, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

SITES = 1 << 16
"""Operations of one kernel that check indices, at most; kernel k's are numbered from k * SITES + 1."""


def lower(kernel: Kernel, arguments: Mapping[str, Array], keeps_shared: bool = True, number: int = 0) -> Program:
    """Return `kernel` as tasks; `arguments` are the arrays of its parameters.

    With `keeps_shared` costly values that several loops share are stored in local arrays, else computed in each.
    `number` is the kernel's in its module.
    """
    lowering = Lowering(usage.analyse(kernel, keeps_shared), dict(arguments))
    for site, operation in enumerate(checking_operations(kernel), number * SITES + 1):
        lowering.indexing.sites[id(operation)] = site
    grid = []
    for axis in kernel.grid:
        extent = cast("int", axis.extent)
        symbol = lowering.symbol("b", (0, max(0, extent - 1)))
        lowering.indexing.names[axis.symbol] = symbol
        grid.append((symbol, extent))
    body = lowering.sequence(kernel.body)
    return Program(kernel.name, lowering.locals, body, tuple(grid), lowering.indexing.ranges)


def checking_operations(kernel: Kernel) -> list[Operation]:
    """Return the operations of a kernel that check indices, in program order."""
    operations = (item for item in walk(kernel.body) if isinstance(item, Operation))
    return [item for item in operations if TABLE[item.name].category is Category.INDEXING]


@dataclass(slots=True)
class Lowering:
    usage: usage.Usage
    arrays: dict[str, Array]
    indexing: Indexing = field(default_factory=Indexing)
    definitions: dict[str, Definition] = field(default_factory=dict)
    locals: list[Array] = field(default_factory=list)
    loads: dict[str, list[Value]] = field(default_factory=dict)
    """Lazy loads of each array that a later store may overtake."""
    output: list[Statement] = field(default_factory=list)
    created: set[str] = field(default_factory=set)
    """Local arrays made in the present sequence: nothing outside it has written to them."""
    count: int = 0

    # -- symbols and arrays

    def symbol(self, stem: str, limits: affine.Bounds | None) -> Symbol:
        """Return a new symbol; names end in a number with leading zeros, so that they sort in order of creation."""
        self.count += 1
        symbol = Symbol(f"{stem}{self.count:04d}")
        if limits is not None:
            self.indexing.ranges[symbol] = limits
        return symbol

    def local(self, type_: TileType) -> Array:
        """Return a new local array."""
        shape = extents(type_.shape)
        array = Array(f"local{len(self.locals)}", type_.dtype, shape, Home.SCRATCH)
        self.locals.append(array)
        self.created.add(array.name)
        return array

    def axes(self, shape: tuple[Index, ...], reduced: tuple[int, ...] = ()) -> tuple[tuple[Axis, ...], Point]:
        """Return loops over every element of `shape` (none for extents of 1) and the index they give."""
        axes, point = [], []
        for number, extent in enumerate(extents(shape)):
            if extent == 1:
                point.append(ZERO)
                continue
            symbol = self.symbol("i", (0, max(0, extent - 1)))
            axes.append(Axis(symbol, extent, ZERO, affine.number(extent), number in reduced))
            point.append(affine.symbol(symbol))
        return tuple(axes), tuple(point)

    def evaluation(self) -> Evaluation:
        """Return an evaluation that collects the nodes of one task."""
        return Evaluation(self.definitions, self.arrays, self.indexing)

    # -- statements

    def sequence(self, body: tuple[nodes.Statement, ...]) -> list[Statement]:
        """Lower the statements of one region and return them as a sequence of their own."""
        outer, self.output = (self.output, self.created), []
        self.created = set()
        for statement in body:
            self.statement(statement)
        result = self.output
        self.output, self.created = outer
        return result

    def statement(self, statement: nodes.Statement) -> None:
        if isinstance(statement, Store):
            self.store(statement)
        elif isinstance(statement, For):
            self.loop(statement)
        elif isinstance(statement, If):
            self.choice(statement)
        elif any(value.name in self.usage.last for value in nodes.results(statement)):
            self.definition(statement)

    def definition(self, statement: Operation | Load) -> None:
        (value,) = nodes.results(statement)
        self.definitions[value.name] = statement
        if isinstance(statement, Load):
            self.loads.setdefault(self.arrays[statement.source].name, []).append(value)
        elif TABLE[statement.name].category is Category.REDUCTION:
            self.reduction(statement, value)
        elif TABLE[statement.name].category is Category.ASSEMBLY:
            self.assembly(statement, value)
        elif TABLE[statement.name].category is Category.CONTRACTION:
            lower = attending.lower_attention if statement.name == "attention" else contracting.lower_contraction
            lower(self, statement, value)
        elif not usage.is_lazy(statement):
            along.lower_along(self, statement, value)
        if value.name in self.usage.kept:
            self.keep(value)

    def keep(self, value: Value) -> None:
        """Store a lazy value in a local array and use that from now on."""
        if isinstance(self.definitions[value.name], Array):
            return
        array = self.local(value.type)
        self.copy(value, array)
        self.definitions[value.name] = array

    def copy(self, value: Value, array: Array) -> None:
        """Write `value` to the whole of `array`; nothing to do when it is there already."""
        if self.definitions[value.name] is not array:
            self.write(value, lambda point: Access(array, point))

    def write(self, value: Value, target: Callable[[Point], Access]) -> None:
        task = self.task(value, target)
        if task is not None:
            self.output.append(task)

    def task(self, value: Value, target: Callable[[Point], Access]) -> Task | None:
        """Return the task that evaluates every element of `value`; None when there is none."""
        if usage.elements(value) == 0:
            return None
        axes, point = self.axes(value.shape)
        evaluation = self.evaluation()
        result = evaluation.evaluate(value, point)
        return Task(target(point), axes, tuple(evaluation.nodes), result)

    # -- reductions and assembly

    def reduction(self, statement: Operation, value: Value) -> None:
        """One task per reduction; a mean is the sum divided by the number of elements."""
        (operand,) = statement.operands
        reduced = cast("tuple[int, ...]", statement.attribute("axes"))
        if statement.name != "mean":
            self.definitions[value.name] = self.reduce(operand, reduced, statement.name, value.type)
            return
        total, count = Value(f"{value.name}.sum", value.type), Value(f"{value.name}.count", TileType(value.dtype, ()))
        number = usage.elements(operand) / max(1, usage.elements(value))
        self.definitions[total.name] = self.reduce(operand, reduced, "sum", value.type)
        self.definitions[count.name] = Operation("constant", (), (count,), (("dtype", value.dtype), ("value", number)))
        self.definitions[value.name] = Operation("div", (total, count), (value,))

    def reduce(self, operand: Value, reduced: tuple[int, ...], name: str, type_: TileType) -> Array:
        """Return a local array with the reduction, which adds to 0 or compares with infinity even a single element."""
        array = self.local(type_)
        if 0 in array.shape:
            return array
        axes, point = self.axes(operand.shape, reduced)
        evaluation = self.evaluation()
        result = evaluation.evaluate(operand, point)
        kept = tuple(ZERO if number in reduced else position for number, position in enumerate(point))
        self.output.append(Task(Access(array, kept), axes, tuple(evaluation.nodes), result, name))
        return array

    def assembly(self, statement: Operation, value: Value) -> None:
        if statement.name == "insert":
            self.insert(statement, value)
            return
        array = self.local(value.type)
        if statement.name == "concat":
            self.concat(statement, array)
        else:
            self.pad(statement, array)
        self.definitions[value.name] = array

    def insert(self, statement: Operation, value: Value) -> None:
        base, piece = statement.operands
        array = self.owned(base, statement)
        if array is None:
            array = self.local(value.type)
            self.initialise(base, array)
        region = region_of(cast("Ranges3", statement.attribute("ranges")))
        self.write_safely(piece, array, region, clip=False)
        self.definitions[value.name] = array

    def owned(self, value: Value, statement: Operation | For) -> Array | None:
        """Return the local array of `value` when nothing uses its present contents after `statement`."""
        definition = self.definitions[value.name]
        if not isinstance(definition, Array) or self.usage.last[value.name] != self.usage.position(statement):
            return None
        return definition

    def initialise(self, value: Value, array: Array) -> None:
        definition = self.definitions[value.name]
        if not (isinstance(definition, Operation) and definition.name == "undefined"):
            self.copy(value, array)

    def concat(self, statement: Operation, array: Array) -> None:
        axis, offset = cast("int", statement.attribute("axis")), 0
        for piece in statement.operands:
            shift = affine.number(offset)
            self.write(piece, lambda point, shift=shift: _shifted(array, point, {axis: shift}))  # type: ignore[misc]
            offset += extents(piece.shape)[axis]

    def pad(self, statement: Operation, array: Array) -> None:
        """Fill the whole array, then write the operand inside."""
        low = cast("tuple[int, ...]", statement.attribute("low"))
        filler = Value(f"{array.name}.fill", TileType(array.dtype, array.shape))
        attributes = (("dtype", array.dtype), ("shape", array.shape), ("value", statement.attribute("value")))
        self.definitions[filler.name] = Operation("constant", (), (filler,), attributes)
        if any(low) or any(cast("tuple[int, ...]", statement.attribute("high"))):
            self.copy(filler, array)
        shifts = {axis: affine.number(amount) for axis, amount in enumerate(low)}
        self.write(statement.operands[0], lambda point: _shifted(array, point, shifts))

    # -- stores and hazards

    def store(self, statement: Store) -> None:
        array = self.arrays[statement.target]
        if self.redirect(statement, array):
            return
        self.save_loads(array, self.usage.position(statement), statement.region)
        self.write_safely(statement.value, array, statement.region, statement.clip)

    def redirect(self, statement: Store, array: Array) -> bool:
        """Let the tasks that assemble a tile write to where it is stored, when nothing else needs the tile."""
        local, position = self.definitions[statement.value.name], self.usage.position(statement)
        if not isinstance(local, Array) or local.name not in self.created or statement.clip:
            return False
        if self.usage.last[statement.value.name] != position:
            return False
        if any(self.usage.last[value.name] > position for value in self.waiting(array)):
            return False
        found = redirection.redirected(
            self.output, local, array, lambda index: self.indexing.along(statement.region, index)
        )
        if found is not None:
            self.output[:] = found
        return found is not None

    def waiting(self, array: Array) -> list[Value]:
        """Return the values that are still to be loaded from `array` where they are used."""
        return [value for value in self.loads.get(array.name, []) if isinstance(self.definitions[value.name], Load)]

    def save_loads(self, array: Array, position: int, region: Region | None) -> None:
        """Copy what lazy loads still have to read of `array`, before it is written at `position`."""
        still = self.waiting(array)
        for value in still:
            load = self.definitions[value.name]
            assert isinstance(load, Load)
            apart = region is not None and conflicts.regions_apart(load.region, region, self.indexing)
            if self.usage.last[value.name] > position and not apart:
                self.keep(value)
        self.loads[array.name] = still

    def write_safely(self, value: Value, array: Array, region: Region, clip: bool) -> None:
        """Write `value` to a region of `array`; by way of a copy when it reads elements written before."""

        def target(point: Point) -> Access:
            index = self.indexing.along(region, point)
            return Access(array, index, clip and not self.indexing.inside(index, array.shape))

        task = self.task(value, target)
        if task is None:
            return
        if any(conflicts.overtakes(access, task, self.indexing) for access in task.reads):
            task = self.task(self.saved(value), target)
            assert task is not None
        if not _is_identity(task):
            self.output.append(task)

    def saved(self, value: Value) -> Value:
        """Copy `value` as it is now and return the copy under a name of its own."""
        array = self.local(value.type)
        self.copy(value, array)
        copy = Value(f"{value.name}.{array.name}", value.type)
        self.definitions[copy.name] = array
        return copy

    # -- loops and branches

    def loop(self, statement: For) -> None:
        position, end = self.usage.position(statement), self.usage.end(statement)
        self.save_for_region(statement.body, position)
        carried = [self.carried(value, statement) for value in statement.initial]
        start, stop = self.indexing.of(statement.start), self.indexing.of(statement.stop)
        symbol = self.symbol("k", self.loop_range(start, stop))
        self.indexing.names[statement.index] = symbol
        self.definitions.update((value.name, array) for value, array in zip(statement.carried, carried, strict=True))
        outer, self.output = self.output, []
        self.output = self.sequence(statement.body)
        self.yield_(statement.yielded, carried)
        body, self.output = self.output, outer
        self.output.append(Repeat(symbol, start, stop, statement.step, body))
        self.definitions.update((value.name, array) for value, array in zip(statement.results, carried, strict=True))
        assert end >= position

    def loop_range(self, start: Affine, stop: Affine) -> affine.Bounds | None:
        first, last = affine.bounds(start, self.indexing.ranges), affine.bounds(stop, self.indexing.ranges)
        if first is None or last is None:
            return None
        return first[0], max(first[0], last[1] - 1)

    def carried(self, initial: Value, statement: For) -> Array:
        """Return the array that holds a carried tile, with the initial value in it."""
        used_once = statement.initial.count(initial) == 1
        array = self.owned(initial, statement) if used_once else None
        if array is None:
            array = self.local(initial.type)
            self.initialise(initial, array)
        return array

    def yield_(self, yielded: tuple[Value, ...], carried: list[Array]) -> None:
        """Write all next carried tiles as if at once: readers before writers, a copy where they form a circle."""
        waiting = dict(enumerate(zip(yielded, carried, strict=True)))
        reads = {number: self.arrays_read(value) for number, (value, _) in waiting.items()}
        while waiting:
            free = next((number for number in waiting if not _read_by_others(number, waiting, reads)), None)
            if free is not None:
                value, array = waiting.pop(free)
                self.write_safely(value, array, nodes.whole(value.type), clip=False)
                continue
            number, (value, array) = next(iter(waiting.items()))
            waiting[number] = (self.saved(value), array)
            reads[number] = set()

    def arrays_read(self, value: Value) -> set[str]:
        """Return the names of the arrays that evaluating `value` reads."""
        task = self.task(value, lambda point: Access(Array("", value.dtype, (), Home.SCRATCH), point))
        return {access.array.name for access in task.reads} if task is not None else set()

    def choice(self, statement: If) -> None:
        position = self.usage.position(statement)
        self.save_for_region((*statement.then_body, *statement.else_body), position)
        arrays = [self.local(value.type) for value in statement.results]
        condition = statement.condition
        left, right = self.indexing.of(condition.left), self.indexing.of(condition.right)
        choice = Choice(condition, left, right)
        choice.then_body = self.side(statement.then_body, statement.then_yielded, arrays)
        choice.else_body = self.side(statement.else_body, statement.else_yielded, arrays)
        self.output.append(choice)
        self.definitions.update((value.name, array) for value, array in zip(statement.results, arrays, strict=True))

    def side(
        self, body: tuple[nodes.Statement, ...], yielded: tuple[Value, ...], arrays: list[Array]
    ) -> list[Statement]:
        outer, known = self.output, {name: list(values) for name, values in self.loads.items()}
        self.output = self.sequence(body)
        for value, array in zip(yielded, arrays, strict=True):
            self.copy(value, array)
        result, self.output, self.loads = self.output, outer, known
        return result

    def save_for_region(self, body: tuple[nodes.Statement, ...], position: int) -> None:
        """Copy what values from outside still have to read of arrays that a loop or branch writes."""
        written = {statement.target for statement in walk(body) if isinstance(statement, Store)}
        for name in sorted(written):
            self.save_loads(self.arrays[name], position, None)


def _read_by_others(number: int, waiting: Mapping[int, tuple[Value, Array]], reads: Mapping[int, set[str]]) -> bool:
    name = waiting[number][1].name
    return any(name in reads[other] for other in waiting if other != number)


def _shifted(array: Array, point: Point, shifts: Mapping[int, Affine]) -> Access:
    return Access(array, tuple(affine.add(item, shifts.get(axis, ZERO)) for axis, item in enumerate(point)))


def _is_identity(task: Task) -> bool:
    """True when the task writes each element of an array back to its own place."""
    node = task.nodes[task.result]
    if node.kind is not NodeKind.LOAD or node.access is None or node.access.guarded:
        return False
    return node.access.array is task.target.array and node.access.index == task.target.index
