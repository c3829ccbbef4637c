"""Tiles behave like NumPy arrays: the same body on NumPy arrays is the expected result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import pypto
from pypto import tile
from pypto.ir.nodes import Role
from pypto.tile_function import TileFunction
from tests.language.running import run, statements, traced

F32, F16, I32, I64 = np.float32, np.float16, np.int32, np.int64


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


def same_as_numpy(kernel: TileFunction, *arrays: np.ndarray[Any, Any]) -> None:
    """The body itself, run on NumPy arrays, says what is right."""
    expected = [array.copy() for array in arrays]
    kernel.original(*expected)
    run(kernel, *arrays)
    for array, right in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(array, right, rtol=1e-6, atol=1e-6)


# -- views and assignment


@tile
def reversed_rows(x, out):
    out[:] = x[::-1, 1:-1:2]


@tile
def negative_numbers(x, out):
    out[0] = x[-1]
    out[-2, :3] = x[1, -3:]
    out[2:3, ...] = 7.0


@tile
def through_transpose(x, out):
    y = out.T
    y[:] = x.T
    y[1] = 5.0
    out[:, 2:4].T[0] += 1.0


@tile
def through_reshape(x, out):
    out[:] = x
    flat = out.reshape(-1)
    flat[3:7] = -1.0
    flat.reshape(out.shape)[0] *= 2.0


@tile
def new_axes(x, out):
    out[:] = x[:, None, :][:, 0] + x[None][0] * x[..., None][:, :, 0]


@tile
def aliases(x, out):
    y = out
    y[:] = x
    y += 1.0
    z = y[1:]
    z *= z
    out -= 0.5


@tile
def overlapping(x, out):
    out[:] = x
    out[1:] = out[:-1]
    out[:, :-1] = out[:, 1:]


@tile
def empty_slices(x, out):
    out[:] = x
    out[:0] = 2.0
    out[3:3] = 3.0
    out[100:] = 4.0
    out[2:1:-1, :0] = 9.0


@tile
def local_copy_in_place(x, out):
    y = x + 0.0
    y[0] = 1.0
    y[:, 1:3] += y[:, 0:2]
    w = y.T[1:]
    w[:] = 2.0
    out[:] = y


@tile
def augmented_slices(x, out):
    out[:] = x
    t = out[0:1] + 0.0
    out[0:1] /= 4.0
    out[1:2] += t
    out[2:3] -= out[0:1]
    out[0] **= 2


@tile
def read_then_write(x, out):
    y = out * 2.0
    view = out[:, :2]
    out[:] = x
    out[:, 2:4] = view + y[:, 2:4]


@tile
def deep_views(x, out):
    out[:] = x
    v = out[1:4, ::2][::-1].T[1:]
    v[0, 1:] = 8.0
    v.reshape(v.shape)[:] += 1.0


@tile
def square_transpose(x, out):
    out[:] = x
    out[:4, :4] = out[:4, :4].T


@tile
def through_repeated_axes(x, out):
    row = x[:1] * 1.0
    wide = np.broadcast_to(row, (4, 6))
    part = wide[1:3, ::2]
    row += 1.0
    out[:] = wide
    row[:] = 0.0
    out[1:3, ::2] += part


def test_repeated_axes_show_later_writes() -> None:
    same_as_numpy(through_repeated_axes, random(4, 6), random(4, 6, seed=1))


@pytest.mark.parametrize(
    "kernel",
    [
        negative_numbers, through_transpose, through_reshape, new_axes, aliases, overlapping, empty_slices,
        local_copy_in_place, augmented_slices, read_then_write, deep_views, square_transpose,
    ],
    ids=lambda kernel: kernel.name,
)  # fmt: skip
def test_the_body_means_what_it_means_for_numpy(kernel: TileFunction) -> None:
    same_as_numpy(kernel, random(5, 6), random(5, 6, seed=1))


def test_reversed_and_stepped_slices() -> None:
    same_as_numpy(reversed_rows, random(4, 9), np.zeros((4, 4), F32))
    same_as_numpy(reversed_rows, random(1, 3), np.zeros((1, 1), F32))
    same_as_numpy(reversed_rows, random(2, 2), np.zeros((2, 0), F32))


ONE_AXIS = st.builds(
    slice, *(st.one_of(st.none(), st.integers(-8, 8)) for _ in range(2)), st.sampled_from([None, 1, 2, 3, -1, -2])
)
KEYS = st.tuples(st.one_of(ONE_AXIS, st.integers(-4, 3)), st.one_of(ONE_AXIS, st.integers(-5, 4)))


@settings(max_examples=60, deadline=None)
@given(first=KEYS, second=ONE_AXIS, turned=st.booleans(), local=st.booleans())
def test_any_slice_reads_and_writes_what_numpy_does(first: Any, second: Any, turned: bool, local: bool) -> None:
    x = np.arange(20, dtype=F32).reshape(4, 5)
    right = x.copy()
    view = right[(*first, ...)].T if turned else right[(*first, ...)]
    target = view[second] if view.ndim else view[...]

    def change(y):
        part = y[first]
        part = part.T if turned else part
        part = part[second] if part.ndim else part
        part[...] = part * 2.0 + 1.0

    @tile
    def kernel(x, out):
        y = x + 0.0 if local else x
        change(y)
        out[:] = y

    target[...] = target * 2 + 1
    out = np.zeros_like(x)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("shape", [(20,), (5, 4), (2, 10), (-1, 2), (2, 2, 5), (1, 20, 1), (4, 1, 5), (4, -1)])
@pytest.mark.parametrize("cut", ["whole", "rows", "columns", "transposed", "reversed"])
def test_reshape_is_a_view_exactly_where_numpys_is(shape: tuple[int, ...], cut: str) -> None:
    base = np.arange(80, dtype=F32).reshape(8, 10)

    def part(y: Any) -> Any:
        whole = y[:4, :5]
        return {
            "whole": y.reshape(8, 10)[:2], "rows": y[2:4], "columns": whole, "transposed": whole.T, "reversed": y[1::-1],
        }[cut]  # fmt: skip

    @tile
    def kernel(x):
        view = part(x).reshape(shape)
        view[...] = view + 100.0

    right = base.copy()
    view = part(right).reshape(shape)
    view[...] += 100.0
    if np.shares_memory(view, right):
        run(kernel, base)
        np.testing.assert_array_equal(base, right)
    else:
        with pytest.raises(pypto.UserError) as caught:  # nothing is written: the copy is changed only
            traced(kernel, base)
        assert caught.value.name == "no-output"


# -- numbers and dtypes


def binary_operators() -> list[Callable[[Any, Any], Any]]:
    import operator

    return [
        operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt,
        operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    ]  # fmt: skip


TORCH = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
]
NUMPY = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.int32, np.int16, np.int8, np.uint8]


def dtype_of(body: Callable[..., Any], *arrays: np.ndarray[Any, Any]) -> np.dtype[Any]:
    seen: list[np.dtype[Any]] = []

    @tile
    def kernel(x, y, out):
        result = body(x, y)
        seen.append(result.dtype)
        out[:] = 0.0

    traced(kernel, *arrays, np.zeros(3, F32))
    return seen[0]


@pytest.mark.parametrize("left", range(len(TORCH)))
@pytest.mark.parametrize("right", range(len(TORCH)))
def test_promotion_is_torchs(left: int, right: int) -> None:
    x, y = np.ones(3, NUMPY[left]), np.ones(3, NUMPY[right])
    a, b = torch.ones(3, dtype=TORCH[left]), torch.ones(3, dtype=TORCH[right])
    name = {dtype: np.dtype(NUMPY[position]) for position, dtype in enumerate(TORCH)}
    assert dtype_of(lambda x, y: x + y, x, y) == name[(a + b).dtype]
    assert dtype_of(lambda x, y: x / y, x, y) == name[(a / b).dtype]
    assert dtype_of(lambda x, y: x + pypto.max(y), x, y) == name[(a + b.max()).dtype]
    assert dtype_of(lambda x, y: x * 2, x, y) == name[(a * 2).dtype]
    assert dtype_of(lambda x, y: x * 2.5, x, y) == name[(a * 2.5).dtype]
    assert dtype_of(lambda x, y: 1 - y, x, y) == name[(1 - b).dtype]


@pytest.mark.parametrize("dtype", [np.float64, F32, I32, np.int8, np.uint8])
def test_operators_are_numpys(dtype: Any) -> None:
    x = np.array([-7, -1, 0, 3, 5, 6, 7], np.int64).astype(dtype)
    y = np.array([3, -2, 5, -3, 2, 1, 7], np.int64).astype(dtype)
    for operate in binary_operators():

        @tile
        def kernel(x, y, out, back):
            out[:] = operate(x, y)
            back[:] = operate(2, x) if operate.__name__ != "truediv" else operate(x, 2)

        with np.errstate(all="ignore"):
            right = operate(x, y)
            back = operate(dtype(2), x) if operate.__name__ != "truediv" else operate(x, dtype(2))
        if operate.__name__ == "truediv" and np.dtype(dtype).kind != "f":
            right, back = right.astype(F32), back.astype(F32)
        out, other = np.zeros_like(right), np.zeros_like(back)
        run(kernel, x, y, out, other)
        np.testing.assert_array_equal(out, right)
        np.testing.assert_array_equal(other, back)


def test_bits_of_bools_and_integers() -> None:
    @tile
    def kernel(x, y, a, o, e, n):
        a[:] = x & y
        o[:] = x | y
        e[:] = x ^ y
        n[:] = ~x

    for x, y in ((np.array([0, 1, 0, 1], bool), np.array([0, 0, 1, 1], bool)), (np.arange(4) - 2, np.arange(4) * 3)):
        outputs = [np.zeros_like(x) for _ in range(4)]
        run(kernel, x, y, *outputs)
        for got, right in zip(outputs, (x & y, x | y, x ^ y, ~x), strict=True):
            np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("dtype", [F16, ml_dtypes.bfloat16])
def test_narrow_floats_are_f32_inside_and_round_at_the_parameter(dtype: Any) -> None:
    @tile
    def kernel(x, out, wide):
        y = x * x + 1.0
        wide[:] = y
        out[:] = y
        out += 1.0

    x = np.array([300.0, 1 / 3, 2049.0, -1e4, 1e-4], F32).astype(dtype)
    out, wide = np.zeros(5, dtype), np.zeros(5, F32)
    run(kernel, x, out, wide)
    exact = x.astype(F32) ** 2 + 1
    np.testing.assert_array_equal(wide, exact)
    with np.errstate(over="ignore"):
        rounded = exact.astype(dtype)
        np.testing.assert_array_equal(out, (rounded.astype(F32) + 1).astype(dtype))


def test_cast_rounds_to_the_narrow_dtype() -> None:
    @tile
    def kernel(x, out):
        out[:] = pypto.cast(x, "float16") * 1.0 + pypto.cast(pypto.cast(x, "int32"), float)

    x = np.array([2049.0, 0.1, -3.9, 1e9], F32)
    out = np.zeros(4, F32)
    run(kernel, x, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, x.astype(F16).astype(F32) + x.astype(I32).astype(F32))


def test_assignment_casts_and_broadcasts() -> None:
    @tile
    def kernel(x, whole, flag, row):
        whole[:] = x
        flag[:] = x > 0.0
        row[:] = x[:, :1]
        row[0] = 2

    x = np.array([[1.9, -1.9], [0.5, 300.0]], F32)
    whole, flag, row = np.zeros((2, 2), I32), np.zeros((2, 2), bool), np.zeros((2, 3), F32)
    run(kernel, x, whole, flag, row)
    np.testing.assert_array_equal(whole, x.astype(I32))
    np.testing.assert_array_equal(flag, x > 0)
    np.testing.assert_array_equal(row, [[2, 2, 2], [0.5, 0.5, 0.5]])


def test_a_float_written_into_integers_truncates() -> None:
    @tile
    def kernel(out):
        out[:] = -2.7
        out[0] = float("nan")

    out = np.ones(3, I32)
    run(kernel, out)
    np.testing.assert_array_equal(out, [0, -2, -2])


def test_scalars_and_constants() -> None:
    @tile
    def kernel(x, out, s, n, turns: int):
        y = x * s + n
        for _ in range(turns):
            y = y * 2.0
        out[:] = y

    x, out = np.arange(4, dtype=F32), np.zeros(4, F32)
    found = run(kernel, x, out, 1.5, 3, 2)
    np.testing.assert_array_equal(out, (x * F32(1.5) + 3) * 4)
    assert [item.name for item in found.parameters if item.scalar] == ["s", "n"]
    assert found.parameter("x").type.dtype.name == "f32"


def test_float_scalars_keep_an_integer_tiles_kind_rules() -> None:
    @tile
    def kernel(x, out, s):
        out[:] = x * s

    x, out = np.arange(4, dtype=I32), np.zeros(4, F32)
    run(kernel, x, out, 0.5)
    np.testing.assert_array_equal(out, x * F32(0.5))


# -- roles


def roles(kernel: TileFunction, *arrays: np.ndarray[Any, Any]) -> dict[str, Role]:
    return {item.name: item.role for item in traced(kernel, *arrays)[0].parameters}


def test_roles_of_parameters() -> None:
    @tile
    def kernel(x, unused, out, added, part, again, half):
        out[:] = x
        added += x
        part[1:3] = x[1:3]
        again[:] = x
        again += 1.0
        half[1:] = half[:-1]

    arrays = [np.zeros(5, F32) for _ in range(7)]
    assert roles(kernel, *arrays) == {
        "x": Role.IN, "unused": Role.IN, "out": Role.OUT, "added": Role.INOUT, "part": Role.OUT, "again": Role.OUT,
        "half": Role.INOUT,
    }  # fmt: skip


def test_an_output_written_in_parts_is_no_input() -> None:
    @tile
    def kernel(x, halves, rows, strided, ragged):
        halves[:2] = x[:2]
        halves[2:] = x[2:]
        halves += 1.0
        for i in pypto.loop(5):
            rows[i] = x[i]
        rows *= 2.0
        strided[::2] = 0.0
        strided[1::2] = 1.0
        strided += 1.0
        for i in pypto.loop(2):
            ragged[i * 3 : i * 3 + 2] = x[0:2]
        ragged += 1.0

    arrays = [np.zeros((5, 6), F32) for _ in range(5)]
    assert roles(kernel, *arrays) == {
        "x": Role.IN, "halves": Role.OUT, "rows": Role.OUT, "strided": Role.OUT, "ragged": Role.INOUT
    }  # fmt: skip


def test_a_partial_output_keeps_its_other_elements() -> None:
    @tile
    def kernel(x, out):
        out[1:3] = x[1:3]

    x, out = np.arange(5, dtype=F32), np.full(5, -1, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, [-1, 1, 2, -1, -1])


def test_loads_are_shared_until_a_store() -> None:
    @tile
    def kernel(x, out):
        out[:] = x * x + x

    found, _ = traced(kernel, np.zeros(3, F32), np.zeros(3, F32))
    assert statements(found).count("load") == 1


def test_what_no_output_needs_is_not_in_the_kernel() -> None:
    @tile
    def kernel(x, y, out):
        pypto.exp(y)
        out[:] = x

    found, _ = traced(kernel, *(np.zeros(3, F32) for _ in range(3)))
    assert statements(found) == ["load", "store"]


def test_locations_have_line_and_columns() -> None:
    @tile
    def kernel(x, out):
        out[:] = pypto.exp(x) + 1.0

    found, _ = traced(kernel, np.zeros(3, F32), np.zeros(3, F32))
    line = kernel.python.__code__.co_firstlineno + 2
    places = {item.name: item.location for item in found.body if hasattr(item, "operands")}
    assert (places["exp"].line, places["add"].line) == (line, line)
    text = places["exp"].source_line() or ""
    if places["exp"].column:
        assert text[places["exp"].column - 1 : places["exp"].end_column - 1] == "pypto.exp(x)"
        assert text[places["add"].column - 1 : places["add"].end_column - 1] == "pypto.exp(x) + 1.0"


def test_tiles_live_in_tables_and_describe_themselves() -> None:
    seen: list[str] = []

    @tile
    def kernel(x, out):
        table = {x: 1.0, out: 2.0}
        seen.append(f"{x!r} {x.shape} {x.ndim} {x.size} {x.dtype}")
        out[:] = x * table[x] + table[out]

    x, out = np.arange(6, dtype=F32).reshape(2, 3), np.zeros((2, 3), F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, x + 2)
    assert seen[0].startswith("<tile f32[(2, 3)]>") or "(2, 3) 2 6 float32" in seen[0]


def test_eager_tiles_print_their_elements() -> None:
    seen: list[str] = []

    @tile
    def kernel(x, out):
        seen.append(repr(x + 1.0))
        out[:] = x

    run(kernel, np.arange(3, dtype=F32), np.zeros(3, F32))
    assert "1." in seen[-1]
    assert "3." in seen[-1]
