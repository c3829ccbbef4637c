"""Bugs that other compilers had. Matrix products and attention."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import pypto
from bugs.helpers import EVERYWHERE, F32, I32, INF, NAN, close, rng, run, same
from pypto import cast, tile


@pytest.mark.parametrize("target", EVERYWHERE)
def test_attention_row_with_every_key_masked(target: str) -> None:
    """As in pytorch/pytorch#103963: such a row is 0, not NaN."""

    @tile
    def k(q, kk, v, m, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, kk, v, attn_mask=m)

    g = torch.Generator().manual_seed(3)
    q, kk, v = (torch.randn(1, 2, n, 8, generator=g) for n in (6, 10, 10))
    m = torch.ones(6, 10, dtype=torch.bool).tril(2)
    m[5] = False
    m[0] = False
    out = torch.full((1, 2, 6, 8), 7.0)
    run(k, q, kk, v, m, out, target=target)
    s = (q.double() @ kk.double().transpose(-1, -2)) / math.sqrt(8)
    want = torch.softmax(s.masked_fill(~m, -INF), -1).nan_to_num(0.0) @ v.double()
    close(out.numpy(), want.numpy(), atol=1e-5)
    assert (out[0, :, [0, 5]] == 0).all()


@pytest.mark.parametrize("target", EVERYWHERE)
def test_int8_matmul_does_not_saturate(target: str) -> None:
    """As in pytorch/pytorch#17458: pairs of products of 8 bits do not fit 16."""

    @tile
    def k(a, b, out):
        out[:] = pypto.matmul(a, b, out_dtype="int32")

    extremes = ((127, 127, np.int8), (-128, -128, np.int8), (-128, 127, np.int8), (255, 127, np.uint8))
    for kk in (1, 2, 3, 64, 257):
        for av, bv, ta in (*extremes, (255, -128, np.uint8)):
            a, b = np.full((3, kk), av, ta), np.full((kk, 5), bv, np.int8)
            out = np.zeros((3, 5), I32)
            run(k, a, b, out, target=target)
            same(out, a.astype(I32) @ b.astype(I32))
    a, b = (rng(s).integers(-128, 128, shape).astype(np.int8) for s, shape in ((1, (17, 67)), (2, (67, 9))))
    out = np.zeros((17, 9), I32)
    run(k, a, b, out, target=target)
    same(out, a.astype(I32) @ b.astype(I32))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_per_row_quantisation_with_an_empty_row(target: str) -> None:
    """As in hicann/pypto's quantised feed-forward example: a row of zeros has the scale 0."""

    @tile
    def k(x, w, ws, out):
        m = pypto.max(pypto.abs(x), axis=-1, keepdims=True)
        s = pypto.where(m == 0.0, 1.0, m / 127.0)
        q = cast(pypto.round(x / s), "int8")
        out[:] = cast(pypto.matmul(q, w, out_dtype="int32"), "float32") * cast(s, "float32") * ws

    x = rng(5).standard_normal((5, 320)).astype(F32)
    x[2] = 0.0
    x[3] = np.where(np.arange(320) == 7, -4.0, 0.0)
    w = rng(6).integers(-127, 128, (320, 24)).astype(np.int8)
    ws = (rng(7).random((1, 24)) * 0.01).astype(F32)
    out = np.full((5, 24), NAN, F32)
    run(k, x, w, ws, out, target=target)
    m = np.abs(x).max(-1, keepdims=True)
    s = np.where(m == 0, F32(1), m / F32(127))
    want = (np.rint(x / s).astype(np.float64) @ w.astype(np.float64)) * s * ws
    close(out, want, rtol=1e-5, atol=127 * float(s.max()) * float(ws.max()) * 1.01)  # one quantum at a rounding tie
    assert (out[2] == 0).all()
    close(out[3], want[3], rtol=1e-6)


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("turns", [range, pypto.loop])
def test_two_accumulators_and_a_residual(target: str, turns) -> None:
    """As in hw-native-sys/pypto#768: two carried products, unrolled and as a loop."""

    def make(n):
        @tile
        def k(x, g, u, r, out):
            a = pypto.matmul(x[:, 0:16], g[0:16, :]) * 0.0
            b = pypto.matmul(x[:, 0:16], u[0:16, :]) * 0.0
            for i in turns(n):
                a = a + pypto.matmul(x[:, 16 * i : 16 * i + 16], g[16 * i : 16 * i + 16, :])
                b = b + pypto.matmul(x[:, 16 * i : 16 * i + 16], u[16 * i : 16 * i + 16, :])
            out[:] = a * b + cast(r, "float32")

        return k

    for n in (1, 3, 8):
        shapes = ((1, (4, 16 * n)), (2, (16 * n, 32)), (3, (16 * n, 32)))
        x, g, u = (rng(s).integers(-3, 4, shape).astype(F32) for s, shape in shapes)
        r = rng(4).integers(-50, 50, (4, 32)).astype(np.float16)
        out = np.full((4, 32), NAN, F32)
        run(make(n), x, g, u, r, out, target=target)
        close(out, (x.astype(np.float64) @ g) * (x.astype(np.float64) @ u) + r, rtol=1e-6, atol=1e-3)
