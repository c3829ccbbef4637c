"""Random modules that keep every rule of the verifier, over all node kinds and all four levels.

`modules()` is a hypothesis strategy; `make_module` takes any `random.Random`. With ``symbolic=False`` every extent is a number and the
module can be run by the interpreter.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace

from hypothesis import strategies

from pypto.ir.dtypes import ALL, BOOL, F32, I64, DType
from pypto.ir.index import Extent, Index, Symbol, add, floor_divide, make, maximum, minimum, multiply
from pypto.ir.nodes import (
    Attribute,
    Buffer,
    Condition,
    For,
    GridAxis,
    Guard,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Parameter,
    Pipe,
    Range,
    Region,
    Role,
    Space,
    Statement,
    Store,
    TileType,
    Value,
)
from pypto.ir.operations.definition import Category, OperationDefinition
from pypto.ir.operations.table import TABLE

PARAMETER_NAMES = (
    "x",
    "out",
    "load",
    "store",
    "α",
    "étage",
    "ﬁ",
    "℘",
    "step",
    "gm",
    "inf",
    "nan",
    "min",
    "pto",
    "x y",
    'a"b',
    "",
)
VALUE_NAMES = (
    "",
    "t",
    "a.b",
    "α",
    "for",
    "9",
    "x y",
    'q"',
    "back\\slash",
    "new\nline",
    "100%",
    "\u2028",
    "\ud800",
    "😀",
)
EXTENTS = (0, 1, 1, 2, 3, 5, 7)
FLOATS = (0.0, -0.0, 1.5, -2.25, 0.1, 1e-5, 1e300, 5e-324, 3.4028235e38, math.inf, -math.inf, math.nan)
INTEGERS = (0, 1, -1, 7, -128, 2**31, 2**63 - 1, -(2**63))


@strategies.composite
def modules(draw: strategies.DrawFn, symbolic: bool = True, level: Level | None = None) -> Module:
    """Draw a module; at a random level unless one is given."""
    source = draw(strategies.randoms(use_true_random=False))
    return make_module(source, symbolic, level or draw(strategies.sampled_from(list(Level))))


def make_module(source: random.Random, symbolic: bool = True, level: Level = Level.TILE) -> Module:
    kernels = tuple(
        replace(make_kernel(source, symbolic, level), name=f"{source.choice(VALUE_NAMES)}{number}")
        for number in range(source.choice((0, 1, 1, 1, 2)))
    )
    if len(kernels) == 1 and source.random() < 0.5:
        return Module(kernels[0].name, kernels[0].parameters, (), kernels)
    kernels = tuple(_prefixed(kernel, f"k{number}_") for number, kernel in enumerate(kernels))
    parameters = tuple(item for kernel in kernels for item in kernel.parameters)
    inner = tuple(item for item in parameters if not item.scalar and source.random() < 0.3)
    outer = tuple(item for item in parameters if item not in inner)
    return Module(source.choice(VALUE_NAMES), outer, inner, kernels)


def _prefixed(kernel: Kernel, prefix: str) -> Kernel:
    """Give parameters names of their own, so that kernels of a module may have arrays of different types."""

    def rename(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map(rename_one, body))

    def rename_one(statement: Statement) -> Statement:
        if isinstance(statement, Load):
            return replace(statement, source=prefix + statement.source)
        if isinstance(statement, Store):
            return replace(statement, target=prefix + statement.target)
        if isinstance(statement, For):
            return replace(statement, body=rename(statement.body))
        if isinstance(statement, If):
            return replace(statement, then_body=rename(statement.then_body), else_body=rename(statement.else_body))
        return statement

    parameters = tuple(replace(item, name=prefix + item.name) for item in kernel.parameters)
    return replace(kernel, parameters=parameters, body=rename(kernel.body))


def make_kernel(source: random.Random, symbolic: bool = True, level: Level = Level.TILE) -> Kernel:
    """Return a kernel that keeps the rules of `level`."""
    return _Maker(source, symbolic, level).kernel()


@dataclass
class _Maker:
    source: random.Random
    symbolic: bool
    level: Level
    parameters: tuple[Parameter, ...] = ()
    stored: set[str] = field(default_factory=set)
    indices: list[tuple[Symbol, int]] = field(default_factory=list)
    pool: list[Value] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    count: int = 0
    address: int = 0

    def chance(self, probability: float) -> bool:
        return self.source.random() < probability

    def kernel(self) -> Kernel:
        names = self.source.sample(PARAMETER_NAMES, self.source.randint(1, 5))
        self.parameters = tuple(map(self.parameter, names))
        known = sorted(
            {extent.name for item in self.parameters for extent in item.type.shape if isinstance(extent, Symbol)}
        )
        grid = tuple(
            GridAxis(Symbol(f"block{number}"), self.source.randint(1, 3))
            for number in range(self.source.choice((0, 0, 1, 2)))
        )
        self.indices += [(axis.symbol, int(str(axis.extent)) - 1) for axis in grid]
        body = self.body(self.source.randint(1, 12), depth=0)
        if self.level.rank >= Level.SYNCHRONISED.rank:
            body = self.synchronised(body)
        if self.level.rank >= Level.BUFFERED.rank and self.chance(0.3):
            body = self.between_barriers(body, grid)
        return Kernel(
            name=self.source.choice(PARAMETER_NAMES),
            parameters=self.parameters,
            grid=grid,
            body=body,
            level=self.level,
            buffers=tuple(self.buffers),
            guards=tuple(
                Guard(Symbol(name), self.source.choice((4, Symbol(name)))) for name in known if self.chance(0.3)
            ),
            attributes=self.kernel_attributes(),
        )

    def kernel_attributes(self) -> tuple[tuple[str, Attribute], ...]:
        names = self.source.sample(("tile_num", "note", "α", "a b", "level"), self.source.randint(0, 3))
        return tuple((name, self.attribute(2)) for name in names)

    def attribute(self, depth: int) -> Attribute:
        simple: tuple[Attribute, ...] = (
            None,
            True,
            False,
            Symbol("free"),
            make("+", Symbol("a b"), 1),
            F32,
            *FLOATS,
            *INTEGERS,
            *VALUE_NAMES,
        )
        if depth and self.chance(0.3):
            return tuple(self.attribute(depth - 1) for _ in range(self.source.randint(0, 3)))
        return self.source.choice(simple)

    def parameter(self, name: str) -> Parameter:
        dtype = self.source.choice(ALL)
        if self.chance(0.2):
            return Parameter(name, TileType(dtype, ()), Role.IN, scalar=True)
        return Parameter(name, TileType(dtype, self.shape()), self.source.choice(list(Role)))

    def shape(self) -> tuple[Extent, ...]:
        return tuple(self.extent() for _ in range(self.source.randint(0, 3)))

    def extent(self) -> Extent:
        if self.symbolic and self.chance(0.2):
            return self.source.choice((Symbol("n"), Symbol("rows")))
        return self.source.choice(EXTENTS)

    # values and buffers

    def value(self, type_: TileType, like: Value | None = None) -> Value:
        """Return a new value, in a buffer of its own or in that of `like`."""
        self.count += 1
        name = f"{self.source.choice(VALUE_NAMES)}{self.count}"
        value = Value(name, type_, like.buffer if like else self.buffer(type_))
        self.pool.append(value)
        return value

    def copied(self, value: Value, like: Value | None = None) -> tuple[list[Statement], Value]:
        """Return `value` moved into another buffer, below level tile; it is gone for others, so it leaves the pool."""
        if self.level is Level.TILE:
            return [], value
        moved = self.value(value.type, like)
        self.pool.remove(moved)
        return [Operation("copy", (value,), (moved,))], moved

    def buffer(self, type_: TileType) -> str | None:
        if self.level is Level.TILE or (not type_.shape and self.chance(0.5)):
            return None
        elements = math.prod(extent if isinstance(extent, int) else 8 for extent in type_.shape)
        name = f"{self.source.choice(VALUE_NAMES)}b{len(self.buffers)}"
        buffer = Buffer(name, Space.UB, type_.dtype, (1, elements), self.source.choice((1, 1, 2, 3)))
        if self.level is Level.PLANNED:
            buffer = replace(buffer, address=self.address % 98304 // 32 * 32)
            self.address += buffer.slot_bytes * buffer.depth
        self.buffers.append(buffer)
        return name

    def index(self, low: int, high: int) -> Index:
        """Return an index expression that stays in low .. high for all values of the known indices."""
        if not self.indices or self.chance(0.4):
            return self.source.randint(low, high)
        symbol, largest = self.source.choice(self.indices)
        simple = minimum(add(multiply(symbol, self.source.randint(0, 3)), low), high)
        divided = add(make("%", add(symbol, 3), high - low + 1), low)
        shifted = maximum(make("-", high, floor_divide(symbol, self.source.randint(1, 3))), low)
        return self.source.choice((simple, divided, shifted, symbol if low <= 0 and largest <= high else low))

    def region(self, shape: tuple[Extent, ...], free: bool) -> Region:
        return tuple(self.range(extent, free) for extent in shape)

    def range(self, size: Extent, free: bool) -> Range:
        if not isinstance(size, int):
            return Range(0, size)
        if free:
            return Range(self.index(-3, 5), self.source.choice(EXTENTS), self.source.choice((1, 2, -1)))
        step = self.source.choice((1, 1, 1, 2, 3, -1, -2))
        extent = self.source.randint(0, -(-size // abs(step)))
        reach = max(0, extent - 1) * abs(step)
        low, high = (0, max(0, size - 1 - reach)) if step > 0 else (reach, max(reach, size - 1))
        return Range(self.index(low, high), extent, step)

    # statements

    def body(self, length: int, depth: int) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for _ in range(length):
            statements += self.statement(depth)
        return tuple(statements)

    def statement(self, depth: int) -> list[Statement]:
        kind = self.source.random()
        if kind < 0.15 or not self.pool:
            return self.load()
        if kind < 0.3:
            return self.store()
        if kind < 0.4 and depth < 3:
            return self.loop(depth)
        if kind < 0.48 and depth < 3:
            return self.branches(depth)
        return self.operation(self.source.choice(_NAMES))

    def load(self) -> list[Statement]:
        sources = [item for item in self.parameters if item.role is not Role.OUT or item.name in self.stored]
        if not sources:
            return self.operation("constant")
        source = self.source.choice(sources)
        free = self.chance(0.2)
        region = self.region(source.type.shape, free)
        fill = self.number(source.type.dtype) if free else None
        result = self.value(TileType(source.type.dtype, tuple(item.extent for item in region)))
        return [Load(result, source.name, region, fill)]

    def store(self) -> list[Statement]:
        targets = [item for item in self.parameters if item.role is not Role.IN]
        if not targets:
            return []
        target = self.source.choice(targets)
        clip = self.chance(0.2)
        region = self.region(target.type.shape, clip)
        shape = tuple(item.extent for item in region)
        statements, value = self.fitting(TileType(target.type.dtype, shape))
        self.stored.add(target.name)
        return [*statements, Store(target.name, region, value, clip)]

    def fitting(self, type_: TileType) -> tuple[list[Statement], Value]:
        """Return a value of exactly `type_`, made new when the pool has none."""
        found = [value for value in self.pool if value.type == type_]
        if found:
            return [], self.source.choice(found)
        value = self.value(type_)
        attributes = (("dtype", type_.dtype), ("shape", type_.shape), ("value", self.number(type_.dtype)))
        return [Operation("constant", (), (value,), attributes)], value

    def number(self, dtype: DType) -> float | int | bool:
        if dtype is BOOL:
            return self.chance(0.5)
        if dtype.is_float:
            return self.source.choice([item for item in FLOATS + INTEGERS if dtype.holds(item)])
        return self.source.choice([item for item in INTEGERS if dtype.holds(item)])

    def loop(self, depth: int) -> list[Statement]:
        start, stop, step = self.source.randint(-1, 1), self.source.randint(-1, 4), self.source.choice((1, 1, 2))
        before, initial = self.moved(tuple(self.source.choice(self.pool) for _ in range(self.source.randint(0, 2))))
        index = Symbol(f"{self.source.choice(VALUE_NAMES)}i{self.count}")
        self.count += 1
        pool, indices = list(self.pool), list(self.indices)
        carried = tuple(self.value(value.type, value) for value in initial)
        if start >= 0 and stop > start:
            self.indices.append((index, stop - 1))
        statements = list(self.body(self.source.randint(0, 4), depth + 1))
        yielded = self.yields(carried, statements)
        self.pool, self.indices = pool, indices
        results = tuple(self.value(value.type, value) for value in initial)
        return [*before, For(index, start, stop, step, carried, initial, tuple(statements), yielded, results)]

    def moved(self, values: tuple[Value, ...]) -> tuple[list[Statement], tuple[Value, ...]]:
        """Put each value into a buffer of its own, since a loop overwrites what it starts with."""
        statements: list[Statement] = []
        copies = []
        for value in values:
            more, copy = self.copied(value)
            statements += more
            copies.append(copy)
        return statements, tuple(copies)

    def yields(self, like: tuple[Value, ...], statements: list[Statement]) -> tuple[Value, ...]:
        """Return values to yield, in the buffers of `like`; carried values may not be read after the first copy."""
        found = []
        for value in like:
            more, one = self.fitting(value.type)
            statements += more
            found.append(one)
        before, safe = self.moved(tuple(found))
        statements += before
        yielded = []
        for value, one in zip(like, safe, strict=True):
            more, copy = self.copied(one, value)
            statements += more
            yielded.append(copy)
        return tuple(yielded)

    def branches(self, depth: int) -> list[Statement]:
        like = tuple(self.value(self.source.choice(self.pool).type) for _ in range(self.source.randint(0, 2)))
        self.pool = [value for value in self.pool if value not in like]
        condition = Condition(self.index(0, 3), self.source.choice(("<", "<=", "==", "!=")), self.index(0, 3))
        pool, stored, bodies = list(self.pool), set(self.stored), []
        for _ in range(2):
            self.pool, self.stored = list(pool), set(stored)
            statements = list(self.body(self.source.randint(0, 3), depth + 1))
            bodies.append((self.yields(like, statements), tuple(statements)))
        self.pool, self.stored = pool, stored
        results = tuple(self.value(value.type, value) for value in like)
        (then_yielded, then_body), (else_yielded, else_body) = bodies
        return [If(condition, then_body, then_yielded, else_body, else_yielded, results)]

    # operations

    def operation(self, name: str) -> list[Statement]:
        record = TABLE[name]
        if record.level.rank > self.level.rank:
            return []
        if record.category is Category.CONSTANT:
            return self.constant(record)
        statements, x = self.operand(record)
        operands, attributes, more = self.arguments(record, x)
        if operands is None:
            return statements
        types = record.infer(tuple(value.type for value in operands), attributes)
        results = tuple(map(self.value, types))
        return [*statements, *more, Operation(name, operands, results, tuple(sorted(attributes.items())))]

    def constant(self, record: OperationDefinition) -> list[Statement]:
        dtype = I64 if record.name == "index" else self.source.choice(record.dtypes)
        attributes: dict[str, Attribute] = {"dtype": dtype}
        if record.name == "iota":
            extents = tuple(self.source.choice(EXTENTS) for _ in range(self.source.randint(1, 3)))
            attributes |= {"axis": self.source.randrange(len(extents)), "shape": extents}
        if record.name == "undefined" or (record.name == "constant" and self.chance(0.5)):
            attributes["shape"] = tuple(self.source.choice(EXTENTS) for _ in range(self.source.randint(0, 2)))
        if record.name in ("constant", "index"):
            attributes["value"] = self.index(-4, 9) if record.name == "index" else self.number(dtype)
        result = self.value(record.infer((), attributes)[0])
        return [Operation(record.name, (), (result,), tuple(sorted(attributes.items())))]

    def operand(self, record: OperationDefinition) -> tuple[list[Statement], Value]:
        """Return a value of a dtype that the operation takes, by a cast if need be."""
        value = self.source.choice(self.pool)
        if value.dtype in record.dtypes:
            return [], value
        dtype = self.source.choice(record.dtypes)
        result = self.value(TileType(dtype, value.shape))
        return [Operation("cast", (value,), (result,), (("dtype", dtype),))], result

    def arguments(
        self, record: OperationDefinition, x: Value
    ) -> tuple[tuple[Value, ...] | None, dict[str, Attribute], list[Statement]]:
        if record.category is Category.ELEMENTWISE:
            return self.elementwise(record, x)
        if record.category is Category.REDUCTION:
            axes = tuple(axis for axis in range(x.type.rank) if self.chance(0.5))
            empty = any(x.shape[axis] == 0 for axis in axes) and record.name in ("max", "min")
            return (None if empty or len(record.operands) > 1 else (x,)), {"axes": axes}, []
        makers = {
            "reshape": lambda: ((x,), {"shape": self.reshaped(x.shape)}, []),
            "transpose": lambda: (
                (x,),
                {"permutation": tuple(self.source.sample(range(x.type.rank), x.type.rank))},
                [],
            ),
            "broadcast_to": lambda: ((x,), {"shape": self.broadcast(x.shape)}, []),
            "slice": lambda: ((x,), {"ranges": self.ranges(x.shape)}, []),
            "insert": lambda: self.insert(x),
            "pad": lambda: ((x,), self.padding(x), []),
            "concat": lambda: self.concat(x),
        }
        if record.category in (Category.ARGUMENT_REDUCTION, Category.SCAN, Category.SORT, Category.INDEXING):
            return self.along(record, x)
        if record.category is Category.CONTRACTION:
            return self.contraction(record, x)
        return makers[record.name]() if record.name in makers else (None, {}, [])  # type: ignore[no-any-return,no-untyped-call]

    def along(
        self, record: OperationDefinition, x: Value
    ) -> tuple[tuple[Value, ...] | None, dict[str, Attribute], list[Statement]]:
        """Operations along one axis; indices are zeros, which no axis with elements lacks."""
        axes = [axis for axis, extent in enumerate(x.shape) if extent != 0]
        if not axes or 0 in x.shape or record.level is not Level.TILE:  # the core's own forms need workspaces
            return None, {}, []
        axis = self.source.choice(axes)
        attributes: dict[str, Attribute] = {"axis": axis}
        if record.name == "argsort":
            return (x,), attributes | {"count": int(x.shape[axis] == 1), "descending": self.chance(0.5)}, []
        if record.category is not Category.INDEXING:
            return (x,), attributes, []
        indices = self.value(TileType(I64, x.shape))
        zeros: tuple[tuple[str, Attribute], ...] = (("dtype", I64), ("shape", x.shape), ("value", 0))
        operands = (x, indices) if record.name == "gather" else (x, indices, x)
        return operands, attributes | {"wrap": self.chance(0.5)}, [Operation("constant", (), (indices,), zeros)]

    def contraction(
        self, record: OperationDefinition, x: Value
    ) -> tuple[tuple[Value, ...] | None, dict[str, Attribute], list[Statement]]:
        """Products of the last axes with a partner that fits; windows of one element; attention of a tile to itself."""
        if record.name == "convolution":
            before, image = self.fitting(TileType(x.dtype, (2, 2, 3)))
            more, kernel = self.fitting(TileType(x.dtype, (2, 2, 1, 1)))
            stride = self.source.choice((1, 2))
            return (image, kernel), {"dilation": (1, 1), "stride": (1, stride)}, [*before, *more]
        if x.type.rank < 2 or not all(isinstance(extent, int) and extent for extent in x.shape[-2:]):
            return None, {}, []
        if record.name == "matmul":
            more, y = self.fitting(TileType(x.dtype, (x.shape[-1], self.source.choice((1, 3)))))
            return (x, y), {}, more
        more, mask = self.fitting(TileType(x.dtype, (x.shape[-2], x.shape[-2])))
        return (x, x, x, mask), {"causal": self.chance(0.5), "scale": 0.5}, more

    def elementwise(
        self, record: OperationDefinition, x: Value
    ) -> tuple[tuple[Value, ...] | None, dict[str, Attribute], list[Statement]]:
        if record.name == "cast":
            return (x,), {"dtype": self.source.choice(ALL)}, []
        if record.attributes:
            return None, {}, []
        if record.name == "where":
            more, condition = self.fitting(TileType(BOOL, x.shape))
            return (condition, x, self.partner(x)), {}, more
        return (x, *(self.partner(x) for _ in record.operands[1:])), {}, []

    def partner(self, x: Value) -> Value:
        return self.source.choice(
            [value for value in self.pool if value.dtype is x.dtype and _broadcasts(value.shape, x.shape)]
        )

    def reshaped(self, shape: tuple[Extent, ...]) -> tuple[Extent, ...]:
        if all(isinstance(extent, int) for extent in shape) and self.chance(0.5):
            return (math.prod(int(str(extent)) for extent in shape),)
        return (1, *shape) if self.chance(0.5) else (*shape, 1)

    def broadcast(self, shape: tuple[Extent, ...]) -> tuple[Extent, ...]:
        wide = tuple(self.source.choice(EXTENTS) if extent == 1 else extent for extent in shape)
        return (self.source.choice(EXTENTS), *wide) if self.chance(0.5) else wide

    def ranges(self, shape: tuple[Extent, ...]) -> tuple[tuple[Index, Extent, int], ...]:
        return tuple((item.offset, item.extent, item.step) for item in self.region(shape, free=False))

    def insert(self, x: Value) -> tuple[tuple[Value, ...], dict[str, Attribute], list[Statement]]:
        ranges = self.ranges(x.shape)
        more, piece = self.fitting(TileType(x.dtype, tuple(item[1] for item in ranges)))
        return (x, piece), {"ranges": ranges}, more

    def padding(self, x: Value) -> dict[str, Attribute]:
        low, high = (tuple(self.source.choice((0, 0, 1, 2)) for _ in x.shape) for _ in range(2))
        return {"low": low, "high": high, "value": self.number(x.dtype)}

    def concat(self, x: Value) -> tuple[tuple[Value, ...] | None, dict[str, Attribute], list[Statement]]:
        if not x.shape:
            return None, {}, []
        return (x,) * self.source.randint(1, 3), {"axis": self.source.randrange(x.type.rank)}, []

    # synchronisation

    def synchronised(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Put a pair of flags around statements, in loops and branches too."""
        result: list[Statement] = []
        for original in body:
            statement = self.inner_synchronised(original)
            source, destination = self.source.sample([pipe.value for pipe in Pipe], 2)
            number = self.source.randint(0, 5)
            flag: tuple[tuple[str, Attribute], ...] = (("destination", destination), ("id", number), ("source", source))
            if isinstance(statement, For | If) or self.chance(0.5):
                result.append(statement)
            else:
                result += [Operation("set_flag", (), (), flag), statement, Operation("wait_flag", (), (), flag)]
        return (*result, Operation("pipe_barrier", (), (), (("pipe", "V"),)))

    def between_barriers(self, body: tuple[Statement, ...], grid: tuple[GridAxis, ...]) -> tuple[Statement, ...]:
        """Put a barrier between all blocks in front of some statements and behind them."""
        participants = math.prod(int(str(axis.extent)) for axis in grid)
        number = ("barrier_id", self.source.randint(0, 10))
        place = self.source.randint(0, len(body))
        set_barrier = Operation("set_barrier", (), (), (number, ("participants", participants)))
        return (*body[:place], set_barrier, *body[place:], Operation("wait_barrier", (), (), (number,)))

    def inner_synchronised(self, statement: Statement) -> Statement:
        if isinstance(statement, For):
            return replace(statement, body=self.synchronised(statement.body))
        if isinstance(statement, If):
            return replace(statement, then_body=self.synchronised(statement.then_body))
        return statement


_NAMES = tuple(record.name for record in TABLE.values() if record.category is not Category.SYNCHRONISATION)


def _broadcasts(shape: tuple[Extent, ...], other: tuple[Extent, ...]) -> bool:
    pairs = zip(reversed(shape), reversed(other), strict=False)
    return all(left == right or left == 1 or right == 1 for left, right in pairs)
