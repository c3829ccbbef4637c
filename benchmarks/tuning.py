"""Compares what the static model of the CPU ranks first with exhaustive measurement, kernel by kernel.

    python benchmarks/tuning.py                                    20 kernels x shapes, about three minutes
    python benchmarks/tuning.py --cases "softmax 1024x64" --show   one of them, with every candidate

Every candidate of the space that is made from a kernel's axes is compiled and measured on one thread, in interleaved
rounds, by the thread's CPU time, so that other work on the machine hits all alike and waiting does not count. The truth
is each candidate's shortest time. TopN = 10 picks among the ten that the model ranks first and the default, by what
every other round says; the static top 1 is the first of them, unmeasured. Shortest times throughout: medians compare
fairly only where the other users of the caches and of the memory are as busy in all rounds.

Goals: TopN within 5% of the best in at least 18 of 20, top 1 within 15% in at least 15 of 20.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypto
from pypto.automatic_space import automatic_space
from pypto.codegen.llvm.emitter import emit
from pypto.ir.nodes import Module
from pypto.ir.schedule import with_schedule
from pypto.runtime.arguments import read
from pypto.runtime.launcher import Launcher
from pypto.runtime.toolchain import compile_code, host_machine
from pypto.runtime.tuning.candidate import Candidate
from pypto.runtime.tuning.models import model_for
from pypto.runtime.tuning.ranking import best, rank

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kernels import Workload

CASES = (
    "add 1024x1024", "gelu_chain 64x1024", "gelu_chain 1024x1024", "gelu_chain 4096x4096", "softmax 1024x64",
    "softmax 1024x1024", "softmax 2048x4096", "layer_norm 64x1024", "layer_norm 4096x4096", "ln_gelu_add 1024x1024",
    "row_sum 4096x4096", "column_sum 1024x1024", "matmul 256x256", "matmul_bias_relu 512x512", "linear 4x1024",
    "linear 256x1024", "attention 8x512x64", "conv2d 4x64x28x28", "argmax 1024x1024", "embedding 64x1024",
)  # fmt: skip
TOPN, NEAR, FIRST = 10, 1.05, 1.15
WANTED = {"near": 18, "first": 15}
CLOSE = 1.25
"""Candidates that took so many times as long as the best, at most, get all rounds."""
BUDGET = 0.004
"""Seconds of one sample."""


@dataclass
class Result:
    """One case: candidates in the order of the model, with all samples of each in seconds."""

    case: str
    ranked: list[Candidate]
    samples: list[list[float]]

    @property
    def truth(self) -> list[float]:
        return [min(samples) for samples in self.samples]

    def ratio(self, position: int) -> float:
        return self.truth[position] / min(self.truth)

    @property
    def default(self) -> int:
        return next(place for place, item in enumerate(self.ranked) if item.is_default)

    @property
    def winner(self) -> int:
        """The one that TopN = 10 picks, by half of the rounds."""
        kept, _ = best(self.ranked, TOPN)
        places = [self.ranked.index(item) for item in kept]
        return min(places, key=lambda place: min(self.samples[place][::2]))

    def row(self) -> str:
        cells = f"{self.case:<26}{len(self.ranked):>5}{min(self.truth) * 1e6:>11.1f}{self.ratio(self.default):>9.2f}"
        marks = [f"{self.ratio(place):>9.2f}{' ' if self.ratio(place) <= most else '*'}" for place, most in
                 ((0, FIRST), (self.winner, NEAR))]  # fmt: skip
        return cells + "".join(marks) + f"  {self.ranked[self.truth.index(min(self.truth))].describe()}"

    def table(self) -> str:
        order = sorted(range(len(self.ranked)), key=lambda place: self.truth[place])
        return "\n".join(
            f"    {self.truth[place] * 1e6:>10.1f} us  modelled {(self.ranked[place].predicted or 0) * 1e6:>10.1f}"
            f"  place {place + 1:>3}  {self.ranked[place].describe()}"
            for place in order
        )


def traced(workload: Workload) -> tuple[list[str], Module]:
    kernel = workload.definition.kernel
    names = list(kernel.signature.parameters)
    shapes = {name: array.shape for name, array in zip(names, (*workload.arrays, workload.out), strict=True)}
    return names, pypto.compile(kernel, target="cpu", shapes=shapes).module_at("tile")


def launch(module: Module, names: list[str], workload: Workload) -> Callable[[], Any]:
    """Return a call of a compiled candidate."""
    code = emit(module, {}, host_machine())
    launcher = Launcher(code, compile_code(code, host_machine()), (names[-1],))
    values = (*workload.arrays, workload.out)
    arguments = [read(name, value) for name, value in zip(names, values, strict=True)]
    launcher.run(arguments)
    fast = launcher.fast_call(arguments)
    return lambda: fast(*values)


def sample(call: Callable[[], Any], repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - start) / repeats


def measure(calls: list[Callable[[], Any]], kept: set[int], rounds: int) -> list[list[float]]:
    """Return the samples of each call: a third of the rounds for all, the rest for those that may matter: `kept`, and
    those near the best.
    """
    repeats = [max(1, min(2000, int(BUDGET / max(1e-7, sample(call, 2))))) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds):
        chosen = list(range(len(calls)))
        if turn >= rounds // 3:
            most = CLOSE * min(min(item) for item in samples)
            chosen = [place for place in chosen if place in kept or min(samples[place]) <= most]
        start = turn * len(chosen) // rounds  # each round begins with another one
        for place in chosen[start:] + chosen[:start]:
            samples[place].append(sample(calls[place], repeats[place]))
    return samples


def run(case: str, rounds: int) -> Result:
    name, size = case.split()
    workload = Workload(name, tuple(map(int, size.split("x"))))
    names, module = traced(workload)
    with pypto.settings(num_threads=1, cache="off"):
        found = automatic_space(module, "cpu").candidates(module, "cpu")
        ranked = list(rank(found.usable, module, model_for("cpu", {})))
        calls = [launch(with_schedule(module, item.schedule), names, workload) for item in ranked]
        kept = {ranked.index(item) for item in best(ranked, TOPN)[0]}
        return Result(case, ranked, measure(calls, kept, rounds))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=list(CASES), help="kernels of kernels.py with their sizes")
    parser.add_argument("--rounds", type=int, default=18)
    parser.add_argument("--show", action="store_true", help="print every candidate")
    parser.add_argument("--output", type=Path, help="JSON file for all samples")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    print(f"{'kernel':<26}{'tried':>5}{'best us':>11}{'default':>9}{'top 1':>9} {'top 10':>9}   (times the best)")
    results = []
    for case in options.cases:
        results.append(run(case, options.rounds))
        print(results[-1].row(), flush=True)
        if options.show:
            print(results[-1].table())
    near = sum(result.ratio(result.winner) <= NEAR for result in results)
    first = sum(result.ratio(0) <= FIRST for result in results)
    print(f"winner of TopN = {TOPN} within 5% of the best: {near} of {len(results)}")
    print(f"static top 1 within 15% of the best: {first} of {len(results)}")
    if options.output:
        rows = [
            {"case": item.case, "candidates": [candidate.describe() for candidate in item.ranked],
             "modelled": [candidate.predicted for candidate in item.ranked], "samples": item.samples}
            for item in results
        ]  # fmt: skip
        options.output.write_text(json.dumps(rows))
    return 0 if len(results) != len(CASES) or (near >= WANTED["near"] and first >= WANTED["first"]) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
