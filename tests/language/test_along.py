"""Reductions, scans, sorting, arranging and indexing against NumPy and torch, on cpu, reference and eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.nn import functional

import pypto
from pypto import nn

SHAPES = ((), (1,), (7,), (257,), (3, 0), (31, 7), (5, 257), (1000, 3), (4, 1, 6))
FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
DTYPES = (*FLOATS, np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_)
TARGETS = ("cpu", "reference", "eager")
Function = Callable[..., Any]


def values(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0, special: bool = True) -> np.ndarray:
    """Few different numbers, so that there are equals; NaN, infinities and both zeros among floats."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-5, 6, shape).astype(np.float64 if np.dtype(dtype).kind in "fV" else dtype)
    if special and np.dtype(dtype).kind in "fV" and found.size > 4:
        for number in (np.nan, np.inf, -np.inf, -0.0):
            found.reshape(-1)[rng.integers(0, found.size, 2)] = number
    return found.astype(dtype)


def wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "biu" else array.astype(np.float64)


@pypto.tile
def one(x, out):
    out[:] = APPLIED[0](x)


@pypto.tile
def two(x, y, out):
    out[:] = APPLIED[0](x, y)


@pypto.tile
def three(x, y, z, out):
    out[:] = APPLIED[0](x, y, z)


@pypto.tile
def five(x, y, z, u, v, out):
    out[:] = APPLIED[0](x, y, z, u, v)


KERNELS = {1: one, 2: two, 3: three, 5: five}
APPLIED: list[Function] = [lambda x: x]


def compute(function: Function, like: np.ndarray, *arrays: np.ndarray, target: str = "cpu") -> np.ndarray:
    """Run a function of tiles on arrays."""
    kernel = KERNELS[len(arrays)]
    APPLIED[0] = function
    out = np.zeros_like(like)
    pypto.compile(kernel, target=target).execute(*arrays, out)
    return out


def agree(function: Function, wanted: Any, *arrays: np.ndarray, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Compare every target with what NumPy or torch gave."""
    expected = wanted.numpy() if isinstance(wanted, torch.Tensor) else np.asarray(wanted)
    for target in TARGETS:
        got = compute(function, expected, *arrays, target=target)
        np.testing.assert_allclose(wide(got), wide(expected), rtol=rtol, atol=atol, equal_nan=True, err_msg=target)


def axes_of(shape: tuple[int, ...]) -> list[Any]:
    found: list[Any] = [None, *range(-len(shape), 0)]
    return [*found, tuple(range(len(shape)))] if len(shape) > 1 else found


# -- reductions


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_statistics(shape: tuple[int, ...], dtype: Any) -> None:
    x = values(shape, dtype, special=False)
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    precise = x.astype(np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis in axes_of(shape):
            agree(lambda x, a=axis: pypto.var(x, a), np.var(precise, axis).astype(dtype), x, **tolerance)
            wanted = np.asarray(np.std(precise, axis, ddof=1, keepdims=True)).astype(dtype)
            agree(lambda x, a=axis: x.std(dim=a, unbiased=True, keepdim=True), wanted, x, **tolerance)
            wanted = np.asarray(np.log(np.sum(np.exp(precise), axis))).astype(dtype)
            agree(lambda x, a=axis: pypto.logsumexp(x, a), wanted, x, **tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_products_and_truth(dtype: Any) -> None:
    for shape in ((7,), (3, 0), (5, 33)):
        x = values(shape, dtype)
        small = np.where(np.abs(wide(x)) > 1, 1, x).astype(dtype)  # products of ones and zeros are exact
        for axis in axes_of(shape):
            product = np.prod(wide(small), axis=axis)
            exact = dtype if np.dtype(dtype).kind in "fV" else np.int64
            agree(lambda x, a=axis: pypto.prod(x, a), np.asarray(product).astype(exact), small)
            agree(lambda x, a=axis: pypto.any(x, a), np.any(wide(x) != 0, axis), x)
            agree(lambda x, a=axis: np.all(x, a, keepdims=True), np.all(wide(x) != 0, axis, keepdims=True), x)
            agree(lambda x, a=axis: pypto.count_nonzero(x, a), np.count_nonzero(wide(x) != 0, axis=axis), x)


def test_variance_of_rows_far_from_zero() -> None:
    x = (1e6 + np.arange(257) % 7).astype(np.float32)[None] * np.ones((3, 1), np.float32)
    agree(lambda x: pypto.var(x, -1), np.var(x.astype(np.float64), -1).astype(np.float32), x, rtol=1e-3)


def test_logsumexp_of_special_rows() -> None:
    inf, nan = np.inf, np.nan
    x = np.array([[1e3, 1e3], [-inf, -inf], [-inf, 0], [inf, 0], [inf, -inf], [nan, inf], [-1e3, -1e3]], np.float32)
    agree(lambda x: pypto.logsumexp(x, 1), torch.logsumexp(torch.tensor(x), 1), x, rtol=1e-6)
    agree(lambda x: nn.log_softmax(x, 1), functional.log_softmax(torch.tensor(x), 1), x, rtol=1e-6)


# -- positions, scans, sorting


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_positions_of_extremes(dtype: Any) -> None:
    for shape in ((1,), (7,), (257,), (31, 7), (4, 1, 6)):
        x = values(shape, dtype)
        plain = x if np.dtype(dtype).kind in "biu" else x.astype(np.float64)
        for axis in (None, *range(len(shape))):
            agree(lambda x, a=axis: pypto.argmax(x, a), np.argmax(plain, axis), x)
            wanted = np.argmin(plain, axis, keepdims=True)
            agree(lambda x, a=axis: x.argmin(dim=a, keepdim=True), wanted, x)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_scans(dtype: Any) -> None:
    is_float = np.dtype(dtype).kind in "fV"
    rtol = {2: 2e-2, 4: 1e-6, 8: 1e-13}[np.dtype(dtype).itemsize] if is_float else 0.0
    for shape in ((1,), (257,), (31, 7), (3, 0), (2, 40, 3)):
        x = values(shape, dtype, special=False)
        for axis in (None, *range(len(shape))):
            wanted = np.cumsum(wide(x), axis).astype(dtype if is_float else np.int64)
            agree(lambda x, a=axis: pypto.cumsum(x, a), wanted, x, rtol=rtol, atol=1e-5 if is_float else 0.0)
            signs = np.where(wide(x) < 0, -1, 1).astype(dtype)
            wanted = np.cumprod(wide(signs), axis).astype(dtype if is_float else np.int64)
            agree(lambda x, a=axis: x.cumprod(a), wanted, signs)


def test_scans_keep_special_values() -> None:
    x = np.array([1, np.inf, 2, -np.inf, 1, np.nan, 1, 0], np.float32)
    with np.errstate(all="ignore"):
        agree(lambda x: pypto.cumsum(x, 0), np.cumsum(x), x)
        agree(lambda x: pypto.cumprod(x, 0), np.cumprod(x), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_sorting(dtype: Any) -> None:
    for shape in ((1,), (7,), (257,), (31, 7), (3, 0)):
        x = values(shape, dtype)
        tensor = torch.tensor(wide(x))
        for axis in range(-len(shape), 0):
            agree(lambda x, a=axis: np.argsort(x, a), np.argsort(wide(x), axis, kind="stable"), x)
            agree(lambda x, a=axis: np.sort(x, a), np.sort(wide(x), axis).astype(dtype), x)
            down = torch.sort(tensor, dim=axis, descending=True, stable=True)
            agree(lambda x, a=axis: pypto.sort(x, a, descending=True).indices, down.indices, x)
            agree(lambda x, a=axis: pypto.sort(x, dim=a, descending=True)[0], down.values.numpy().astype(dtype), x)


@pytest.mark.parametrize("largest", [True, False])
def test_topk(largest: bool) -> None:
    for shape in ((7,), (257,), (5, 1000), (40, 9)):
        x = values(shape, np.float32, special=False)
        for k in (0, 1, 5, 7):
            found = torch.topk(torch.tensor(x), k, largest=largest)
            agree(lambda x, k=k: pypto.topk(x, k, largest=largest).values, found.values, x)
            order = np.argsort(-x if largest else x, -1, kind="stable")[..., :k]
            agree(lambda x, k=k: x.topk(k, dim=-1, largest=largest).indices, order, x)


# -- arranging


ARRANGED: dict[str, tuple[Function, Function]] = {
    "stack": (lambda x: pypto.stack([x, x + 1], 1), lambda x: np.stack([x, x + 1], 1)),
    "stack_last": (lambda x: np.stack([x, x], -1), lambda x: np.stack([x, x], -1)),
    "flip": (lambda x: pypto.flip(x, dims=(0,)), lambda x: np.flip(x, 0)),
    "flip_all": (np.flip, np.flip),
    "roll": (lambda x: pypto.roll(x, 5), lambda x: np.roll(x, 5)),
    "roll_two": (lambda x: np.roll(x, (-3, 2), (0, 1)), lambda x: np.roll(x, (-3, 2), (0, 1))),
    "tril": (lambda x: pypto.tril(x, -1), lambda x: np.tril(x, -1)),
    "triu": (lambda x: np.triu(x, k=2), lambda x: np.triu(x, k=2)),
    "repeat": (lambda x: pypto.repeat(x, 3, 1), lambda x: np.repeat(x, 3, 1)),
    "repeat_all": (lambda x: pypto.repeat_interleave(x, 2), lambda x: np.repeat(x, 2)),
    "tile": (lambda x: np.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3))),
    "expand_dims": (lambda x: pypto.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
    "squeeze": (lambda x: pypto.squeeze(x[None, :, None], 2), lambda x: x[None]),
    "swapaxes": (lambda x: x.swapaxes(0, 1), lambda x: x.T),
    "moveaxis": (lambda x: np.moveaxis(x[None], 0, -1), lambda x: x[..., None]),
    "chunk": (lambda x: pypto.concat(pypto.chunk(x, 3, dim=1)[::-1], 1), lambda x: np.concatenate(
        [item.numpy() for item in torch.chunk(torch.tensor(x), 3, 1)][::-1], 1)),
    "split": (lambda x: pypto.split(x, 4)[-1], lambda x: torch.split(torch.tensor(x), 4)[-1].numpy()),
    "np_split": (lambda x: np.split(x, [2, 3], 1)[2], lambda x: np.split(x, [2, 3], 1)[2]),
    "zeros_like": (lambda x: pypto.zeros_like(x) + pypto.ones_like(x, "float32"), np.ones_like),
    "eye": (lambda x: x + pypto.eye(9, 7), lambda x: x + np.eye(9, 7, dtype=np.float32)),
    "arange": (lambda x: x + pypto.arange(2, 16, 2), lambda x: x + np.arange(2, 16, 2).astype(np.float32)),
    "arange_floats": (lambda x: x + pypto.arange(0, 3.5, 0.5), lambda x: x + np.arange(0, 3.5, 0.5, np.float32)),
    "arange_down": (lambda x: x + pypto.arange(7, 0, -1, "int32"), lambda x: x + np.arange(7, 0, -1, np.float32)),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRANGED)
def test_arranging(name: str) -> None:
    ours, theirs = ARRANGED[name]
    x = values((9, 7), special=False)
    agree(ours, theirs(x), x)
    agree(ours, theirs(x), np.asfortranarray(x))


# -- indexing


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_numpy_indexing(dtype: Any) -> None:
    x, i = values((9, 7), dtype), np.random.default_rng(1).integers(-7, 7, (4, 5))
    agree(pypto.take, np.take(x, i), x, i)
    agree(lambda x, i: np.take(x, i, axis=1), np.take(x, i, axis=1), x, i)
    agree(lambda x, i: x[i], x[i], x, i)
    agree(lambda x, i: x[:, i], x[:, i], x, i.astype(np.int8))
    agree(lambda x, i: x[..., i], x[..., i], x, i.astype(np.int32))
    agree(lambda x: pypto.take(x, -2, 0), x[-2], x)
    j = np.random.default_rng(2).integers(-9, 9, (3, 7))
    agree(lambda x, i: np.take_along_axis(x, i, 0), np.take_along_axis(x, j, 0), x, j)
    agree(lambda x, i: pypto.take_along_axis(x, i, 0), np.take_along_axis(x, j[:, :1], 0), x, j[:, :1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64], ids=lambda dtype: np.dtype(dtype).name)
def test_torch_indexing(dtype: Any) -> None:
    x, s = values((9, 7, 5), dtype, special=False), values((9, 7, 5), dtype, 4, special=False)
    tensor, source = torch.tensor(x), torch.tensor(s)
    for dim in (0, 1, -1):
        extent = x.shape[dim]
        i = np.random.default_rng(1).integers(0, extent, (4, 6, 3))
        numbers = torch.tensor(i)
        agree(lambda x, i, d=dim: pypto.gather(x, d, i), torch.gather(tensor, dim, numbers), x, i)
        wanted = tensor.scatter_add(dim, numbers, source)
        agree(lambda x, i, s, d=dim: pypto.scatter_add(x, d, i, s), wanted, x, i, s)
        agree(lambda x, i, d=dim: pypto.scatter(x, d, i, 3), tensor.scatter(dim, numbers, 3), x, i)
        row = np.random.default_rng(2).integers(0, extent, 11)
        picks = torch.tensor(row)
        agree(lambda x, i, d=dim: pypto.index_select(x, d, i), torch.index_select(tensor, dim, picks), x, row)
        more = torch.index_select(source, dim, picks % extent).contiguous()
        wanted = torch.index_add(tensor, dim, picks, more, alpha=2)
        agree(lambda x, i, s, d=dim: pypto.index_add(x, d, i, s, alpha=2), wanted, x, row, more.numpy())
        alone = np.random.default_rng(3).permutation(extent)[:3]
        part = torch.index_select(source, dim, torch.tensor(alone))
        wanted = torch.index_copy(tensor, dim, torch.tensor(alone), part)
        agree(lambda x, i, s, d=dim: pypto.index_copy(x, d, i, s), wanted, x, alone, part.numpy())


def test_the_last_of_equal_indices_counts() -> None:
    x, i, s = np.zeros(4, np.float32), np.array([1, 1, 3, 1]), np.arange(4, dtype=np.float32) + 1
    agree(lambda x, i, s: pypto.scatter(x, 0, i, s), [0, 4, 0, 3], x, i, s)


def test_additions_run_in_the_order_of_the_indices() -> None:
    rng = np.random.default_rng(0)
    s, i = rng.standard_normal((3000, 33)).astype(np.float32), rng.integers(0, 3, 3000)
    wanted = np.zeros((3, 33), np.float32)
    for place, row in zip(i, s, strict=True):
        wanted[place] += row
    agree(lambda x, i, s: pypto.index_add(x, 0, i, s), wanted, np.zeros((3, 33), np.float32), i, s)


def test_indexing_with_nothing() -> None:
    x, none = values((9, 7)), np.zeros((0,), np.int64)
    agree(lambda x, i: pypto.take(x, i, 0), x[none], x, none)
    agree(lambda x, i: pypto.index_add(x, 0, i, x[:0]), x, x, none)
    agree(lambda x, i: pypto.take(x[:, :0], i, 0), x[:2, :0], x, np.array([8, 2]))


def test_changing_a_tile_that_updates_read() -> None:
    x, i = values((6, 6), special=False), np.array([[0], [2], [1], [1], [5], [0]])
    wanted = torch.tensor(x).scatter_add(0, torch.tensor(i).expand(6, 6), torch.tensor(x))
    agree(lambda x, i: pypto.scatter_add(x, 0, pypto.broadcast_to(i, (6, 6)), x), wanted, x, i)

    @pypto.tile
    def in_place(x, i):
        x[:] = pypto.index_add(x, 0, i, x)

    got = x.copy()
    pypto.compile(in_place).execute(got, i[:, 0])
    np.testing.assert_array_equal(got, wanted)


def test_one_hot() -> None:
    i = np.array([[0, 3], [2, 2]])
    agree(lambda i: pypto.one_hot(i, 4), functional.one_hot(torch.tensor(i), 4), i)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("number", "shown"), [(9, "9"), (-1, "-1"), (1 << 40, "1099511627776")])
def test_a_wrong_index_is_an_error(target: str, number: int, shown: str) -> None:
    @pypto.tile
    def pick(x, i, out):
        out[:] = pypto.index_select(x, 0, i)

    i = np.zeros(300, np.int64)
    i[[257, 299]] = number, -7
    with pytest.raises(pypto.UserError, match=f"index {shown} at position 257 of the indices of gather") as failure:
        pypto.compile(pick, target=target).execute(values((9, 7)), i, np.zeros((300, 7), np.float32))
    assert failure.value.name == "index-out-of-range"
    assert failure.value.location is not None
    assert "pypto.index_select(x, 0, i)" in (failure.value.location.source_line() or "")


def test_a_call_after_a_wrong_index_works() -> None:
    @pypto.tile
    def pick(x, i, out):
        out[:] = x[i]

    kernel, x, out = pypto.compile(pick), values((9, 7)), np.zeros((2, 7), np.float32)
    for _ in range(3):
        with pytest.raises(pypto.UserError, match="no element of an axis of 9"):
            kernel.execute(x, np.array([0, 9]), out)
        kernel.execute(x, np.array([-9, 8]), out)
        np.testing.assert_array_equal(out, x[[0, 8]])


def test_batches_and_loops_around_indexing() -> None:
    """Leading axes are a batch; indices may differ from item to item."""

    @pypto.tile(shape=(9, 7))
    def pick(x, i, out):
        out[:] = pypto.take_along_axis(x, i, 0)

    @pypto.tile
    def rows(x, i, out):
        for k in pypto.loop(5):
            out[k] = pypto.sort(x[k]).values[::-1] + pypto.take(x[k], i[k])

    x, i = values((5, 9, 7), special=False), np.random.default_rng(0).integers(0, 9, (5, 4, 7))
    out = np.zeros((5, 4, 7), np.float32)
    pypto.compile(pick).execute(x, i, out)
    np.testing.assert_array_equal(out, np.take_along_axis(x, i, 1))
    y, j = values((5, 33), special=False), np.random.default_rng(0).integers(-33, 33, (5, 33))
    for target in TARGETS:
        out = np.zeros((5, 33), np.float32)
        pypto.compile(rows, target=target).execute(y, j, out)
        np.testing.assert_array_equal(out, np.sort(y, 1)[:, ::-1] + np.take_along_axis(y, j, 1))


# -- layers


def test_group_and_batch_norm() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 6, 5, 7)).astype(np.float32)
    w, b, m = (rng.standard_normal(6).astype(np.float32) for _ in range(3))
    v = rng.random(6).astype(np.float32) + 0.1
    tensors = [torch.tensor(item) for item in (x, m, v, w, b)]
    wanted = functional.batch_norm(*tensors)
    agree(nn.batch_norm, wanted, x, m, v, w, b, rtol=1e-5, atol=1e-5)
    wanted = functional.group_norm(tensors[0], 3, tensors[3], tensors[4])
    agree(lambda x, w, b: nn.group_norm(x, 3, w, b), wanted, x, w, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(reduction: str, smoothing: float) -> None:
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((31, 6)).astype(np.float32), rng.integers(0, 6, 31)
    t[::5] = -100
    w, p = rng.random(6).astype(np.float32), rng.dirichlet(np.ones(6), 31).astype(np.float32)
    options: dict[str, Any] = {"reduction": reduction, "label_smoothing": smoothing}
    scores, classes, weights = map(torch.tensor, (x, t, w))
    wanted = functional.cross_entropy(scores, classes, **options)
    agree(lambda x, t: nn.cross_entropy(x, t, **options), wanted, x, t, rtol=1e-5, atol=1e-5)
    wanted = functional.cross_entropy(scores, classes, weights, **options)
    agree(lambda x, t, w: nn.cross_entropy(x, t, w, **options), wanted, x, t, w, rtol=1e-5, atol=1e-5)
    wanted = functional.cross_entropy(scores, torch.tensor(p), weights, **options)
    agree(lambda x, t, w: nn.cross_entropy(x, t, w, **options), wanted, x, p, w, rtol=1e-5, atol=1e-5)


def test_cross_entropy_of_images_and_of_one_sample() -> None:
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((4, 6, 5)).astype(np.float32), rng.integers(0, 6, (4, 5))
    wanted = functional.cross_entropy(torch.tensor(x), torch.tensor(t))
    agree(nn.cross_entropy, wanted, x, t, rtol=1e-5)
    wanted = functional.cross_entropy(torch.tensor(x[0, :, 0]), torch.tensor(3))
    agree(nn.cross_entropy, wanted, x[0, :, 0].copy(), np.asarray(3), rtol=1e-5)


def test_embedding_and_rotary_positions() -> None:
    rng = np.random.default_rng(0)
    table, i = rng.standard_normal((31, 6)).astype(np.float32), rng.integers(0, 31, (3, 9))
    agree(lambda w, i: nn.embedding(i, w), functional.embedding(torch.tensor(i), torch.tensor(table)), table, i)
    x = rng.standard_normal((2, 3, 9, 8)).astype(np.float32)
    c, s = (rng.standard_normal((9, 4)).astype(np.float32) for _ in range(2))
    a, b = x[..., :4], x[..., 4:]
    wanted = np.concatenate([a * c - b * s, b * c + a * s], -1)
    agree(nn.rotary_embedding, wanted, x, c, s, rtol=1e-5, atol=1e-6)
    twice = [np.concatenate([item, item], -1) for item in (c, s)]
    agree(nn.rotary_embedding, wanted, x, *twice, rtol=1e-5, atol=1e-6)
    a, b = x[..., ::2], x[..., 1::2]
    wanted = np.stack([a * c - b * s, b * c + a * s], -1).reshape(x.shape)
    turned = lambda x, c, s: nn.rotary_embedding(x, c, s, interleaved=True)  # noqa: E731
    agree(turned, wanted, x, c, s, rtol=1e-5, atol=1e-6)


# -- in blocks, loops, parts


def test_blocks_that_gather_and_sort() -> None:
    @pypto.tile(tile_num=4)
    def blocks(x, i, out):
        b = pypto.get_block_id()
        rows = x[b * 3 : b * 3 + 3]
        out[b * 3 : b * 3 + 3] = pypto.take_along_axis(rows, i[b * 3 : b * 3 + 3], 1) + pypto.cumsum(rows, 1)[:, :5]

    x, i = values((12, 33), special=False), np.random.default_rng(0).integers(0, 33, (12, 5))
    for target in TARGETS:
        out = np.zeros((12, 5), np.float32)
        pypto.compile(blocks, target=target).execute(x, i, out)
        np.testing.assert_array_equal(out, np.take_along_axis(x, i, 1) + np.cumsum(x, 1)[:, :5])


def test_sums_by_segment_carried_through_a_loop() -> None:
    @pypto.tile
    def segments(x, i, out):
        total = pypto.zeros((7, 9))
        for k in pypto.loop(6):
            total = pypto.index_add(total, 0, i[k], x[k])
        out[:] = total

    x, i = values((6, 40, 9), special=False), np.random.default_rng(0).integers(0, 7, (6, 40))
    wanted = np.zeros((7, 9), np.float32)
    np.add.at(wanted, i.reshape(-1), x.reshape(-1, 9))
    for target in TARGETS:
        out = np.zeros((7, 9), np.float32)
        pypto.compile(segments, target=target).execute(x, i, out)
        np.testing.assert_array_equal(out, wanted)


def test_the_first_of_several_wrong_operations_is_reported() -> None:
    @pypto.tile
    def first(x, i, y):
        y[:] = pypto.exp(pypto.index_select(x, 0, i))

    @pypto.tile
    def second(y, j, out):
        out[:] = pypto.sum(y, axis=1) + pypto.index_select(y, 0, j)[:, 0]

    pipeline = pypto.compile([first, second])
    x, out = values((9, 7), special=False), np.zeros(4, np.float32)
    good, bad = np.arange(4), np.array([0, 1, 4, 9])
    pipeline.execute(x=x, i=good, j=good, out=out)
    np.testing.assert_allclose(out, np.exp(x[:4]).sum(1) + np.exp(x[:4, 0]), rtol=1e-6)
    for i, j, line in ((good, bad, "index_select(y, 0, j)"), (bad, bad, "index_select(x, 0, i)")):
        with pytest.raises(pypto.UserError) as failure:
            pipeline.execute(x=x, i=i, j=j, out=out)
        assert failure.value.location is not None
        assert line in (failure.value.location.source_line() or "")


def test_axes_bound_by_order_are_not_cut() -> None:
    @pypto.tile(shape=(4, 8))
    def sums(x, out):
        out[:] = pypto.cumsum(x, 1)

    x, out = values((4, 16), special=False), np.zeros((4, 16), np.float32)
    with pytest.raises(pypto.UserError, match="cumsum"):
        pypto.compile(sums).execute(x, out)
    whole = pypto.tile(shape=(2, None))(sums.original)
    pypto.compile(whole).execute(x, out)
    np.testing.assert_array_equal(out, np.cumsum(x, 1))


def test_threads_see_their_own_mistakes() -> None:
    @pypto.tile
    def pick(x, i, out):
        out[:] = x[i]

    kernel, x = pypto.compile(pick), values((9, 7), special=False)
    kernel.execute(x, np.zeros(50, np.int64), np.zeros((50, 7), np.float32))

    def calls(number: int) -> int:
        wrong = 0
        for turn in range(200):
            i = np.full(50, (number + turn) % 12)
            out = np.zeros((50, 7), np.float32)
            if i[0] < 9:
                kernel.execute(x, i, out)
                np.testing.assert_array_equal(out, x[i])
                continue
            with pytest.raises(pypto.UserError, match=f"index {i[0]} at position 0 "):
                kernel.execute(x, i, out)
            wrong += 1
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(calls, range(4))) == sum((n + t) % 12 >= 9 for n in range(4) for t in range(200))


def test_repeats_are_tiles_of_their_own() -> None:
    @pypto.tile
    def shifted(x, out, wide):
        doubled = pypto.repeat(x, 2, 0)
        doubled += 1
        out[:] = doubled
        tiled = np.tile(x, (2, 2))
        tiled[0] = 7
        wide[:] = tiled

    x = values((3, 2), special=False)
    for target in TARGETS:
        out, wide = np.zeros((6, 2), np.float32), np.zeros((6, 4), np.float32)
        pypto.compile(shifted, target=target).execute(x, out, wide)
        expected = np.tile(x, (2, 2))
        expected[0] = 7
        np.testing.assert_array_equal(out, np.repeat(x, 2, 0) + 1)
        np.testing.assert_array_equal(wide, expected)


@pytest.mark.parametrize("shape", [(1, 1, 5), (2, 3, 5), (3, 1, 5), (4, 5, 1), (2, 1, 300)])
def test_order_along_one_axis_of_what_was_ordered_along_another(shape: tuple[int, ...]) -> None:
    """What a gather gives is walked in an order of its own by sorting and scans."""

    @pypto.tile
    def twice(x, y, z):
        first = pypto.sort(x, 1).values
        y[:] = pypto.sort(first, 2).values
        z[:] = pypto.cumsum(first, axis=2)

    x = values(shape, special=False)
    for target in TARGETS:
        y, z = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        pypto.compile(twice, target=target).execute(x, y, z)
        np.testing.assert_array_equal(y, np.sort(np.sort(x, 1), 2))
        np.testing.assert_allclose(z, np.cumsum(np.sort(x, 1), 2), rtol=1e-6, atol=1e-5)


def test_pad_has_both_names() -> None:
    assert pypto.pad is nn.pad


@pytest.mark.parametrize("target", ["eager", "reference", "cpu"])
@pytest.mark.parametrize("value", [0, 3, -1, 0.5, True])
def test_padding_of_bools_is_the_truth_of_the_number(target: str, value: float) -> None:
    @pypto.tile
    def kernel(x: Any, out: Any) -> None:
        out[:] = pypto.pad(x, [(1, 2)], value)

    x, out = np.array([False, True]), np.zeros(5, bool)
    pypto.compile(kernel, target=target).execute(x, out)
    assert np.array_equal(out, np.pad(x, (1, 2), constant_values=bool(value)))
