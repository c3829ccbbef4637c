"""Sets of pairs of tiles, kept small: which tiles come before which, and which meet.

A set of pairs between 20,000 and 20,000 tiles has 400 million members at worst, yet is nearly always "all with all",
"tile i with tile i", or a few pairs for each tile. `Order` is a union of rectangles and single pairs; `Meetings` are
pairs of groups, the tiles of a group touching exactly the same elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Tiles = NDArray[np.int64]

MOST_PAIRS = 4_000_000
"""Pairs that are looked at at a time."""

MOST_KEPT = 60_000_000
"""Pairs that are looked at at all."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which of `rows` tiles come before which of `columns` others.

    `rectangles`: masks of rows and columns, all of the former before all of the latter. `pairs`: single ones as
    ``row * columns + column``, sorted.
    """

    rows: int
    columns: int
    rectangles: tuple[tuple[Mask, Mask], ...] = ()
    pairs: Tiles = field(default_factory=lambda: np.zeros(0, np.int64))

    @staticmethod
    def all(rows: int, columns: int) -> Order:
        return Order(rows, columns, ((np.ones(rows, np.bool_), np.ones(columns, np.bool_)),))

    @staticmethod
    def of(rows: int, columns: int, first: Sequence[int] | Tiles, second: Sequence[int] | Tiles) -> Order:
        """Return the order of single pairs."""
        keys = np.asarray(first, np.int64) * columns + np.asarray(second, np.int64)
        return Order(rows, columns, (), np.unique(keys))

    @staticmethod
    def same(count: int) -> Order:
        """Return tile i before tile i."""
        return Order.of(count, count, np.arange(count), np.arange(count))

    @staticmethod
    def part(rows: int, columns: int, first: slice, second: slice) -> Order:
        """Return some tiles before some others."""
        row_mask, column_mask = np.zeros(rows, np.bool_), np.zeros(columns, np.bool_)
        row_mask[first], column_mask[second] = True, True
        return Order(rows, columns, ((row_mask, column_mask),))

    @property
    def is_all(self) -> bool:
        return any(first.all() and second.all() for first, second in self.rectangles)

    def __bool__(self) -> bool:
        return bool(self.rectangles) or bool(len(self.pairs))

    def __or__(self, other: Order) -> Order:
        if self.is_all or other.is_all:
            return self if self.is_all else other
        rectangles = list(self.rectangles)
        rectangles += [item for item in other.rectangles if not any(_equal(item, known) for known in rectangles)]
        return Order(self.rows, self.columns, tuple(rectangles), np.union1d(self.pairs, other.pairs))

    def then(self, following: Order) -> Order:
        """Return which tiles come before which through tiles in the middle."""
        rectangles: list[tuple[Mask, Mask]] = []
        for first, middle in self.rectangles:
            rectangles += [(first, last) for again, last in following.rectangles if (middle & again).any()]
            rectangles.append((first, following.after(middle)))
        rectangles += [(self.before(again), last) for again, last in following.rectangles]
        kept = tuple(item for item in rectangles if item[0].any() and item[1].any())
        made = Order(self.rows, following.columns, (), _joined(self, following))
        for item in kept:
            made |= Order(self.rows, following.columns, (item,))
        return made

    def after(self, tiles: Mask) -> Mask:
        """Return the columns that come after any of `tiles` by a single pair."""
        found = np.zeros(self.columns, np.bool_)
        found[self.pairs[tiles[self.pairs // self.columns]] % self.columns] = True
        return found

    def before(self, tiles: Mask) -> Mask:
        """Return the rows that come before any of `tiles` by a single pair."""
        found = np.zeros(self.rows, np.bool_)
        found[self.pairs[tiles[self.pairs % self.columns]] // self.columns] = True
        return found

    def has(self, first: Tiles, second: Tiles) -> Mask:
        """Return for each pair whether it is in the order."""
        found = np.zeros(len(first), np.bool_)
        for rows, columns in self.rectangles:
            found |= rows[first] & columns[second]
        if len(self.pairs):
            keys = first * self.columns + second
            place = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
            found |= self.pairs[place] == keys
        return found


def _equal(one: tuple[Mask, Mask], other: tuple[Mask, Mask]) -> bool:
    return bool(np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1]))


def _joined(one: Order, other: Order) -> Tiles:
    """Return the pairs that single pairs of both make."""
    if not len(one.pairs) or not len(other.pairs):
        return np.zeros(0, np.int64)
    first, middle = np.divmod(one.pairs, one.columns)
    again, last = np.divmod(other.pairs, other.columns)
    start, stop = np.searchsorted(again, middle), np.searchsorted(again, middle, "right")
    return np.unique(np.repeat(first, stop - start) * other.columns + last[_ranges(start, stop)])


def _ranges(start: Tiles, stop: Tiles) -> Tiles:
    """Return start .. stop - 1 of each pair, one after another."""
    lengths = stop - start
    offsets = np.repeat(start - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return offsets + np.arange(int(lengths.sum()))


# -- tiles that meet


@dataclass(frozen=True, slots=True)
class Groups:
    """The tiles of a stage by what they touch: ``order[starts[g] : starts[g + 1]]`` are those of group g."""

    order: Tiles
    starts: Tiles

    @staticmethod
    def of(numbers: Tiles, count: int) -> Groups:
        """Return the groups of tiles whose numbers are equal: group g has number g."""
        order = np.argsort(numbers, kind="stable")
        return Groups(order, np.searchsorted(numbers[order], np.arange(count + 1)))

    def single(self) -> Groups:
        """Return a group for each tile."""
        return Groups(np.arange(len(self.order)), np.arange(len(self.order) + 1))

    @property
    def sizes(self) -> Tiles:
        return np.diff(self.starts)

    def tiles(self, group: int) -> Tiles:
        return self.order[self.starts[group] : self.starts[group + 1]]

    def all_in(self, tiles: Mask) -> Mask:
        """Return for each group whether all its tiles are among `tiles`."""
        return np.asarray(np.add.reduceat(tiles[self.order], self.starts[:-1]) == self.sizes, np.bool_)

    def least(self, values: Tiles) -> Tiles:
        return np.asarray(np.minimum.reduceat(values[self.order], self.starts[:-1]))

    def most(self, values: Tiles) -> Tiles:
        return np.asarray(np.maximum.reduceat(values[self.order], self.starts[:-1]))


@dataclass(frozen=True, slots=True)
class Meetings:
    """Pairs of groups of two stages that touch the same elements; `first` and `second` are numbers of groups."""

    rows: Groups
    columns: Groups
    first: Tiles
    second: Tiles

    def __bool__(self) -> bool:
        return bool(len(self.first))

    @property
    def count(self) -> int:
        """The number of pairs of tiles."""
        return int((self.rows.sizes[self.first] * self.columns.sizes[self.second]).sum())

    @property
    def example(self) -> tuple[int, int]:
        """The first pair of tiles."""
        return int(self.rows.tiles(self.first[0])[0]), int(self.columns.tiles(self.second[0])[0])

    @property
    def are_same(self) -> bool:
        """Return whether only tiles of equal numbers meet."""
        pairs = self.rows.order[self.rows.starts[self.first]] == self.columns.order[self.columns.starts[self.second]]
        single = (self.rows.sizes[self.first] == 1) & (self.columns.sizes[self.second] == 1)
        return bool((pairs & single).all())

    def outside(self, order: Order | None) -> Meetings:
        """Return the pairs of groups of which some tiles are not in `order`."""
        if order is None or not self:
            return self
        left = ~self._covered(order)
        kept = left.copy()
        pairs = zip(self.first[left], self.second[left], strict=True)
        kept[left] = [not self._is_ordered(order, one, other) for one, other in pairs]
        return Meetings(self.rows, self.columns, self.first[kept], self.second[kept])

    def _covered(self, order: Order) -> Mask:
        """Return for each pair of groups whether a rectangle has all of it, or single pairs when both are one tile."""
        found = np.zeros(len(self.first), np.bool_)
        for rows, columns in order.rectangles:
            found |= self.rows.all_in(rows)[self.first] & self.columns.all_in(columns)[self.second]
        single = (self.rows.sizes[self.first] == 1) & (self.columns.sizes[self.second] == 1)
        first = self.rows.order[self.rows.starts[self.first[single]]]
        second = self.columns.order[self.columns.starts[self.second[single]]]
        found[single] |= order.has(first, second)
        return found

    def _is_ordered(self, order: Order, first: int, second: int) -> bool:
        rows, columns = self.rows.tiles(first), self.columns.tiles(second)
        if len(rows) == len(columns) == 1:
            return False
        if not order.rectangles and len(order.pairs) < len(rows) * len(columns):
            return False
        step = max(1, MOST_PAIRS // len(columns))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            if not order.has(np.repeat(part, len(columns)), np.tile(columns, len(part))).all():
                return False
        return True

    def __or__(self, other: Meetings) -> Meetings:
        """Return the pairs of both; their groups are made single tiles when they differ."""
        if self.rows is other.rows and self.columns is other.columns:
            keys = np.union1d(self._keys(), other._keys())
            count = max(1, len(self.columns.sizes))
            return Meetings(self.rows, self.columns, keys // count, keys % count)
        one, two = self.single(), other.single()
        count = len(one.columns.sizes)
        keys = np.union1d(one.first * count + one.second, two.first * count + two.second)
        return Meetings(one.rows, one.columns, keys // count, keys % count)

    def _keys(self) -> Tiles:
        return self.first * max(1, len(self.columns.sizes)) + self.second

    def single(self) -> Meetings:
        """Return the same pairs with each tile a group of its own."""
        first, second = zip(*self.expanded(), strict=True) if self else ((), ())
        rows, columns = np.concatenate([*first, _NONE]), np.concatenate([*second, _NONE])
        return Meetings(self.rows.single(), self.columns.single(), rows, columns)

    def expanded(self) -> Iterator[tuple[Tiles, Tiles]]:
        """Yield the tiles of each pair of groups, each of one with each of the other."""
        for one, other in zip(self.first, self.second, strict=True):
            rows, columns = self.rows.tiles(one), self.columns.tiles(other)
            yield np.repeat(rows, len(columns)), np.tile(columns, len(rows))


_NONE = np.zeros(0, np.int64)


def meetings(first: NDArray[np.int64], second: NDArray[np.int64]) -> Meetings:
    """Return which boxes of one stage share elements with which of another: arrays (tiles, rank, 2).

    Where more would have to be looked at than memory holds, all are taken to meet.
    """
    (one, rows), (other, columns) = _distinct(first), _distinct(second)
    totals = [_total(_candidates(one[:, axis], other[:, axis])) for axis in range(one.shape[1])]
    if totals and min(totals) > MOST_KEPT:
        (one, rows), (other, columns) = _enclosing(first), _enclosing(second)
    found = [np.stack(pairs) for pairs in _overlapping(one, other)]
    joined = np.concatenate([*found, np.zeros((2, 0), np.int64)], axis=1)
    return Meetings(rows, columns, joined[0], joined[1])


def _distinct(boxes: NDArray[np.int64]) -> tuple[NDArray[np.int64], Groups]:
    if not boxes.size:
        return boxes[:1], Groups.of(np.zeros(len(boxes), np.int64), min(1, len(boxes)))
    flat = boxes.reshape(len(boxes), -1)
    unique, numbers = np.unique(flat, axis=0, return_inverse=True)
    return unique.reshape(-1, *boxes.shape[1:]), Groups.of(numbers.reshape(-1), len(unique))


def _enclosing(boxes: NDArray[np.int64]) -> tuple[NDArray[np.int64], Groups]:
    """Return one box around all, and all tiles as one group."""
    around = np.stack((boxes[:, :, 0].min(axis=0), boxes[:, :, 1].max(axis=0)), axis=1)
    return around[None], Groups.of(np.zeros(len(boxes), np.int64), 1)


def _overlapping(one: NDArray[np.int64], other: NDArray[np.int64]) -> Iterable[tuple[Tiles, Tiles]]:
    """Yield pairs of overlapping boxes: candidates along the axis that leaves the fewest, then compared on all axes."""
    rank = one.shape[1]
    if not rank:
        grid = np.indices((len(one), len(other))).reshape(2, -1)
        yield grid[0], grid[1]
        return
    order, start, stop = min((_candidates(one[:, axis], other[:, axis]) for axis in range(rank)), key=_total)
    lengths = np.maximum(stop - start, 0)
    ends = np.cumsum(lengths)
    first = 0
    while first < len(one):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + MOST_PAIRS, "right")))
        rows = np.repeat(np.arange(first, min(last, len(one))), lengths[first:last])
        columns = order[_ranges(start[first:last], start[first:last] + lengths[first:last])]
        low = np.maximum(one[rows, :, 0], other[columns, :, 0])
        high = np.minimum(one[rows, :, 1], other[columns, :, 1])
        keep = (low < high).all(axis=1)
        yield rows[keep], columns[keep]
        first = last


def _candidates(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[Tiles, Tiles, Tiles]:
    """Return `other` sorted by where its intervals begin, and for each of `one` the part that may meet it."""
    order = np.argsort(other[:, 0], kind="stable")
    longest = int((other[:, 1] - other[:, 0]).max(initial=0))
    begins = other[order, 0]
    start = np.searchsorted(begins, one[:, 0] - longest, "right")
    return order, start, np.searchsorted(begins, one[:, 1], "left")


def _total(candidates: tuple[Tiles, Tiles, Tiles]) -> int:
    _, start, stop = candidates
    return int(np.maximum(stop - start, 0).sum())
