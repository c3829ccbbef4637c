"""Measuring on a device, with torch_npu's calls on a stand-in that keeps its own clock."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pypto.runtime.tuning.candidate import Outcome
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.measuring import npu
from pypto.runtime.tuning.measuring.npu import DeviceLaunch, NpuDevice, measure_on_device, profiler_is_active
from pypto.runtime.tuning.measuring.options import MeasureOptions
from tests.tuning import fake_npu, making
from tests.tuning.fake_npu import MICROSECOND

EVENT = MeasureOptions(warmup_runs=2, measure_runs=10)
PROFILER = MeasureOptions(method="profiler")


class Bench:
    """Candidates that take 10, 20, 30 us on a stand-in device, beside a helper kernel of 5 us."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, shared_name: bool = False) -> None:
        self.machine = fake_npu.Machine()
        self.torch, self.torch_npu = fake_npu.make(self.machine)
        monkeypatch.setitem(__import__("sys").modules, "torch", self.torch)
        self.device = NpuDevice(self.torch, self.torch_npu)
        self.launches = [self.launch(number, shared_name) for number in range(3)]

    def launch(self, number: int, shared_name: bool) -> DeviceLaunch:
        name = "kernel" if shared_name else f"kernel_{number}"
        built = CompiledCandidate(making.candidate(number), "npu", Path("nowhere"), {}, 0.0)

        def run() -> None:
            self.machine.enqueue("helper", "Cast", 5 * MICROSECOND)
            self.machine.enqueue(name, "ReduceSum", (10 + 10 * number) * MICROSECOND)

        def restore() -> None:
            self.machine.enqueue("restore", "TensorMove", 40 * MICROSECOND)

        return DeviceLaunch(built, run, (name,), restore, lambda: None)

    def measure(self, options: MeasureOptions) -> list[Any]:
        return measure_on_device(self.device, self.launches, options)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_events_measure_all_that_is_between_the_marks(bench: Bench) -> None:
    trials = bench.measure(EVENT)
    assert [trial.seconds for trial in trials] == [pytest.approx(us * MICROSECOND) for us in (15, 25, 35)]
    assert all((trial.method, trial.source, trial.samples) == ("event", "measured:npu", 10) for trial in trials)
    assert bench.machine.profiled == 0


def test_the_flush_has_the_size_of_the_l2_cache(bench: Bench) -> None:
    (buffer,) = bench.torch.made
    assert buffer.bytes == 192 << 20


def test_the_profiler_measures_the_kernel_alone(bench: Bench) -> None:
    trials = bench.measure(PROFILER)
    assert [trial.seconds for trial in trials] == [pytest.approx(us * MICROSECOND) for us in (10, 20, 30)]
    assert all((trial.method, trial.samples) == ("profiler", 30) for trial in trials)
    assert bench.machine.profiled == 1, "one session for all candidates"


def test_each_round_launches_every_candidate_after_a_flush_and_a_wait(bench: Bench) -> None:
    bench.measure(PROFILER)
    first = bench.machine.log.index("ReduceSum")
    one = ["ReduceSum", "synchronize", "helper", "kernel_0", "synchronize", "restore", "ReduceSum", "synchronize"]
    assert bench.machine.log[first : first + len(one)] == one


def test_warm_caches_are_left_alone(bench: Bench) -> None:
    bench.measure(replace(EVENT, cold=False))
    bench.measure(replace(PROFILER, cold=False))
    assert "ReduceSum" not in bench.machine.log and "ZerosLike" not in bench.machine.log


def lose_head(rows: list[Any]) -> list[Any]:
    return rows[7:]


def lose_middle(rows: list[Any]) -> list[Any]:
    return [row for number, row in enumerate(rows) if number not in (203, 307)]


@pytest.mark.parametrize("lose", [lose_head, lose_middle])
@pytest.mark.parametrize("step_ids", [False, True])
def test_F_lost_profiler_row_costs_rounds_not_the_run(
    bench: Bench, lose: Callable[[list[Any]], list[Any]], step_ids: bool
) -> None:
    bench.machine.lose, bench.machine.step_ids = lose, step_ids
    with pytest.warns(RuntimeWarning, match="rounds are incomplete"):
        trials = bench.measure(PROFILER)
    assert [trial.seconds for trial in trials] == [pytest.approx(us * MICROSECOND) for us in (10, 20, 30)]


def test_F_lost_profiler_row_with_one_name_for_all_falls_back_to_events(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, shared_name=True)
    assert [trial.method for trial in bench.measure(PROFILER)] == ["profiler"] * 3
    bench.machine.tasks.clear()
    bench.machine.lose = lambda rows: rows[:-20]
    with pytest.warns(RuntimeWarning, match="measured by events: .* rows"):
        trials = bench.measure(PROFILER)
    assert [trial.seconds for trial in trials] == [pytest.approx(us * MICROSECOND) for us in (15, 25, 35)]


def test_a_profiler_that_writes_nothing_falls_back_to_events(bench: Bench) -> None:
    bench.torch_npu.profiler.tensorboard_trace_handler = lambda folder: lambda session: None
    with pytest.warns(RuntimeWarning, match="measured by events: 0 rows"):
        assert [trial.method for trial in bench.measure(PROFILER)] == ["event"] * 3


@pytest.mark.parametrize("who", ["torch", "torch_npu", "msprof"])
def test_F_profiler_inside_profiler_is_found_first_and_events_are_used(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    assert not profiler_is_active(bench.torch, bench.torch_npu)
    if who == "torch":
        bench.torch.autograd._profiler_enabled = lambda: True
    elif who == "torch_npu":
        bench.torch_npu.profiler._profiler_path_creator.creator.is_prof_inited = True
        bench.machine.active = True  # starting another would crash
    else:
        monkeypatch.setenv("PROFILER_SAMPLECONFIG", "/somewhere")
    with pytest.warns(RuntimeWarning, match="another profiler is active"):
        trials = bench.measure(PROFILER)
    assert [trial.method for trial in trials] == ["event"] * 3


def test_F_profiler_output_under_the_working_directory_no_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[Path] = []
    plain = npu.read_folder

    def note(folder: Path) -> Any:
        seen.append(folder)
        return plain(folder)

    monkeypatch.setattr(npu, "read_folder", note)
    bench.measure(PROFILER)
    assert not list(tmp_path.iterdir()) and not seen[0].exists()

    def fail() -> None:
        raise KeyboardInterrupt

    bench.launches[1] = replace(bench.launches[1], launch=fail)
    before = set(os.listdir(seen[0].parent))
    with pytest.raises(KeyboardInterrupt):
        bench.measure(PROFILER)
    assert not bench.machine.active, "the profiler was not stopped"
    assert not {name for name in set(os.listdir(seen[0].parent)) - before if name.startswith("pypto-profile-")}


def test_a_wrong_result_or_a_refused_launch_is_a_row(bench: Bench) -> None:
    def refuse() -> None:
        raise RuntimeError("EZ9999: inner error")

    bench.launches[0] = replace(bench.launches[0], problem=lambda: "out[0] is 1.0, the reference gives 2.0")
    bench.launches[1] = replace(bench.launches[1], launch=refuse)
    trials = bench.measure(EVENT)
    assert [trial.outcome for trial in trials] == [Outcome.WRONG_RESULT, Outcome.CRASHED, Outcome.MEASURED]
    assert "EZ9999" in trials[1].reason and "out[0]" in trials[0].reason
