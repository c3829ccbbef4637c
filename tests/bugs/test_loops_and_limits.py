"""Bugs that other compilers had. Carried state, and kernels larger than usual."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from bugs.helpers import (
    EVERYWHERE,
    F32,
    NAN,
    close,
    from_source,
    rng,
    run,
    same,
)
from pypto import tile


@pytest.mark.parametrize("target", EVERYWHERE)
def test_read_then_overwrite_in_a_loop(target: str) -> None:
    """As in tile-ai/tilelang#2668."""

    def make(n):
        @tile
        def k(x, w, out):
            for i in pypto.loop(n):
                out[i, :] = w[:] + 1.0  # reads what the last turn left
                w[:] = x[i, :] * 2.0

        return k

    for n in (1, 2, 3, 8, 13):
        for m in (16, 77):
            x, w = rng(n).random((n, m)).astype(F32), np.full(m, 0.25, F32)
            out = np.zeros((n, m), F32)
            run(make(n), x, w, out, target=target)
            prev = np.concatenate([np.full((1, m), 0.25, F32), x[:-1] * F32(2)])
            same(out, prev + F32(1))
            same(w, x[-1] * F32(2))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_loops_of_zero_one_and_two_turns(target: str) -> None:
    """As in tile-ai/tilelang#2566 and hw-native-sys/PTOAS#533."""

    def make(n):
        @tile
        def k(x, d, out):
            a = x[0, :] + 0.0  # loaded before, used after
            for i in pypto.loop(n):
                a = a + x[i + 1, :]
            out[:] = a / d

        return k

    x, d = rng(4).random((9, 65)).astype(F32), (rng(5).random(65) + 1).astype(F32)
    for n in (0, 1, 2, 3, 8):
        out = np.full(65, NAN, F32)
        run(make(n), x, d, out, target=target)
        close(out, x[: n + 1].astype(np.float64).sum(0) / d, rtol=1e-5)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_work_under_a_condition_on_the_loop_index(target: str) -> None:
    """As in hw-native-sys/PTOAS#1149."""

    def make(n, m):
        @tile
        def k(x, out):
            for i in pypto.loop(n):
                if i < m:
                    out[i, :] = x[i, :] * 3.0

        return k

    for n, m in ((4, 4), (4, 2), (4, 1), (5, 3), (6, 0)):
        x = rng(n).random((n, 40)).astype(F32)
        out = np.full((n, 40), -1, F32)
        try:
            run(make(n, m), x, out, target=target)
        except pypto.UserError:
            continue  # refusing is fine, hanging or mixing is not
        want = np.full((n, 40), -1, F32)
        want[:m] = x[:m] * F32(3)
        same(out, want)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_many_values_alive_at_once(target: str) -> None:
    """As in hw-native-sys/PTOAS#823."""
    n = 24
    parameters = ", ".join(f"x{i}" for i in range(n))
    products = ", ".join(f"x{i} * {i + 1}.0" for i in range(n))
    k = from_source(
        f"""
        @tile
        def k({parameters}, a, b, c):
            t = [{products}]
            late = t[0] * t[{n - 1}]
            for j in range({n}):
                a[j, :] = t[j] + t[{n - 1} - j]
            b[:] = sum(t[1:], t[0])
            c[:] = late - t[0]
        """,
        "k",
    )
    xs = [rng(i).integers(-9, 10, 50).astype(F32) for i in range(n)]
    a, b, c = np.zeros((n, 50), F32), np.zeros(50, F32), np.zeros(50, F32)
    run(k, *xs, a, b, c, target=target)
    t = np.stack([x * F32(i + 1) for i, x in enumerate(xs)])
    same(a, t + t[::-1])
    same(b, t.sum(0, dtype=np.float64).astype(F32))
    same(c, t[0] * t[-1] - t[0])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_expressions_nested_many_levels_deep(target: str) -> None:
    """As in tinygrad/tinygrad#3328."""

    def make(n):
        @tile
        def left(x, out):
            y = x
            for i in range(n):
                y = (y + 1.0) * 0.5
            out[:] = y

        @tile
        def sel(x, out):
            y = x
            for i in range(n):
                y = pypto.where(x < float(i), y + 1.0, y)
            out[:] = y

        return left, sel

    x = np.linspace(-3, 500, 67).astype(F32)
    for n in (10, 300, 600):
        left, sel = make(n)
        out = np.zeros(67, F32)
        run(left, x, out, target=target)
        y = x.astype(np.float64)
        for i in range(n):
            y = (y + 1) * 0.5
        close(out, y, rtol=1e-5)
        run(sel, x, out, target=target)
        close(out, x.astype(np.float64) + (x[:, None].astype(np.float64) < np.arange(n)).sum(1), rtol=1e-5)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_thousands_of_operations_and_hundreds_of_arguments(target: str) -> None:
    """As in pytorch/pytorch#111686 and taichi-dev/taichi#4050."""

    def chain(n):
        @tile
        def k(x, out):
            y = x
            for i in range(n):
                y = y * 0.999 + 0.001
            out[:] = y

        return k

    x = np.linspace(-2, 2, 40).astype(F32)
    for n in (100, 3000):
        out = np.zeros(40, F32)
        run(chain(n), x, out, target=target)
        close(out, (x.astype(np.float64) - 1) * 0.999**n + 1, rtol=1e-4, atol=1e-4)
    for n in (9, 65, 300):
        names = [f"a{i}" for i in range(n)]
        k = from_source("@tile\ndef k({}, out):\n    out[:] = {}\n".format(", ".join(names), " + ".join(names)), "k")
        xs = [np.full(5, i, F32) for i in range(n)]
        out = np.zeros(5, F32)
        try:
            run(k, *xs, out, target=target)
        except pypto.UserError:
            assert n > 65  # a stated limit, well above common use
            continue
        same(out, np.full(5, n * (n - 1) / 2, F32))
