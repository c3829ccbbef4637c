"""Every elementwise function of `pypto` under each of its names: eager, reference and native code against NumPy and torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from scipy import special

import pypto
from pypto import tile
from tests.language.running import run

Array = np.ndarray[Any, Any]
F32, F64 = np.float32, np.float64
INF, NAN = float("inf"), float("nan")
EXTENTS = (0, 1, 7, 31, 257, 1000)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3e38, -3e38, 1e-40, -1e-40, INF, -INF, NAN, 89.0, -104.0, 1e5, 2.0**24]
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def dtype_of(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def values(dtype: str, extent: int, seed: int = 0) -> Array:
    """Special values first, then random ones."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, extent).astype(bool)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        ends = np.array([0, 1, limits.max, limits.min, 3, limits.max - 1], dtype)
        data = random.integers(-9 if limits.min else 0, 10, extent).astype(dtype)
    else:
        with np.errstate(all="ignore"):
            ends = np.array(SPECIAL).astype(dtype_of(dtype))
            data = (random.standard_normal(extent) * 3).astype(dtype_of(dtype))
    ends = np.roll(ends, seed)[:extent]
    data[: ends.size] = ends
    return data


def results(body: Callable[..., Any], inputs: tuple[Array, ...], dtype: Any) -> list[Array]:
    """Return what ``out[:] = body(*inputs)`` writes: by the reference (eager mode gives its bits) and by native code."""
    shape = np.broadcast_shapes(*(item.shape for item in inputs))
    outs = [np.full(shape, 7).astype(dtype) for _ in range(2)]
    if len(inputs) == 1:

        @tile
        def one(x, out):
            out[:] = body(x)

        kernel = one
    else:

        @tile
        def two(x, y, out):
            out[:] = body(x, y)

        kernel = two
    run(kernel, *inputs, outs[0])
    pypto.compile(kernel, target="cpu").execute(*inputs, outs[1])
    return outs


def check(body: Callable[..., Any], inputs: tuple[Array, ...], right: Callable[..., Any], rtol: float = 0.0) -> None:
    """Compare with NumPy: computed in float64 for narrower floats, then rounded."""
    wide = tuple(item.astype(F64) if item.dtype.kind not in "biu" else item for item in inputs)
    with np.errstate(all="ignore"):
        exact = np.asarray(right(*wide))
        first = inputs[0].dtype
        dtype = exact.dtype if exact.dtype.kind in "biu" else first if first.kind not in "biu" else F32
        exact = exact.astype(dtype)
    for found in results(body, inputs, dtype):
        if exact.dtype.kind in "biu":
            np.testing.assert_array_equal(found, exact)
            continue
        epsilon = {8: 2.0**-52, 4: 2.0**-23}.get(dtype.itemsize if hasattr(dtype, "itemsize") else 4, 2.0**-10)
        epsilon = 2.0**-7 if dtype == dtype_of("bfloat16") else epsilon
        tiny = {8: 0.0, 4: 1e-44}.get(np.dtype(dtype).itemsize, 1e-7) if dtype != dtype_of("bfloat16") else 1e-40
        got = found.astype(F64)
        np.testing.assert_allclose(got, exact.astype(F64), rtol=max(rtol, 5 * epsilon), atol=tiny)
        zeros = exact.astype(F64) == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(exact.astype(F64)[zeros]))


UNARY: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "sign": (("sign",), np.sign), "exp2": (("exp2",), np.exp2), "expm1": (("expm1",), np.expm1),
    "log2": (("log2",), np.log2), "log10": (("log10",), np.log10), "log1p": (("log1p",), np.log1p),
    "cbrt": (("cbrt",), np.cbrt), "sin": (("sin",), np.sin), "cos": (("cos",), np.cos), "tan": (("tan",), np.tan),
    "asin": (("asin", "arcsin"), np.arcsin), "acos": (("acos", "arccos"), np.arccos),
    "atan": (("atan", "arctan"), np.arctan), "sinh": (("sinh",), np.sinh), "cosh": (("cosh",), np.cosh),
    "tanh": (("tanh",), np.tanh), "asinh": (("asinh", "arcsinh"), np.arcsinh),
    "acosh": (("acosh", "arccosh"), np.arccosh), "atanh": (("atanh", "arctanh"), np.arctanh),
    "erfc": (("erfc",), special.erfc), "square": (("square",), np.square),
    "absolute": (("abs", "absolute", "fabs"), np.abs), "negative": (("neg", "negative"), np.negative),
    "floor": (("floor",), np.floor), "ceil": (("ceil",), np.ceil), "trunc": (("trunc", "fix"), np.trunc),
    "round": (("round", "rint"), np.rint), "deg2rad": (("deg2rad", "radians"), np.deg2rad),
    "rad2deg": (("rad2deg", "degrees"), np.rad2deg), "isnan": (("isnan",), np.isnan), "isinf": (("isinf",), np.isinf),
    "isfinite": (("isfinite",), np.isfinite), "signbit": (("signbit",), np.signbit),
    "logical_not": (("logical_not",), np.logical_not), "positive": (("positive",), np.positive),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_float(name: str, dtype: str) -> None:
    names, right = UNARY[name]
    if dtype == "bfloat16" and name in ("rad2deg", "square", "round"):
        dtype = "float32"
    for number, extent in enumerate(EXTENTS):
        ours = getattr(pypto, names[number % len(names)])
        check(ours, (values(dtype, extent),), right, 1e-13 if name == "erfc" else 0.0)  # SciPy's own is that far off


@pytest.mark.parametrize("name", [name for name in UNARY if hasattr(np, name)])
def test_numpys_functions_are_ours(name: str) -> None:
    x = values("float32", 31)
    check(getattr(np, name), (x,), UNARY[name][1])


METHODS = (
    "abs absolute acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor isfinite isinf isnan log "
    "log10 log1p log2 logical_not neg reciprocal round rsqrt sigmoid sign signbit sin sinh sqrt square tan tanh trunc"
)


@pytest.mark.parametrize("name", METHODS.split())
def test_methods(name: str) -> None:
    x = values("float32", 31)

    @tile
    def both(x, first, second):
        first[:] = pypto.cast(getattr(x, name)(), "float32")
        second[:] = pypto.cast(getattr(pypto, name)(x), "float32")

    first, second = np.zeros_like(x), np.ones_like(x)
    run(both, x, first, second)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "trunc", "round", "square", "absolute", "isnan", "isinf",
                                  "isfinite", "signbit", "logical_not", "positive"])  # fmt: skip
def test_functions_of_one_integer(name: str, dtype: str) -> None:
    right = {name: (lambda x: x) for name in ("floor", "ceil", "trunc", "round", "positive")}
    function = right.get(name, UNARY[name][1] if name != "signbit" else lambda x: x < 0)
    for extent in (0, 1, 31):
        check(getattr(pypto, UNARY[name][0][0]), (values(dtype, extent),), function)


def test_functions_of_bools() -> None:
    x = values("bool", 31)
    for ours, right in ((pypto.logical_not, ~x), (pypto.sign, x), (pypto.floor, x), (pypto.isnan, x & False)):
        for found in results(ours, (x,), bool):
            np.testing.assert_array_equal(found, right)


BINARY: dict[str, tuple[tuple[Callable[..., Any], ...], Callable[..., Any]]] = {
    "add": ((pypto.add, np.add), np.add), "sub": ((pypto.sub, pypto.subtract, np.subtract), np.subtract),
    "mul": ((pypto.mul, pypto.multiply, np.multiply), np.multiply),
    "floor_div": ((pypto.floor_div, pypto.floor_divide, np.floor_divide), np.floor_divide),
    "remainder": ((pypto.remainder, pypto.mod, np.remainder, np.mod), np.remainder),
    "fmod": ((pypto.fmod, np.fmod, lambda x, y: x.fmod(y)), np.fmod),
    "maximum": ((pypto.maximum, np.maximum), np.maximum), "minimum": ((pypto.minimum, np.minimum), np.minimum),
    "fmax": ((pypto.fmax, np.fmax), np.fmax), "fmin": ((pypto.fmin, np.fmin), np.fmin),
    "eq": ((pypto.eq, pypto.equal, np.equal), np.equal), "ne": ((pypto.ne, pypto.not_equal), np.not_equal),
    "lt": ((pypto.lt, pypto.less, np.less), np.less), "le": ((pypto.le, pypto.less_equal), np.less_equal),
    "gt": ((pypto.gt, pypto.greater), np.greater), "ge": ((pypto.ge, pypto.greater_equal), np.greater_equal),
    "logical_and": ((pypto.logical_and, np.logical_and), np.logical_and),
    "logical_or": ((pypto.logical_or, np.logical_or), np.logical_or),
    "logical_xor": ((pypto.logical_xor, np.logical_xor), np.logical_xor),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", *INTEGERS])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name: str, dtype: str) -> None:
    spellings, right = BINARY[name]
    for number, extent in enumerate(EXTENTS):
        inputs = values(dtype, extent), values(dtype, extent, 1)
        if name in ("fmax", "fmin"):  # of zeros of both signs either is right
            inputs = tuple(np.where(item == 0, 0, item).astype(dtype) for item in inputs)  # type: ignore[assignment]
        check(spellings[number % len(spellings)], inputs, _in_its_own_dtype(right, dtype))


def _in_its_own_dtype(function: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    return lambda *operands: function(*(operand.astype(dtype) for operand in operands))


FLOAT_PAIRS: dict[str, tuple[tuple[Callable[..., Any], ...], Callable[..., Any]]] = {
    "div": ((pypto.div, pypto.divide, pypto.true_divide, np.true_divide), np.divide),
    "atan2": ((pypto.atan2, pypto.arctan2, np.arctan2, lambda x, y: x.atan2(y)), np.arctan2),
    "hypot": ((pypto.hypot, np.hypot, lambda x, y: x.hypot(y)), np.hypot),
    "copysign": ((pypto.copysign, np.copysign, lambda x, y: x.copysign(y)), np.copysign),
    "logaddexp": ((pypto.logaddexp, np.logaddexp), np.logaddexp),
    "pow": ((pypto.pow, pypto.power, np.power, lambda x, y: x**y, lambda x, y: x.pow(y)), np.power),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", FLOAT_PAIRS)
def test_functions_of_two_floats(name: str, dtype: str) -> None:
    spellings, right = FLOAT_PAIRS[name]
    for number, extent in enumerate(EXTENTS):
        with np.errstate(all="ignore"):
            inputs = values(dtype, extent), values(dtype, extent, 1)
            check(spellings[number % len(spellings)], inputs, right, 1e-5 if name == "logaddexp" else 2e-6)


BITS: dict[str, tuple[tuple[Callable[..., Any], ...], Callable[..., Any]]] = {
    "and": ((pypto.bitwise_and, np.bitwise_and, lambda x, y: x & y), np.bitwise_and),
    "or": ((pypto.bitwise_or, np.bitwise_or, lambda x, y: x | y), np.bitwise_or),
    "xor": ((pypto.bitwise_xor, np.bitwise_xor, lambda x, y: x ^ y), np.bitwise_xor),
    "shift_left": ((pypto.left_shift, pypto.bitwise_left_shift, np.left_shift, lambda x, y: x << y), np.left_shift),
    "shift_right": (
        (pypto.right_shift, pypto.bitwise_right_shift, np.right_shift, lambda x, y: x >> y),
        np.right_shift,
    ),
    "gcd": ((pypto.gcd, np.gcd), np.gcd),
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", BITS)
def test_functions_of_two_integers(name: str, dtype: str) -> None:
    spellings, right = BITS[name]
    for number, extent in enumerate(EXTENTS):
        check(spellings[number % len(spellings)], (values(dtype, extent), values(dtype, extent, 1)), right)


def test_bits_of_one_value_and_shifts_of_numbers() -> None:
    x = values("int32", 31)
    checks: list[tuple[Any, Any]] = [
        (pypto.bitwise_not, ~x), (pypto.invert, ~x), (np.invert, ~x), (lambda x: x << 3, x << 3), (lambda x: x >> 40, x >> 40),
        (lambda x: 1 << x, 1 << x), (lambda x: -5 >> x, np.int32(-5) >> x), (lambda x: x << -1, x * 0),
    ]  # fmt: skip
    for ours, right in checks:
        for found in results(ours, (x,), np.int32):
            np.testing.assert_array_equal(found, right)


def test_shifts_in_place() -> None:
    @tile
    def kernel(x):
        x <<= 2
        x >>= 1

    x = values("int16", 31)
    right = (x << 2) >> 1
    run(kernel, x)
    np.testing.assert_array_equal(x, right)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_powers_of_integers(dtype: str) -> None:
    x = values(dtype, 257)
    y = (np.arange(257) % 9).astype(dtype)
    check(lambda x, y: x**y, (x, y), np.power)
    for exponent in (0, 1, 2, 5, 11):
        check(lambda x, e=exponent: x**e, (x,), lambda x, e=exponent: np.power(x, np.asarray(e, dtype)))
    if dtype != "uint8":
        right = torch.pow(torch.from_numpy(x), torch.from_numpy(-y)).numpy()
        for found in results(lambda x, y: x ** (-y), (x, y), dtype):
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("decimals", [0, 2, -1])
def test_round_to_decimals(decimals: int) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, 123.456, 1.005, 15.0, 25.0, INF, NAN, -0.0])
    for ours in (
        lambda x: pypto.round(x, decimals=decimals),
        lambda x: np.round(x, decimals),
        lambda x: x.round(decimals),
    ):
        for found in results(ours, (x,), F64):
            np.testing.assert_array_equal(found, np.round(x, decimals))
            np.testing.assert_array_equal(np.signbit(found), np.signbit(np.round(x, decimals)))


ROUNDED = {
    None: np.trunc, "trunc": np.trunc, "floor": np.floor, "ceil": np.ceil, "nearest": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}  # fmt: skip


@pytest.mark.parametrize("rounding", ROUNDED)
def test_cast_with_a_rounding_mode(rounding: str | None) -> None:
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 2.4999998, 0.49999997, -7.999, 1e10, -1e10, NAN, INF, 8388607.5], F32)
    right = np.clip(np.nan_to_num(ROUNDED[rounding](x.astype(F64)), nan=0.0), -(2.0**31), 2.0**31 - 1).astype(np.int32)
    for ours in (lambda x: pypto.cast(x, "int32", rounding=rounding), lambda x: x.astype(np.int32, rounding)):
        for found in results(ours, (x,), np.int32):
            np.testing.assert_array_equal(found, right)


def test_rounding_modes_that_change_nothing() -> None:
    n = np.array([1, -7, 100], np.int64)
    for rounding in ROUNDED:
        for found in results(lambda n, r=rounding: pypto.cast(n, "int8", rounding=r), (n,), np.int8):
            np.testing.assert_array_equal(found, n)
    x = np.array([1.0 + 2.0**-11, 3.0], F32)
    for found in results(lambda x: pypto.cast(x, "float16", rounding="nearest"), (x,), np.float16):
        np.testing.assert_array_equal(found, x.astype(np.float16))


def test_clip_with_any_bounds_and_names() -> None:
    x = values("float32", 31)
    checks: list[tuple[Any, Any]] = [
        (lambda x: pypto.clip(x, None, 1.0), np.minimum(x, 1)), (lambda x: pypto.clip(x, 0.5), np.maximum(x, F32(0.5))),
        (pypto.clip, x), (lambda x: pypto.clamp(x, min=-1.0, max=1.0), np.clip(x, -1, 1)),
        (lambda x: pypto.clip(x, a_min=-1.0, a_max=None), np.maximum(x, -1)), (lambda x: x.clip(-1.0, 1.0), np.clip(x, -1, 1)),
        (lambda x: x.clamp(max=2.0), np.minimum(x, 2)), (lambda x: np.clip(x, -1.0, 1.0), np.clip(x, -1, 1)),
        (lambda x: pypto.clip(x, 2.0, -2.0), np.clip(x, 2, -2)), (lambda x: pypto.clip(x, abs(x), None), np.abs(x)),
    ]  # fmt: skip
    for ours, right in checks:
        for found in results(ours, (x,), F32):
            np.testing.assert_array_equal(found, right)


def test_divide_with_torchs_rounding_modes() -> None:
    a, b = np.array([7, -7, 9, -9, 0, 5], np.int32), np.array([2, 2, -3, 4, 5, -5], np.int32)
    tensors = torch.from_numpy(a), torch.from_numpy(b)
    for mode in ("floor", "trunc"):
        right = torch.div(*tensors, rounding_mode=mode).numpy()
        for found in results(lambda x, y, m=mode: pypto.div(x, y, rounding_mode=m), (a, b), np.int32):
            np.testing.assert_array_equal(found, right)
        floats = a.astype(F32), b.astype(F32)
        for found in results(lambda x, y, m=mode: pypto.div(x, y, rounding_mode=m), floats, F32):
            np.testing.assert_array_equal(found, right)
    for found in results(lambda x, y: pypto.add(x, y, alpha=3), (a, b), np.int32):
        np.testing.assert_array_equal(found, a + 3 * b)


def test_logical_functions_mix_dtypes() -> None:
    x, y = values("float32", 31), values("int8", 31)
    for found in results(pypto.logical_and, (x, y), bool):
        np.testing.assert_array_equal(found, np.logical_and(x, y))
    for found in results(lambda x, y: (x > 0.0).logical_or(y), (x, y), bool):
        np.testing.assert_array_equal(found, np.logical_or(x > 0, y))


@pytest.mark.parametrize("target", ["cpu", "reference", "eager"])
def test_copysign_keeps_what_a_narrow_tile_holds(target: str) -> None:
    """A tile of f16 is f32 inside a kernel; only an assignment or a cast rounds it."""

    @pypto.tile
    def signed(x, out):
        out[:] = pypto.copysign(1.0 / (x + 0.5), -1.0)

    x = np.linspace(0, 3, 70).astype(np.float16)
    out = np.zeros(70, np.float32)
    pypto.compile(signed, target=target).execute(x, out)
    np.testing.assert_array_equal(out, -(np.float32(1) / (x.astype(np.float32) + np.float32(0.5))))
