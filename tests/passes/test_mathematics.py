"""Functions made of what the vector core has: near the meaning, special values kept, source for each of them."""

from __future__ import annotations

import numpy as np
import pytest

from passes.kernels import KernelBuilder
from passes.test_special_values import SPECIAL, both
from pypto.codegen.ascendc.emitter import emit
from pypto.codegen.ascendc.rules import DECOMPOSED, RULES
from pypto.codegen.llvm.math import coefficients
from pypto.ir import interpreter
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import BOOL, F32, F64, I8, I32, I64, U8, DType
from pypto.ir.nodes import Level, Module
from pypto.ir.numerics import ulp_distance
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes import decompose_mathematics, function_coefficients
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.refused import REFUSED

FUNCTIONS = [name for name in decompose_mathematics.RULES if name != "signbit"]
ANGLES = ("sin", "cos", "tan")


def samples(name: str) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(0)
    if len(TABLE[name].operands) == 2:
        grid = [part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL)]
        sizes = generator.standard_normal((2, 4000)) * 10.0 ** generator.uniform(-2, 2, (2, 4000))
        return tuple(np.concatenate(pair).astype(np.float32) for pair in zip(grid, sizes, strict=True))
    sizes = generator.standard_normal(8000) * 10.0 ** generator.uniform(-8, 3, 8000)
    return (
        np.concatenate([SPECIAL, sizes, generator.uniform(-1, 1, 4000), np.linspace(-100, 100, 8001)]).astype("f4"),
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_near_the_meaning(name: str) -> None:
    operands = samples(name)
    if name == "fmod":  # of a huge quotient there are no digits left
        with np.errstate(all="ignore"):
            keep = ~(np.abs(operands[0] / operands[1]) > 2**10) | np.isinf(operands[0]) | (operands[1] == 0)
        operands = tuple(operand[keep] for operand in operands)
    if name in ANGLES:
        operands = (operands[0][~(np.abs(operands[0]) > 1e4) | np.isinf(operands[0])],)
    expected, found = both(name, *operands)
    if name == "fmod":
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.nanmax(np.abs(expected)))
    else:
        assert ulp_distance(found, expected.astype(np.float64)).max() <= 8
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


def test_powers() -> None:
    """Of and by every special value, near 1, far out, and to the ends of the range: 4 ulp, all of C's special cases."""
    generator = np.random.default_rng(1)
    ends = np.array([2, -3, 1e-45, -1e-45, 3.4e38, 2**24, 2**24 + 2, 128, -149, -151, -7, 1.5], np.float32)
    near = np.array([0.99999994, 1.0000001, -0.99999994, -1.0000001], np.float32)
    chosen = np.concatenate([SPECIAL, ends, near])
    grid = [part.ravel() for part in np.meshgrid(chosen, chosen)]
    bases = np.exp(generator.uniform(-5, 5, 20_000))
    close = 1 + generator.uniform(-1e-3, 1e-3, 20_000)
    x = np.concatenate([grid[0], bases, close, -bases]).astype(np.float32)
    to_the_ends = generator.uniform(-88, 88, 20_000) / np.log(bases)
    whole = generator.integers(-30, 30, 20_000)
    y = np.concatenate([grid[1], to_the_ends, generator.uniform(-8e4, 8e4, 20_000), whole]).astype(np.float32)
    with np.errstate(all="ignore"):
        expected, found = both("pow", x, y)
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulp_distance(found, exact).max() <= 4
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("name", ANGLES)
def test_angles_of_any_size_stay_in_range(name: str) -> None:
    x = np.array([1e5, 1e10, 1e30, -3e38, np.inf, np.nan], np.float32)
    _, found = both(name, x)
    if name != "tan":
        assert (np.abs(found[:4]) <= 1).all()
    assert np.isnan(found[4:]).all()


def lowered(name: str, dtype: DType, exponent: int | None = None) -> Module:
    record = TABLE[name]
    k = KernelBuilder(name)
    operands = [
        k.input(f"x{number}", (8, 64), BOOL if item == "condition" else dtype)
        for number, item in enumerate(record.operands)
    ]
    if exponent is not None:
        operands[-1] = k.number(exponent, dtype)
    attributes = {"dtype": F32} if name == "cast" else {}
    k.output("out", k.op(name, *operands, **attributes))
    return run_passes(k.module(), NPU_PASSES)[0]


ELEMENTWISE = [r for r in TABLE.values() if r.category is Category.ELEMENTWISE and r.level is Level.TILE]


@pytest.mark.parametrize("record", ELEMENTWISE, ids=lambda record: record.name)
def test_every_elementwise_operation_is_emitted_or_refused_by_name(record) -> None:
    assert record.name in RULES or record.name in DECOMPOSED or record.name in REFUSED
    constants = {"pow": 3, "shift_left": 3, "shift_right": 3}
    for dtype in record.dtypes:
        if record.name in REFUSED or dtype in (F64, I64):
            with pytest.raises(UserError, match="npu-"):
                lowered(record.name, dtype, constants.get(record.name))
        elif record.name != "pow" or dtype == F32:
            source = emit(lowered(record.name, dtype, constants.get(record.name)))
            assert "AscendC::" in str(source)


def test_signs() -> None:
    k = KernelBuilder("signs")
    k.output("out", k.op("signbit", k.input("x", SPECIAL.shape)))
    memory = {"x": SPECIAL, "out": np.zeros(SPECIAL.shape, bool)}
    interpreter.run(run_passes(k.module(), NPU_PASSES)[0], memory)
    known = ~np.isnan(SPECIAL)
    np.testing.assert_array_equal(memory["out"][known], np.signbit(SPECIAL)[known])


@pytest.mark.parametrize("dtype", [I8, U8, I32], ids=str)
@pytest.mark.parametrize("count", [-1, 0, 1, 7, 8, 30, 31, 32, 100])
@pytest.mark.parametrize("name", ["shift_left", "shift_right"])
def test_shifts_by_any_count(name: str, count: int, dtype: DType) -> None:
    if count < 0 and dtype == U8:
        return
    x = np.array([1, -3, 100, 0, 7, 127, -128, 5], np.int32).astype(dtype.numpy)
    k = KernelBuilder(name)
    k.output("out", k.op(name, k.input("x", x.shape, dtype), k.number(count, dtype)))
    memory = {"x": x, "out": np.zeros_like(x)}
    interpreter.run(run_passes(k.module(), NPU_PASSES)[0], memory)
    np.testing.assert_array_equal(memory["out"], TABLE[name].meaning(x, np.asarray(count, dtype.numpy)))


@pytest.mark.parametrize("dtype", [I8, U8, I32], ids=str)
def test_truncated_rests_of_integers(dtype: DType) -> None:
    limits = np.iinfo(dtype.numpy)
    ends = np.array([limits.min, limits.max, -7, 7, 0, 1, -1, 3], np.int64).astype(dtype.numpy)
    x, y = (np.ascontiguousarray(grid) for grid in np.meshgrid(ends, ends))
    k = KernelBuilder("fmod")
    k.output("out", k.op("fmod", k.input("x", x.shape, dtype), k.input("y", x.shape, dtype)))
    memory = {"x": x, "y": y, "out": np.zeros_like(x)}
    interpreter.run(run_passes(k.module(), NPU_PASSES)[0], memory)
    np.testing.assert_array_equal(memory["out"], TABLE["fmod"].meaning(x, y))


@pytest.mark.parametrize("name", ["SIN", "COS", "TAN", "ASIN", "ATAN", "SINH", "EXPM1", "ERFC"])
def test_coefficients_are_those_of_the_cpu_target(name: str) -> None:
    there = getattr(coefficients, f"{name}_F32", None) or getattr(coefficients, name)
    np.testing.assert_array_equal(np.float32(getattr(function_coefficients, name)), np.float32(there))
