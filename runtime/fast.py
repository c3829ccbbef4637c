"""Building the record of a native fast call (the structures of launch.ll) from arguments seen once."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pypto.ir.dtypes import BOOL, F32, F64, I64, DType
from pypto.runtime.arguments import Argument, ArrayArgument, ConstantArgument, ScalarArgument
from pypto.runtime.native import native, torch_ready

if TYPE_CHECKING:
    from pypto.runtime.launcher import Expected, Fast, Frame

_NUMPY, _TORCH, _FLOAT, _INT, _BOOL, _CONSTANT = range(6)
_ALIGNED, _WRITEABLE = 0x100, 0x400  # NumPy's array flags
_ANY_STRIDE = -(1 << 63)
_DLPACK_CODES = {"signed": 0, "unsigned": 1, "float": 2, "bool": 6}
_DLPACK_BFLOAT = 4
# Scalars that the native code converts: Python type and slot dtype give kind and format.
_SCALARS = {(float, F32): (_FLOAT, 0), (float, F64): (_FLOAT, 1), (int, I64): (_INT, 2), (bool, BOOL): (_BOOL, 0)}


class _Argument(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("type", ctypes.c_uint64),
        ("dtype", ctypes.c_uint64),
        ("flags", ctypes.c_int32),
        ("written", ctypes.c_int32),
        ("pairs", ctypes.c_uint64),
        ("slot", ctypes.c_uint64),
        ("low", ctypes.c_int64),
        ("high", ctypes.c_int64),
        ("start", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("format", ctypes.c_int32),
        ("negative", ctypes.c_int32),
    ]


class _Pair(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("first", "second", "may_share", "unused")]


class _Launch(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("call", "count", "arguments", "pair_count", "pairs")]


class _Record:
    """Everything that a fast function points to; it lives as long as the function."""

    def __init__(self, frame: Frame, count: int, pairs: list[_Pair]) -> None:
        self.frame = frame
        self.arguments = (_Argument * count)()
        self.pairs = (_Pair * len(pairs))(*pairs)
        self.launch = _Launch(
            frame.address, count, ctypes.addressof(self.arguments), len(pairs), ctypes.addressof(self.pairs)
        )
        self.kept: list[object] = []

    def keep(self, value: object) -> int:
        """Keep an object alive and return its address."""
        self.kept.append(value)
        return id(value)

    def keep_numbers(self, numbers: list[int]) -> int:
        """Keep 64-bit numbers and return their address."""
        array = (ctypes.c_int64 * len(numbers))(*numbers)
        self.kept.append(array)
        return ctypes.addressof(array)


def fast_function(expected: Expected, frame: Frame, scalars: Mapping[str, DType]) -> Fast | None:
    """Return the native function for arguments like the expected ones, or None where only the general path can
    read them.
    """
    record = _Record(frame, len(expected.arguments), list(_pairs(expected)))
    for argument, entry in zip(expected.arguments, record.arguments, strict=True):
        entry.slot = frame.place(argument.name)
        entry.written = argument.name in expected.written
        if not _describe(argument, entry, record, scalars):
            return None
    return native().fast_function(ctypes.addressof(record.launch), record)


def _describe(argument: Argument, entry: _Argument, record: _Record, scalars: Mapping[str, DType]) -> bool:
    """Fill one entry; False when the native code cannot check such an argument."""
    if isinstance(argument, ConstantArgument):
        entry.kind = _CONSTANT
        entry.type, entry.dtype = record.keep(type(argument.value)), record.keep(argument.value)
        return True
    if isinstance(argument, ScalarArgument):
        return _describe_scalar(argument, entry, scalars)
    if argument.framework == "torch":
        return _describe_torch(argument, entry, record)
    return _describe_numpy(argument, entry, record)


def _describe_scalar(argument: ScalarArgument, entry: _Argument, scalars: Mapping[str, DType]) -> bool:
    kind = type(argument.value)
    known = _SCALARS.get((kind, scalars.get(argument.name, argument.dtype)))
    if known is None or not argument.python:
        return False
    entry.kind, entry.format = known
    entry.type = id(kind)  # bool, int and float are never freed
    return True


def _describe_numpy(argument: ArrayArgument, entry: _Argument, record: _Record) -> bool:
    if type(argument.value) is not np.ndarray:
        return False
    entry.kind, entry.type, entry.dtype = _NUMPY, id(np.ndarray), record.keep(argument.value.dtype)
    entry.flags = _ALIGNED | (_WRITEABLE if entry.written else 0)
    _describe_layout(argument, entry, record, argument.dtype.bytes)
    return True


def _describe_torch(argument: ArrayArgument, entry: _Argument, record: _Record) -> bool:
    torch: Any = sys.modules.get("torch")
    if type(argument.value) not in (torch.Tensor, torch.nn.Parameter) or not torch_ready():
        return False
    entry.kind, entry.type, entry.dtype = _TORCH, record.keep(type(argument.value)), _dlpack_dtype(argument.dtype)
    # A negated view is one of complex numbers' imaginary parts, so its strides are even.
    strides = [stride for stride, extent in zip(argument.strides, argument.shape, strict=True) if extent > 1]
    entry.negative = all(stride % 2 == 0 for stride in strides)
    _describe_layout(argument, entry, record, 1)
    return True


def _dlpack_dtype(dtype: DType) -> int:
    code = _DLPACK_BFLOAT if dtype.name == "bf16" else _DLPACK_CODES[dtype.kind]
    return code | (dtype.bytes * 8) << 8 | 1 << 16


def _describe_layout(argument: ArrayArgument, entry: _Argument, record: _Record, unit: int) -> None:
    """Fill rank, extents and strides (in elements times `unit`) and the range of bytes."""
    entry.rank = len(argument.shape)
    empty = argument.elements == 0
    numbers: list[int] = []
    for extent, stride in zip(argument.shape, argument.strides, strict=True):
        numbers += [extent, _ANY_STRIDE if empty or extent == 1 else stride * unit]
    entry.pairs = record.keep_numbers(numbers)
    entry.low, entry.high = argument.byte_range()


def _pairs(expected: Expected) -> Iterator[_Pair]:
    """Yield the pairs of arguments that must be apart: each output with every other array, once; arrays without
    elements share nothing.
    """
    arrays = [
        (index, argument)
        for index, argument in enumerate(expected.arguments)
        if isinstance(argument, ArrayArgument) and argument.elements > 0
    ]
    for index, output in arrays:
        if output.name not in expected.written:
            continue
        for other_index, other in arrays:
            twice = other.name in expected.written and other_index <= index
            if other_index != index and not twice:
                same = (output.dtype, output.shape, output.strides) == (other.dtype, other.shape, other.strides)
                yield _Pair(index, other_index, same and (output.name, other.name) in expected.may_share, 0)
