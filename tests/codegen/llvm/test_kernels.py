"""Kernels of everyday shapes, and the places where loops go wrong: edges, hazards, special values, memory limits."""

from __future__ import annotations

import ctypes
import math
import mmap

import numpy as np
import pytest

from pypto.codegen.llvm import streaming
from pypto.codegen.llvm.emitter import emit
from pypto.ir import interpreter
from pypto.ir.dtypes import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, DType
from pypto.ir.index import Symbol, multiply
from pypto.ir.nodes import For, GridAxis, Module, Range, Role
from tests.codegen.llvm.harness import aligned, compile_module, cross_compile, layouts, machine
from tests.codegen.llvm.kernels import Kern, layer_norm_gelu_add, normal_arrays, reduction, softmax

WIDTHS = (128, 256, 512)


def check(module: Module, arrays: dict[str, np.ndarray], bits: int = 512, rtol: float = 2e-6, **scalars: float) -> None:
    """Run a module natively in several chunkings and compare with the reference."""
    expected = {name: array.copy() for name, array in arrays.items()}
    interpreter.run(module, expected, scalars)
    code = compile_module(module, arrays, bits)
    start = {name: array.copy() for name, array in arrays.items()}
    results = []
    for chunk, backwards in ((None, False), (1, True)):
        for name, array in arrays.items():
            array[...] = start[name]
        code(arrays, scalars, chunk, backwards)
        for name, array in arrays.items():
            np.testing.assert_allclose(
                array.astype(np.float64), expected[name].astype(np.float64), rtol=rtol, atol=rtol, err_msg=name
            )
        results.append({name: array.tobytes() for name, array in arrays.items()})
    assert results[0] == results[1], "bits depend on the chunks"


SHAPES = [(1, 1), (3, 1), (1, 31), (7, 31), (5, 64), (2, 257), (33, 1000), (64, 17)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", WIDTHS)
def test_layer_norm_gelu_add(shape: tuple[int, int], bits: int) -> None:
    module = layer_norm_gelu_add(*shape)
    check(module, normal_arrays(module), bits, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape: tuple[int, int], axis: int) -> None:
    module = softmax(shape, axis)
    check(module, normal_arrays(module))


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", ["sum", "max", "min", "mean"])
@pytest.mark.parametrize("bits", WIDTHS)
def test_reductions(name: str, axes: tuple[int, ...], bits: int) -> None:
    module = reduction(name, (13, 37, 29), axes)
    check(module, normal_arrays(module), bits)


@pytest.mark.parametrize("dtype", [F64, I8, U8, I32, I64, BOOL])
@pytest.mark.parametrize("name", ["sum", "max", "min"])
@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_reductions_of_every_dtype(name: str, dtype: DType, axes: tuple[int, ...]) -> None:
    if dtype is BOOL and name == "sum":
        name = "max"
    module = reduction(name, (9, 70), axes, dtype)
    arrays = normal_arrays(module)
    if dtype is BOOL:
        arrays["x"] = np.random.default_rng(1).random((9, 70)) < 0.2
    check(module, arrays)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_special_values_reach_every_reduction(axes: tuple[int, ...], bad: float) -> None:
    for name in ("sum", "max", "min", "mean"):
        for place in (0, 1, 2047, 4999):
            module = reduction(name, (2, 5000), axes)
            arrays = normal_arrays(module)
            arrays["x"][1, place] = bad
            check(module, arrays, rtol=1e-5)


def test_infinities_of_both_signs_sum_to_nan() -> None:
    module = reduction("sum", (1, 20000), (1,))
    arrays = normal_arrays(module)
    arrays["x"][0, 3], arrays["x"][0, 15000] = np.inf, -np.inf
    compile_module(module, arrays)(arrays)
    assert np.isnan(arrays["out"]).all()


@pytest.mark.parametrize(
    ("shape", "axes"), [((1, 1 << 20), (1,)), ((1 << 16, 16), (0,)), ((1024, 1024), (0, 1)), ((5, 1 << 18), (1,))]
)
@pytest.mark.parametrize("bits", WIDTHS)
def test_long_sums_are_accurate(shape: tuple[int, ...], axes: tuple[int, ...], bits: int) -> None:
    """The error of a million terms stays that of a few: far below eps * n."""
    module = reduction("sum", shape, axes)
    arrays = {"x": (np.random.default_rng(3).random(shape) + 0.1).astype(np.float32)}
    arrays["out"] = np.zeros([int(extent) for extent in module.parameters[1].type.shape], np.float32)  # type: ignore[arg-type]
    compile_module(module, arrays, bits)(arrays)
    exact = arrays["x"].astype(np.float64).sum(axis=axes, keepdims=True)
    assert np.max(np.abs(arrays["out"] - exact) / exact) < 1e-6


def test_an_empty_sum_is_zero_and_an_empty_mean_is_nan() -> None:
    for name, expected in (("sum", 0.0), ("mean", math.nan)):
        module = reduction(name, (3, 0), (1,))
        arrays = {"x": np.zeros((3, 0), np.float32), "out": np.full((3, 1), 7, np.float32)}
        compile_module(module, arrays)(arrays)
        np.testing.assert_array_equal(arrays["out"], np.full((3, 1), expected, np.float32))


def test_a_sum_of_minus_zeros_is_zero() -> None:
    for shape in ((3, 1), (3, 40)):
        module = reduction("sum", shape, (1,))
        arrays = {"x": np.full(shape, -0.0, np.float32), "out": np.ones((3, 1), np.float32)}
        compile_module(module, arrays)(arrays)
        assert not np.signbit(arrays["out"]).any()


def test_nothing_to_do() -> None:
    kern = Kern()
    x, out = kern.array("x", (0, 5)), kern.out("out", (0, 5))
    kern.store(out, kern.op("add", kern.load(x), 1.0))
    arrays = {"x": np.zeros((0, 5), np.float32), "out": np.zeros((0, 5), np.float32)}
    assert compile_module(kern.module(), arrays).code.phases == ()


# -- hazards


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1001])
def test_reversing_in_place(size: int) -> None:
    kern = Kern()
    x = kern.array("x", (size,), role=Role.INOUT)
    kern.store(x, kern.op("add", kern.load(x, (Range(size - 1, size, -1),)), 1.0))
    module = kern.module()
    check(module, normal_arrays(module))


@pytest.mark.parametrize("offset", [1, -1, 3])
def test_shifting_in_place(offset: int) -> None:
    kern = Kern()
    x = kern.array("x", (3, 50), role=Role.INOUT)
    count = 50 - abs(offset)
    source, target = (0, offset) if offset > 0 else (-offset, 0)
    rows = Range(0, 3)
    kern.store(x, kern.load(x, (rows, Range(source, count))), (rows, Range(target, count)))
    module = kern.module()
    check(module, normal_arrays(module))


def test_transposing_in_place() -> None:
    kern = Kern()
    x = kern.array("x", (40, 40), role=Role.INOUT)
    kern.store(x, kern.op("transpose", kern.load(x), permutation=(1, 0)))
    module = kern.module()
    check(module, normal_arrays(module))


def test_a_value_read_before_a_store_keeps_its_old_elements() -> None:
    kern = Kern()
    x, out = kern.array("x", (4, 30), role=Role.INOUT), kern.out("out", (4, 30))
    doubled = kern.op("mul", kern.load(x), 2.0)
    kern.store(x, kern.op("broadcast_to", kern.number(2.0), shape=(4, 3)), (Range(0, 4), Range(2, 3)))
    kern.store(out, kern.op("add", doubled, kern.load(x)))
    module = kern.module()
    check(module, normal_arrays(module))


def test_a_loop_that_exchanges_two_tiles() -> None:
    for trips in (0, 1, 2, 3):
        kern = Kern()
        x, out = kern.array("x", (2, 33)), kern.out("out", (2, 33))
        first = kern.op("add", kern.load(x), 1.0)
        second = kern.op("mul", kern.load(x), 3.0)
        p, q = kern.builder.value(first.type), kern.builder.value(first.type)
        outer, kern.builder.statements = kern.builder.statements, []
        following = kern.op("add", p, 1.0)
        body, kern.builder.statements = tuple(kern.builder.statements), outer
        results = kern.builder.value(first.type), kern.builder.value(first.type)
        kern.builder.append(For(Symbol("i"), 0, trips, 1, (p, q), (first, second), body, (q, following), results))
        kern.store(out, kern.op("sub", *results))
        module = kern.module()
        check(module, normal_arrays(module))


def test_rows_stay_parallel_around_a_loop() -> None:
    """Carried tiles of a loop over columns are as small as one row."""
    kern = Kern()
    x, out = kern.array("x", (600, 128)), kern.out("out", (600, 32))
    start = kern.builder.operation("constant", (), dtype=F32, shape=(600, 32), value=0.0)
    total = kern.builder.value(start.type)
    outer, kern.builder.statements = kern.builder.statements, []
    column = Symbol("i")
    part = kern.load(x, (Range(0, 600), Range(multiply(column, 32), 32)))
    following = kern.op("add", total, part)
    body, kern.builder.statements = tuple(kern.builder.statements), outer
    result = kern.builder.value(start.type)
    kern.builder.append(For(column, 0, 4, 1, (total,), (start,), body, (following,), (result,)))
    kern.store(out, result)
    module = kern.module()
    arrays = normal_arrays(module)
    check(module, arrays)
    code = emit(module, layouts(arrays), machine())
    assert [phase.items for phase in code.phases] == [600]
    assert code.scratch_bytes <= 256


def test_a_part_written_into_a_carried_tile_keeps_the_rest() -> None:
    """The tile in the loop is stored whole, although the loop's body writes only a row of it."""
    kern = Kern()
    x, out = kern.array("x", (4, 33)), kern.out("out", (3, 4, 33))
    start = kern.op("mul", kern.load(x), 2.0)
    carried, result = kern.builder.value(start.type), kern.builder.value(start.type)
    index = Symbol("i")
    outer, kern.builder.statements = kern.builder.statements, []
    row = kern.op("add", kern.load(x, (Range(index, 1), Range(0, 33))), 5.0)
    changed = kern.op("insert", carried, row, ranges=((index, 1, 1), (0, 33, 1)))
    whole = (Range(index, 1), Range(0, 4), Range(0, 33))
    kern.store(out, kern.op("reshape", changed, shape=(1, 4, 33)), whole)
    plain = kern.op("mul", start, 3.0)
    body, kern.builder.statements = tuple(kern.builder.statements), outer
    kern.builder.append(For(index, 0, 3, 1, (carried,), (start,), body, (plain,), (result,)))
    module = kern.module()
    check(module, normal_arrays(module))


@pytest.mark.parametrize("name", ["concat", "pad", "insert"])
def test_an_assembled_tile_is_written_in_place(name: str) -> None:
    """No copy of it is made when it is only stored; one is made when its target is read as well."""
    for in_place in (False, True):
        kern = Kern()
        x, out = kern.array("x", (4, 30)), kern.array("out", (8, 30), role=Role.INOUT)
        first, half = kern.load(x), (Range(0, 4), Range(0, 30))
        second = kern.load(out, half) if in_place else kern.op("neg", first)
        if name == "concat":
            tile = kern.op("concat", second, first, axis=0)
        elif name == "pad":
            tile = kern.op("pad", second, low=(3, 0), high=(1, 0), value=1.5)
        else:
            base = kern.op("concat", first, first, axis=0)
            tile = kern.op("insert", base, second, ranges=((6, 4, -1), (0, 30, 1)))
        kern.store(out, tile, (Range(7, 8, -1), Range(0, 30)))
        module = kern.module()
        arrays = normal_arrays(module)
        check(module, arrays)
        assert in_place or emit(module, layouts(arrays), machine()).scratch_bytes == 0


# -- grids, scalars, dtypes


def test_blocks_of_a_grid_run_in_any_order() -> None:
    kern = Kern()
    block = Symbol("block")
    kern.grid = (GridAxis(block, 5),)
    x, out = kern.array("x", (40, 70)), kern.out("out", (40, 70))
    rows = (Range(multiply(block, 8), 8), Range(0, 70))
    tile = kern.load(x, rows)
    number = kern.op("cast", kern.builder.operation("index", (), dtype=I64, value=block), dtype=F32)
    kern.store(out, kern.op("add", kern.op("sub", tile, kern.op("max", tile, axes=(0,))), number), rows)
    module = kern.module()
    check(module, normal_arrays(module))


def test_blocks_at_the_edge_fill_and_clip() -> None:
    kern = Kern()
    block = Symbol("block")
    kern.grid = (GridAxis(block, 4),)
    x, out = kern.array("x", (29, 37)), kern.out("out", (29, 37))
    rows = (Range(multiply(block, 8), 8), Range(-1, 40))
    tile = kern.load(x, rows, fill=-math.inf)
    kern.store(out, kern.op("sub", kern.op("max", tile, axes=(1,)), tile), rows, clip=True)
    module = kern.module()
    check(module, normal_arrays(module))


def test_scalar_arguments() -> None:
    kern = Kern()
    x, out = kern.array("x", (6, 50)), kern.out("out", (6, 50))
    alpha = kern.array("alpha", (), F32, scalar=True)
    count = kern.array("count", (), I32, scalar=True)
    scaled = kern.op("mul", kern.load(x), kern.load(alpha))
    kern.store(out, kern.op("add", scaled, kern.op("cast", kern.load(count), dtype=F32)))
    module = kern.module()
    check(module, normal_arrays(module), 512, 1e-6, alpha=1.5, count=-7)


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("bits", WIDTHS)
def test_narrow_floats(dtype: DType, bits: int) -> None:
    kern = Kern()
    x, out = kern.array("x", (5, 100), dtype), kern.out("out", (5, 100), dtype)
    wide = kern.op("cast", kern.load(x), dtype=F32)
    centred = kern.op("sub", wide, kern.op("mean", wide, axes=(1,)))
    kern.store(out, kern.op("cast", centred, dtype=dtype))
    module = kern.module()
    check(module, normal_arrays(module), bits, rtol=1e-2)


def test_dtypes_of_several_widths_in_one_loop() -> None:
    kern = Kern()
    x, y = kern.array("x", (333,), I8), kern.array("y", (333,), F64)
    flags, out = kern.out("flags", (333,), BOOL), kern.out("out", (333,), F32)
    wide = kern.op("cast", kern.load(x), dtype=F64)
    kern.store(flags, kern.op("lt", wide, kern.load(y)))
    kern.store(out, kern.op("cast", kern.op("add", wide, kern.load(y)), dtype=F32))
    module = kern.module()
    check(module, normal_arrays(module))


# -- memory


@pytest.mark.parametrize("columns", [1, 5, 16, 31, 100])
@pytest.mark.parametrize("bits", WIDTHS)
def test_nothing_beyond_an_array_is_touched(columns: int, bits: int) -> None:
    """Arrays end at a page that may not be touched; so does memory before reversed ones."""
    rows = 3
    for reverse in (False, True):
        module = layer_norm_gelu_add(rows, columns)
        made = normal_arrays(module)
        arrays = {name: guarded(array, at_end=not reverse) for name, array in made.items()}
        if reverse:
            arrays = {name: array[..., ::-1] for name, array in arrays.items()}
        check(module, arrays, bits, rtol=1e-5)


PAGE = mmap.PAGESIZE


def guarded(array: np.ndarray, at_end: bool) -> np.ndarray:
    """Return a copy between two pages without access, against the last (or first) of them."""
    size = -(-array.nbytes // PAGE) * PAGE
    memory = mmap.mmap(-1, size + 2 * PAGE)
    base = np.frombuffer(memory, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for start in (0, size + PAGE):
        assert protect(ctypes.c_void_p(base.ctypes.data + start), ctypes.c_size_t(PAGE), 0) == 0
    offset = PAGE + (size - array.nbytes if at_end else 0)
    result = np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)
    result[...] = array
    return result


@pytest.mark.parametrize("strides", ["steps", "reversed", "columns", "broadcast"])
def test_strided_arguments(strides: str) -> None:
    module = softmax((17, 45), 1)
    arrays = normal_arrays(module)
    if strides == "steps":
        arrays["x"] = np.random.default_rng(2).standard_normal((34, 135)).astype(np.float32)[::2, ::3]
    elif strides == "reversed":
        arrays = {name: array[::-1, ::-1] for name, array in arrays.items()}
    elif strides == "columns":
        arrays["x"] = np.asfortranarray(arrays["x"])
        arrays["out"] = np.asfortranarray(arrays["out"])
    else:
        expected = {"x": np.broadcast_to(arrays["x"][:1], (17, 45)).copy(), "out": arrays["out"].copy()}
        interpreter.run(module, expected)
        arrays["x"] = np.broadcast_to(arrays["x"][:1], (17, 45))
        compile_module(module, arrays)(arrays)
        np.testing.assert_allclose(arrays["out"], expected["out"], rtol=1e-6)
        return
    check(module, arrays)


@pytest.mark.parametrize("offset", [0, 1, 7])
@pytest.mark.parametrize("columns", [512, 600, 1027])
@pytest.mark.parametrize("bits", WIDTHS)
def test_streamed_stores_at_any_alignment(
    offset: int, columns: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bits as ordinary stores, and nothing written beside the array."""
    module = layer_norm_gelu_add(5, columns)
    results = []
    for threshold in (1 << 60, 1):
        monkeypatch.setattr(streaming, "STREAMED_BYTES", threshold)
        arrays = normal_arrays(module)
        memory = aligned(4 * (arrays["out"].size + 64)).view(np.float32)
        memory[:] = 7
        arrays["out"] = memory[16 + offset :][: arrays["out"].size].reshape(arrays["out"].shape)
        code = compile_module(module, arrays, bits)
        assert ("nontemporal" in code.code.text) == (threshold == 1)
        code(arrays, chunk=2)
        results.append(memory.tobytes())
    assert results[0] == results[1]


# -- size and speed of compilation


def test_a_chain_of_thousands_of_operations() -> None:
    kern = Kern()
    x, out = kern.array("x", (300,)), kern.out("out", (300,))
    value = kern.load(x)
    for number in range(3000):
        value = kern.op("add" if number % 2 else "sub", value, 1.0 + number % 3)
    kern.store(out, value)
    module = kern.module()
    check(module, normal_arrays(module), rtol=1e-5)


def test_hundreds_of_nested_choices() -> None:
    kern = Kern()
    x, out = kern.array("x", (100,)), kern.out("out", (100,))
    tile = kern.load(x)
    value = tile
    for number in range(600):
        value = kern.op("where", kern.op("gt", tile, number / 300 - 1), value, kern.op("sub", value, 1.0))
    kern.store(out, value)
    module = kern.module()
    check(module, normal_arrays(module))


def test_hundreds_of_arguments() -> None:
    kern = Kern()
    value = kern.number(0.0)
    for number in range(300):
        value = kern.op("add", value, kern.load(kern.array(f"x{number}", (40,))))
    kern.store(kern.out("out", (40,)), value)
    module = kern.module()
    check(module, normal_arrays(module), rtol=1e-5)


def test_the_text_is_small_and_always_the_same() -> None:
    module = layer_norm_gelu_add(1024, 1024)
    texts = {emit(module, {}, machine()).text for _ in range(2)}
    assert len(texts) == 1
    assert texts.pop().count("\n") < 500


def test_hostile_names_stay_out_of_the_text() -> None:
    kern = Kern()
    x, out = kern.array('x"; drop', (5,)), kern.out("out é\n", (5,))
    kern.store(out, kern.load(x))
    module = kern.module('k" }\ndefine void @evil() { é')
    arrays = {'x"; drop': np.ones(5, np.float32), "out é\n": np.zeros(5, np.float32)}
    check(module, arrays)


def test_neon_code_compiles() -> None:
    for module in (layer_norm_gelu_add(9, 100), softmax((5, 33), 0), reduction("max", (7, 9), (1,), I8)):
        content = cross_compile(module, normal_arrays(module), "aarch64-unknown-linux-gnu", "+neon", 128)
        assert content[:4] == b"\x7fELF"


@pytest.mark.parametrize("name", ["sum", "max", "mean"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((600001,), (0,)), ((3, 100003), (1,)), ((40000, 7), (0,)), ((2, 700, 203), (1, 2)), ((601, 599), (0, 1))],
)
def test_large_reductions_are_split_by_shape(name: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    module = reduction(name, shape, axes)
    arrays = normal_arrays(module)
    arrays["x"] = np.abs(arrays["x"])
    check(module, arrays)
    phases = emit(module, layouts(arrays), machine()).phases
    assert len(phases) == 2
    assert phases[0].items >= 7
    transposed = dict(arrays, x=np.asfortranarray(arrays["x"]))
    check(module, transposed)


def test_a_costly_row_is_computed_once_for_all_rows() -> None:
    kern = Kern()
    x, gate, out = kern.array("x", (300, 200)), kern.array("gate", (200,)), kern.out("out", (300, 200))
    kern.store(out, kern.op("mul", kern.load(x), kern.op("sigmoid", kern.load(gate))))
    module = kern.module()
    arrays = normal_arrays(module)
    check(module, arrays)
    assert [phase.items > 1 for phase in emit(module, layouts(arrays), machine()).phases] == [False, True]
