"""Arguments of a launch: NumPy arrays, torch CPU tensors and numbers, read without copying, and what is wrong with
them.

Nothing is written before every check here has passed. Overlap between arguments is decided in overlap.py.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from pypto.codegen.llvm.code import Layout
from pypto.ir import dtypes
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.dtypes import DType

Framework = Literal["numpy", "torch"]
Number = bool | int | float


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array as it lies in memory: `strides` in elements, `address` of element (0, ..., 0) in bytes.

    Strides of axes with one element, and all strides of an array without elements, are those of a contiguous array:
    they say nothing, and equal layouts should compare equal.
    """

    name: str
    value: Any = field(repr=False, compare=False)
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int = field(compare=False)
    readonly: bool
    framework: Framework

    @property
    def layout(self) -> Layout:
        return Layout(self.strides)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def signature(self) -> tuple[object, ...]:
        """Return all that two calls of one specialisation have in common, as a key."""
        return self.name, self.framework, self.dtype, self.shape, self.strides

    def byte_range(self) -> tuple[int, int]:
        """Return the lowest offset from `address` and the offset behind the highest byte touched; (0, 0) without
        elements.
        """
        if self.elements == 0:
            return 0, 0
        reach = [stride * (extent - 1) for stride, extent in zip(self.strides, self.shape, strict=True)]
        low = sum(min(0, item) for item in reach)
        high = sum(max(0, item) for item in reach) + 1
        return low * self.dtype.bytes, high * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number and the dtype that its type stands for (Python's int is i64, float f32, bool bool; NumPy scalars
    their own).
    """

    name: str
    value: Number
    dtype: DType
    python: bool = True
    """Whether it is a Python number, not a NumPy scalar."""

    @property
    def signature(self) -> tuple[object, ...]:
        return self.name, self.dtype, self.python

    def pack(self, dtype: DType, location: Location | None = None) -> bytes:
        """Return the eight bytes of a slot that hold the number as `dtype`; raises UserError ``scalar-range``."""
        return pack_scalar(self.name, self.value, dtype, location)


@dataclass(frozen=True, slots=True)
class ConstantArgument:
    """A value that is part of the signature and never reaches the machine code."""

    name: str
    value: object

    @property
    def signature(self) -> tuple[object, ...]:
        # repr tells -0.0 from 0.0, which are equal
        detail = repr(self.value) if isinstance(self.value, float | tuple) else ""
        return self.name, type(self.value), self.value, detail


# IEEE 754 and bfloat16: (2 - 2**-fraction bits) * 2**largest exponent
_LARGEST = {
    "f64": sys.float_info.max,
    "f32": (2 - 2.0**-23) * 2.0**127,
    "bf16": (2 - 2.0**-7) * 2.0**127,
    "f16": 65504.0,
}

Argument = ArrayArgument | ScalarArgument | ConstantArgument


def read(name: str, value: object, location: Location | None = None) -> ArrayArgument | ScalarArgument:
    """Return what `value` is; raises a UserError of the group `arguments` for what kernels do not take."""
    if isinstance(value, np.ndarray):
        return _read_numpy(name, value, location)
    if is_torch_tensor(value):
        return _read_torch(name, value, location)
    if isinstance(value, (bool, int, float, np.generic)):
        return _read_scalar(name, value, location)
    raise UserError("argument-kind", location, argument=name, kind=type(value).__name__)


def is_torch_tensor(value: object) -> bool:
    """Return whether `value` is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


# -- NumPy


def _read_numpy(name: str, array: np.ndarray[Any, Any], location: Location | None) -> ArrayArgument:
    if isinstance(array, np.ma.MaskedArray):
        raise UserError("masked-array", location, argument=name)
    dtype = dtypes.BY_NUMPY.get(array.dtype)
    if dtype is None:
        raise _wrong_numpy_dtype(name, array.dtype, location)
    address, readonly = array.__array_interface__["data"]
    if array.size and not array.flags.aligned and address % dtype.bytes:
        raise UserError("misaligned-array", location, argument=name, address=address, itemsize=dtype.bytes)
    strides = _normal_strides(array.shape, array.strides, dtype.bytes)
    if strides is None:
        raise UserError("uneven-strides", location, argument=name, strides=array.strides, itemsize=dtype.bytes)
    return ArrayArgument(name, array, dtype, array.shape, strides, address, readonly, "numpy")


def _wrong_numpy_dtype(name: str, dtype: np.dtype[Any], location: Location | None) -> UserError:
    if not dtype.isnative and dtype.newbyteorder("=") in dtypes.BY_NUMPY:
        return UserError("byte-order", location, argument=name, dtype=dtype.str)
    return UserError("argument-dtype", location, argument=name, dtype=dtype, allowed=_allowed())


def _normal_strides(shape: Sequence[int], strides: Sequence[int], unit: int) -> tuple[int, ...] | None:
    """Return strides in elements, those that mean nothing as if contiguous; None when one is no multiple of
    `unit` bytes.
    """
    normal: list[int] = []
    contiguous, empty = 1, 0 in shape
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        free = empty or extent == 1
        if not free and stride % unit:
            return None
        normal.append(contiguous if free else stride // unit)
        contiguous = normal[-1] * max(1, extent)
    return tuple(reversed(normal))


# -- torch


def _read_torch(name: str, tensor: Any, location: Location | None) -> ArrayArgument:
    _check_torch_storage(name, tensor, location)
    dtype = _torch_dtype(tensor.dtype)
    if dtype is None:
        raise UserError("argument-dtype", location, argument=name, dtype=tensor.dtype, allowed=_allowed())
    if tensor.is_neg():
        raise UserError("negative-bit", location, argument=name)
    try:
        address = tensor.data_ptr()
    except RuntimeError as error:
        why = str(error).partition("\n")[0]
        raise UserError("argument-storage", location, argument=name, why=why) from error
    shape = tuple(tensor.shape)
    strides = _normal_strides(shape, tensor.stride(), 1)
    if strides is None:  # pragma: no cover  # every number is a multiple of 1
        raise AssertionError
    return ArrayArgument(name, tensor, dtype, shape, strides, address, False, "torch")


def _check_torch_storage(name: str, tensor: Any, location: Location | None) -> None:
    if tensor.device.type != "cpu":
        raise UserError("argument-device", location, argument=name, device=tensor.device)
    layout = str(tensor.layout)
    if layout != "torch.strided":
        raise UserError("sparse-tensor", location, argument=name, layout=layout)


@functools.lru_cache(maxsize=64)
def _torch_dtype(dtype: object) -> DType | None:
    return dtypes.find(dtype)


# -- numbers


def _read_scalar(name: str, value: Number | np.generic, location: Location | None) -> ScalarArgument:
    if isinstance(value, np.generic):
        dtype = dtypes.BY_NUMPY.get(value.dtype)
        if dtype is None:
            raise UserError("argument-dtype", location, argument=name, dtype=value.dtype, allowed=_allowed())
        return ScalarArgument(name, _python_number(value, dtype), dtype, python=False)
    kind = bool if isinstance(value, bool) else int if isinstance(value, int) else float
    dtype = dtypes.find(kind)
    if dtype is None:  # pragma: no cover  # the three kinds have dtypes
        raise AssertionError
    if dtype.is_integer:  # how a float is rounded depends on the slot it goes to
        pack_scalar(name, value, dtype, location)
    return ScalarArgument(name, kind(value), dtype)


def _python_number(value: np.generic, dtype: DType) -> Number:
    if dtype.kind == "bool":
        return bool(value)
    return float(value) if dtype.is_float else int(value)


def pack_scalar(name: str, value: Number, dtype: DType, location: Location | None = None) -> bytes:
    """Return eight bytes whose low ones are `value` as `dtype`; raises UserError ``scalar-range`` when it does
    not fit.
    """
    if dtype.kind == "bool":
        return bytes([bool(value)]).ljust(8, b"\0")
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        number = int(value)
        if not limits.min <= number <= limits.max:
            raise UserError(
                "scalar-range", location, argument=name, value=value, dtype=dtype, lowest=limits.min, highest=limits.max
            )
        return np.array(number, dtype.numpy).tobytes().ljust(8, b"\0")
    return _pack_float(name, value, dtype, location)


def _pack_float(name: str, value: Number, dtype: DType, location: Location | None) -> bytes:
    with np.errstate(all="ignore"):
        try:
            rounded = np.array(float(value)).astype(dtype.numpy)
        except OverflowError:  # an int beyond f64
            rounded = np.array(np.inf).astype(dtype.numpy)
    if np.isinf(rounded) and value not in (float("inf"), float("-inf")):
        highest = _LARGEST[dtype.name]
        raise UserError(
            "scalar-range", location, argument=name, value=value, dtype=dtype, lowest=-highest, highest=highest
        )
    return rounded.tobytes().ljust(8, b"\0")


# -- checks against what a kernel expects


def expect(
    argument: ArrayArgument,
    dtype: DType | None = None,
    shape: Sequence[int | None] | None = None,
    location: Location | None = None,
) -> None:
    """Raise UserError when dtype, rank or an extent differs from the given one; None accepts any."""
    if dtype is not None and argument.dtype != dtype:
        raise _different_dtype(argument, dtype, location)
    if shape is None:
        return
    expected = _spell(shape)
    if len(shape) != len(argument.shape):
        details = {"rank": len(argument.shape), "shape": argument.shape, "expected_rank": len(shape)}
        raise UserError("argument-rank", location, argument=argument.name, expected=expected, **details)
    for axis, (extent, wanted) in enumerate(zip(argument.shape, shape, strict=True)):
        if wanted is not None and extent != wanted:
            details = {"shape": argument.shape, "axis": axis, "extent": extent, "wanted": wanted}
            raise UserError("argument-shape", location, argument=argument.name, expected=expected, **details)


def _different_dtype(argument: ArrayArgument, dtype: DType, location: Location | None) -> UserError:
    method = "to(torch." if argument.framework == "torch" else "astype('"
    end = ")" if argument.framework == "torch" else "')"
    conversion = f"`{argument.name}.{method}{dtype.long_name}{end}`"
    names = {"dtype": argument.dtype.long_name, "expected": dtype.long_name, "conversion": conversion}
    return UserError("argument-dtype-differs", location, argument=argument.name, **names)


def _spell(shape: Sequence[int | None]) -> str:
    inner = ", ".join("any" if extent is None else str(extent) for extent in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def check_output(argument: Argument, location: Location | None = None) -> None:
    """Raise UserError when a kernel cannot write to `argument`."""
    from pypto.runtime.overlap import overlaps_itself

    if not isinstance(argument, ArrayArgument):
        raise UserError("output-not-array", location, argument=argument.name, kind=type(argument.value).__name__)
    if argument.readonly:
        raise UserError("read-only-output", location, argument=argument.name)
    if argument.framework == "torch" and argument.value.requires_grad:
        raise UserError("requires-grad-output", location, argument=argument.name)
    if overlaps_itself(argument):
        details = {"shape": argument.shape, "strides": argument.strides}
        raise UserError("self-overlapping-output", location, argument=argument.name, **details)


@functools.lru_cache(maxsize=1)
def _allowed() -> str:
    return ", ".join(dtype.long_name for dtype in dtypes.ALL)
