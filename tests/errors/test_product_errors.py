"""Text and place of mistakes with matrix products, convolution and attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto
from pypto import tile
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import F32
from pypto.ir.index import Symbol
from pypto.ir.nodes import TileType
from pypto.ir.operations.contraction_rules import convolution
from pypto.ir.operations.definition import RuleViolation


def caught(kernel: Any, *shapes: tuple[int, ...]) -> UserError:
    arguments = [np.ones(shape, np.float32) for shape in shapes]
    reports = []
    for target in ("reference", "eager"):
        with pytest.raises(UserError) as failure:
            pypto.compile(kernel, target=target).execute(*arguments)
        reports.append(failure.value)
    assert reports[0].name == reports[1].name
    return reports[0]


def check(error: UserError, name: str, line: str, *texts: str) -> None:
    report = str(error)
    assert error.name == name
    assert line in report
    for text in texts:
        assert text in report, report


def test_matmul_shapes() -> None:
    @tile
    def kernel(x, y, out):
        out[:] = x @ y

    error = caught(kernel, (4, 6), (4, 6), (4, 6))
    check(error, "matmul-shapes", "out[:] = x @ y", "shapes (4, 6) and (4, 6)", "x.T")


def test_matmul_of_a_number() -> None:
    @tile
    def kernel(x, out):
        out[:] = x @ pypto.sum(x)

    check(caught(kernel, (4, 6), (4, 6)), "matmul-scalar", "x @ pypto.sum(x)", "(4, 6) and ()", "use `*`")


def test_dot_of_three_axes() -> None:
    @tile
    def kernel(x, y, out):
        out[:] = x.dot(y)

    check(caught(kernel, (2, 3, 4), (4, 5), (2, 3, 5)), "dot-rank", "x.dot(y)", "3 and 2 axes", "pypto.matmul")


def test_unknown_dtype_of_a_product() -> None:
    @tile
    def kernel(x, y, out):
        out[:] = pypto.matmul(x, y, out_dtype="float33")

    check(caught(kernel, (4, 4), (4, 4), (4, 4)), "no-such-dtype", "float33", "float32")


@pytest.mark.parametrize(("options", "text"), [
    ({"stride": 0}, "stride=0"), ({"dilation": (1, 2, 3)}, "dilation=(1, 2, 3)"), ({"padding": -1}, "padding=-1"),
    ({"groups": 2}, "3 channels, 4 outputs and groups=2"), ({"padding": "same", "stride": 2}, 'padding="same"'),
])  # fmt: skip
def test_convolution_arguments(options: dict[str, Any], text: str) -> None:
    @tile
    def kernel(x, w, out):
        out[:] = pypto.nn.conv2d(x, w, **options)

    check(caught(kernel, (1, 3, 6, 6), (4, 3, 3, 3), (1, 4, 4, 4)), "conv-arguments", "pypto.nn.conv2d", text, "groups")


def test_convolution_ranks_and_shapes() -> None:
    @tile
    def kernel(x, w, out):
        out[:] = pypto.nn.conv2d(x, w)

    check(caught(kernel, (3, 3), (4, 3, 3, 3), (4, 4)), "conv-arguments", "pypto.nn.conv2d", "an image of rank 2")
    error = caught(kernel, (1, 3, 6, 6), (4, 2, 3, 3), (1, 4, 4, 4))
    check(error, "convolution-shapes", "pypto.nn.conv2d", "(1, 3, 6, 6)", "(4, 2, 3, 3)")
    error = caught(kernel, (1, 3, 2, 6), (4, 3, 3, 3), (1, 4, 1, 4))
    check(error, "convolution-window", "pypto.nn.conv2d", "3 elements of an axis of 2", "pad")


def test_convolution_of_unknown_extents() -> None:
    with pytest.raises(RuleViolation) as caught_violation:
        convolution(
            (TileType(F32, (3, Symbol("h"), 8)), TileType(F32, (4, 3, 3, 3))), {"stride": (1, 1), "dilation": (1, 1)}
        )
    assert caught_violation.value.name == "convolution-extents"
    assert "not %h and 3" in str(UserError("convolution-extents", None, **caught_violation.value.details))


def test_attention_shapes_and_masks() -> None:
    @tile
    def kernel(q, k, v, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v)

    @tile
    def masked(q, k, v, m, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, m)

    error = caught(kernel, (5, 8), (7, 9), (7, 3), (5, 3))
    check(error, "attention-shapes", "scaled_dot_product_attention", "query (5, 8)", "key (7, 9)")
    error = caught(masked, (5, 8), (7, 8), (7, 3), (5, 6), (5, 3))
    check(error, "attention-mask", "scaled_dot_product_attention", "shape (5, 6)", "(5, 7)")


def test_attention_arguments() -> None:
    @tile
    def both(q, k, v, m, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, m, is_causal=True)

    @tile
    def heads(q, k, v, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    @tile
    def flat(q, k, v, out):
        out[:] = pypto.nn.scaled_dot_product_attention(q, k, v)

    error = caught(both, (5, 8), (7, 8), (7, 3), (5, 7), (5, 3))
    check(error, "attention-arguments", "is_causal=True", "attn_mask together with is_causal")
    error = caught(heads, (5, 4, 8), (2, 7, 8), (2, 7, 3), (5, 4, 3))
    check(error, "attention-arguments", "enable_gqa", "5 query heads and 2 key heads")
    check(caught(flat, (8,), (7, 8), (7, 3), (3,)), "attention-arguments", "less than two axes")
