"""Functions of floats: within their bounds over the whole range, with the right special values."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import special

from pypto.codegen.llvm.rules.single import Application
from pypto.ir.dtypes import F32, F64
from pypto.ir.numerics import error_bound, ulp_distance
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

INF, NAN = np.inf, np.nan


def sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, np.ones_like(small)) / (1 + small)


def by_mpmath(function, single):
    """float64 by SciPy's `single`, longdouble by mpmath in 80 bits, the sign of a zero argument kept where odd."""

    def exact(x):
        if x.dtype == np.float64:
            return single(x)
        mpmath.mp.prec = 80
        bounded = np.clip(x.astype(np.float64), -100, 100)
        values = np.array([np.longdouble(mpmath.nstr(function(float(value)), 24)) for value in bounded], np.longdouble)
        return np.copysign(values, x) if single is special.erf else values

    return exact


EXACT = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": by_mpmath(mpmath.erf, special.erf),
    "erfc": by_mpmath(mpmath.erfc, special.erfc),
    "sigmoid": sigmoid,
}
MACHINES = ("host", "avx2", "sse2")


@pytest.fixture(scope="module")
def single_patterns():
    """Every 997th bit pattern: every exponent, both signs, subnormals, NaN. And the neighbours of the ends of ranges."""
    patterns = np.arange(0, 1 << 32, 997, np.uint64).astype(np.uint32).view(np.float32)
    ends = [-104.0, -103.97, -87.34, -88.7228, 88.7228, 88.73, 9.01, 9.02, 3.92, 3.93, 1.0, 2.0**-126, 2.0**-149]
    ends += [
        0.5,
        1e5,
        math.pi,
        math.pi / 2,
        89.416,
        -17.33,
        10.05,
        2.0**-9,
        128.0,
        -149.5,
        2.0**-25,
        16367173.0 * 2.0**72,
    ]
    near = np.array([end * (1 + k * 2.0**-23) for end in ends for k in range(-40, 41)], np.float32)
    return np.concatenate([patterns, near, -near, np.array([0.0, -0.0, INF, -INF, NAN, 3.4028235e38], np.float32)])


def double_samples(count):
    generator = np.random.default_rng(7)
    patterns = generator.integers(0, 1 << 64, count, np.uint64).view(np.float64)
    sizes = [generator.normal(size=count) * scale for scale in (1e-8, 1e-2, 1.0, 5.0, 300.0)]
    ends = [-745 + generator.normal(size=count) * 4, 709.78 + generator.normal(size=count)]
    tiny = 2.0 ** generator.uniform(-1074, -1015, count) * generator.choice([-1, 1], count)
    near_one = 1 + generator.normal(size=count) * 1e-3
    special_values = np.array([0.0, -0.0, INF, -INF, NAN, 5e-324, -5e-324, 1.7976931348623157e308])
    return np.concatenate([patterns, *sizes, *ends, tiny, near_one, special_values])


def check(result, exact, bound):
    distance = ulp_distance(result, exact)
    worst = int(np.argmax(distance))
    assert distance[worst] <= bound, (distance[worst], result[worst], exact[worst])
    with np.errstate(all="ignore"):
        zeros = exact.astype(result.dtype) == 0
    assert (np.signbit(result[zeros]) == np.signbit(exact[zeros])).all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", EXACT)
def test_f32_over_the_whole_range(rules, machines, single_patterns, name, machine):
    if machine not in machines:
        return  # not an x86-64 machine with these instructions
    with np.errstate(all="ignore"):
        exact = EXACT[name](single_patterns.astype(np.float64))
    loop = rules.loop(Application.of(name, F32), 16 if machine == "host" else 4, machines[machine])
    check(loop(single_patterns), exact, error_bound(name, F32))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", EXACT)
def test_f64(rules, machines, name, machine):
    if machine not in machines:
        return
    x = double_samples(300 if name in ("erf", "erfc") else 5000)
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype(np.longdouble))
    loop = rules.loop(Application.of(name, F64), 8 if machine == "host" else 2, machines[machine])
    check(loop(x), exact, error_bound(name, F64))


SPECIAL = {
    "exp": [(NAN, NAN), (INF, INF), (-INF, 0.0), (0.0, 1.0), (-0.0, 1.0), (1e30, INF), (-1e30, 0.0)],
    "log": [(NAN, NAN), (INF, INF), (-INF, NAN), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (1.0, 0.0), (-1e-45, NAN)],
    "exp2": [(NAN, NAN), (INF, INF), (-INF, 0.0), (0.0, 1.0), (-0.0, 1.0), (-3.0, 0.125), (10.0, 1024.0), (1e30, INF)],
    "expm1": [
        (NAN, NAN),
        (INF, INF),
        (-INF, -1.0),
        (0.0, 0.0),
        (-0.0, -0.0),
        (-1e30, -1.0),
        (1e30, INF),
        (1e-40, 1e-40),
    ],
    "log2": [(NAN, NAN), (INF, INF), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (1024.0, 10.0), (0.125, -3.0)],
    "log10": [(NAN, NAN), (INF, INF), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0)],
    "log1p": [(NAN, NAN), (INF, INF), (-1.0, -INF), (-1.5, NAN), (0.0, 0.0), (-0.0, -0.0), (1e-40, 1e-40), (-INF, NAN)],
    "cbrt": [(NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (-27.0, -3.0), (8.0, 2.0)],
    "sin": [(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (1e-40, 1e-40)],
    "cos": [(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 1.0), (-0.0, 1.0), (1e-40, 1.0)],
    "tan": [(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (1e-40, 1e-40)],
    "asin": [(NAN, NAN), (INF, NAN), (1.5, NAN), (-1.5, NAN), (0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2)],
    "acos": [(NAN, NAN), (-INF, NAN), (1.5, NAN), (1.0, 0.0), (-1.0, math.pi), (0.0, math.pi / 2)],
    "atan": [(NAN, NAN), (INF, math.pi / 2), (-INF, -math.pi / 2), (0.0, 0.0), (-0.0, -0.0), (1e30, math.pi / 2)],
    "sinh": [(NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (1e30, INF), (-1e30, -INF)],
    "cosh": [(NAN, NAN), (INF, INF), (-INF, INF), (0.0, 1.0), (-0.0, 1.0), (-1e30, INF)],
    "asinh": [(NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (1e-40, 1e-40)],
    "acosh": [(NAN, NAN), (INF, INF), (-INF, NAN), (1.0, 0.0), (0.5, NAN), (-1.0, NAN), (-1e30, NAN)],
    "atanh": [(NAN, NAN), (INF, NAN), (1.0, INF), (-1.0, -INF), (1.5, NAN), (0.0, 0.0), (-0.0, -0.0)],
    "erfc": [(NAN, NAN), (INF, 0.0), (-INF, 2.0), (0.0, 1.0), (-0.0, 1.0), (-6.0, 2.0), (1e30, 0.0)],
    "sqrt": [(NAN, NAN), (INF, INF), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (-1e-45, NAN)],
    "rsqrt": [(NAN, NAN), (INF, 0.0), (-INF, NAN), (0.0, INF), (-0.0, -INF), (4.0, 0.5), (-1.0, NAN)],
    "reciprocal": [(NAN, NAN), (INF, 0.0), (-INF, -0.0), (0.0, INF), (-0.0, -INF)],
    "tanh": [(NAN, NAN), (INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (1e30, 1.0), (-9.5, math.tanh(-9.5))],
    "erf": [(NAN, NAN), (INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (1e30, 1.0), (-6.0, -1.0)],
    "sigmoid": [(NAN, NAN), (INF, 1.0), (-INF, 0.0), (0.0, 0.5), (-0.0, 0.5), (1e30, 1.0), (-1e30, 0.0)],
}


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(rules, machines, name, dtype):
    x, expected = (np.array(column, dtype.numpy) for column in zip(*SPECIAL[name], strict=True))
    for machine in machines.values():
        result = rules.loop(Application.of(name, dtype), 4, machine)(x)
        np.testing.assert_array_equal(result, expected)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_relative_accuracy_near_zero(rules, name):
    x = np.array([10.0**-k for k in range(45)], np.float32)
    exact = EXACT[name](x.astype(np.float64))
    result = rules.loop(Application.of(name, F32), 8)(x)
    np.testing.assert_allclose(result[:37], exact[:37], rtol=2e-6)
    assert (ulp_distance(result[37:], exact[37:]) <= 1).all()


@pytest.mark.parametrize("name", ["erf", "tanh", "sigmoid", "sin", "cos"])
def test_results_stay_within_one(rules, machines, single_patterns, name):
    for machine in machines.values():
        result = rules.loop(Application.of(name, F32), 4, machine)(single_patterns)
        assert np.nanmax(np.abs(result)) == 1.0


POWER_VALUES = [0.0, 1.0, INF, 2.0, 0.5, 3.0, 1.5, 1e-45, 3e38, 16777215.0, 16777216.0, 2.0**31, 1 + 2.0**-23, 0.25]
POWER_VALUES = [*POWER_VALUES, *(-value for value in POWER_VALUES), NAN]


def power_pairs(dtype):
    generator = np.random.default_rng(3)
    grid = np.array(np.meshgrid(POWER_VALUES, POWER_VALUES)).reshape(2, -1)
    count = 20_000
    ordinary = np.array([np.exp(generator.normal(size=count) * 3), generator.normal(size=count) * 20])
    near_one = np.array([1 + generator.normal(size=count) * 1e-5, generator.normal(size=count) * 1e6])
    negative = np.array([-np.exp(generator.normal(size=count)), generator.integers(-40, 40, count)])
    return np.concatenate([grid, ordinary, near_one, negative], axis=1).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_power(rules, machines, dtype):
    x, y = power_pairs(dtype)
    wide = np.float64 if dtype == F32 else np.longdouble
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(wide), y.astype(wide))
    for machine in machines.values():
        check(rules.loop(Application.of("pow", dtype), 4, machine)(x, y), exact, error_bound("pow", dtype))


def test_subnormal_arithmetic_is_not_flushed_here_nor_in_the_caller(rules):
    x = np.array([0.1875 * 2.0**-124, 2.0**-149, 1e-30, 1e-40], np.float32)
    y = np.array([1.0, 1.0, 1e-10, 0.5], np.float32)
    for lanes in (1, 4):
        np.testing.assert_array_equal(rules.loop(Application.of("mul", F32), lanes)(x, y), x * y)
        rules.loop(Application.of("exp", F32), lanes)(np.full(4, -100, np.float32))
    assert (x * y != 0).all()
    assert 1e-310 * 0.5 == 5e-311


def test_every_function_of_floats_is_measured_here():
    bounds = {
        record.name
        for record in TABLE.values()
        if record.category is Category.ELEMENTWISE and "ulp" in record.error_bound
    }
    assert bounds == set(EXACT) | {"pow", "div", "atan2", "hypot"}


PAIRS = {"atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod}


def any_pairs(dtype):
    generator = np.random.default_rng(4)
    values = np.array([0.0, 1.0, INF, NAN, 1e-45, 3e38, 0.5, 1.5, 2.0**-126, 1e-310, 1e300])
    with np.errstate(all="ignore"):
        values = np.concatenate([values, -values]).astype(dtype.numpy)
    grid = np.array(np.meshgrid(values, values)).reshape(2, -1)
    unsigned = np.uint32 if dtype == F32 else np.uint64
    patterns = generator.integers(0, np.iinfo(unsigned).max, (2, 20_000), unsigned).view(dtype.numpy)
    sizes = (generator.normal(size=(2, 20_000)) * 10.0 ** generator.uniform(-9, 9, (2, 20_000))).astype(dtype.numpy)
    return np.concatenate([grid, patterns, sizes], axis=1)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_floats(rules, machines, name, dtype):
    x, y = any_pairs(dtype)
    wide = (np.float64 if dtype == F32 else np.longdouble) if name != "fmod" else dtype.numpy
    with np.errstate(all="ignore"):
        exact = PAIRS[name](x.astype(wide), y.astype(wide))
    for machine in machines.values():
        for lanes in (1, 8):
            result = rules.loop(Application.of(name, dtype), lanes, machine)(x, y)
            check(result, exact, error_bound(name, dtype))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_every_size_beside_each_other(rules, machines, name):
    """One lane's size must not change another's result, whichever way it is reduced."""
    generator = np.random.default_rng(8)
    mantissas = generator.uniform(1, 2, 4096) * generator.choice([-1, 1], 4096)
    x = (mantissas * 2.0 ** generator.integers(-149, 128, 4096)).astype(np.float32)
    worst = np.float32(16367173.0 * 2.0**72)  # the f32 nearest to a multiple of pi / 2
    x[:2], x[2:4] = (worst, -worst), (1e22, 3.4e38)
    exact = EXACT[name](x.astype(np.longdouble))  # glibc's, with its own exact reduction
    for machine in machines.values():
        check(rules.loop(Application.of(name, F32), 4, machine)(x), exact.astype(np.float64), error_bound(name, F32))
