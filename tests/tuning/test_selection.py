"""Picking the winner: metrics, confirmation, noise said aloud; and how much work a kernel is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import pypto
from pypto.runtime.tuning.candidate import Candidate, Outcome, Trial
from pypto.runtime.tuning.selection import NothingMeasured, cost, estimated_tops, select, spread
from pypto.runtime.tuning.work import Work, work_of
from tests.tuning import making

WORK = Work(1e6, 1000)


def row(number: int, seconds: float | None, noise: float = 0.0, **more: Any) -> Trial:
    outcome = Outcome.MEASURED if seconds is not None else Outcome.HUNG
    quantiles = None if seconds is None else (seconds, seconds * (1 - noise), seconds * (1 + noise))
    return Trial(making.candidate(number), outcome, "why", seconds, quantiles, 10, "event", **more)


class Again:
    """A second measurement with given results; notes who was measured again."""

    def __init__(self, *rows: Trial) -> None:
        self.rows, self.asked = rows, list[int]()

    def __call__(self, candidates: Sequence[Candidate]) -> Sequence[Trial]:
        self.asked = [int(str(item.values[0][1])) // 8 - 1 for item in candidates]
        return [item for item in self.rows if item.candidate in candidates]


def test_a_clear_winner_is_not_measured_again() -> None:
    again = Again()
    found = select([row(0, 2e-3), row(1, 1e-3), row(2, 3e-3)], again, work=WORK)
    assert found.winner.candidate == making.candidate(1) and found.note == "" and again.asked == []


def test_F_noise_decides_no_more_the_closest_are_run_again_and_that_decides() -> None:
    first = [row(0, 1.00e-3), row(1, 1.02e-3), row(2, 1.04e-3), row(3, 1.2e-3)]
    again = Again(row(0, 1.05e-3), row(1, 1.00e-3), row(2, 1.06e-3))
    found = select(first, again, work=WORK)
    assert again.asked == [0, 1, 2]
    assert found.winner.candidate == making.candidate(1) and found.winner.seconds == 1.00e-3
    assert found.note == "" and len(found.confirmed) == 3


def test_a_busy_second_measurement_does_not_spoil_the_first() -> None:
    first = [row(0, 1.00e-3), row(1, 1.02e-3)]
    found = select(first, Again(row(0, 9e-3), row(1, 8e-3)), work=WORK)
    assert (found.winner.candidate, found.winner.seconds) == (making.candidate(0), 1.00e-3)
    assert found.note.startswith("the machine was busy")


def test_a_difference_inside_the_noise_is_said() -> None:
    first = [row(0, 1.00e-3), row(1, 1.01e-3)]
    found = select(first, Again(row(0, 1.00e-3, 0.03), row(1, 1.01e-3, 0.02)), work=WORK)
    assert found.note == (
        "default is 1.0% better than tile_m=16, which is inside the noise of 3.0%: either may be the better one"
    )
    assert select(first, Again(row(0, 1.00e-3, 0.005), row(1, 1.01e-3, 0.005)), work=WORK).note == ""


def test_noisy_samples_widen_who_is_close() -> None:
    again = Again(row(0, 1.0e-3, 0.2), row(1, 1.15e-3, 0.2))
    select([row(0, 1.0e-3, 0.2), row(1, 1.15e-3, 0.2), row(2, 1.3e-3)], again, work=WORK)
    assert again.asked == [0, 1]


def test_at_most_four_are_measured_again() -> None:
    again = Again(*(row(number, 1e-3) for number in range(9)))
    select([row(number, 1e-3) for number in range(9)], again, work=WORK)
    assert again.asked == [0, 1, 2, 3]


def test_ties_go_to_the_first() -> None:
    rows = [row(1, 1e-3), row(0, 1e-3)]
    assert select(rows, Again(*rows), work=WORK).winner is rows[0]


def test_a_confirmation_that_fails_keeps_the_first_measurement_and_says_so() -> None:
    found = select([row(0, 1e-3), row(1, 1e-3)], Again(row(0, None), row(1, None)), work=WORK)
    assert found.winner.candidate == making.candidate(0) and "not be confirmed" in found.note


def test_a_winner_wrong_the_second_time_loses() -> None:
    wrong = Trial(making.candidate(0), Outcome.WRONG_RESULT, "out[0]")
    found = select([row(0, 1e-3), row(1, 1.01e-3)], Again(wrong, row(1, 1e-3)), work=WORK)
    assert found.winner.candidate == making.candidate(1)


def test_F_all_failing_reports_every_candidate_and_reason() -> None:
    with pytest.raises(NothingMeasured) as error:
        select([row(0, None), row(1, None)], Again(), work=WORK)
    assert "default: hung: why" in str(error.value) and "tile_m=16: hung: why" in str(error.value)
    with pytest.raises(NothingMeasured, match="there are no candidates"):
        select([], Again(), work=WORK)


def test_where_nothing_was_measured_the_model_decides_among_what_is_not_rejected() -> None:
    def left(number: int, predicted: float | None) -> Trial:
        return Trial(making.candidate(number, predicted=predicted), Outcome.NOT_MEASURED, "no time left")

    rejected = replace(left(2, 1e-9), outcome=Outcome.WRONG_RESULT)
    found = select([left(0, 2e-3), left(1, 1e-3), rejected, left(3, None)], Again(), work=WORK)
    assert found.winner.candidate == making.candidate(1, predicted=1e-3)
    assert found.note == "no candidate was measured (no time left), so this is the best by the model"
    assert select([left(0, None), left(1, None)], Again(), work=WORK).winner.candidate.is_default


def test_throughput_goes_by_the_median_and_latency_by_the_tail() -> None:
    steady, swift = row(0, 1.2e-3, tail=1.3e-3), row(1, 1.0e-3, tail=9e-3)
    assert select([steady, swift], Again(), "throughput", WORK).winner is swift
    assert select([steady, swift], Again(), "latency", WORK).winner is steady
    assert cost(row(0, 2e-3), "latency", WORK) == 2e-3  # no samples known: the median
    assert cost(swift, "throughput", WORK) == pytest.approx(1.0e-3 / 1e6)
    assert cost(swift, "throughput", Work(0.0, 500)) == pytest.approx(1.0e-3 / 500)


def test_memory_efficiency_charges_for_memory_beside_the_arguments() -> None:
    large, small = row(0, 1.0e-3, memory=1000), row(1, 1.5e-3, memory=0)
    assert select([large, small], Again(), "memory_efficiency", WORK).winner is small
    # bytes per second times the arguments' share of all memory: 1000 / 1e-3 * (1000 / 2000)
    assert 1 / cost(large, "memory_efficiency", WORK) == pytest.approx(5e5)
    workspace = replace(small, candidate=making.candidate(1, workspace=3000))
    assert cost(workspace, "memory_efficiency", WORK) == pytest.approx(4 * cost(small, "memory_efficiency", WORK))


def test_an_unknown_metric_is_no_metric() -> None:
    with pytest.raises(KeyError):
        cost(row(0, 1e-3), "speed", WORK)


def test_spread_is_half_of_p20_to_p80() -> None:
    assert spread(row(0, 1e-3, 0.1)) == pytest.approx(0.1)
    assert spread(replace(row(0, 1e-3), quantiles=None)) == 0.0


def test_tops_are_operations_per_second() -> None:
    assert estimated_tops(Work(2e12, 0), 0.5) == pytest.approx(4.0)
    assert estimated_tops(WORK, 0.0) == 0.0


# -- work


@pypto.tile
def product(a: Any, b: Any, out: Any) -> None:
    out[:] = a @ b


@pypto.tile
def total(x: Any, out: Any) -> None:
    out[:] = pypto.sum(x, axis=1)


@pypto.tile
def looped(x: Any, out: Any) -> None:
    acc = x * 0.0
    for _ in pypto.loop(2, 12, 2):
        acc += x
    out[:] = acc


@pypto.tile
def triangle(x: Any, out: Any) -> None:
    acc = x * 1.0
    for i in pypto.loop(0, 8):
        for _ in pypto.loop(0, i):
            acc += x
    out[:] = acc


@pytest.mark.parametrize(
    ("function", "shapes", "operations", "size"),
    [
        (making.double, {"x": (16, 24), "out": (16, 24)}, 16 * 24, 2 * 16 * 24 * 4),
        (making.grow, {"x": (16, 24), "total": (16, 24)}, 16 * 24, 3 * 16 * 24 * 4),
        (product, {"a": (8, 32), "b": (32, 16), "out": (8, 16)}, 2 * 8 * 16 * 32, (8 * 32 + 32 * 16 + 8 * 16) * 4),
        (total, {"x": (7, 11), "out": (7,)}, 7 * 11, (7 * 11 + 7) * 4),
        (looped, {"x": (3, 5), "out": (3, 5)}, (1 + 5) * 15, 2 * 15 * 4),
        (making.double, {"x": (0, 24), "out": (0, 24)}, 0, 0),
    ],
)
def test_work_counts_each_arithmetic_operation_once(
    function: Any, shapes: dict[str, tuple[int, ...]], operations: int, size: int
) -> None:
    work = work_of(making.module_of(function, shapes))
    assert (work.operations, work.bytes) == (operations, size)


def test_work_of_loops_inside_each_other_is_taken_in_the_middle() -> None:
    exact = (1 + sum(range(8))) * 15
    assert work_of(making.module_of(triangle, {"x": (3, 5), "out": (3, 5)})).operations == pytest.approx(exact, rel=0.2)
