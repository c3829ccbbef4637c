"""Kernels that hand arrays on become one kernel where each tile can do the work of both, so that values stay on chip.

A module's kernels run one after another. Two of them are merged when nothing between them has to come first, values can
take the place of what the earlier one stores (`merge_kernels`), and the work takes no longer than before: bytes moved
and computed count by the cores that can share them, which a merge must not reduce for more than it saves. Arrays that
no kernel reads any more are no longer stored, unless the launch asks for them. The meaning is the same, bit by bit:
values were rounded when they were stored, and still are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pypto.ir.axes import Axis
from pypto.ir.index import Extent
from pypto.ir.nodes import For, If, Kernel, Load, Module, Operation, Statement, Store, TileType, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.apply_tiles import as_blocks
from pypto.ir.passes.choose_tiles import possible_cuts
from pypto.ir.passes.cut_axes import cut_axes
from pypto.ir.passes.merge_kernels import accesses, merge, waits_for
from pypto.ir.passes.rotate_buffers import noted

CORES = 48
"""Vector cores of the chip, among which work is counted as shared. On other targets the number is as good as any."""

LAUNCH_BYTES = 1 << 16
"""Bytes that one core could have moved while another kernel starts."""

BYTES_PER_CYCLE_RATIO = 4
"""How much faster one core computes (256 bytes in a cycle) than it reaches memory."""

LITTLE = 1 << 18
LEAST_SHARE = 8
"""Merging kernels that move more than so many bytes has to keep at least one in so many of them on chip: reading an
array once instead of twice does not pay for longer loops."""

MOST_STATEMENTS = 200
MOST_LOOKED_AT = 16
"""Earlier kernels among those that share an array which are tried."""


Apart = Mapping[tuple[str, ...], str]
"""Why stages are not to be merged, by the names of all of them."""


def fuse_kernels(module: Module, apart: Apart = MappingProxyType({})) -> Module:
    """Return `module` (level tile) with kernels merged, but for those stages that are to stay `apart`: the first kernel
    of such a set has a note that says why.

    Kernels with symbolic extents stay as they are.
    """
    if len(module.kernels) < 2 or not module.is_concrete:
        return module
    fusion = _Fusion(module, apart)
    for kernel in module.kernels:
        fusion.add(kernel)
    return fusion.result()


def stages_of(kernel: Kernel) -> tuple[str, ...]:
    """Return the names of the kernels that a merged kernel was made from; its own name when it is not merged."""
    stages = dict(kernel.attributes).get("stages", (kernel.name,))
    assert isinstance(stages, tuple)
    return tuple(name for name in stages if isinstance(name, str))


@dataclass(slots=True)
class _Part:
    """One kernel of the result: `position` is its place among the kernels, what it reads and writes, its cost."""

    kernel: Kernel
    position: int
    reads: frozenset[str]
    writes: frozenset[str]
    cost: float
    contractions: int
    waits: frozenset[str]
    """Stages that the user put a barrier behind, before this one."""

    @staticmethod
    def of(kernel: Kernel, position: int) -> _Part:
        reads = frozenset(name for name, item in accesses(kernel.body) if isinstance(item, Load))
        writes = frozenset(name for name, item in accesses(kernel.body) if isinstance(item, Store))
        waits = frozenset(waits_for(kernel))
        return _Part(kernel, position, reads, writes, _cost(kernel), _contractions(kernel), waits)

    @property
    def arrays(self) -> frozenset[str]:
        return self.reads | self.writes

    def conflicts(self, other: _Part) -> bool:
        """Return whether the two have to keep their order."""
        return bool(self.writes & other.arrays or self.reads & other.writes) or self.is_apart(other)

    def is_apart(self, other: _Part) -> bool:
        """Return whether a barrier of the user stands between the two."""
        return bool(
            self.waits.intersection(stages_of(other.kernel)) or other.waits.intersection(stages_of(self.kernel))
        )


@dataclass(slots=True)
class _Fusion:
    module: Module
    apart: Apart
    parts: dict[int, _Part] = field(default_factory=dict)
    users: dict[str, set[int]] = field(default_factory=dict)
    """Parts that read or write an array, by position."""
    readers: dict[str, int] = field(default_factory=dict)
    """How many kernels of the module read an intermediate."""

    def __post_init__(self) -> None:
        names = {item.name for item in self.module.intermediates}
        for kernel in self.module.kernels:
            for name in {name for name, item in accesses(kernel.body) if isinstance(item, Load)} & names:
                self.readers[name] = self.readers.get(name, 0) + 1

    def add(self, kernel: Kernel) -> None:
        part = _Part.of(kernel, len(self.parts) and max(self.parts) + 1)
        self.insert(part)
        while (merged := self.merged_with_earlier(part)) is not None:
            earlier, part = merged
            self.remove(earlier)
            self.insert(part)

    def insert(self, part: _Part) -> None:
        self.parts[part.position] = part
        for name in part.arrays:
            self.users.setdefault(name, set()).add(part.position)

    def remove(self, part: _Part) -> None:
        del self.parts[part.position]
        for name in part.arrays:
            self.users[name].discard(part.position)

    def merged_with_earlier(self, part: _Part) -> tuple[_Part, _Part] | None:
        """Return the earlier part that `part` is merged with, and the two as one; `part` is taken out already then."""
        near = {position for name in part.arrays for position in self.users.get(name, ()) if position < part.position}
        for position in sorted(near, reverse=True)[:MOST_LOOKED_AT]:
            earlier = self.parts[position]
            place = self.place(earlier, part)
            made = self.merge(earlier, part) if place is not None else None
            if made is not None and place is not None:
                self.remove(part)
                for name in earlier.writes & part.reads & self.readers.keys():
                    self.readers[name] -= 1
                return earlier, replace(made, position=place)
        return None

    def place(self, earlier: _Part, later: _Part) -> int | None:
        """Return where both can run as one: where either is, if what stands between allows it."""
        between = [self.parts[position] for position in self.between(earlier, later)]
        if not any(item.conflicts(later) for item in between):
            return earlier.position
        return None if any(earlier.conflicts(item) for item in between) else later.position

    def between(self, earlier: _Part, later: _Part) -> set[int]:
        """Return the positions of parts between two that share an array with either."""
        near = {position for name in earlier.arrays | later.arrays for position in self.users.get(name, ())}
        return {position for position in near if earlier.position < position < later.position}

    def merge(self, earlier: _Part, later: _Part) -> _Part | None:
        if later.contractions + earlier.contractions > 1 or _length(earlier) + _length(later) > MOST_STATEMENTS:
            return None
        if earlier.is_apart(later) or not _saves(earlier, later):
            return None
        kernels = _on_one_grid(earlier.kernel, later.kernel, sorted(earlier.arrays & later.arrays))
        made = None if kernels is None else merge(*kernels)
        if made is None:
            return None
        if stages_of(made) in self.apart:
            names, why = ", ".join(stages_of(made)), self.apart[stages_of(made)]
            earlier.kernel = noted(earlier.kernel, f"{names} are separate kernels: {why}")
            return None
        part = _Part.of(without(made, self.local(earlier, later)), earlier.position)
        return part if part.cost <= earlier.cost + later.cost + LAUNCH_BYTES / CORES else None

    def local(self, earlier: _Part, later: _Part) -> frozenset[str]:
        """Return the intermediates that no other kernel would read once the two are one."""
        shared = earlier.writes & later.reads
        return frozenset(name for name in shared if self.readers.get(name) == 1)

    def result(self) -> Module:
        kernels = [self.parts[position].kernel for position in sorted(self.parts)]
        used = {name for kernel in kernels for name, _ in accesses(kernel.body)}
        intermediates = tuple(item for item in self.module.intermediates if item.name in used)
        return replace(self.module, kernels=tuple(kernels), intermediates=intermediates)


def without(kernel: Kernel, arrays: frozenset[str]) -> Kernel:
    """Return `kernel` without its stores to `arrays`, which nobody reads."""
    body = tuple(item for item in kernel.body if not (isinstance(item, Store) and item.target in arrays))
    touched = {name for name, _ in accesses(body)}
    kept = tuple(item for item in kernel.parameters if item.name not in arrays or item.name in touched)
    return replace(kernel, parameters=kept, body=body)


def _saves(earlier: _Part, later: _Part) -> bool:
    """Return whether merging is worth it: a good part of what is moved need not be, or all of it is little."""
    moved = _moved(earlier.kernel) + _moved(later.kernel)
    handed_on = sum(_bytes(earlier.kernel.parameter(name).type) for name in earlier.writes & later.reads)
    return moved <= LITTLE or handed_on * LEAST_SHARE >= moved


def _moved(kernel: Kernel) -> int:
    """Return about how many bytes a kernel loads and stores: each region counts once, in each block."""
    types = [item.result.type if isinstance(item, Load) else item.value.type for _, item in accesses(kernel.body)]
    return sum(map(_bytes, types)) * math.prod(axis.extent for axis in kernel.grid if isinstance(axis.extent, int))


# -- blocks and batches


def _on_one_grid(first: Kernel, second: Kernel, shared: Sequence[str]) -> tuple[Kernel, Kernel] | None:
    """Return two kernels of equal grids: one without a grid does an item of a shared array per block of the other."""
    if bool(first.grid) == bool(second.grid):
        return first, second
    (blocks,) = (first if first.grid else second).grid
    made = _as_items(second if first.grid else first, blocks.extent, shared)
    if made is None:
        return None
    return (first, made) if first.grid else (made, second)


def _as_items(kernel: Kernel, count: Extent, shared: Sequence[str]) -> Kernel | None:
    """Return `kernel` as `count` blocks, each for one item of the first axis of a shared array, or None."""
    axes = cut_axes(kernel)
    leading = {axes.base(Axis(name, 0)) for name in shared if kernel.parameter(name).type.rank}
    for cut in possible_cuts(kernel, axes):
        if cut.extent == count and (cut.axis, cut.factor) in leading and cut.factor == 1:
            return as_blocks(kernel, axes, [replace(cut, smallest=1)])
    return None


# -- what a kernel costs


def _length(part: _Part) -> int:
    return sum(1 for _ in walk(part.kernel.body))


def _contractions(kernel: Kernel) -> int:
    return sum(
        isinstance(item, Operation) and TABLE[item.name].category is Category.CONTRACTION for item in walk(kernel.body)
    )


def _cost(kernel: Kernel) -> float:
    """Return the bytes that each of the cores which can share the work moves; computing counts as bytes too."""
    parallel = math.prod(cut.extent for cut in possible_cuts(kernel, cut_axes(kernel)))
    parallel *= math.prod(axis.extent for axis in kernel.grid if isinstance(axis.extent, int))
    return sum(_work(kernel.body)) / max(1, min(CORES, parallel))


def _work(body: tuple[Statement, ...], turns: int = 1) -> Iterator[float]:
    for statement in body:
        if isinstance(statement, Load):
            yield turns * _bytes(statement.result.type)
        elif isinstance(statement, Store):
            yield turns * _bytes(statement.value.type)
        elif isinstance(statement, For):
            yield from _work(statement.body, turns * _trips(statement))
        elif isinstance(statement, If):
            yield from _work((*statement.then_body, *statement.else_body), turns)
        else:
            largest = max(_bytes(value.type) for value in (*statement.operands, *statement.results))
            yield turns * largest * TABLE[statement.name].cost.cycles_per_repeat / BYTES_PER_CYCLE_RATIO


def _trips(loop: For) -> int:
    if isinstance(loop.start, int) and isinstance(loop.stop, int):
        return max(0, -(-(loop.stop - loop.start) // loop.step))
    return 2


def _bytes(type_: TileType) -> int:
    return math.prod(extent for extent in type_.shape if isinstance(extent, int)) * type_.dtype.bytes
