"""When each buffer holds a value that is still needed, from level *buffered* on.

Positions count the statements in program order, with one more at the end of each loop and branch. A buffer of several
slots is in use during the whole loop that it rotates in: other turns' values lie in its other slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pypto.ir.nodes import For, If, Kernel, Statement, Value, operands, results
from pypto.ir.passes.slots import rotations

Span = tuple[int, int]


@dataclass(slots=True)
class _Walk:
    """`born` and `dies` by value; `touched` has the names in the order in which they were defined and used."""

    rotating: dict[str, For]
    born: dict[str, int] = field(default_factory=dict)
    dies: dict[str, int] = field(default_factory=dict)
    buffer: dict[str, str] = field(default_factory=dict)
    loops: dict[int, Span] = field(default_factory=dict)
    touched: list[str] = field(default_factory=list)
    position: int = 0

    def define(self, values: tuple[Value, ...]) -> None:
        for value in values:
            if value.buffer is not None:
                self.buffer[value.name] = value.buffer
                self.born.setdefault(value.name, self.position)
                self.dies[value.name] = self.position
                self.touched.append(value.name)

    def use(self, values: tuple[Value, ...]) -> None:
        for value in values:
            if value.name in self.dies:
                self.dies[value.name] = self.position
                self.touched.append(value.name)

    def body(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            self.position += 1
            if isinstance(statement, For):
                self.loop(statement)
            elif isinstance(statement, If):
                self.choice(statement)
            else:
                self.use(operands(statement))
                self.define(results(statement))

    def loop(self, loop: For) -> None:
        """What a body reads of before the loop is needed to its end, as are the carried values."""
        start = self.position
        self.use(loop.initial)
        self.define(loop.carried)
        before = len(self.touched)
        self.body(loop.body)
        self.position += 1
        outside = {name for name in self.touched[before:] if self.born[name] < start}
        self.dies.update(dict.fromkeys(outside, self.position))
        self.use(loop.carried + loop.yielded)
        self.define(loop.results)
        self.loops[id(loop)] = (start, self.position)

    def choice(self, choice: If) -> None:
        for body, yielded in ((choice.then_body, choice.then_yielded), (choice.else_body, choice.else_yielded)):
            self.body(body)
            self.position += 1
            self.use(yielded)
            self.define(choice.results)


def live_spans(kernel: Kernel) -> dict[str, list[Span]]:
    """Return for each buffer the intervals of positions, both ends included, during which it is in use."""
    walk = _Walk(rotations(kernel))
    walk.body(kernel.body)
    found: dict[str, list[Span]] = {}
    for name, start in walk.born.items():
        buffer = walk.buffer[name]
        loop = walk.rotating.get(buffer)
        span = (start, walk.dies[name]) if loop is None else walk.loops[id(loop)]
        found.setdefault(buffer, []).append(span)
    return {name: list(_merged(sorted(spans))) for name, spans in found.items()}


def _merged(spans: list[Span]) -> Iterator[Span]:
    start, end = spans[0]
    for first, last in spans[1:]:
        if first > end:
            yield start, end
            start = first
        end = max(end, last)
    yield start, end


def meet(left: list[Span], right: list[Span]) -> bool:
    """Return whether two buffers are in use at one time."""
    one, other = 0, 0
    while one < len(left) and other < len(right):
        if left[one][1] < right[other][0]:
            one += 1
        elif right[other][1] < left[one][0]:
            other += 1
        else:
            return True
    return False
