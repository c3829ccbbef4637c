"""Instructions that compute and convert in one go against NumPy, bit for bit, and what scalar code counts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ascendc_host import harness
from pypto.runtime.ascendc_host.driver import Program, build, run

Array = NDArray[Any]
COUNT = 512


@functools.cache
def program() -> Program:
    return build((Path(__file__).parent / "kernels" / "compound.cpp").read_text(), file="compound.cpp")


def source(dtype: str, most: float, seed: int) -> Array:
    """Numbers with ties between whole ones, and a few that leave the range."""
    numbers = np.random.default_rng(seed).uniform(-most, most, COUNT)
    numbers[::5] = np.round(numbers[::5]) + 0.5
    numbers[:8] = [0, -0.0, most * 9, -most * 9, 0.5, 1.5, -0.5, 127]
    return np.round(numbers).astype(dtype) if dtype.startswith("int") else numbers.astype(dtype)


def saturated(exact: Array, dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(exact), limits.min, limits.max).astype(dtype)


def positive(exact: Array) -> Array:
    return np.where(exact > 0, exact, 0.0)


def lanes(per_repeat: int, active: int, step: int = 1) -> NDArray[np.bool_]:
    lane = np.arange(COUNT) % per_repeat
    return (lane < active) & (lane % step == 0)


def sevens(dtype: str) -> Array:
    return np.full(COUNT * np.dtype(dtype).itemsize, 7, np.uint8).view(dtype)


def scaled(total: Array) -> Array:
    return positive((total.astype(np.float32) * np.float32(np.float16(0.1))).astype(np.float16)).astype(np.float16)


Expect = Callable[[Array, Array], Array]
ALL = lanes(COUNT, COUNT)
PAIRS: dict[str, tuple[str, str, float, NDArray[np.bool_], Expect]] = {
    "add_relu_cast_f16_s8": ("float16", "int8", 70, ALL, lambda a, b: saturated(positive(a + b), "int8")),
    "add_relu_cast_s16_s8": ("int16", "int8", 70, lanes(128, 100), lambda a, b: saturated(positive(a + b), "int8")),
    "add_relu_cast_f32_f16": ("float32", "float16", 900, lanes(COUNT, COUNT - 3), lambda a, b: positive(a + b)),
    "sub_relu_cast_f16_s8": ("float16", "int8", 70, ALL, lambda a, b: saturated(positive(a - b), "int8")),
    "sub_relu_cast_s16_s8": ("int16", "int8", 3000, ALL, lambda a, b: saturated(positive(a - b), "int8")),
    "sub_relu_cast_f32_f16": ("float32", "float16", 900, lanes(64, 64, 2), lambda a, b: positive(a - b)),
    "mul_cast_f16_s8": ("float16", "int8", 12, ALL, lambda a, b: saturated(a * b, "int8")),
    "mul_cast_f16_u8": ("float16", "uint8", 18, lanes(128, 65), lambda a, b: saturated(a * b, "uint8")),
    "add_deq_relu": ("int32", "float16", 1e5, ALL, lambda a, b: scaled(a + b)),
    "add_deq_relu_masked": ("int32", "float16", 1e5, lanes(64, 40), lambda a, b: scaled(a + b)),
    "mul_add_relu": (
        "float16",
        "float16",
        9,
        lanes(128, 120),
        lambda a, b: positive(a * float(sevens("float16")[0]) + b),
    ),
    "mul_add_relu_f32": ("float32", "float32", 9, ALL, lambda a, b: positive((a * 1.5).astype(np.float32) + b)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.filterwarnings("ignore:overflow")
def test_of_two_tensors(name: str) -> None:
    given, dtype, most, active, expect = PAIRS[name]
    x, y = source(given, most, 1), source(given, most, 2)
    report = run(program(), {"x": x, "y": y, "z": np.zeros(COUNT, dtype)}, kernel=name)
    assert not report.findings, str(report)
    exact = expect(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(
        report.outputs["z"].view(np.uint8), np.where(active, exact, sevens(dtype)).view(np.uint8)
    )


def spread(numbers: Array, *, high: bool) -> Array:
    """Sixteen bytes in one half of each block of 32, sevens in the other."""
    blocks = np.full((len(numbers) // 16, 2, 16), 7, np.uint8)
    blocks[:, int(high)] = numbers.view(np.uint8).reshape(-1, 16)
    return blocks.reshape(-1)


@pytest.mark.parametrize(
    ("kernel", "dtype", "high"), [("cast_dequant_s8", "int8", False), ("cast_dequant_u8", "uint8", True)]
)
def test_scales_of_a_tensor(kernel: str, dtype: str, high: bool) -> None:
    x = np.resize(source("int16", 60, 3), COUNT)
    report = run(program(), {"x": x, "y": x, "z": np.zeros(COUNT, dtype)}, kernel=kernel)
    assert not report.findings, str(report)
    column = np.arange(COUNT // 2) % 16
    exact = x[: COUNT // 2] * (0.5 + 0.25 * column) + (column - 8)
    np.testing.assert_array_equal(report.outputs["z"].view(np.uint8), spread(saturated(exact, dtype), high=high))


def test_a_scale_keeps_ten_bits_of_fraction() -> None:
    x = source("int16", 200, 4)
    report = run(program(), {"x": x, "y": x, "z": np.zeros(COUNT, np.int8)}, kernel="cast_dequant_number")
    assert not report.findings, str(report)
    expected = np.full(COUNT, 7, np.int8)
    for repeat in range(2):  # 20 lanes of each repeat, the second block of the result two blocks on
        numbers = saturated(x[repeat * 128 : repeat * 128 + 20] * 1.0 - 20, "int8")
        expected[repeat * 256 + 16 : repeat * 256 + 32] = numbers[:16]
        expected[repeat * 256 + 80 : repeat * 256 + 84] = numbers[16:]
    np.testing.assert_array_equal(report.outputs["z"], expected)


@pytest.mark.filterwarnings("ignore:overflow")
def test_whole_numbers_become_half() -> None:
    x = source("int32", 1e5, 5)
    report = run(program(), {"x": x, "y": x, "z": np.zeros(COUNT, np.float16)}, kernel="cast_dequant_half")
    expected = (x.astype(np.float32) * np.float32(np.float16(0.1))).astype(np.float16)
    np.testing.assert_array_equal(report.outputs["z"], expected)


def test_old_name_of_sums_takes_repeats_first() -> None:
    x = np.round(source("float32", 90, 6))
    report = run(program(), {"x": x, "y": x, "z": np.zeros(COUNT, np.float32)}, kernel="repeat_reduce_sum")
    assert not report.findings, str(report)
    expected = sevens("float32")
    expected[:16:2] = x.reshape(8, 64)[:, :60].sum(1)
    np.testing.assert_array_equal(report.outputs["z"], expected)


def half_sum(products: Array) -> Array:
    """Products of half and their sums, rounded one after the other."""
    total = products[0]
    for product in products[1:]:
        total = (product.astype(np.float32) + total.astype(np.float32)).astype(np.float16)
    return total + np.float16(0)


def test_interpolation() -> None:
    random = np.random.default_rng(7)
    x, weights = (
        random.uniform(-2, 2, 512).astype(np.float16),
        np.resize(random.uniform(-2, 2, 32).astype(np.float16), 512),
    )
    offsets = np.resize(random.permutation(32).astype(np.uint32) * 32, 512)
    report = run(
        program(), {"x": x, "offsets": offsets, "weights": weights, "z": np.zeros(512, np.float16)}, kernel="bilinear"
    )
    assert not report.findings, str(report)
    blocks = x.reshape(32, 16)[offsets[:32] // 32]
    by_block = (blocks * weights[:32, None]).reshape(2, 2, 128)
    by_step = (blocks.reshape(4, 128) * weights[:4, None])[:, :40]
    expected = np.full(512, 7, np.float16)
    expected[:256] = np.concatenate([half_sum(row) for row in by_block])
    expected[256:296] = half_sum(by_step)
    np.testing.assert_array_equal(report.outputs["z"], expected)


def test_bits_of_scalars() -> None:
    report = run(program(), {"z": np.zeros(512, np.int64)}, kernel="bits")
    found = report.outputs["z"][:25].tolist()
    assert found[:7] == [16, 48, 2, 64, 48, 7, 0]
    assert found[7:13] == [-1, -1, 62, 0, 7, 6]
    assert found[13:19] == [-1, -1, 0, 8, 8, 0]
    assert found[19:23] == [3, 2, 2, -2]
    assert found[23] == np.float16(3.142578125).view(np.uint16).item() | 1
    assert found[24] == 0x3F80  # a tie goes to the even one


def test_all_memory_that_the_pipe_has_left() -> None:
    report = run(program(), {"z": np.zeros(512, np.int64)}, kernel="rest_of_memory")
    assert not report.findings, str(report)
    assert report.outputs["z"][:2].tolist() == [1, (184 * 1024 - 1024) // 4]


@pytest.mark.parametrize("name", harness.expectations("compound_faulty.cpp"))
def test_mistake_is_found_at_its_line(name: str) -> None:
    expected = harness.expectations("compound_faulty.cpp")[name]
    report = harness.execute("compound_faulty.cpp", name, "early")
    assert {(finding.rule, finding.line) for finding in report.findings} == expected.must, str(report)
