"""Load and store the part of an array that is used, in place of the whole: ``out[i] = x[i] - 1`` in a loop over rows.

A slice of a view of a load becomes a load of that part, and a store of what was loaded with a piece inserted becomes
a store of the piece. Both hold where the array is the same at both places: a load may move down to its use where
nothing stores to its array on the way, and all but the piece is in the array already where the last that happened to
it, in the same body, was a load or a store of the values around the piece. Whole loads that something else needs as
well stay, and what is read of them is not read again. Columns are copied in strips of one 32-byte block: copy engines
move runs of bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from pypto.ir.index import Index, add, bounds, floor_divide, minimum, multiply, subtract
from pypto.ir.nodes import Attribute, For, If, Kernel, Load, Operation, Range, Region, Statement, Store, Value, walk
from pypto.ir.passes.forms import is_dense
from pypto.ir.passes.layout import stored_rank, symbol_ranges
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.passes.remove_dead import remove_dead
from pypto.ir.passes.rewriting import Rewriter

Places = tuple[int | None, ...]
"""For each axis of a value the axis of the array that it runs along; None for an axis of extent 1."""


def narrow_accesses(kernel: Kernel) -> Kernel:
    """Return `kernel` (level tile) with loads and stores of the parts that are used."""
    kept: frozenset[str] = frozenset()
    while True:
        narrower = _Narrower(kernel, kept)
        made = remove_dead(narrower.run())
        remaining = {item.result.name for item in walk(made.body) if isinstance(item, Load)}
        twice = narrower.divided & remaining
        if not twice:
            return made
        kept |= twice


@dataclass(frozen=True, slots=True)
class View:
    """A value that is part of an array: the load it comes from, its region, and where its axes lie."""

    load: Load
    region: Region
    places: Places
    version: int


@dataclass(slots=True)
class Contents:
    """Values that an array is known to hold in a region, by name, with the places of their axes."""

    region: Region
    values: dict[str, Places] = field(default_factory=dict)


class _Narrower(Rewriter):
    """`kept` are the loads that stay whole, `divided` those of which parts were loaded."""

    def __init__(self, kernel: Kernel, kept: frozenset[str]) -> None:
        super().__init__(kernel)
        self.kept, self.divided = kept, set[str]()
        self.views: dict[str, View] = {}
        self.makers: dict[str, Operation] = {}
        self.contents: dict[str, Contents] = {}
        self.versions: Counter[str] = Counter()
        self.ranges = symbol_ranges(kernel)

    # what arrays hold

    def loop(self, loop: For) -> None:
        self.inside((loop,))
        super().loop(loop)
        self.inside((loop,))

    def choice(self, choice: If) -> None:
        self.inside((choice,))
        super().choice(choice)
        self.inside((choice,))

    def inside(self, statements: tuple[Statement, ...]) -> None:
        """Forget what is known of the arrays that `statements` store to, which may have run or not."""
        for item in walk(statements):
            if isinstance(item, Store):
                self.versions[item.target] += 1
                self.contents.pop(item.target, None)

    def load(self, load: Load) -> None:
        self.builder.append(load)
        if load.fill is not None or self.kernel.parameter(load.source).scalar:
            return
        places = _identity(load.region)
        view = View(load, load.region, places, self.versions[load.source])
        self.views[load.result.name] = view
        found = self.contents.get(load.source)
        if found is None or found.region != load.region:
            found = self.contents[load.source] = Contents(load.region)
        found.values[load.result.name] = places

    def store(self, store: Store) -> None:
        store = replace(store, value=self.value(store.value))
        pieces = Pieces() if store.clip else self.pieces(store)
        parts = [self.part_of(store.region, store.target, *item) for item in pieces.inserted]
        if parts and None not in parts:
            for (insert, _), part in zip(pieces.inserted, parts, strict=True):
                assert part is not None
                self.store_part(store, insert.operands[1], part)
        else:
            self.builder.append(store)
        self.versions[store.target] += 1
        self.contents[store.target] = Contents(store.region, pieces.seen)

    def pieces(self, store: Store) -> Pieces:
        """Return what must be stored; no pieces for the whole."""
        found = Pieces()
        known = self.contents.get(store.target)
        value, places = store.value, _identity(store.region)
        while True:
            if known is not None and known.region == store.region and known.values.get(value.name) == places:
                found.inserted.reverse()
                return found
            if not found.inserted:
                found.seen[value.name] = places
            maker = self.makers.get(value.name)
            before = None if maker is None else _source_places(maker, places)
            if maker is None or before is None:
                found.inserted.clear()
                return found
            if maker.name == "insert":
                found.inserted.append((maker, places))
            value, places = maker.operands[0], before

    def part_of(self, region: Region, array: str, operation: Operation, places: Places) -> Part | None:
        """Return what the ranges of a slice or an insert, of a value at `places`, take of `region` of an array; None
        where copy engines cannot."""
        ranges = operation.attribute("ranges")
        part = Part(_composed(region, places, ranges), places)
        shape = self.kernel.parameter(array).type.shape
        if is_dense(part.region, stored_rank(part.shape), shape):
            return part
        last, outer = len(region) - 1, region[-1]
        if last not in places or outer.step != 1 or not isinstance(outer.extent, int) or part.shape[-1] != 1:
            return None
        assert isinstance(ranges, tuple)
        column = ranges[places.index(last)]
        assert isinstance(column, tuple)
        width = min(outer.extent, ASCEND_910B1.block_bytes // self.kernel.parameter(array).type.dtype.bytes)
        first = multiply(floor_divide(column[0], width), width)  # type: ignore[arg-type]  # an index
        first = minimum(first, outer.extent - width)
        strip = replace(outer, offset=add(outer.offset, first), extent=width)
        return replace(part, strip=(*part.region[:-1], strip), column=subtract(column[0], first))  # type: ignore[arg-type]

    def store_part(self, store: Store, value: Value, part: Part) -> None:
        piece = self.in_array_order(value, part.region, part.places)
        if part.strip is not None:
            base = self.loaded_from(store.target, part.strip, piece)
            piece = self.call("insert", base, piece, ranges=part.ranges)
        self.builder.append(replace(store, region=part.strip or part.region, value=piece))

    def loaded_from(self, array: str, region: Region, like: Value) -> Value:
        made = self.builder.value(replace(like.type, shape=tuple(item.extent for item in region)))
        self.builder.append(Load(made, array, region, None, self.location))
        return made

    def in_array_order(self, value: Value, region: Region, places: Places) -> Value:
        """Return `value`, whose axes lie at `places`, with the axes of an array."""
        moving = [(axis, k) for k, axis in enumerate(places) if axis is not None]
        order = tuple(k for _, k in sorted(moving)) + tuple(k for k, axis in enumerate(places) if axis is None)
        if list(order) != sorted(order):
            value = self.call("transpose", value, permutation=order)
        return self.reshaped(value, tuple(item.extent for item in region))

    def reshaped(self, value: Value, shape: tuple[Attribute, ...]) -> Value:
        return value if value.shape == shape else self.call("reshape", value, shape=shape)

    # parts of arrays

    def operation(self, operation: Operation) -> None:
        operation = replace(operation, operands=self.all(operation.operands))
        if operation.name == "slice" and (part := self.part(operation)) is not None:
            self.values[operation.results[0].name] = part
            return
        self.builder.append(operation)
        self.makers[operation.results[0].name] = operation
        view = self.views.get(operation.operands[0].name) if operation.operands else None
        if view is not None and (moved := _result_places(operation, view.places)) is not None:
            self.views[operation.results[0].name] = replace(view, places=moved)

    def part(self, operation: Operation) -> Value | None:
        """Return a load of what a slice takes, or what was inserted there; None to slice."""
        (operand,), ranges = operation.operands, operation.attribute("ranges")
        insert = self.makers.get(operand.name)
        while insert is not None and insert.name == "insert":
            if insert.attribute("ranges") == ranges:
                return insert.operands[1]
            if not self.are_apart(insert.attribute("ranges"), ranges):
                return None
            operand = insert.operands[0]
            insert = self.makers.get(operand.name)
        view = self.views.get(operand.name)
        if view is None or view.load.result.name in self.kept or view.version != self.versions[view.load.source]:
            return None
        part = self.part_of(view.region, view.load.source, operation, view.places)
        return None if part is None or part.region == view.region else self.loaded(view, part, operation.results[0])

    def are_apart(self, first: Attribute, second: Attribute) -> bool:
        """Return whether two lists of ranges have no element in common, as far as the bounds of indices tell."""
        assert isinstance(first, tuple)
        assert isinstance(second, tuple)
        for one, other in zip(first, second, strict=True):
            assert isinstance(one, tuple)
            assert isinstance(other, tuple)
            if one[2] == other[2] == 1 and (self.ends_before(one, other) or self.ends_before(other, one)):
                return True
        return False

    def ends_before(self, one: tuple[Attribute, ...], other: tuple[Attribute, ...]) -> bool:
        distance = bounds(subtract(other[0], add(one[0], one[1])), self.ranges)  # type: ignore[arg-type]  # indices
        return distance is not None and distance[0] >= 0

    def loaded(self, view: View, part: Part, result: Value) -> Value:
        """Append a load of `part` and what gives it the shape of `result`, whose axes lie as those of `view`."""
        self.divided.add(view.load.result.name)
        made = self.loaded_from(view.load.source, part.strip or part.region, result)
        if part.strip is not None:
            made = self.call("slice", made, ranges=part.ranges)
        order = [axis for axis in view.places if axis is not None]
        if order != sorted(order):
            rest = [axis for axis in range(len(part.region)) if axis not in order]
            made = self.call("transpose", made, permutation=(*order, *rest))
        return self.reshaped(made, result.shape)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an array, for a value whose axes lie at `places`; for a column also the strip around it to copy, and
    the number of the column there."""

    region: Region
    places: Places
    strip: Region | None = None
    column: Index = 0

    @property
    def shape(self) -> tuple[Index, ...]:
        return tuple(item.extent for item in self.region)

    @property
    def ranges(self) -> tuple[tuple[Index, Index, int], ...]:
        """The column as ranges of the strip."""
        return (*((0, item.extent, 1) for item in self.region[:-1]), (self.column, 1, 1))


@dataclass(slots=True)
class Pieces:
    """The inserts that a store writes, first to last, with the places of their axes; what the array holds then."""

    inserted: list[tuple[Operation, Places]] = field(default_factory=list)
    seen: dict[str, Places] = field(default_factory=dict)


def _identity(region: Region) -> Places:
    return tuple(None if item.extent == 1 else axis for axis, item in enumerate(region))


def _composed(region: Region, places: Places, ranges: Attribute) -> Region:
    """Return the part of `region` that `ranges` of a value at `places` take."""
    assert isinstance(ranges, tuple)
    made = list(region)
    for axis, item in zip(places, ranges, strict=True):
        assert isinstance(item, tuple)
        offset, extent, step = item
        if axis is not None:
            old = made[axis]
            start = add(old.offset, multiply(offset, old.step))  # type: ignore[arg-type]  # an index
            made[axis] = Range(start, extent, old.step * step)  # type: ignore[arg-type,operator]  # numbers
    return tuple(made)


def _source_places(operation: Operation, places: Places) -> Places | None:
    """Return the places of the first operand's axes, of a view or an insert whose result lies at `places`."""
    before, after = operation.operands[0].shape if operation.operands else (), operation.results[0].shape
    if operation.name == "insert":
        return places
    if operation.name == "transpose":
        permutation = operation.attribute("permutation")
        assert isinstance(permutation, tuple)
        return tuple(places[permutation.index(axis)] for axis in range(len(places)))
    return _moved(after, before, places) if operation.name == "reshape" else None


def _result_places(operation: Operation, places: Places) -> Places | None:
    """Return the places of the result's axes, of a view of what lies at `places`."""
    if operation.name == "transpose":
        permutation = operation.attribute("permutation")
        assert isinstance(permutation, tuple)
        return tuple(places[axis] for axis in permutation)  # type: ignore[index]  # axes are numbers
    before, after = operation.operands[0].shape, operation.results[0].shape
    return _moved(before, after, places) if operation.name == "reshape" else None


def _moved(before: tuple[Attribute, ...], after: tuple[Attribute, ...], places: Places) -> Places | None:
    """Return the places after a reshape that leaves out or adds axes of extent 1; None for another one."""
    moving = [(extent, axis) for extent, axis in zip(before, places, strict=True) if extent != 1]
    if [extent for extent, _ in moving] != [extent for extent in after if extent != 1]:
        return None
    following = iter(moving)
    return tuple(None if extent == 1 else next(following)[1] for extent in after)
