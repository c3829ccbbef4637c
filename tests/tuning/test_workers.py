"""Compile workers: what one candidate does costs itself alone, and nothing outlives the process that asked."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import pypto
from pypto.runtime.tuning import workers
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.channel import FOLDER_PREFIX, read_message
from pypto.runtime.tuning.compiling import CODE, OBJECT, CompiledCandidate, CompileJob
from pypto.runtime.tuning.workers import compile_candidates, compile_processes, idle_workers, start_workers
from tests.tuning import making

ROOT = Path(pypto.__file__).parent.parent


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have workers obey ``#fault`` lines; they are not left for other tests."""
    monkeypatch.setattr(workers, "WORKER", "tests.tuning.faulty_worker")
    workers._pool(os.getpid()).close(os.getpid())
    workers._pool.cache_clear()
    yield
    workers._pool(os.getpid()).close(os.getpid())
    workers._pool.cache_clear()


def jobs(folder: Path, count: int = 3) -> list[CompileJob]:
    module = making.double_module()
    return [making.job(module, making.candidate(number), folder) for number in range(count)]


def with_fault(item: CompileJob, fault: str) -> CompileJob:
    return replace(item, module=f"#fault {fault}\n{item.module}")


def rejected(result: object) -> Trial:
    assert isinstance(result, Trial), result
    return result


def is_gone(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return True


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_candidates_become_artefacts_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    seen: list[object] = []
    made = compile_candidates(jobs(tmp_path), 60.0, 2, seen.append)
    assert [item.candidate for item in made] == [making.candidate(number) for number in range(3)]
    assert len(seen) == 3 and {id(item) for item in seen} == {id(item) for item in made}
    for item in made:
        assert isinstance(item, CompiledCandidate)
        assert {path.name for path in item.folder.iterdir()} == {OBJECT, CODE} == set(item.digests)
        assert item.folder.stat().st_mode & 0o077 == 0


def test_one_process_gives_the_same_files_as_workers(tmp_path: Path) -> None:
    apart = compile_candidates(jobs(tmp_path / "apart"), 60.0, 2)
    here = compile_candidates(jobs(tmp_path / "here"), 60.0, 1)
    for left, right in zip(apart, here, strict=True):
        assert isinstance(left, CompiledCandidate) and isinstance(right, CompiledCandidate)
        assert left.digests == right.digests


def test_a_second_batch_reuses_the_workers(tmp_path: Path) -> None:
    compile_candidates(jobs(tmp_path / "a", 2), 60.0, 2)
    before = set(idle_workers())
    compile_candidates(jobs(tmp_path / "b", 2), 60.0, 2)
    assert before and before & set(idle_workers())


def test_workers_started_early_are_used(tmp_path: Path) -> None:
    workers._pool(os.getpid()).close(os.getpid())
    workers._pool.cache_clear()
    start_workers(2)
    early = set(idle_workers())
    assert len(early) == 2
    start_workers(2)
    assert set(idle_workers()) == early
    assert all(isinstance(item, CompiledCandidate) for item in compile_candidates(jobs(tmp_path), 60.0, 2))
    assert set(idle_workers()) == early
    start_workers(1)
    assert set(idle_workers()) == early


def test_nothing_to_compile_starts_nothing(tmp_path: Path) -> None:
    assert compile_candidates([], 60.0, 4) == []


@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        ("crash", Outcome.COMPILE_CRASHED, "SIGSEGV"),
        ("killed", Outcome.COMPILE_CRASHED, "out of memory"),
        ("abort", Outcome.COMPILE_CRASHED, "LLVM ERROR: out of registers"),
        ("leave", Outcome.COMPILE_FAILED, "cannot go on"),
    ],
)
@pytest.mark.usefixtures("faulty")
def test_F_configs_vanish_but_a_dead_worker_is_a_row_with_its_reason(
    tmp_path: Path, fault: str, outcome: Outcome, words: str
) -> None:
    first, second, third = jobs(tmp_path)
    results = compile_candidates([first, with_fault(second, fault), third], 60.0, 2)
    row = rejected(results[1])
    assert (row.outcome, row.candidate) == (outcome, second.candidate)
    assert words in row.reason
    assert isinstance(results[0], CompiledCandidate) and isinstance(results[2], CompiledCandidate)
    assert not second.folder.exists()


@pytest.mark.usefixtures("faulty")
def test_a_candidate_that_takes_too_long_is_stopped_with_the_compiler_that_it_started(tmp_path: Path) -> None:
    first, second, third = jobs(tmp_path)
    note = tmp_path / "pid"
    start = time.monotonic()
    results = compile_candidates([with_fault(first, f"spawn {note}"), second, third], 3.0, 2)
    assert time.monotonic() - start < 30
    row = rejected(results[0])
    assert row.outcome is Outcome.COMPILE_TIMEOUT and "3 s" in row.reason
    assert all(isinstance(item, CompiledCandidate) for item in results[1:])
    assert wait_for(lambda: is_gone(int(note.read_text(encoding="utf-8"))))


@pytest.mark.usefixtures("faulty")
def test_prints_of_libraries_do_not_break_answers(tmp_path: Path) -> None:
    results = compile_candidates([with_fault(item, "chatter") for item in jobs(tmp_path)], 60.0, 2)
    assert all(isinstance(item, CompiledCandidate) for item in results)


@pytest.mark.parametrize("processes", [1, 2])
def test_F_all_configs_failing_reports_every_reason(tmp_path: Path, processes: int) -> None:
    broken = [replace(item, module="pto 1\nkernel k(") for item in jobs(tmp_path)]
    results = compile_candidates(broken, 60.0, processes)
    assert [rejected(item).outcome for item in results] == [Outcome.COMPILE_FAILED] * 3
    assert all("text-syntax" in rejected(item).reason for item in results)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_folder_that_cannot_be_written_is_a_reason(tmp_path: Path, processes: int) -> None:
    (tmp_path / "static_kernel").write_text("no folder", encoding="utf-8")
    results = compile_candidates(jobs(tmp_path, 2), 60.0, processes)
    assert all(rejected(item).outcome is Outcome.COMPILE_FAILED for item in results)
    assert "FileExistsError" in rejected(results[0]).reason or "NotADirectoryError" in rejected(results[0]).reason


def test_a_damaged_artefact_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (item,) = jobs(tmp_path, 1)
    item.folder.mkdir(parents=True)
    (item.folder / OBJECT).write_bytes(b"half")
    (item.folder / "left").write_bytes(b"over")
    (made,) = compile_candidates([item], 60.0, 1)
    assert isinstance(made, CompiledCandidate)
    assert {path.name for path in item.folder.parent.iterdir()} == {item.candidate.key()}
    assert {path.name for path in item.folder.iterdir()} == {OBJECT, CODE}


@pytest.mark.parametrize(("cores", "threads"), [(1, 0), (1, 1), (8, 1), (8, 0)])
def test_F_workers_can_become_0_on_one_core(monkeypatch: pytest.MonkeyPatch, cores: int, threads: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    with pypto.settings(compile_threads=threads):
        assert compile_processes() == (threads or cores)


@pytest.mark.parametrize("processes", [-3, 0, 1])
def test_F_workers_0_compiles_all_the_same(tmp_path: Path, processes: int) -> None:
    assert all(isinstance(item, CompiledCandidate) for item in compile_candidates(jobs(tmp_path), 60.0, processes))


def test_without_processes_candidates_compile_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers._pool(os.getpid()).close(os.getpid())
    workers._pool.cache_clear()
    monkeypatch.setattr(sys, "executable", "")
    with pytest.warns(RuntimeWarning, match="one after the other"):
        results = compile_candidates(jobs(tmp_path), 60.0, 2)
    assert all(isinstance(item, CompiledCandidate) for item in results)


def test_workers_that_never_start_leave_the_work_to_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers._pool(os.getpid()).close(os.getpid())
    workers._pool.cache_clear()
    monkeypatch.setattr(workers, "WORKER", "tests.tuning.no_such_module")
    with pytest.warns(RuntimeWarning, match="no_such_module"):
        results = compile_candidates(jobs(tmp_path), 60.0, 2)
    assert all(isinstance(item, CompiledCandidate) for item in results)


def test_a_script_beside_the_user_shadows_nothing_in_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('shadowed')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    workers._pool(os.getpid()).close(os.getpid())
    workers._pool.cache_clear()
    assert isinstance(compile_candidates(jobs(tmp_path), 60.0, 2)[0], CompiledCandidate)


PARENT = """
import os, sys, time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from pypto.runtime.tuning import workers
from tests.tuning.test_workers import jobs, with_fault
workers.WORKER = "tests.tuning.faulty_worker"
folder = Path(sys.argv[1])
items = jobs(folder, 2)
print("begin", flush=True)
try:
    workers.compile_candidates([with_fault(item, f"hang {folder}/pid{number}") for number, item in enumerate(items)], 60.0, 2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path: Path, sent: signal.Signals) -> None:
    notes = [tmp_path / f"pid{number}" for number in range(2)]
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        try:
            assert wait_for(lambda: all(note.exists() and note.read_text(encoding="utf-8") for note in notes), 60.0)
            parent.send_signal(sent)
            output, _ = parent.communicate(timeout=30)
        finally:
            parent.kill()
    pids = [int(note.read_text(encoding="utf-8")) for note in notes]
    assert wait_for(lambda: all(is_gone(pid) for pid in pids)), "a worker outlives its parent"
    assert sent is signal.SIGKILL or b"interrupted" in output


def test_a_fork_does_not_use_its_parents_workers(tmp_path: Path) -> None:
    compile_candidates(jobs(tmp_path / "parent", 2), 60.0, 2)
    before = sorted(idle_workers())
    child = os.fork()
    if child == 0:
        os._exit(0 if not list(idle_workers()) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sorted(idle_workers()) == before


def test_threads_compile_at_the_same_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        batches = [threads.submit(compile_candidates, jobs(tmp_path / str(n), 2), 60.0, 2) for n in range(3)]
        assert all(isinstance(item, CompiledCandidate) for batch in batches for item in batch.result())


def test_a_worker_whose_parent_died_while_it_started_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / f"{FOLDER_PREFIX}x"
    folder.mkdir()
    code = "from pypto.runtime.tuning.worker_main import main; main(1)"  # its parent is another process than 1
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout == b"" and not folder.exists()


def test_a_worker_can_be_started_by_hand() -> None:
    """It says that it is ready, and ends with its input."""
    command = [sys.executable, "-m", "pypto.runtime.tuning.worker_main"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert read_message(worker.stdout) == {"ready": worker.pid}
        worker.communicate(timeout=30)
    assert worker.returncode == 0
