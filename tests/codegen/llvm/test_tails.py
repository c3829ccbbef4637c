"""A tail writes its own elements and nothing beside them, whatever the dtype and the number of elements left."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto.ir import dtypes
from pypto.ir.dtypes import DType


@pypto.tile
def later_first(x, out):
    half = x * 0.5
    out[3:] = half[3:]
    out[:3] = half[:3]


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_a_tail_leaves_its_neighbours_alone(dtype: DType, bits: int) -> None:
    for columns in range(1, 36):
        x = np.arange(2, 2 + 5 * columns).reshape(5, columns).astype(np.float32)
        out = np.zeros((5, columns), dtype.numpy)
        with pypto.settings(vector_bits=bits):
            pypto.compile(later_first).execute(x, out)
        np.testing.assert_array_equal(out, (x * np.float32(0.5)).astype(dtype.numpy))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float16", "bfloat16", "bool"])
def test_the_element_after_a_row_survives(dtype: str) -> None:
    """The rows of a strided output are apart; what lies between them belongs to the caller."""

    @pypto.tile
    def narrow(x, out):
        out[:] = pypto.cast(x, dtype)

    found = dtypes.find(dtype)
    assert found is not None
    for columns in (1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65):
        x = np.ones((4, columns), np.float32)
        memory = np.full((4, columns + 3), 5).astype(found.numpy)
        before = memory[:, columns:].copy()
        pypto.compile(narrow).execute(x, memory[:, :columns])
        np.testing.assert_array_equal(memory[:, columns:], before)
        np.testing.assert_array_equal(memory[:, :columns].astype(np.float32), x)


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
@pytest.mark.parametrize("source", ["float64", "float32", "int64", "int32", "uint8", "bool"])
def test_one_element_is_narrowed_like_many(source: str, target: str) -> None:
    """A chain of conversions of one scalar must not become a call that no library has."""

    @pypto.tile
    def narrow(x, out):
        out[:] = pypto.tanh(x) if source.startswith("float") else x

    to, of = dtypes.find(target), dtypes.find(source)
    assert to is not None
    assert of is not None
    many, one = np.zeros(70, to.numpy), np.zeros(1, to.numpy)
    x = np.full(70, 0.7).astype(of.numpy)
    pypto.compile(narrow).execute(x, many)
    pypto.compile(narrow).execute(x[:1], one)
    np.testing.assert_array_equal(many, np.broadcast_to(one, (70,)))


def test_a_reshape_of_nothing() -> None:
    @pypto.tile
    def mean(x, out):
        out[:] = pypto.mean(pypto.reshape(x, (0,)), axis=0, keepdims=True)

    for shape in ((0, 4), (4, 0), (2, 0, 3)):
        out = np.zeros(1, np.float32)
        pypto.compile(mean).execute(np.zeros(shape, np.float32), out)
        assert np.isnan(out[0])
