"""How element types look in registers and in memory."""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.ir.dtypes import DType

_FLOATS = {"f64": "double", "f32": "float", "f16": "half", "bf16": "bfloat"}


def element(dtype: DType) -> str:
    """Return the LLVM type of one lane in a register: ``i1`` for bool, ``half`` for f16, ``bfloat`` for bf16."""
    return _FLOATS.get(dtype.name) or f"i{dtype.bits}"


def memory_element(dtype: DType) -> str:
    """Return the LLVM type of one element in memory: as in registers, but a bool takes a byte."""
    return "i8" if dtype.kind == "bool" else element(dtype)


def from_memory(builder: FunctionBuilder, value: Register, dtype: DType) -> Register:
    """Turn a loaded value into its register form; every byte but 0 is a true bool."""
    if dtype.kind != "bool":
        return value
    return builder.compare("icmp ne", value, constant(0, "i8", value.lanes))


def to_memory(builder: FunctionBuilder, value: Register, dtype: DType) -> Register:
    """Turn a register into the value to store; a bool becomes the byte 0 or 1."""
    return builder.convert("zext", value, "i8") if dtype.kind == "bool" else value
