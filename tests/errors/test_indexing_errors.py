"""Mistakes in indices, orders and arrangements: text and place of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pypto
from pypto import nn
from pypto.tile_function import TileFunction

CASES: list[tuple[str, str, str, TileFunction]] = []


def wrong(name: str, text: str, under: str) -> Callable[[Callable[..., None]], None]:
    """Add a kernel over x (4, 6) and numbers i (4, 6) whose mistake is reported under a piece of its source."""

    def add(function: Callable[..., None]) -> None:
        CASES.append((name, text, under, pypto.tile(function)))

    return add


@wrong("arange-number", "not <tile f32(4, 6)>", "pypto.arange(x)")
def range_of_a_tile(x, i, out):
    out[:] = pypto.arange(x)


@wrong("correction-kind", "'one'", "pypto.var(x, 1, 'one')")
def named_correction(x, i, out):
    out[:, 0] = pypto.var(x, 1, 'one')  # fmt: skip


@wrong("count-kind", "k is 2.5", "pypto.topk(x, 2.5)")
def half_an_element(x, i, out):
    out[:] = pypto.topk(x, 2.5).values


@wrong("count-kind", "the size of a piece is 0", "pypto.split(x, 0)")
def empty_pieces(x, i, out):
    out[:] = pypto.split(x, 0)[0]


@wrong("too-many-wanted", "7 elements are wanted along axis 1, which has 6", "pypto.topk(x, 7)")
def too_many(x, i, out):
    out[:] = pypto.topk(x, 7).values


@wrong("index-dtype", "indices have dtype f32", "pypto.take(x, x, 0)")
def real_indices(x, i, out):
    out[:] = pypto.take(x, x, 0)


@wrong("index-rank", "a tile of 2 axes is indexed by one of 1", "pypto.gather(x, 0, i[0])")
def missing_axis(x, i, out):
    out[:] = pypto.gather(x, 0, i[0])


@wrong("index-rank", "indexed by one of 2", "pypto.index_add(x, 0, i, x)")
def matrix_of_slices(x, i, out):
    out[:] = pypto.index_add(x, 0, i, x)


@wrong(
    "index-extents",
    "indices of shape (4, 6) reach over axis 1 of a tile of shape (4, 3)",
    "pypto.gather(x[:, :3], 0, i)",
)
def long_indices(x, i, out):
    out[:] = pypto.gather(x[:, :3], 0, i)


@wrong("empty-indexed", "axis 0 of a tile of shape (0, 6) is empty", "pypto.take(x[:0], i[0], 0)")
def from_nothing(x, i, out):
    out[:] = pypto.take(x[:0], i[0], 0)


@wrong("in-place-dtype", "f32", "pypto.scatter(i, 0, i, x)")
def real_updates(x, i, out):
    out[:] = pypto.scatter(i, 0, i, x)


@wrong("scatter-reduce", "'multiply'", "pypto.scatter(x, 0, i, x, 'multiply')")
def multiplied_updates(x, i, out):
    out[:] = pypto.scatter(x, 0, i, x, 'multiply')  # fmt: skip


@wrong("matrix-needed", "tril takes a tile of at least two axes, and this one has 1", "pypto.tril(x[0])")
def triangle_of_a_row(x, i, out):
    out[0] = pypto.tril(x[0])


@wrong("roll-shifts", "shifts (1, 2, 3) are not as many as axes (0, 1)", "pypto.roll(x, (1, 2, 3), (0, 1))")
def three_shifts(x, i, out):
    out[:] = pypto.roll(x, (1, 2, 3), (0, 1))


@wrong("split-sizes", "pieces of sizes (2, 3) do not make axis 1 of extent 6", "pypto.split(x, [2, 3], 1)")
def short_pieces(x, i, out):
    out[:, :2] = pypto.split(x, [2, 3], 1)[0]


@wrong("squeeze-extent", "axis 1 has extent 6", "pypto.squeeze(x, 1)")
def squeezed(x, i, out):
    out[:] = pypto.squeeze(x, 1)


@wrong("concat-shapes", "", "pypto.stack([x, x[:2]])")
def stacked(x, i, out):
    out[:] = pypto.stack([x, x[:2]])[0]


@wrong("empty-reduction", "axis 0", "pypto.argmax(x[:0], 0)")
def position_in_nothing(x, i, out):
    out[0] = pypto.argmax(x[:0], 0)


@wrong("both-keywords", "axis", "pypto.argmin(x, 0, dim=1)")
def two_axes(x, i, out):
    out[0] = pypto.argmin(x, 0, dim=1)


@wrong("function-keyword", "axes_", "pypto.var(x, axes_=1)")
def unknown_keyword(x, i, out):
    out[0] = pypto.var(x, axes_=1)


@wrong("loss-reduction", "'average'", "nn.cross_entropy(x, i[:, 0], reduction='average')")
def unknown_loss(x, i, out):
    out[:, 0] = nn.cross_entropy(x, i[:, 0], reduction='average')  # fmt: skip


@wrong(
    "norm-channels",
    "batch_norm normalises channels, which are axis 1, and the tile has 1",
    "nn.batch_norm(x[0], x[0], x[0])",
)
def no_channels(x, i, out):
    out[0] = nn.batch_norm(x[0], x[0], x[0])


@wrong("norm-groups", "4 groups do not divide 6 channels", "nn.group_norm(x, 4)")
def odd_groups(x, i, out):
    out[:] = nn.group_norm(x, 4)


@wrong("norm-training", "training=True", "nn.batch_norm(x, x[0], x[0], training=True)")
def trained(x, i, out):
    out[:] = nn.batch_norm(x, x[0], x[0], training=True)


@wrong("pad-mode", "'reflect'", "nn.pad(x, 1, mode='reflect')")
def reflected(x, i, out):
    out[:] = nn.pad(x, 1, mode='reflect')[1:-1, 1:-1]  # fmt: skip


@wrong("rotary-width", "5 elements", "nn.rotary_embedding(x[:, :5], x, x)")
def odd_pairs(x, i, out):
    out[:, :5] = nn.rotary_embedding(x[:, :5], x, x)


@wrong("index-out-of-range", "index 9 at position 8 of the indices of gather is no element of an axis of 6", "x[0][i]")
def far_index(x, i, out):
    out[:] = x[0][i]


@wrong("index-out-of-range", "index -8 at position (0, 0)", "pypto.take_along_axis(x, i - 8, 1)")
def far_below(x, i, out):
    out[:] = pypto.take_along_axis(x, i - 8, 1)


@wrong("index-out-of-range", "numbers below 0 count from the end in pypto.take only", "pypto.gather(x, 1, i - 1)")
def below_zero(x, i, out):
    out[:] = pypto.gather(x, 1, i - 1)


@pytest.mark.parametrize(("name", "text", "under", "kernel"), CASES, ids=[case[3].name for case in CASES])
def test_mistake(name: str, text: str, under: str, kernel: TileFunction) -> None:
    i = np.zeros((4, 6), np.int64)
    i[1, 2] = 9
    with pytest.raises(pypto.UserError) as failure:
        pypto.compile(kernel).execute(np.zeros((4, 6), np.float32), i, np.zeros((4, 6), np.float32))
    error = failure.value
    assert error.name == name, str(error)
    assert text in str(error)
    location = error.location
    assert location is not None
    line = location.source_line() or ""
    assert under in line, str(error)
    if location.column:
        assert line[location.column - 1 : location.end_column - 1] == under, str(error)
