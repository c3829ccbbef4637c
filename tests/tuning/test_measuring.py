"""Measuring on the CPU: who is wrong, hangs or crashes loses loudly, and alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from pypto.runtime.tuning import channel, helper
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.compiling import CODE, OBJECT, CompiledCandidate
from pypto.runtime.tuning.measuring import rounds, runner
from pypto.runtime.tuning.measuring.measure import measure
from pypto.runtime.tuning.measuring.options import MeasureOptions
from pypto.runtime.tuning.private_folders import PrivateFolder
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


# -- who is out, and why


@pytest.mark.parametrize("options", [WARM, QUICK, PROFILER], ids=["warm", "cold", "profiler"])
def test_a_wrong_candidate_is_rejected_and_named_and_the_others_go_on(tmp_path: Path, options: MeasureOptions) -> None:
    good, wrong, also = (made(tmp_path, number, "double", factor=factor) for number, factor in ((0, 2), (1, 3), (2, 2)))
    trials = run([good, wrong, also], options)
    assert outcomes(trials) == ["MEASURED", "WRONG_RESULT", "MEASURED"]
    x = making.numbers()[0, 0]
    assert f"out[0, 0] is {x * 3}, the reference gives {x * 2}" in trials[1].reason  # element, got, expected
    assert trials[1].candidate is wrong.candidate and trials[1].seconds is None
    assert [trial.method for trial in trials] == [options.method, "", options.method]
    assert all(trial.source == "measured:cpu" for trial in trials)


@pytest.mark.parametrize("options", [WARM, PROFILER], ids=["event", "profiler"])
def test_a_hanging_kernel_is_stopped_and_rejected_and_the_others_go_on(tmp_path: Path, options: MeasureOptions) -> None:
    start = time.monotonic()
    trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "hang"), made(tmp_path, 2, "double")], options)
    assert outcomes(trials) == ["MEASURED", "HUNG", "MEASURED"]
    assert "stopped" in trials[1].reason
    assert time.monotonic() - start < 30


def test_a_crashing_kernel_is_rejected_and_the_others_go_on(tmp_path: Path) -> None:
    trials = run([made(tmp_path, 0, "crash"), made(tmp_path, 1, "double"), made(tmp_path, 2, "crash")])
    assert outcomes(trials) == ["CRASHED", "MEASURED", "CRASHED"]
    assert "SIGSEGV" in trials[0].reason


def test_a_default_that_hangs_is_stopped_too(tmp_path: Path) -> None:
    trials = run([made(tmp_path, 0, "hang"), made(tmp_path, 1, "double")], replace(WARM, first_limit=1.0))
    assert outcomes(trials) == ["HUNG", "MEASURED"]


def test_a_candidate_that_writes_its_inputs_is_wrong_though_its_outputs_are_right(tmp_path: Path) -> None:
    trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "double", "write_input")])
    assert outcomes(trials) == ["MEASURED", "WRONG_RESULT"]
    assert "wrote to its input x" in trials[1].reason


def test_a_candidate_that_writes_nothing_is_wrong_though_others_wrote_the_right_result_before(tmp_path: Path) -> None:
    trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "idle")])
    assert outcomes(trials) == ["MEASURED", "WRONG_RESULT"]
    assert "out[0, 0] is 0.0" in trials[1].reason


@pytest.mark.parametrize(("factor", "processes"), [(2.0, 1), (3.0, 2)], ids=["right", "wrong"])
def test_what_follows_a_wrong_candidate_runs_in_a_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, processes: int
) -> None:
    """Who writes wrong numbers may have written elsewhere too."""
    started: list[helper.Helper] = []

    def start(*given: Any, **more: Any) -> helper.Helper:
        started.append(helper.Helper(*given, **more))
        return started[-1]

    monkeypatch.setattr(runner, "Helper", start)
    trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "double", factor=factor), made(tmp_path, 2, "double")])
    assert outcomes(trials) == ["MEASURED", "MEASURED" if factor == 2.0 else "WRONG_RESULT", "MEASURED"]
    assert len(started) == processes


def test_a_candidate_wrong_only_later_is_found_by_the_last_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first check sees it right; it is made wrong before the last one."""
    good, late = made(tmp_path, 0, "double"), made(tmp_path, 1, "double")
    inputs, expected = making.doubling()
    calls: list[str] = []
    plain = rounds.finish_events

    def spoil(measurement: Any, check: bool = True) -> None:
        item = measurement.candidates[1]
        other = made(tmp_path / "other", 1, "double", factor=3.0)
        item.built, item.key = other, item.key + "late"
        calls.append(item.key)
        plain(measurement, check)

    monkeypatch.setattr(rounds, "finish_events", spoil)
    trials = measure([good, late], inputs, expected, WARM)
    assert calls and outcomes(trials) == ["MEASURED", "WRONG_RESULT"]


@pytest.mark.parametrize("damage", ["content", "mode", "link", "missing"])
def test_F_libraries_are_loaded_if_they_exist_but_ours_are_checked_first(tmp_path: Path, damage: str) -> None:
    good, other = made(tmp_path, 0, "double"), made(tmp_path, 1, "double", factor=3.0)
    path = other.folder / OBJECT
    if damage == "content":
        path.write_bytes((good.folder / OBJECT).read_bytes()[:-1] + b"\1")
    elif damage == "mode":
        path.chmod(0o666)
    elif damage == "missing":
        path.unlink()
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    trials = run([good, other])
    assert outcomes(trials) == ["MEASURED", "CRASHED"] and OBJECT in trials[1].reason


def test_artefacts_may_be_named_relative_to_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert outcomes(run([made(Path("here"), 0, "double")])) == ["MEASURED"]


def test_all_candidates_out_still_gives_every_reason(tmp_path: Path) -> None:
    trials = run([made(tmp_path, number, "crash") for number in range(3)])
    assert outcomes(trials) == ["CRASHED"] * 3 and all(trial.reason for trial in trials)


def test_rows_are_told_as_they_are_known(tmp_path: Path) -> None:
    seen: list[str] = []
    inputs, expected = making.doubling()
    built = [made(tmp_path, 0, "double"), made(tmp_path, 1, "double", factor=3.0)]
    measure(built, inputs, expected, WARM, lambda trial: seen.append(trial.outcome.name))
    assert seen == ["WRONG_RESULT", "MEASURED"]


# -- the process


def test_a_measuring_process_that_does_not_start_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    (trial,) = run([made(tmp_path, 0, "double")])
    assert trial.outcome is Outcome.NOT_MEASURED and "does not start" in trial.reason


def test_prints_of_a_broken_peer_are_no_messages() -> None:
    read, write = os.pipe()
    os.write(write, b"\xff\xff\xff\xff not a message")
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert channel.read_message(file) is None


PARENT = """
import sys
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pypto.runtime.tuning.measuring.measure import measure
from pypto.runtime.tuning.measuring import runner
from tests.tuning import making
plain = runner.Helper
def note(module, **more):
    made = plain(module, **more)
    Path(sys.argv[1], "pid").write_text(str(made.pid))
    return made
runner.Helper = note
inputs, expected = making.doubling()
options = replace(making.QUICK, cold=False, first_limit=600.0)
try:
    measure([making.made(Path(sys.argv[1]), 0, "hang")], inputs, expected, options)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_hanging_kernel_ends_with_its_parent(tmp_path: Path, sent: signal.Signals) -> None:
    root = Path(pypto.__file__).parent.parent
    note = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], cwd=root, stdout=subprocess.PIPE) as parent:
        end = time.monotonic() + 60
        while not (note.exists() and note.read_text(encoding="utf-8")) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(1.5)  # the kernel hangs by then
        parent.send_signal(sent)
        output, _ = parent.communicate(timeout=30)
    pid = int(note.read_text(encoding="utf-8"))
    end = time.monotonic() + 10
    status = Path(f"/proc/{pid}/status")
    while status.exists() and "State:\tZ" not in status.read_text(encoding="utf-8") and time.monotonic() < end:
        time.sleep(0.02)
    assert not status.exists() or "State:\tZ" in status.read_text(encoding="utf-8")
    assert sent is signal.SIGKILL or b"interrupted" in output


def test_what_a_killed_measurement_left_is_removed_by_the_next(tmp_path: Path) -> None:
    prefix = f"pypto-test-{tmp_path.name}-"
    code = (
        "import os, sys; from pypto.runtime.tuning.private_folders import PrivateFolder\n"
        "print(PrivateFolder(*sys.argv[1:]).path, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", code, prefix, str(tmp_path)]
    left = Path(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.strip())
    held = PrivateFolder(prefix, str(tmp_path))
    assert not left.exists()
    mine = PrivateFolder(prefix, str(tmp_path))
    assert held.path.exists(), "a folder in use was removed"
    held.remove()
    mine.remove()
    assert not held.path.exists() and not mine.path.exists()


def test_F_a_failed_measurement_leaves_everything_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails, the same call works the next time."""
    built = [made(tmp_path, 0, "double"), made(tmp_path, 1, "double")]
    monkeypatch.setattr(helper, "_BOOT", "raise SystemExit('broken')")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcomes(run(built)) == ["NOT_MEASURED"] * 2
    monkeypatch.undo()
    assert outcomes(run(built)) == ["MEASURED"] * 2


def test_code_that_cannot_be_read_is_a_reason(tmp_path: Path) -> None:
    item = made(tmp_path, 0, "double")
    (item.folder / CODE).write_bytes(b"[]")
    import hashlib

    broken = replace(item, digests={**item.digests, CODE: hashlib.sha256(b"[]").hexdigest()})
    (trial,) = run([broken])
    assert trial.outcome is Outcome.CRASHED and CODE in trial.reason


def test_threads_measure_at_the_same_time(tmp_path: Path) -> None:
    built = [made(tmp_path, 0, "double"), made(tmp_path, 1, "crash")]
    with ThreadPoolExecutor(2) as threads:
        for batch in [threads.submit(run, built) for _ in range(2)]:
            assert outcomes(batch.result()) == ["MEASURED", "CRASHED"]
