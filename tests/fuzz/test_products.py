"""Random convolutions and attentions, between a random prologue and epilogue, against torch in float64.

The generator of kernels makes matrix products; these two have shapes of their own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import pypto
from pypto import nn

TARGETS = ("eager", "reference", "cpu")
CASES = range(60)


def array(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.uniform(-2, 2, shape).astype(np.float32)


def agree(kernel: Any, arguments: list[np.ndarray[Any, Any]], expected: torch.Tensor) -> None:
    for target in TARGETS:
        out = np.full(tuple(expected.shape), np.nan, np.float32)
        pypto.compile(kernel, target=target).execute(*arguments, out)
        np.testing.assert_allclose(out, expected.numpy(), rtol=2e-5, atol=2e-5, err_msg=target)


def double(value: np.ndarray[Any, Any]) -> torch.Tensor:
    return torch.from_numpy(value.astype(np.float64))


@pytest.mark.parametrize("seed", CASES)
def test_random_convolution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = int(rng.choice([1, 1, 2, 3]))
    inputs, outputs = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))
    kernel_h, kernel_w = (int(item) for item in rng.integers(1, 4, 2))
    stride, padding, dilation = (int(rng.integers(low, high)) for low, high in ((1, 4), (0, 3), (1, 3)))
    height, width = (int(rng.integers(dilation * (size - 1) + 1, 20)) for size in (kernel_h, kernel_w))
    x = array(rng, int(rng.integers(1, 3)), inputs, height, width)
    weight, bias = array(rng, outputs, inputs // groups, kernel_h, kernel_w), array(rng, outputs)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    scaled = bool(rng.integers(0, 2))

    @pypto.tile
    def kernel(x, weight, bias, out):
        image = x * 0.5 if scaled else x
        out[:] = nn.relu(nn.conv2d(image, weight, bias, **options))

    image = double(x) * (0.5 if scaled else 1.0)
    expected = torch.relu(torch.nn.functional.conv2d(image, double(weight), double(bias), **options))
    agree(kernel, [x, weight, bias], expected)


@pytest.mark.parametrize("seed", CASES)
def test_random_attention(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    heads, repeat, features, values = (int(rng.integers(1, high)) for high in (4, 4, 33, 20))
    queries, keys = int(rng.integers(1, 200)), int(rng.integers(1, 200))
    grouped, causal = repeat > 1, bool(rng.integers(0, 2))
    query = array(rng, 2, heads * repeat, queries, features)
    key, value = array(rng, 2, heads, keys, features), array(rng, 2, heads, keys, values)
    mask = np.where(rng.random((queries, keys)) < 0.2, -np.inf, rng.uniform(-1, 1, (queries, keys))).astype(np.float32)
    mask[:, 0] = 0.0

    @pypto.tile
    def kernel(query, key, value, mask, out):
        extra = {"is_causal": True} if causal else {"attn_mask": mask}
        if not causal:
            out[:] = nn.scaled_dot_product_attention(query, key, value, enable_gqa=grouped, **extra) * 0.5
        else:
            out[:] = nn.scaled_dot_product_attention(query, key, value, enable_gqa=grouped, **extra) * 0.5 + mask[0, 0]

    wide_key, wide_value = (double(item).repeat_interleave(repeat, 1) for item in (key, value))
    scores = double(query) @ wide_key.transpose(-1, -2) / math.sqrt(features)
    if causal:
        scores = scores.masked_fill(~torch.ones(queries, keys, dtype=torch.bool).tril(), -math.inf)
    else:
        scores = scores + double(mask)
    agree(kernel, [query, key, value, mask], torch.softmax(scores, -1) @ wide_value * 0.5)
