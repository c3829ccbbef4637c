"""`pypto.loop` means what the same Python loop means, for state changed in place or re-bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto
from pypto import tile
from pypto.ir.nodes import For, walk
from pypto.tile_function import TileFunction
from tests.language.running import run, traced

F32 = np.float32
COUNTS = (0, 1, 2, 5)


def rows(n: int = 8, m: int = 6) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).integers(-5, 6, (n, m)).astype(F32)


def compare(make: Any, count: int) -> None:
    """`make(loop)` gives the tile function; the body with `range` on NumPy arrays says what is right."""
    x, out = rows(), np.full(6, 9, F32)
    right_x, right = x.copy(), out.copy()
    make(range, count).original(right_x, right)
    found = run(make(pypto.loop, count), x, out)
    np.testing.assert_allclose(out, right, rtol=1e-5)
    np.testing.assert_allclose(x, right_x, rtol=1e-6)
    assert any(isinstance(item, For) for item in walk(found.body)) or count == 0 or "no state" in (make.__doc__ or "")


def in_place(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] + 0.0
        for i in turns(n):
            acc += x[i] * 2.0
            acc[1:] = acc[:-1]
        out[:] = acc

    return kernel


def in_place_through_alias(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] + 0.0
        same = acc
        part = acc[2:4]
        for i in turns(n):
            same += x[i]
            part *= 2.0
        out[:] = acc

    return kernel


def rebinding(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0]
        for i in turns(n):
            acc = acc + x[i + 1]
        out[:] = acc

    return kernel


def with_base(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] + 1.0
        base = acc
        for _ in turns(n):
            acc = acc + base
        out[:] = acc * 100.0 + base

    return kernel


def swap(turns, n):
    @tile
    def kernel(x, out):
        p, q = x[0], x[1]
        for _ in turns(n):
            p, q = q, p + 1.0
        out[:] = p * 100.0 + q

    return kernel


def temporaries(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] + 0.0
        for i in turns(n):
            double = x[i] * 2.0
            double += 1.0
            acc = pypto_maximum(acc, double)
        out[:] = acc

    return kernel


def pypto_maximum(a, b):
    return np.maximum(a, b)


def nested(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] * 0.0
        for i in turns(n):
            row = x[i] * 0.0
            for j in turns(1, 4, 2):
                row = row + x[j]
                acc += x[i]
            acc = acc + row
        out[:] = acc

    return kernel


def in_memory(turns, n):
    @tile
    def kernel(x, out):
        out[:] = 0.0
        for i in turns(n):
            out[:] = out + x[i + 1]
            x[i] = out * 2.0
            x[i, 1:3] += 1.0

    return kernel


def index_arithmetic(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] * 0.0
        for i in turns(n):
            acc += x[(i * 3 + 1) % 8] * (i + 1) - i // 2 + i * 0.1 + (1 - i) / 3
        out[:] = acc

    return kernel


def moving_slices(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0:2] * 0.0
        for i in turns(n):
            acc += x[i : i + 2] + x[2 * i % 5 : 2 * i % 5 + 4 : 2]
        out[:] = acc[0] - acc[1]

    return kernel


def branch_of_python(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] + 0.0
        for i in turns(n):
            if n > 1:
                acc = acc * 0.5
            else:
                pass
            acc = acc + x[i]
        else:  # noqa: PLW0120
            acc = acc + 1.0
        out[:] = acc

    return kernel


def helper_function(turns, n):
    def step(value, i, x):
        return value + x[i] * 2.0

    @tile
    def kernel(x, out):
        acc = x[0]
        for i in turns(n):
            acc = step(acc, i, x)
            if n == 77:
                continue
        out[:] = acc

    return kernel


def continued(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0]
        for i in turns(n):
            acc = acc + x[i]
            if n:
                continue
            acc = acc * 7.0
        out[:] = acc

    return kernel


def mixed_ways(turns, n):
    @tile
    def kernel(x, out):
        acc = x[0] + 0.0
        for i in turns(n):
            acc += x[i]
            acc = acc * 2.0
        out[:] = acc

    return kernel


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    "make",
    [
        in_place, in_place_through_alias, rebinding, with_base, swap, temporaries, nested, in_memory, index_arithmetic,
        moving_slices, branch_of_python, helper_function, continued, mixed_ways,
    ],
    ids=lambda make: make.__name__,
)  # fmt: skip
def test_a_loop_means_what_python_means(make: Any, count: int) -> None:
    compare(make, count)


def test_start_stop_and_step() -> None:
    @tile
    def kernel(x, out):
        for i in pypto.loop(6, 7):
            for j in pypto.loop(i - 4, i, 3):
                out[:] += x[j] * i

    x, out = rows(), np.zeros(6, F32)
    right = sum((x[j] * 6 for j in range(2, 6, 3)), np.zeros(6, F32))
    run(kernel, x, out)
    np.testing.assert_array_equal(out, right)


def test_local_buffers_written_in_a_loop() -> None:
    @tile
    def kernel(x, out):
        buffer = pypto.empty((8, 6))
        for i in pypto.loop(8):
            buffer[i] = x[7 - i] + 1.0
        out[:] = pypto.sum(buffer[:4], axis=0)

    x, out = rows(), np.zeros(6, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, (x[::-1] + 1)[:4].sum(0))


def test_a_loop_over_a_batch() -> None:
    @tile(shape=(8, 6))
    def kernel(x, out):
        acc = pypto.zeros((6,))
        for i in pypto.loop(8):
            acc = acc + x[i]
        out[:] = acc

    x, out = np.random.default_rng(0).random((3, 8, 6)).astype(F32), np.zeros((3, 8, 6), F32)
    run(kernel, x, out)
    np.testing.assert_allclose(out, np.broadcast_to(x.sum(1, keepdims=True), x.shape), rtol=1e-5)


def test_narrow_float_state_is_f32() -> None:
    @tile
    def kernel(x, out):
        acc = x[0]
        for i in pypto.loop(1, 8):
            acc = acc + x[i]
        out[:] = acc

    x, out = (rows() / 3).astype(np.float16), np.zeros(6, np.float16)
    run(kernel, x, out)
    total = x[0].astype(F32)
    for row in x[1:]:
        total = total + row.astype(F32)
    np.testing.assert_array_equal(out, total.astype(np.float16))


def test_ordinary_loops_are_unrolled_and_keep_break_and_else() -> None:
    @tile
    def kernel(x, out):
        parts = []
        for number, scale in enumerate([1.0, 2.0, 4.0]):
            if number == 2:
                break
            parts.append(x[number] * scale)
        else:
            parts.append(x[5])
        for part in parts:
            out += part
        out += sum([x[i] for i in range(2)], x[3])

    x, out = rows(), np.zeros(6, F32)
    found = run(kernel, x, out)
    np.testing.assert_array_equal(out, x[0] + x[1] * 2 + x[0] + x[1] + x[3])
    assert not any(isinstance(item, For) for item in walk(found.body))


def test_closures_defaults_and_keyword_only_parameters_survive_rewriting() -> None:
    scale = 3.0

    @tile
    def kernel(x, out, count: int = 2, *, offset: float = 0.5):
        """Docstring."""
        acc = x[0] * scale
        for i in pypto.loop(count):
            acc = acc + x[i] * scale + offset
        out[:] = acc

    assert kernel.python.__doc__ == "Docstring."
    assert kernel.python.__defaults__ == (2,)
    x, out = rows(), np.zeros(6, F32)
    pypto.compile(kernel, target="reference").execute(x, out)
    np.testing.assert_array_equal(out, x[0] * 3 + x[0] * 3 + 0.5 + x[1] * 3 + 0.5)


def test_lines_stay() -> None:
    @tile
    def kernel(x, out):
        acc = x[0]
        for i in pypto.loop(3):
            acc = acc * x[i]
        out[:] = acc

    found, _ = traced(kernel, rows(), np.zeros(6, F32))
    multiply = next(item for item in walk(found.body) if getattr(item, "name", "") == "mul")
    assert multiply.location.line == kernel.original.__code__.co_firstlineno + 4
    if multiply.location.column:
        text = multiply.location.source_line() or ""
        assert text[multiply.location.column - 1 : multiply.location.end_column - 1] == "acc * x[i]"


WITHOUT_SOURCE = """
@tile
def in_place(x, out):
    acc = x[0] + 0.0
    for i in pypto.loop(3):
        acc += x[i]
    out[:] = acc

@tile
def rebound(x, out):
    acc = x[0]
    for i in pypto.loop(3):
        acc = acc + x[i]
    out[:] = acc
"""


def without_source(name: str) -> TileFunction:
    names: dict[str, Any] = {"pypto": pypto, "tile": tile}
    exec(WITHOUT_SOURCE, names)
    found = names[name]
    assert isinstance(found, TileFunction)
    return found


def test_in_place_state_needs_no_source() -> None:
    x, out = rows(), np.zeros(6, F32)
    run(without_source("in_place"), x, out)
    np.testing.assert_array_equal(out, x[0] + x[:3].sum(0))


def test_rebinding_without_source_shows_the_in_place_spelling() -> None:
    with pytest.raises(pypto.UserError, match=r"acc\[:\] = ") as caught:
        traced(without_source("rebound"), rows(), np.zeros(6, F32))
    assert caught.value.name == "loop-rebinding"


# -- cond


@pytest.mark.parametrize("bound", [0, 1, 3, 5])
def test_cond_on_an_index_runs_one_side(bound: int) -> None:
    @tile
    def kernel(x, out):
        acc = pypto.zeros((6,))
        for i in pypto.loop(5):

            def then():
                out[i] = x[i] * 3.0
                acc[:] = acc + x[i]

            def other():
                acc[0] -= 1.0

            pypto.cond(i < bound, then, other)
            pypto.cond(i == 2, lambda: acc.__setitem__(1, 0.0))
        out[5] = acc

    x, out = rows(), np.full((6, 6), -1, F32)
    acc, right = np.zeros(6, F32), out.copy()
    for i in range(5):
        if i < bound:
            right[i] = x[i] * 3
            acc += x[i]
        else:
            acc[0] -= 1
        if i == 2:
            acc[1] = 0
    right[5] = acc
    run(kernel, x, out)
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_cond_on_data_selects(value: float) -> None:
    @tile
    def kernel(x, out):
        acc = x[1] + 0.0
        positive = pypto.sum(x[0]) > 0.0

        def then():
            acc[1:] = 5.0
            out[:2] = acc[:2]
            pypto.cond(pypto.max(x[2]) > 100.0, lambda: out.__setitem__(3, 1.0), lambda: out.__setitem__(4, 2.0))

        def other():
            nonlocal_free = acc * 2.0
            acc[:] = nonlocal_free

        pypto.cond(positive, then, other)
        picked = pypto.cond(positive, lambda: x[3], lambda: x[4] * 2.0)
        out[5:] = acc[5:] + picked[5:]

    x, out = rows(), np.full(6, 9, F32)
    x[0] = value
    right, acc = out.copy(), x[1].copy()
    if value > 0:
        acc[1:] = 5
        right[:2] = acc[:2]
        right[4] = 2
        picked = x[3]
    else:
        acc *= 2
        picked = x[4] * 2
    right[5:] = acc[5:] + picked[5:]
    run(kernel, x, out)
    np.testing.assert_array_equal(out, right)


def test_cond_with_a_python_bool_and_where_on_an_index() -> None:
    @tile
    def kernel(x, out):
        pypto.cond(True, lambda: out.__setitem__(slice(None), x[0]))
        for i in pypto.loop(4):
            out += pypto.where((i >= 1) & (i != 2), x[i], 0.0)
            out += pypto.where(i > 2, 1.0, 0.0)

    x, out = rows(), np.zeros(6, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, x[0] + x[1] + x[3] + 1)


# -- explicit SPMD


def test_blocks_with_offsets() -> None:
    @tile(shape=(4, 4), tile_num=6)
    def kernel(x, out):
        block = pypto.get_block_id()
        row, column = block // 2 * 4, (block * 7) % 2 * 4
        out[row : row + 4, column : column + 4] = x[row : row + 4, column : column + 4] * 2.0 + block

    x, out = np.random.default_rng(0).random((12, 8)).astype(F32), np.zeros((12, 8), F32)
    right = np.zeros_like(out)
    for block in range(6):
        row, column = block // 2 * 4, (block * 7) % 2 * 4
        right[row : row + 4, column : column + 4] = x[row : row + 4, column : column + 4] * 2 + block
    run(kernel, x, out)
    np.testing.assert_allclose(out, right, rtol=1e-6)


def test_tile_id_parameter_and_items_of_blocks() -> None:
    @tile(shape=(4,), tile_num=3)
    def kernel(x, items, tile_id):
        items[:] = x[tile_id * 4 : tile_id * 4 + 4] * 2.0

    x, items = np.arange(12, dtype=F32), np.zeros((3, 4), F32)
    run(kernel, x, items)
    np.testing.assert_array_equal(items, x.reshape(3, 4) * 2)


def test_clipped_blocks() -> None:
    @tile(shape=(4,), tile_num=3)
    def kernel(x, out):
        start = pypto.minimum(pypto.get_block_id() * 4, 100)
        piece = pypto.block(x, start, 4)
        pypto.block(out, start, (4,))[:] = piece + pypto.sum(piece)

    x, out = np.arange(10, dtype=F32), np.zeros(10, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, np.concatenate([x[:4] + 6, x[4:8] + 22, x[8:] + 17]))


def test_blocks_of_local_tiles() -> None:
    @tile
    def kernel(x, out):
        local = x + 0.0
        for i in pypto.loop(3):
            part = pypto.block(local, (i * 3 - 1,), (4,), fill=1.0)
            part[:2] = part[:2] * 2.0
        out[:] = local

    x, out = np.arange(1, 8, dtype=F32), np.zeros(7, F32)
    right = x.copy()
    for i in range(3):
        for k in (i * 3 - 1, i * 3):
            if 0 <= k < 7:
                right[k] *= 2
    run(kernel, x, out)
    np.testing.assert_array_equal(out, right)
