"""Compiling candidates in parallel worker processes.

A worker that fails, hangs, or is killed costs one candidate, which becomes a row with its reason; the others go on.
Workers stay for the next kernel and end by themselves when they are idle for a minute or when this process ends,
however it ends. With one process jobs run here instead, with the same results but without the time limit.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pypto.ir.base import settings
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.channel import Message
from pypto.runtime.tuning.compiling import CompiledCandidate, CompileJob
from pypto.runtime.tuning.helper import START_LIMIT, Helper, HelperDied, Inbox

Compiled = CompiledCandidate | Trial
WORKER = "pypto.runtime.tuning.worker_main"
MOST_STARTS_IN_VAIN = 3
"""Workers in a row that may die before they are ready; then starting more would not help."""


def compile_processes() -> int:
    """Return how many processes compile, at least 1: the setting `compile_threads`, else one per core that this process
    may use.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, settings.current().compile_threads or cores)


def compile_candidates(
    jobs: Sequence[CompileJob],
    time_limit: float,
    processes: int,
    on_done: Callable[[Compiled], None] = lambda result: None,
) -> list[Compiled]:
    """Return for each job its compiled candidate, or a row that says why there is none, in the order of `jobs`.

    time_limit: seconds that one job may take. processes: how many run at once; below 2, and where processes cannot be
    started, jobs run in this one. on_done is called with each result as it comes.
    """
    batch = _Batch(jobs, time_limit, on_done)
    if not jobs:
        return []
    if processes > 1:
        try:
            with _pool(os.getpid()).lend(min(processes, len(jobs))) as crew:
                batch.run(crew)
        except OSError as error:
            warnings.warn(f"candidates compile one after the other: {error}", RuntimeWarning, stacklevel=2)
    batch.run_here()
    return batch.ordered()


def start_workers(processes: int) -> None:
    """Have so many workers started, without waiting for them, while the caller still finds out what to compile.

    Does nothing below 2, as `compile_candidates`, and where processes cannot be started.
    """
    if processes > 1:
        with contextlib.suppress(OSError):
            _pool(os.getpid()).start(processes)


@dataclass(slots=True)
class _Pool:
    """The idle workers of this process. Each call borrows some, so several threads may compile at once."""

    idle: list[Helper] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lend(self, most: int) -> _Crew:
        return _Crew(self, most)

    def start(self, count: int) -> None:
        """Start workers until `count` are idle."""
        with self.lock:
            while len(self.idle) < count:
                self.idle.append(Helper(WORKER))

    def take(self, inbox: Inbox) -> Helper | None:
        """Return a worker without a job, alive but perhaps not ready yet, from now on answering to `inbox`."""
        with self.lock:
            while self.idle:
                worker = self.idle.pop()
                if worker.answer_to(inbox):
                    return worker
                worker.kill()
        return None

    def close(self, process: int) -> None:
        """End the idle workers, unless this is a fork of the process that has them."""
        if os.getpid() == process:
            for worker in self.idle:
                worker.kill()

    def give_back(self, worker: Helper) -> None:
        with self.lock:
            self.idle.append(worker)


@functools.lru_cache(maxsize=1)
def _pool(process: int) -> _Pool:
    """Return the pool of a process: a forked child must not use its parent's workers."""
    pool = _Pool()
    atexit.register(pool.close, process)
    return pool


class _Crew:
    """The workers of one call: at most `most`. Leaving gives idle ones back and kills the others."""

    def __init__(self, pool: _Pool, most: int) -> None:
        self._pool, self._most = pool, most
        self.inbox: Inbox = queue.SimpleQueue()
        self.ready: list[Helper] = []
        self.starting: dict[Helper, float] = {}
        self.busy: dict[Helper, tuple[int, float]] = {}

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in (*self.busy, *self.starting):
            worker.kill()
        for worker in self.ready:
            self._pool.give_back(worker)

    def fill(self, wanted: int) -> None:
        """Have as many workers as `wanted` jobs can use."""
        while len(self.ready) + len(self.starting) + len(self.busy) < min(self._most, wanted + len(self.busy)):
            worker = self._pool.take(self.inbox) or Helper(WORKER, self.inbox)
            if worker.ready:
                self.ready.append(worker)
            else:
                self.starting[worker] = time.monotonic() + START_LIMIT

    def next_deadline(self) -> float:
        return min([*self.starting.values(), *(limit for _, limit in self.busy.values())])


class _Batch:
    """The jobs of one call, and what became of each."""

    def __init__(self, jobs: Sequence[CompileJob], time_limit: float, on_done: Callable[[Compiled], None]) -> None:
        self._jobs, self._limit, self._on_done = jobs, time_limit, on_done
        self._waiting = list(range(len(jobs)))
        self._results: dict[int, Compiled] = {}
        self._vain = 0

    def ordered(self) -> list[Compiled]:
        return [self._results[index] for index in range(len(self._jobs))]

    def run(self, crew: _Crew) -> None:
        """Run all jobs on workers; raises OSError when these cannot be started."""
        while len(self._results) < len(self._jobs):
            crew.fill(len(self._waiting))
            self._hand_out(crew)
            self._take_in(crew)

    def run_here(self) -> None:
        """Run what is left in this process."""
        from pypto.runtime.tuning.worker_main import try_compile

        for index in range(len(self._jobs)):
            if index not in self._results:
                self._finish(index, try_compile(self._jobs[index].message()))

    def _hand_out(self, crew: _Crew) -> None:
        while crew.ready and self._waiting:
            worker, index = crew.ready.pop(), self._waiting.pop(0)
            crew.busy[worker] = (index, time.monotonic() + self._limit)
            worker.send(self._jobs[index].message())

    def _take_in(self, crew: _Crew) -> None:
        wait = crew.next_deadline() - time.monotonic()
        try:
            worker, answer = crew.inbox.get(timeout=max(0.0, wait))
        except queue.Empty:
            self._end_late(crew)
            return
        if worker in crew.starting:
            self._started(crew, worker, answer)
        elif worker in crew.busy and not (answer and "ready" in answer):  # that it is ready may be said late
            self._answered(crew, worker, answer)

    def _started(self, crew: _Crew, worker: Helper, answer: Message | None) -> None:
        del crew.starting[worker]
        if answer is not None:
            self._vain = 0
            crew.ready.append(worker)
            return
        reason = str(worker.death())
        worker.kill()
        self._count_vain(reason)

    def _count_vain(self, reason: str) -> None:
        self._vain += 1
        if self._vain >= MOST_STARTS_IN_VAIN:
            raise OSError(f"compile workers do not start: {reason}")

    def _answered(self, crew: _Crew, worker: Helper, answer: Message | None) -> None:
        index, _ = crew.busy.pop(worker)
        if answer is not None:
            crew.ready.append(worker)
            self._finish(index, answer)
            return
        death = worker.death()
        worker.kill()
        if _ended_idle(death):  # it had decided to end before the job reached it
            self._waiting.insert(0, index)
        else:
            outcome = Outcome.COMPILE_CRASHED if death.signalled else Outcome.COMPILE_FAILED
            self._fail(index, outcome, str(death))

    def _end_late(self, crew: _Crew) -> None:
        now = time.monotonic()
        for worker in [item for item, limit in crew.starting.items() if limit <= now]:
            del crew.starting[worker]
            worker.kill()
            self._count_vain(f"not ready after {START_LIMIT:g} s")
        for worker, (index, _) in [item for item in crew.busy.items() if item[1][1] <= now]:
            del crew.busy[worker]
            worker.kill()
            self._fail(index, Outcome.COMPILE_TIMEOUT, f"compiling took longer than {self._limit:g} s")

    def _finish(self, index: int, answer: dict[str, Any]) -> None:
        job = self._jobs[index]
        if "failed" in answer:
            self._fail(index, Outcome.COMPILE_FAILED, answer["failed"])
            return
        made = CompiledCandidate(job.candidate, job.target, job.folder, answer["digests"], answer["seconds"])
        self._record(index, made)

    def _fail(self, index: int, outcome: Outcome, reason: str) -> None:
        self._record(index, Trial(self._jobs[index].candidate, outcome, reason))

    def _record(self, index: int, result: Compiled) -> None:
        self._results[index] = result
        self._on_done(result)


def _ended_idle(death: HelperDied) -> bool:
    return not death.signalled and str(death) == "the process ended with code 0"


def idle_workers() -> Iterator[int]:
    """Yield the process ids of this process's idle workers."""
    yield from (worker.pid for worker in _pool(os.getpid()).idle)
