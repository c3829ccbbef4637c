"""The two ways of measuring: how often, in which order, and what counts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pypto.runtime.toolchain import host_machine
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.measuring import arguments as measuring_arguments
from pypto.runtime.tuning.measuring import event, rounds
from pypto.runtime.tuning.measuring.arguments import ArgumentFiles, WorkingArguments
from pypto.runtime.tuning.measuring.device import flush_bytes, largest_cache
from pypto.runtime.tuning.measuring.measure import measure
from pypto.runtime.tuning.measuring.options import Estimate, MeasureOptions, Samples
from pypto.runtime.tuning.measuring.session import Session
from pypto.runtime.tuning.profiler_files import ProfilerData
from pypto.runtime.tuning.workers import compile_candidates
from tests.tuning import making
from tests.tuning.making import QUICK, made

F32 = np.float32
WARM = replace(QUICK, cold=False)
PROFILER = replace(QUICK, method="profiler")


def run(built: Sequence[CompiledCandidate], options: MeasureOptions = WARM) -> list[Trial]:
    inputs, expected = making.doubling()
    return measure(built, inputs, expected, options)


def outcomes(trials: Sequence[Trial]) -> list[str]:
    return [trial.outcome.name for trial in trials]


def compiled(folder: Path, module: Any, count: int = 2) -> list[CompiledCandidate]:
    jobs = [making.job(module, making.candidate(number), folder) for number in range(count)]
    results = compile_candidates(jobs, 60.0, 1)
    return [item for item in results if isinstance(item, CompiledCandidate)]


# -- how many, in which order


class Stream:
    """A device whose work takes no real time: launches and flushes add to its clock."""

    source = "measured:test"

    def __init__(self, flush: float, launch: float) -> None:
        self.clock, self.flush, self.launch_seconds = 0.0, flush, launch
        self.log: list[str] = []
        self.interrupted = 0

    def mark(self) -> float:
        self.log.append("mark")
        return self.clock

    def seconds(self, start: float, end: float) -> float:
        return end - start

    def synchronize(self) -> None:
        self.log.append("sync")

    def overwrite_cache(self) -> None:
        self.log.append("flush")
        self.clock += self.flush

    def read_cache(self) -> None:
        self.log.append("read")

    def interruptions(self) -> int:
        return self.interrupted

    def launch(self) -> None:
        self.log.append("launch")
        self.clock += self.launch_seconds

    def restore(self) -> None:
        self.log.append("restore")


def test_F_flush_inside_the_estimate_no_more_so_short_kernels_get_enough_repeats() -> None:
    stream = Stream(flush=2e-3, launch=1e-4)
    found = event.estimate(stream, stream.launch, stream.restore, cold=True)
    assert found.launch == pytest.approx(1e-4) and found.flush == pytest.approx(2e-3)
    generous = MeasureOptions(candidate_seconds=1e9)
    assert event.repeat_count(generous, found) == pytest.approx(1000, abs=1)  # not 100 ms / 2.1 ms = 47
    assert event.warmup_count(generous, found) == pytest.approx(250, abs=1)
    assert event.repeat_count(MeasureOptions(candidate_seconds=1.0), found) == pytest.approx(476, abs=1)


def test_one_interruption_does_not_cost_the_repeats() -> None:
    stream = Stream(flush=0.0, launch=1e-4)
    plain, calls = stream.launch, [0]

    def launch() -> None:
        calls[0] += 1
        stream.launch_seconds = 1e-2 if calls[0] == 3 else 1e-4
        plain()

    assert event.estimate(stream, launch, stream.restore, cold=False).launch == pytest.approx(1e-4)


def test_launches_that_the_system_interrupted_do_not_count() -> None:
    stream = Stream(flush=0.0, launch=1e-3)
    plain, calls = stream.launch, [0]

    def launch() -> None:
        calls[0] += 1
        stream.interrupted += calls[0] % 3 > 0
        stream.launch_seconds = 6e-3 if calls[0] % 3 else 1e-3
        plain()

    found = event.sample(stream, launch, stream.restore, 18, cold=False)
    assert found.usable() == [pytest.approx(1e-3)] * 12 and len(found.interrupted) == 24
    few = event.sample(stream, launch, stream.restore, 3, cold=False)
    assert len(few.usable()) == 6, "two launches in six do not speak for the kernel"
    assert Samples([1.0, 2.0], [9.0]).usable() == [1.0, 2.0]
    assert Samples([], [9.0, 8.0]).usable() == [9.0, 8.0]


@pytest.mark.parametrize(("launch", "repeats", "warmup"), [(1.0, 1, 1), (0.05, 2, 1), (0.01, 10, 2), (0.001, 100, 25)])
def test_counts_are_the_articles(launch: float, repeats: int, warmup: int) -> None:
    found = Estimate(launch, 0.0, 0.0)
    assert (event.repeat_count(MeasureOptions(), found), event.warmup_count(MeasureOptions(), found)) == (
        repeats,
        warmup,
    )
    fixed = MeasureOptions(warmup_runs=0, measure_runs=3)
    assert (event.repeat_count(fixed, found), event.warmup_count(fixed, found)) == (3, 0)


def test_each_repeat_restores_flushes_marks_launches_and_only_the_end_waits() -> None:
    stream = Stream(1.0, 2.0)
    assert event.sample(stream, stream.launch, stream.restore, 3, cold=True).usable() == [2.0] * 3
    assert stream.log == ["restore", "flush", "mark", "launch", "mark"] * 3 + ["sync"]
    stream.log.clear()
    event.sample(stream, stream.launch, stream.restore, 1, cold=False)
    assert stream.log == ["restore", "mark", "launch", "mark", "sync"]


def test_events_hold_the_machine_code_alone_unless_there_are_hooks(tmp_path: Path) -> None:
    inputs, expected = making.doubling()
    item = made(tmp_path, 0, "double")
    files = ArgumentFiles(inputs, expected, WARM)
    try:
        for around, slow in ((None, False), (lambda launch: launch, True)):
            session = Session(WorkingArguments(files.description), host_machine(), around)
            session.load("k", str(item.folder), item.digests)
            session.loaded["k"].launch = lambda: time.sleep(0.02)
            found = session.sample("k", 0, 3, False)
            assert (min(found["clean"] + found["interrupted"]) >= 0.02) == slow
    finally:
        files.remove()


def test_the_flush_is_sized_from_the_cache() -> None:
    assert largest_cache() >= 1 << 19
    assert flush_bytes() >= min(2 * largest_cache(), 512 << 20)


def spy_on_samples(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """Return the list that (candidate, warm-up, count) of every sampling go to."""
    seen: list[tuple[int, int, int]] = []
    plain = rounds._sample

    def note(measurement: Any, item: Any, warmup: int, count: int) -> None:
        seen.append((measurement.candidates.index(item), warmup, count))
        plain(measurement, item, warmup, count)

    monkeypatch.setattr(rounds, "_sample", note)
    return seen


def test_F_one_sample_per_candidate_in_a_fixed_order_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = spy_on_samples(monkeypatch)
    built = [made(tmp_path, number, "double") for number in range(3)]
    trials = run(built, replace(QUICK, measure_runs=10, rounds=3, hopeless=1e9))
    assert all(0 < trial.samples <= 20 for trial in trials)
    order = [index for index, _, _ in seen]
    assert [order[start : start + 3] for start in (0, 3, 6)] == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert [count for index, _, count in seen if index == 0] == [3, 3, 4]
    for trial in trials:
        assert trial.quantiles is not None and trial.seconds == trial.quantiles[0]  # P50 first
        assert trial.quantiles[1] <= trial.quantiles[0] <= trial.quantiles[2] <= (trial.tail or 0)


def test_a_hopeless_candidate_is_sampled_in_the_first_round_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = spy_on_samples(monkeypatch)
    slow = made(tmp_path, 1, *["double"] * 400)
    trials = run([made(tmp_path, 0, "double"), slow], replace(WARM, measure_runs=100, rounds=4))
    assert outcomes(trials) == ["MEASURED", "MEASURED"]
    assert 0 < trials[1].samples <= 50 < trials[0].samples
    assert [index for index, _, _ in seen].count(1) == 1


def test_a_used_up_budget_leaves_rows_that_say_so(tmp_path: Path) -> None:
    (trial,) = run([made(tmp_path, 0, "double")], replace(WARM, time_budget=0.0))
    assert trial.outcome is Outcome.NOT_MEASURED and "time budget of 0 s" in trial.reason


def test_a_budget_that_ends_while_sampling_keeps_what_was_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = spy_on_samples(monkeypatch)
    options = replace(WARM, time_budget=2.5, measure_runs=40, rounds=40, pre_hook=lambda values: time.sleep(0.05))
    trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "double")], options)
    assert outcomes(trials) == ["MEASURED", "MEASURED"]
    assert all(0 < trial.samples < 40 for trial in trials) and seen


@pytest.mark.parametrize("options", [WARM, PROFILER], ids=["event", "profiler"])
def test_progress_runs_from_0_to_1_with_the_best_so_far(tmp_path: Path, options: MeasureOptions) -> None:
    inputs, expected = making.doubling()
    seen: list[tuple[float, float | None]] = []
    built = [made(tmp_path, 0, "double"), made(tmp_path, 1, "double")]
    measure(built, inputs, expected, options, on_progress=lambda share, best: seen.append((share, best)))
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and 0 < shares[0] <= 0.1 and 0.8 < shares[-1] < 1
    assert seen[0][1] is None and (options.method == "profiler" or seen[-1][1] is not None)


# -- the profiler


def test_one_candidate_alone_is_measured_by_events(tmp_path: Path) -> None:
    trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "crash")], PROFILER)
    assert [trial.method for trial in trials] == ["event", ""]


def test_the_profiler_takes_the_mean_of_30_rows_after_5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[ProfilerData] = []
    plain = rounds.read_folder

    def keep(folder: Path) -> ProfilerData:
        kept.append(plain(folder))
        return kept[-1]

    monkeypatch.setattr(rounds, "read_folder", keep)
    options = replace(PROFILER, warmup_runs=None, measure_runs=None)
    built = [made(tmp_path, 0, "double", "double"), made(tmp_path, 1, "double")]
    trials = run(built, options)
    assert [trial.samples for trial in trials] == [30, 30]
    rows = [row for row in kept[0].rows if row.name is not None and row.name.startswith("phase0_")]
    mine = [row.seconds for row in rows if row.name == f"phase0_{built[1].candidate.key()}_1"]
    assert len(mine) == 36 and trials[1].seconds == pytest.approx(sum(mine[6:]) / 30)
    both = [row for row in kept[0].rows if str(row.name).endswith("_0")]
    assert len(both) == 72  # a row for every phase


@pytest.mark.parametrize("lost", ["rows", "everything"])
def test_F_lost_profiler_rows_fall_back_to_events_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    plain = rounds.read_folder

    def lose(folder: Path) -> ProfilerData:
        rows = plain(folder).rows if lost == "rows" else ()
        return ProfilerData(tuple(row for number, row in enumerate(rows) if number % 4 != 3))

    monkeypatch.setattr(rounds, "read_folder", lose)
    with pytest.warns(RuntimeWarning, match="measured by events: .* rows of the candidates' kernels instead of"):
        trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "double")], PROFILER)
    assert [(trial.outcome, trial.method) for trial in trials] == [(Outcome.MEASURED, "event")] * 2


def test_F_profiler_output_under_the_working_directory_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(measuring_arguments, "SHARED_MEMORY", str(temporary))
    built = [made(tmp_path, 0, "double"), made(tmp_path, 1, "double"), made(tmp_path, 2, "crash")]
    run(built, PROFILER)
    assert list(work.iterdir()) == []
    assert list(temporary.iterdir()) == [], "something is left after measuring"
