"""Random tile functions of the meaning TILES: each tile is computed alone, and arrays may be larger than a core holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pypto
from pypto.ir.nodes import Module

Step = Callable[[Any], Any]


def _loop_over_rows(t: Any) -> Any:
    total = pypto.zeros((t.shape[1],))
    for i in pypto.loop(t.shape[0]):
        total[:] = total * 0.5 + t[i]
    return t - total


def _shifted(t: Any) -> Any:
    if t.shape[0] < 2:
        return t - pypto.max(t)
    made = t * 1.0
    made[1:] = t[1:] - t[:-1]
    return made


STEPS: dict[str, Step] = {
    "centred": lambda t: t - pypto.mean(t),
    "columns": lambda t: t - pypto.mean(t, axis=0, keepdims=True),
    "rows": lambda t: t / (1.0 + pypto.sum(pypto.abs(t), axis=1, keepdims=True)),
    "largest": lambda t: pypto.where(t == pypto.max(t), 1.0, t * 0.5),
    "softmax": lambda t: pypto.nn.softmax(t, axis=1),
    "loop": _loop_over_rows,
    "shifted": _shifted,
    "backwards": lambda t: t[::-1] + t,
    "square": lambda t: t * t - 0.25,
}
TILES = ((1, 64), (3, 5), (8, 8), (16, 64), (33, 40), (64, 64), (100, 17), (64, 1))
COUNTS = ((1, 1), (2, 1), (1, 3), (2, 4), (5, 1), (1, 7), (8, 1), (3, 3), (24, 2))
EXTRA = ("none", "shared", "row_of_each", "one_of_each", "long_row")


def random_tiles(seed: int) -> Module:
    """Return the traced module of kernel number `seed`."""
    choose = random.Random(seed)
    tile, counts = choose.choice(TILES), choose.choice(COUNTS)
    shape = (tile[0] * counts[0], tile[1] * counts[1])
    names = [choose.choice([name for name in STEPS if name != "square"]), choose.choice(list(STEPS))]
    extra, summed = choose.choice(EXTRA), choose.random() < 0.5
    shapes = {"x": shape, "y": extra_shape(extra, tile, counts), "out": shape, "s": counts}

    def body(x: Any, y: Any, out: Any, s: Any) -> None:
        t = STEPS[names[0]](x)
        t = STEPS[names[1]](t + y)
        out[:] = t
        s[:] = pypto.sum(pypto.abs(t))

    def single(x: Any, y: Any, out: Any) -> None:
        out[:] = STEPS[names[1]](STEPS[names[0]](x) * y)

    chosen: Any = body if summed and counts not in (tile, (1, 1)) else single
    if chosen is single:
        del shapes["s"]
    function = pypto.tile(shape=tile, tile_num=counts[0] * counts[1], outputs=("out", "s")[: len(shapes) - 2])(chosen)
    compiled = pypto.compile(function, shapes=shapes, dtypes=choose.choice(("f32", "f32", "f16")), target="reference")
    return compiled.module_at("tile")


def extra_shape(extra: str, tile: tuple[int, int], counts: tuple[int, int]) -> tuple[int, ...]:
    """Return the shape of the second input: shared by all tiles, some of it for each tile, or cut with the columns."""
    return {
        "none": (1, 1),
        "shared": tile,
        "row_of_each": (counts[0], 1),
        "one_of_each": counts,
        "long_row": (tile[1] * counts[1],),
    }[extra]
