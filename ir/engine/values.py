"""Observer: the numbers. Executes a planned kernel at its real addresses, one byte array for each memory of the core.

Work reads when it starts or just before it finishes, and writes when it finishes, so that a missing flag or barrier
shows as a wrong number in some order. What nobody wrote is known: reading it is a fault. Lanes that no value has
(padding of rows, workspaces) are filled with arbitrary bytes by whoever may write them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import BOOL
from pypto.ir.engine.cores import Core, Meeting, blocks_of, run_all
from pypto.ir.engine.groups import CORES, group_of
from pypto.ir.engine.machine import Fault, Order
from pypto.ir.engine.program import Array, Program, Step, concrete
from pypto.ir.index import Bounds, Symbol, evaluate
from pypto.ir.nodes import Buffer, Kernel, Load, Module, Operation, Space, Store, Value, walk
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.layout import row_multiple, storage_shape, stored_rank, strides, symbol_ranges
from pypto.ir.passes.pipes import is_cube_space, is_mixed, is_short
from pypto.ir.passes.slots import of_name
from pypto.ir.verification.barriers import has_barriers
from pypto.ir.verification.levels import MEMORIES

Bytes = NDArray[np.uint8]


@dataclass(slots=True)
class Memory:
    """The bytes of one on-chip memory, and which of them were written."""

    data: Bytes
    written: Bytes

    @staticmethod
    def of(size: int, random: np.random.Generator) -> Memory:
        return Memory(random.integers(0, 256, size, np.uint8), np.zeros(size, np.uint8))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lies: first byte, extents now, distance of neighbours and elements from first to last."""

    memory: Memory
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    elements: int
    packed: bool

    @property
    def bytes_of_bits(self) -> slice:
        """The bytes of comparison bits: whole repeats of 64."""
        return slice(self.address, self.address + -(-self.elements // 64) * 8)

    def view(self, dtype: np.dtype[Any]) -> Array:
        width = dtype.itemsize
        steps = tuple(stride * width for stride in self.strides)
        return np.ndarray(self.shape, dtype, self.memory.data.data, self.address, steps)

    def marks(self, width: int) -> Bytes:
        steps = (*(stride * width for stride in self.strides), 1)
        return np.ndarray((*self.shape, width), np.uint8, self.memory.written.data, self.address, steps)

    def bits(self) -> Array:
        """Return all bits, as bytes of their own, and a view of those of the value."""
        return np.unpackbits(self.memory.data[self.bytes_of_bits], bitorder="little")

    def bit_view(self, bits: Array) -> Array:
        return np.ndarray(self.shape, np.uint8, bits.data, 0, self.strides)


@dataclass(slots=True)
class Layouts:
    """Answers where the values of a kernel lie."""

    kernel: Kernel
    memories: dict[Space, Memory]
    buffers: dict[str, Buffer] = field(init=False)
    multiple: int = field(init=False)
    ranges: dict[Symbol, Bounds] = field(init=False)
    stored: dict[str, tuple[int, ...]] = field(default_factory=dict)
    conversions: dict[str, Operation] = field(init=False)

    def __post_init__(self) -> None:
        self.buffers = of_name(self.kernel.buffers)
        self.multiple = row_multiple(self.kernel)
        self.ranges = symbol_ranges(self.kernel)
        operations = (item for item in walk(self.kernel.body) if isinstance(item, Operation))
        self.conversions = {item.results[0].name: item for item in operations if item.name == "fixpipe"}

    def place(self, value: Value, step: Step) -> Place:
        assert value.buffer is not None
        buffer = self.buffers[value.buffer]
        assert buffer.address is not None
        shape = tuple(evaluate(extent, step.symbols) for extent in value.shape)
        if value.name not in self.stored:
            self.stored[value.name] = storage_shape(value.shape, self.multiple, self.ranges, self.kernel)
        if is_cube_space(buffer.space):
            return self.matrix(value, buffer, shape, step)
        rank = stored_rank(value.shape)
        steps = (*(strides(self.stored[value.name]) if rank else ()), *(0 for _ in shape[rank:]))
        elements = shape[0] * steps[0] if rank else 1
        address = buffer.address + step.slots.get(buffer.name, 0) * buffer.slot_bytes
        return Place(self.memories[buffer.space], address, shape, steps, elements, buffer.dtype == BOOL)

    def matrix(self, value: Value, buffer: Buffer, shape: tuple[int, ...], step: Step) -> Place:
        """A matrix lies in logical order, row by row, in a buffer of the size of its fractals."""
        long = [axis for axis, extent in enumerate(value.shape) if extent != 1]
        pitches = dict(zip(reversed(long), (1, buffer.shape[-1]), strict=False))
        steps = tuple(pitches.get(axis, 0) for axis in range(len(shape)))
        address = (buffer.address or 0) + step.slots.get(buffer.name, 0) * buffer.slot_bytes
        return Place(self.memories[buffer.space], address, shape, steps, math.prod(buffer.shape), False)


@dataclass(slots=True)
class Values:
    """The observer. `arrays` are those in global memory, changed in place; `reads_late` is the share of the work that
    reads just before it finishes."""

    layouts: Layouts
    arrays: Mapping[str, Array]
    random: np.random.Generator
    reads_late: float = 0.0
    pending: dict[int, Array] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def start(self, step: Step) -> None:
        if self.reads_late == 0 or step.waits_inside or self.random.random() >= self.reads_late:
            self.read_all(step)

    def read_all(self, step: Step) -> None:
        statement = step.statement
        if isinstance(statement, Load):
            region = tuple(selection(item) for item in concrete_region(statement.region, step))
            self.pending[id(step)] = np.array(self.arrays[statement.source][region])
        elif isinstance(statement, Store):
            self.pending[id(step)] = self.stored(statement.value, step)
        elif isinstance(statement, Operation):
            self.pending[id(step)] = self.computed(statement, step)

    def stored(self, value: Value, step: Step) -> Array:
        """Return what a store writes: the fixpipe converts on the way."""
        conversion = self.layouts.conversions.get(value.name)
        if conversion is None:
            return self.read(value, step)
        attributes = {name: concrete(item, step.symbols) for name, item in conversion.attributes}
        return np.asarray(TABLE["fixpipe"].meaning(self.read(conversion.operands[0], step), **attributes))

    def computed(self, operation: Operation, step: Step) -> Array:
        names = TABLE[operation.name].operands
        if operation.name == "insert":
            return self.read(operation.operands[1], step)
        attributes = {name: concrete(value, step.symbols) for name, value in operation.attributes}
        arrays: list[Array] = []
        for position, value in enumerate(operation.operands):
            if names[:1] == ("accumulator",) and not position and not attributes["turn"]:
                arrays.append(np.zeros((), value.dtype.numpy))
            elif position < len(names) and names[position] == "workspace":
                self.use_workspace(operation, value, step)
                arrays.append(np.zeros(0, value.dtype.numpy))
            else:
                arrays.append(self.read(value, step))
        with np.errstate(all="ignore"):
            return np.array(TABLE[operation.name].meaning(*arrays, **attributes))

    def finish(self, step: Step) -> None:
        if id(step) not in self.pending:
            self.read_all(step)
        statement, array = step.statement, self.pending.pop(id(step))
        if isinstance(statement, Store):
            region = tuple(selection(item) for item in concrete_region(statement.region, step))
            self.arrays[statement.target][region] = array
        elif isinstance(statement, Load):
            self.write(statement.result, array, step)
        elif isinstance(statement, Operation) and statement.name == "insert":
            self.write_part(statement, array, step)
        elif isinstance(statement, Operation):
            for value, name in zip(statement.operands, TABLE[statement.name].operands, strict=False):
                if name == "workspace":
                    self.use_workspace(statement, value, step)
            self.write(statement.results[0], array, step)

    def use_workspace(self, operation: Operation, value: Value, step: Step) -> None:
        if not is_short(operation):
            self.spoil(self.layouts.place(value, step), value.dtype.bytes)

    def read(self, value: Value, step: Step) -> Array:
        if value.buffer is None:
            return step.registers[value.name]
        place = self.layouts.place(value, step)
        if place.packed:
            if not place.memory.written[place.bytes_of_bits].all():
                self.unwritten(value, step)
            return np.array(place.bit_view(place.bits())).astype(bool)
        if not place.marks(value.dtype.bytes).all():
            self.unwritten(value, step)
        return np.array(place.view(value.dtype.numpy), order="C")

    def unwritten(self, value: Value, step: Step) -> None:
        self.faults.append(Fault(f"{value} has bytes that nobody wrote", step.statement))

    def write(self, value: Value, array: Array, step: Step) -> None:
        place = self.layouts.place(value, step)
        if place.packed:
            bits = self.random.integers(0, 2, place.bits().shape, np.uint8)
            place.bit_view(bits)[...] = array
            place.memory.data[place.bytes_of_bits] = np.packbits(bits, bitorder="little")
            place.memory.written[place.bytes_of_bits] = 1
            return
        self.spoil(place, value.dtype.bytes)
        place.view(value.dtype.numpy)[...] = array
        place.marks(value.dtype.bytes)[...] = 1

    def write_part(self, operation: Operation, array: Array, step: Step) -> None:
        value = operation.results[0]
        place = self.layouts.place(value, step)
        ranges = concrete(operation.attribute("ranges"), step.symbols)
        region = tuple(selection(item) for item in ranges)
        place.view(value.dtype.numpy)[region] = array
        place.marks(value.dtype.bytes)[region] = 1

    def spoil(self, place: Place, width: int) -> None:
        """Fill the bytes from the first to the last element of a place with anything."""
        part = slice(place.address, place.address + place.elements * width)
        place.memory.data[part] = self.random.integers(0, 256, part.stop - part.start, np.uint8)
        place.memory.written[part] = 0

    def raise_flag(self, step: Step) -> None:
        """Flags have no values."""

    def lower_flag(self, step: Step) -> None:
        """Flags have no values."""

    def barrier(self, step: Step) -> None:
        """Barriers have no values."""


def concrete_region(region: Any, step: Step) -> list[tuple[int, int, int]]:
    return [(evaluate(item.offset, step.symbols), evaluate(item.extent, step.symbols), item.step) for item in region]


def selection(item: tuple[int, int, int]) -> slice:
    """Return the NumPy slice of ``(offset, extent, step)``."""
    offset, extent, stride = item
    if not extent:
        return slice(0, 0)
    stop = offset + stride * (extent - 1) + (1 if stride > 0 else -1)
    return slice(offset, None if stop < 0 else stop, stride)


def execute(kernel: Kernel, arrays: Mapping[str, Array], order: Order, symbols: Mapping[Symbol, int]) -> list[Fault]:
    """Run every block of a planned `kernel` on `arrays` (scalars are arrays of shape ()) in an order; return faults.

    Blocks run one after another, or all at once where they wait for each other.
    """
    random = np.random.default_rng(order.seed)
    scalars = {item.name: np.asarray(arrays[item.name]) for item in kernel.parameters if item.scalar}
    blocks = list(blocks_of(kernel, symbols))
    cores, meeting = list[Core](), Meeting(len(blocks))
    faults: list[Fault] = []
    for block in blocks:
        if is_mixed(kernel):
            observers = [_observer(kernel, arrays, random, order) for _ in CORES]
            cores += group_of(kernel, observers, {**symbols, **block}, scalars)
            faults += _finished(cores, order)
            continue
        core = Core(_observer(kernel, arrays, random, order), meeting=meeting)
        core.load(Program(kernel, None, {**symbols, **block}, scalars).steps())
        cores.append(core)
        if not has_barriers(kernel):
            faults += _finished(cores, order)
    return faults + _finished(cores, order)


def _observer(kernel: Kernel, arrays: Mapping[str, Array], random: np.random.Generator, order: Order) -> Values:
    used = {buffer.space for buffer in kernel.buffers} or {Space.UB}
    memories = {space: Memory.of(MEMORIES[space].capacity, random) for space in Space if space in used}
    return Values(Layouts(kernel, memories), arrays, random, order.reads_late)


def _finished(cores: list[Core], order: Order) -> list[Fault]:
    """Return the faults of running `cores` to their end, and forget them."""
    faults = run_all(cores, order)
    faults += [fault for core in cores if isinstance(core.observer, Values) for fault in core.observer.faults]
    cores.clear()
    return faults


def run(
    module: Module, arrays: Mapping[str, Array], scalars: Mapping[str, float] | None = None, order: Order | None = None
) -> list[Fault]:
    """Run the kernels of a planned `module` like `pypto.ir.interpreter.run`, but at addresses and in `order`; return
    what went wrong (flags misused, deadlocks, bytes read that nobody wrote)."""
    memory = dict(arrays)
    for item in module.parameters:
        if item.scalar and scalars is not None and item.name in scalars:
            memory[item.name] = np.asarray(scalars[item.name]).astype(item.type.dtype.numpy)
    for item in module.intermediates:
        memory[item.name] = np.zeros([evaluate(extent, {}) for extent in item.type.shape], item.type.dtype.numpy)
    order = order or Order("early")
    return [fault for kernel in module.kernels for fault in execute(kernel, memory, order, {})]
