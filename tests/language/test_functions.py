"""Functions of `pypto`, `pypto.nn` and NumPy on tiles, against NumPy and torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.special import erf

import pypto
from pypto import tile
from tests.language.running import run

F32 = np.float32
INF, NAN = float("inf"), float("nan")
SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, 3e38, -3e38, 1e-40, INF, -INF, NAN, 0.3, 88.0, -104.0, 1e4, -1e4, 6.0], F32)


def result(body: Callable[..., Any], *inputs: np.ndarray[Any, Any], like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return what ``out[:] = body(*inputs)`` leaves in an array like `like`."""
    out = np.full_like(like, 7)
    if len(inputs) == 1:

        @tile
        def one(x, out):
            out[:] = body(x)

        run(one, *inputs, out)
    else:

        @tile
        def two(x, y, out):
            out[:] = body(x, y)

        run(two, *inputs, out)
    return out


def close(got: Any, right: Any, rtol: float = 2e-6, atol: float = 0.0) -> None:
    np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(right, np.float64), rtol=rtol, atol=atol)


def wide(function: Callable[..., Any]) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        return np.asarray(function(SPECIAL.astype(np.float64))).astype(F32)


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (pypto.abs, np.abs), (abs, np.abs), (pypto.neg, np.negative),
        (pypto.exp, np.exp), (np.exp, np.exp), (pypto.log, np.log),
        (pypto.sqrt, np.sqrt), (pypto.rsqrt, lambda x: 1 / np.sqrt(x)),
        (pypto.reciprocal, lambda x: 1 / x), (lambda x: 1.0 / x, lambda x: 1 / x),
        (pypto.tanh, np.tanh), (pypto.nn.tanh, np.tanh), (pypto.erf, erf),
        (pypto.sigmoid, lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))),
        (pypto.nn.relu, lambda x: np.maximum(x, 0)),
        (lambda x: pypto.clip(x, -1.0, 2.0), lambda x: np.clip(x, -1, 2)),
        (lambda x: np.clip(x, -1.0, 2.0), lambda x: np.clip(x, -1, 2)),
        (lambda x: pypto.clip(x, None, 2.0), lambda x: np.minimum(x, 2)),
        (lambda x: pypto.maximum(x, 0.5), lambda x: np.maximum(x, 0.5)),
        (lambda x: pypto.minimum(1.0, x), lambda x: np.minimum(x, 1)),
        (lambda x: pypto.where(x > 0.0, x, -1.0), lambda x: np.where(x > 0, x, -1)),
        (lambda x: np.where(x > 0.0, 2.0, x), lambda x: np.where(x > 0, 2, x)),
        (lambda x: x**0, lambda x: x**0), (lambda x: x**1, lambda x: x), (lambda x: x**2, lambda x: x**2),
        (lambda x: x**3, lambda x: x**3), (lambda x: x**-1, lambda x: 1 / x), (lambda x: x**0.5, np.sqrt),
        (np.square, lambda x: x * x), (lambda x: np.float32(2.0) * x, lambda x: 2 * x),
        (lambda x: np.float64(2.0) - x, lambda x: 2 - x), (lambda x: +x, lambda x: x),
    ],
)  # fmt: skip
def test_elementwise_functions(ours: Any, numpys: Any) -> None:
    got, right = result(ours, SPECIAL, like=SPECIAL), wide(numpys)
    close(got, right)
    zeros = (right == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(right[zeros]))


def test_powers() -> None:
    x = np.array([2.0, -2.0, 1e20, 1e-20, INF, 0.0, -0.0, NAN], F32)
    with np.errstate(all="ignore"):
        close(result(lambda x: x**-2, x, like=x), (x.astype(np.float64) ** -2).astype(F32), 1e-4)
        close(result(lambda x: x**2.7, x, like=x), (x.astype(np.float64) ** 2.7).astype(F32))
        close(result(lambda x: 2.0**x, x, like=x), (2.0 ** x.astype(np.float64)).astype(F32))
        close(
            result(pypto.pow, x, x[::-1].copy(), like=x),
            (x.astype(np.float64) ** x[::-1]).astype(F32),
        )
    n = np.array([3, -2, 7, 0], np.int32)
    for exponent in (0, 1, 2, 5, 13):
        np.testing.assert_array_equal(result(lambda n: n**exponent, n, like=n), n**exponent)
    close(result(lambda n: n**0.5, np.abs(n), like=np.zeros(4, F32)), np.sqrt(np.abs(n)))


AXES: list[Any] = [None, 0, 1, -1, (0, 2), (-1, 0), (0, 1, 2), ()]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5, 2)).astype(F32)
    right = np.asarray(getattr(np, name)(x.astype(np.float64), axis=axis, keepdims=keepdims)).astype(F32)
    ours = getattr(pypto, name)
    close(result(lambda x: ours(x, axis=axis, keepdims=keepdims), x, like=right), right, 1e-5, 1e-6)
    close(result(lambda x: ours(x, dim=axis, keepdim=keepdims), x, like=right), right, 1e-5, 1e-6)
    close(result(lambda x: getattr(x, name)(axis=axis, keepdims=keepdims), x, like=right), right, 1e-5, 1e-6)
    close(result(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x, like=right), right, 1e-5, 1e-6)
    nn_name = getattr(pypto.nn, f"reduce_{name}")
    close(result(lambda x: nn_name(x, axes=axis, keepdims=keepdims), x, like=right), right, 1e-5, 1e-6)


def test_reductions_of_integers_and_bools() -> None:
    x = np.array([[100, 100, 127], [-128, 5, 1]], np.int8)
    out = result(lambda x: pypto.sum(x, axis=1), x, like=np.zeros(2, np.int64))
    np.testing.assert_array_equal(out, x.sum(1, dtype=np.int64))
    close(result(pypto.mean, x, like=np.zeros((), F32)), x.mean())
    np.testing.assert_array_equal(result(lambda x: pypto.max(x, axis=0), x, like=x[0]), x.max(0))
    flags = x > 0
    assert result(pypto.sum, flags, like=np.zeros((), np.int64)) == flags.sum()
    assert result(pypto.min, flags, like=np.zeros((), bool)) == flags.min()


def test_reductions_of_nothing() -> None:
    x = np.zeros((0, 3), F32)
    np.testing.assert_array_equal(result(lambda x: pypto.sum(x, axis=0), x, like=np.ones(3, F32)), np.zeros(3))
    assert np.isnan(result(lambda x: pypto.mean(x, axis=0), x, like=np.ones(3, F32))).all()
    np.testing.assert_array_equal(result(lambda x: pypto.max(x, axis=1), x, like=np.zeros(0, F32)), np.zeros(0))


def test_shapes_and_assembly() -> None:
    x = np.arange(12, dtype=F32).reshape(3, 4)
    checks: list[tuple[Any, Any]] = [
        (pypto.transpose, x.T), (lambda x: np.transpose(x, (1, 0)), x.T), (lambda x: x.transpose(), x.T),
        (lambda x: pypto.reshape(x, (2, -1)), x.reshape(2, 6)), (lambda x: np.reshape(x, 12), x.reshape(12)),
        (lambda x: x.reshape(4, 3), x.reshape(4, 3)), (lambda x: x.flatten(), x.reshape(12)),
        (lambda x: x.T.reshape(-1), x.T.reshape(-1)), (lambda x: x.ravel(), x.ravel()),
        (lambda x: pypto.broadcast_to(x[:, None], (3, 2, 4)), np.broadcast_to(x[:, None], (3, 2, 4))),
        (lambda x: np.broadcast_to(x[0], (3, 4)), np.broadcast_to(x[0], (3, 4))),
        (lambda x: pypto.concat([x, x[:1] * 2.0], axis=0), np.concatenate([x, x[:1] * 2])),
        (lambda x: np.concatenate([x, x[:, ::-1]], axis=-1), np.concatenate([x, x[:, ::-1]], -1)),
        (lambda x: pypto.concat((x.T, x.T[:, 1:]), dim=1), np.concatenate([x.T, x.T[:, 1:]], 1)),
        (lambda x: pypto.nn.pad(x, ((1, 0), (0, 2))), np.pad(x, ((1, 0), (0, 2)))),
        (lambda x: pypto.nn.pad(x, 1, value=-5.0), np.pad(x, 1, constant_values=-5)),
        (lambda x: np.pad(x, (2, 1)), np.pad(x, (2, 1))), (lambda x: np.expand_dims(x, 1), x[:, None]),
        (lambda x: np.zeros_like(x) + np.ones_like(x) * x + np.full_like(x, 2.0), x + 2),
        (lambda x: pypto.zeros(x.shape) + pypto.ones((4,)) + pypto.full((3, 1), 5, "f32") + x, x + 6),
    ]  # fmt: skip
    for ours, right in checks:
        np.testing.assert_array_equal(result(ours, x, like=np.ascontiguousarray(right)), right)


def test_a_numpy_out_argument_writes_the_tile() -> None:
    @tile
    def kernel(x, out):
        np.add(x, 1.0, out=out)
        np.multiply(out, out, out=out)

    x, out = np.arange(4, dtype=F32), np.zeros(4, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, (x + 1) ** 2)


# -- neural networks

ROWS = np.stack(
    [
        np.linspace(-5, 5, 7), np.full(7, -INF), np.array([-INF, 1, -INF, 2, 3, 4, 5]), np.array([INF, 1, 2, 3, 4, 5, 6]),
        np.array([NAN, 1, 2, 3, 4, 5, 6]), np.linspace(-3e38, 3e38, 7), np.full(7, 1e5) + np.arange(7), np.zeros(7),
    ]
).astype(F32)  # fmt: skip


@pytest.mark.parametrize("dtype", [F32, np.float16, ml_dtypes.bfloat16])
def test_softmax(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = ROWS.astype(dtype)
    right = torch.softmax(torch.from_numpy(x.astype(np.float64)), -1).numpy()
    tolerance = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}[np.dtype(dtype).name]
    close(result(pypto.nn.softmax, x, like=x), right, tolerance, 1e-7)
    right = torch.softmax(torch.from_numpy(x.astype(np.float64)), 0).numpy()
    close(result(lambda x: pypto.nn.softmax(x, dim=0), x, like=x), right, tolerance, 1e-7)


@pytest.mark.parametrize("form", ["none", "tanh"])
def test_gelu(form: str) -> None:
    x = np.concatenate([SPECIAL, np.linspace(-9, 9, 61).astype(F32), np.array([1e20, -1e20], F32)])
    right = F.gelu(torch.from_numpy(x.astype(np.float64)), approximate=form).numpy()
    got = result(lambda x: pypto.nn.gelu(x, approximate=form), x, like=x)
    finite = np.abs(x) < 1e30
    close(got[finite], right[finite].astype(F32), 1e-5, 1e-6)
    assert np.isnan(got[np.isnan(x)]).all()
    assert (got[x == INF] == INF).all()
    if form == "tanh":
        small = finite & (x > -4)
        close(got[small], right[small].astype(F32), 3e-6, 1e-12)


def test_norms() -> None:
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((4, 6)) + 1000).astype(F32)
    weight, bias = rng.standard_normal(6).astype(F32), rng.standard_normal(6).astype(F32)
    double = torch.from_numpy(x.astype(np.float64))
    right = F.layer_norm(double, (6,), torch.from_numpy(weight).double(), torch.from_numpy(bias).double(), 1e-3)

    @tile
    def layer(x, w, b, out):
        out[:] = pypto.nn.layer_norm(x, (6,), w, b, eps=1e-3)

    out = np.zeros_like(x)
    run(layer, x, weight, bias, out)
    close(out, right, 1e-4, 1e-4)
    right = F.layer_norm(double, (4, 6))
    close(result(lambda x: pypto.nn.layer_norm(x, axes=(0, 1)), x, like=x), right, 1e-4, 1e-4)
    right = F.rms_norm(double, (6,), torch.from_numpy(weight).double(), 1e-5)
    close(result(lambda x, w: pypto.nn.rms_norm(x, 6, w, 1e-5), x, weight, like=x), right, 1e-5)
    right = F.rms_norm(torch.from_numpy(x), (6,))
    close(result(pypto.nn.rms_norm, x, like=x), right, 1e-5)


def test_functions_take_integers_as_f32() -> None:
    n = np.array([1, 4, 9], np.int32)
    like = np.zeros(3, F32)
    close(result(pypto.sqrt, n, like=like), np.sqrt(n))
    close(result(pypto.nn.softmax, n, like=like), torch.softmax(torch.from_numpy(n).double(), -1))
    close(result(lambda n: n / 2, n, like=like), n / 2)
