"""What emission rules write with: lines, names of what a kernel uses, offsets as C++ expressions."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from pypto.codegen.ascendc.expressions import CPP_TYPES
from pypto.codegen.ascendc.names import identifier
from pypto.ir.index import Bounds, Extent, Index, IndexOperation, Symbol, add, bounds, ceil_divide, multiply
from pypto.ir.nodes import Buffer, For, Kernel, Operation, Value
from pypto.ir.passes.layout import row_multiple, storage_shape, stored_rank, strides, symbol_ranges
from pypto.ir.passes.pipes import Pipes
from pypto.ir.passes.slots import rotations

INDENT = "    "


@dataclass(slots=True)
class Emission:
    """The body of one kernel being written. `helpers` collects the device functions that it calls."""

    kernel: Kernel
    pipes: Pipes
    multiple: int
    ranges: dict[Symbol, Bounds]
    buffers: dict[str, Buffer]
    rotating: dict[str, For]
    names: dict[str, str] = field(default_factory=dict)
    symbols: dict[Symbol, str] = field(default_factory=dict)
    named: dict[Index, str] = field(default_factory=dict)
    helpers: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    counter: Iterator[int] = field(default_factory=itertools.count)

    @staticmethod
    def of(kernel: Kernel) -> Emission:
        buffers = {buffer.name: buffer for buffer in kernel.buffers}
        decided = (Pipes.of(kernel), row_multiple(kernel), symbol_ranges(kernel))
        emission = Emission(kernel, *decided, buffers, rotations(kernel))
        for number, buffer in enumerate(kernel.buffers):
            emission.names[f"@{buffer.name}"] = identifier("ub", number, "")
        for number, parameter in enumerate(kernel.parameters):
            emission.names[parameter.name] = identifier("arg", number, parameter.name)
        return emission

    # lines

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text if text else "")

    def call(self, function: str, *arguments: str) -> None:
        """Write a call of an AscendC function."""
        self.line(f"AscendC::{function}({', '.join(arguments)});")

    def help(self, name: str, *arguments: str) -> None:
        """Write a call of a device function of ours."""
        self.helpers.add(name)
        self.line(f"{name}({', '.join(arguments)});")

    def barrier(self) -> None:
        self.line("AscendC::PipeBarrier<PIPE_V>();")

    def barrier_between(self, positions: tuple[Index, ...]) -> None:
        """Write a barrier for every turn but the first of the loops that `loops` gave `positions`."""
        turning = [self.index(position) for position in positions if not isinstance(position, int)]
        if turning:
            with self.block(f"if ({' + '.join(turning)} > 0)"):
                self.barrier()

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    @contextlib.contextmanager
    def loop(self, extent: Extent, start: int = 0) -> Iterator[Index]:
        """Write a loop over start .. extent - 1 and give its variable; no loop around one turn."""
        if extent == 1 and start == 0:
            yield 0
            return
        symbol = Symbol(f"r{next(self.counter)}")
        self.symbols[symbol] = symbol.name
        found = bounds(extent, self.ranges)
        self.ranges[symbol] = (start, max(start, found[1] - 1) if found else start)
        name = symbol.name
        with self.block(f"for (int64_t {name} = {start}; {name} < {self.index(extent)}; ++{name})"):
            yield symbol

    @contextlib.contextmanager
    def steps(self, extent: Extent, step: int) -> Iterator[Index]:
        """Write a loop over 0, `step`, ... below `extent` and give its variable."""
        symbol = Symbol(f"r{next(self.counter)}")
        self.symbols[symbol] = name = symbol.name
        with self.block(f"for (int64_t {name} = 0; {name} < {self.index(extent)}; {name} += {step})"):
            yield symbol

    @contextlib.contextmanager
    def loops(self, extents: tuple[Extent, ...]) -> Iterator[tuple[Index, ...]]:
        """Write nested loops over `extents` and give their variables."""
        with contextlib.ExitStack() as stack:
            yield tuple(stack.enter_context(self.loop(extent)) for extent in extents)

    # names and numbers

    def name_symbol(self, symbol: Symbol) -> str:
        self.symbols[symbol] = identifier("i", len(self.symbols), symbol.name)
        return self.symbols[symbol]

    def name_register(self, value: Value) -> str:
        self.names[value.name] = identifier("s", next(self.counter), "")
        return self.names[value.name]

    def register(self, value: Value) -> str:
        return self.names[value.name]

    def index(self, index: Index) -> str:
        """Return an index expression as C++ of type int64_t; // and % round down also for negative numbers."""
        if isinstance(index, int):
            return str(index)
        if isinstance(index, Symbol):
            return self.symbols[index]
        return self.named.get(index) or self.index_operation(index)

    def name_index(self, index: Index) -> None:
        """Write a variable for an index expression, which `index` then uses."""
        if isinstance(index, IndexOperation) and index not in self.named:
            text = self.index(index)
            name = identifier("n", next(self.counter), "")
            self.line(f"const int64_t {name} = {text};")
            self.named[index] = name

    def index_operation(self, index: IndexOperation) -> str:
        left, right = self.index(index.left), self.index(index.right)
        if index.operator in ("min", "max"):
            function = {"min": "Minimum", "max": "Maximum"}[index.operator]
            self.helpers.add(function)
            return f"{function}({left}, {right})"
        if index.operator in ("//", "%"):
            low = bounds(index.left, self.ranges)
            if low is None or low[0] < 0:
                function = {"//": "FloorDivide", "%": "FloorModulo"}[index.operator]
                self.helpers.add(function)
                return f"{function}({left}, {right})"
        return f"({left} {index.operator.replace('//', '/')} {right})"

    # tiles

    def buffer(self, value: Value) -> Buffer:
        assert value.buffer is not None
        return self.buffers[value.buffer]

    def tensor(self, value: Value, offset: Index = 0) -> str:
        """Return the LocalTensor of a tile, from element `offset` on."""
        name = self.names[f"@{value.buffer}"]
        return name if offset == 0 else f"{name}[{self.index(offset)}]"

    def as_type(self, value: Value, type_: str, offset: Index = 0) -> str:
        return f"{self.tensor(value, offset)}.ReinterpretCast<{type_}>()"

    def element_type(self, value: Value) -> str:
        return CPP_TYPES[self.buffer(value).dtype]

    def strides(self, value: Value) -> tuple[int, ...]:
        """Return the distance between neighbours in a tile, one number per axis of the value (0 for trailing 1s)."""
        rank = stored_rank(value.shape)
        stored = strides(self.storage(value)) if rank else ()
        return (*stored, *(0 for _ in range(value.type.rank - rank)))

    def storage(self, value: Value) -> tuple[int, ...]:
        """Return the storage shape of a tile; its buffer's own may be of another rank when the tile is a view."""
        return storage_shape(value.shape, self.multiple, self.ranges, self.kernel)

    def offset(self, value: Value, positions: tuple[Index, ...]) -> Index:
        """Return the element number in its buffer of the element at `positions` (as many leading axes as given)."""
        total: Index = 0
        for position, stride in zip(positions, self.strides(value), strict=False):
            total = add(total, multiply(position, stride))
        return total

    def elements(self, value: Value) -> Index:
        """Return how many elements from the first to the last of a tile an instruction covers, padding included."""
        rank = stored_rank(value.shape)
        if not rank:
            return 1
        return multiply(value.shape[0], self.strides(value)[0])

    def rounded(self, count: Index, multiple: int) -> Index:
        return multiply(ceil_divide(count, multiple), multiple)

    def count(self, value: Value) -> str:
        return self.index(self.elements(value))

    def whole_count(self, value: Value) -> str:
        """Return the count rounded up to whole repeats of f32, as Compare wants it."""
        return self.index(self.rounded(self.elements(value), 64))


def only_result(operation: Operation) -> Value:
    (result,) = operation.results
    return result
