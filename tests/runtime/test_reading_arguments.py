"""Reading arguments without copying, and finding memory that they share."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto.codegen.llvm.code import Layout
from pypto.ir import dtypes
from pypto.runtime.arguments import ArrayArgument, ScalarArgument, pack_scalar, read
from pypto.runtime.overlap import Overlap, overlap, overlaps_itself


def array(value: object, name: str = "x") -> ArrayArgument:
    argument = read(name, value)
    assert isinstance(argument, ArrayArgument)
    return argument


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_every_dtype_of_numpy_and_torch(dtype: dtypes.DType) -> None:
    value = np.zeros((2, 3), dtype.numpy)
    argument = array(value)
    assert (argument.dtype, argument.shape, argument.strides, argument.framework) == (dtype, (2, 3), (3, 1), "numpy")
    assert argument.address == value.ctypes.data
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(2, 3, dtype=getattr(torch, dtype.long_name)).T
    argument = array(tensor)
    assert (argument.dtype, argument.shape, argument.strides, argument.framework) == (dtype, (3, 2), (1, 3), "torch")
    assert argument.address == tensor.data_ptr()


def test_views() -> None:
    base = np.zeros((4, 6, 5), np.float32)
    assert array(base[::2, ::-1, 1]).strides == (60, -5)
    assert array(np.broadcast_to(base[:, :1], (4, 6, 5))).strides == (30, 0, 1)
    assert array(base).layout == Layout((30, 5, 1))
    assert array(base.T).strides == (1, 5, 30)
    assert array(np.float32([[1]])).strides == (1, 1)
    assert array(np.zeros(())).shape == ()
    assert array(np.zeros((2, 0, 3))[:, :, ::-1]).strides == (3, 3, 1)
    frozen = base.view()
    frozen.flags.writeable = False
    assert array(frozen).readonly
    assert not array(base).readonly


def test_strides_of_single_elements_are_normal() -> None:
    odd = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (2, 1, 4), (16, 4444, 4))
    assert array(odd).strides == (4, 4, 1)
    record = np.zeros(1, [("a", "f4"), ("b", "u1")])["a"]  # one element, stride of 5 bytes
    assert array(record).strides == (1,)


@pytest.mark.parametrize(
    ("value", "dtype", "number"),
    [
        (True, dtypes.BOOL, True), (3, dtypes.I64, 3), (2.5, dtypes.F32, 2.5), (np.int8(-3), dtypes.I8, -3),
        (np.float64(0.1), dtypes.F64, 0.1), (np.float16(0.5), dtypes.F16, 0.5), (np.True_, dtypes.BOOL, True),
        (ml_dtypes.bfloat16(1.5), dtypes.BF16, 1.5), (np.uint8(255), dtypes.U8, 255),
    ],
)  # fmt: skip
def test_numbers(value: object, dtype: dtypes.DType, number: object) -> None:
    argument = read("s", value)
    assert isinstance(argument, ScalarArgument)
    assert (argument.dtype, argument.value) == (dtype, number)


@given(st.sampled_from(dtypes.ALL), st.integers(-(2**31), 2**31 - 1))
def test_packed_scalars_are_those_of_numpy(dtype: dtypes.DType, number: int) -> None:
    if dtype.is_integer:
        number = number % (1 << dtype.bits - 1)
    if dtype.name == "f16":
        number %= 1000
    packed = pack_scalar("s", number, dtype)
    assert len(packed) == 8
    assert np.frombuffer(packed[: dtype.bytes], dtype.numpy)[0] == np.array(number).astype(dtype.numpy)


@given(st.floats(width=32))
def test_packed_floats_keep_their_bits(value: float) -> None:
    packed = pack_scalar("s", value, dtypes.F32)
    np.testing.assert_array_equal(np.frombuffer(packed[:4], np.float32), np.float32([value]))


EXTENTS = st.integers(0, 4)


@st.composite
def views(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """A strided view into one small memory, by basic slicing and by arbitrary strides."""
    memory = MEMORY
    rank = draw(st.integers(0, 3))
    shape = tuple(draw(EXTENTS) for _ in range(rank))
    strides = tuple(draw(st.integers(-5, 7)) for _ in range(rank))
    reach = [stride * max(0, extent - 1) for stride, extent in zip(strides, shape, strict=True)]
    low, high = -sum(min(0, item) for item in reach), sum(max(0, item) for item in reach)
    start = draw(st.integers(low, max(low, memory.size - 1 - high)))
    return np.lib.stride_tricks.as_strided(memory[start:], shape, tuple(4 * stride for stride in strides))


MEMORY = np.zeros(80, np.float32)


def elements(value: np.ndarray[Any, Any]) -> list[int]:
    """The address of each element, one by one."""
    base = value.__array_interface__["data"][0]
    return [
        base + sum(stride * index for stride, index in zip(value.strides, place, strict=True))
        for place in itertools.product(*map(range, value.shape))
    ]


@given(views(), views())
def test_overlap_is_exact(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> None:
    shares = bool(set(elements(left)) & set(elements(right)))
    found = overlap(array(left), array(right))
    assert (found is not Overlap.NONE) == shares
    if found is Overlap.SAME:
        assert elements(left) == elements(right)


@given(views())
def test_overlap_with_itself_is_exact(value: np.ndarray[Any, Any]) -> None:
    places = elements(value)
    assert overlaps_itself(array(value)) == (len(set(places)) < len(places))


@given(views())
def test_byte_range_covers_the_elements(value: np.ndarray[Any, Any]) -> None:
    argument = array(value)
    low, high = argument.byte_range()
    places = elements(value)
    if places:
        assert (argument.address + low, argument.address + high) == (min(places), max(places) + 4)
    else:
        assert (low, high) == (0, 0)


def test_interleaved_columns_do_not_overlap() -> None:
    memory = np.zeros((1000, 1000), np.float32)
    assert overlap(array(memory[:, ::2]), array(memory[:, 1::2])) is Overlap.NONE
    assert overlap(array(memory[:, :500]), array(memory[:, 500:])) is Overlap.NONE
    assert overlap(array(memory[:, :501]), array(memory[:, 500:])) is Overlap.PARTLY
    assert overlap(array(memory), array(memory.T)) is Overlap.PARTLY
    assert overlap(array(memory), array(memory)) is Overlap.SAME
    assert overlap(array(memory.view(np.int32)), array(memory)) is Overlap.PARTLY


def test_numpy_and_torch_views_of_one_memory() -> None:
    torch = pytest.importorskip("torch")
    memory = np.zeros((4, 4), np.float32)
    tensor = torch.from_numpy(memory)
    assert overlap(array(tensor), array(memory)) is Overlap.SAME
    assert overlap(array(tensor[:, 1:]), array(memory[:, :1])) is Overlap.NONE
    assert overlap(array(tensor[:, 1:]), array(memory[:, :2])) is Overlap.PARTLY
