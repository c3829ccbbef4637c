"""The advanced interface against NumPy in double precision, in f32 and f16, with special values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pypto.runtime.ascendc_host.driver import Program, build, run

Doubles = NDArray[np.float64]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 6e-8, 65504.0]


def softmax(x: Doubles) -> Doubles:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def layer_norm(x: Doubles, epsilon: float) -> Doubles:
    return 2 * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + epsilon) + 1


def gelu(x: Doubles) -> Doubles:
    return x / (1 + np.exp(-1.5957691216057308 * (x + 0.044715 * x**3)))


MAPS: dict[str, Callable[[Doubles], Doubles]] = {
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf),
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "gelu": gelu,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log": np.log,
    "power": lambda x: np.power(1.5, x),
}


CALLS = ("Tanh", "Erf", "Sin", "Cos", "Floor", "Gelu", "Sigmoid")
KERNEL = """extern "C" __global__ __vector__ void {name}(GM_ADDR x, GM_ADDR z)
{{
    through<{dtype}>(x, z, [](auto& result, auto& source, auto& scratch) {{ {call}(result, source, scratch, 1024); }});
}}
"""


@functools.cache
def program() -> Program:
    text = (Path(__file__).parent / "kernels" / "advanced.cpp").read_text()
    for call in CALLS:
        for suffix, dtype in (("f32", "float"), ("f16", "half")):
            text += KERNEL.format(name=f"{call.lower()}_{suffix}", dtype=dtype, call=call)
    return build(text, file="advanced.cpp")


def result(name: str, x: NDArray[np.floating]) -> NDArray[np.floating]:
    report = run(
        program(), {"x": x, "z": np.zeros_like(x)}, kernel=f"{name}_{'f32' if x.dtype == np.float32 else 'f16'}"
    )
    assert not report.findings, str(report)
    return report.outputs["z"]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", MAPS)
def test_function_of_elements(name: str, dtype: type) -> None:
    x = np.random.default_rng(1).uniform(-8, 8, (16, 64)).astype(dtype)
    x.flat[: len(SPECIAL)] = np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        wanted = MAPS[name](x.astype(np.float64)).astype(dtype)
    got = result(name, x)
    # A double on the way may round the other way: one unit in the last place at most.
    finite = np.isfinite(wanted)
    np.testing.assert_array_almost_equal_nulp(got[finite], wanted[finite], 1)
    np.testing.assert_array_equal(got[~finite], wanted[~finite])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rows(dtype: type) -> None:
    x = np.random.default_rng(2).uniform(-4, 4, (16, 64)).astype(dtype)
    tolerance = 2e-7 if dtype is np.float32 else 1e-3
    np.testing.assert_allclose(result("softmax", x), softmax(x.astype(np.float64)), rtol=tolerance)
    epsilon = float(dtype(np.float32(1e-3)))
    np.testing.assert_allclose(
        result("layer_norm", x), layer_norm(x.astype(np.float64), epsilon), rtol=tolerance, atol=tolerance
    )


def test_row_of_large_numbers_does_not_overflow() -> None:
    x = np.full((16, 64), 1e30, np.float32)
    np.testing.assert_array_equal(result("softmax", x), np.full((16, 64), 1 / 64, np.float32))
