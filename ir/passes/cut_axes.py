"""Which axes of a kernel may be cut into tiles, reshapes included.

`pypto.ir.axes` says which axes belong together. A reshape of n elements to (o, t), as tile functions of one tile begin
with, ties two classes: cutting o into pieces of g cuts n into pieces of g * t. The class of o is then the *base* of
that of n, with the factor t, and only bases are cut. Classes tied in two ways, or tied to one that cannot be cut, are
whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.ir.axes import Axis, AxisAnalysis, analyse
from pypto.ir.index import Extent
from pypto.ir.nodes import For, Kernel, Value, results, walk

Ties = dict[Axis, set[tuple[Axis, int]]]


@dataclass(slots=True)
class CutAxes:
    """The classes of one kernel; make it with `cut_axes`. `barred` are those that cannot be cut, `ties` the bases,
    `shapes` those of values and parameters."""

    analysis: AxisAnalysis
    ties: Ties
    shapes: dict[str, tuple[Extent, ...]]
    barred: set[Axis] = field(default_factory=set)

    def base(self, axis: Axis) -> tuple[Axis, int]:
        """Return the base of the class of `axis`, and how many elements of `axis` one of the base stands for."""
        root, factor = self.analysis.find(axis), 1
        while root in self.ties and root not in self.barred:
            ((root, times),) = self.ties[root]
            factor *= times
        return root, factor

    def bases_of(self, owner: str) -> tuple[tuple[Axis, int], ...]:
        """Return base and factor of each axis of a value (``%name``) or parameter (``name``)."""
        return tuple(self.base(Axis(owner, position)) for position in range(self.analysis.ranks[owner]))

    def is_tied(self, base: Axis) -> bool:
        """Return whether other classes are cut together with `base`: then all of its tiles must be equally long."""
        return any(other == base for ends in self.ties.values() for other, _ in ends)

    def leads(self, base: Axis) -> bool:
        """Return whether what is cut with `base` is the outermost longer axis wherever it is found: then pieces of
        several lengths have one pitch each."""
        for owner, shape in self.shapes.items():
            bases = [found for found, _ in self.bases_of(owner)]
            if base in bases and any(extent != 1 for extent in shape[: bases.index(base)]):
                return False
        return True

    def can_cut(self, base: Axis) -> bool:
        return base not in self.barred


def cut_axes(kernel: Kernel) -> CutAxes:
    """Return the classes of `kernel` (level tile) that may be cut."""
    analysis = analyse(kernel, follow_reshapes=True)
    _join_equal_splits(analysis)
    ties: Ties = {}
    for split in analysis.splits or ():
        ties.setdefault(analysis.find(split.whole), set()).add((analysis.find(split.outer), split.factor))
    shapes = {parameter.name: parameter.type.shape for parameter in kernel.parameters}
    shapes |= {f"%{name}": value.shape for name, value in _values(kernel).items()}
    found = CutAxes(analysis, ties, shapes)
    found.barred |= analysis.repeated() | {analysis.find(axis) for axis in (*analysis.bindings, *analysis.summed)}
    _spread(found)
    while (doubled := _doubled(found) - found.barred) != set():
        found.barred |= doubled
        _spread(found)
    return found


def _values(kernel: Kernel) -> dict[str, Value]:
    made = [value for item in walk(kernel.body) for value in results(item)]
    made += [value for item in walk(kernel.body) if isinstance(item, For) for value in item.carried]
    return {value.name: value for value in made}


def _join_equal_splits(analysis: AxisAnalysis) -> None:
    """Join the outer axes of splits of one class by one factor: they count the same pieces of it."""
    while True:
        first: dict[tuple[Axis, int], Axis] = {}
        changed = False
        for split in analysis.splits or ():
            outer = analysis.find(split.outer)
            other = analysis.find(first.setdefault((analysis.find(split.whole), split.factor), outer))
            changed |= other != outer
            analysis.join(other, outer)
        if not changed:
            return


def _spread(found: CutAxes) -> None:
    """Bar what is tied to something barred, or in two ways."""
    while True:
        more: set[Axis] = set()
        for whole, ends in found.ties.items():
            group = {whole, *(outer for outer, _ in ends)}
            if len(ends) > 1 or whole in {outer for outer, _ in ends} or group & found.barred:
                more |= group
        if more <= found.barred:
            return
        found.barred |= more


def _doubled(found: CutAxes) -> set[Axis]:
    """Return the bases that some value or parameter has on two of its axes."""
    doubled: set[Axis] = set()
    for owner in found.analysis.ranks:
        bases = [base for base, _ in found.bases_of(owner)]
        doubled.update(base for base in bases if bases.count(base) > 1)
    return doubled
