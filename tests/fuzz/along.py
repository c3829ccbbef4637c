"""The oracle for operations along axes: truth, positions, scans, sorting, arranging, indexing."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from fuzz import elementwise
from fuzz.shadow import Refused, Shadow, checked, convert, is_float, normal_axes, require_exact


def truth(function: Callable[..., Any]) -> Callable[..., Shadow]:
    def apply(x: Shadow, axis: Any = None, keepdims: bool = False) -> Shadow:
        require_exact(x)
        axes = normal_axes(x, axis)
        return Shadow(function(x.value != 0, axis=axes, keepdims=keepdims), 0.0, "bool")

    return apply


def count_nonzero(x: Shadow, axis: Any = None, keepdims: bool = False) -> Shadow:
    require_exact(x)
    axes = normal_axes(x, axis)
    return Shadow(np.sum(x.value != 0, axis=axes, keepdims=keepdims, dtype=np.int64), 0.0, "int64")


def position(function: Callable[..., Any]) -> Callable[..., Shadow]:
    def apply(x: Shadow, axis: Any = None, keepdims: bool = False) -> Shadow:
        require_exact(x)
        if x.value.size == 0:
            raise Refused("a position in nothing")
        return Shadow(function(x.value, axis=axis, keepdims=keepdims).astype(np.int64), 0.0, "int64")

    return apply


def cumsum(x: Shadow, axis: int) -> Shadow:
    if not is_float(x.dtype):
        return Shadow(np.cumsum(x.value, axis, dtype=np.int64), 0.0, "int64")
    with np.errstate(all="ignore"):
        sizes = np.cumsum(np.nan_to_num(np.abs(x.value), posinf=0.0), axis)
        count = x.shape[axis]
        unit = 2.0**-22 if x.dtype == "float32" else 2.0**-52 * (count + 2)
        return checked(np.cumsum(x.value, axis), np.cumsum(x.error, axis) + unit * sizes, x.dtype)


def argsort(x: Shadow, axis: int = -1, descending: bool = False) -> Shadow:
    require_exact(x)
    if descending:
        backward = np.argsort(np.flip(x.value, axis), axis, kind="stable")
        return Shadow(x.shape[axis] - 1 - np.flip(backward, axis), 0.0, "int64")
    return Shadow(np.argsort(x.value, axis, kind="stable"), 0.0, "int64")


def chosen(x: Shadow, indices: Any, axis: int) -> Shadow:
    return Shadow(
        np.take_along_axis(x.value, indices, axis), np.take_along_axis(x.error, indices, axis), x.dtype, x.storage
    )


def sort(x: Shadow, axis: int = -1, descending: bool = False) -> SimpleNamespace:
    order = argsort(x, axis, descending)
    return SimpleNamespace(values=chosen(x, order.value, axis), indices=order)


def topk(x: Shadow, k: int, axis: int = -1, largest: bool = True) -> SimpleNamespace:
    found = sort(x, axis, largest)
    part = (*(slice(None),) * (axis % x.ndim), slice(0, k))
    return SimpleNamespace(values=found.values[part], indices=found.indices[part])


def moved(function: Callable[..., Any]) -> Callable[..., Shadow]:
    """Make a function that only moves elements; a new tile."""

    def apply(x: Shadow, *arguments: Any) -> Shadow:
        value, error = (function(item, *arguments).copy() for item in (x.value, x.error))
        return Shadow(value, error, x.dtype)

    return apply


def triangle(function: Callable[..., Any]) -> Callable[..., Shadow]:
    def apply(x: Shadow, diagonal: int) -> Shadow:
        if x.ndim < 2:
            raise Refused("a triangle of a row")
        return moved(function)(x, diagonal)

    return apply


def _index(indices: Shadow) -> Any:
    if indices.dtype == "bool" or is_float(indices.dtype):
        raise Refused("indices that are no whole numbers")
    return indices.value


def take(x: Shadow, indices: Shadow, axis: int) -> Shadow:
    return moved(np.take)(x, _index(indices), axis)


def take_along_axis(x: Shadow, indices: Shadow, axis: int) -> Shadow:
    return moved(np.take_along_axis)(x, _index(indices), axis)


def index_add(x: Shadow, axis: int, indices: Shadow, source: Shadow) -> Shadow:
    if source.dtype != x.dtype or x.dtype == "bool":
        raise Refused("updates of another dtype")
    require_exact(x, source)
    value = np.moveaxis(x.value.copy(), axis, 0)
    np.add.at(value, _index(indices), np.moveaxis(source.value, axis, 0))
    value = np.moveaxis(value, 0, axis)
    if not is_float(x.dtype):
        return Shadow(value, 0.0, x.dtype)
    result = checked(value, 0.0, x.dtype)
    require_exact(result)  # each addition rounds; where nothing does, the order does not matter
    return result


def stack(tiles: list[Shadow], axis: int) -> Shadow:
    first = tiles[0]
    tiles = [convert(item, first.dtype) for item in tiles]
    return Shadow(np.stack([i.value for i in tiles], axis), np.stack([i.error for i in tiles], axis), first.dtype)


PYPTO = SimpleNamespace(
    **vars(elementwise.PYPTO),
    all=truth(np.all),
    any=truth(np.any),
    count_nonzero=count_nonzero,
    argmax=position(np.argmax),
    argmin=position(np.argmin),
    cumsum=cumsum,
    argsort=argsort,
    sort=sort,
    topk=topk,
    flip=lambda x, axis: Shadow(np.flip(x.value, axis), np.flip(x.error, axis), x.dtype, x.storage),
    roll=moved(np.roll),
    tril=triangle(np.tril),
    triu=triangle(np.triu),
    repeat=moved(np.repeat),
    stack=stack,
    take=take,
    take_along_axis=take_along_axis,
    index_add=index_add,
)
"""What stands for the module `pypto` in a random kernel."""

ALONG = (
    "pypto.any({x} > 1, axis={a})", "pypto.all({x}, axis={a}, keepdims=True)", "pypto.count_nonzero({x}, axis={a})",
    "pypto.argmax({x}, axis={a})", "pypto.argmin({x}, axis={a}, keepdims=True)", "pypto.argmax({x})",
    "pypto.cumsum({x}, axis={a})", "pypto.argsort({x}, {a})", "pypto.sort({x}, {a}).values",
    "pypto.sort({x}, {a}, descending=True).indices", "pypto.topk({x}, {k}, {a}).values",
    "pypto.topk({x}, {k}, {a}, largest=False).indices", "pypto.flip({x}, {a})", "pypto.roll({x}, {r}, {a})",
    "pypto.tril({x}, {r})", "pypto.triu({x}, {r})", "pypto.repeat({x}, 2, {a})", "pypto.stack([{x}, {x}], {a})",
    "pypto.take({x}, pypto.argsort({x}, {a}), {a})", "pypto.take({x}, pypto.argmin({x}, axis={a}), {a})",
    "pypto.take_along_axis({x}, pypto.argsort({x}, {a}, descending=True), {a})",
    "pypto.index_add({x}, 0, pypto.argsort({x}.reshape({n}, -1)[:, 0]), {x} * 2)",
    "pypto.take({x}, {i}, {a})", "pypto.take_along_axis({x}, {i} * 0, {a})",
)  # fmt: skip
"""Expressions of a value {x} of {n} rows along axis {a}; {i} is another value."""
