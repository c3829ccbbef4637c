"""Ctrl-C during a long kernel: KeyboardInterrupt within 0.2 s, in a real process, and everything works afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# The process says when it starts a kernel of about 20 s, and then how late and as what the interrupt arrived, by the clock all processes share.
SCRIPT = """
import signal, sys, threading, time
import numpy as np
from hand_kernels import add_code, burn_code, launcher, read_all, LONG
from pypto.ir.base.settings import settings

threads, items, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
warm = np.ones((64, 64), np.float32)
launcher(add_code(64, 64), mode=LONG).run(read_all(x=warm, y=warm, out=warm.copy()))
{prepare}
out = np.zeros(items, np.int64)
long = launcher(burn_code(items, {turns}, polls={polls}))
fast = long.fast_call(read_all(out=out))
with settings(num_threads=threads):
    print("ready", flush=True)
    try:
        if path == "fast":
            assert fast(out) is True
        else:
            long.run(read_all(out=out))
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
    check = np.zeros_like(warm)
    launcher(add_code(64, 64), mode=LONG).run(read_all(x=warm, y=warm, out=check))
    assert (check == 2).all()
    quick = launcher(burn_code(4, 1000), mode=LONG)
    done = np.zeros(4, np.int64)
    quick.run(read_all(out=done))
    assert (done == 1000).all()
assert signal.getsignal(signal.SIGINT) is not None
{finish}
print("alive", flush=True)
"""


def start(
    threads: int, items: int, path: str, prepare: str = "", finish: str = "", **numbers: object
) -> subprocess.Popen[str]:
    options = {"turns": 20_000_000_000, "polls": True} | numbers
    script = SCRIPT.format(prepare=prepare, finish=finish, **options)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(threads), str(items), path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=TESTS.parent, env=_environment(),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready", process.communicate()[1]
    return process


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}


def finish(process: subprocess.Popen[str]) -> list[str]:
    try:
        output, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, error
    return output.splitlines()


@pytest.mark.parametrize("path", ["fast", "general"])
@pytest.mark.parametrize(("threads", "items"), [(1, 1), (1, 8), (2, 1), (2, 8), (3, 2)])
def test_a_long_kernel_is_interrupted(threads: int, items: int, path: str) -> None:
    process = start(threads, items, path)
    time.sleep(0.15)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    first, last = finish(process)
    word, when = first.split()
    assert word == "interrupted"
    assert float(when) - sent < 0.2
    assert last == "alive"


def test_a_handler_of_the_users_own_runs_between_chunks_and_may_go_on() -> None:
    prepare = "seen = []\nsignal.signal(signal.SIGINT, lambda *_: seen.append(1))"
    process = start(2, 200, "general", prepare, "assert seen == [1] and (out == 10_000_000).all()", turns=10_000_000)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert finish(process) == ["finished", "alive"]


def test_a_handler_that_raises_stops_the_kernel() -> None:
    prepare = "def stop(*_):\n    raise KeyboardInterrupt\nsignal.signal(signal.SIGINT, stop)"
    process = start(2, 100_000, "general", prepare, turns=10_000_000)
    time.sleep(0.1)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    first, last = finish(process)
    assert float(first.split()[1]) - sent < 0.2
    assert last == "alive"


def test_only_the_main_threads_call_is_interrupted() -> None:
    """A kernel of another Python thread runs to its end."""
    prepare = """
other = np.zeros(1, np.int64)
def work():
    launcher(burn_code(1, 300_000_000), mode=LONG).run(read_all(out=other))
thread = threading.Thread(target=work)
thread.start()
"""
    process = start(2, 4, "fast", prepare, "thread.join()\nassert other[0] == 300_000_000")
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    lines = finish(process)
    assert lines[0].startswith("interrupted")
    assert lines[-1] == "alive"


def test_repeated_interrupts_leave_the_handler_in_place() -> None:
    finish_text = """
for _ in range(20):
    timer = threading.Timer(0.01, lambda: signal.raise_signal(signal.SIGINT))
    try:
        timer.start()  # on a busy machine the interrupt may come before the launch
        launcher(burn_code(2, 20_000_000_000)).run(read_all(out=np.zeros(2, np.int64)))
        raise SystemExit("not interrupted")
    except KeyboardInterrupt:
        timer.join()
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
    process = start(2, 1, "fast", "", finish_text)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert finish(process)[-1] == "alive"


def test_a_child_forked_during_a_call_of_the_main_thread() -> None:
    """The child inherits the handler in place at that moment; interrupts work in it, the first and the later ones."""
    prepare = """
import os
def child():
    quick = burn_code(2, 20_000_000_000)
    for _ in range(3):
        timer = threading.Timer(0.02, lambda: signal.raise_signal(signal.SIGINT))
        try:
            timer.start()
            launcher(quick, mode=LONG).run(read_all(out=np.zeros(2, np.int64)))
            return 1
        except KeyboardInterrupt:
            timer.join()
    return 0
codes = []
def fork():
    time.sleep(0.1)
    pid = os.fork()
    if pid == 0:
        os._exit(child())
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=fork)
thread.start()
"""
    process = start(1, 1, "general", prepare, "thread.join()\nassert codes == [0], codes")
    lines = finish(process)
    assert lines[0].startswith("interrupted")
    assert lines[-1] == "alive"
