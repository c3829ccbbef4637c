"""Text and place of the mistakes in hierarchical tilings."""

from __future__ import annotations

import pytest

import pypto
from pypto import HierarchicalTiling, Scheduler, TilingLevel, tile


@tile
def plain(x, y):
    y[:] = x


@tile(level=TilingLevel.COARSE, tile_num=2)
def coarse(x, y):
    y[:] = x


@tile(level=TilingLevel.COARSE, tile_num=2)
def coarse_of_coarse(x, y):
    y[:] = coarse(x)


@tile(level=TilingLevel.FINE)
def fine_of_coarse(x, y):
    y[:] = coarse(x)


@tile(level=TilingLevel.COARSE, tile_num=2)
def outer(x, y):
    y[:] = fine_of_coarse(x)


SCHEDULER = Scheduler(HierarchicalTiling())


@pytest.mark.parametrize(
    ("name", "text", "call"),
    [
        ("no-coarse-tiles", "none of the tile functions is coarse", lambda: SCHEDULER.plan(plain)),
        ("no-coarse-tiles", "level=TilingLevel.COARSE", lambda: pypto.compile(plain, config=SCHEDULER)),
        ("tiling-levels", "'coarse_of_coarse' runs inside a coarse tile or is one, and calls 'coarse'",
         lambda: SCHEDULER.plan(coarse_of_coarse)),
        ("tiling-levels", "'fine_of_coarse' runs inside", lambda: pypto.compile(outer, config=SCHEDULER)),
        ("option-value", "tile: level is 'coarse'", lambda: tile(level="coarse")),
        ("option-value", "Scheduler: tiling_strategy is 'fast'", lambda: Scheduler("fast")),
        ("option-value", "enable_fine_grain_parallel is 1",
         lambda: Scheduler(HierarchicalTiling(), enable_fine_grain_parallel=1)),
        ("unknown-option", "did you mean 'tiling_strategy'?", lambda: Scheduler(HierarchicalTiling(), tiling=1)),
        ("option-value", "HierarchicalTiling: coarse is 3", lambda: HierarchicalTiling(coarse=[3])),
        ("option-value", "must be tile functions that are not coarse too",
         lambda: HierarchicalTiling(coarse=[plain], fine=[plain])),
        ("option-value", "Scheduler.plan: what is 3", lambda: SCHEDULER.plan(3)),
        ("option-value", "Scheduler.plan: cores is 0", lambda: SCHEDULER.plan(coarse, cores=0)),
        ("option-value", "scheduler must be a pypto.Scheduler", lambda: pypto.TileConfig(scheduler=1)),
    ],
)  # fmt: skip
def test_mistakes_in_tilings(name, text, call):
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name
    assert text in str(caught.value)
    assert caught.value.location.file == __file__
