"""Comparing arrays with the reference: the fast look never passes what the bounds do not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pypto.ir.comparison import difference

SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e38, 3.4e38, np.inf, -np.inf, np.nan, 65504.0, 1e-30]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("relative", "absolute"), [(1e-6, 0.0), (1e-3, 1e-3), (1e-7, 1e-40), (0.5, 1e300)])
def test_the_verdict_is_that_of_the_bounds(dtype: type, relative: float, absolute: float) -> None:
    with np.errstate(over="ignore"):
        numbers = np.array(SPECIAL).astype(dtype)
    left, right = (item.ravel() for item in np.meshgrid(numbers, numbers))
    for got, wanted in zip(left, right, strict=True):
        first, second = float(got), float(wanted)
        same = first == second or (np.isnan(first) and np.isnan(second))
        with np.errstate(all="ignore"):
            near = same or abs(first - second) <= absolute + relative * (abs(second) if np.isfinite(second) else 0.0)
        found = difference("x", np.array([got]), np.array([wanted]), relative, absolute)
        assert (found is None) == bool(near), (got, wanted)


@pytest.mark.parametrize("share", [0.4, 0.6, 0.99, 1.01, 2.0])
def test_elements_near_the_bound(share: float) -> None:
    wanted = np.linspace(1.0, 2.0, 1000)
    got = wanted * (1 + share * 1e-6)
    assert (difference("x", got, wanted, 1e-6, 0.0) is None) == (share < 1)


def test_the_sentence_has_element_got_expected_bound_and_count() -> None:
    wanted = np.ones((3, 4), np.float32)
    got = wanted.copy()
    got[1, 2] = got[2, 0] = 1.5
    assert difference("out", got, wanted, 1e-3, 0.0) == (
        "out[1, 2] is 1.5, the reference gives 1.0 and they must agree within 0.001; 2 of 12 elements differ"
    )
    assert "exactly" in str(difference("n", np.array([3]), np.array([4]), 0.0, 0.0))


def test_empty_arrays_agree() -> None:
    assert difference("x", np.empty((0, 3), np.float32), np.empty((0, 3), np.float32), 1e-6, 0.0) is None
