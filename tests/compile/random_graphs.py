"""Random tile graphs over operations that every target computes to the same bits."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pypto
from pypto import Dependency, GatherDep, tile

REVERSED = "src_tile_num - 1 - tile_idx"

UNARY: tuple[Callable[[Any], Any], ...] = (
    lambda a: a + 1.0,
    lambda a: a * 0.5,
    abs,
    lambda a: pypto.maximum(a, -1.0),
    lambda a: pypto.where(a > 0.0, a, a * 0.25),
    lambda a: -a,
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    pypto.maximum,
    lambda a, b: pypto.where(a > b, a * 0.5, b),
)
ACROSS: tuple[Callable[[Any], Any], ...] = (
    lambda a: a - pypto.max(a, axis=-1, keepdims=True),
    lambda a: a + pypto.min(a, axis=-2, keepdims=True),
    lambda a: pypto.minimum(a, pypto.max(a)),
    lambda a: pypto.concat([a[:, 1:], a[:, :1]], axis=1),
)


def with_source(lines: list[str]) -> str:
    """Return a file name under which Python finds these lines: what a stage reads first shows in its source alone."""
    name = f"<random graph {' '.join(lines)}>"
    linecache.cache[name] = (len(lines), None, [line + "\n" for line in lines], name)
    return name


@dataclass
class Port:
    """An array that stages may read: a launch argument, or what stage `stage` writes to `buffer`."""

    buffer: str
    stage: Any = None
    taken: bool = False


@dataclass
class RandomGraph:
    """One graph of arrays (rows, columns), or with `blocks` (tiles, rows of a tile, columns); made from a seed."""

    seed: int
    stages: list[Any] = field(default_factory=list)
    links: list[Any] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        chosen = self.random.choice
        self.tiles, self.rows, self.columns = chosen((1, 2, 3, 8)), chosen((1, 4, 8)), chosen((8, 16, 40))
        self.blocks = self.random.random() < 0.4 and self.tiles > 1
        self.dtype = chosen(("float32", "float32", "float16"))
        whole = (self.tiles * self.rows, self.columns)
        self.shape = (self.tiles, self.rows, self.columns) if self.blocks else whole
        self.ports = [self.launch(f"x{number}") for number in range(chosen((1, 2)))]
        for number in range(chosen((2, 3, 4, 6))):
            self.add(number)

    def launch(self, name: str) -> Port:
        self.shapes[name] = self.shape
        return Port(name)

    def add(self, number: int) -> None:
        kind = self.random.random()
        if kind < 0.15 and len(self.own()) > 1:
            self.gather(number)
        elif kind > 0.85 and number == 0:
            self.stage(number, [Port("")], None)  # changes a launch argument and hands it on
        elif kind < 0.3 and self.own():
            self.stage(number, self.inputs(1), None)
        else:
            self.stage(number, self.inputs(self.random.choice((1, 1, 2))), self.body())

    def own(self) -> list[Port]:
        return [port for port in self.ports if port.stage is not None]

    def inputs(self, count: int) -> list[Port]:
        """Return arrays to read, the first one from another stage when there is any."""
        waiting = [port for port in self.own() if not port.taken]
        first = self.random.choice(waiting or self.own()[-3:] or self.ports)
        return [first, *(self.random.choice(self.ports[-3:]) for _ in range(count - 1))]

    def body(self) -> Callable[..., Any]:
        unary = [self.random.choice(UNARY) for _ in range(self.random.choice((1, 2, 3)))]
        binary, across = self.random.choice(BINARY), self.random.choice(ACROSS)
        reduces = self.random.random() < 0.4

        def compute(first: Any, *others: Any) -> Any:
            for operation in unary:
                first = operation(first)
            for other in others:
                first = binary(first, other)
            return across(first) if reduces else first

        return compute

    def decorator(self, name: str) -> Callable[[Any], Any]:
        kind = self.random.random()
        tiled = {"shape": (self.rows, self.columns), "tile_num": self.tiles, "name": name}
        if self.blocks or kind < 0.6:
            return tile(**tiled)
        return tile(name=name)

    def stage(self, number: int, ports: list[Port], compute: Callable[..., Any] | None) -> None:
        """Add a stage that reads `ports`; without `compute` it changes its only input in place."""
        name = f"s{number}"
        names = [f"{name}_in{position}" for position in range(len(ports))]
        output = names[0] if compute is None else f"{name}_out"
        asks = self.blocks and self.random.random() < 0.5 and compute is not None
        lines = [f"def {name}({', '.join(names if compute is None else [*names, output])}):"]
        if asks:
            lines += ["    block = get_block_id()", f"    {output}[:] = compute({', '.join(names)}) + block"]
        elif compute is None:
            lines += [f"    {output}[:] = {names[0]} * 0.5 + 1.0"]
        else:
            lines += [f"    {output}[:] = compute({', '.join(names)})"]
        scope: dict[str, Any] = {"compute": compute, "get_block_id": pypto.get_block_id}
        exec(compile("\n".join(lines), with_source(lines), "exec"), scope)
        made = self.decorator(name)(scope[name])
        self.stages.append(made)
        for port, own in zip(ports, names, strict=True):
            self.link(port, made, own)
        self.ports.append(Port(output, made))

    def link(self, port: Port, stage: Any, own: str) -> None:
        if port.stage is None:
            self.shapes[own] = self.shape
            return
        mapping = REVERSED if self.random.random() < 0.15 and self.can_map(port.stage, stage) else None
        port.taken = True
        self.links.append(Dependency(port.stage, stage, src_buffer=port.buffer, dst_buffer=own, mapping=mapping))

    def can_map(self, source: Any, destination: Any) -> bool:
        return source.tile_num == destination.tile_num == self.tiles > 1

    def gather(self, number: int) -> None:
        """Two producers of one output name, and what combines them."""
        ports = self.inputs(2)
        buffers = []
        for position, port in enumerate(ports):
            name = f"g{number}{position}"
            scope: dict[str, Any] = {}
            exec(f"def {name}({name}_in, part{number}):\n    part{number}[:] = {name}_in + {position}.0", scope)
            made = tile(shape=(self.rows, self.columns), tile_num=self.tiles, name=name)(scope[name])
            self.stages.append(made)
            self.link(port, made, f"{name}_in")
            buffers.append(made)
        name = f"s{number}"
        scope = {}
        exec(f"def {name}(part{number}, {name}_out):\n    {name}_out[:] = part{number} * 0.5", scope)
        made = tile(shape=(self.rows, self.columns), tile_num=self.tiles, name=name)(scope[name])
        self.stages.append(made)
        reduction = self.random.choice(("sum", "max", "min"))
        self.links.append(GatherDep(buffers, made, reduction, f"part{number}"))
        self.ports.append(Port(f"{name}_out", made))

    def arrays(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return launch arguments of small multiples of 1/4, so that sums are exact."""
        generator = np.random.default_rng(self.seed)
        return {name: (generator.integers(-20, 20, self.shape) / 4).astype(self.dtype) for name in names}
