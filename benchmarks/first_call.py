"""First calls and import times, each in a fresh process: cold (empty cache) and warm (object on disk)."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FIRST_CALL = """
import json, sys, time
import numpy as np
import pypto
sys.path.insert(0, {here!r})
from kernels import Workload
times = {{}}
for name in ("add", "softmax", "ln_gelu_add"):
    workload = Workload(name, (64, 1024))
    start = time.perf_counter()
    pypto.compile(workload.definition.kernel, target="cpu").execute(*workload.arrays, workload.out)
    times[name] = time.perf_counter() - start
print(json.dumps(times))
"""
IMPORT = "import time; start = time.perf_counter(); import numpy, {name}; print(time.perf_counter() - start)"


def run(code: str, **environment: str) -> str:
    root = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
        cwd=root,
    )
    return done.stdout


def first_calls(processes: int = 7) -> dict[str, dict[str, float]]:
    """Return median seconds of trace, compile and run: {"cold": {kernel: s}, "disk": {kernel: s}}.

    "add" comes first and pays for loading LLVM; the others show what each further kernel costs.
    """
    code = FIRST_CALL.format(here=str(Path(__file__).resolve().parent))
    samples: dict[str, list[dict[str, float]]] = {"cold": [], "disk": []}
    for _ in range(processes):
        with tempfile.TemporaryDirectory() as cache:
            for found in samples.values():
                found.append(json.loads(run(code, PYPTO_CACHE=cache)))
    return {
        kind: {name: statistics.median(item[name] for item in items) for name in items[0]}
        for kind, items in samples.items()
    }


def import_times(processes: int = 7) -> dict[str, float]:
    return {
        name: statistics.median(float(run(IMPORT.format(name=name))) for _ in range(processes))
        for name in ("pypto", "numpy", "torch")
    }
