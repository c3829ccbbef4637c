"""Compares the CPU target with NumPy, torch eager and torch.compile, all in one run.

    python benchmarks/cpu.py --quick             under a minute
    python benchmarks/cpu.py                     everything, about a quarter of an hour
    python benchmarks/cpu.py --kernels softmax row_sum --sizes 1024x1024 --threads 1
    python benchmarks/cpu.py --kernels matmul attention       products have sizes of their own

Rounds are interleaved: each round times every side once, so that a drift of the machine hits all alike; medians are
compared. Every side's result is checked against float64 before it is timed. The JSON file holds every sample, the
versions and the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypto

sys.path.insert(0, str(Path(__file__).resolve().parent))

from first_call import first_calls, import_times
from kernels import KERNELS, SIZES, Workload
from machine import describe

SIDES = ("pypto", "numpy", "torch", "inductor")
Side = Callable[[], Any]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS), choices=list(KERNELS))
    parser.add_argument("--sizes", nargs="*", default=["64x1024", "1024x1024", "4096x4096"], help="rows x columns")
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--sides", nargs="*", default=list(SIDES), choices=SIDES)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/cpu.json"))
    parser.add_argument("--quick", action="store_true", help="two kernels, 1024x1024, one thread, no first calls")
    parser.add_argument("--no-first-call", action="store_true", help="leave out first calls, overhead and import times")
    options = parser.parse_args(arguments)
    if options.quick:
        options.kernels, options.sizes, options.threads = ["ln_gelu_add", "softmax"], ["1024x1024"], [1]
        options.rounds, options.no_first_call = 7, True
    return options


def sample(side: Side, budget: float) -> float:
    """Return seconds per call, repeating a short call until the clock can see it."""
    start = time.perf_counter()
    side()
    once = time.perf_counter() - start
    repeats = max(1, min(1000, int(budget / max(once, 1e-7))))
    if repeats == 1:
        return once
    start = time.perf_counter()
    for _ in range(repeats):
        side()
    return (time.perf_counter() - start) / repeats


def measure(sides: dict[str, Side], rounds: int) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    for turn in range(rounds):
        names = list(sides)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            samples[name].append(sample(sides[name], 0.01))
    return samples


def row(workload: Workload, threads: int, options: argparse.Namespace) -> dict[str, Any]:
    with pypto.settings(num_threads=threads):
        sides = workload.sides(options.sides, threads)
        errors = {name: workload.error(side) for name, side in sides.items()}
        samples = measure(sides, options.rounds)
    return {
        "kernel": workload.name,
        "size": list(workload.size),
        "threads": threads,
        "largest_relative_error": errors,
        "seconds": {name: statistics.median(values) for name, values in samples.items()},
        "samples": samples,
    }


def show(result: dict[str, Any]) -> str:
    seconds = result["seconds"]
    ours = seconds.get("pypto")
    size = "x".join(map(str, result["size"]))
    cells = [f"{result['kernel']:<17}{size:>11}{result['threads']:>4}"]
    for name in SIDES:
        if name not in seconds:
            continue
        ratio = f" ({seconds[name] / ours:5.2f})" if ours and name != "pypto" else ""
        cells.append(f"{seconds[name] * 1e6:>10.1f}{ratio}")
    return "".join(cells)


def execute_overhead(rounds: int = 9) -> dict[str, float]:
    """Return seconds per call on 64x64 float32: x + y by each side."""
    workload = Workload("add", SIZES["64x64"])
    sides = workload.sides(("pypto", "numpy", "torch"), 1)
    return {name: statistics.median(values) for name, values in measure(sides, rounds).items()}


def points(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return sizes with kernels: the usual sizes, or a kernel's own."""
    own = [(size, name) for name in options.kernels for size in KERNELS[name].sizes]
    return own + [(size, name) for size in options.sizes for name in options.kernels if not KERNELS[name].sizes]


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    report: dict[str, Any] = {"machine": describe(), "rows": []}
    print(json.dumps(report["machine"], indent=1))
    header = "".join(f"{name + ' us':>{10 if name == 'pypto' else 18}}" for name in SIDES if name in options.sides)
    print(f"{'kernel':<17}{'size':>11}{'thr':>4}{header}      (in brackets: how many times slower than pypto)")
    for size, name in points(options):
        workload = Workload(name, tuple(map(int, size.split("x"))))
        for threads in options.threads:
            report["rows"].append(row(workload, threads, options))
            print(show(report["rows"][-1]), flush=True)
    if not options.no_first_call:
        report["execute_64x64"] = execute_overhead()
        report["first_call"] = first_calls()
        report["import_seconds"] = import_times()
        print(json.dumps({key: report[key] for key in ("execute_64x64", "first_call", "import_seconds")}, indent=1))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main(sys.argv[1:])
