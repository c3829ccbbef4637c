"""Element types and their promotion.

Promotion is torch's: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import ml_dtypes
import numpy as np

Kind = Literal["bool", "unsigned", "signed", "float"]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: PTO name, long name (NumPy's and torch's), size in bits and kind."""

    name: str
    long_name: str
    bits: int
    kind: Kind
    numpy: np.dtype[Any] = field(compare=False, repr=False)

    @property
    def bytes(self) -> int:
        """Size of one element in memory, in bytes (bool takes one)."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def is_narrow_float(self) -> bool:
        """True for f16 and bf16, which are storage types only: inside a kernel their values are f32."""
        return self.kind == "float" and self.bits == 16

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest finite number; of integers exactly."""
        if self.kind == "bool":
            return 0, 1
        if self.is_integer:
            unsigned = self.kind == "unsigned"
            return (0, 2**self.bits - 1) if unsigned else (-(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1)
        largest = float(ml_dtypes.finfo(self.numpy).max)  # type: ignore[no-untyped-call]  # it has no stubs
        return -largest, largest

    def holds(self, value: float) -> bool:
        """Return whether `value` is within the limits once it is rounded; infinities and NaN are, for floats."""
        if self.is_float:
            with np.errstate(over="ignore"):
                return not math.isfinite(value) or bool(np.isfinite(np.float64(value).astype(self.numpy)))
        least, largest = self.limits
        return least <= value <= largest

    def __str__(self) -> str:
        return self.name


F64 = DType("f64", "float64", 64, "float", np.dtype(np.float64))
F32 = DType("f32", "float32", 32, "float", np.dtype(np.float32))
F16 = DType("f16", "float16", 16, "float", np.dtype(np.float16))
BF16 = DType("bf16", "bfloat16", 16, "float", np.dtype(ml_dtypes.bfloat16))
I64 = DType("i64", "int64", 64, "signed", np.dtype(np.int64))
I32 = DType("i32", "int32", 32, "signed", np.dtype(np.int32))
I16 = DType("i16", "int16", 16, "signed", np.dtype(np.int16))
I8 = DType("i8", "int8", 8, "signed", np.dtype(np.int8))
U8 = DType("u8", "uint8", 8, "unsigned", np.dtype(np.uint8))
BOOL = DType("bool", "bool", 1, "bool", np.dtype(np.bool_))

ALL: tuple[DType, ...] = (F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL)
BY_NAME: dict[str, DType] = {name: dtype for dtype in ALL for name in (dtype.name, dtype.long_name)}
BY_NUMPY: dict[np.dtype[Any], DType] = {dtype.numpy: dtype for dtype in ALL}

_SIGNED_ORDER = (I8, I16, I32, I64)


def find(spelling: object) -> DType | None:
    """Return the DType that a name, a NumPy dtype or type, a torch dtype or Python's bool, int, float stands for."""
    if isinstance(spelling, DType):
        return spelling
    python: dict[object, DType] = {bool: BOOL, int: I64, float: F32}
    if spelling in python:
        return python[spelling]
    if isinstance(spelling, str):
        return BY_NAME.get(spelling)
    text = str(spelling)
    if text.startswith("torch."):
        return BY_NAME.get(text[6:])
    try:
        return BY_NUMPY.get(np.dtype(spelling))  # type: ignore[call-overload]  # anything may be asked for
    except TypeError:
        return None


def promote(left: DType, right: DType) -> DType:
    """Return the common type of two tiles, as torch does for two tensors of dimension one or more."""
    if left == right:
        return left
    if left.kind == "bool":
        return right
    if right.kind == "bool":
        return left
    if left.is_float or right.is_float:
        return _promote_floats(left, right)
    return _promote_integers(left, right)


def _promote_floats(left: DType, right: DType) -> DType:
    if not (left.is_float and right.is_float):
        return left if left.is_float else right
    if left.bits == right.bits:  # f16 with bf16
        return F32
    return left if left.bits > right.bits else right


def _promote_integers(left: DType, right: DType) -> DType:
    if left.kind == right.kind:
        return left if left.bits >= right.bits else right
    unsigned, signed = (left, right) if left.kind == "unsigned" else (right, left)
    wide_enough = [item for item in _SIGNED_ORDER if item.bits > unsigned.bits and item.bits >= signed.bits]
    return wide_enough[0]


def compute_type(dtype: DType) -> DType:
    """Return the type in which values of `dtype` live inside a kernel: f32 for f16 and bf16, else itself."""
    return F32 if dtype.is_narrow_float else dtype
