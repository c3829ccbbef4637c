"""Measures what merging linked stages is worth: three elementwise stages, merged and as kernels of their own.

    python benchmarks/graph.py                 4096x4096, about 10 s
    python benchmarks/graph.py --size 1024

Rounds are interleaved; medians are compared. Both results are checked to be the same bits first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import pypto
from pypto import tile

sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import describe


@tile(shape=(64, 64))
def scale(x, y):
    y[:] = x * 2.0 + 1.0


@tile(shape=(64, 64))
def clip(y, z):
    z[:] = pypto.maximum(y, 0.5) - 0.25


@tile(shape=(64, 64))
def square(z, out):
    out[:] = z * z


def measure(size: int, rounds: int) -> dict[str, object]:
    """Return milliseconds per call, merged and separate, and their ratio."""
    x = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    sides = {"merged": True, "separate": False}
    kernels = {name: pypto.compile([scale, clip, square], {"enable_fusion": merged}) for name, merged in sides.items()}
    results = {name: np.zeros_like(x) for name in sides}
    for name, kernel in kernels.items():
        kernel.execute(x, results[name])
    assert np.array_equal(results["merged"], results["separate"])
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, kernel in kernels.items():
            start = time.perf_counter()
            kernel.execute(x, results[name])
            samples[name].append((time.perf_counter() - start) * 1e3)
    medians = {name: statistics.median(values) for name, values in samples.items()}
    return {"size": size, **medians, "ratio": medians["separate"] / medians["merged"], "samples": samples}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096, help="rows and columns")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/graph.json"))
    options = parser.parse_args()
    found = measure(options.size, options.rounds)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"machine": describe(), **found}, indent=1))
    print(f"3 stages of {options.size}x{options.size} f32: {found['merged']:.2f} ms merged, ", end="")
    print(f"{found['separate']:.2f} ms separate, {found['ratio']:.2f} times faster")


if __name__ == "__main__":
    main()
