"""Bugs that other compilers had. Kernels in other processes."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

import pypto
from bugs.helpers import F32, rng, same
from pypto import tile


@tile
def module_kernel(x, out):
    out[:] = x * 3.0


def child(blob: bytes | None, queue: Any) -> None:
    compiled = pickle.loads(blob) if blob else pypto.compile(module_kernel, target="cpu")
    x, out = np.arange(9, dtype=F32), np.zeros(9, F32)
    compiled.execute(x, out)
    queue.put(bool((out == x * 3).all()))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_pickling_and_forking_compiled_kernels(method: str) -> None:
    """As in numba/numba#7641."""
    compiled = pypto.compile(module_kernel, target="cpu")
    x, out = rng(1).random((300, 300)).astype(F32), np.zeros((300, 300), F32)
    compiled.execute(x, out)  # worker threads now exist
    same(out, x * F32(3))
    blob = None
    if method == "spawn":
        try:
            blob = pickle.dumps(compiled)
        except (pypto.UserError, pickle.PicklingError):
            blob = None  # a clear refusal is fine
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=child, args=(blob, queue), daemon=True)
    process.start()
    try:
        assert queue.get(timeout=60) is True
    finally:
        process.join(5)
        if process.is_alive():
            process.kill()
