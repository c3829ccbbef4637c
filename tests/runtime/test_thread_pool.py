"""The thread pool: the same bits whatever the threads, the load and the callers."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from hand_kernels import LONG, add_code, burn_code, launcher, read_all, two_phase_code, two_phase_expected
from pypto.ir.base.settings import settings
from pypto.runtime.native import native, plan, thread_count

RNG = np.random.default_rng(5)


def input_rows(rows: int, columns: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal((rows, columns)).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 257])
@pytest.mark.parametrize("grain", [1, 3, 64])
def test_same_bits_with_any_number_of_threads(rows: int, grain: int) -> None:
    x = input_rows(rows, 33)
    run = launcher(two_phase_code(rows, 33, grain), mode=LONG)
    expected = two_phase_expected(x, 0.3)
    for threads in (1, 2, 3, 8):
        with settings(num_threads=threads):
            for _ in range(5):
                out = np.full_like(x, np.nan)
                run.run(read_all(x=x, factor=0.3, out=out))
                np.testing.assert_array_equal(out, expected)


def test_many_tiny_chunks_are_each_done_once() -> None:
    run = launcher(burn_code(100_003, 1), mode=LONG)
    for threads in (1, 2, 3):
        out = np.zeros(100_003, np.int64)
        with settings(num_threads=threads):
            run.run(read_all(out=out))
        assert (out == 1).all()


def test_same_bits_on_a_busy_machine() -> None:
    """Other processes burn all cores; the caller works on and never waits for a helper that has not started."""
    burner = "import time\nend = time.time() + 4\nwhile time.time() < end: pass"
    burners = [subprocess.Popen([sys.executable, "-c", burner]) for _ in range(4)]
    try:
        x = input_rows(211, 257)
        run = launcher(two_phase_code(211, 257), mode=LONG)
        expected = two_phase_expected(x, -1.5)
        with settings(num_threads=3):
            for _ in range(60):
                out = np.full_like(x, np.nan)
                run.run(read_all(x=x, factor=-1.5, out=out))
                np.testing.assert_array_equal(out, expected)
    finally:
        for process in burners:
            process.kill()
            process.wait()


@pytest.mark.parametrize("native_path", [True, False])
def test_eight_python_threads_call_one_kernel(native_path: bool) -> None:
    """All use one launcher, whose scratch, workspace and intermediate must not be shared between calls in flight."""
    run = launcher(two_phase_code(97, 129), mode=LONG, raw_fields=native_path)
    failures: list[str] = []
    start = threading.Barrier(8)

    def call(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal((97, 129)).astype(np.float32)
        factor = seed / 7
        expected, out = two_phase_expected(x, factor), np.zeros_like(x)
        fast = run.fast_call(read_all(x=x, factor=factor, out=out))
        start.wait()
        with settings(num_threads=1 + seed % 3):
            for _ in range(40):
                out[:] = np.nan
                if fast(x, factor, out) is NotImplemented:
                    run.run(read_all(x=x, factor=factor, out=out))
                if not np.array_equal(out, expected):
                    failures.append(f"thread {seed}")

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures


def test_different_kernels_at_the_same_time() -> None:
    def call(rows: int, failures: list[int]) -> None:
        x = np.random.default_rng(rows).standard_normal((rows, 65)).astype(np.float32)
        run, expected = launcher(two_phase_code(rows, 65), mode=LONG), two_phase_expected(x, 2.0)
        for _ in range(30):
            out = np.full_like(x, np.nan)
            run.run(read_all(x=x, factor=2.0, out=out))
            if not np.array_equal(out, expected):
                failures.append(rows)

    failures: list[int] = []
    threads = [threading.Thread(target=call, args=(rows, failures)) for rows in (50, 83, 120, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures


def test_workers_inherit_the_float_mode_and_nobody_changes_it() -> None:
    """With subnormals flushed in the caller, every chunk flushes; afterwards the caller's mode is as before."""
    torch = pytest.importorskip("torch")
    mode = ctypes.CFUNCTYPE(ctypes.c_uint64)(native().library.address("get_float_mode_now"))
    tiny = np.full((4096, 64), 1e-40, np.float32)
    out = np.empty_like(tiny)
    run = launcher(add_code(4096, 64, 1), mode=LONG)
    with settings(num_threads=3):
        run.run(read_all(x=tiny, y=tiny, out=out))
        assert (out == np.float32(1e-40) * 2).all()
        assert torch.set_flush_denormal(True)
        try:
            before = mode() & ~0x3F  # the sticky exception flags aside
            for _ in range(20):
                run.run(read_all(x=tiny, y=tiny, out=out))
                assert not out.view(np.uint32).any()
            assert mode() & ~0x3F == before
        finally:
            torch.set_flush_denormal(False)
        run.run(read_all(x=tiny, y=tiny, out=out))
        assert (out.view(np.uint32) != 0).all()


def test_number_of_threads_follows_the_settings() -> None:
    with settings(num_threads=5):
        assert thread_count() == 5
        assert plan() & 255 == 5
    with settings(num_threads=1000):
        assert thread_count() == 255
    assert thread_count() >= 1


def test_short_calls_keep_one_thread_and_long_ones_take_more() -> None:
    x = np.ones((4, 4), np.float32)
    small = launcher(add_code(4, 4, 1))
    small.run(read_all(x=x, y=x, out=np.empty_like(x)))
    assert 0 < small.nanoseconds
    long = launcher(burn_code(8, 200_000))
    out = np.zeros(8, np.int64)
    with settings(num_threads=2):
        for _ in range(2):  # the first call measures
            long.run(read_all(out=out))
    worker_count = ctypes.CFUNCTYPE(ctypes.c_int)(native().library.address("worker_count"))
    assert worker_count() >= 1
    assert (out == 200_000).all()
