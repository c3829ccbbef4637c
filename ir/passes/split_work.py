"""Split the work of a kernel whose smallest tile is too large: compute outputs piece by piece, and long reductions as
running results over chunks.

Only the region of each value that a piece needs is computed: halos are computed twice, and what a chunk of a reduction
needs is computed for each reduction that reads it. Pieces run in loops where regions may depend on an index, one after
the other elsewhere.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from pypto.ir.builder import Builder
from pypto.ir.dtypes import I64
from pypto.ir.index import Bounds, Extent, Index, Symbol, add, bounds, multiply, subtract, symbols
from pypto.ir.nodes import (
    Attribute,
    For,
    GridAxis,
    Kernel,
    Load,
    Operation,
    Range,
    Region,
    Statement,
    Store,
    TileType,
    Value,
    walk,
)
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.forms import reduced_axis
from pypto.ir.passes.layout import symbol_ranges
from pypto.ir.passes.rewriting import first_free_number

COMBINED = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "mul"}
LANES = 64
SMALL = 4096
"""Elements up to which a stored value or the operand of a reduction is left whole."""

MANY_PARTS = 64
"""Pieces from which on smaller operands of reductions are cut too: what they are computed from may be large."""

Span = tuple[Index, int]
Spans = tuple[Span, ...]
Demands = list[tuple[Value, Spans]]
Build = Callable[[list[Value]], Value]
IsWhole = Callable[[Value, int], bool]


class CannotSplitError(Exception):
    """A kernel, or a value in it, that this pass has no way to compute in pieces."""


def split_work(kernel: Kernel, parts: int, is_whole: IsWhole) -> Kernel | None:
    """Return `kernel` with axes in about `parts` pieces, or None when it cannot be split.

    `is_whole` tells for an axis of a value whether tiles hold all of it.
    """
    try:
        return _Splitter(kernel, parts, is_whole).run()
    except CannotSplitError:
        return None


class _Splitter:
    def __init__(self, kernel: Kernel, parts: int, is_whole: IsWhole) -> None:
        self.kernel, self.parts, self.is_whole = kernel, parts, is_whole
        self.builder = Builder(numbers=itertools.count(first_free_number(kernel)))
        self.memo: dict[tuple[str, Spans], Value] = {}
        self.makers: dict[str, Load | Operation] = {}
        self.given: dict[str, Value] = {}
        self.versions: Counter[str] = Counter()
        self.loaded_versions: dict[str, int] = {}
        self.storing: tuple[Store, Spans] | None = None
        self.ranges: dict[Symbol, Bounds] = symbol_ranges(kernel)
        self.loops = itertools.count()

    def run(self) -> Kernel:
        self.statements(self.kernel.body)
        return replace(self.kernel, body=tuple(self.builder.statements))

    def statements(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            if isinstance(statement, Load):
                self.makers[statement.result.name] = statement
                self.loaded_versions[statement.result.name] = self.versions[statement.source]
            elif isinstance(statement, Operation):
                self.makers[statement.results[0].name] = statement
            elif isinstance(statement, Store):
                self.store(statement)
                self.versions[statement.target] += 1
            elif isinstance(statement, For):
                self.loop(statement)
            else:
                raise CannotSplitError

    def loop(self, loop: For) -> None:
        """The same loop with its body in pieces; what it carries is made whole."""
        stored = {item.target for item in walk(loop.body) if isinstance(item, Store)}
        self.versions.update(stored)
        initial = tuple(self.value(value, whole(extents(value))) for value in loop.initial)
        self.given |= {value.name: value for value in loop.carried}
        outer, memo = self.builder.statements, dict(self.memo)
        self.builder.statements = []
        self.statements(loop.body)
        yielded = tuple(self.value(value, whole(extents(value))) for value in loop.yielded)
        body = tuple(self.builder.statements)
        self.builder.statements, self.memo = outer, memo
        self.builder.append(replace(loop, initial=initial, body=body, yielded=yielded))
        self.given |= {value.name: value for value in loop.results}
        self.versions.update(stored)

    # pieces

    def store(self, store: Store) -> None:
        shape = extents(store.value)
        axis = self.divided_axis(store.value)
        if axis is None or math.prod(shape) <= SMALL or any(item.step != 1 for item in store.region):
            self.store_part(store, whole(shape))
            return
        chunk = self.chunk(shape[axis], axis == len(shape) - 1)
        for start, count in ((0, shape[axis] // chunk), (shape[axis] // chunk, 1)):
            length = chunk if start == 0 else shape[axis] % chunk
            if length:
                self.repeat(start, count, lambda i, n=length: self.store_piece(store, axis, i, chunk, n))  # type: ignore[misc]

    def divided_axis(self, value: Value) -> int | None:
        """Return the axis along which a stored value is made in pieces: the first long enough, or the longest."""
        found = [(k, extent) for k, extent in enumerate(extents(value)) if extent > 1 and self.is_whole(value, k)]
        enough = [k for k, extent in found if extent >= self.parts]
        return enough[0] if enough else max(found, key=lambda item: item[1], default=(None, 0))[0]

    def chunk(self, extent: int, innermost: bool) -> int:
        chunk = -(-extent // self.parts)
        return min(extent, -(-chunk // LANES) * LANES) if innermost else chunk

    def repeat(self, start: int, count: int, body: Callable[[Index], None]) -> None:
        """Run `body` for `count` numbers from `start`: in a loop, or in several where a loop cannot tell what a piece
        needs, down to pieces one by one."""
        if count > 2:
            try:
                self.turns(start, count, body)
            except CannotSplitError:
                self.repeat(start, count // 2, body)
                self.repeat(start + count // 2, count - count // 2, body)
            return
        for number in range(start, start + count):
            body(number)

    def turns(self, start: int, count: int, body: Callable[[Index], None]) -> None:
        index = self.symbol(start, count)
        kept, memo = self.builder.statements, dict(self.memo)
        self.builder.statements = []
        try:
            body(index)
            inner = tuple(self.builder.statements)
        finally:
            self.builder.statements, self.memo = kept, memo
        hoisted, turning = _hoisted(inner, index)
        self.builder.statements += hoisted
        self.builder.append(For(index, start, start + count, 1, (), (), turning, (), (), self.kernel.location))

    def symbol(self, start: int, count: int) -> Symbol:
        """Return a new index of a loop from `start` on."""
        taken = {axis.symbol.name for axis in self.kernel.grid if isinstance(axis, GridAxis)}
        taken |= {item.index.name for item in walk(self.kernel.body) if isinstance(item, For)}
        made = next(Symbol(name) for number in self.loops if (name := f"part{number}") not in taken)
        self.ranges[made] = (start, start + count - 1)
        return made

    def bounds(self, index: Index) -> Bounds:
        """Return an interval that holds every value of an index."""
        found = bounds(index, self.ranges)
        if found is None:
            raise CannotSplitError
        return found

    def store_piece(self, store: Store, axis: int, number: Index, chunk: int, length: int) -> None:
        spans = list(whole(extents(store.value)))
        spans[axis] = (multiply(number, chunk), length)
        self.store_part(store, tuple(spans))

    def store_part(self, store: Store, spans: Spans) -> None:
        region = _part_of(store.region, spans)
        self.storing = (store, spans)
        value = self.value(store.value, spans)
        self.storing = None
        self.builder.append(replace(store, region=region, value=value))

    # values

    def value(self, value: Value, spans: Spans) -> Value:
        """Return the part `spans` of `value`."""
        key = (value.name, spans)
        if key not in self.memo:
            self.memo[key] = self.made(value, spans)
        return self.memo[key]

    def made(self, value: Value, spans: Spans) -> Value:
        if value.name in self.given:
            ranges = tuple((start, extent, 1) for start, extent in spans)
            given = self.given[value.name]
            is_whole = spans == whole(extents(value))
            return given if is_whole else self.builder.operation("slice", (given,), ranges=ranges)
        maker = self.makers[value.name]
        if isinstance(maker, Load):
            return self.loaded(maker, spans)
        if TABLE[maker.name].category is Category.REDUCTION:
            return self.reduced(maker, spans)
        rule = _RULES.get(maker.name) or _BY_CATEGORY.get(TABLE[maker.name].category)
        if rule is None:
            raise CannotSplitError
        demands, build = rule(self, maker, spans)
        return build([self.value(operand, needed) for operand, needed in demands])

    def call(self, like: Operation, name: str, operands: list[Value], **attributes: Attribute) -> Value:
        return self.builder.operation(name, tuple(operands), like.location, **attributes)

    def loaded(self, load: Load, spans: Spans) -> Value:
        region = _part_of(load.region, spans)
        self.check_unchanged(load, spans)
        result = self.builder.value(TileType(load.result.dtype, tuple(extent for _, extent in spans)))
        self.builder.append(replace(load, result=result, region=region))
        return result

    def check_unchanged(self, load: Load, spans: Spans) -> None:
        """Raise CannotSplitError when something was stored since to what is loaded only now; what is stored piece by
        piece may be read by the piece that stores it."""
        if self.loaded_versions[load.result.name] != self.versions[load.source]:
            raise CannotSplitError
        if self.storing is None or self.storing[0].target != load.source:
            return
        store, piece = self.storing
        if store.region != load.region or not all(map(self.holds, piece, spans)):
            raise CannotSplitError

    def holds(self, outer: Span, inner: Span) -> bool:
        """Return whether `outer` holds all of `inner`, in every turn."""
        if outer == inner:
            return True
        (low, high), (first, last) = self.bounds(outer[0]), self.bounds(inner[0])
        return high <= first and last + inner[1] <= low + outer[1]

    def reduced(self, operation: Operation, spans: Spans) -> Value:
        """A reduction of the part, of all its reduced axis at once or chunk by chunk."""
        operand, axis = operation.operands[0], reduced_axis(operation)
        extent = extents(operand)[axis]
        held = [self.held(operand, k, length) for k, (_, length) in enumerate(spans) if k != axis]
        chunk = self.chunk(extent, axis == operand.type.rank - 1)
        small = SMALL * MANY_PARTS // max(MANY_PARTS, self.parts)
        if math.prod(held) * extent <= small or chunk >= extent or operation.name not in COMBINED:
            return self.reduced_part(operation, spans, 0, extent)
        total = self.reduced_part(operation, spans, 0, chunk)
        total = self.running(operation, spans, total, chunk, range(1, extent // chunk))
        rest = extent % chunk
        if rest:
            total = self.combined(operation, total, self.reduced_part(operation, spans, extent - rest, rest))
        return total

    def held(self, value: Value, axis: int, length: int) -> int:
        """Return about how many of `length` elements of an axis the smallest tile holds."""
        if self.is_whole(value, axis):
            return length
        return min(length, LANES) if axis == value.type.rank - 1 else 1

    def reduced_part(self, operation: Operation, spans: Spans, start: Index, length: int) -> Value:
        axis = reduced_axis(operation)
        needed = (*spans[:axis], (start, length), *spans[axis + 1 :])
        operand = self.value(operation.operands[0], needed)
        return self.call(operation, operation.name, [operand], **dict(operation.attributes))

    def combined(self, operation: Operation, left: Value, right: Value) -> Value:
        return self.call(operation, COMBINED[operation.name], [left, right])

    def running(self, operation: Operation, spans: Spans, total: Value, chunk: int, numbers: range) -> Value:
        """Combine `total` with the chunks `numbers`."""
        if len(numbers) > 2:
            try:
                return self.running_loop(operation, spans, total, chunk, numbers)
            except CannotSplitError:
                half = len(numbers) // 2
                total = self.running(operation, spans, total, chunk, numbers[:half])
                return self.running(operation, spans, total, chunk, numbers[half:])
        for number in numbers:
            part = self.reduced_part(operation, spans, number * chunk, chunk)
            total = self.combined(operation, total, part)
        return total

    def running_loop(self, operation: Operation, spans: Spans, total: Value, chunk: int, numbers: range) -> Value:
        index, carried = self.symbol(numbers.start, len(numbers)), self.builder.value(total.type)
        result = self.builder.value(total.type)
        kept, memo = self.builder.statements, dict(self.memo)
        self.builder.statements = []
        try:
            part = self.reduced_part(operation, spans, multiply(index, chunk), chunk)
            yielded = self.combined(operation, carried, part)
            inner = tuple(self.builder.statements)
        finally:
            self.builder.statements, self.memo = kept, memo
        hoisted, body = _hoisted(inner, index, carried)
        self.builder.statements += hoisted
        ends = ((carried,), (total,), body, (yielded,), (result,))
        self.builder.append(For(index, numbers.start, numbers.stop, 1, *ends, operation.location))
        return result


def _part_of(region: Region, spans: Spans) -> Region:
    return tuple(
        Range(add(item.offset, multiply(start, item.step)), extent, item.step)
        for item, (start, extent) in zip(region, spans, strict=True)
    )


def _hoisted(
    body: tuple[Statement, ...], index: Symbol, *changing: Value
) -> tuple[list[Statement], tuple[Statement, ...]]:
    """Return the statements of `body` that no turn changes, and the others."""
    names = {value.name for value in changing}
    invariant: list[Statement] = []
    rest: list[Statement] = []
    for statement in body:
        made = [statement.result] if isinstance(statement, Load) else list(getattr(statement, "results", ()))
        if isinstance(statement, Store) or _depends(statement, index, names):
            names |= {value.name for value in made}
            rest.append(statement)
        else:
            invariant.append(statement)
    return invariant, tuple(rest)


def _depends(statement: Statement, index: Symbol, names: set[str]) -> bool:
    if isinstance(statement, Load):
        return any(index in symbols(item.offset) for item in statement.region)
    if isinstance(statement, Operation):
        offsets = [value for _, value in statement.attributes]
        return any(value.name in names for value in statement.operands) or index in _attribute_symbols(tuple(offsets))
    if isinstance(statement, For):
        initial = any(value.name in names for value in statement.initial)
        return initial or any(_depends(item, index, names) for item in statement.body)
    return True


def _attribute_symbols(value: Attribute) -> frozenset[Symbol]:
    if isinstance(value, tuple):
        return frozenset().union(*map(_attribute_symbols, value))
    return frozenset() if value is None or isinstance(value, str | float) or hasattr(value, "bits") else symbols(value)


def extents(value: Value) -> tuple[int, ...]:
    """Return the shape of `value` in numbers; raises CannotSplitError for another one."""
    found = tuple(extent for extent in value.shape if isinstance(extent, int))
    if len(found) != len(value.shape):
        raise CannotSplitError
    return found


def whole(shape: tuple[int, ...]) -> Spans:
    return tuple((0, extent) for extent in shape)


# what each operation needs of its operands


Rule = Callable[[_Splitter, Operation, Spans], tuple[Demands, Build]]


def _shape(spans: Spans) -> tuple[Extent, ...]:
    return tuple(extent for _, extent in spans)


def _meeting(splitter: _Splitter, spans: Spans, ranges: Iterable[tuple[Index, int]]) -> list[tuple[Span, int]] | None:
    """Return which elements of something at `ranges` (offset, length) the part `spans` holds, and where in the part;
    None for none. Raises CannotSplitError where it depends on the turn of a loop."""
    found: list[tuple[Span, int]] = []
    undecided = False
    for (start, extent), (offset, length) in zip(spans, ranges, strict=True):
        low, high = splitter.bounds(start)
        first, last = splitter.bounds(offset)
        if high + extent <= first or low >= last + length:
            return None
        if low >= last and high + extent <= first + length:
            found.append(((subtract(start, offset), extent), 0))
        elif low == high and first == last:
            begin, end = max(low, first), min(low + extent, first + length)
            found.append(((begin - first, end - begin), begin - low))
        else:
            undecided = True
    if undecided:
        raise CannotSplitError
    return found


def _aligned(operand: Value, spans: Spans) -> Spans:
    """Return what of an operand meets the part `spans` of what it is broadcast to."""
    last = spans[len(spans) - operand.type.rank :]
    return tuple((0, 1) if extent == 1 else span for extent, span in zip(operand.shape, last, strict=True))


def _elementwise(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    demands = [(operand, _aligned(operand, spans)) for operand in operation.operands]
    return demands, lambda values: splitter.call(operation, operation.name, values, **dict(operation.attributes))


def _constant(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    attributes = dict(operation.attributes)
    if spans:
        attributes["shape"] = _shape(spans)
    return [], lambda values: splitter.call(operation, operation.name, values, **attributes)


def _iota(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    """Numbers from 0, moved to where the part starts."""
    axis, dtype = operation.attribute("axis"), operation.results[0].dtype
    assert isinstance(axis, int)
    start = spans[axis][0]

    def build(values: list[Value]) -> Value:
        made = splitter.call(operation, "iota", [], axis=axis, dtype=dtype, shape=_shape(spans))
        if start == 0:
            return made
        first = splitter.call(operation, "index", [], dtype=I64, value=start)
        return splitter.call(operation, "add", [made, splitter.call(operation, "cast", [first], dtype=dtype)])

    return [], build


def _broadcast(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    demands = [(operation.operands[0], _aligned(operation.operands[0], spans))]
    return demands, lambda values: splitter.call(operation, "broadcast_to", values, shape=_shape(spans))


def _transpose(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    permutation = operation.attribute("permutation")
    assert isinstance(permutation, tuple)
    needed: list[Span] = [(0, 0)] * len(spans)
    for span, axis in zip(spans, permutation, strict=True):
        assert isinstance(axis, int)
        needed[axis] = span
    demands = [(operation.operands[0], tuple(needed))]
    return demands, lambda values: splitter.call(operation, "transpose", values, permutation=permutation)


def _slice(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    needed: list[Span] = []
    steps: list[tuple[int, int, int]] = []
    for (start, extent), (offset, _, step) in zip(spans, _ranges(operation), strict=True):
        first = add(offset, multiply(start, step))
        length = (extent - 1) * abs(step) + 1
        needed.append((first if step > 0 else subtract(first, length - 1), length))
        steps.append((0 if step > 0 else length - 1, extent, step))
    demands = [(operation.operands[0], tuple(needed))]
    if all(step == 1 for _, _, step in steps):
        return demands, lambda values: values[0]
    return demands, lambda values: splitter.call(operation, "slice", values, ranges=tuple(steps))


def _ranges(operation: Operation) -> list[tuple[Index, int, int]]:
    """Return the ranges of a slice or an insert; raises CannotSplitError for extents that vary."""
    ranges = operation.attribute("ranges")
    assert isinstance(ranges, tuple)
    found: list[tuple[Index, int, int]] = []
    for item in ranges:
        assert isinstance(item, tuple)
        offset, extent, step = item
        if not isinstance(extent, int) or not isinstance(step, int):
            raise CannotSplitError
        found.append((offset, extent, step))  # type: ignore[arg-type]  # an index
    return found


def _filled(splitter: _Splitter, operation: Operation, fill: dict[str, Attribute], values: list[Value]) -> Value:
    return splitter.call(operation, "constant", values, **fill)


def _pad(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    low, number = operation.attribute("low"), operation.attribute("value")
    assert isinstance(low, tuple)
    operand, dtype = operation.operands[0], operation.results[0].dtype
    places = [(skipped, length) for skipped, length in zip(low, extents(operand), strict=True)]
    found = _meeting(splitter, spans, places)  # type: ignore[arg-type]  # numbers
    if found is None:
        fill: dict[str, Attribute] = {"dtype": dtype, "value": number, "shape": _shape(spans)}
        return [], functools.partial(_filled, splitter, operation, fill)
    before = [place for _, place in found]
    after = [whole - place - length for (_, whole), ((_, length), place) in zip(spans, found, strict=True)]
    demands: Demands = [(operand, tuple(needed for needed, _ in found))]
    if not any(before) and not any(after):
        return demands, lambda values: values[0]
    sides: dict[str, Attribute] = {"low": tuple(before), "high": tuple(after), "value": number}
    return demands, lambda values: splitter.call(operation, "pad", values, **sides)


def _insert(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    base, piece = operation.operands
    ranges = _ranges(operation)
    if any(step != 1 for _, _, step in ranges):
        raise CannotSplitError
    found = _meeting(splitter, spans, [(offset, length) for offset, length, _ in ranges])
    if found is None:
        return [(base, spans)], lambda values: values[0]
    needed = tuple(span for span, _ in found)
    if _shape(needed) == _shape(spans):
        return [(piece, needed)], lambda values: values[0]
    places = tuple((place, extent, 1) for (_, extent), place in found)
    return [(base, spans), (piece, needed)], lambda values: splitter.call(operation, "insert", values, ranges=places)


def _concat(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    axis = operation.attribute("axis")
    assert isinstance(axis, int)
    demands: Demands = []
    offset = 0
    for piece in operation.operands:
        length = extents(piece)[axis]
        found = _meeting(splitter, spans[axis : axis + 1], [(offset, length)])
        if found is not None:
            demands.append((piece, (*spans[:axis], found[0][0], *spans[axis + 1 :])))
        offset += length
    if len(demands) == 1:
        return demands, lambda values: values[0]
    return demands, lambda values: splitter.call(operation, "concat", values, axis=axis)


def _reshape(splitter: _Splitter, operation: Operation, spans: Spans) -> tuple[Demands, Build]:
    """Axes of extent 1 come and go; anything else is done with the whole."""
    operand, result = operation.operands[0], operation.results[0]
    moving = [span for span, extent in zip(spans, extents(result), strict=True) if extent != 1]
    if [extent for extent in extents(operand) if extent != 1] != [item for item in extents(result) if item != 1]:
        raise CannotSplitError
    needed = tuple((0, 1) if extent == 1 else moving.pop(0) for extent in extents(operand))
    return [(operand, needed)], lambda values: splitter.call(operation, "reshape", values, shape=_shape(spans))


_RULES: dict[str, Rule] = {
    "iota": _iota,
    "broadcast_to": _broadcast,
    "transpose": _transpose,
    "slice": _slice,
    "pad": _pad,
    "insert": _insert,
    "concat": _concat,
    "reshape": _reshape,
}
_BY_CATEGORY: dict[Category, Rule] = {Category.ELEMENTWISE: _elementwise, Category.CONSTANT: _constant}
