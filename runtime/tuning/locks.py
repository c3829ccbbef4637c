"""Locks between processes that the system releases when their holder dies, however it dies.

A lock is a record lock on a file (`fcntl.lockf`), never the existence of a file or a process id in it: nothing is left
to clean up after SIGKILL, and a child that forks off a tuning process does not keep its lock. Threads of one process
exclude each other by a lock in memory, since record locks belong to processes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

POLL_SECONDS = 0.02
OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_THREAD_LOCKS: dict[tuple[str, int], threading.Lock] = {}
"""By path and process; what may exclude threads has to be one object for all of them."""

LOGGER = logging.getLogger("pypto.tuning")


class LockTimeout(OSError):
    """Another process or thread kept the lock for longer than the caller wanted to wait."""


@contextlib.contextmanager
def locked(path: Path, wait: float, waiting: str = "") -> Iterator[None]:
    """Hold the lock of the file `path` (made if missing, mode 0600), waiting for it at most `wait` seconds.

    `waiting` is logged once when somebody else holds it. Raises LockTimeout, or OSError when the file cannot be used.
    """
    deadline = time.monotonic() + wait
    said: list[str] = []

    def pause() -> None:
        if waiting and not said:
            said.append(waiting)
            LOGGER.info("%s", waiting)
        if time.monotonic() >= deadline:
            raise LockTimeout(f"{path} was locked for more than {wait:.0f} s")
        time.sleep(POLL_SECONDS)

    # a forked child has its own locks: the thread that held one of these does not exist there
    among_threads = _THREAD_LOCKS.setdefault((os.path.abspath(path), os.getpid()), threading.Lock())
    with _of_this_process(among_threads, pause):
        handle = _open_locked(path, pause)
        try:
            yield
        finally:
            os.close(handle)  # which releases it


@contextlib.contextmanager
def _of_this_process(lock: threading.Lock, pause: Callable[[], None]) -> Iterator[None]:
    while not lock.acquire(blocking=False):
        pause()
    try:
        yield
    finally:
        lock.release()


def _open_locked(path: Path, pause: Callable[[], None]) -> int:
    """Return a descriptor of the locked file; one that was removed while we waited for it locks nothing: try again."""
    while True:
        handle = os.open(path, OPEN_FLAGS, 0o600)
        try:
            _lock_file(handle, pause)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock_file(handle: int, pause: Callable[[], None]) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover  # Windows: its own byte-range locks behave alike
        _lock_region(handle, pause)
        return
    while True:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, as the system likes
            pause()


def _lock_region(handle: int, pause: Callable[[], None]) -> None:  # pragma: no cover
    import msvcrt

    while True:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            return
        except OSError:
            pause()
