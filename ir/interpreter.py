"""The reference target: what a module means, computed with the operation table's NumPy meanings.

Levels below *tile* run as well: values stay SSA, buffers are not modelled, and flags do nothing. At a barrier between
blocks, each block stops until all the others have come to theirs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import DType
from pypto.ir.index import Index, IndexOperation, Symbol, evaluate
from pypto.ir.nodes import (
    Attribute,
    Condition,
    For,
    If,
    Kernel,
    Load,
    Module,
    Operation,
    Parameter,
    Region,
    Statement,
    Store,
    Value,
    operands,
    results,
    walk,
)
from pypto.ir.operations.definition import Category, IndexOutOfRange, Meaning
from pypto.ir.operations.mistakes import index_error
from pypto.ir.operations.table import TABLE

Array = NDArray[Any]
Number = bool | int | float

COMPARISONS = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


def run(module: Module, arrays: Mapping[str, Array], scalars: Mapping[str, Number] | None = None) -> None:
    """Run the kernels of `module` in order; arrays that a kernel writes are changed in place.

    `arrays` holds one array of the parameter's dtype and shape for each array parameter, of any strides; `scalars` a
    number for each scalar parameter. Symbolic extents take their values from the arrays. Intermediates are allocated
    here, filled with NaN (integers with 0). Raises KeyError for a missing argument, IndexError for a region that leaves
    its array.
    """
    memory = dict(arrays)
    memory.update(_scalar_arrays(module.parameters, scalars or {}))
    symbols = shape_symbols(module.parameters, memory)
    for item in module.intermediates:
        shape = tuple(evaluate(extent, symbols) for extent in item.type.shape)
        memory[item.name] = _unwritten(item.type.dtype, shape)
    for kernel in module.kernels:
        run_kernel(kernel, memory, symbols)


def run_kernel(kernel: Kernel, memory: Mapping[str, Array], symbols: Mapping[Symbol, int] | None = None) -> None:
    """Run every block of one kernel, in order, on the arrays of `memory` (scalars are arrays of shape ()).

    What lies between two barriers runs in all blocks, in order, before anything behind the second one.
    """
    known = dict(symbols or {})
    known.update(shape_symbols(kernel.parameters, memory))
    deaths = _last_uses(kernel.body)
    extents = [range(evaluate(axis.extent, known)) for axis in kernel.grid]
    grids = (
        {axis.symbol: number for axis, number in zip(kernel.grid, block, strict=True)}
        for block in itertools.product(*extents)
    )
    running = (_Machine(memory, {**known, **grid}, deaths).body(kernel.body) for grid in grids)
    if not any(map(_waits, walk(kernel.body))):
        for _ in itertools.chain.from_iterable(running):
            pass
        return
    waiting = list(running)
    while waiting:
        waiting = [block for block in waiting if next(block, _ENDED) is not _ENDED]


_ENDED = object()


def _waits(statement: Statement) -> bool:
    return isinstance(statement, Operation) and statement.name == "wait_barrier"


def shape_symbols(parameters: tuple[Parameter, ...], memory: Mapping[str, Array]) -> dict[Symbol, int]:
    """Return the value of each symbol that is by itself an extent of a parameter, read off the arrays."""
    found: dict[Symbol, int] = {}
    for parameter in parameters:
        for extent, actual in zip(parameter.type.shape, memory[parameter.name].shape, strict=True):
            if isinstance(extent, Symbol):
                found[extent] = actual
    return found


def _scalar_arrays(parameters: tuple[Parameter, ...], scalars: Mapping[str, Number]) -> dict[str, Array]:
    """Scalars may also be given among the arrays, as arrays of shape ()."""
    return {
        item.name: np.asarray(scalars[item.name]).astype(item.type.dtype.numpy)
        for item in parameters
        if item.scalar and item.name in scalars
    }


def _unwritten(dtype: DType, shape: tuple[int, ...]) -> Array:
    return np.full(shape, np.nan if dtype.is_float else 0, dtype.numpy)


Deaths = dict[int, tuple[tuple[str, ...], ...]]
"""By ``id`` of a body: for each of its statements, the values that nothing needs once it has run."""


def _last_uses(body: tuple[Statement, ...]) -> Deaths:
    """Return where each value dies, for `body` and all bodies inside it.

    A value dies in the body that defines it, so a turn of a loop never drops what the next turn reads. What a body
    yields dies with the loop or branch around it.
    """
    deaths: Deaths = {}
    pending: list[tuple[tuple[Statement, ...], tuple[Value, ...]]] = [(body, ())]
    while pending:
        current, yielded = pending.pop()
        deaths[id(current)] = _deaths_in(current, {value.name for value in yielded})
        for statement in current:
            pending += _bodies(statement)
    return deaths


def _deaths_in(body: tuple[Statement, ...], kept: set[str]) -> tuple[tuple[str, ...], ...]:
    last: dict[str, int] = {}
    for position, statement in enumerate(body):
        last.update((name, position) for name in _inner_names(statement))
        last.update((value.name, position) for value in results(statement))
        last.update((name, position) for name in _uses(statement) if name in last)
    dying: list[list[str]] = [[] for _ in body]
    for name, position in last.items():
        if name not in kept:
            dying[position].append(name)
    return tuple(map(tuple, dying))


def _inner_names(statement: Statement) -> Iterator[str]:
    """Names that outlive the bodies of `statement` only to be handed to its results."""
    if isinstance(statement, For):
        yield from (value.name for value in statement.carried)
    for body, yielded in _bodies(statement):
        defined = {value.name for inner in body for value in results(inner)}
        yield from (value.name for value in yielded if value.name in defined)


def _uses(statement: Statement) -> Iterator[str]:
    for inner in walk((statement,)):
        for value in operands(inner):
            yield value.name


def _bodies(statement: Statement) -> tuple[tuple[tuple[Statement, ...], tuple[Value, ...]], ...]:
    """The bodies of `statement` with what each yields."""
    if isinstance(statement, For):
        return ((statement.body, statement.yielded),)
    if isinstance(statement, If):
        return ((statement.then_body, statement.then_yielded), (statement.else_body, statement.else_yielded))
    return ()


@dataclass(slots=True)
class _Machine:
    """One block: the arrays, the index symbols' values and the tile values alive now."""

    memory: Mapping[str, Array]
    symbols: dict[Symbol, int]
    deaths: Deaths
    values: dict[str, Array] = field(default_factory=dict)

    def body(self, statements: tuple[Statement, ...]) -> Iterator[None]:
        """Run statements; stops wherever the block waits for the others."""
        for statement, dying in zip(statements, self.deaths[id(statements)], strict=True):
            if isinstance(statement, For):
                yield from self.loop(statement)
            elif isinstance(statement, If):
                yield from self.choice(statement)
            elif _waits(statement):
                yield
            else:
                self.statement(statement)
            for name in dying:
                self.values.pop(name, None)

    def statement(self, statement: Operation | Load | Store) -> None:
        if isinstance(statement, Operation):
            self.operation(statement)
        elif isinstance(statement, Load):
            self.load(statement)
        else:
            self.store(statement)

    def operation(self, operation: Operation) -> None:
        record = TABLE[operation.name]
        if record.category is Category.SYNCHRONISATION:
            return
        arguments = [self.values[value.name] for value in operation.operands]
        attributes = {name: self.attribute(value) for name, value in operation.attributes}
        outcome = self.applied(operation, record.meaning, arguments, attributes)
        outcomes = outcome if len(operation.results) > 1 else (outcome,)
        self.bind(operation.results, tuple(map(np.asarray, outcomes)))

    def applied(
        self, operation: Operation, meaning: Meaning, arguments: list[Array], attributes: dict[str, Any]
    ) -> Any:
        """Return what an operation means; raises UserError ``index-out-of-range``."""
        try:
            return meaning(*arguments, **attributes)
        except IndexOutOfRange as mistake:
            raise index_error(operation.name, bool(attributes["wrap"]), operation.location, mistake) from None

    def bind(self, targets: tuple[Value, ...], arrays: tuple[Array, ...]) -> None:
        for target, array in zip(targets, arrays, strict=True):
            self.values[target.name] = array

    def attribute(self, value: Attribute) -> Any:
        if isinstance(value, tuple):
            return tuple(self.attribute(item) for item in value)
        return evaluate(value, self.symbols) if isinstance(value, Symbol | IndexOperation) else value

    def index(self, index: Index) -> int:
        return evaluate(index, self.symbols)

    def positions(self, region: Region) -> list[NDArray[np.int64]]:
        """The element numbers of each axis of a region, not clipped."""
        return [
            self.index(item.offset) + item.step * np.arange(self.index(item.extent), dtype=np.int64) for item in region
        ]

    def load(self, load: Load) -> None:
        source = self.memory[load.source]
        if load.fill is None:
            self.values[load.result.name] = np.array(source[self.selection(load.source, load.region)])
            return
        positions = self.positions(load.region)
        dtype = load.result.dtype.numpy
        with np.errstate(all="ignore"):
            fill = np.asarray(load.fill).astype(dtype)
        result = np.full([len(item) for item in positions], fill, dtype)
        inside = [(item >= 0) & (item < extent) for item, extent in zip(positions, source.shape, strict=True)]
        result[np.ix_(*inside)] = source[np.ix_(*(item[keep] for item, keep in zip(positions, inside, strict=True)))]
        self.values[load.result.name] = result

    def store(self, store: Store) -> None:
        target, value = self.memory[store.target], self.values[store.value.name]
        if not store.clip:
            target[self.selection(store.target, store.region)] = value
            return
        positions = self.positions(store.region)
        inside = [(item >= 0) & (item < extent) for item, extent in zip(positions, target.shape, strict=True)]
        kept = np.broadcast_to(value, [len(item) for item in positions])[np.ix_(*inside)]
        target[np.ix_(*(item[keep] for item, keep in zip(positions, inside, strict=True)))] = kept

    def selection(self, name: str, region: Region) -> tuple[slice, ...]:
        """The NumPy slices of a region; raises IndexError when it leaves the array, which slices would hide."""
        shape = self.memory[name].shape
        slices: list[slice] = []
        for item, size in zip(region, shape, strict=True):
            offset, extent = self.index(item.offset), self.index(item.extent)
            last = offset + item.step * (extent - 1)
            if extent and not (0 <= offset < size and 0 <= last < size):
                raise IndexError(f"region {offset} : {extent} : {item.step} leaves axis of extent {size} of {name}")
            stop = last + (1 if item.step > 0 else -1)
            slices.append(slice(offset, None if stop < 0 else stop, item.step) if extent else slice(0, 0))
        return tuple(slices)

    def loop(self, loop: For) -> Iterator[None]:
        current = tuple(self.values[value.name] for value in loop.initial)
        for number in range(self.index(loop.start), self.index(loop.stop), loop.step):
            self.symbols[loop.index] = number
            self.bind(loop.carried, current)
            yield from self.body(loop.body)
            current = tuple(self.values[value.name] for value in loop.yielded)
        self.bind(loop.results, current)

    def choice(self, choice: If) -> Iterator[None]:
        if self.holds(choice.condition):
            body, yielded = choice.then_body, choice.then_yielded
        else:
            body, yielded = choice.else_body, choice.else_yielded
        yield from self.body(body)
        self.bind(choice.results, tuple(self.values[value.name] for value in yielded))

    def holds(self, condition: Condition) -> bool:
        return bool(COMPARISONS[condition.comparison](self.index(condition.left), self.index(condition.right)))
