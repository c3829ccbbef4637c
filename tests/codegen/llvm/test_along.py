"""Operations along one axis in native code: positions, scans, sorting, gathering, scattering; against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto.ir import interpreter
from pypto.ir.dtypes import BOOL, BY_NUMPY, F32, F64, I8, I32, I64, U8, DType
from pypto.ir.nodes import Value
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from tests.codegen.llvm.harness import compile_module
from tests.codegen.llvm.kernels import Kern

SHAPES = ((1,), (7,), (257,), (1000,), (3, 5), (31, 257), (64, 16), (7, 1), (1, 33), (4, 5, 6), (5, 0), (2, 40, 70))
DTYPES = (F32, F64, I8, I32, I64, U8, BOOL)


def values(shape: tuple[int, ...], dtype: DType, seed: int = 0, special: bool = True) -> np.ndarray:
    """Few different numbers, so that there are equals; NaN, infinities and both zeros among floats."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-9, 9, shape).astype(dtype.numpy)
    if dtype.is_float and special:
        place = rng.random(shape)
        for limit, number in ((0.02, np.nan), (0.04, np.inf), (0.06, -np.inf), (0.1, -0.0)):
            found[(place < limit) & (place > limit - 0.02)] = number
    return found


def run(name: str, operands: dict[str, np.ndarray], bits: int = 512, views: bool = False, **attributes: Any) -> None:
    """Compile, run in both orders of chunks, and compare with the meaning."""
    kern = Kern()
    loaded: list[Value] = []
    for key, array in operands.items():
        loaded.append(kern.load(kern.array(key, array.shape, BY_NUMPY[array.dtype])))
    result = kern.op(name, *loaded, **attributes)
    kern.store(kern.out("out", result.shape, result.dtype), result)
    module = kern.module()
    wanted = np.zeros(result.shape, result.dtype.numpy)
    interpreter.run(module, {**operands, "out": wanted})
    got = np.zeros_like(wanted)
    compiled = compile_module(module, {**operands, "out": got}, bits)
    for chunk, backwards in ((None, False), (1, True)):
        got[...] = 77 if got.dtype != np.bool_ else True
        compiled({**operands, "out": got}, chunk=chunk, backwards=backwards)
        if name == "cumsum" and got.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=1e-6 if got.itemsize == 4 else 1e-13, atol=1e-4)
        else:
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum", "cumprod", "argsort"])
def test_along_every_axis(name: str, dtype: DType) -> None:
    if dtype not in TABLE[name].dtypes:
        return
    for shape in SHAPES:
        x = values(shape, dtype)
        for axis in range(len(shape)):
            if TABLE[name].category is Category.ARGUMENT_REDUCTION and shape[axis] == 0:
                continue
            if name != "argsort":
                run(name, {"x": x}, axis=axis)
                continue
            for count in sorted({shape[axis], min(3, shape[axis])}):
                run(name, {"x": x}, axis=axis, count=count, descending=bool(count % 2))


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("name", ["argmax", "cumsum", "argsort"])
def test_narrow_vectors(name: str, bits: int) -> None:
    x = values((31, 257), F32)
    for axis in (0, 1):
        more = {"count": x.shape[axis], "descending": False} if name == "argsort" else {}
        run(name, {"x": x}, bits, axis=axis, **more)


def test_strided_and_reversed_operands() -> None:
    x = values((40, 66), F32)[::-2, ::3]
    for axis in (0, 1):
        run("argmin", {"x": x}, axis=axis)
        run("cumsum", {"x": x}, axis=axis)
        run("argsort", {"x": x}, axis=axis, count=x.shape[axis], descending=True)
        picks = np.random.default_rng(1).integers(0, x.shape[axis], x.shape)
        run("gather", {"x": x, "i": picks}, axis=axis, wrap=False)


def indices(shape: tuple[int, ...], extent: int, dtype: Any = np.int64, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(-extent, extent, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gather_elements_and_rows(dtype: DType) -> None:
    for shape in ((50,), (9, 40), (9, 4, 33)):
        x = values(shape, dtype)
        for axis in range(len(shape)):
            run("gather", {"x": x, "i": indices(shape, shape[axis], np.int32)}, axis=axis, wrap=True)
            row = tuple(70 if number == axis else 1 for number in range(len(shape)))
            run("gather", {"x": x, "i": indices(row, shape[axis])}, axis=axis, wrap=True)


@pytest.mark.parametrize("dtype", [F32, F64, I32, I8, BOOL], ids=str)
@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_scatter_elements_and_rows(name: str, dtype: DType) -> None:
    if dtype not in TABLE[name].dtypes:
        return
    for shape in ((50,), (9, 40), (9, 4, 33)):
        x = values(shape, dtype, special=False)
        for axis in range(len(shape)):
            for count in (0, 1, 13, 100):
                steps = tuple(count if number == axis else extent for number, extent in enumerate(shape))
                updates = values(steps, dtype, 5, special=False)
                run(name, {"x": x, "i": indices(steps, shape[axis]), "u": updates}, axis=axis, wrap=True)
                row = tuple(count if number == axis else 1 for number in range(len(shape)))
                run(name, {"x": x, "i": indices(row, shape[axis]), "u": updates}, axis=axis, wrap=True)


def test_gather_of_something_computed() -> None:
    """The operand is evaluated where it is chosen, through views and casts."""
    kern = Kern()
    x, i = kern.load(kern.array("x", (6, 20))), kern.load(kern.array("i", (20, 4), I64))
    moved = kern.op("transpose", kern.op("exp", x), permutation=(1, 0))
    folded = kern.op("reshape", kern.op("reshape", moved, shape=(120,)), shape=(4, 30))
    y = kern.op("gather", folded, kern.op("transpose", i, permutation=(1, 0)), axis=1, wrap=False)
    kern.store(kern.out("out", y.shape), kern.op("mul", y, 2.0))
    module = kern.module()
    rng = np.random.default_rng(0)
    arrays = {"x": rng.standard_normal((6, 20)).astype(np.float32), "i": rng.integers(0, 30, (20, 4))}
    wanted, got = np.zeros((4, 20), np.float32), np.zeros((4, 20), np.float32)
    interpreter.run(module, {**arrays, "out": wanted})
    compile_module(module, {**arrays, "out": got})({**arrays, "out": got})
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(5,), (300, 7), (3, 300)])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_wrong_index_is_reported_first_of_all(shape: tuple[int, ...], axis: int) -> None:
    axis %= len(shape)
    kern = Kern()
    x, i = kern.load(kern.array("x", shape)), kern.load(kern.array("i", shape, I64))
    y = kern.op("gather", x, i, axis=axis, wrap=False)
    kern.store(kern.out("out", y.shape), y)
    numbers = np.zeros(shape, np.int64)
    numbers.flat[[2, 4]] = -1, 1 << 40
    arrays = {"x": np.ones(shape, np.float32), "i": numbers, "out": np.zeros(shape, np.float32)}
    compiled = compile_module(kern.module(), arrays)
    for backwards in (False, True):
        compiled(arrays, chunk=1, backwards=backwards)
        assert [int(item) for item in compiled.table[-4:].view(np.int64)] == [0, 1, 2, -1]


def test_sorting_long_rows() -> None:
    for dtype in (F32, F64, I64):
        run("argsort", {"x": values((20000,), dtype)}, axis=0, count=20000, descending=False)
        run("argsort", {"x": values((3, 5000), dtype)}, axis=1, count=9, descending=True)
    run("argsort", {"x": np.arange(3000, dtype=np.int32)[::-1].copy()}, axis=0, count=3000, descending=False)


def test_positions_past_large_rows() -> None:
    x = np.zeros((1 << 19,), np.float32)
    x[[400_000, 500_000]] = 3
    run("argmax", {"x": x}, axis=0)
    x[300_000] = np.nan
    run("argmin", {"x": x}, axis=0)
