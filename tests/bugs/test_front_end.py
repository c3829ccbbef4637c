"""Bugs that other compilers had. Slices, aliases, control flow, names and arguments of a kernel."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from bugs.helpers import (
    EVERYWHERE,
    F32,
    TRACED,
    close,
    from_source,
    rng,
    run,
    same,
)
from pypto import tile


@pytest.mark.parametrize("target", EVERYWHERE)
def test_reversed_and_stepped_slices(target: str) -> None:
    """As in pytorch/pytorch#101950."""

    @tile
    def flip(x):
        x[:] = x[::-1] + 0.0

    @tile
    def flip2(x):
        x[:] = x[:, ::-1]

    @tile
    def step(x, a, b, c):
        a[:] = x[:, ::2]
        b[:] = x[::-2]
        c[:] = x[-1, -3:]

    for n in (1, 2, 7, 64, 1001):
        a = np.arange(n, dtype=F32)
        run(flip, a, target=target)
        same(a, np.arange(n, dtype=F32)[::-1])
    a = np.arange(15, dtype=F32).reshape(3, 5)
    w = a[:, ::-1].copy()
    run(flip2, a, target=target)
    same(a, w)
    for s in ((4, 3), (5, 7), (2, 4)):
        x = rng(1).random(s).astype(F32)
        a, b, c = np.zeros_like(x[:, ::2]), np.zeros_like(x[::-2]), np.zeros(3, F32)
        run(step, x, a, b, c, target=target)
        same(a, x[:, ::2])
        same(b, x[::-2])
        same(c, x[-1, -3:])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_one_buffer_as_two_arguments(target: str) -> None:
    """As in pytorch/pytorch#93497."""

    @tile
    def sq(x, y, out):
        out[:] = x * y + y

    @tile
    def two(a, out, out2):
        out[:] = a + 1.0
        out2[:] = a + 2.0

    @tile
    def dbl(x, out):
        out[:] = x * 2.0

    x = np.arange(33, dtype=F32)
    out = np.zeros(33, F32)
    run(sq, x, x, out, target=target)
    same(out, x * x + x)  # same input twice is plain
    a, o2 = np.arange(33, dtype=F32), np.zeros(33, F32)
    try:  # out is the input: as NumPy, or refused
        run(two, a, a, o2, target=target)
        same(a, np.arange(33, dtype=F32) + 1)
        same(o2, np.arange(33, dtype=F32) + 3)
    except pypto.UserError:
        pass
    for n in (9, 1000):
        buf = np.arange(n, dtype=F32)
        want = np.arange(n, dtype=F32)
        want[1:] = np.arange(n - 1, dtype=F32) * 2
        try:
            run(dbl, buf[:-1], buf[1:], target=target)
            same(buf, want)
        except pypto.UserError:
            pass

    @tile
    def before(x, out):  # a value read before a later write
        y = x * 2.0
        x[:, 2:5] = 2.0
        out[:] = y + 4.0

    x = np.arange(-12, 12, dtype=F32).reshape(4, 6)
    keep, out = x.copy(), np.zeros((4, 6), F32)
    run(before, x, out, target=target)
    same(out, keep * 2 + 4)
    keep[:, 2:5] = 2
    same(x, keep)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_kernel_without_a_source_file(target: str) -> None:
    """As in triton-lang/triton#5386."""
    ns = {"pypto": pypto, "tile": tile}
    exec("@tile\ndef k(x, out):\n    out[:] = pypto.exp(x) - 1.0\n", ns)
    exec("@tile\ndef k2(x, out):\n    y = x\n    for i in range(3):\n        y = y * 0.5\n    out[:] = y\n", ns)
    x = np.linspace(-1, 1, 11).astype(F32)
    out = np.zeros(11, F32)
    run(ns["k"], x, out, target=target)
    close(out, np.exp(x.astype(np.float64)) - 1, rtol=1e-5, atol=1e-6)
    run(ns["k2"], x, out, target=target)
    same(out, x * F32(0.125))


@pytest.mark.parametrize("target", TRACED)
def test_python_control_flow_on_a_tile(target: str) -> None:
    """As in triton-lang/triton#6769."""

    @tile
    def chained(x, out):
        out[:] = pypto.where(0.0 < x < 1.0, x, 0.0)

    @tile
    def branch(x, out):
        if x[0:1] > 0.0:
            out[:] = x
        else:
            out[:] = -x

    @tile
    def both(x, out):
        out[:] = pypto.where((x > 0.0) and (x < 1.0), x, 0.0)

    @tile
    def either(x, out):
        out[:] = pypto.where((x < 0.0) or (x > 1.0), x, 0.0)

    @tile
    def negate(x, out):
        out[:] = pypto.where(not (x > 0.0), x, 0.0)

    @tile
    def loops(x, out):
        while x > 0.0:
            x = x - 1.0
        out[:] = x

    @tile
    def gen(x, out):
        out[:] = x
        yield

    x = np.array([-1.0, 0.25, 0.75, 2.0], F32)
    for k in (chained, branch, both, either, negate, loops, gen):
        with pytest.raises(pypto.UserError):
            run(k, x, np.zeros(4, F32), target=target)

    @tile
    def right(x, out):
        out[:] = pypto.where((0.0 < x) & (x < 1.0), x, 0.0)

    out = np.zeros(4, F32)
    run(right, x, out, target=target)
    same(out, np.where((0 < x) & (x < 1), x, F32(0)))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_augmented_assignment_to_a_slice(target: str) -> None:
    """As in NVIDIA/warp#342."""

    @tile
    def k(x, d, out):
        out[:] = x
        t = out[0:1] + 0.0
        out[0:1] /= d[0:1]
        out[1:2] += t
        out[2:3] -= out[0:1]
        out[3:] *= out[3:]

    x, d = np.arange(1, 10, dtype=F32), np.array([4.0, 0.0], F32)
    out = np.zeros(9, F32)
    run(k, x, d, out, target=target)
    w = x.copy()
    t = w[0]
    w[0] /= 4
    w[1] += t
    w[2] -= w[0]
    w[3:] *= w[3:]
    same(out, w)

    @tile
    def acc(x, out):
        out[:] += x
        out[:] += x

    o = np.full(9, 0.5, F32)
    run(acc, x, o, target=target)
    same(o, np.full(9, 0.5, F32) + x + x)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_rebinding_a_parameter_writes_nothing(target: str) -> None:
    """As in taichi-dev/taichi#4075."""

    @tile
    def bad(x, out):
        out = x + 1.0  # noqa: F841

    @tile
    def half(x, a, b):
        a[:] = x
        b = x * 2.0  # noqa: F841

    @tile
    def fine(x, out):
        x = x * 2.0
        x = x + 1.0
        out[:] = x

    x = np.arange(5, dtype=F32)
    with pytest.raises(pypto.UserError):
        run(bad, x, np.zeros(5, F32), target=target)
    out, keep = np.zeros(5, F32), x.copy()
    run(fine, x, out, target=target)
    same(out, keep * 2 + 1)
    same(x, keep)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_defaults_and_keywords(target: str) -> None:
    """As in triton-lang/triton#1943."""

    @tile
    def k(x, out, s=3.0, *, bias=0.5):
        out[:] = x * s + bias

    x = np.arange(7, dtype=F32)
    c = pypto.compile(k, target=target)
    for a, kw, s, b in (
        ((), {}, 3, 0.5),
        ((2.0,), {}, 2, 0.5),
        ((), {"s": 4.0}, 4, 0.5),
        ((), {"bias": 1.0}, 3, 1),
        ((1.0,), {"bias": 0.0}, 1, 0),
    ):
        out = np.zeros(7, F32)
        c.execute(x, out, *a, **kw)
        same(out, x * F32(s) + F32(b))
    out = np.zeros(7, F32)
    c.execute(out=out, bias=2.0, x=x)
    same(out, x * F32(3) + F32(2))
    for a, kw in (((x,), {}), ((x, out), {"scale": 2.0}), ((x, out, 1.0, 2.0), {}), ((x, out), {"x": x})):
        with pytest.raises(pypto.UserError):
            c.execute(*a, **kw)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_names_beyond_ascii(target: str) -> None:
    """As in numba/numba#2003."""
    k = from_source(
        """
        @tile
        def ядро(α, β, выход):
            Δ = α * β
            выход[:] = Δ - α
    """,
        "ядро",
    )
    a, b, out = np.arange(5, dtype=F32), np.full(5, 1.5, F32), np.zeros(5, F32)
    run(k, a, b, out, target=target)
    same(out, a * b - a)
