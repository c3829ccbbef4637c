"""Sort32 and MrgSort against NumPy: ties keep their order, lists of any length, lists that end the merge."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pypto.runtime.ascendc_host.driver import Program, build, run
from pypto.runtime.ascendc_host.report import Report

Array = NDArray[Any]
COUNT = 256
DTYPES = {"f32": np.float32, "f16": np.float16}


@functools.cache
def program() -> Program:
    return build((Path(__file__).parent / "kernels" / "sorting.cpp").read_text(), file="sorting.cpp")


def record_type(name: str) -> np.dtype[Any]:
    rest = [("rest", "u2")] if name == "f16" else []
    return np.dtype([("score", DTYPES[name]), *rest, ("number", "u4")])


def with_ties(name: str, seed: int) -> Array:
    return np.random.default_rng(seed).integers(-20, 20, COUNT).astype(DTYPES[name])


def ordered(records: Array) -> Array:
    return records[np.argsort(-records["score"].astype(np.float64), kind="stable")]


def ordered_groups(records: Array, length: int) -> Array:
    return np.concatenate([ordered(part) for part in records.reshape(-1, length)])


@pytest.mark.parametrize("name", DTYPES)
def test_sort_of_32_keeps_the_order_of_ties(name: str) -> None:
    scores, numbers = with_ties(name, 1), np.arange(1000, 1000 + COUNT, dtype=np.uint32)
    z = np.full(COUNT * 8, 255, np.uint8)
    report = run(program(), {"scores": scores, "numbers": numbers, "z": z}, kernel=f"sort_{name}")
    assert not report.findings, str(report)
    records = np.zeros(COUNT, record_type(name))
    records["score"], records["number"] = scores, numbers
    expected = ordered_groups(records, 32)
    np.testing.assert_array_equal(report.outputs["z"], expected.view(np.uint8))


def merge(
    name: str, lengths: list[int], valid: int = 15, stops: bool = False, repeats: int = 1
) -> tuple[Report, Array]:
    """Run a merge of sorted lists; return its report and the records that went in."""
    records = np.zeros(COUNT, record_type(name))
    records["score"], records["number"] = with_ties(name, sum(lengths)), np.arange(COUNT)
    start = 0
    for length in lengths * max(repeats, 1):
        records[start : start + length] = ordered(records[start : start + length])
        start += length
    arguments = {"x": records.view(np.uint8), "z": np.zeros(COUNT * 8, np.uint8), "counts": np.zeros(4, np.uint16)}
    given = {"lengths": np.array(lengths, np.uint16), "valid": valid, "stops": int(stops), "repeats": repeats}
    return run(program(), {**arguments, **given}, kernel=f"merge_{name}"), records


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(
    ("lengths", "valid"),
    [([64] * 4, 15), ([1, 100, 3, 90], 15), ([5, 60, 7, 9], 7), ([33, 1, 9, 9], 3), ([0, 4, 0, 2], 15)],
)
def test_merge_of_lists(name: str, lengths: list[int], valid: int) -> None:
    report, records = merge(name, lengths, valid)
    assert not report.findings, str(report)
    lists = valid.bit_length()
    total = sum(lengths[:lists])
    merged = report.outputs["z"].view(record_type(name))
    np.testing.assert_array_equal(merged[:total].view(np.uint8), ordered(records[:total]).view(np.uint8))
    assert not merged[total:].view(np.uint8).any()
    assert report.outputs["counts"][:lists].tolist() == lengths[:lists]


def test_merge_ends_with_the_first_list_that_does() -> None:
    report, records = merge("f32", [3, 60, 70, 80], stops=True)
    assert not report.findings, str(report)
    taken = report.outputs["counts"].tolist()
    everything = ordered(records[:213])
    last = int(np.flatnonzero(np.isin(everything["number"], records[:3]["number"]))[-1]) + 1
    assert sum(taken) == last
    assert taken[0] == 3
    np.testing.assert_array_equal(report.outputs["z"][: last * 8], everything[:last].view(np.uint8))


def test_repeats_merge_four_lists_each() -> None:
    report, records = merge("f16", [16] * 4, repeats=3)
    assert not report.findings, str(report)
    expected = ordered_groups(records[:192], 64)
    np.testing.assert_array_equal(report.outputs["z"][: 192 * 8], expected.view(np.uint8))


@pytest.mark.parametrize(
    ("lengths", "valid", "stops", "repeats", "rule"),
    [
        ([16, 16, 16, 15], 15, False, 2, "merge-lists"),
        ([16] * 4, 15, True, 2, "merge-lists"),
        ([16] * 4, 7, False, 2, "merge-lists"),
        ([16] * 4, 5, False, 1, "merge-lists"),
        ([16] * 4, 15, False, 256, "repeat"),
    ],
)
def test_mistakes(lengths: list[int], valid: int, stops: bool, repeats: int, rule: str) -> None:
    report, _ = merge("f32", lengths, valid, stops, repeats)
    assert [finding.rule for finding in report.findings] == [rule], str(report)


def test_no_repeats_do_nothing() -> None:
    report, _ = merge("f32", [16] * 4, repeats=0)
    assert not report.findings, str(report)
    assert not report.outputs["z"].any()
