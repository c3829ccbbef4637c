"""Do two arguments share memory, and does an array share memory with itself? First by bounds, then exactly."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.runtime.arguments import Argument, ArrayArgument

WORK_LIMIT = 1_000_000  # candidates looked at before an answer is given up; "cannot tell" counts as sharing


class Overlap(Enum):
    """How two arrays share memory. SAME: one address, one layout, so element i of one is element i of the other."""

    NONE = "none"
    SAME = "the same elements"
    PARTLY = "some of the same elements, in other places"


def overlap(left: ArrayArgument, right: ArrayArgument) -> Overlap:
    """Return how two arrays share memory."""
    if not _bounds_touch(left, right):
        return Overlap.NONE
    if (left.address, left.dtype, left.shape, left.strides) == (right.address, right.dtype, right.shape, right.strides):
        return Overlap.SAME
    return Overlap.PARTLY if _share(left, right) else Overlap.NONE


def check_aliases(
    arguments: Sequence[Argument],
    written: Iterable[str],
    may_share: frozenset[tuple[str, str]] = frozenset(),
    location: Location | None = None,
) -> None:
    """Raise UserError ``aliased-arguments`` when a written argument shares memory with another one.

    `may_share` holds pairs (output, other) that may be the same elements of the same memory.
    """
    names = frozenset(written)
    arrays = [argument for argument in arguments if isinstance(argument, ArrayArgument)]
    for output in (item for item in arrays if item.name in names):
        for other in arrays:
            if other is output:
                continue
            found = overlap(output, other)
            allowed = found is Overlap.SAME and (output.name, other.name) in may_share
            if found is not Overlap.NONE and not allowed:
                details = {"output": output.name, "other": other.name, "how": f"they hold {found.value}"}
                raise UserError("aliased-arguments", location, **details)


def overlaps_itself(argument: ArrayArgument) -> bool:
    """Return whether two elements of one array lie at the same address."""
    if argument.elements == 0:
        return False
    axes = [
        (abs(stride), extent) for stride, extent in zip(argument.strides, argument.shape, strict=True) if extent > 1
    ]
    reach = 0
    nested = True
    for stride, extent in sorted(axes):
        nested = nested and stride > reach
        reach += stride * (extent - 1)
    if nested:
        return False
    if any(stride == 0 for stride, _ in axes) or argument.elements > reach + 1 or argument.elements > WORK_LIMIT:
        return True
    offsets = np.zeros(1, np.int64)
    for stride, extent in axes:
        offsets = (offsets[:, None] + stride * np.arange(extent)).ravel()
    return bool(np.unique(offsets).size < offsets.size)


def _bounds_touch(left: ArrayArgument, right: ArrayArgument) -> bool:
    (low, high), (other_low, other_high) = left.byte_range(), right.byte_range()
    if low == high or other_low == other_high:
        return False
    return left.address + low < right.address + other_high and right.address + other_low < left.address + high


def _share(left: ArrayArgument, right: ArrayArgument) -> bool:
    try:
        shares: Callable[..., bool] = np.shares_memory  # its stubs allow only two values of max_work
        return bool(shares(_view(left), _view(right), max_work=WORK_LIMIT))
    except np.exceptions.TooHardError:
        return True


def _view(argument: ArrayArgument) -> np.ndarray[Any, Any]:
    """Return a NumPy view of the argument's memory, of whatever framework; only its addresses are looked at."""
    low, high = argument.byte_range()
    memory: Any = (ctypes.c_char * (high - low)).from_address(argument.address + low)
    size = argument.dtype.bytes
    strides = tuple(stride * size for stride in argument.strides)
    return np.ndarray(argument.shape, np.dtype(f"V{size}"), buffer=memory, offset=-low, strides=strides)
