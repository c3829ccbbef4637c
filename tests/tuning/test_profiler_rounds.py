"""What the rows of a profiler say of candidates when rows are lost, shared, renamed, or somebody else's."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest

from pypto.runtime.tuning.measuring.options import MeasureOptions
from pypto.runtime.tuning.measuring.profiler import ProfilerPlan, RowsMissing, complete_rounds, evaluate
from pypto.runtime.tuning.profiler_files import TaskRow, read_file

PLAN = ProfilerPlan()
APART = [("a",), ("b",), ("c",)]
SHARED = [("k",), ("k",), ("k",)]
PHASES = [("a1", "a2"), ("b1", "b2")]


def session(names: list[tuple[str, ...]], steps: bool = False, plan: ProfilerPlan = PLAN) -> list[TaskRow]:
    """Return the rows of a session: candidate i takes 10 * (i + 1) us, warm-up launches take ten times as long, and
    before each launch a ReduceSum reads the cache.
    """
    rows, time = [], 0
    for number in range(plan.rounds):
        slow = 10 if number < plan.discarded + plan.warmup else 1
        for index, item in enumerate(names):
            for name, kind, duration in (
                ("flush", "ReduceSum", 900),
                *((one, "K", 10 * (index + 1) * slow) for one in item),
            ):
                rows.append(
                    TaskRow(name, kind, Decimal(duration), Decimal(time), step=number if steps else None, task=time)
                )
                time += duration
    return rows


def test_the_article_s_counts() -> None:
    assert (PLAN.warmup, PLAN.active, PLAN.rounds) == (5, 30, 36)
    plan = ProfilerPlan.of(MeasureOptions(warmup_runs=2, measure_runs=7))
    assert (plan.warmup, plan.active) == (2, 7)


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("names", [APART, SHARED])
def test_warm_up_rounds_are_left_out_of_the_mean(names: list[tuple[str, ...]], steps: bool) -> None:
    found = evaluate(session(names, steps), names, PLAN)
    assert found.note == ""
    for index, seconds in enumerate(found.seconds):
        assert len(seconds) == 30
        assert sum(seconds) / 30 == pytest.approx(10e-6 * (index + 1))


def test_a_launch_of_several_kernels_is_their_sum() -> None:
    found = evaluate(session(PHASES), PHASES, PLAN)
    assert [seconds[0] for seconds in found.seconds] == [pytest.approx(20e-6), pytest.approx(40e-6)]


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("lost", [1, 2, 3, 5, 7, 13])
def test_F_lost_profiler_row_at_the_head_drops_rounds_and_goes_on(lost: int, steps: bool) -> None:
    found = evaluate(session(APART, steps)[lost:], APART, PLAN)
    for index, seconds in enumerate(found.seconds):
        assert min(seconds) == max(seconds) == pytest.approx(10e-6 * (index + 1))
    assert ("incomplete" in found.note) == any(row.name != "flush" for row in session(APART)[:lost])


@pytest.mark.parametrize("names", [APART, PHASES])
@pytest.mark.parametrize("steps", [False, True])
def test_F_lost_profiler_row_anywhere_never_mixes_candidates(names: list[tuple[str, ...]], steps: bool) -> None:
    chance = random.Random(3)
    for _ in range(60):
        rows = session(names, steps)
        for _ in range(chance.randrange(1, 8)):
            del rows[chance.randrange(len(rows))]
        found = evaluate(rows, names, PLAN)
        for index, seconds in enumerate(found.seconds):
            assert seconds == (pytest.approx(10e-6 * (index + 1) * len(names[index])),) * len(seconds)


def test_shared_names_need_step_numbers_once_a_row_is_lost() -> None:
    rows = session(SHARED)
    del rows[41]
    with pytest.raises(RowsMissing, match="107 rows of the candidates' kernels instead of 108"):
        evaluate(rows, SHARED, PLAN)
    rows = session(SHARED, steps=True)
    del rows[41]
    assert "1 of 36 rounds" in evaluate(rows, SHARED, PLAN).note


def test_F_row_assumption_control_rows_before_or_between_do_not_matter() -> None:
    rows = session(APART)
    control = TaskRow(None, "PROFILING_ENABLE", Decimal("0.02"), Decimal(0))
    for place in (0, 0, 5, 17):
        rows.insert(place, control)
    assert evaluate(rows, APART, PLAN) == evaluate(session(APART), APART, PLAN)
    assert evaluate(session(APART)[1:], APART, PLAN).note == ""  # nor that the first flush is there


def test_F_type_filter_drops_user_kernels_of_type_reduce_sum_no_more() -> None:
    """The user's own kernel has the type of the cache flush: rows go by exact name alone."""
    rows = [TaskRow(row.name, "ReduceSum", row.duration, row.start, task=row.task) for row in session(APART)]
    assert evaluate(rows, APART, PLAN) == evaluate(session(APART), APART, PLAN)


def test_names_are_exact_not_prefixes() -> None:
    rows = session(APART) + [TaskRow("a_tail", "K", Decimal(1), Decimal(10**7))]
    assert evaluate(rows, APART, PLAN) == evaluate(session(APART), APART, PLAN)


def test_F_mismatch_handling_is_reachable_no_rows_and_renamed_kernels_are_found() -> None:
    for rows in ([], [TaskRow("other", "K", Decimal(1))] * 500):
        with pytest.raises(RowsMissing, match="0 rows of the candidates' kernels instead of 108"):
            evaluate(rows, APART, PLAN)


def test_half_the_rounds_suffice_and_fewer_do_not() -> None:
    rows = session(APART, steps=True)
    assert len(evaluate([row for row in rows if (row.step or 0) >= 15], APART, PLAN).seconds[0]) == 15
    with pytest.raises(RowsMissing):
        evaluate([row for row in rows if (row.step or 0) >= 16], APART, PLAN)


def test_a_kernel_that_runs_twice_per_launch_is_one_incomplete_round_not_two_candidates() -> None:
    rows = [row for row in session(APART) for _ in range(2 if row.name == "b" else 1)]
    assert complete_rounds(rows, APART, PLAN.rounds) == []


def test_the_known_values_of_the_real_sample() -> None:
    rows = read_file(Path(__file__).parent / "data" / "kernel_details_derived.csv").rows
    ones = ("aclnnInplaceOne_OnesLikeAiCore_OnesLike",)
    found = evaluate(rows, [ones], ProfilerPlan(warmup=1, active=1, discarded=0))
    assert found.seconds == ((pytest.approx(7.620e-6),),)
    grouped = ("aclnnGroupedMatmulV5_GroupedMatmul_GroupedMatmul",)
    both = evaluate(rows, [ones + grouped], ProfilerPlan(warmup=0, active=1, discarded=0))
    assert both.seconds == ((pytest.approx((7.620 + 25.481) * 1e-6),),)
