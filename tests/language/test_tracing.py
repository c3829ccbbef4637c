"""Symbolic extents, batches and tiles, eager mode, speed of tracing."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import tile
from pypto.ir.dtypes import F16, F32
from pypto.ir.index import Symbol
from pypto.ir.interpreter import run_kernel
from pypto.ir.nodes import Guard, Kernel, Role
from pypto.meaning import Meaning
from pypto.tracing import eager
from pypto.tracing.trace import trace
from pypto.tracing.views import ArrayView, FreshView, View, ViewAxis
from tests.language.running import run, statements, traced

M, N = Symbol("M"), Symbol("N")


def symbolic(*names: str, shape: tuple[Symbol, ...] = (M, N)) -> tuple[View, ...]:
    return tuple(ArrayView(name, F32, tuple(ViewAxis(None, 1, extent) for extent in shape)) for name in names)


def interpret(kernel: Kernel, **arrays: np.ndarray[Any, Any]) -> None:
    run_kernel(kernel, arrays)


@tile
def general(x, out):
    y = pypto.nn.softmax(x) + pypto.zeros(x.shape) + pypto.mean(x, axis=0)
    y += y.T.reshape(x.shape[1], x.shape[0]).T
    out[:] = y.reshape(-1).reshape(x.shape)


def test_symbolic_extents_stay_symbols_where_nobody_looks() -> None:
    kernel = trace(general, symbolic("x", "out"), ())
    assert kernel.guards == ()
    assert kernel.parameter("x").type.shape == (M, N)
    for shape in ((3, 4), (1, 7)):
        x, out = np.random.default_rng(0).random(shape).astype(np.float32), np.zeros(shape, np.float32)
        interpret(kernel, x=x, out=out)
        expected = np.zeros_like(x)
        run(general, x, expected)
        np.testing.assert_allclose(out, expected, rtol=1e-6)


@tile
def curious(x, out):
    rows = x.shape[0]
    for i in range(rows):
        out[i] = x[rows - 1 - i]
    if x.shape[1] > 3:
        out[:, :3] = 0.0


def test_looking_at_an_extent_specialises_and_records_a_guard() -> None:
    kernel = trace(curious, symbolic("x", "out"), (), hints={M: 4, N: 5})
    assert set(kernel.guards) == {Guard(M, 4), Guard(N, 5)}
    assert kernel.parameter("x").type.shape == (4, 5)
    x, out = np.arange(20, dtype=np.float32).reshape(4, 5), np.zeros((4, 5), np.float32)
    interpret(kernel, x=x, out=out)
    right = x[::-1].copy()
    right[:, :3] = 0
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize(
    "look",
    [
        lambda x: int(x.shape[0]), lambda x: x.shape[0] + 1, lambda x: x.shape[0] == 4, lambda x: list(range(x.shape[0])),
        lambda x: x[:2], lambda x: x[-1], lambda x: x.size, lambda x: x[::-1], lambda x: x[1:],
        lambda x: 2 * x.shape[0] // 3, lambda x: x.shape[0] < 3, lambda x: f"{x.shape[0] % 2}",
    ],
)  # fmt: skip
def test_every_look_specialises(look: Any) -> None:
    @tile
    def kernel(x, out):
        look(x)
        out[:] = x

    assert Guard(M, 4) in trace(kernel, symbolic("x", "out"), (), hints={M: 4, N: 5}).guards


def test_equal_symbols_compare_without_specialising() -> None:
    @tile
    def kernel(x, out):
        assert x.shape == out.shape
        assert repr(x.shape[0]) == "%M"
        out[:] = x

    assert trace(kernel, symbolic("x", "out"), ()).guards == ()


def test_loops_over_symbolic_extents() -> None:
    @tile
    def kernel(x, out):
        acc = pypto.zeros(x.shape[:1])
        for i in pypto.loop(x.shape[1]):
            acc = acc + x[:, i] * x.shape[1]
        out[:] = acc[:, None]

    kernel_ = trace(kernel, symbolic("x", "out"), ())
    assert kernel_.guards == ()


# -- hidden axes


def cut(name: str, *axes: ViewAxis, dtype: Any = F32) -> ArrayView:
    return ArrayView(name, dtype, axes)


@tile
def busy(x, shared, out, summary):
    y = x - pypto.mean(x, axis=0, keepdims=True)
    acc = y[0] * shared
    for i in pypto.loop(1, 3):
        acc = acc + y[i] * i
        y[i, 1:] = acc[:-1]
    out[1:] = y[1:] + acc
    out[0] = 0.5
    out[:, ::2] += 1.0
    summary[:] = pypto.max(out)


@pytest.mark.parametrize("dtype", [F32, F16])
def test_any_arrangement_of_hidden_axes_gives_what_eager_gives(dtype: Any) -> None:
    """Batch axes first and last, cut rows and columns, shared inputs: tracing all tiles at once = one tile at a time."""
    views = (
        cut("x", ViewAxis(1, 4, 3), ViewAxis(0, 2, 1, visible=False), ViewAxis(2, 3, 5), dtype=dtype),
        cut("shared", ViewAxis(None, 1, 5)),
        cut("out", ViewAxis(2, 3, 3), ViewAxis(1, 4, 5), ViewAxis(0, 2, 1, visible=False), dtype=dtype),
        cut("summary", ViewAxis(1, 4, 1), ViewAxis(0, 2, 1), ViewAxis(2, 3, 1)),
    )
    rng = np.random.default_rng(3)
    arrays = {
        "x": rng.standard_normal((12, 2, 15)).astype(dtype.numpy), "shared": rng.standard_normal(5).astype(np.float32),
        "out": rng.standard_normal((9, 20, 2)).astype(dtype.numpy), "summary": np.zeros((4, 2, 3), np.float32),
    }  # fmt: skip
    copies = {name: array.copy() for name, array in arrays.items()}
    run_kernel(trace(busy, views, (2, 4, 3)), arrays)
    eager.run(busy, Meaning("tiles", views, (2, 4, 3)), copies)
    for name, array in arrays.items():
        np.testing.assert_allclose(array.astype(np.float64), copies[name].astype(np.float64), rtol=1e-5, atol=1e-6)


def test_a_fresh_output_of_a_kernel_takes_shape_and_dtype() -> None:
    @tile
    def kernel(x, out):
        out[:] = pypto.sum(x, axis=1)

    x = cut("x", ViewAxis(0, 3, 1, visible=False), ViewAxis(None, 1, 4), ViewAxis(None, 1, 5))
    found = trace(kernel, (x, FreshView("out")), (3,))
    assert found.parameter("out").type.shape == (3, 4)
    assert found.parameter("out").role is Role.OUT


def test_a_scalar_per_tile() -> None:
    @tile(shape=(4,), tile_num=3)
    def kernel(x, sums, out):
        sums[:] = pypto.sum(x)
        out[:] = x - sums

    x, sums, out = np.arange(12, dtype=np.float32), np.zeros(3, np.float32), np.zeros(12, np.float32)
    run(kernel, x, sums, out)
    np.testing.assert_array_equal(sums, x.reshape(3, 4).sum(1))


# -- eager


def test_eager_is_plain_python(capsys: pytest.CaptureFixture[str]) -> None:
    @tile(shape=(2,), tile_num=3)
    def kernel(x, out):
        total = pypto.sum(x)
        for i in pypto.loop(2):
            total = total + i
            print(i, total)
        out[:] = x + total

    x, out = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    pypto.compile(kernel, target="eager").execute(x, out)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[-6:]] == ["0", "1"] * 3
    assert "tile(10., float32)" in printed[-1]
    np.testing.assert_array_equal(out, [2, 3, 8, 9, 14, 15])


# -- speed


def test_tracing_three_thousand_operations_is_quick() -> None:
    @tile
    def kernel(x, out):
        y = x
        for _ in range(1500):
            y = y * 0.999 + 0.001
        out[:] = y

    arrays = np.zeros(40, np.float32), np.zeros(40, np.float32)
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        found = trace(kernel, tuple(cut(name, ViewAxis(None, 1, 40)) for name in ("x", "out")), ())
        best = min(best, time.perf_counter() - start)
    assert statements(found).count("mul") == 1500
    assert best < 1.0, "0.1 s on a quiet machine"
    traced(kernel, *arrays)
