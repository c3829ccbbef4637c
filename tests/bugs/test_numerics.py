"""Bugs that other compilers had. Values at the edges: signs, infinities, wrapping, rounding, empty axes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pypto
from bugs.helpers import (
    EVERYWHERE,
    F32,
    I32,
    I64,
    INF,
    NAN,
    close,
    quiet,
    rng,
    run,
    same,
    same_bits,
)
from pypto import cast, tile


@pytest.mark.parametrize("target", EVERYWHERE)
def test_softmax_rows_with_infinities(target: str) -> None:
    """As in tenstorrent/tt-metal#56056."""

    @tile
    def k(x, out):
        out[:] = pypto.nn.softmax(x, axis=-1)

    for n in (5, 65):
        for dt in (F32, np.float16):
            x = np.zeros((6, n), dt)
            x[0] = -INF
            x[1, 2] = INF
            x[2, n - 1] = NAN
            x[3, 1:] = -INF
            x[4, ::2] = -INF
            x[5] = np.linspace(-60000 if dt == np.float16 else -3e38, 0, n)
            out = np.full((6, n), 9, dt)
            run(k, x, out, target=target)
            want = torch.softmax(torch.from_numpy(x.astype(np.float64)), -1).numpy()
            close(out, want, rtol=2e-3 if dt == np.float16 else 1e-5, atol=1e-7)
            assert (out[4, ::2] == 0).all()


@pytest.mark.parametrize("target", EVERYWHERE)
def test_floor_division_and_modulo_signs(target: str) -> None:
    """As in tile-ai/tilelang-ascend#1764."""

    @tile
    def k(a, b, q, r):
        q[:] = a // b
        r[:] = a % b

    @tile
    def kc(a, q, r, q2, r2):
        q[:] = a // 8
        r[:] = a % 8
        q2[:] = a // -3
        r2[:] = a % -3

    A = np.array([-7, -6, -1, 0, 1, 6, 7, 8, -8, -2147483647, 2147483647])
    B = np.array([3, -3, 2, -2, 1, 7, -7])
    a, b = [z.reshape(-1) for z in np.meshgrid(A, B)]
    for dt in (I32, I64):
        q, r, q2, r2 = (np.zeros(a.size, dt) for _ in range(4))
        run(k, a.astype(dt), b.astype(dt), q, r, target=target)
        same(q, np.floor_divide(a.astype(dt), b.astype(dt)))
        same(r, np.mod(a.astype(dt), b.astype(dt)))
        run(kc, a.astype(dt), q, r, q2, r2, target=target)
        same(q, a.astype(dt) // dt(8))
        same(r, a.astype(dt) % dt(8))
        same(q2, a.astype(dt) // dt(-3))
        same(r2, a.astype(dt) % dt(-3))
    fa, fb = np.array([-5.5, 5.5, -5.5, 5.5, 6.0, -6.0] * 3, F32), np.array([3, -3, -3, 3, -3, 3] * 3, F32)
    q, r = np.zeros(18, F32), np.zeros(18, F32)
    run(k, fa, fb, q, r, target=target)
    same(q, np.floor_divide(fa, fb))
    same(r, np.mod(fa, fb))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_integer_results_wrap_at_their_own_width(target: str) -> None:
    """As in pytorch/pytorch#190764."""

    @tile
    def k(a, b, s, p, w):
        t = a + b
        s[:] = t
        p[:] = a * b
        w[:] = cast(t, "int64") + 1  # must widen the wrapped value

    @tile
    def kc(x, y, z, neg, gt, lhs, rhs):
        neg[:] = -x
        gt[:] = (x + y) > z
        lhs[:] = cast(z * (x + y), "int32")
        rhs[:] = cast(z * x + z * y, "int32")

    a = np.array([2147483600, -2147483600, 5, 65536] * 9, I32)
    b = np.array([100, -100, -9, 65537] * 9, I32)
    s, p, w = np.zeros(36, I32), np.zeros(36, I32), np.zeros(36, I64)
    run(k, a, b, s, p, w, target=target)
    same(s, a + b)
    same(p, a * b)
    same(w, (a + b).astype(I64) + 1)
    for dt in (np.uint8, np.int8):
        x, y, z = (rng(q).integers(np.iinfo(dt).min, np.iinfo(dt).max + 1, 67).astype(dt) for q in (1, 2, 3))
        o = [np.zeros(67, dt), np.zeros(67, bool), np.zeros(67, I32), np.zeros(67, I32)]
        run(kc, x, y, z, *o, target=target)
        for got, want in zip(o, (-x, (x + y) > z, (z * (x + y)).astype(I32), (z * x + z * y).astype(I32)), strict=True):
            same(got, want)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_float_to_integer_does_not_depend_on_position(target: str) -> None:
    """As in pytorch/pytorch#156788."""
    good = np.array([0.0, -0.0, 0.99, 1.0, 1.99, 100.5, 126.999, -0.99], F32)  # in range for each type below
    odd = np.array([-1.5, -2.18, 300.0, 3e9, -3e9, INF, -INF, NAN], F32)
    for name, dt in (("uint8", np.uint8), ("int8", np.int8), ("int32", I32)):

        @tile
        def k(x, out):
            out[:] = cast(x, name)

        seen = {}
        for n in (1, 3, 8, 17, 40, 67):
            x = np.resize(np.concatenate([good, odd]), n)
            out = np.full(n, 77, dt)
            try:
                run(k, x, out, target=target)
            except pypto.UserError:
                continue  # a checked conversion may refuse the odd values
            for v, o in zip(x, out, strict=True):
                key = (name, v.tobytes())
                if v in good:
                    assert o == dt(int(v)), (name, v, o)  # truncation toward zero
                assert seen.setdefault(key, int(o)) == int(o), (name, float(v), o, n)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_narrowing_and_widening_keeps_the_rounding(target: str) -> None:
    """As in pytorch/pytorch#185337."""
    x = np.concatenate(
        [
            np.arange(-40, 40) / 7,
            [2049, 2051, 257, 259, -257, 65504, 65519.0, 65520.0, 6e-8, 2.9e-8, 3.39e38, 3.4e38, INF, -INF, NAN, -0.0],
        ]
    ).astype(F32)
    n = np.array([0, 1, 255, 256, 257, 258, 259, 511, 513, -257, -259, 8388607, 16777215], I32)
    for name, dt in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):

        @tile
        def k(x, out):
            out[:] = cast(cast(x, name), "float32")

        out = np.zeros(x.size, F32)
        run(k, x, out, target=target)
        same_bits(out, torch.from_numpy(x).to(dt).float().numpy())
        oi = np.zeros(n.size, F32)
        run(k, n, oi, target=target)  # integer source
        same(oi, torch.from_numpy(n).to(dt).float().numpy())
        ot = torch.zeros(n.size, dtype=dt)

        @tile
        def kt(x, out):
            out[:] = cast(x, name)

        run(kt, torch.from_numpy(n), ot, target=target)
        same(ot.float().numpy(), torch.from_numpy(n).to(dt).float().numpy())


@pytest.mark.parametrize("target", EVERYWHERE)
def test_relative_accuracy_near_zero(target: str) -> None:
    """As in pytorch/pytorch#198183."""
    from scipy.special import erf

    @tile
    def k(x, e, t):
        e[:] = pypto.erf(x)
        t[:] = pypto.tanh(x)

    v = np.array([1e-8, 1e-7, 2e-7, 5e-7, 1e-6, -1e-5, 1e-4, 1e-3, 0.03, 0.5, -2.0, 6.0, 100.0, -1e4, INF, -INF], F32)
    for n in (1, 3, 8, 16, 61):
        x = np.resize(v, n)
        e, t = np.zeros(n, F32), np.zeros(n, F32)
        run(k, x, e, t, target=target)
        close(e, erf(x.astype(np.float64)), rtol=2e-6)
        close(t, np.tanh(x.astype(np.float64)), rtol=2e-6)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_the_sign_of_zero(target: str) -> None:
    """As in pytorch/pytorch#185696."""

    @tile
    def k(x, n, nn_, r, s, p, q):
        n[:] = -x
        nn_[:] = -(-x)  # noqa: B002
        r[:] = 1.0 / (-x)
        s[:] = pypto.sqrt(x)
        p[:] = x + 0.0
        q[:] = x * 1.0

    x = np.resize(np.array([0.0, -0.0, 2.25], F32), 37)
    o = [np.full(37, 5, F32) for _ in range(6)]
    run(k, x, *o, target=target)
    w = quiet(lambda: (-x, x, F32(1) / -x, np.sqrt(x), x + F32(0), x))
    for got, want in zip(o, w, strict=True):
        same_bits(got, want)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_subnormals_survive_and_the_host_keeps_its_mode(target: str) -> None:
    """As in pytorch/pytorch#126848."""

    @tile
    def k(x, y, out):
        out[:] = x * y

    x = np.array([0.1875, 1.0, 3.0, 1e-30, -5.0] * 5, F32)
    y = np.array([2.0**-124, 2.0**-149, 2.0**-140, 1e-10, 2.0**-130] * 5, F32)
    out = np.zeros(25, F32)
    run(k, x, y, out, target=target)
    same(out, quiet(lambda: x * y))
    assert (out != 0).all()
    host = np.array([1e-310, 5e-324]) * np.array([0.5, 1.0])
    assert (host != 0).all() and float("1e-310") * 0.5 != 0.0
    h32 = np.array([1e-40], F32) * np.array([0.5], F32)
    assert h32[0] != 0


@pytest.mark.parametrize("target", EVERYWHERE)
def test_powers_with_zero_negative_and_fractional_exponents(target: str) -> None:
    """As in tile-ai/tilelang#2614."""

    @tile
    def k(x, a, b, c, d, e):
        a[:] = x**0
        b[:] = x**-1
        c[:] = x**-2
        d[:] = x**3
        e[:] = x**0.5

    @tile
    def kt(x, y, out):
        out[:] = x**y

    @tile
    def ki(n, out):
        out[:] = n**-1

    x = np.array([2.0, -2.0, 0.0, -0.0, INF, -INF, NAN, 1.5, -3.0, 1.0] * 4, F32)
    o = [np.full(40, 9, F32) for _ in range(5)]
    run(k, x, *o, target=target)
    for got, p in zip(o, (0, -1, -2, 3, 0.5), strict=True):
        close(got, quiet(lambda: np.power(x.astype(np.float64), p)), rtol=1e-6)
    b = np.array([-2.0, -2.0, -2.0, 0.0, 0.0, -0.0, NAN, 1.0, 4.0], F32)
    y = np.array([3.0, 2.0, 0.5, 0.0, -1.0, -1.0, 0.0, NAN, -0.5], F32)
    out = np.zeros(9, F32)
    run(kt, b, y, out, target=target)
    close(out, quiet(lambda: np.power(b.astype(np.float64), y.astype(np.float64))), rtol=1e-6)
    with pytest.raises(pypto.UserError):  # as NumPy and torch: no silent 0
        run(ki, np.array([2, 3], I32), np.zeros(2, I32), target=target)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_zero_sized_axes(target: str) -> None:
    """As in numba/numba#4630."""

    @tile
    def ksum(x, out):
        out[:] = pypto.sum(x, axis=0)

    @tile
    def kmax(x, out):
        out[:] = pypto.max(x, axis=0)

    @tile
    def kmap(x, out):
        out[:] = x * 2.0

    @tile
    def kcat(x, y, out):
        out[:] = pypto.concat([x, y], axis=0)

    @tile
    def kset(x, out):
        out[:] = x
        out[:0] = 2.0
        out[5:5] = 3.0

    e = np.zeros((0, 5), F32)
    out = np.full(5, 9, F32)
    run(ksum, e, out, target=target)
    same(out, np.sum(e, 0))
    with pytest.raises(pypto.UserError):
        run(kmax, e, np.zeros(5, F32), target=target)
    eo = np.zeros((0, 5), F32)
    run(kmap, e, eo, target=target)
    assert eo.shape == (0, 5)
    y = np.arange(10, dtype=F32).reshape(2, 5)
    oc = np.zeros((2, 5), F32)
    run(kcat, e, y, oc, target=target)
    same(oc, y)
    x = np.ones(10, F32)
    os_ = np.zeros(10, F32)
    run(kset, x, os_, target=target)
    same(os_, x)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_row_norm_at_awkward_widths(target: str) -> None:
    """As in tile-ai/tilelang-ascend#890."""

    @tile
    def k(x, g, out):
        f = cast(x, "float32")
        out[:] = cast(f / pypto.sqrt(pypto.mean(f * f, axis=-1, keepdims=True) + 1e-5) * cast(g, "float32"), "float32")

    for m in (1, 3, 65):
        for n in (1, 7, 8, 9, 127, 511, 512, 513, 521, 1031):
            for dt, sc in ((F32, 1.0), (np.float16, 300.0)):  # 300**2 does not fit float16
                x, g = (rng(n).standard_normal((m, n)) * sc).astype(dt), rng(n + 1).standard_normal(n).astype(dt)
                out = np.full((m, n), NAN, F32)
                run(k, x, g, out, target=target)
                d = x.astype(np.float64)
                close(out, d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_shift_counts_at_and_above_the_width(target: str) -> None:
    """As in pytorch/pytorch#143555."""

    @tile
    def k(x, s, left, right):
        left[:] = x << s
        right[:] = x >> s

    cases = ((I32, [0, 1, 31, 32, 33, 64]), (I64, [0, 1, 63, 64, 65, 127]), (np.uint8, [0, 1, 7, 8, 9, 100]))
    for dt, counts in cases:
        for reps in (1, 5):
            base = [1000 % 256, 1, 127] if dt == np.uint8 else [1000, 1, -8, -1]
            x = np.repeat(np.array(base, dt), len(counts) * reps)
            s = np.resize(np.array(counts, dt), x.size)
            left, right = np.zeros_like(x), np.zeros_like(x)
            run(k, x, s, left, right, target=target)
            same(left, np.left_shift(x, s))
            same(right, np.right_shift(x, s))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_sine_and_cosine_of_large_arguments(target: str) -> None:
    """As in tinygrad/tinygrad#17885."""

    @tile
    def k(x, s, c):
        s[:] = pypto.sin(x)
        c[:] = pypto.cos(x)

    x = np.array([0.1, 3.0, 1e1, 1e3, 39800.0, 1e5, 1e6, 1e7, 123456789.0, 3e9, 1e10, 1e15, 1e30, 3.4e38], F32)
    x = np.concatenate([x, -x])
    s, c = np.zeros(x.size, F32), np.zeros(x.size, F32)
    run(k, x, s, c, target=target)
    wide = x.astype(np.float64)
    close(s, np.sin(wide), rtol=3e-7, atol=1e-9)
    close(c, np.cos(wide), rtol=3e-7, atol=1e-9)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_per_row_quantisation_with_an_empty_row(target: str) -> None:
    """A row of zeros has no largest magnitude to divide by; the untaken side of the choice must do no harm."""

    @tile
    def k(x, q, back):
        m = pypto.max(pypto.abs(x), axis=-1, keepdims=True)
        s = pypto.where(m == 0.0, 1.0, m / 127.0)
        q[:] = cast(pypto.round(x / s), "int8")
        back[:] = cast(q, "float32") * s

    x = rng(5).standard_normal((5, 320)).astype(F32)
    x[2] = 0.0
    x[3] = np.where(np.arange(320) == 7, -4.0, 0.0)
    q, back = np.zeros(x.shape, np.int8), np.full(x.shape, NAN, F32)
    run(k, x, q, back, target=target)
    m = np.abs(x).max(-1, keepdims=True)
    s = np.where(m == 0, F32(1), m / F32(127))
    same(q, np.rint(x / s).astype(np.int8))
    same(back, q.astype(F32) * s)
    assert (back[2] == 0).all()
    assert back[3, 7] == -4.0
