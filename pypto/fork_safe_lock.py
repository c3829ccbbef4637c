"""A lock that a forked child never finds taken."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ForkSafeLock:
    """A re-entrant lock for ``with``. A child process gets a new one: the thread that held it does not exist there."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self._start()
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
