"""Which statements run under one common set of parallel loops.

A *nest* is a list of statements and the axes along which all of them work point by point: at different positions of
such an axis they touch different elements, so every position may run on its own, on any thread, with all local arrays
of the nest no larger than one position needs. Axes of different tasks are one *class* when they index the same axis
of an array that the nest writes. A statement joins a nest unless that would leave too little to run in parallel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from pypto.codegen.llvm import affine, conflicts
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.evaluation import Indexing
from pypto.codegen.llvm.program import Access, Axis, Statement, Task, tasks
from pypto.ir.index import Symbol

ELEMENTS_PER_WORKER = 16384
"""Work that is worth a thread of its own; below, one position after another costs nothing."""
ENOUGH_PARALLEL = 32
"""Positions that keep any usual number of threads busy."""
NESTS_LOOKED_AT = 8


@dataclass(slots=True)
class Nest:
    """Statements with the classes of their axes: `parents` is a union-find forest over the tasks' symbols."""

    indexing: Indexing
    statements: list[Statement] = field(default_factory=list)
    members: list[tuple[Task, bool]] = field(default_factory=list)
    """Every task, and whether nothing outside its statement sees what it writes."""
    parents: dict[Symbol, Symbol] = field(default_factory=dict)
    axes: dict[Symbol, Axis] = field(default_factory=dict)
    owners: dict[Symbol, frozenset[int]] = field(default_factory=dict)
    """The tasks that have an axis in a class, by number."""
    broken: set[Symbol] = field(default_factory=set)
    accesses: dict[str, list[tuple[Access, bool]]] = field(default_factory=dict)

    def copy(self) -> Nest:
        accesses = {name: list(items) for name, items in self.accesses.items()}
        return Nest(
            self.indexing,
            list(self.statements),
            list(self.members),
            dict(self.parents),
            dict(self.axes),
            dict(self.owners),
            set(self.broken),
            accesses,
        )

    # -- classes

    def find(self, symbol: Symbol) -> Symbol:
        while self.parents.get(symbol, symbol) != symbol:
            symbol = self.parents[symbol]
        return symbol

    def join(self, left: Symbol, right: Symbol) -> None:
        """Make two classes one, unless a task has axes in both; then neither is parallel."""
        a, b = self.find(left), self.find(right)
        if a == b:
            return
        if self.owners[a] & self.owners[b]:
            # Two axes of one task: an element of one of the arrays meets two positions.
            self.broken |= {a, b}
            return
        keep, drop = (a, b) if a.name < b.name else (b, a)
        self.parents[drop] = keep
        self.owners[keep] |= self.owners[drop]
        if drop in self.broken:
            self.broken.add(keep)

    def parallel(self) -> list[Symbol]:
        """Return the classes along which every member works point by point, in order of creation."""
        classes = {self.find(symbol) for symbol in self.axes}
        broken = {self.find(symbol) for symbol in self.broken}
        for task, private in self.members:
            kept = [self.find(axis.symbol) for axis in task.axes if not axis.reduced]
            broken.update(self.find(axis.symbol) for axis in task.axes if axis.reduced)
            if not private:
                broken.update(classes - set(kept))
        return sorted(classes - broken, key=lambda symbol: symbol.name)

    def width(self) -> int:
        """Return how many positions could run in parallel."""
        return math.prod(self.axes[symbol].extent for symbol in self.parallel())

    def work(self) -> int:
        """Return the elements of the largest task."""
        return max((math.prod(axis.extent for axis in task.axes) for task, _ in self.members), default=0)

    # -- adding statements

    def add(self, statement: Statement, private: frozenset[str]) -> None:
        """Add a statement; `private` names the arrays that no other statement accesses."""
        self.statements.append(statement)
        compound = not isinstance(statement, Task)
        for task in tasks([statement]):
            for axis in task.axes:
                self.axes[axis.symbol] = axis
                self.owners[axis.symbol] = frozenset((len(self.members),))
            self.relate(task)
            self.members.append((task, compound and task.target.array.name in private))

    def relate(self, task: Task) -> None:
        """Find which axes of `task` are axes of the members: those that index written arrays alike."""
        mine = [(access, False) for access in task.reads] + [(task.target, True)]
        for access, writes in mine:
            for other, other_writes in self.accesses.get(access.array.name, ()):
                if writes or other_writes:
                    self.constrain(access, other)
        for access, _ in mine:
            for other, _ in self.accesses.get(access.array.name, ()):
                self.suggest(task, access, other)
        self.suggest_by_shape(task)
        for item in mine:
            known = self.accesses.setdefault(item[0].array.name, [])
            if item not in known:
                known.append(item)

    def constrain(self, access: Access, other: Access) -> None:
        if conflicts.apart(access, other, self.indexing):
            return
        for a, b in zip(access.index, other.index, strict=True):
            pair = self._aligned(a, b)
            if pair is not None:
                self.join(*pair)
            elif a != b or not a.is_constant:
                self.broken.update(affine.symbols(a) & self.axes.keys())
                self.broken.update(affine.symbols(b) & self.axes.keys())

    def _aligned(self, left: Affine, right: Affine) -> tuple[Symbol, Symbol] | None:
        """Return the two symbols when both indices are the same function of one symbol of one extent."""
        if left.constant != right.constant or len(left.terms) != 1 or len(right.terms) != 1:
            return None
        (a, count), (b, other_count) = left.terms[0], right.terms[0]
        if count != other_count or not isinstance(a, Symbol) or not isinstance(b, Symbol):
            return None
        if a not in self.axes or b not in self.axes or not _same_loop(self.axes[a], self.axes[b]):
            return None
        return a, b

    def suggest(self, task: Task, access: Access, other: Access) -> None:
        """Two tasks that read an array alike had better walk it together."""
        for a, b in zip(access.index, other.index, strict=True):
            pair = self._aligned(a, b)
            if pair is not None and self.is_free(pair[0], pair[1], task):
                self.join(*pair)

    def suggest_by_shape(self, task: Task) -> None:
        """Give axes that are in no class yet the first class of their extent that the task does not have."""
        if not self.members:
            return
        known = {self.find(axis.symbol): axis for member, _ in self.members for axis in member.axes}
        for axis in task.axes:
            for symbol, other in known.items():
                if _same_loop(axis, other) and self.is_free(axis.symbol, symbol, task):
                    self.join(axis.symbol, symbol)

    def is_free(self, symbol: Symbol, other: Symbol, task: Task) -> bool:
        """True when `symbol` is still alone and `task` has no other axis in the class of `other`."""
        alone = self.find(symbol) == symbol and symbol not in self.parents.values()
        return alone and not self.owners[self.find(symbol)] & self.owners[self.find(other)]

    def shared(self, other: Nest) -> int:
        """Return the elements of the arrays that both nests access."""
        both = self.accesses.keys() & other.accesses.keys()
        return sum(math.prod(self.accesses[name][0][0].array.shape) for name in both)

    def depends(self, statement: Statement) -> bool:
        """True when `statement` has to stay behind this nest: they share an array that one of them writes."""
        for task in tasks([statement]):
            if any(writes for _, writes in self.accesses.get(task.target.array.name, ())):
                return True
            if task.target.array.name in self.accesses:
                return True
            for access in task.reads:
                if any(writes for _, writes in self.accesses.get(access.array.name, ())):
                    return True
        return False


def _same_loop(left: Axis, right: Axis) -> bool:
    return left.extent == right.extent and left.lower == right.lower and left.upper == right.upper


def form_nests(statements: list[Statement], indexing: Indexing) -> list[Nest]:
    """Divide a sequence into nests that run one after another."""
    owners = _owners(statements)
    nests: list[Nest] = []
    for number, statement in enumerate(statements):
        private = frozenset(name for name, users in owners.items() if users == {number})
        _place(statement, private, nests, indexing)
    return nests


def _owners(statements: list[Statement]) -> dict[str, set[int]]:
    """Return for each local array the positions of the statements that access it."""
    owners: dict[str, set[int]] = {}
    for number, statement in enumerate(statements):
        for access in _accesses(statement):
            if access.array.is_local:
                owners.setdefault(access.array.name, set()).add(number)
    return owners


def _accesses(statement: Statement) -> Iterator[Access]:
    for task in tasks([statement]):
        yield task.target
        yield from task.reads


def _place(statement: Statement, private: frozenset[str], nests: list[Nest], indexing: Indexing) -> None:
    alone = Nest(indexing)
    alone.add(statement, private)
    position = len(nests)
    for number in range(len(nests) - 1, max(-1, len(nests) - 1 - NESTS_LOOKED_AT), -1):
        trial = nests[number].copy()
        trial.add(statement, private)
        if _is_good(trial, nests[number], alone):
            nests[number] = trial
            return
        if nests[number].depends(statement):
            break
        position = number
    nests.insert(position, alone)


def _is_good(trial: Nest, before: Nest, alone: Nest) -> bool:
    """True when the nest with the statement has as much to run in parallel as its work is worth.

    Narrower than it was, it has to gain something: arrays that both sides use while they are in the caches.
    """
    width = trial.width()
    wanted = min(ENOUGH_PARALLEL, trial.work() // ELEMENTS_PER_WORKER)
    if wanted > 1 and width < max(before.width(), alone.width()) and 4 * before.shared(alone) < trial.work():
        return False
    return width >= wanted or (width >= before.width() and width >= alone.width())
