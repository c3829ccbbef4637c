"""Give every tile a buffer of depth 1 in the unified buffer.

Each tile has a buffer of its own, but views and what an instruction may write over an operand that nobody needs any
more; `plan_addresses` lets buffers that are never in use together share bytes. Loops carry their values in buffers of
their own, which `copy` fills before the loop and at the end of each turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pypto.ir.dtypes import DType
from pypto.ir.nodes import (
    Buffer,
    For,
    If,
    Kernel,
    Level,
    Load,
    Operation,
    Space,
    Statement,
    Value,
    operands,
    results,
    walk,
)
from pypto.ir.passes.assign_cube_buffers import assign_cube_buffers
from pypto.ir.passes.footprint import capacity
from pypto.ir.passes.forms import IN_BASE, is_alias
from pypto.ir.passes.layout import buffer_dtype, row_multiple, storage_shape, symbol_ranges
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.plan_addresses import peak
from pypto.ir.passes.rewriting import Rewriter
from pypto.ir.passes.select_instructions import Selector
from pypto.ir.passes.split_cores import is_cube

IN_PLACE = frozenset(
    ("abs", "add", "and", "copy", "div", "exp", "log", "maximum", "minimum", "mul", "not", "or", "sqrt", "sub")
)
"""Operations whose result may overwrite an operand: one instruction that reads each element before it writes it."""


def assign_buffers(kernel: Kernel) -> Kernel:
    """Return `kernel` at level *buffered*.

    What copies fill in a loop is not written over, so that the next copy need not wait for all that is computed from
    it, unless that takes more memory than there is.
    """
    if is_cube(kernel):
        return assign_cube_buffers(kernel)
    selector = Selector(kernel, symbol_ranges(kernel))
    selected = selector.run()
    made = _Assigner(selected, selector.registers, spread=True).assigned()
    if peak(made) <= capacity(made):
        return made
    return _Assigner(selected, selector.registers, spread=False).assigned()


@dataclass(slots=True)
class Pool:
    """The buffers made so far, and how many living tiles each holds."""

    buffers: dict[str, Buffer] = field(default_factory=dict)
    tiles: Counter[str] = field(default_factory=Counter)

    def take(self, dtype: DType, shape: tuple[int, ...]) -> str:
        """Return the name of a new buffer for one tile."""
        name = f"b{len(self.buffers)}"
        self.buffers[name] = Buffer(name, Space.UB, dtype, shape)
        self.tiles[name] += 1
        return name

    def share(self, name: str) -> str:
        self.tiles[name] += 1
        return name

    def release(self, name: str) -> None:
        self.tiles[name] -= 1


class _Assigner(Rewriter):
    def __init__(self, kernel: Kernel, registers: set[str], spread: bool) -> None:
        super().__init__(kernel)
        self.registers, self.spread = registers, spread
        self.pool = Pool()
        self.multiple = row_multiple(kernel)
        self.ranges = symbol_ranges(kernel)
        self.filled_by_copies: set[str] = set()
        self.depth = 0
        self.dying: frozenset[str] = frozenset()
        self.at_home: dict[str, str] = {}

    def assigned(self) -> Kernel:
        made = self.run()
        return replace(made, level=Level.BUFFERED, buffers=tuple(self.pool.buffers.values()))

    def body(
        self, statements: tuple[Statement, ...], yielded: tuple[Value, ...] = ()
    ) -> tuple[tuple[Statement, ...], tuple[Value, ...]]:
        outer, self.builder.statements = self.builder.statements, []
        deaths = _deaths(statements, yielded)
        for statement, dying in zip(statements, deaths, strict=True):
            self.location, self.dying = statement.location, dying
            self.statement(statement)
            self.bury(dying)
        inner, self.builder.statements = self.builder.statements, outer
        return tuple(inner), self.all(yielded)

    def bury(self, names: frozenset[str]) -> None:
        for name in sorted(names):
            value = self.values.get(name)
            if value is not None and value.buffer is not None:
                self.pool.release(value.buffer)

    def place(self, value: Value, producer: Statement) -> Value:
        """Return `value` in a buffer of its own, or in that of an operand that it may overwrite."""
        shape = storage_shape(value.shape, self.multiple, self.ranges, self.kernel)
        dtype = buffer_dtype(value, producer)
        home = self.at_home.get(value.name)
        if home is not None and self.pool.buffers[home].dtype == dtype:
            return self.named(value, self.pool.share(home))
        if isinstance(producer, Operation) and producer.name in IN_PLACE:
            for operand in producer.operands:
                if self.may_overwrite(operand, dtype, shape):
                    assert operand.buffer is not None
                    return self.named(value, self.pool.share(operand.buffer))
        return self.named(value, self.pool.take(dtype, shape))

    def may_overwrite(self, operand: Value, dtype: DType, shape: tuple[int, ...]) -> bool:
        """Not what a copy fills in each turn of a loop: the next copy would have to wait for longer."""
        names = {name for name in self.dying if self.values.get(name) == operand}
        if operand.buffer is None or not names or operand.buffer in self.filled_by_copies:
            return False
        buffer = self.pool.buffers[operand.buffer]
        return self.pool.tiles[operand.buffer] == 1 and (buffer.dtype, buffer.shape) == (dtype, shape)

    def named(self, value: Value, buffer: str | None) -> Value:
        self.values[value.name] = replace(value, buffer=buffer)
        return self.values[value.name]

    def operation(self, operation: Operation) -> None:
        operation = replace(operation, operands=self.all(operation.operands))
        (result,) = operation.results
        if result.name in self.registers:
            self.builder.append(operation)
            return
        if operation.name in IN_BASE or is_alias(operation, self.multiple):
            buffer = operation.operands[0].buffer
            assert buffer is not None
            made = self.named(result, self.pool.share(buffer))
        else:
            made = self.place(result, operation)
        self.builder.append(replace(operation, results=(made,)))

    def load(self, load: Load) -> None:
        if load.result.name in self.registers:
            self.builder.append(load)
        else:
            made = self.place(load.result, load)
            if self.spread and self.depth and made.buffer is not None:
                self.filled_by_copies.add(made.buffer)
            self.builder.append(replace(load, result=made))

    def loop(self, loop: For) -> None:
        initial = tuple(self.copied(self.value(value), None) for value in loop.initial)
        homes = [value.buffer for value in initial]
        carried = tuple(map(self.shared, loop.carried, homes))
        body, yielded = self.turn(loop, homes)
        results_ = tuple(map(self.shared, loop.results, homes))
        made = replace(loop, carried=carried, initial=initial, body=body, yielded=yielded, results=results_)
        self.builder.append(made)
        for value in initial + carried:
            assert value.buffer is not None
            self.pool.release(value.buffer)

    def shared(self, value: Value, home: str | None) -> Value:
        assert home is not None
        return self.named(value, self.pool.share(home))

    def copied(self, value: Value, home: str | None) -> Value:
        """Append a copy of `value` into the buffer `home`, or into a new one."""
        made = self.builder.value(value.type)
        operation = Operation("copy", (value,), (made,), (), self.location)
        if home is None:
            assert value.buffer is not None
            buffer = self.pool.buffers[value.buffer]
            home = self.pool.take(buffer.dtype, buffer.shape)
        else:
            self.pool.share(home)
        made = replace(made, buffer=home)
        self.builder.append(replace(operation, results=(made,)))
        return made

    def turn(self, loop: For, homes: list[str | None]) -> tuple[tuple[Statement, ...], tuple[Value, ...]]:
        self.depth += 1
        self.at_home |= {name: homes[position] or "" for name, position in _replacing(loop).items()}
        body, yielded = self.body(loop.body, loop.yielded)
        self.depth -= 1
        return self.brought_home(body, yielded, homes, _defined_in(loop.body))

    def brought_home(
        self, body: tuple[Statement, ...], yielded: tuple[Value, ...], homes: list[str | None], inner: set[str]
    ) -> tuple[tuple[Statement, ...], tuple[Value, ...]]:
        """Return `body` with copies of what it yields into `homes`; none overwrites what another still reads."""
        outer, self.builder.statements = self.builder.statements, list(body)
        moved = [
            self.copied(value, None) if value.buffer in homes and value.buffer != home else value
            for value, home in zip(yielded, homes, strict=True)
        ]
        at_home = tuple(
            value if value.buffer == home else self.copied(value, home)
            for value, home in zip(moved, homes, strict=True)
        )
        for before, value, after in zip(yielded, moved, at_home, strict=True):
            if value is not before:
                self.release(value)
            if after is not value:
                self.release(after)
        for name in inner & {value.name for value in yielded}:
            self.release(self.values[name])
        inner_body, self.builder.statements = self.builder.statements, outer
        return tuple(inner_body), at_home

    def release(self, value: Value) -> None:
        assert value.buffer is not None
        self.pool.release(value.buffer)

    def choice(self, choice: If) -> None:
        shapes = [storage_shape(value.shape, self.multiple, self.ranges, self.kernel) for value in choice.results]
        homes: list[str | None] = [
            self.pool.take(value.dtype, shape) for value, shape in zip(choice.results, shapes, strict=True)
        ]
        sides = []
        for statements, yielded in (
            (choice.then_body, choice.then_yielded),
            (choice.else_body, choice.else_yielded),
        ):
            body, values = self.body(statements, yielded)
            sides.append(self.brought_home(body, values, homes, _defined_in(statements)))
        results_ = tuple(self.named(value, home) for value, home in zip(choice.results, homes, strict=True))
        made = replace(choice, then_body=sides[0][0], then_yielded=sides[0][1], else_body=sides[1][0])
        self.builder.append(replace(made, else_yielded=sides[1][1], results=results_))


def _replacing(loop: For) -> dict[str, int]:
    """Return the yielded values that may overwrite the carried value of their position: that is read last by the
    instruction that makes them."""
    found: dict[str, int] = {}
    yielded = [value.name for value in loop.yielded]
    for position, (carried, made) in enumerate(zip(loop.carried, loop.yielded, strict=True)):
        makers = [k for k, item in enumerate(loop.body) if isinstance(item, Operation) and made in item.results]
        if not makers or carried.name in yielded or yielded.count(made.name) > 1:
            continue
        maker, later = loop.body[makers[0]], loop.body[makers[0] + 1 :]
        reads = isinstance(maker, Operation) and maker.name in IN_PLACE and carried in maker.operands
        if reads and all(carried.name not in _uses(item) for item in later):
            found[made.name] = position
    return found


def _defined_in(body: tuple[Statement, ...]) -> set[str]:
    return {value.name for statement in body for value in results(statement)}


def _deaths(body: tuple[Statement, ...], yielded: tuple[Value, ...]) -> list[frozenset[str]]:
    """Return for each statement the values defined in `body` that nothing needs once it has run."""
    last: dict[str, int] = {}
    for position, statement in enumerate(body):
        last.update((value.name, position) for value in results(statement))
        last.update((name, position) for name in _uses(statement) if name in last)
    kept = {value.name for value in yielded}
    dying: list[set[str]] = [set() for _ in body]
    for name, position in last.items():
        if name not in kept:
            dying[position].add(name)
    return [frozenset(names) for names in dying]


def _uses(statement: Statement) -> Iterator[str]:
    for inner in walk((statement,)):
        for value in operands(inner):
            yield value.name


ASSIGN_BUFFERS = Pass("assign_buffers", Level.TILE, Level.BUFFERED, assign_buffers)
