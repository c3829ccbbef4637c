"""Tile functions of which one tile is too large for a core, with loops and assignments to parts of the tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pypto
from pypto.ir.nodes import Module

TILE = (200, 256)
"""200 KiB of f32: more than a core has."""


def rows(x: Any, out: Any) -> None:
    for i in pypto.loop(x.shape[0]):
        out[i] = x[i] - pypto.mean(x[i])


def rows_backwards(x: Any, out: Any) -> None:
    for i in pypto.loop(x.shape[0]):
        out[x.shape[0] - 1 - i] = x[i] * 2.0


def columns(x: Any, out: Any) -> None:
    for i in pypto.loop(x.shape[1]):
        out[:, i] = x[:, i] - pypto.max(x[:, i])


def rows_to_columns(x: Any, out: Any) -> None:
    for i in pypto.loop(x.shape[0]):
        out[:, i] = x[i, : x.shape[0]]
    out[:, x.shape[0] :] = 0.0


def accumulated(x: Any, out: Any) -> None:
    total = pypto.zeros((x.shape[1],))
    for i in pypto.loop(x.shape[0]):
        total[:] = total + x[i]
        out[i] = total


def recurrence(x: Any, out: Any) -> None:
    out[0] = x[0]
    for i in pypto.loop(1, x.shape[0]):
        out[i] = out[i - 1] * 0.5 + x[i]


def updated(x: Any, out: Any) -> None:
    for i in pypto.loop(x.shape[0]):
        out[i] += x[i]


def blocks_of_rows(x: Any, out: Any) -> None:
    for i in pypto.loop(0, x.shape[0], 8):
        t = x[i : i + 8]
        out[i : i + 8] = t * pypto.sum(t, axis=1, keepdims=True)


def blocks_of_both(x: Any, out: Any) -> None:
    for i in pypto.loop(0, x.shape[0], 40):
        for j in pypto.loop(0, x.shape[1], 64):
            t = x[i : i + 40, j : j + 64]
            out[i : i + 40, j : j + 64] = t - pypto.mean(t)


def two_passes(x: Any, out: Any) -> None:
    largest = pypto.full((1,), -1e30)
    for i in pypto.loop(x.shape[0]):
        largest[:] = pypto.maximum(largest, pypto.max(x[i]))
    for i in pypto.loop(x.shape[0]):
        out[i] = pypto.exp(x[i] - largest)


def every_other(x: Any, out: Any) -> None:
    for i in pypto.loop(0, x.shape[0], 2):
        out[i] = x[i]
        out[i + 1] = x[i + 1] - x[i]


def inserts(x: Any, out: Any) -> None:
    out[:] = x
    out[3:7] = x[3:7] * 2.0
    out[:, 5:9] = 0.0
    out[:] = out[:] / (1.0 + pypto.sum(pypto.abs(out[:]), axis=1, keepdims=True))


def edges(x: Any, out: Any) -> None:
    out[:] = x - pypto.mean(x)
    out[0] = 0.0
    out[-1] = 1.0
    out[:, 0] = x[:, 0]


def whole_then_rows(x: Any, out: Any) -> None:
    out[:] = x - pypto.mean(x)
    for i in pypto.loop(x.shape[0]):
        out[i] = out[i] * pypto.max(out[i])


FUNCTIONS: dict[str, Callable[..., None]] = {
    item.__name__: item
    for item in (
        rows,
        rows_backwards,
        columns,
        rows_to_columns,
        accumulated,
        recurrence,
        updated,
        blocks_of_rows,
        blocks_of_both,
        two_passes,
        every_other,
        inserts,
        edges,
        whole_then_rows,
    )
}


def module(name: str, counts: tuple[int, int] = (2, 2), tile: tuple[int, int] = TILE, dtype: str = "f32") -> Module:
    """Return the traced module of one function on `counts` tiles."""
    shape = (tile[0] * counts[0], tile[1] * counts[1])
    function = pypto.tile(shape=tile, tile_num=counts[0] * counts[1], outputs=("out",))(FUNCTIONS[name])
    compiled = pypto.compile(function, shapes={"x": shape, "out": shape}, dtypes=dtype, target="reference")
    return compiled.module_at("tile")
