"""`TilingSearchSpace`: which schedules tuning may try.

An axis is a name with values: a list, a range or a single value. Names are those of `pypto.search_axes.NAMES`; every
combination of values is a candidate, except where a predicate says no. `TilingSearchSpace.when` makes an axis that only
exists where others have certain values. Candidates that need more memory than there is, or than `constraint_memory`
allows, are never compiled; those that become the same code as one before count once.

Extents belong to the axes of the largest output, counted from the right: tile_m and tile_h to rows, tile_n and tile_w
to columns, ``tiles`` to as many axes as it has extents. Axes that the body works across stay whole whatever is asked.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pypto.caller import PLACED_AT_CALLER
from pypto.ir.base.errors import UserError, nearest
from pypto.memory_limits import read_limits
from pypto.runtime.tuning.candidate import Value
from pypto.search_axes import check_value, plain, takes_tuples

if TYPE_CHECKING:
    from pypto.ir.nodes import Module
    from pypto.runtime.tuning.candidate import Candidates

Point = tuple[tuple[str, Value], ...]
Predicate = Callable[..., object]

GOLDEN = 0x9E3779B97F4A7C15F39CC0605CEDC834
"""The golden section times 2 ** 128: steps of that part of a whole spread evenly, however many there are."""
MOST_POINTS = 4096
"""Combinations that are looked at; of a larger space so many, spread evenly."""


@dataclass(frozen=True, slots=True)
class When:
    """Values of an axis that exists only where each axis in `conditions` has one of the values there."""

    values: tuple[Value, ...]
    conditions: tuple[tuple[str, tuple[Value, ...]], ...]

    def holds(self, point: Mapping[str, Value]) -> bool:
        return all(point.get(name) in allowed for name, allowed in self.conditions)


class TilingSearchSpace:
    """Named axes with their values, and what restricts them.

    axes: name = list, range, single value, or ``TilingSearchSpace.when(...)``. constraint_memory: sizes such as
    ``{"L1": "16KB", "GM_per_tile": "256KB"}``: GM_per_tile limits the bytes that one tile reads and writes of global
    memory; UB on an NPU what its buffers take; every other name the bytes of all arguments' blocks that a tile works on
    at a time. 1 KB is 1024 bytes. predicates: functions of axes, by name, that are false for what shall not be tried;
    an axis that does not exist in a candidate is None.

    Raises UserError ``space-value``, ``space-empty``, ``memory-name``, ``memory-size`` or ``predicate-name``.
    """

    def __init__(
        self,
        *,
        constraint_memory: Mapping[str, object] | None = None,
        predicates: Predicate | Sequence[Predicate] = (),
        **axes: Any,
    ) -> None:
        with PLACED_AT_CALLER:
            self.axes: dict[str, When] = {name: _read_axis(name, values) for name, values in axes.items()}
            self.constraint_memory: dict[str, int] = read_limits(constraint_memory)
            self.predicates: tuple[Predicate, ...] = (predicates,) if callable(predicates) else tuple(predicates)
            self._wanted = [_parameters(item, self.axes) for item in self.predicates]
            for name, axis in self.axes.items():
                for other, _ in axis.conditions:
                    if other not in self.axes or other == name:
                        raise UserError("predicate-name", None, name=other, hint=nearest(other, self.axes))

    @staticmethod
    def when(values: Any, **conditions: Any) -> When:
        """Return an axis that exists only where other axes have the given values: ``when([2, 4], tile_k=64)``."""
        allowed = tuple((name, _values(name, item)) for name, item in conditions.items())
        return When(_values("", values), allowed)

    def __repr__(self) -> str:
        shown = [f"{name}={list(axis.values)}" for name, axis in self.axes.items()]
        return f"TilingSearchSpace({', '.join(shown)})"

    def __len__(self) -> int:
        """Return the number of combinations as far as `len` can."""
        return min(self.combinations, sys.maxsize)

    @property
    def combinations(self) -> int:
        """The number of combinations, before predicates and conditions."""
        return math.prod(len(axis.values) for axis in self.axes.values())

    def points(self) -> Iterator[Point]:
        """Yield the combinations that conditions and predicates leave, each once; at most `MOST_POINTS` are looked at.

        A larger space is walked in steps that share no factor with its size, so that every axis takes all its values.
        """
        names = list(self.axes)
        seen: set[Point] = set()
        for number in _spread(self.combinations):
            point = self._existing(dict(zip(names, self._digits(number), strict=True)))
            if point not in seen and self._allowed(dict(point)):
                seen.add(point)
                yield point

    def _digits(self, number: int) -> list[Value]:
        """Return the values of combination `number`; the last axis changes fastest."""
        found = []
        for axis in reversed(self.axes.values()):
            number, place = divmod(number, len(axis.values))
            found.append(axis.values[place])
        return found[::-1]

    def _existing(self, point: dict[str, Value]) -> Point:
        """Return the values of the axes that exist, given that conditions may depend on each other."""
        while True:
            kept = {name: value for name, value in point.items() if self.axes[name].holds(point)}
            if len(kept) == len(point):
                return tuple(point.items())
            point = kept

    def _allowed(self, point: Mapping[str, Value]) -> bool:
        everything = {**dict.fromkeys(self.axes), **point}
        for predicate, wanted in zip(self.predicates, self._wanted, strict=True):
            chosen = everything if wanted is None else {name: everything[name] for name in wanted}
            if not predicate(**chosen):
                return False
        return True

    def candidates(self, module: Module, target: str, **known: Any) -> Candidates:
        """Return the candidates for a module at level tile, and the rows of what cannot be a candidate.

        known: `layouts` (strides by parameter), `machine`, `injectable` (names that the kernel reads itself while it is
        traced). Raises UserError ``space-axis``, ``space-rank``, ``space-empty`` or ``space-too-large``.
        """
        from pypto.search import find_candidates

        return find_candidates(self, module, target, **known)


def _read_axis(name: str, values: Any) -> When:
    if isinstance(values, When):
        for value in values.values:
            check_value(name, value)
        return values
    return When(_values(name, values), ())


def _values(name: str, values: Any) -> tuple[Value, ...]:
    """Return the values of an axis, each once, in order; raises UserError ``space-value`` or ``space-empty``."""
    found = [plain(value) for value in _listed(name, values)]
    for value in found:
        if not _is_value(value):
            raise UserError("space-value", None, axis=name, value=value, wants="numbers, texts, True, False or tuples")
        check_value(name, value)
    if not found:
        raise UserError(
            "space-empty", None, kernel="any kernel", why=f"axis {name} has no values", advice=f"give {name} one"
        )
    distinct = {(type(value), value): value for value in found}
    return tuple(distinct.values())  # type: ignore[arg-type]  # _is_value holds


def _listed(name: str, values: Any) -> Iterable[Any]:
    """Return the values of an axis one by one; a tuple is one value where values are tuples."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        return (values,)
    if (
        isinstance(values, tuple)
        and takes_tuples(name)
        and not any(isinstance(item, (tuple, list, str)) for item in values)
    ):
        return (values,)
    return sorted(values) if isinstance(values, (set, frozenset)) else values


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_value, value))
    return value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))


def _parameters(predicate: Predicate, axes: Mapping[str, When]) -> tuple[str, ...] | None:
    """Return the axes that a predicate asks for; None when it takes all of them."""
    parameters = inspect.signature(predicate).parameters
    if any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters.values()):
        return None
    for name in parameters:
        if name not in axes:
            raise UserError("predicate-name", None, name=name, hint=nearest(name, axes))
    return tuple(parameters)


def _spread(total: int) -> Iterable[int]:
    if total <= MOST_POINTS:
        return range(total)
    step = (total * GOLDEN >> 128) | 1
    while math.gcd(step, total) != 1:
        step += 1
    return itertools.islice((number * step % total for number in itertools.count()), MOST_POINTS)
