"""NumPy meanings of the operations that choose elements by index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.operations.definition import IndexOutOfRange
from pypto.ir.operations.meanings import quiet

Array = NDArray[Any]


def checked(indices: Array, extent: int, wrap: bool) -> Array:
    """Return the indices as elements of an axis of `extent`; raises IndexOutOfRange for the first that is none."""
    numbers = indices.astype(np.int64)
    wrong = (numbers < (-extent if wrap else 0)) | (numbers >= extent)
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise IndexOutOfRange(int(numbers[place]), tuple(map(int, place)), wrong.shape, extent)
    return np.where(numbers < 0, numbers + extent, numbers) if wrap else numbers


def _selection(indices: Array, shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """Return the NumPy index of the elements of an array of `shape` that broadcast `indices` choose along `axis`."""
    full = tuple(
        count if number == axis else extent
        for number, (extent, count) in enumerate(zip(shape, indices.shape, strict=True))
    )
    grid = np.ogrid[tuple(slice(extent) for extent in full)]
    return tuple(indices if number == axis else item for number, item in enumerate(grid))


def gather(x: Array, indices: Array, axis: int, wrap: bool) -> Array:
    numbers = checked(indices, x.shape[axis], wrap)
    around = np.broadcast_shapes(
        (*x.shape[:axis], 1, *x.shape[axis + 1 :]), (*numbers.shape[:axis], 1, *numbers.shape[axis + 1 :])
    )
    whole = np.broadcast_to(x, (*around[:axis], x.shape[axis], *around[axis + 1 :]))
    return np.asarray(whole[_selection(numbers, whole.shape, axis)])


def _steps(x: Array, indices: Array, updates: Array, axis: int, wrap: bool) -> tuple[Any, Array, Array]:
    """Return the result to be changed, the index into it and the updates, all with `axis` in front.

    Then NumPy's order over the updates is that of the indices.
    """
    numbers = checked(indices, x.shape[axis], wrap)
    count = np.broadcast_shapes(numbers.shape, updates.shape)[axis]
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    numbers, values = np.broadcast_to(numbers, shape), np.broadcast_to(updates, shape)
    result = np.moveaxis(x, axis, 0).copy()
    moved = np.moveaxis(numbers, axis, 0)
    return (moved, *np.ogrid[tuple(slice(extent) for extent in moved.shape)][1:]), result, np.moveaxis(values, axis, 0)


def scatter(x: Array, indices: Array, updates: Array, axis: int, wrap: bool) -> Array:
    place, result, values = _steps(x, indices, updates, axis, wrap)
    result[place] = values
    return np.moveaxis(result, 0, axis).copy()


@quiet
def scatter_add(x: Array, indices: Array, updates: Array, axis: int, wrap: bool) -> Array:
    place, result, values = _steps(x, indices, updates, axis, wrap)
    np.add.at(result, place, values)
    return np.moveaxis(result, 0, axis).copy()
