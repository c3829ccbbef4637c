"""Tile functions that call tile functions: expressions, writing into given tiles, in/out parameters, tiles and blocks."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import fuse, tile
from tests.language.running import run, statements, traced

F32, F16 = np.float32, np.float16


@tile
def scaled(x, out, scale=2.0):
    out[:] = x * scale


@tile
def moments(x, mean_out, var_out, normalized):
    mean = pypto.mean(x, axis=-1, keepdims=True)
    var = pypto.mean((x - mean) ** 2, axis=-1, keepdims=True)
    normalized[:] = (x - mean) / pypto.sqrt(var + 1e-5)
    normalized[:] = normalized * 2.0
    mean_out[:] = mean
    var_out[:] = var


@tile
def accumulate(x, total):
    total += x


@tile
def step(x, state, out):
    out[:] = state * 10.0
    state[:] = state + x


def test_an_expression_has_fresh_outputs() -> None:
    @tile
    def kernel(x, out, means):
        y = moments(x)
        out[:] = scaled(y) + scaled(y, scale=3.0) + scaled(x=y)
        means[:] = y.outputs["mean_out"] + y.outputs.var_out * 0.0

    x, out, means = np.random.default_rng(0).random((3, 5)).astype(F32), np.zeros((3, 5), F32), np.zeros((3, 1), F32)
    run(kernel, x, out, means)
    d = x.astype(np.float64)
    normal = (d - d.mean(-1, keepdims=True)) / np.sqrt(d.var(-1, keepdims=True) + 1e-5) * 2
    np.testing.assert_allclose(out, normal * 7, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(means, d.mean(-1, keepdims=True), rtol=1e-5)


def test_all_parameters_write_into_the_given_tiles() -> None:
    @tile
    def kernel(x, out):
        local = pypto.zeros((4,))
        assert scaled(x, local) is None
        scaled(local[:2], out[2:])
        scaled(x=x[:2], out=out[:2], scale=5.0)

    x, out = np.arange(4, dtype=F32), np.zeros(4, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, [0, 5, 0, 4])


def test_in_out_parameters_are_inputs_and_change_the_callers_tile() -> None:
    @tile
    def kernel(x, out):
        total = x * 0.0
        accumulate(x, total)
        accumulate(x, total)
        first = step(x, total)
        out[:] = first + total

    x, out = np.arange(4, dtype=F32), np.zeros(4, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, x * 20 + x * 3)


def test_named_outputs_round_to_their_dtype() -> None:
    @tile
    def kernel(x, out):
        out[:] = scaled(x, scale=1.001) * 1.0 - x * 1.001

    x, out = np.array([1.0, 3.0, 700.0], F16), np.zeros(3, F32)
    run(kernel, x, out)
    product = x.astype(F32) * F32(1.001)
    np.testing.assert_array_equal(out, product.astype(F16).astype(F32) - product)


@tile(shape=(4,), tile_num=3)
def centred(x, mean_out, out):
    mean_out[:] = pypto.mean(x, axis=0, keepdims=True)
    out[:] = x - mean_out


@tile(shape=(None, 4))
def row_sums(x, out):
    out[:] = pypto.sum(x, axis=0, keepdims=True) + x * 0.0


def test_tiles_of_a_called_function_keep_their_grid() -> None:
    @tile
    def kernel(x, out, means):
        y = centred(x * 2.0)
        out[:] = y
        means[:] = y.outputs.mean_out

    x, out, means = np.arange(12, dtype=F32) ** 2, np.zeros(12, F32), np.zeros(3, F32)
    run(kernel, x, out, means)
    tiles = (x * 2).reshape(3, 4)
    np.testing.assert_allclose(out.reshape(3, 4), tiles - tiles.mean(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(means, tiles.mean(1), rtol=1e-6)


def test_tiles_written_into_given_outputs() -> None:
    @tile
    def kernel(x, out, means):
        local = pypto.empty((3,))
        centred(x, local, out)
        means[:] = local * 2.0

    x, out, means = np.arange(12, dtype=F32) ** 2, np.zeros(12, F32), np.zeros(3, F32)
    run(kernel, x, out, means)
    tiles = x.reshape(3, 4)
    np.testing.assert_allclose(out.reshape(3, 4), tiles - tiles.mean(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(means, tiles.mean(1) * 2, rtol=1e-6)


def test_a_batch_of_a_called_function() -> None:
    @tile
    def kernel(x, out):
        out[:] = row_sums(x) + 1.0

    x, out = np.random.default_rng(0).random((2, 3, 4)).astype(F32), np.zeros((2, 3, 4), F32)
    run(kernel, x, out)
    np.testing.assert_allclose(out, np.broadcast_to(x.sum(1, keepdims=True) + 1, out.shape), rtol=1e-6)


def test_tiles_called_from_tiles() -> None:
    @tile(shape=(12,), tile_num=2)
    def kernel(x, out):
        out[:] = centred(x) * 2.0 + pypto.max(x)

    x, out = np.arange(24, dtype=F32) ** 2, np.zeros(24, F32)
    run(kernel, x, out)
    tiles = x.reshape(2, 3, 4)
    right = (tiles - tiles.mean(2, keepdims=True)) * 2 + x.reshape(2, 12).max(1)[:, None, None]
    np.testing.assert_allclose(out.reshape(2, 3, 4), right, rtol=1e-6)


@tile(shape=(4,), tile_num=3)
def block_rows(x, out):
    start = pypto.get_block_id() * 4
    out[:] = x[start : start + 4] + pypto.get_block_id()


@tile(shape=(4,), tile_num=3)
def blocks_into(x, out, tile_id):
    out[tile_id * 4 : tile_id * 4 + 4] = x[tile_id * 4 : tile_id * 4 + 4] * 2.0


def test_blocks_of_a_called_function() -> None:
    @tile
    def kernel(x, out, items):
        y = x + 1.0
        items[:] = block_rows(y)
        blocks_into(y, out)

    x, out, items = np.arange(12, dtype=F32), np.zeros(12, F32), np.zeros((3, 4), F32)
    run(kernel, x, out, items)
    np.testing.assert_array_equal(out, (x + 1) * 2)
    np.testing.assert_array_equal(items, (x + 1).reshape(3, 4) + np.arange(3)[:, None])


def test_calls_in_loops() -> None:
    @tile
    def kernel(x, out):
        acc = x[0] * 0.0
        for i in pypto.loop(3):
            acc = acc + scaled(x[i])
            accumulate(x[i], acc)
        out[:] = acc

    x, out = np.random.default_rng(0).random((3, 4)).astype(F32), np.zeros(4, F32)
    run(kernel, x, out)
    np.testing.assert_allclose(out, x.sum(0) * 3, rtol=1e-6)


def test_the_fused_kernel_of_the_article() -> None:
    @tile(shape=(8,), tile_num=4)
    def layernorm_tile(x, mean_out, var_out, normalized, gamma, beta):
        x_mean = pypto.nn.reduce_mean(x, axes=[0], keepdims=True)
        x_var = pypto.nn.reduce_mean((x - x_mean) ** 2, axes=[0], keepdims=True)
        normalized[:] = (x - x_mean) / pypto.sqrt(x_var + 1e-5)
        normalized[:] = normalized * gamma + beta
        mean_out[:] = x_mean
        var_out[:] = x_var

    @tile(shape=(8,), tile_num=4)
    def gelu_tile(x, out):
        x_cubed = x**3
        out[:] = 0.5 * x * (1.0 + pypto.nn.tanh(0.7978845608 * (x + 0.044715 * x_cubed)))

    @tile(shape=(8,), tile_num=4)
    def add_tile(a, b, out):
        out[:] = a + b

    @fuse(layernorm_tile, gelu_tile, add_tile)
    def fused(x, residual, gamma, beta, output):
        output[:] = add_tile(gelu_tile(layernorm_tile(x, gamma, beta)), residual)

    rng = np.random.default_rng(0)
    x, residual = rng.random(32).astype(F32), rng.random(32).astype(F32)
    gamma, beta, out = rng.random(8).astype(F32), rng.random(8).astype(F32), np.zeros(32, F32)
    found = run(fused, x, residual, gamma, beta, out)
    t = x.astype(np.float64).reshape(4, 8)
    n = (t - t.mean(1, keepdims=True)) / np.sqrt(t.var(1, keepdims=True) + 1e-5) * gamma + beta
    g = 0.5 * n * (1 + np.tanh(0.7978845608 * (n + 0.044715 * n**3)))
    np.testing.assert_allclose(out, g.reshape(32) + residual, rtol=1e-5, atol=1e-6)
    assert statements(found).count("load") == 4


@pytest.mark.parametrize("positional", [(), ("state",)])
def test_keywords_of_a_call(positional: tuple[str, ...]) -> None:
    @tile
    def kernel(x, out):
        state = x + 1.0
        out[:] = step(x, state) if positional else step(x=x, state=state)
        out += state

    x, out = np.arange(3, dtype=F32), np.zeros(3, F32)
    run(kernel, x, out)
    np.testing.assert_array_equal(out, (x + 1) * 10 + 2 * x + 1)


def test_an_unread_output_costs_nothing() -> None:
    @tile
    def kernel(x, out):
        out[:] = moments(x).outputs.mean_out + x * 0.0

    found, _ = traced(kernel, np.zeros((2, 3), F32), np.zeros((2, 3), F32))
    assert "sqrt" not in statements(found)
