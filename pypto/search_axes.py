"""The names that a search space may give its axes, and the choice of a schedule that each stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from pypto.ir.base.errors import UserError, nearest
from pypto.ir.nodes import Attribute
from pypto.runtime.tuning.candidate import Value
from pypto.runtime.tuning.facts import Facts

_EXTENTS = {"tile_d": -3, "tile_m": -2, "tile_h": -2, "tile_n": -1, "tile_w": -1}
"""Extents of a tile along an axis of the largest output, counted from the right."""
_COUNTS = {"num_tiles_d": -3, "num_tiles_m": -2, "num_tiles_h": -2, "num_tiles_n": -1, "num_tiles_w": -1}
"""Numbers of tiles along an axis."""
_SHAPES = ("tiles", "tile", "shape", "tile_shape", "block_shape")
_NUMBERS = {
    **dict.fromkeys(("tile_num", "num_tiles"), "tile_num"),
    **dict.fromkeys(("block_dim", "aicore_num"), "aicore_num"),
    **dict.fromkeys(("threads", "num_threads"), "threads"),
    **{name: name for name in ("tile_k", "split_k", "l2_swizzle", "unroll")},
}
_FLAGS = {"streaming": "streaming", "pipeline": "pipeline", "enable_pipeline": "pipeline"}
_DEPTHS = ("buffering", "buffer_depth", "double_buffer", "enable_double_buffer", "multibuffer")
_DEPTH_WORDS = {"single": 1, "double": 2, "triple": 3}
_LETTERS = {"d": -3, "m": -2, "h": -2, "n": -1, "w": -1}

NAMES = tuple(sorted((*_EXTENTS, *_COUNTS, *_SHAPES, *_NUMBERS, *_FLAGS, *_DEPTHS, "loop_order", "vector_bits")))
"""All names; what each takes is checked by `check_value`."""


@dataclass(frozen=True, slots=True)
class _Kind:
    wants: str
    accepts: Callable[[object], bool]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_shape(value: object) -> bool:
    return _is_number(value) or (isinstance(value, tuple) and all(item is None or _is_number(item) for item in value))


def _is_depth(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, int) and 1 <= value <= 3) or value in _DEPTH_WORDS


def _is_order(value: object) -> bool:
    if isinstance(value, str):
        places = [_LETTERS.get(letter) for letter in value]
        return bool(value) and None not in places and len(set(places)) == len(places)
    numbers = isinstance(value, tuple) and all(isinstance(item, int) and item >= 0 for item in value)
    return numbers and isinstance(value, tuple) and len(set(value)) == len(value)


_NUMBER = _Kind("positive whole numbers", _is_number)
_KINDS: dict[str, _Kind] = {
    **dict.fromkeys((*_EXTENTS, *_COUNTS, *_NUMBERS), _NUMBER),
    **dict.fromkeys(_SHAPES, _Kind("tuples of positive whole numbers or None", _is_shape)),
    **dict.fromkeys(_FLAGS, _Kind("True or False", lambda value: isinstance(value, bool))),
    **dict.fromkeys(_DEPTHS, _Kind("1, 2, 3, True, False or 'single', 'double', 'triple'", _is_depth)),
    "loop_order": _Kind("tuples of axis numbers, outermost first, or texts such as 'mn' and 'nm'", _is_order),
    "vector_bits": _Kind("128, 256 or 512", lambda value: value in (128, 256, 512)),
}


def takes_tuples(axis: str) -> bool:
    """Return whether one value of an axis is a tuple."""
    return axis in _SHAPES or axis == "loop_order"


def plain(value: object) -> object:
    """Return `value` with NumPy's numbers, enums and lists inside as Python's own."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def check_value(axis: str, value: object) -> None:
    """Raise UserError ``space-value`` for a value that an axis of that name cannot have; None always may be."""
    kind = _KINDS.get(axis)
    if kind is not None and value is not None and not kind.accepts(value):
        raise UserError("space-value", None, axis=axis, value=value, wants=kind.wants)


def unknown_axis(axis: str, kernel: str) -> UserError:
    return UserError("space-axis", None, axis=axis, kernel=kernel, hint=nearest(axis, NAMES))


@dataclass(slots=True)
class _Choices:
    """Choices of one candidate in the making. `tile` has one entry per axis of the largest output."""

    facts: Facts
    tile: dict[int, int | None] = field(default_factory=dict)
    written: int = 1
    """Elements of the tile as it was written down, even where the axes are shorter."""
    counts: dict[int, int] = field(default_factory=dict)
    fields: dict[str, Attribute] = field(default_factory=dict)

    def extent(self, from_right: int, value: int) -> None:
        axis = len(self.facts.extents) + from_right
        self.written *= value
        self.tile[max(0, axis)] = value

    def shape(self, name: str, value: tuple[int | None, ...]) -> None:
        rank = len(self.facts.extents)
        if len(value) > rank:
            raise UserError(
                "space-rank", None, axis=name, value=value, given=len(value), kernel=self.facts.kernel, rank=rank
            )
        full = (1,) * (rank - len(value)) + value
        for axis, extent in enumerate(full):
            self.tile[axis] = extent
            self.written *= extent or self.facts.extents[axis]

    def count(self, from_right: int, value: int) -> None:
        self.counts[max(0, len(self.facts.extents) + from_right)] = value

    def finish(self) -> dict[str, Attribute]:
        """Return the choices by field of a schedule: only what may be chosen, extents no longer than the axes."""
        facts = self.facts
        for axis, count in self.counts.items():
            if axis < len(facts.extents):
                self.tile.setdefault(axis, max(1, -(-facts.extents[axis] // count)))
        if self.counts and "tile_num" not in self.fields:
            number = 1
            for count in self.counts.values():
                number *= count
            self.fields["tile_num"] = number
        if not any(facts.cuttable):
            for name in ("tile_num", "loop_order"):
                self.fields.pop(name, None)
        elif self.tile:
            self.fields["tile_shape"] = tuple(map(self.entry, range(len(facts.extents))))
        return self.fields

    def entry(self, axis: int) -> int | None:
        """Return the extent along an axis: a tile is one item of a batch, as long as nothing else was said."""
        extent = self.facts.extents[axis]
        tile = self.tile.get(axis, 1 if axis < len(self.facts.extents) - 2 else None)
        return None if tile is None or tile >= extent or not self.facts.cuttable[axis] else tile


@dataclass(frozen=True, slots=True)
class Choice:
    """What the values of one candidate mean: fields of a schedule, and the elements of the tile as written down."""

    fields: Mapping[str, Attribute]
    written: int


def choose(values: Mapping[str, Value], facts: Facts) -> Choice:
    """Return the choices that named values stand for. Names that mean nothing to a schedule are passed over.

    Raises UserError ``space-rank``.
    """
    choices = _Choices(facts)
    for name, value in values.items():
        if value is not None:
            _apply(choices, name, value)
    return Choice(choices.finish(), choices.written)


def _apply(choices: _Choices, name: str, value: Value) -> None:
    if name in _EXTENTS and isinstance(value, int):
        choices.extent(_EXTENTS[name], value)
    elif name in _COUNTS and isinstance(value, int):
        choices.count(_COUNTS[name], value)
    elif name in _SHAPES:
        choices.shape(name, value if isinstance(value, tuple) else (value,))  # type: ignore[arg-type]  # checked before
    elif name in _NUMBERS or name in _FLAGS:
        choices.fields[_NUMBERS.get(name) or _FLAGS[name]] = value
    elif name in _DEPTHS:
        choices.fields["buffer_depth"] = _depth(value)
    elif name == "loop_order":
        choices.fields[name] = _order(value, len(choices.facts.extents))
    elif name == "vector_bits":
        choices.fields[name] = value


def _depth(value: Value) -> int:
    if isinstance(value, bool):
        return 2 if value else 1
    return _DEPTH_WORDS[value] if isinstance(value, str) else int(value)  # type: ignore[arg-type]  # checked before


def _order(value: Value, rank: int) -> tuple[int, ...]:
    """Return the axes named by an order; those that the output does not have are left out."""
    numbers = [rank + _LETTERS[letter] for letter in value] if isinstance(value, str) else value
    assert isinstance(numbers, (list, tuple))
    return tuple(number for number in numbers if isinstance(number, int) and 0 <= number < rank)
