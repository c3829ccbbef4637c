"""Elementwise functions of `pypto.nn` against torch's, special values included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F

import pypto
from tests.language.test_elementwise import results

F32 = np.float32
INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 20.0, 20.5, -20.0, 1e-30, -1e-30, 3.0, -3.0, 6.0, 100.0, -100.0]
SAMPLES = np.concatenate([SPECIAL, np.linspace(-9, 9, 240)]).astype(F32)

ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "relu": (pypto.nn.relu, F.relu), "relu6": (pypto.nn.relu6, F.relu6), "hardtanh": (pypto.nn.hardtanh, F.hardtanh),
    "hardtanh of other ends": (lambda x: pypto.nn.hardtanh(x, -2.0, 0.5), lambda x: F.hardtanh(x, -2.0, 0.5)),
    "leaky_relu": (pypto.nn.leaky_relu, F.leaky_relu),
    "leaky_relu of another slope": (lambda x: pypto.nn.leaky_relu(x, 0.3), lambda x: F.leaky_relu(x, 0.3)),
    "prelu of a number": (lambda x: pypto.nn.prelu(x, 0.25), lambda x: F.prelu(x, torch.tensor([0.25]).double())),
    "elu": (pypto.nn.elu, F.elu), "elu of another alpha": (lambda x: pypto.nn.elu(x, 0.7), lambda x: F.elu(x, 0.7)),
    "celu": (lambda x: pypto.nn.celu(x, 1.5), lambda x: F.celu(x, 1.5)), "selu": (pypto.nn.selu, F.selu),
    "silu": (pypto.nn.silu, F.silu), "swish": (pypto.nn.swish, F.silu), "softplus": (pypto.nn.softplus, F.softplus),
    "softplus of another beta": (lambda x: pypto.nn.softplus(x, 2.0, 10.0), lambda x: F.softplus(x, 2.0, 10.0)),
    "logsigmoid": (pypto.nn.logsigmoid, F.logsigmoid), "mish": (pypto.nn.mish, F.mish),
    "softsign": (pypto.nn.softsign, F.softsign), "hardsigmoid": (pypto.nn.hardsigmoid, F.hardsigmoid),
    "hardswish": (pypto.nn.hardswish, F.hardswish), "tanh": (pypto.nn.tanh, torch.tanh),
    "sigmoid": (pypto.nn.sigmoid, torch.sigmoid),
}  # fmt: skip


def close(found: Any, right: Any, rtol: float, atol: float) -> None:
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(right, np.float64), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str, dtype: str) -> None:
    ours, torchs = ACTIVATIONS[name]
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    with np.errstate(all="ignore"):
        x = SAMPLES.astype(kind)
    right = torchs(torch.from_numpy(x.astype(np.float64))).numpy()
    if name in ("hardsigmoid", "hardswish"):  # torch's kernels for x86 lose NaN of an infinity times 0 in some dtypes
        right = np.where(np.isnan(x.astype(np.float64)), NAN, right)
    rtol, atol = {"float32": (5e-6, 1e-7), "float64": (1e-12, 1e-15), "float16": (2e-3, 1e-3)}.get(dtype, (1e-2, 1e-2))
    for found in results(ours, (x,), kind):
        close(found, right, rtol, atol)


def test_integers_are_taken_as_f32() -> None:
    n = np.arange(-5, 6, dtype=np.int32)
    for found in results(pypto.nn.silu, (n,), F32):
        close(found, F.silu(torch.from_numpy(n).double()), 1e-6, 1e-7)
    for found in results(pypto.nn.relu, (n,), np.int32):
        np.testing.assert_array_equal(found, np.maximum(n, 0))


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 2)])
def test_prelu_per_channel(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    x, weight = random.standard_normal(shape).astype(F32), np.array([0.1, 0.5, -2.0], F32)
    right = F.prelu(torch.from_numpy(x), torch.from_numpy(weight)).numpy()

    @pypto.tile
    def kernel(x, w, out):
        out[:] = pypto.nn.prelu(x, w)

    for target in ("cpu", "reference", "eager"):
        out = np.zeros_like(x)
        pypto.compile(kernel, target=target).execute(x, weight, out)
        close(out, right, 1e-6, 0)


GATED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "glu": (pypto.nn.glu, lambda a, b: a * torch.sigmoid(b)),
    "swiglu": (pypto.nn.swiglu, lambda a, b: F.silu(a) * b),
    "geglu": (pypto.nn.geglu, lambda a, b: a * F.gelu(b)),
    "geglu by tanh": (lambda x: pypto.nn.geglu(x, approximate="tanh"), lambda a, b: a * F.gelu(b, approximate="tanh")),
}


@pytest.mark.parametrize("name", GATED)
def test_gated_units(name: str) -> None:
    ours, right = GATED[name]
    x = np.random.default_rng(1).standard_normal((5, 14)).astype(F32)
    expected = right(*torch.from_numpy(x).double().chunk(2, -1)).numpy()

    @pypto.tile
    def kernel(x, out):
        out[:] = ours(x)

    for target in ("cpu", "reference", "eager"):
        out = np.zeros((5, 7), F32)
        pypto.compile(kernel, target=target).execute(x, out)
        close(out, expected, 1e-5, 1e-6)


def test_gated_units_of_two_tiles_and_other_axes() -> None:
    x = np.random.default_rng(2).standard_normal((4, 6)).astype(F32)

    @pypto.tile
    def kernel(x, a, b, c):
        a[:] = pypto.nn.swiglu(x[:2], x[2:])
        b[:] = pypto.nn.swiglu(x, dim=0)
        c[:] = pypto.nn.geglu(x[2:], x[:2])

    a, b, c = (np.zeros((2, 6), F32) for _ in range(3))
    pypto.compile(kernel).execute(x, a, b, c)
    right = F.silu(torch.from_numpy(x[:2])) * torch.from_numpy(x[2:])
    close(a, right, 1e-5, 1e-6)
    np.testing.assert_array_equal(a, b)
    close(c, F.gelu(torch.from_numpy(x[:2])) * torch.from_numpy(x[2:]), 1e-5, 1e-6)


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 0), ("int8", 3), ("uint8", 128), ("int32", 0)])
def test_quantize_and_back(dtype: str, zero: int) -> None:
    x = np.concatenate([np.random.default_rng(3).standard_normal(200) * 3, [0.0, 1e9, -1e9, INF, -INF]]).astype(F32)
    limits = np.iinfo(dtype)
    right = np.clip(np.rint(x / F32(0.125)).astype(np.float64) + zero, limits.min, limits.max).astype(dtype)
    for found in results(lambda x: pypto.nn.quantize(x, 0.125, zero, dtype), (x,), dtype):
        np.testing.assert_array_equal(found, right)
    for found in results(lambda q: pypto.nn.dequantize(q, 0.125, zero), (right,), F32):
        np.testing.assert_array_equal(found, (right.astype(F32) - zero) * F32(0.125))
    if dtype != "int32":
        tensor = torch.quantize_per_tensor(torch.from_numpy(x[:-2]), 0.125, zero, getattr(torch, f"q{dtype}"))
        np.testing.assert_array_equal(right[:-2], tensor.int_repr().numpy())


def test_quantize_per_channel() -> None:
    x = np.random.default_rng(4).standard_normal((3, 5, 2)).astype(F32)
    scale, zero = np.array([0.1, 0.25, 0.5, 1.0, 2.0], F32), np.array([0, 1, -3, 4, 100], np.int32)

    @pypto.tile
    def kernel(x, s, z, q, back):
        q[:] = pypto.nn.quantize(x, s, z, axis=1)
        back[:] = pypto.nn.dequantize(q, s, z, axis=1)

    q, back = np.zeros(x.shape, np.int8), np.zeros_like(x)
    pypto.compile(kernel).execute(x, scale, zero, q, back)
    right = torch.quantize_per_channel(
        torch.from_numpy(x), torch.from_numpy(scale).double(), torch.from_numpy(zero), 1, torch.qint8
    )
    np.testing.assert_array_equal(q, right.int_repr().numpy())
    close(back, right.dequantize(), 1e-6, 0)
