"""cast: every element type to every other."""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.codegen.llvm.rules.context import Context
from pypto.codegen.llvm.rules.narrow import narrow, widen
from pypto.codegen.llvm.rules.representation import element
from pypto.ir.dtypes import F32, DType


def cast(context: Context) -> Register:
    return convert(context.builder, context.x, context.dtype, context.result_dtype)


def convert(builder: FunctionBuilder, x: Register, source: DType, target: DType) -> Register:
    """Convert as `ir.operations.meanings.cast` does. f16 and bf16 go through f32 on either side."""
    if source == target:
        return x
    if source.is_narrow_float:
        return convert(builder, widen(builder, x), F32, target)
    if target.is_narrow_float:
        return narrow(builder, convert(builder, x, source, F32), element(target))
    if target.kind == "bool":
        return _to_bool(builder, x, source)
    if source.is_float:
        return _from_float(builder, x, source, target)
    return _from_integer(builder, x, source, target)


def _to_bool(builder: FunctionBuilder, x: Register, source: DType) -> Register:
    """True for everything but zeros; for NaN too."""
    return builder.compare("fcmp une" if source.is_float else "icmp ne", x, constant(0, x.element, x.lanes))


def _from_float(builder: FunctionBuilder, x: Register, source: DType, target: DType) -> Register:
    if target.is_float:
        return builder.convert("fpext" if target.bits > source.bits else "fptrunc", x, element(target))
    return _to_integer(builder, x, target)


def _to_integer(builder: FunctionBuilder, x: Register, target: DType) -> Register:
    """Toward zero, saturated; NaN gives 0."""
    kind, name = ("fptosi" if target.kind == "signed" else "fptoui"), element(target)
    vector = "" if x.lanes == 1 else f"v{x.lanes}"
    suffix = f"{vector}{name}.{vector}{'f32' if x.element == 'float' else 'f64'}"
    return builder.call(f"llvm.{kind}.sat.{suffix}", (x,), name, x.lanes)


def _from_integer(builder: FunctionBuilder, x: Register, source: DType, target: DType) -> Register:
    """bool is 0 or 1; integers wrap; to floats the nearest, ties to even."""
    signed = source.kind == "signed"
    if target.is_float:
        return builder.convert("sitofp" if signed else "uitofp", x, element(target))
    if target.bits == source.bits:
        return x
    if target.bits < source.bits:
        return builder.convert("trunc", x, element(target))
    return builder.convert("sext" if signed else "zext", x, element(target))
