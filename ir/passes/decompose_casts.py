"""Casts: the vector core converts f32 to and from f16, bf16, i32 and i16, and f16 to and from i8, u8 and bool bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.ir.dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Value
from pypto.ir.passes.decompose_integers import as_number, fit, is_nonzero

if TYPE_CHECKING:
    from pypto.ir.passes.decompose import Decomposer

LIMITS: dict[DType, tuple[int, int]] = {I8: (-128, 127), U8: (0, 255), I16: (-32768, 32767)}


def chain(rewriter: Decomposer, value: Value, *dtypes: DType) -> Value:
    """Return `value` cast to each of `dtypes` in turn."""
    for dtype in dtypes:
        if value.dtype != dtype:
            value = rewriter.call("cast", value, dtype=dtype)
    return value


def from_memory(rewriter: Decomposer, value: Value) -> Value:
    """Return a loaded value in the type that it is computed in; narrow floats wait for the cast that follows."""
    if value.dtype in (I8, U8):
        return chain(rewriter, value, F16, F32, I32)
    if value.dtype == I16:
        return chain(rewriter, value, F32, I32)
    if value.dtype == BOOL:
        return is_nonzero(rewriter, chain(rewriter, value, F16, F32))
    return value


def to_memory(rewriter: Decomposer, value: Value, dtype: DType) -> Value:
    """Return a computed value in the type `dtype` that it is stored in."""
    if dtype in (I8, U8):
        return chain(rewriter, value, F32, F16, dtype)
    if dtype == I16:
        return chain(rewriter, value, F32, I16)
    if dtype == BOOL:
        return chain(rewriter, as_number(rewriter, value, F32), F16, BOOL)
    return value


def cast(rewriter: Decomposer, value: Value, before: DType, target: DType) -> Value:
    """Return `value`, of type `before` in the source, cast to `target` (a narrow integer: as i32 in its range)."""
    if F64 in (before, target) or (not rewriter.in_register(value) and I64 in (before, target)):
        rewriter.check(Value(value.name, value.type), "cast")
        rewriter.check(rewriter_result(value, target), "cast")
    if target == BOOL:
        return is_nonzero(rewriter, chain(rewriter, value, F32) if before.is_narrow_float else value)
    if before == BOOL:
        return chain(rewriter, as_number(rewriter, value, F32), target if target not in LIMITS else I32)
    if before.is_narrow_float and target != F32:
        value = chain(rewriter, value, F32)
    if target in LIMITS:
        return _to_narrow(rewriter, value, target)
    if target.is_narrow_float:
        return chain(rewriter, value, F32, target)
    return chain(rewriter, value, target)


def rewriter_result(value: Value, target: DType) -> Value:
    return Value(value.name, type(value.type)(target, value.shape))


def _to_narrow(rewriter: Decomposer, value: Value, target: DType) -> Value:
    if not value.dtype.is_float:
        return fit(rewriter, chain(rewriter, value, I32), target)
    low, high = (rewriter.call("constant", dtype=I32, value=limit) for limit in LIMITS[target])
    whole = rewriter.call("maximum", chain(rewriter, value, I32), low)
    return rewriter.call("minimum", whole, high)
