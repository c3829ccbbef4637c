"""Forked children: no worker threads, free locks, the same results."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from hand_kernels import LONG, add_code, burn_code, launcher, read_all, two_phase_code, two_phase_expected
from pypto.ir.base.settings import settings

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(work: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Return what `work` returns in a forked child; a child that hangs counts as False."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False


def right_result(rows: int = 97) -> bool:
    x = np.random.default_rng(rows).standard_normal((rows, 65)).astype(np.float32)
    run, out = launcher(two_phase_code(rows, 65), mode=LONG), np.zeros_like(x)
    fast = run.fast_call(read_all(x=x, factor=0.5, out=out))
    for _ in range(20):
        out[:] = np.nan
        if fast(x, 0.5, out) is NotImplemented:
            run.run(read_all(x=x, factor=0.5, out=out))
        if not np.array_equal(out, two_phase_expected(x, 0.5)):
            return False
    return True


@pytest.fixture(autouse=True)
def _three_threads() -> object:
    with settings(num_threads=3):
        yield


def test_fork_after_use() -> None:
    assert right_result()
    assert in_child(right_result)
    assert right_result()


def test_a_launcher_made_before_the_fork_works_in_both() -> None:
    x = np.ones((64, 64), np.float32)
    run, out = launcher(add_code(64, 64), mode=LONG), np.zeros_like(x)
    fast = run.fast_call(read_all(x=x, y=x, out=out))
    fast(x, x, out)

    def child() -> bool:
        out[:] = 0
        return fast(x, x, out) is True and bool((out == 2).all())

    assert in_child(child)
    out[:] = 0
    assert fast(x, x, out) is True
    assert (out == 2).all()


def test_fork_while_another_thread_launches() -> None:
    """The other thread holds the workers, its frame and the working memory at the fork; the child has none of its threads."""
    run, out = launcher(burn_code(40, 2_000_000), mode=LONG), np.zeros(40, np.int64)
    shared = np.zeros(40, np.int64)
    fast = run.fast_call(read_all(out=out))
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            run.run(read_all(out=out))
            right_result(30)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(8):
            time.sleep(0.01)
            assert in_child(lambda: fast(shared) is True and bool((shared == 2_000_000).all()) and right_result(31))
    finally:
        stop.set()
        thread.join(30)


def test_fork_while_another_thread_compiles() -> None:
    """LLVM's locks are free in the child, which compiles too."""
    stop = threading.Event()

    def work() -> None:
        number = 0
        with settings(cache="off"):
            while not stop.is_set():
                number += 1
                launcher(add_code(4, 4, name=f"add_{number}"))

    def child() -> bool:
        with settings(cache="off"):
            return right_result(23)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(8):
            time.sleep(0.003)
            assert in_child(child)
    finally:
        stop.set()
        thread.join(30)


def test_children_of_children() -> None:
    assert right_result()
    assert in_child(lambda: right_result(11) and in_child(lambda: right_result(12)) and right_result(13))
