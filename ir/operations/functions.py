"""NumPy meanings of the elementwise functions.

Functions of f32 go through float64, so that the reference is the correctly rounded value up to rare double rounding;
f64 functions are NumPy's or the C library's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.operations.meanings import quiet

Array = NDArray[Any]


def through_double(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute in float64 and round once to the operands' dtype."""

    def wrapped(*operands: Array) -> Array:
        wide = (np.asarray(operand, np.float64) for operand in operands)
        return np.asarray(function(*wide)).astype(operands[0].dtype)

    return quiet(wrapped)


_erf, _erfc = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)


def erf(x: Array) -> Array:
    return np.asarray(_erf(x)).astype(np.float64)


def erfc(x: Array) -> Array:
    return np.asarray(_erfc(x)).astype(np.float64)


def sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(np.isnan(x), x, np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small)))


def rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


def reciprocal(x: Array) -> Array:
    return 1.0 / x


@quiet
def truncated_remainder(x: Array, y: Array) -> Array:
    return np.fmod(x, y)


@quiet
def power(x: Array, y: Array) -> Array:
    if x.dtype == np.float32:
        return np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    if x.dtype.kind == "i":
        return _power_of_signed(x, y)
    return np.power(x, y)


def _power_of_signed(x: Array, y: Array) -> Array:
    """Negative powers leave 1 of 1, a sign of -1 and 0 of the rest, as torch's; NumPy refuses them."""
    sign = np.where(y & 1, -1, 1)
    inverse = np.where(x == 1, 1, np.where(x == -1, sign, 0))
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(x.dtype)


@quiet
def greatest_common_divisor(x: Array, y: Array) -> Array:
    return np.gcd(x, y)


def shift_left(x: Array, y: Array) -> Array:
    return np.left_shift(x, y)


def shift_right(x: Array, y: Array) -> Array:
    return np.right_shift(x, y)
