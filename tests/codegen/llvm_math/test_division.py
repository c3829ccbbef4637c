"""floor_div and remainder have NumPy's results for every pair of operands."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.codegen.llvm.rules.single import Application
from pypto.ir.dtypes import F32, F64, I8, I16, I32, I64, U8

FUNCTIONS = {"floor_div": np.floor_divide, "remainder": np.remainder}
INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("dtype", [I8, U8], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_eight_bits_exhaustively(rules, machines, name, dtype):
    values = np.arange(256).astype(np.uint8).view(dtype.numpy)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x, y)
    for machine in machines.values():
        for lanes in (1, 4, 16):
            np.testing.assert_array_equal(rules.loop(Application.of(name, dtype), lanes, machine)(x, y), expected)


@pytest.mark.parametrize("dtype", [I16, I32, I64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wide_integers(rules, machines, name, dtype):
    generator = np.random.default_rng(5)
    limits = np.iinfo(dtype.numpy)
    ends = np.array([limits.min, limits.min + 1, -7, -2, -1, 0, 1, 2, 7, limits.max - 1, limits.max], dtype.numpy)
    ends_x, ends_y = (grid.ravel() for grid in np.meshgrid(ends, ends))
    any_x = generator.integers(limits.min, limits.max, 30_000, dtype.numpy, endpoint=True)
    any_y = np.right_shift(any_x[::-1], generator.integers(0, dtype.bits, any_x.size).astype(dtype.numpy))
    products = (any_y * generator.integers(-9, 9, any_y.size)).astype(dtype.numpy)
    x, y = np.concatenate([ends_x, any_x, products]), np.concatenate([ends_y, any_y, any_y])
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x, y)
    for machine in machines.values():
        for lanes in (1, 4):
            np.testing.assert_array_equal(rules.loop(Application.of(name, dtype), lanes, machine)(x, y), expected)


def float_pairs(dtype):
    generator = np.random.default_rng(6)
    special = np.array([0.0, 1.0, 3.0, 0.1, 5.5, 1e-45, 1e-310, 2.0**24, 2.0**60, 3e38, 1e300, INF, NAN])
    with np.errstate(all="ignore"):
        special = np.concatenate([special, -special]).astype(dtype.numpy)
    special_x, special_y = (grid.ravel() for grid in np.meshgrid(special, special))
    count = 20_000
    unsigned = np.uint32 if dtype == F32 else np.uint64
    patterns = generator.integers(0, np.iinfo(unsigned).max, (2, count), unsigned).view(dtype.numpy)
    near = (generator.normal(size=(2, count)) * 10).astype(dtype.numpy)
    whole = generator.integers(-50, 50, (2, count)).astype(dtype.numpy)
    tenths = (generator.integers(-50, 50, (2, count)) / 10).astype(dtype.numpy)
    # Quotients of every size, and products off by one place, where a rounded quotient would be wrong.
    large = (near[0] * 2.0 ** generator.integers(0, 60, count)).astype(dtype.numpy)
    off_by_one = np.nextafter((near[1] * whole[0]).astype(dtype.numpy), dtype.numpy.type(generator.choice([-1, 1])))
    x = np.concatenate([special_x, patterns[0], near[0], whole[0], tenths[0], large, off_by_one])
    y = np.concatenate([special_y, patterns[1], near[1], whole[1], tenths[1], near[1], near[1]])
    return x, y


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_floats_bit_for_bit(rules, machines, name, dtype):
    x, y = float_pairs(dtype)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x, y)
    for machine in machines.values():
        for lanes in (1, 16):
            result = rules.loop(Application.of(name, dtype), lanes, machine)(x, y)
            known = ~np.isnan(expected)
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))
