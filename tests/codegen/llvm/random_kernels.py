"""Random kernels at level tile whose results are exact, so that native code can be compared bit for bit with the reference.

Numbers stay small whole ones: additions, extrema, floor division and remainders of them are exact in every dtype, and sums are
exact in any order. Views, reductions, assembly, loops, branches and in-place stores are mixed freely.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np

from pypto.ir.builder import Builder
from pypto.ir.dtypes import BOOL, F16, F32, F64, I8, I32, I64, DType
from pypto.ir.index import Index, Symbol, add
from pypto.ir.nodes import (
    Condition,
    For,
    GridAxis,
    If,
    Kernel,
    Load,
    Module,
    Parameter,
    Range,
    Role,
    Statement,
    Store,
    TileType,
    Value,
)

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64)
LIMIT = 40


class RandomKernel:
    """Makes one kernel from a seed: `module`, and `arrays()` for it."""

    def __init__(self, seed: int, statements: int = 14) -> None:
        self.random = random.Random(seed)
        self.builder = Builder()
        self.parameters: list[Parameter] = []
        self.values: list[Value] = []
        self.symbols: list[tuple[Symbol, int]] = []
        self.depth = 0
        self.dtype = self.random.choice((F32, F32, F32, I32, I64, F64, I8))
        rank = self.random.choice((1, 2, 2, 2, 3, 3, 4))
        self.shape = tuple(self.random.choice(EXTENTS[: len(EXTENTS) - 2 * (rank - 1)]) for _ in range(rank))
        if self.random.random() < 0.1:
            self.shape = (self.random.choice((257, 1000, 1023)), *self.shape[1:2])
        if self.random.random() < 0.05:
            self.shape = (*self.shape[:-1], 0)
        self.block: Symbol | None = Symbol("block") if self.random.random() < 0.25 else None
        self.blocks = 3
        if self.block is not None:
            self.symbols.append((self.block, self.blocks))
        grid = (GridAxis(self.block, self.blocks),) if self.block is not None else ()
        for number in range(self.random.randint(1, 3)):
            self.parameter(f"in{number}", Role.IN)
        for number in range(self.random.randint(1, 2)):
            self.parameter(f"out{number}", Role.INOUT)
        self.values.append(self.load_whole(self.parameters[0]))
        for _ in range(statements):
            self.statement()
        for parameter in self.parameters:
            if parameter.role is not Role.IN:
                self.store_somewhere(parameter)
        kernel = Kernel(f"random{seed}", self.whole_parameters(), grid, tuple(self.builder.statements))
        self.module = Module(kernel.name, kernel.parameters, (), (kernel,))

    # -- parameters

    def parameter(self, name: str, role: Role) -> None:
        shape = self.shape if self.random.random() < 0.7 else self.related(self.shape)
        self.parameters.append(Parameter(name, TileType(self.dtype, shape), role))

    def whole_parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters as the kernel has them: in a grid each block writes an item of its own."""
        return tuple(replace(item, type=self.whole_type(item)) for item in self.parameters)

    def whole_type(self, item: Parameter) -> TileType:
        if self.block is None or item.role is Role.IN:
            return item.type
        return TileType(item.type.dtype, (self.blocks, *item.type.shape))

    def related(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape that broadcasts with `shape`, or its reverse."""
        if self.random.random() < 0.3:
            return tuple(reversed(shape))
        result = tuple(1 if self.random.random() < 0.4 else extent for extent in shape)
        return result[self.random.randint(0, len(result)) :] if self.random.random() < 0.4 else result

    def arrays(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Return arguments with random values and random strides: steps, reversed and exchanged axes."""
        source = np.random.default_rng(seed)
        return {item.name: self.array(source, item) for item in self.whole_parameters()}

    def array(self, source: np.random.Generator, item: Parameter) -> np.ndarray:
        shape = tuple(int(extent) for extent in item.type.shape)  # type: ignore[arg-type]
        order = list(range(len(shape)))
        if source.random() < 0.3:
            source.shuffle(order)
        steps = [int(source.choice((1, 1, 1, 2, -1, -3))) for _ in shape] if source.random() < 0.4 else [1] * len(shape)
        wide = [shape[axis] * abs(steps[axis]) for axis in order]
        memory = np.zeros(wide, item.type.dtype.numpy)
        view = memory.transpose(np.argsort(order)) if shape else memory
        view = view[tuple(slice(None, None, step) for step in steps)] if shape else view
        assert view.shape == shape
        view[...] = source.integers(-9, 10, shape)
        return view

    # -- statements

    def statement(self) -> None:
        kinds: list[tuple[float, Any]] = [
            (5, self.elementwise),
            (2, self.reduction),
            (3, self.view),
            (1, self.assembly),
            (1.5, self.load_somewhere),
            (1, self.store_anything),
        ]
        if self.depth < 2:
            kinds += [(0.7, self.loop), (0.4, self.branch)]
        weights, functions = [item[0] for item in kinds], [item[1] for item in kinds]
        self.random.choices(functions, weights)[0]()

    def pick(self) -> Value:
        recent = self.values[-6:]
        return self.random.choice(recent if self.random.random() < 0.7 else self.values)

    def op(self, name: str, *operands: Value, **attributes: Any) -> Value:
        return self.builder.operation(name, operands, **attributes)

    def number(self, value: float, dtype: DType | None = None) -> Value:
        return self.op("constant", dtype=dtype or self.dtype, value=value)

    def small(self, value: Value) -> Value:
        """Keep numbers small: exact in every dtype."""
        low, high = self.number(-LIMIT), self.number(LIMIT)
        return self.op("minimum", self.op("maximum", value, low), high)

    def keep(self, value: Value) -> None:
        if math.prod(int(extent) for extent in value.shape) <= 20000:  # type: ignore[arg-type]
            self.values.append(value)

    def partner(self, value: Value) -> Value:
        """Return another value that broadcasts with `value`."""
        for _ in range(4):
            other = self.pick()
            if broadcasts(value.shape, other.shape):
                return other
        return self.random.choice((value, self.number(self.random.randint(-5, 5))))

    def elementwise(self) -> None:
        value = self.pick()
        other = self.partner(value)
        kind = self.random.randrange(9)
        if kind < 3:
            self.keep(self.small(self.op(self.random.choice(("add", "sub")), value, other)))
        elif kind == 3:
            self.keep(self.op(self.random.choice(("maximum", "minimum")), value, other))
        elif kind == 4:
            self.keep(self.op(self.random.choice(("neg", "abs")), value))
        elif kind == 5:
            condition = self.op(self.random.choice(("lt", "eq", "ge")), value, other)
            self.keep(self.op("where", condition, other, self.number(3)))
        elif kind == 6:
            # Costly enough to be stored when it is shared.
            self.keep(self.op("remainder", self.op("remainder", value, self.number(7)), self.number(4)))
        elif kind == 7:
            self.keep(self.small(self.op("mul", value, self.number(self.random.choice((2, -1, 3))))))
        else:
            self.through_cast(value)

    def through_cast(self, value: Value) -> None:
        narrow = self.op("cast", value, dtype=self.random.choice((F16, I8, I64, F64, F32, BOOL)))
        self.keep(self.op("cast", narrow, dtype=self.dtype))

    def reduction(self) -> None:
        value = self.pick()
        if not value.shape:
            return
        axes = tuple(axis for axis in range(len(value.shape)) if self.random.random() < 0.5)
        if not axes or any(value.shape[axis] == 0 for axis in axes):
            return
        name = self.random.choice(("sum", "max", "min"))
        result = self.op(name, value, axes=axes)
        if self.dtype is I8 and name == "sum":
            result = self.op("sum", self.op("cast", value, dtype=I64), axes=axes)
            result = self.op("cast", result, dtype=I8)
        result = self.small(result)
        if self.random.random() < 0.4:
            kept = tuple(extent for axis, extent in enumerate(value.shape) if axis not in axes)
            result = self.op("reshape", result, shape=kept)
        self.keep(result)

    def view(self) -> None:
        value = self.pick()
        shape = tuple(int(extent) for extent in value.shape)  # type: ignore[arg-type]
        kind = self.random.randrange(4)
        if kind == 0:
            order = list(range(len(shape)))
            self.random.shuffle(order)
            self.keep(self.op("transpose", value, permutation=tuple(order)))
        elif kind == 1:
            self.keep(self.op("reshape", value, shape=self.reshaped(shape)))
        elif kind == 2:
            wide = tuple(self.random.choice((2, 3, 9)) if extent == 1 else extent for extent in shape)
            self.keep(self.op("broadcast_to", value, shape=wide))
        else:
            ranges = tuple(self.range_in(extent) for extent in shape)
            self.keep(self.op("slice", value, ranges=tuple((item.offset, item.extent, item.step) for item in ranges)))

    def reshaped(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        total, result = math.prod(shape), []
        if total == 0:
            return shape
        while total > 1 and len(result) < 4:
            divisors = [number for number in range(1, total + 1) if total % number == 0]
            extent = self.random.choice(divisors)
            result.append(extent)
            total //= extent
        if total > 1:
            result.append(total)
        return tuple(result)

    def range_in(self, extent: int, wanted: int | None = None) -> Range:
        """Return a range inside an axis; sometimes with an offset that depends on an index."""
        if extent == 0:
            return Range(0, 0)
        size = wanted if wanted is not None else self.random.choice((extent, extent, self.random.randint(1, extent)))
        room = extent - size
        if self.random.random() < 0.2 and size > 0:
            return Range(extent - 1 - self.random.randint(0, room), size, -1)
        if size > 1 and self.random.random() < 0.2 and (size - 1) * 2 < extent and wanted is not None:
            return Range(0, size, 2)
        usable = [item for item in self.symbols if item[1] <= room + 1]
        if usable and self.random.random() < 0.6:
            symbol, _ = self.random.choice(usable)
            return Range(symbol, size)
        return Range(self.random.randint(0, room), size)

    def assembly(self) -> None:
        value = self.pick()
        shape = tuple(int(extent) for extent in value.shape)  # type: ignore[arg-type]
        kind = self.random.randrange(3)
        if not shape:
            return
        if kind == 0:
            others = [item for item in self.values[-8:] if item.shape == value.shape]
            axis = self.random.randrange(len(shape))
            self.keep(self.op("concat", value, self.random.choice(others or [value]), axis=axis))
        elif kind == 1:
            low = tuple(self.random.randint(0, 2) for _ in shape)
            high = tuple(self.random.randint(0, 2) for _ in shape)
            self.keep(self.op("pad", value, low=low, high=high, value=self.random.randint(-3, 3)))
        else:
            self.insert(value)

    def insert(self, base: Value) -> None:
        shape = tuple(int(extent) for extent in base.shape)  # type: ignore[arg-type]
        ranges = tuple(self.range_in(extent) for extent in shape)
        source = base if self.random.random() < 0.5 else self.number(1)
        extents = tuple(item.extent for item in ranges)
        if source is base:
            other = tuple(self.range_in(extent, size) for extent, size in zip(shape, extents, strict=True))  # type: ignore[arg-type]
            piece = self.op("slice", base, ranges=tuple((item.offset, item.extent, item.step) for item in other))
        else:
            piece = self.op("broadcast_to", source, shape=extents)
        wanted = tuple((item.offset, item.extent, item.step) for item in ranges)
        self.keep(self.op("insert", base, piece, ranges=wanted))

    # -- memory

    def load_whole(self, parameter: Parameter) -> Value:
        return self.load(parameter, tuple(Range(0, extent) for extent in parameter.type.shape))

    def load(self, parameter: Parameter, region: tuple[Range, ...], **extra: Any) -> Value:
        shape = tuple(item.extent for item in region)
        if self.block is not None and parameter.role is not Role.IN:
            region = (Range(self.block, 1), *region)
        value = self.builder.value(TileType(parameter.type.dtype, tuple(item.extent for item in region)))
        self.builder.append(Load(value, parameter.name, region, **extra))
        return value if len(region) == len(shape) else self.op("reshape", value, shape=shape)

    def store(self, parameter: Parameter, region: tuple[Range, ...], value: Value, **extra: Any) -> None:
        if self.block is not None:
            value = self.op("reshape", value, shape=(1, *value.shape))
            region = (Range(self.block, 1), *region)
        self.builder.append(Store(parameter.name, region, value, **extra))

    def load_somewhere(self) -> None:
        parameter = self.random.choice(self.parameters)
        shape = tuple(int(extent) for extent in parameter.type.shape)  # type: ignore[arg-type]
        if self.random.random() < 0.25 and shape:
            region = tuple(Range(self.random.randint(-3, 3), extent, 1) for extent in shape)
            self.keep(self.load(parameter, region, fill=self.random.randint(-2, 2)))
        elif self.random.random() < 0.5:
            self.keep(self.load_whole(parameter))
        else:
            self.keep(self.load(parameter, tuple(self.range_in(extent) for extent in shape)))

    def store_anything(self) -> None:
        self.store_somewhere(self.random.choice([item for item in self.parameters if item.role is not Role.IN]))

    def store_somewhere(self, parameter: Parameter) -> None:
        """Store a value that fits, or part of one, or a number."""
        shape = tuple(int(extent) for extent in parameter.type.shape)  # type: ignore[arg-type]
        same = [value for value in self.values if value.shape == shape]
        if same and self.random.random() < 0.7:
            value = self.random.choice(same)
            if self.random.random() < 0.2 and shape:
                region = tuple(Range(self.random.randint(-2, 2), extent) for extent in shape)
                self.store(parameter, region, value, clip=True)
                return
            order = tuple(
                Range(extent - 1, extent, -1) if self.random.random() < 0.2 and extent else Range(0, extent)
                for extent in shape
            )
            self.store(parameter, order, value)
            return
        region = tuple(self.range_in(extent) for extent in shape)
        extents = tuple(item.extent for item in region)
        fitting = [value for value in self.values if broadcasts_to(value.shape, extents)]
        value = self.random.choice(fitting) if fitting else self.number(2)
        self.store(parameter, region, self.op("broadcast_to", value, shape=extents))

    # -- control

    def body(self, statements: int) -> tuple[tuple[Statement, ...], list[Value]]:
        outer, self.builder.statements = self.builder.statements, []
        known = list(self.values)
        self.depth += 1
        for _ in range(statements):
            self.statement()
        self.depth -= 1
        made, self.values = self.values, known
        result, self.builder.statements = self.builder.statements, outer
        return tuple(result), made

    def loop(self) -> None:
        count = self.random.randint(1, 3)
        initial = tuple(self.pick() for _ in range(count))
        carried = tuple(self.builder.value(item.type) for item in initial)
        number = next(self.builder.numbers)
        symbol = Symbol(f"loop{number}")
        start, step = self.random.randint(0, 1), self.random.randint(1, 2)
        stop: Index = self.random.choice((0, 1, 2, 3, 4))
        if self.symbols and self.random.random() < 0.3:
            stop = add(self.symbols[-1][0], 1)
        largest = 5
        known = list(self.values)
        self.values = [*self.values, *carried]
        self.symbols.append((symbol, largest))
        body, made = self.body(self.random.randint(1, 5))
        self.symbols.pop()
        self.values = known
        yielded = tuple(self.like(item, made) for item in carried)
        results = tuple(self.builder.value(item.type) for item in initial)
        self.builder.append(For(symbol, start, stop, step, carried, initial, body, yielded, results))
        for value in results:
            self.keep(value)

    def like(self, value: Value, made: list[Value]) -> Value:
        same = [item for item in made if item.type == value.type]
        return self.random.choice(same[-5:])

    def branch(self) -> None:
        left: Index = self.symbols[-1][0] if self.symbols else self.random.randint(0, 2)
        condition = Condition(left, self.random.choice(("<", "<=", "==", "!=")), self.random.randint(0, 2))
        then_body, then_made = self.body(self.random.randint(1, 3))
        else_body, else_made = self.body(self.random.randint(1, 3))
        model = self.pick()
        results = (self.builder.value(model.type),)
        sides = (self.like(model, then_made),), (self.like(model, else_made),)
        self.builder.append(If(condition, then_body, sides[0], else_body, sides[1], results))
        self.keep(results[0])


def broadcasts(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(left), reversed(right), strict=False))


def broadcasts_to(shape: tuple[Any, ...], wide: tuple[Any, ...]) -> bool:
    if len(shape) > len(wide):
        return False
    return all(a == b or a == 1 for a, b in zip(reversed(shape), reversed(wide), strict=False))
