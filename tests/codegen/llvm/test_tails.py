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
