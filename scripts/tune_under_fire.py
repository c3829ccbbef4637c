"""Many processes tune one kernel while some of them are killed: python scripts/tune_under_fire.py --rounds 200

Each round has a new cache folder, in which all processes tune the same kernel at once; some get SIGKILL at random
moments. Checked in every round: no committed result is measured again, a killed tuner is taken over, no file is
damaged, no committed result is lost, all survivors have the same winner, and nobody waits for ever. One round in
`--real-every` compiles in worker processes and measures in a session of its own; the others do both in the tuning
process, so that kills fall more often into the bookkeeping.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pypto
from pypto.runtime.tuning import store as stores
from pypto.runtime.tuning.artefacts import ArtefactFolder
from pypto.runtime.tuning.measuring import measure as measuring
from pypto.runtime.tuning.store import TuningStore

SPACE = pypto.TilingSearchSpace(tile_m=[2, 4, 8, 16])
SHAPE = (16, 64)
LONGEST_ROUND = 120.0  # seconds


@pypto.tile
def kernel(x: Any, out: Any) -> None:
    out[:] = pypto.exp(x) * 2.0 + 1.0


class Events:
    """A file to which processes append lines, each in one write: time, process, what, which."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._path = path

    def add(self, what: str, which: str = "-") -> None:
        os.write(self._handle, f"{time.monotonic()} {os.getpid()} {what} {which}\n".encode())

    def read(self) -> list[tuple[float, int, str, str]]:
        lines = [line.split() for line in self._path.read_text().splitlines()]
        return [(float(at), int(who), what, which) for at, who, what, which in lines]


def observe(events: Events) -> None:
    """Note in this process what it measures and commits, and when it holds the lock."""
    measure, write, tuning = measuring.measure, TuningStore.write, ArtefactFolder.tuning

    def noted_measure(built: Any, *others: Any) -> Any:
        for item in built:
            events.add("measures", item.candidate.key())
        return measure(built, *others)

    def noted_write(self: TuningStore, rows: Any) -> bool:
        made = tuple(rows)
        stored = write(self, made)
        for row in made:
            if stored and row.table in ("timings", "choices"):
                events.add("committed" if row.table == "timings" else "chose", row.name)
        return stored

    @contextlib.contextmanager
    def noted_tuning(self: ArtefactFolder, wait: float) -> Iterator[None]:
        with tuning(self, wait):
            events.add("holds")
            yield
            events.add("leaves")

    measuring.measure = noted_measure
    TuningStore.write = noted_write  # type: ignore[method-assign]
    ArtefactFolder.tuning = noted_tuning  # type: ignore[method-assign,assignment]


def tune(folder: Path, real: bool) -> pypto.TuningResult:
    x = np.random.default_rng(0).random(SHAPE).astype(np.float32)
    options: dict[str, Any] = {"cold_cache": False, "warmup_seconds": 0.0002, "measure_seconds": 0.001}
    if not real:
        options["do_bench"] = bench
    with pypto.settings(cache=folder / "cache", compile_threads=2 if real else 1):
        cache = pypto.TilingCache(folder / "tuning.db")
        return pypto.auto_tune(kernel, args=(x, np.zeros_like(x)), search_space=SPACE, cache=cache, **options)


def bench(launch: Callable[[], Any], quantiles: Any) -> float:
    start = time.perf_counter()
    launch()
    return (time.perf_counter() - start) * 1e3


def start(folder: Path, events: Events, real: bool) -> int:
    """Start a process that tunes and says what it chose; returns its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        warnings.simplefilter("error")
        stores.warn_once.cache_clear()
        observe(events)
        events.add("result", tune(folder, real).candidate.key())
        code = 0
    except BaseException as error:  # a child must not return into the parent's loop
        sys.stderr.write(f"process {os.getpid()}: {type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def one_round(folder: Path, generator: random.Random, processes: int, real: bool) -> dict[str, Any]:
    """Run one round; returns its figures. Raises AssertionError for what may not happen."""
    events = Events(folder / "events")
    began = time.monotonic()
    alive = {start(folder, events, real) for _ in range(processes)}
    longest = 3.0 if real else 0.6
    kills = sorted(generator.random() * longest for _ in range(processes * 3 // 8))
    killed: dict[int, float] = {}
    codes: dict[int, int] = {}
    while alive:
        assert time.monotonic() - began < LONGEST_ROUND, "a process waits for ever"
        if kills and time.monotonic() - began >= kills[0]:
            kills.pop(0)
            victim = pick(events, sorted(alive), generator)
            killed[victim] = time.monotonic()
            os.kill(victim, signal.SIGKILL)
        for child in list(alive):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                alive.remove(child)
                codes[child] = os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    assert all(code == 0 or child in killed for child, code in codes.items()), codes
    return {**check(folder, events.read(), killed, real), "seconds": time.monotonic() - began, "killed": len(killed)}


def pick(events: Events, alive: list[int], generator: random.Random) -> int:
    """Return a process to kill: in two cases of three the one that tunes now."""
    holders = [who for _, who, what, _ in events.read() if what == "holds"]
    return holders[-1] if holders and holders[-1] in alive and generator.random() < 2 / 3 else generator.choice(alive)


def check(
    folder: Path, events: list[tuple[float, int, str, str]], killed: dict[int, float], real: bool
) -> dict[str, Any]:
    committed: dict[str, tuple[float, int]] = {}
    again = 0
    for at, who, what, which in sorted(events):
        if what == "committed":
            committed.setdefault(which, (at, who))
        elif what == "measures" and which in committed and committed[which][1] != who:
            again += 1
    assert again == 0, f"{again} committed results were measured again"
    chosen = {which for _, _, what, which in events if what == "result"}
    final = tune(folder, real)
    assert final.from_cache and chosen <= {final.candidate.key()}, (chosen, final)
    cache = pypto.TilingCache(folder / "tuning.db")
    kept = {row.name for row in cache.rows.rows("timings")}
    assert set(committed) <= kept, "a committed result is lost"
    assert cache.verify() == [], cache.verify()
    assert not list(folder.glob("*.damaged-*")), "a file was damaged"
    return {"takeovers": takeovers(sorted(events), killed), "committed": len(committed)}


def takeovers(events: list[tuple[float, int, str, str]], killed: dict[int, float]) -> list[float]:
    """Return the seconds from the death of each process that held the lock to the next one that holds it."""
    found = []
    for victim, died in killed.items():
        own = [what for at, who, what, _ in events if who == victim and what in ("holds", "leaves") and at <= died]
        if own and own[-1] == "holds":
            later = [at for at, who, what, _ in events if what == "holds" and at >= died and who != victim]
            if later:
                found.append(later[0] - died)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--real-every", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as warm:
        tune(Path(warm), False)  # so that forked processes need not import what it needs
    rounds = []
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="pypto-fire-") as name:
            real = options.real_every > 0 and number % options.real_every == options.real_every - 1
            rounds.append(one_round(Path(name), generator, options.processes, real))
    waits = [item for round_ in rounds for item in round_["takeovers"]]
    print(f"{len(rounds)} rounds of {options.processes} processes, {sum(r['killed'] for r in rounds)} of them killed")
    print(
        f"{len(waits)} killed while they held the lock; taken over after {statistics.median(waits or [0]):.3f} s "
        f"(median), {max(waits or [0]):.3f} s (longest)"
    )
    print(f"{sum(r['committed'] for r in rounds)} results committed, none measured again, none lost, no file damaged")
    print(
        f"rounds took {statistics.median(r['seconds'] for r in rounds):.2f} s (median), "
        f"{max(r['seconds'] for r in rounds):.2f} s (longest)"
    )


if __name__ == "__main__":
    main()
