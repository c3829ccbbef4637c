"""Bugs that other compilers had. Variance, and the order of NaN, equals and booleans."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from bugs.helpers import EVERYWHERE, F32, I64, INF, NAN, close, rng, run, same
from pypto import tile


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("correction", [0, 1])
def test_variance_of_offset_rows(target: str, correction: int) -> None:
    """As in pytorch/pytorch#197089."""

    @tile
    def k(x, out):
        out[:] = pypto.var(x, axis=-1, ddof=correction)

    i = np.arange(257) % 7
    x = np.stack([1e5 + i, 3.0 + i, np.full(257, 1e5)]).astype(F32)
    out = np.full(3, NAN, F32)
    run(k, x, out, target=target)
    close(out, np.var(x.astype(np.float64), axis=-1, ddof=correction), rtol=1e-3, atol=1e-6)
    one, out = np.array([[2.5], [-7.0]], F32), np.full(2, 9, F32)
    run(k, one, out, target=target)
    same(out, np.zeros(2, F32) if correction == 0 else np.full(2, NAN, F32))


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("count", [2, 5, 16, 37])
def test_nan_and_ties_in_max_and_argmax(target: str, count: int) -> None:
    """As in triton-lang/triton#10291."""

    @tile
    def k(x, m, a, b):
        m[:] = pypto.max(x, axis=-1)
        a[:] = pypto.argmax(x, axis=-1)
        b[:] = pypto.argmin(x, axis=-1)

    row = np.tile(np.array([-1.0, 3.0, 3.0, -1.0, 2.0], F32), 8)[:count]
    x = np.stack([row] * 6)
    x[1, 0] = NAN
    x[2, count - 1] = NAN
    x[3, :2] = [INF, NAN]
    x[4] = -INF
    x[5] = NAN
    m, a, b = np.zeros(6, F32), np.full(6, -7, I64), np.full(6, -7, I64)
    run(k, x, m, a, b, target=target)
    same(m, np.max(x, -1))
    same(a, np.argmax(x, -1))
    same(b, np.argmin(x, -1))


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 17])
def test_positions_of_booleans(target: str, count: int) -> None:
    """As in pytorch/pytorch#184893."""

    @tile
    def k(x, high, low):
        high[:] = pypto.argmax(x, axis=0)
        low[:] = pypto.argmin(x, axis=0)

    x = rng(count).integers(0, 2, (count, 32)).astype(bool)
    high, low = np.full(32, -1, I64), np.full(32, -1, I64)
    run(k, x, high, low, target=target)
    same(high, np.argmax(x, 0))
    same(low, np.argmin(x, 0))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_booleans_have_an_order(target: str) -> None:
    """As in pytorch/pytorch#184893."""

    @tile
    def k(x, y, less, most, rest, other):
        less[:] = x < y
        most[:] = x >= y
        rest[:] = x & ~y
        other[:] = x ^ y

    x, y = np.array([1, 1, 0, 0] * 9, bool), np.array([1, 0, 1, 0] * 9, bool)
    outputs = [np.zeros(36, bool) for _ in range(4)]
    run(k, x, y, *outputs, target=target)
    for got, want in zip(outputs, (x < y, x >= y, x & ~y, x ^ y), strict=True):
        same(got, want)
