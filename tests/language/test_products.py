"""matmul, linear, conv2d and attention on every target that runs here, against NumPy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as functional

import pypto
from pypto import tile
from tests.language.running import traced

EVERYWHERE = ("cpu", "reference", "eager")


def numbers(seed: int, *shape: int, dtype: Any = np.float32) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def run(kernel: Any, *arguments: Any, target: str) -> Any:
    pypto.compile(kernel, target=target).execute(*arguments)
    return arguments[-1]


def close(got: Any, want: Any, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=tolerance, atol=tolerance
    )


@tile
def product(x, y, out):
    out[:] = x @ y


# -- matmul


@pytest.mark.parametrize("target", EVERYWHERE)
def test_every_spelling(target: str) -> None:
    @tile
    def kernel(x, y, a, b, c, d, e):
        a[:] = x @ y
        b[:] = pypto.matmul(x, y)
        c[:] = np.matmul(x, y)
        d[:] = x.dot(y)
        e[:] = np.dot(x, y)

    x, y = numbers(1, 5, 7), numbers(2, 7, 3)
    outs = [np.zeros((5, 3), np.float32) for _ in range(5)]
    pypto.compile(kernel, target=target).execute(x, y, *outs)
    for out in outs:
        close(out, x.astype(np.float64) @ y)


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize(("left", "right"), [
    ((4,), (4,)), ((4,), (4, 3)), ((5, 4), (4,)), ((2, 5, 4), (4,)), ((4,), (2, 4, 3)), ((3, 1, 2, 4), (5, 4, 2)),
    ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((1, 1), (1, 1)), ((2, 3, 4), (2, 4, 0)), ((1, 4), (4, 1)), ((7, 1), (1, 5)),
])  # fmt: skip
def test_shapes(target: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = numbers(1, *left), numbers(2, *right)
    want = np.matmul(x.astype(np.float64), y)
    close(run(product, x, y, np.full(np.shape(want), 7, np.float32), target=target), want)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_result_dtypes(target: str) -> None:
    @tile
    def wide(x, y, out):
        out[:] = pypto.matmul(x, y, out_dtype="float32")

    @tile
    def long(x, y, out):
        out[:] = pypto.matmul(x, y, out_dtype="int64")

    x, y = numbers(1, 20, 300, dtype=np.float16), numbers(2, 300, 9, dtype=np.float16)
    want = x.astype(np.float64) @ y.astype(np.float64)
    close(run(wide, x, y, np.zeros((20, 9), np.float32), target=target), want, 1e-4)
    got = run(product, x, y, np.zeros((20, 9), np.float16), target=target)
    assert (np.abs(got - want) <= np.abs(want) * 2**-10 + 1e-3).all()
    a, b = np.full((3, 5), 2**30, np.int32), np.full((5, 2), 2**20, np.int32)
    assert (run(product, a, b, np.ones((3, 2), np.int32), target=target) == 0).all()
    assert (run(long, a, b, np.ones((3, 2), np.int64), target=target) == 5 * 2**50).all()
    c, d = np.full((2, 3), 200, np.uint8), np.full((3, 2), -100, np.int8)
    assert (run(product, c, d, np.ones((2, 2), np.int32), target=target) == -60000).all()
    flags = np.array([[True, False, True]])
    assert (run(product, flags, flags.T.copy(), np.zeros((1, 1), np.int32), target=target) == 2).all()


def test_types_are_traced_as_documented() -> None:
    seen = {}

    @tile
    def kernel(x, y, b, out):
        seen["half"] = (x @ y).dtype
        seen["mixed"] = (x @ pypto.cast(y, "float32")).dtype
        seen["bytes"] = (b @ b).dtype
        seen["wide"] = pypto.matmul(b, b, out_dtype="int64").dtype
        out[:] = x @ y

    half = np.zeros((4, 4), np.float16)
    traced(kernel, half, half, np.zeros((4, 4), np.int8), half.copy())
    assert {name: str(dtype) for name, dtype in seen.items()} == {
        "half": "float16", "mixed": "float32", "bytes": "int32", "wide": "int64",
    }  # fmt: skip


@pytest.mark.parametrize("target", EVERYWHERE)
def test_products_in_tiles_and_batches(target: str) -> None:
    @tile(shape=(8, None))
    def normalised(x, w, out):
        out[:] = pypto.nn.softmax(x @ w, axis=-1)

    @tile(shape=(4, 6), tile_num=2)
    def each(x, w, out):
        result = x @ w
        out[:] = result - pypto.max(result, axis=0, keepdims=True)

    x, w = numbers(1, 3, 20, 5), numbers(2, 5, 6)
    want = x.astype(np.float64) @ w
    want = np.exp(want - want.max(-1, keepdims=True))
    close(run(normalised, x, w, np.zeros((3, 20, 6), np.float32), target=target), want / want.sum(-1, keepdims=True))
    x = numbers(3, 8, 4)
    want = (x.astype(np.float64) @ numbers(4, 4, 6)).reshape(2, 4, 6)
    got = run(each, x, numbers(4, 4, 6), np.zeros((8, 6), np.float32), target=target)
    close(got, (want - want.max(1, keepdims=True)).reshape(8, 6))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_in_place_and_views(target: str) -> None:
    @tile
    def kernel(x, y, out):
        y @= x
        out[:] = x[1:, ::2].T @ y[:-1, ::-1] + x.reshape(-1)[:1]

    x, y = numbers(1, 6, 6), numbers(2, 6, 6)
    after = y.astype(np.float64) @ x
    want = x[1:, ::2].T.astype(np.float64) @ after[:-1, ::-1] + x[0, 0]
    close(run(kernel, x, y.copy(), np.zeros((3, 6), np.float32), target=target), want, 1e-4)


# -- linear and convolution


@pytest.mark.parametrize("target", EVERYWHERE)
def test_linear(target: str) -> None:
    @tile
    def kernel(x, w, b, out, single):
        out[:] = pypto.nn.linear(x, w, b)
        single[:] = pypto.nn.linear(x, w[0])

    x, w, b = numbers(1, 2, 5, 7), numbers(2, 9, 7), numbers(3, 9)
    out, single = np.zeros((2, 5, 9), np.float32), np.zeros((2, 5), np.float32)
    pypto.compile(kernel, target=target).execute(x, w, b, out, single)
    close(out, functional.linear(*map(torch.from_numpy, (x, w, b))), 1e-4)
    close(single, x @ w[0], 1e-4)


CONVOLUTIONS: list[dict[str, Any]] = [
    {"x": (2, 3, 9, 8), "w": (4, 3, 3, 2)},
    {"x": (3, 9, 8), "w": (4, 3, 1, 1)},
    {"x": (2, 4, 9, 8), "w": (6, 2, 3, 3), "groups": 2, "padding": 1},
    {"x": (1, 6, 9, 8), "w": (6, 1, 3, 3), "groups": 6, "padding": (2, 1)},
    {"x": (2, 3, 12, 11), "w": (5, 3, 3, 2), "stride": (2, 3), "dilation": (2, 1)},
    {"x": (1, 2, 7, 7), "w": (3, 2, 3, 4), "padding": "same", "dilation": 2},
    {"x": (1, 1, 3, 3), "w": (1, 1, 3, 3)},
    {"x": (1, 70, 6, 40), "w": (33, 70, 3, 3), "padding": 1},
]


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv2d(target: str, case: dict[str, Any]) -> None:
    options = {name: value for name, value in case.items() if name not in ("x", "w")}

    @tile
    def kernel(x, w, b, out):
        out[:] = pypto.nn.conv2d(x, w, b, **options)

    x, w, b = numbers(1, *case["x"]), numbers(2, *case["w"]), numbers(3, case["w"][0])
    want = functional.conv2d(*(torch.from_numpy(item).double() for item in (x, w, b)), **options).numpy()
    close(run(kernel, x, w, b, np.full(want.shape, 7, np.float32), target=target), want, 1e-3)


# -- attention


def attention_case(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    return [numbers(seed, *shape) for seed, shape in enumerate(shapes)]


def torch_attention(q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    tensors = [torch.from_numpy(item).double() for item in (q, k, v)]
    given = None if mask is None else torch.from_numpy(mask)
    given = given if given is None or given.dtype == torch.bool else given.double()
    return functional.scaled_dot_product_attention(*tensors, given, **options).numpy()


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shapes", [
    ((5, 8), (7, 8), (7, 3)), ((2, 3, 130, 16), (2, 3, 130, 16), (2, 3, 130, 16)), ((2, 1, 1, 4), (2, 1, 300, 4), (2, 1, 300, 5)),
    ((1, 2, 140, 1), (1, 2, 90, 1), (1, 2, 90, 2)), ((3, 70, 33), (3, 270, 33), (3, 270, 17)), ((2, 4, 8), (2, 1, 8), (2, 1, 1)),
])  # fmt: skip
def test_attention(target: str, causal: bool, shapes: tuple[tuple[int, ...], ...]) -> None:
    @tile
    def kernel(q, k, v, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, is_causal=causal)

    q, k, v = attention_case(shapes)
    want = torch_attention(q, k, v, is_causal=causal)
    close(run(kernel, q, k, v, np.full(want.shape, 7, np.float32), target=target), want)


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("mask_shape", [(40, 150), (1, 150), (2, 1, 40, 150), (3, 1, 150), (40, 1)])
@pytest.mark.parametrize("is_bool", [False, True])
def test_attention_masks(target: str, mask_shape: tuple[int, ...], is_bool: bool) -> None:
    @tile
    def kernel(q, k, v, mask, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3)

    q, k, v = attention_case(((2, 3, 40, 8), (2, 3, 150, 8), (2, 3, 150, 6)))
    mask = numbers(9, *mask_shape)
    mask = mask > 0 if is_bool else np.where(mask > 3, np.float32(-np.inf), mask)
    want = torch_attention(q, k, v, mask, scale=0.3)
    close(run(kernel, q, k, v, mask, np.full(want.shape, 7, np.float32), target=target), np.nan_to_num(want))


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("causal", [False, True])
def test_grouped_queries(target: str, causal: bool) -> None:
    @tile
    def kernel(q, k, v, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

    q, k, v = attention_case(((2, 6, 65, 8), (2, 2, 65, 8), (2, 2, 65, 8)))
    want = torch_attention(q, k, v, is_causal=causal, enable_gqa=True)
    close(run(kernel, q, k, v, np.full(want.shape, 7, np.float32), target=target), want)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_attention_in_half_precision_and_empty(target: str) -> None:
    @tile
    def kernel(q, k, v, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v)

    q, k, v = (item.astype(np.float16) for item in attention_case(((2, 33, 16), (2, 40, 16), (2, 40, 16))))
    want = torch_attention(q, k, v)
    got = run(kernel, q, k, v, np.zeros(want.shape, np.float16), target=target)
    assert (np.abs(got - want) <= np.abs(want) * 2**-10 + 1e-3).all()
    q, k, v = attention_case(((3, 4), (0, 4), (0, 5)))
    assert (run(kernel, q, k, v, np.ones((3, 5), np.float32), target=target) == 0).all()
    q, k, v = attention_case(((3, 0), (6, 0), (6, 5)))
    close(run(kernel, q, k, v, np.ones((3, 5), np.float32), target=target), np.tile(v.mean(0), (3, 1)))
    q, k, v = attention_case(((0, 4), (6, 4), (6, 5)))
    assert run(kernel, q, k, v, np.ones((0, 5), np.float32), target=target).shape == (0, 5)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_attention_passes_on_nan_and_large_scores(target: str) -> None:
    @tile
    def kernel(q, k, v, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, scale=1.0)

    q, k, v = attention_case(((20, 8), (300, 8), (300, 4)))
    q[3, 2] = np.nan
    q[5] *= 1e4
    got = run(kernel, q, k, v, np.zeros((20, 4), np.float32), target=target)
    want = torch_attention(q, k, v, scale=1.0)
    assert np.isnan(got[3]).all()
    close(np.delete(got, 3, 0), np.delete(want, 3, 0), 1e-4)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_attention_of_a_batch_that_the_body_does_not_see(target: str) -> None:
    @tile(shape=(None, None))
    def kernel(q, k, v, mask, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, mask) * 2.0

    q, k, v = attention_case(((3, 20, 8), (3, 30, 8), (3, 30, 6)))
    mask = numbers(5, 20, 30) > -1
    want = torch_attention(q, k, v, mask) * 2
    close(run(kernel, q, k, v, mask, np.zeros(want.shape, np.float32), target=target), want)


def test_verified_launches() -> None:
    @tile
    def kernel(x, w, q, out, attended):
        out[:] = pypto.nn.relu(x @ w)
        attended[:] = pypto.nn.scaled_dot_product_attention(q, q, q)

    x, w, q = numbers(1, 70, 300), numbers(2, 300, 50), numbers(3, 60, 32)
    outs = np.zeros((70, 50), np.float32), np.zeros((60, 32), np.float32)
    pypto.compile(kernel, target="cpu").execute(x, w, q, *outs, verify=True)
