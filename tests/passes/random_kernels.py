"""Random kernels for the vector cores: elementwise chains, broadcasts, reductions, loops that carry tiles, blocks."""

from __future__ import annotations

import random

from passes.kernels import KernelBuilder, region
from pypto.ir.dtypes import BF16, F16, F32, I32, DType
from pypto.ir.index import Symbol, make, multiply
from pypto.ir.nodes import GridAxis, Module, Role, Value

UNARY = ("abs", "neg", "tanh", "sigmoid", "floor")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
EXTENTS = (1, 2, 7, 8, 16, 31, 64, 65, 130)


class RandomKernel:
    """One kernel of the shape ``(rows, columns)``; `depth` of its buffers and cores are random too."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.k = KernelBuilder(f"random{seed}")
        self.shape = (self.random.choice((1, 3, 50, 200, 301)), self.random.choice(EXTENTS))
        self.inputs = 0

    def module(self) -> Module:
        make_body = self.random.choice((self.plain, self.plain, self.rows_in_a_loop, self.blocks, self.carried))
        make_body()
        attributes = {"buffer_depth": self.random.choice((1, 2, 3))}
        if self.random.random() < 0.5:
            attributes["aicore_num"] = self.random.choice((1, 2, 5))
        return self.k.module(**attributes)

    def name(self) -> str:
        self.inputs += 1
        return f"x{self.inputs}"

    def input(self) -> Value:
        rows, columns = self.shape
        dtype: DType = self.random.choice((F32, F32, F32, F16, BF16, I32))
        shape = self.random.choice((self.shape, self.shape, (1, columns), (rows, 1)))
        value = self.k.input(self.name(), shape, dtype)
        return value if dtype == F32 else self.k.op("cast", value, dtype=F32)

    def expression(self, values: list[Value], count: int) -> Value:
        """Return the last of `count` operations on `values` and on each other."""
        values = list(values)
        for _ in range(count):
            values.append(self.step(values))
        full = next((item for item in values if item.shape == self.shape), values[0])
        return values[-1] if values[-1].shape == self.shape else self.k.op("add", full, values[-1])

    def step(self, values: list[Value]) -> Value:
        chosen = self.random.choice
        left, right = chosen(values[-4:]), chosen(values)
        kind = self.random.random()
        if kind < 0.3:
            return self.k.op(chosen(UNARY), left)
        if kind < 0.4 and left.shape[1] > 1:
            return self.k.op(chosen(("sum", "max", "min", "mean")), left, axes=(1,))
        if kind < 0.5:
            return self.k.op("where", self.k.op(chosen(("lt", "ge")), left, right), left, self.k.number(0.5))
        if kind < 0.6:
            return self.k.op(chosen(BINARY), left, self.k.number(chosen((0.25, -1.5, 3.0))))
        return self.k.op(chosen(BINARY), left, right)

    def whole_input(self) -> Value:
        return self.k.input(self.name(), self.shape)

    def plain(self) -> None:
        values = [self.whole_input(), *(self.input() for _ in range(self.random.randrange(3)))]
        for number in range(self.random.choice((1, 1, 2))):
            result = self.expression(values, self.random.randrange(1, 9))
            self.k.output(f"out{number}", result)
            values.append(result)

    def rows_in_a_loop(self) -> None:
        """A loop over rows, with as many turns as there are rows or fewer."""
        rows, columns = self.shape = (self.random.choice((1, 2, 3, 9)), self.shape[1])
        x, y = (self.k.array(self.name(), self.shape) for _ in range(2))
        out = self.k.array("out", self.shape, role=Role.INOUT)
        self.shape = (1, columns)

        def body(i: Symbol) -> tuple[Value, ...]:
            row = region((i, 1), (0, columns))
            values = [self.k.load(x, row), self.k.load(y, row)]
            self.k.store(out, self.expression(values, self.random.randrange(1, 6)), row)
            return ()

        self.k.loop("i", 0, self.random.randrange(rows + 1), (), 1, body)

    def blocks(self) -> None:
        count, rows = self.random.choice((1, 3, 60, 100)), self.random.choice((1, 2, 4))
        columns = self.shape[1]
        block = Symbol("block")
        self.k.grid = (GridAxis(block, count),)
        x = self.k.array(self.name(), (count * rows, columns))
        out = self.k.array("out", (count * rows, columns), role=Role.OUT)
        self.shape = (rows, columns)
        part = region((multiply(block, rows), rows), (0, columns))
        self.k.store(out, self.expression([self.k.load(x, part)], self.random.randrange(1, 6)), part)

    def carried(self) -> None:
        """A loop that carries one or two tiles over chunks of an input."""
        rows, columns = self.shape = (self.random.choice((1, 2, 5)), self.shape[1])
        x = self.k.array(self.name(), self.shape)
        first = self.k.load(x, region((0, 1), (0, columns)))
        self.shape = (1, columns)

        def body(i: Symbol, left: Value, right: Value) -> tuple[Value, ...]:
            t = self.k.load(x, region((make("%", i, rows), 1), (0, columns)))
            total = self.expression([t, left], self.random.randrange(1, 5))
            return (total, left) if self.random.random() < 0.5 else (total, self.k.op("add", right, t))

        left, right = self.k.loop("i", 0, self.random.randrange(5), (first, first), 1, body)
        self.k.output("left", left)
        self.k.output("right", right)


def random_kernel(seed: int) -> Module:
    return RandomKernel(seed).module()
