"""Products with a bias, and every way out of L0C, against NumPy bit for bit: scales, offsets, shifts, layouts."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from pypto.runtime.ascendc_host.driver import Program, build, run

Array = NDArray[Any]
M, N, K = 32, 48, 64
DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "s8": np.int8,
    "u8": np.uint8,
    "s32": np.int32,
}
FRACTALS = ["s8_s32", "s8_f16"]


@functools.cache
def program() -> Program:
    return build((Path(__file__).parent / "kernels" / "cube_out.cpp").read_text(), file="cube_out.cpp")


def pack(scale: float, offset: int = 0, shift: int = 0, *, signed: bool) -> int:
    """A scale as the hardware takes it; `shift` counts from 1, 0 is none."""
    bits = int(np.float32(scale).view(np.uint32))
    return bits | (offset & 511) << 37 | (int(signed) << 46) | ((1 << 36 | (shift - 1) << 32) if shift else 0)


def taken(scale: Array) -> Array:
    """The ten bits of fraction that count."""
    return (scale.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def to_bytes(values: Array, scale: Array, offset: Array, dtype: Any) -> Array:
    scaled = np.rint(np.clip(values.astype(np.float32) * taken(scale), -256, 255)).astype(np.int32) + offset
    limits = np.iinfo(dtype)
    return np.clip(scaled, limits.min, limits.max).astype(dtype)


def operands(kind: str) -> tuple[Array, Array, Array, Array]:
    """Whole numbers, so that sums do not depend on their order; and the product with its bias."""
    random = np.random.default_rng(len(kind))
    most = 120 if kind == "s8" else 6
    a, b = random.integers(-most, most, (M, K)), random.integers(-most, most, (N, K))
    bias = random.integers(-50, 50, N)
    sums = np.int32 if kind == "s8" else np.float32
    return a.astype(DTYPES[kind]), b.astype(DTYPES[kind]), bias.astype(sums), (a @ b.T + bias).astype(sums)


def execute(name: str, relu: bool, scale: int, scales: Array) -> tuple[Array, Array]:
    kind, to = name.split("_")[:2]
    a, b, bias, expected = operands(kind)
    arguments = {"a": a, "b": b, "bias": bias, "scales": scales, "z": np.zeros((M, N), DTYPES[to])}
    arguments |= {"scale": scale, "relu": int(relu)}
    report = run(program(), arguments, kernel=name)
    assert not report.findings, str(report)
    return report.outputs["z"], np.maximum(expected, 0) if relu else expected


def no_scales() -> Array:
    return np.zeros(N, np.uint64)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("name", ["f16_f32", "f16_f16", "bf16_bf16"])
def test_rounded(name: str, relu: bool) -> None:
    got, expected = execute(name, relu, 0, no_scales())
    np.testing.assert_array_equal(got, expected.astype(got.dtype))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("offset", [0, -20, 100])
def test_float_to_bytes(offset: int, relu: bool) -> None:
    got, expected = execute("f32_s8", relu, pack(0.3337, offset, signed=True), no_scales())
    np.testing.assert_array_equal(got, to_bytes(expected, np.array(0.3337), np.array(offset), np.int8))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("shift", [0, 1, 2, 8])
def test_whole_numbers_to_bytes(shift: int, relu: bool) -> None:
    """A shift brings them to 16 bits, saturated, before they are scaled."""
    got, expected = execute("s8_s8", relu, pack(0.0021, 3, shift, signed=True), no_scales())
    shifted = np.clip(expected >> shift, -32768, 32767) if shift else expected
    np.testing.assert_array_equal(got, to_bytes(shifted, np.array(0.0021), np.array(3), np.int8))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("name", ["f16_u8", "s8_u8"])
def test_a_scale_for_each_column(name: str, relu: bool) -> None:
    factor = np.linspace(0.01, 0.9, N) * (0.01 if name == "s8_u8" else 1)
    offsets = np.arange(N) * 5 - 100
    scales = np.array([pack(f, int(o), signed=False) for f, o in zip(factor, offsets, strict=True)], np.uint64)
    got, expected = execute(name, relu, 0, scales)
    np.testing.assert_array_equal(got, to_bytes(expected, factor, offsets, np.uint8))


def test_whole_numbers_to_half_by_column() -> None:
    factor = np.linspace(-0.01, 0.3, N)
    got, expected = execute("s8_f16_columns", False, 0, np.array([pack(f, signed=False) for f in factor], np.uint64))
    np.testing.assert_array_equal(got, (expected.astype(np.float32) * taken(factor)).astype(np.float16))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("name", FRACTALS)
def test_fractals(name: str, relu: bool) -> None:
    got, expected = execute(name, relu, pack(0.1, signed=True), no_scales())
    if name == "s8_f16":
        expected = (expected.astype(np.float32) * taken(np.array(0.1))).astype(np.float16)
    np.testing.assert_array_equal(got.reshape(N // 16, M, 16).transpose(1, 0, 2).reshape(M, N), expected)
