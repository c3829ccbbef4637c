"""Shifts, powers, rests and greatest common divisors of integers: NumPy's results for every pair of operands."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pypto.codegen.llvm.rules.single import Application
from pypto.ir.dtypes import I8, I16, I32, I64, U8
from pypto.ir.operations.table import TABLE

DTYPES = [U8, I8, I16, I32, I64]
FUNCTIONS = {"shift_left": np.left_shift, "shift_right": np.right_shift, "gcd": np.gcd, "fmod": np.fmod}


def pairs(dtype):
    """All pairs of 8 bits; else ends, small numbers, random ones, and counts around the width."""
    if dtype.bits == 8:
        values = np.arange(256).astype(np.uint8).view(dtype.numpy)
        return tuple(grid.ravel() for grid in np.meshgrid(values, values))
    generator = np.random.default_rng(9)
    limits = np.iinfo(dtype.numpy)
    ends = [limits.min, limits.min + 1, -7, -2, -1, 0, 1, 2, 7, dtype.bits - 1, dtype.bits, dtype.bits + 1, limits.max]
    ends_x, ends_y = (grid.ravel() for grid in np.meshgrid(np.array(ends, dtype.numpy), np.array(ends, dtype.numpy)))
    any_x, any_y = generator.integers(limits.min, limits.max, (2, 4000), dtype.numpy, endpoint=True)
    small = generator.integers(-70, 70, 4000).astype(dtype.numpy)
    return np.concatenate([ends_x, any_x, any_x]), np.concatenate([ends_y, any_y, small])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pairs(rules, machines, name, dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x, y)
    np.testing.assert_array_equal(TABLE[name].meaning(x, y), expected)
    for machine in machines.values():
        for lanes in (1, 4, 16):
            np.testing.assert_array_equal(rules.loop(Application.of(name, dtype), lanes, machine)(x, y), expected)


def integer_power(x: int, y: int, bits: int, signed: bool) -> int:
    """Python's, wrapped; negative exponents as torch's."""
    if y < 0:
        return 1 if x == 1 else (-1 if y % 2 else 1) if x == -1 else 0
    value = pow(x, y, 1 << bits)
    return value - (1 << bits) if signed and value >> (bits - 1) else value


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_powers(rules, machines, dtype):
    x, y = (operand[:: max(1, operand.size // 3000)] for operand in pairs(dtype))
    y = np.concatenate([y, y % 12])
    x = np.concatenate([x, x])
    signed = dtype.kind == "signed"
    expected = [integer_power(int(a), int(b), dtype.bits, signed) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(TABLE["pow"].meaning(x, y), expected)
    for machine in machines.values():
        for lanes in (1, 4, 16):
            result = rules.loop(Application.of("pow", dtype), lanes, machine)(x, y)
            np.testing.assert_array_equal(result, expected)


def test_divisors_by_python():
    x, y = pairs(I32)
    expected = [math.gcd(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(TABLE["gcd"].meaning(x, y), np.array(expected).astype(np.int32))
