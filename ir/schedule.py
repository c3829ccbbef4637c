"""The schedule of a kernel: what may be chosen freely without changing what it computes.

It is carried by the kernel's attributes, so it is part of the text, of every cache key, and of what a worker process
is sent. The decorator, the config and the tuner write it; passes and emitters read it. None leaves a choice to the
compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Attribute, Kernel, Module


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is asked for. Extents are elements, numbered as the axes of the largest output; None: the compiler chooses.

    tile_shape: extents of one tile (an entry None, or a larger one than the axis: the whole axis). tile_num: number of
    work items. tile_k: elements of a contracted axis per step. aicore_num: cores used, at most (block_dim).
    buffer_depth: slots (1, 2 or 3) of what copies fill or empty in a loop. pipeline: False keeps one slot unless
    `buffer_depth` asks for more. loop_order: order of the tiles' axes, outermost first. split_k: parts that a
    contracted axis is split into, summed afterwards. l2_swizzle: rows of tiles that neighbouring cores share.

    For the CPU target: vector_bits: register width (128, 256 or 512). threads: threads used, at most. streaming:
    whether results that are not read again bypass the caches. unroll: vectors per turn of an innermost loop, rounded
    down to a power of two.

    declared: names of fields above that only the decorator gives. They are wishes: a target that knows better ways
    may disregard them. What a config or the tuner gives is a choice and is not named there.
    """

    tile_shape: tuple[int | None, ...] | None = None
    tile_num: int | None = None
    tile_k: int | None = None
    aicore_num: int | None = None
    buffer_depth: int | None = None
    pipeline: bool | None = None
    loop_order: tuple[int, ...] | None = None
    split_k: int | None = None
    l2_swizzle: int | None = None
    vector_bits: int | None = None
    threads: int | None = None
    streaming: bool | None = None
    unroll: int | None = None
    declared: tuple[str, ...] | None = None

    @classmethod
    def of(cls, kernel: Kernel) -> Schedule:
        """Return the schedule that the attributes of `kernel` carry.

        Raises UserError ``schedule-attribute`` for a value that means nothing: attributes may come from a text.
        """
        names = {item.name for item in fields(cls)}
        values = {name: value for name, value in kernel.attributes if name in names}
        for name, value in values.items():
            wants, accepts = _RULES[name]
            if value is not None and not accepts(value):
                location = kernel.location
                raise UserError("schedule-attribute", location, kernel=kernel.name, name=name, value=value, wants=wants)
        return cls(**values)  # type: ignore[arg-type]  # checked just now

    def choosing(self, **choices: Attribute) -> Schedule:
        """Return the schedule with choices, by field name, in place of what it had."""
        declared = tuple(name for name in self.declared or () if name not in choices)
        return replace(self, **choices, declared=declared or None)  # type: ignore[arg-type]

    def choices(self) -> Schedule:
        """Return the schedule without the decorator's wishes."""
        return replace(self, **dict.fromkeys(self.declared or ()), declared=None)

    def attributes(self) -> dict[str, Attribute]:
        """Return the choices that were made, by attribute name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


_Rule = tuple[str, Callable[[Attribute], bool]]


def _is_count(value: Attribute) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_order(value: Attribute) -> bool:
    numbers = isinstance(value, tuple) and all(isinstance(item, int) and item >= 0 for item in value)
    return numbers and isinstance(value, tuple) and len(set(value)) == len(value)


_COUNT: _Rule = ("a positive whole number", _is_count)
_FLAG: _Rule = ("true or false", lambda value: isinstance(value, bool))
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("tile_num", "tile_k", "aicore_num", "split_k", "l2_swizzle", "threads", "unroll"), _COUNT),
    **dict.fromkeys(("pipeline", "streaming"), _FLAG),
    "tile_shape": (
        "a list of positive whole numbers or none",
        lambda value: isinstance(value, tuple) and all(item is None or _is_count(item) for item in value),
    ),
    "buffer_depth": ("1, 2 or 3", lambda value: value in (1, 2, 3) and not isinstance(value, bool)),
    "loop_order": ("a list of different axis numbers", _is_order),
    "vector_bits": ("128, 256 or 512", lambda value: value in (128, 256, 512)),
    "declared": (
        "a list of names of the schedule",
        lambda value: isinstance(value, tuple) and set(value) <= _RULES.keys() - {"declared"},
    ),
}
"""What each field may be, in words and as a test; a field without one here fails a test."""


def with_schedule(module: Module, schedule: Schedule) -> Module:
    """Return `module` with `schedule` in place of what its kernels carried."""
    return replace(module, kernels=tuple(_scheduled(kernel, schedule) for kernel in module.kernels))


def _scheduled(kernel: Kernel, schedule: Schedule) -> Kernel:
    names = {item.name for item in fields(Schedule)}
    kept = {name: value for name, value in kernel.attributes if name not in names}
    return replace(kernel, attributes=tuple(sorted({**kept, **schedule.attributes()}.items())))
