"""How element types look in registers and in memory."""

from __future__ import annotations

import numpy as np

from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.ir.dtypes import DType

_FLOATS = {"f64": "double", "f32": "float", "f16": "half", "bf16": "bfloat"}


def element(dtype: DType) -> str:
    """Return the LLVM type of one lane in a register: ``i1`` for bool, ``half`` for f16, ``bfloat`` for bf16."""
    return _FLOATS.get(dtype.name) or f"i{dtype.bits}"


def memory_element(dtype: DType) -> str:
    """Return the LLVM type of one element in memory: as in registers, but a bool takes a byte.

    f16 and bf16 are loaded and stored as i16: LLVM cannot select masked accesses to vectors of ``bfloat`` everywhere.
    """
    if dtype.kind == "bool":
        return "i8"
    return "i16" if dtype.is_narrow_float else element(dtype)


def memory_number(value: float | int | bool, dtype: DType) -> float | int | bool:
    """Return a constant as a number of `memory_element`: the bit pattern of an f16 or bf16."""
    if not dtype.is_narrow_float:
        return value
    return int(np.asarray(value).astype(dtype.numpy).view(np.uint16))


def from_memory(builder: FunctionBuilder, value: Register, dtype: DType) -> Register:
    """Turn a loaded value into its register form; every byte but 0 is a true bool."""
    if dtype.is_narrow_float:
        return builder.convert("bitcast", value, element(dtype))
    if dtype.kind != "bool":
        return value
    return builder.compare("icmp ne", value, constant(0, "i8", value.lanes))


def to_memory(builder: FunctionBuilder, value: Register, dtype: DType) -> Register:
    """Turn a register into the value to store; a bool becomes the byte 0 or 1."""
    if dtype.is_narrow_float:
        return builder.convert("bitcast", value, "i16")
    return builder.convert("zext", value, "i8") if dtype.kind == "bool" else value
