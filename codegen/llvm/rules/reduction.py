"""How partial results of a reduction start and combine."""

from __future__ import annotations

import math

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.rules.dispatch import elementwise
from pypto.ir.dtypes import DType

_COMBINING = {
    "sum": "add", "mean": "add", "max": "maximum", "min": "minimum", "prod": "mul", "any": "or", "all": "and"
}  # fmt: skip
_NEUTRAL: dict[str, float | int | bool] = {"prod": 1, "any": False, "all": True}


def reduction_identity(operation: str, dtype: DType) -> float | int | bool:
    """Return the number that changes no partial result of a reduction over values of `dtype`.

    Sums start from +0, as NumPy's: a sum of minus zeros is +0. Raises KeyError for another operation.
    """
    if operation in _NEUTRAL:
        return float(_NEUTRAL[operation]) if dtype.is_float else _NEUTRAL[operation]
    if _COMBINING[operation] == "add":
        return 0.0 if dtype.is_float else 0
    largest = operation == "min"
    if dtype.is_float:
        return math.inf if largest else -math.inf
    if dtype.kind == "bool":
        return largest
    if dtype.kind == "unsigned":
        return (1 << dtype.bits) - 1 if largest else 0
    return (1 << (dtype.bits - 1)) - 1 if largest else -(1 << (dtype.bits - 1))


def combine(builder: FunctionBuilder, operation: str, dtype: DType, left: Register, right: Register) -> Register:
    """Join two partial results of a reduction; NaN wins in max and min."""
    return elementwise(builder, _COMBINING[operation], (left, right), (dtype, dtype), dtype, {})
