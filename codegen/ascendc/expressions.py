"""Numbers, types and index expressions as C++."""

from __future__ import annotations

import math
import struct

import numpy as np

from pypto.ir.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Pipe

CPP_TYPES: dict[DType, str] = {
    F64: "double",
    F32: "float",
    F16: "half",
    BF16: "bfloat16_t",
    I64: "int64_t",
    I32: "int32_t",
    I16: "int16_t",
    I8: "int8_t",
    U8: "uint8_t",
    BOOL: "uint8_t",
}
"""Element types in memory (f64 only of arrays that a kernel does not touch). A boolean in a register is a C++ bool."""


def register_type(dtype: DType) -> str:
    return "bool" if dtype == BOOL else CPP_TYPES[dtype]


def literal(value: object, dtype: DType) -> str:
    """Return a number of `dtype` as C++; infinities and NaN by their bits."""
    if dtype == BOOL:
        return "true" if value else "false"
    if dtype.is_float:
        text = float_literal(float(value))  # type: ignore[arg-type]  # a number by the verifier
        return text if dtype == F32 else f"static_cast<{CPP_TYPES[dtype]}>({text})"
    number = int(value)  # type: ignore[call-overload]  # a number by the verifier
    if dtype == I64:
        return f"({number + 1}LL - 1)" if number == -(2**63) else f"{number}LL"
    return f"({number + 1} - 1)" if number == -(2**31) else str(number)


def float_literal(value: float) -> str:
    """Return an f32 with the fewest digits that read back to the same number."""
    narrow = np.float32(value)
    if not math.isfinite(narrow):
        (bits,) = struct.unpack("<I", struct.pack("<f", narrow))
        return f"FloatFromBits(0x{bits:08x}u)"
    text = str(narrow)
    return f"{text}f" if any(mark in text for mark in ".e") else f"{text}.0f"


def hard_event(source: str, destination: str) -> str:
    return f"AscendC::HardEvent::{Pipe(source).value}_{Pipe(destination).value}"
