"""Search spaces: what may be an axis, which combinations there are, what they lower to, what is too large."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import BufferStrategy, TilingSearchSpace
from pypto.ir.nodes import Module
from pypto.ir.schedule import Schedule
from pypto.memory_limits import bytes_of
from pypto.runtime.tuning.candidate import Candidate, Candidates, Outcome
from pypto.runtime.tuning.facts import facts, tile_bytes
from pypto.search_space import MOST_POINTS


@pypto.tile
def double(x, out):
    out[:] = x * 2.0


@pypto.tile
def product(a, b, out):
    out[:] = a @ b


@pypto.tile
def softmax(x, out):
    out[:] = pypto.nn.softmax(x, axis=-1)


@pypto.tile(shape=(16,), tile_num=8)
def centred(x, out):
    out[:] = x - pypto.mean(x, axis=0)


def traced(kernel: Any, *shapes: tuple[int, ...]) -> Module:
    names = list(kernel.signature.parameters)
    return pypto.compile(kernel, shapes=dict(zip(names, shapes, strict=True))).module_at("tile")


def small() -> Module:
    return traced(double, (40, 24), (40, 24))


def named(found: Candidates) -> list[dict[str, Any]]:
    return [dict(item.values) for item in found.usable if not item.is_default]


def rows(found: Candidates, outcome: Outcome) -> list[str]:
    return [trial.candidate.describe() for trial in found.rejected if trial.outcome is outcome]


# -- axes and their values


def test_lists_ranges_single_values_and_numpy() -> None:
    space = TilingSearchSpace(
        tile_m=[1, 2, 2], tile_n=range(8, 33, 8), tile_k=np.int64(64), unroll=np.array([1, 2]), streaming={True, False},
        buffering=[BufferStrategy.SINGLE, "double", 3, True], tiles=(16, 16),
    )  # fmt: skip
    values = {name: axis.values for name, axis in space.axes.items()}
    assert values == {
        "tile_m": (1, 2), "tile_n": (8, 16, 24, 32), "tile_k": (64,), "unroll": (1, 2), "streaming": (False, True),
        "buffering": ("single", "double", 3, True), "tiles": ((16, 16),),
    }  # fmt: skip
    assert all(type(value) is int for value in values["tile_k"] + values["unroll"])
    assert space.combinations == 2 * 4 * 1 * 2 * 2 * 4


def test_points_are_all_combinations_in_order() -> None:
    points = list(TilingSearchSpace(tile_m=[1, 2], tile_n=[8, 16]).points())
    assert [dict(point) for point in points] == [
        {"tile_m": m, "tile_n": n} for m in (1, 2) for n in (8, 16)
    ]  # fmt: skip
    assert list(TilingSearchSpace().points()) == [()]


def test_predicates_take_axes_by_name() -> None:
    space = TilingSearchSpace(
        tile_m=[1, 2, 4],
        tile_n=[1, 2, 4],
        predicates=[lambda tile_m, tile_n: tile_m <= tile_n, lambda **all_of_them: sum(all_of_them.values()) > 3],
    )
    assert [tuple(dict(point).values()) for point in space.points()] == [(1, 4), (2, 2), (2, 4), (4, 4)]


def test_an_axis_exists_only_where_others_have_its_values() -> None:
    when = TilingSearchSpace.when
    space = TilingSearchSpace(
        tile_k=[32, 64, None],
        split_k=when([2, 4], tile_k=[64, 32], buffering="double"),
        buffering=when(["single", "double"], tile_k=64),
    )
    points = [dict(point) for point in space.points()]
    expected: list[dict[str, Any]] = [
        {"tile_k": 32},
        {"tile_k": 64, "buffering": "single"},
        {"tile_k": 64, "split_k": 2, "buffering": "double"},
        {"tile_k": 64, "split_k": 4, "buffering": "double"},
        {"tile_k": None},
    ]
    assert len(points) == len(expected)
    assert all(point in points for point in expected)


def test_a_huge_space_is_walked_evenly() -> None:
    axes = {name: range(1, 1001) for name in ("tile_m", "tile_n", "tile_k", "tile_num", "split_k", "threads", "unroll")}
    space = TilingSearchSpace(**axes)
    assert space.combinations == 1000**7
    assert len(space) == sys.maxsize
    points = [dict(point) for point in space.points()]
    assert len(points) == MOST_POINTS
    for name in axes:
        values = {point[name] for point in points}
        assert len(values) > 600
        assert min(values) < 10 < 990 < max(values)


# -- what names mean


@pytest.mark.parametrize(("axes", "expected"), [
    ({"tile_m": 8}, {"tile_shape": (8, None)}),
    ({"tile_w": 8}, {"tile_shape": (None, 8)}),
    ({"tile_h": 8, "tile_w": 12}, {"tile_shape": (8, 12)}),
    ({"tile_m": 40, "tile_n": 1000}, {"tile_shape": (None, None)}),
    ({"tiles": [(8, 12)]}, {"tile_shape": (8, 12)}),
    ({"tiles": [(8,)]}, {"tile_shape": (1, 8)}),
    ({"shape": (None, 12)}, {"tile_shape": (None, 12)}),
    ({"num_tiles_h": 3}, {"tile_shape": (14, None), "tile_num": 3}),
    ({"num_tiles_h": 2, "num_tiles_w": 3}, {"tile_shape": (20, 8), "tile_num": 6}),
    ({"num_tiles_h": 2, "tile_h": 8}, {"tile_shape": (8, None), "tile_num": 2}),
    ({"tile_num": 5}, {"tile_num": 5}),
    ({"num_tiles": 5}, {"tile_num": 5}),
    ({"loop_order": "nm"}, {"loop_order": (1, 0)}),
    ({"loop_order": (1, 0)}, {"loop_order": (1, 0)}),
    ({"threads": 1, "unroll": 2, "vector_bits": 256}, {"threads": 1, "unroll": 2, "vector_bits": 256}),
    ({"streaming": True}, {"streaming": True}),
], ids=str)  # fmt: skip
def test_names_become_choices(axes: dict[str, Any], expected: dict[str, Any]) -> None:
    from pypto.search_axes import choose

    (point,) = TilingSearchSpace(**axes).points()
    assert choose(dict(point), facts(small())).fields == expected


@pytest.mark.parametrize(("axes", "expected"), [
    ({"buffering": "triple"}, {"buffer_depth": 3}),
    ({"double_buffer": False}, {"buffer_depth": 1}),
    ({"block_dim": 8, "pipeline": False}, {"aicore_num": 8, "pipeline": False}),
    ({"split_k": 4, "l2_swizzle": 2, "tile_k": 64}, {"split_k": 4, "l2_swizzle": 2, "tile_k": 64}),
], ids=str)  # fmt: skip
def test_names_for_a_device(axes: dict[str, Any], expected: dict[str, Any]) -> None:
    from pypto.search_axes import choose

    (point,) = TilingSearchSpace(**axes).points()
    assert choose(dict(point), facts(small())).fields == expected


def test_both_articles_spaces_lower() -> None:
    article = TilingSearchSpace(
        tile_m=[32, 64, 128, 256], tile_k=[32, 64, 128], tile_n=[32, 64, 128, 256],
        constraint_memory={"L1": "16KB", "GM_per_tile": "256KB"},
    )  # fmt: skip
    found = article.candidates(traced(product, (512, 512), (512, 512), (512, 512)), "cpu")
    assert named(found) == [{"tile_m": 32, "tile_k": 32, "tile_n": 32}]
    assert len(rows(found, Outcome.TOO_LARGE)) == 47
    article = TilingSearchSpace(
        tile_h=[16, 32, 64], tile_w=[16, 32, 64], num_tiles_h=[1, 2, 4, 8], num_tiles_w=[1, 2, 4, 8]
    )
    found = article.candidates(traced(double, (64, 56, 56), (64, 56, 56)), "cpu")
    assert len(named(found)) > 8
    assert len(named(found)) + len(rows(found, Outcome.DUPLICATE)) == article.combinations


# -- candidates


def test_candidates_that_cannot_be_built_are_rows() -> None:
    huge = (1 << 20, 1 << 20)
    for target in ("cpu", "ascendc", "reference"):
        found = TilingSearchSpace(tiles=[huge, (16, 16), huge]).candidates(small(), target)
        assert rows(found, Outcome.TOO_LARGE) == ["tiles=[1048576,1048576]"]
        assert "4398046511104 bytes" in found.rejected[0].reason
        assert found.default is not None
        assert {"tiles": (16, 16)} in [dict(item.values) for item in found.usable]


def test_what_the_buffers_take_is_compared_with_the_limit() -> None:
    module = traced(double, (4096, 4096), (4096, 4096))
    found = TilingSearchSpace(tiles=(8, 1024), constraint_memory={"UB": "192KB"}).candidates(module, "ascendc")
    assert [dict(item.values) for item in found.usable][-1] == {"tiles": (8, 1024)}
    with pytest.raises(pypto.UserError, match=r"its buffers take .* bytes, and constraint_memory allows 1024 of UB"):
        TilingSearchSpace(tiles=(8, 1024), constraint_memory={"UB": "1KB"}).candidates(module, "ascendc")


def test_what_does_not_fit_the_chip_is_a_row() -> None:
    @pypto.tile
    def sorted_rows(x, out):
        out[:] = pypto.sort(x, axis=-1).values

    module = traced(sorted_rows, (4, 1 << 20), (4, 1 << 20))
    with pytest.raises(pypto.UserError) as caught:
        TilingSearchSpace(tile_m=[1, 4]).candidates(module, "ascendc")
    assert caught.value.name == "unified-buffer-full", "not even the default can be built"
    assert "i32[1, 1048576]" in str(caught.value), "the buffers that are too large"


def test_duplicates_count_once_and_name_the_first() -> None:
    space = TilingSearchSpace(tile_m=[8, 40, 64], tile_n=[24, 4096], l2_swizzle=[1, 2])
    found = space.candidates(small(), "cpu")
    assert named(found) == [{"tile_m": 8, "tile_n": 24, "l2_swizzle": 1}]
    assert dict(found.usable[0].values) == {"tile_m": 40, "tile_n": 24, "l2_swizzle": 1}, "what the default does"
    assert len(rows(found, Outcome.DUPLICATE)) == 10
    reasons = {trial.reason for trial in found.rejected}
    assert reasons == {"the same code as tile_m=8,tile_n=24,l2_swizzle=1", "the same code as default"}


def test_the_default_is_there_once_and_carries_the_users_names_where_it_is_in_the_space() -> None:
    plain = TilingSearchSpace(tile_m=[None, 8], tile_n=[None]).candidates(small(), "cpu")
    assert [item.is_default for item in plain.usable] == [True, False]
    assert plain.default is not None
    assert plain.default.schedule == Schedule()
    outside = TilingSearchSpace(tile_m=[8]).candidates(small(), "cpu")
    assert outside.default is not None
    assert dict(outside.default.values) == {"tile_m": None}


def test_axes_that_belong_to_the_meaning_are_never_cut() -> None:
    found = TilingSearchSpace(tile_m=[8], tile_n=[8, 16, 64]).candidates(traced(softmax, (40, 64), (40, 64)), "cpu")
    assert [item.schedule.tile_shape for item in found.usable] == [None, (8, None)]
    assert all("axis 1: max works across it" in trial.reason for trial in found.rejected)
    found = TilingSearchSpace(tiles=[(4,), (8,)], tile_num=[2, 4]).candidates(traced(centred, (128,), (128,)), "cpu")
    assert [item.is_default for item in found.usable] == [True]
    assert all("belong to the meaning" in trial.reason for trial in found.rejected)
    assert found.usable[0].schedule == Schedule(tile_shape=(16,), tile_num=8, declared=("tile_num", "tile_shape"))


def test_names_that_the_kernel_reads_itself_are_kept_apart() -> None:
    found = TilingSearchSpace(tile_m=[8], depth=[1, 2]).candidates(small(), "cpu", injectable=("depth",))
    keys = {item.key() for item in found.usable}
    assert [item.injected for item in found.usable] == [(), (("depth", 1),), (("depth", 2),)]
    assert len(keys) == 3


# -- memory


@pytest.mark.parametrize(("text", "expected"), [
    (1, 1), ("1", 1), ("16KB", 16384), ("16 kb", 16384), ("16KiB", 16384), ("16k", 16384), ("0.5MB", 524288),
    ("1GiB", 1 << 30), (" 2 T ", 2 << 40), (2048.0, 2048), ("64B", 64),
])  # fmt: skip
def test_sizes(text: object, expected: int) -> None:
    assert bytes_of("L1", text) == expected


def test_bytes_of_a_tile() -> None:
    module = traced(product, (512, 1024), (1024, 256), (512, 256))
    sizes = tile_bytes(module, Schedule(tile_shape=(32, 64), tile_k=128))
    assert sizes.resident == 4 * (32 * 128 + 128 * 64 + 32 * 64)
    assert sizes.moved == 4 * (32 * 1024 + 1024 * 64 + 32 * 64)
    whole = tile_bytes(module, Schedule())
    assert whole.resident == whole.moved == 4 * (512 * 1024 + 1024 * 256 + 512 * 256)
    wished = Schedule(tile_shape=(32, 64), declared=("tile_shape",))
    assert tile_bytes(module, wished) == whole


def test_memory_limits_count_what_they_say() -> None:
    module = traced(product, (512, 1024), (1024, 256), (512, 256))
    axes = {"tile_m": [32, 512], "tile_k": [32, 1024], "tile_n": 32}
    found = TilingSearchSpace(**axes, constraint_memory={"L1": "64KB"}).candidates(module, "cpu")
    assert {"tile_m": 32, "tile_k": 32, "tile_n": 32} in named(found)
    assert len(rows(found, Outcome.TOO_LARGE)) == 3
    found = TilingSearchSpace(**axes, constraint_memory={"GM_per_tile": "300KB"}).candidates(module, "cpu")
    assert rows(found, Outcome.TOO_LARGE) == ["tile_m=512,tile_k=32,tile_n=32", "tile_m=512,tile_k=1024,tile_n=32"]


# -- keys


def test_keys_are_those_of_the_article() -> None:
    import hashlib

    candidate = Candidate((("tile_m", 8),), Schedule(tile_shape=(8, None)), workspace=64, block_dim=3)
    assert candidate.tiling_repr() == "tile_shape=[8,null]"
    assert candidate.key() == hashlib.md5(b"tile_shape=[8,null]|64|3").hexdigest()


def test_a_text_never_breaks_the_line_or_the_parts() -> None:
    nasty = Candidate((), Schedule(), injected=(("name", "a|b\nc\u2028|"),))
    assert "|" not in nasty.tiling_repr()
    assert len(nasty.tiling_repr().splitlines()) == 1
    assert nasty.tiling_repr() != Candidate((), Schedule(), injected=(("name", "a"),)).tiling_repr()
    assert Candidate((), Schedule()).tiling_repr() == "default"
