"""How far a target may be from the NumPy meaning of an operation, as numbers; docs/numerics.md explains them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import DType
from pypto.ir.operations.table import TABLE

Array = NDArray[Any]

# c in the bound of sums: chains of at most 32 additions, then compensated totals and trees, stay below it.
SUM_FACTOR = 4.0

_SIGNIFICAND_BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


def epsilon(dtype: DType) -> float:
    """Return the distance from 1 to the next number of a float dtype."""
    return 2.0 ** (1 - _SIGNIFICAND_BITS[dtype.name])


def error_bound(name: str, dtype: DType) -> float | None:
    """Return an operation's bound in units in the last place: 0 when exact, None when it depends on the operands
    (sums, products of matrices).

    f32 and f64 have the same bounds; integers and bool are exact. Raises KeyError for a name that the table lacks.
    """
    bound = TABLE[name].error_bound
    if bound == "exact" or not dtype.is_float:
        return 0.0
    return float(bound.removesuffix(" ulp")) if bound.endswith(" ulp") else None


def sum_bound(magnitude: Array, count: int, dtype: DType) -> Array:
    """Return the absolute bound of a sum of `count` numbers, `magnitude` being the sum of their |x|.

    With the mean of |x| it is the bound of a mean, but for its division (0.5 ulp).
    """
    steps = np.log2(max(count, 2))
    return np.asarray(SUM_FACTOR * epsilon(dtype) * np.asarray(magnitude, np.float64) * steps)


def product_bound(magnitude: Array, count: int, dtype: DType) -> Array:
    """Return the absolute bound of a sum of `count` products, `magnitude` being the sum of their absolute values."""
    return np.asarray((count + 1) * epsilon(dtype) * np.asarray(magnitude, np.float64))


def ulp_distance(result: Array, exact: Array) -> Array:
    """Return |result - exact| in units in the last place of the exact value rounded to the result's float type.

    `exact` has more precision than `result` (float64 for float32, longdouble for float64). 0 where both are NaN or
    the same infinity, inf where only one is. Below the smallest normal number the unit is the smallest subnormal.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(result.dtype)
        largest = np.asarray(np.finfo(result.dtype).max, result.dtype)
        unit = np.abs(np.spacing(np.minimum(np.abs(rounded), largest))).astype(exact.dtype)
        distance = np.abs(result.astype(exact.dtype) - exact) / unit
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    special = ~np.isfinite(result) | ~np.isfinite(rounded)
    return np.asarray(np.where(special, np.where(same, 0.0, np.inf), distance))
