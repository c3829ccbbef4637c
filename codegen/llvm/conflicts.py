"""When two accesses of one array can touch the same element."""

from __future__ import annotations

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.evaluation import Indexing
from pypto.codegen.llvm.program import Access, Task
from pypto.ir.nodes import Range, Region


def regions_apart(left: Region, right: Region, indexing: Indexing) -> bool:
    """True when two regions of one array are proven to have no element in common."""
    return any(_ranges_apart(a, b, indexing) for a, b in zip(left, right, strict=True))


def _ranges_apart(left: Range, right: Range, indexing: Indexing) -> bool:
    if left.extent == 0 or right.extent == 0:
        return True
    first, second = _span(left, indexing), _span(right, indexing)
    below = affine.bounds(affine.subtract(first[1], second[0]), indexing.ranges)
    above = affine.bounds(affine.subtract(second[1], first[0]), indexing.ranges)
    return (below is not None and below[1] < 0) or (above is not None and above[1] < 0)


def _span(item: Range, indexing: Indexing) -> tuple[affine.Affine, affine.Affine]:
    """Return the lowest and highest index of a range."""
    start = indexing.of(item.offset)
    assert isinstance(item.extent, int)
    end = affine.add(start, affine.number((item.extent - 1) * item.step))
    return (start, end) if item.step > 0 else (end, start)


def overtakes(read: Access, task: Task, indexing: Indexing) -> bool:
    """True when a task may read an element of its own target after it wrote it: same array, not the same element."""
    if read.array is not task.target.array or read.index == task.target.index:
        return False
    return not apart(read, task.target, indexing)


def apart(left: Access, right: Access, indexing: Indexing) -> bool:
    """True when the intervals of two accesses are proven disjoint along some axis."""
    for a, b in zip(left.index, right.index, strict=True):
        first, second = affine.bounds(a, indexing.ranges), affine.bounds(b, indexing.ranges)
        if first is not None and second is not None and (first[1] < second[0] or second[1] < first[0]):
            return True
    return False
