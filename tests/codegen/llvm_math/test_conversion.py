"""Casts: narrow floats exhaustively, saturation, rounding."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pypto.codegen.llvm.rules.single import Application
from pypto.ir.dtypes import ALL, BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8

INF, NAN = np.inf, np.nan
NARROW = [F16, BF16]


@pytest.fixture(scope="module")
def single_patterns():
    """Every 251st pattern, and all around the ties, the largest and the smallest numbers of f16 and bf16."""
    patterns = np.arange(0, 1 << 32, 251, np.uint64).astype(np.uint32)
    ends = np.array(
        [65504, 65519, 65520, 65536, 2.0**-14, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 3.3895e38, 1e-40], np.float32
    )
    ties = np.concatenate([np.arange(2048, 2060), np.arange(256, 266)]).astype(np.float32)
    bits = np.concatenate([ends, ties]).view(np.uint32)
    near = (bits[:, None] + np.arange(-3, 4).astype(np.uint32)).ravel()
    return np.concatenate([patterns, near, near | np.uint32(1 << 31)]).view(np.float32)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_narrow_to_f32_exhaustively(rules, machines, dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float32)
    for machine in machines.values():
        for lanes in (1, 4, 16):
            result = rules.loop(Application.of("cast", dtype, F32), lanes, machine)(x)
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_there_and_back_keeps_every_pattern(rules, machines, dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)
    for machine in machines.values():
        wide = rules.loop(Application.of("cast", dtype, F32), 4, machine)(x)
        back = rules.loop(Application.of("cast", F32, dtype), 4, machine)(wide)
        number = ~np.isnan(wide)
        np.testing.assert_array_equal(back.view(np.uint16)[number], x.view(np.uint16)[number])
        assert np.isnan(back[~number]).all()


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_f32_to_narrow(rules, machines, single_patterns, dtype):
    with np.errstate(all="ignore"):
        expected = single_patterns.astype(dtype.numpy)
    number = ~np.isnan(single_patterns)
    for machine in machines.values():
        result = rules.loop(Application.of("cast", F32, dtype), 4, machine)(single_patterns)
        np.testing.assert_array_equal(result.view(np.uint16)[number], expected.view(np.uint16)[number])
        assert np.isnan(result[~number]).all()


def test_f64_rounds_to_f32_before_f16(rules):
    """As the meaning of cast says: 1 + 2^-11 + 2^-40 is a tie in f32."""
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1e-320, 65519.999999999])
    result = rules.loop(Application.of("cast", F64, F16), 4)(x)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float32).astype(np.float16)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("source", [F32, F64], ids=str)
@pytest.mark.parametrize("target", [I8, U8, I16, I32, I64], ids=str)
def test_float_to_integer_truncates_and_saturates(rules, machines, source, target):
    limits = np.iinfo(target.numpy)
    x = np.array(
        [0.0, -0.0, 0.99, -0.99, -1.5, 1.5, 300.0, -300.0, 3e9, -3e9, 1e30, -1e30, INF, -INF, NAN], source.numpy
    )
    for machine in machines.values():
        for lanes in (1, 4, 8, 16):
            result = rules.loop(Application.of("cast", source, target), lanes, machine)(x)
            expected = [0 if np.isnan(v) else int(max(limits.min, min(limits.max, np.trunc(v)))) for v in x.tolist()]
            assert result.tolist() == expected


def test_integer_to_float_rounds_to_even(rules):
    x = np.array([16777217, 16777219, -16777217, (1 << 63) - 1, -(1 << 63), 9007199254740993], np.int64)
    np.testing.assert_array_equal(rules.loop(Application.of("cast", I64, F32), 4)(x), x.astype(np.float32))
    np.testing.assert_array_equal(rules.loop(Application.of("cast", I64, F64), 4)(x), x.astype(np.float64))
    small = np.array([257, 259, 511, 2049, 2051, 65519, 65520], np.int32)
    assert rules.loop(Application.of("cast", I32, BF16), 4)(small).tolist() == small.astype(ml_dtypes.bfloat16).tolist()
    with np.errstate(all="ignore"):
        expected = small.astype(np.float32).astype(np.float16)
    np.testing.assert_array_equal(rules.loop(Application.of("cast", I32, F16), 4)(small), expected)


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype != BOOL], ids=str)
def test_bool_is_not_zero(rules, dtype):
    x = np.array([0, 1, 2, 100, 0, 7], np.float32).astype(dtype.numpy)
    assert rules.loop(Application.of("cast", dtype, BOOL), 4)(x).tolist() == [False, True, True, True, False, True]
    back = rules.loop(Application.of("cast", BOOL, dtype), 4)(np.array([True, False]))
    assert back.astype(np.float32).tolist() == [1.0, 0.0]
    if dtype.is_float:
        odd = np.array([NAN, -0.0, 0.0, INF]).astype(dtype.numpy)
        assert rules.loop(Application.of("cast", dtype, BOOL), 4)(odd).tolist() == [True, False, False, True]


def test_any_byte_but_zero_is_a_true_bool(rules):
    x = np.array([0, 1, 2, 128, 255], np.uint8).view(np.bool_)
    assert rules.loop(Application.of("not", BOOL), 1)(x).view(np.uint8).tolist() == [1, 0, 0, 0, 0]
