"""Matrix products on the CPU against float64: shapes around every block edge, layouts, dtypes, widths, what is fused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto
from pypto.codegen.llvm.contraction_shape import depth_run, tile_of
from pypto.ir.dtypes import F32, F64
from pypto.ir.nodes import Kernel, Load, Module, Operation, Parameter, Role, Store, TileType, Value, whole
from pypto.runtime.toolchain import host_machine

EXTENTS = (0, 1, 2, 7, 13, 31, 33, 65, 130, 257)


@pypto.tile
def product(x, y, out):
    out[:] = x @ y


@pypto.tile
def layer(x, w, b, out):
    out[:] = pypto.nn.relu(pypto.nn.linear(x, w, b))


def numbers(seed: int, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return random.standard_normal(shape).astype(dtype)


def check_product(x: Any, y: Any, out: Any, kernel: Any = product) -> None:
    """Run and compare: integers exactly, floats within the bound of docs/numerics.md."""
    pypto.compile(kernel).execute(x, y, out)
    if out.dtype.kind in "iu":
        want = np.matmul(x.astype(np.int64), y.astype(np.int64)).astype(out.dtype)
        np.testing.assert_array_equal(out, want)
        return
    wide = np.longdouble if out.dtype == np.float64 else np.float64
    want = np.matmul(x.astype(wide), y.astype(wide))
    scale = np.matmul(np.abs(x.astype(wide)), np.abs(y.astype(wide)))
    eps = np.finfo(np.float32 if out.dtype == np.float16 else out.dtype).eps
    bound = (x.shape[-1] + 1) * eps * scale + np.finfo(out.dtype).eps * np.abs(want)
    assert (np.abs(out - want) <= bound).all()


@pytest.mark.parametrize("seed", range(24))
def test_random_shapes(seed: int) -> None:
    random = np.random.default_rng(seed)
    m, k, n = (int(random.choice(EXTENTS)) for _ in range(3))
    check_product(numbers(seed, (m, k)), numbers(seed + 1, (k, n)), np.full((m, n), np.nan, np.float32))


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64])
def test_dtypes_at_each_register_width(bits: int, dtype: Any) -> None:
    if bits > host_machine().vector_bits:
        return
    with pypto.settings(vector_bits=bits):
        for m, k, n in ((31, 65, 33), (113, 330, 70), (2, 3, 2)):
            result = np.int32 if dtype == np.int8 else dtype
            check_product(numbers(m, (m, k), dtype), numbers(n, (k, n), dtype), np.ones((m, n), result))


@pytest.mark.parametrize("shapes", [
    ((3, 1, 5, 17), (4, 17, 6)), ((2, 9, 17), (17, 33)), ((9, 17), (5, 17, 33)), ((1, 9, 17), (7, 17, 2)),
    ((17,), (17, 33)), ((33, 17), (17,)), ((17,), (17,)), ((4, 17), (2, 17, 3)), ((6, 40, 50), (6, 50, 40)),
    ((0, 3, 4), (4, 5)), ((2, 0, 4), (4, 5)), ((2, 3, 0), (0, 5)),
])  # fmt: skip
def test_batches_and_vectors(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (numbers(number, shape) for number, shape in enumerate(shapes))
    check_product(x, y, np.full(np.matmul(x, y).shape, np.nan, np.float32))


def layouts(array: Any) -> list[Any]:
    """The same matrix as others lie in memory: transposed, backwards, stepped, in a wider matrix."""
    wide = np.zeros((array.shape[0] * 2, array.shape[1] * 3), array.dtype)
    wide[::2, ::3] = array
    inside = np.zeros((array.shape[0] + 3, array.shape[1] + 5), array.dtype)
    inside[1:-2, 2:-3] = array
    return [
        np.asfortranarray(array),
        np.ascontiguousarray(array[::-1])[::-1],
        np.ascontiguousarray(array[:, ::-1])[:, ::-1],
        wide[::2, ::3],
        inside[1:-2, 2:-3],
    ]


@pytest.mark.parametrize("shape", [(37, 70, 45), (130, 340, 66)])
def test_layouts(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    for x, y in zip(layouts(numbers(1, (m, k))), reversed(layouts(numbers(2, (k, n)))), strict=True):
        check_product(x, y, np.zeros((m, n), np.float32))
    row, column = np.broadcast_to(numbers(1, (1, k)), (m, k)), np.broadcast_to(numbers(2, (k, 1)), (k, n))
    check_product(row, column, np.zeros((m, n), np.float32))
    check_product(numbers(3, (m, k)), numbers(4, (k, n)), np.zeros((n, m), np.float32).T)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_special_values_stay_in_their_row_and_column(value: float) -> None:
    for m, k, n in ((5, 7, 9), (40, 330, 70)):
        x, y = numbers(1, (m, k)), numbers(2, (k, n))
        x[3, 5], y[5, :] = value, 0.0
        out = np.zeros((m, n), np.float32)
        pypto.compile(product).execute(x, y, out)
        assert np.isnan(out[3]).all()
        np.testing.assert_allclose(np.delete(out, 3, 0), np.delete(x, 3, 0).astype(np.float64) @ y, atol=1e-3)


@pytest.mark.parametrize("shape", [(1, 5, 1), (4, 16, 32), (33, 20, 40), (257, 500, 300), (1, 300, 200), (200, 300, 1)])
def test_linear_with_bias_and_relu(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    x, w, b, out = numbers(1, (m, k)), numbers(2, (n, k)), numbers(3, (n,)), np.full((m, n), np.nan, np.float32)
    pypto.compile(layer).execute(x, w, b, out)
    np.testing.assert_allclose(out, np.maximum(x.astype(np.float64) @ w.T + b, 0), atol=k * 1e-6)


def test_what_is_around_a_product_is_fused() -> None:
    @pypto.tile
    def kernel(x, y, scale, out, total):
        left = pypto.exp(-pypto.abs(x)) * scale
        result = pypto.tanh(left @ (y + 1.0)) - scale
        out[:] = result
        total[:] = pypto.sum(result * result, axis=1)

    x, y, scale = numbers(1, (75, 90)), numbers(2, (90, 140)), numbers(3, (75, 1))
    out, total = np.zeros((75, 140), np.float32), np.zeros(75, np.float32)
    pypto.compile(kernel).execute(x, y, scale, out, total)
    want = np.tanh((np.exp(-np.abs(x.astype(np.float64))) * scale) @ (y + 1.0)) - scale
    np.testing.assert_allclose(out, want, atol=2e-5)
    np.testing.assert_allclose(total, (want * want).sum(1), rtol=1e-4)


def test_chain_of_products() -> None:
    @pypto.tile
    def kernel(x, a, b, out):
        hidden = pypto.nn.gelu(x @ a)
        out[:] = pypto.nn.softmax(hidden @ b, axis=-1) + hidden @ b

    x, a, b = numbers(1, (70, 33)), numbers(2, (33, 150)) * 0.2, numbers(3, (150, 40)) * 0.2
    got = {}
    for target in ("cpu", "reference"):
        got[target] = np.zeros((70, 40), np.float32)
        pypto.compile(kernel, target=target).execute(x, a, b, got[target])
    np.testing.assert_allclose(got["cpu"], got["reference"], atol=1e-5)


def test_product_of_a_matrix_with_itself() -> None:
    @pypto.tile
    def kernel(x):
        x[:] = x @ x + x.T @ x

    x = numbers(1, (67, 67))
    want = x.astype(np.float64) @ x + x.T.astype(np.float64) @ x
    pypto.compile(kernel).execute(x)
    np.testing.assert_allclose(x, want, atol=1e-3)


def test_slices_and_loops() -> None:
    @pypto.tile
    def kernel(x, y, out):
        total = pypto.zeros(out.shape)
        for i in pypto.loop(5):
            total += x[:, 20 * i : 20 * i + 20] @ y[20 * i : 20 * i + 20]
        out[:] = total

    x, y, out = numbers(1, (70, 100)), numbers(2, (100, 45)), np.zeros((70, 45), np.float32)
    pypto.compile(kernel).execute(x, y, out)
    np.testing.assert_allclose(out, x.astype(np.float64) @ y, atol=1e-4)


def test_explicit_blocks() -> None:
    @pypto.tile(tile_num=4)
    def kernel(x, y, out):
        row = pypto.get_block_id() * 25
        out[row : row + 25] = pypto.nn.relu(x[row : row + 25] @ y)

    x, y, out = numbers(1, (100, 80)), numbers(2, (80, 33)), np.zeros((100, 33), np.float32)
    pypto.compile(kernel).execute(x, y, out)
    np.testing.assert_allclose(out, np.maximum(x.astype(np.float64) @ y, 0), atol=1e-4)


def test_bits_do_not_depend_on_threads() -> None:
    x, y, b = numbers(1, (300, 700)), numbers(2, (600, 700)), numbers(3, (600,))
    results = []
    for threads in (1, 2, 5):
        with pypto.settings(num_threads=threads):
            out = np.zeros((300, 600), np.float32)
            pypto.compile(layer).execute(x, y, b, out)
            results.append(out)
    assert all((out == results[0]).all() for out in results)


def test_tiles_waste_little() -> None:
    machine = host_machine()
    for rows in range(1, 200):
        for columns in (1, 5, 16, 31, 64, 200):
            for dtype in (F32, F64):
                tile = tile_of(rows, columns, dtype, machine)
                assert 0 <= -(-rows // tile.rows) * tile.rows - rows < -(-rows // tile.rows)
                assert tile.rows * tile.vectors <= 28
    for extent in range(1, 3000, 7):
        assert depth_run(extent) * -(-extent // depth_run(extent)) - extent < -(-extent // depth_run(extent))


def matmul_module(m: int, k: int, n: int) -> Module:
    types = {"x": TileType(F32, (m, k)), "y": TileType(F32, (k, n)), "out": TileType(F32, (m, n))}
    values = {name: Value(name, type_) for name, type_ in types.items()}
    roles = {"x": Role.IN, "y": Role.IN, "out": Role.OUT}
    parameters = tuple(Parameter(name, type_, roles[name]) for name, type_ in types.items())
    body = (
        Load(values["x"], "x", whole(types["x"])),
        Load(values["y"], "y", whole(types["y"])),
        Operation("matmul", (values["x"], values["y"]), (values["out"],)),
        Store("out", whole(types["out"]), values["out"]),
    )
    return Module("m", parameters, (), (Kernel("m", parameters, (), body),))


@pytest.mark.parametrize(("triple", "features", "bits"), [
    ("aarch64-unknown-linux-gnu", "+neon", 128), ("x86_64-unknown-linux-gnu", "+sse2", 128),
    ("x86_64-unknown-linux-gnu", "+avx2,+fma", 256),
])  # fmt: skip
def test_other_processors(triple: str, features: str, bits: int) -> None:
    from tests.codegen.llvm.harness import cross_compile

    arrays = {
        name: np.zeros(shape, np.float32) for name, shape in (("x", (70, 90)), ("y", (90, 50)), ("out", (70, 50)))
    }
    assert cross_compile(matmul_module(70, 90, 50), arrays, triple, features, bits)


def test_chunks_in_any_order() -> None:
    from tests.codegen.llvm.harness import compile_module

    arrays = {"x": numbers(1, (230, 90)), "y": numbers(2, (90, 600)), "out": np.zeros((230, 600), np.float32)}
    compiled = compile_module(matmul_module(230, 90, 600), arrays)
    compiled(arrays)
    first = arrays["out"].copy()
    arrays["out"][:] = np.nan
    compiled(arrays, chunk=1, backwards=True)
    np.testing.assert_array_equal(arrays["out"], first)


@pytest.mark.parametrize("depth", [1, 2, 3, 63, 64, 319, 321, 640, 641])
def test_bytes_of_extreme_values(depth: int) -> None:
    for left, right in ((-128, -128), (255, 127), (255, -128), (127, -128)):
        x = np.full((37, depth), left, np.uint8 if left > 127 else np.int8)
        y = np.full((depth, 50), right, np.int8)
        check_product(x, y, np.zeros((37, 50), np.int32))
        check_product(y.T, np.ascontiguousarray(x.T), np.zeros((50, 37), np.int32))
        check_product(np.asfortranarray(x), np.asfortranarray(y), np.zeros((37, 50), np.int32))


@pytest.mark.parametrize("run", [16, 17, 31, 64, 320, 321, 650])
def test_depth_that_lies_along_memory(run: int) -> None:
    for m, n in ((20, 3), (33, 100), (130, 513)):
        check_product(numbers(1, (m, run)), numbers(2, (n, run)).T, np.zeros((m, n), np.float32))
        check_product(
            numbers(1, (m, run), np.float64), numbers(2, (n, run), np.float64).T, np.zeros((m, n), np.float64)
        )
