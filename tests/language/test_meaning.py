"""WHOLE, TILES, batch and blocks: what a decorator means for given arguments."""

from __future__ import annotations

from typing import Any

import pytest

import pypto
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import F32
from pypto.meaning import Meaning, decide
from pypto.tracing.views import ArrayView, ViewAxis


def array(name: str, *shape: int) -> ArrayView:
    return ArrayView(name, F32, tuple(ViewAxis(None, 1, extent) for extent in shape))


def meaning(function: Any, **shapes: tuple[int, ...]) -> Meaning:
    return decide(function, tuple(array(name, *shape) for name, shape in shapes.items()))


def failure(function: Any, **shapes: tuple[int, ...]) -> UserError:
    with pytest.raises(UserError) as caught:
        meaning(function, **shapes)
    return caught.value


def visible(found: Meaning) -> dict[str, tuple[Any, ...]]:
    return {view.name: view.visible_shape for view in found.views if isinstance(view, ArrayView)}


@pypto.tile
def plain(x, out):
    out[:] = x * 2.0


@pypto.tile(shape=(64, 64), tile_num=8)
def scaled(x, out):
    out[:] = x * 2.0


@pypto.tile(shape=(4,), tile_num=3)
def centred(x, out):
    out[:] = x - pypto.mean(x, axis=0, keepdims=True)


@pypto.tile(shape=(4,), tile_num=3)
def statistics(x, mean_out, gamma, out):
    mean = pypto.nn.reduce_mean(x, axes=[0], keepdims=True)
    out[:] = (x - mean) * gamma
    mean_out[:] = mean


@pypto.tile(shape=(4,))
def row_sum(x, out):
    out[:] = pypto.sum(x, axis=0, keepdims=True)


@pypto.tile(shape=(None, 8))
def rows(x, out):
    out[:] = x - pypto.max(x, axis=1, keepdims=True)


def test_without_shape_the_body_sees_whole_arguments() -> None:
    found = meaning(plain, x=(5, 7), out=(5, 7))
    assert (found.kind, found.hidden) == ("whole", ())


def test_a_cut_free_axis_is_only_schedule() -> None:
    found = meaning(scaled, x=(1000, 130), out=(1000, 130))
    assert (found.kind, found.hidden, visible(found)["x"]) == ("whole", (), (1000, 130))


def test_leading_axes_are_a_batch() -> None:
    found = meaning(scaled, x=(3, 5, 64, 64), out=(3, 5, 64, 64))
    assert (found.kind, found.hidden, found.batch) == ("whole", (3, 5), 2)
    assert visible(found)["out"] == (64, 64)


def test_inputs_of_body_rank_are_shared_by_the_batch() -> None:
    @pypto.tile(shape=(8,))
    def add(x, y, out):
        out[:] = x + y

    found = meaning(add, x=(6, 8), y=(8,), out=(6, 8))
    assert visible(found) == {"x": (8,), "y": (8,), "out": (8,)}
    assert found.hidden == (6,)


def test_batch_is_stripped_from_outputs_of_lower_rank() -> None:
    @pypto.tile(shape=(8,))
    def total(x, out):
        out[:] = pypto.sum(x, axis=0)

    found = meaning(total, x=(6, 8), out=(6,))
    assert visible(found) == {"x": (8,), "out": ()}


def test_batch_extents_must_agree() -> None:
    found = failure(scaled, x=(3, 64, 64), out=(4, 64, 64))
    assert found.name == "batch-extent"


def test_an_output_without_the_batch_axes_is_an_error() -> None:
    @pypto.tile(shape=(8,))
    def wrong(x, out):
        out[:] = x

    assert failure(wrong, x=(2, 3, 8), out=(8,)).name == "batch-output"


def test_a_cut_bound_axis_with_fitting_tile_num_means_tiles() -> None:
    found = meaning(centred, x=(12,), out=(12,))
    assert (found.kind, found.hidden, visible(found)) == ("tiles", (3,), {"x": (4,), "out": (4,)})


def test_a_whole_bound_axis_means_whole() -> None:
    found = meaning(centred, x=(4,), out=(4,))
    assert found.kind == "whole"


@pytest.mark.parametrize("extent", [11, 13, 16, 8])
def test_a_cut_bound_axis_that_does_not_fit_is_an_error_with_the_arithmetic(extent: int) -> None:
    found = failure(centred, x=(extent,), out=(extent,))
    assert found.name == "cut-bound-axis"
    assert f"{extent}/4" in found.message
    assert "tile_num is 3" in found.message
    assert found.location is not None
    assert "(None,)" in found.help


def test_article_8_3_views() -> None:
    found = meaning(statistics, x=(12,), mean_out=(3,), gamma=(4,), out=(12,))
    assert found.kind == "tiles"
    assert visible(found) == {"x": (4,), "mean_out": (1,), "gamma": (4,), "out": (4,)}


def test_an_extent_that_is_no_view_is_an_error() -> None:
    assert failure(statistics, x=(12,), mean_out=(3,), gamma=(5,), out=(12,)).name == "tile-view"


def test_an_output_that_all_tiles_write_is_an_error() -> None:
    assert failure(statistics, x=(12,), mean_out=(1,), gamma=(4,), out=(12,)).name == "tile-output"


def test_none_keeps_a_bound_axis_whole() -> None:
    found = meaning(rows, x=(100, 8), out=(100, 8))
    assert found.kind == "whole"
    assert failure(rows, x=(100, 9), out=(100, 9)).name == "cut-bound-axis"


def test_a_shape_that_no_argument_has_is_an_error() -> None:
    assert failure(scaled, x=(5,), out=(5,)).name == "no-anchor"


def test_blocks_need_a_number() -> None:
    @pypto.tile(shape=(4,))
    def by_block(x, out):
        start = pypto.get_block_id() * 4
        out[start : start + 4] = x[start : start + 4]

    assert failure(by_block, x=(8,), out=(8,)).name == "block-count"


def test_blocks_see_their_own_item_of_a_stacked_argument() -> None:
    @pypto.tile(shape=(4,), tile_num=2)
    def load(x, item):
        start = pypto.get_block_id() * 4
        item[:] = x[start : start + 4]

    found = meaning(load, x=(8,), item=(2, 4))
    assert found.kind == "blocks"
    assert visible(found) == {"x": (8,), "item": (4,)}


def test_the_error_of_the_body_is_shown_when_tiles_cannot_help() -> None:
    @pypto.tile(shape=(4,))
    def wrong(x, y, out):
        out[:] = x + y

    assert failure(wrong, x=(4,), y=(3,), out=(4,)).name == "shape-mismatch"


def test_a_tile_larger_than_the_output_is_remarked():
    """Nothing is cut then, whatever tile_num says."""

    @pypto.tile(shape=(4,), tile_num=3)
    def smaller(x, out):
        out[:] = x[::4] + x[1::4]

    found = meaning(smaller, x=(12,), out=(3,))
    assert found.kind == "whole"
    (note,) = found.notes
    assert "out axis 0 has 3 elements, less than a tile's 4" in note
    assert "tile_num=3 is only schedule" in note

    @pypto.tile(shape=(4,))
    def unnumbered(x, out):
        out[:] = x + 1.0

    @pypto.tile(shape=(4,), tile_num=3)
    def equal(x, out):
        out[:] = x + 1.0

    assert meaning(unnumbered, x=(3,), out=(3,)).notes == ()
    assert meaning(equal, x=(4,), out=(4,)).notes == ()
