"""Mistakes in the arrays and numbers of a launch: text, help and place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto.ir import dtypes
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.base.settings import settings
from pypto.runtime.arguments import ArrayArgument, check_output, expect, pack_scalar, read
from pypto.runtime.overlap import check_aliases
from pypto.runtime.toolchain import host_machine

PLACE = Location("kernel.py", 12, 5, 8)


def failing(action: Callable[[], object], name: str) -> UserError:
    with pytest.raises(UserError) as caught:
        action()
    assert caught.value.name == name
    return caught.value


def at_place(error: UserError) -> None:
    assert error.location == PLACE
    assert str(error).startswith(f"kernel.py:12:5: error[{error.name}]: ")


def array(value: object, name: str = "x") -> ArrayArgument:
    argument = read(name, value)
    assert isinstance(argument, ArrayArgument)
    return argument


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_what_is_no_argument() -> None:
    for value in ([1.0, 2.0], "text", None, object(), {"a": 1}, 1j):
        error = failing(lambda value=value: read("x", value, PLACE), "argument-kind")
        at_place(error)
        assert f"'x' is of type {type(value).__name__}" in error.message
        assert "numpy.asarray(x)" in error.help


@pytest.mark.parametrize(
    "dtype", [np.complex64, np.complex128, object, "U3", "datetime64[s]", np.uint16, np.uint64, np.longdouble, "f4,i4"]
)
def test_unsupported_dtype(dtype: Any) -> None:
    error = failing(lambda: read("x", np.zeros(3, dtype), PLACE), "argument-dtype")
    at_place(error)
    assert str(np.dtype(dtype)) in error.message
    assert "float32" in error.help


def test_unsupported_torch_dtypes(torch: Any) -> None:
    for dtype in (torch.complex64, torch.float8_e5m2):
        assert "torch." in failing(lambda dtype=dtype: read("x", torch.zeros(3, dtype=dtype)), "argument-dtype").message
    conjugate = torch.zeros(3, dtype=torch.complex64).conj()
    failing(lambda: read("x", conjugate), "argument-dtype")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantized_tensor(torch: Any) -> None:
    tensor = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    assert "torch.qint8" in failing(lambda: read("x", tensor), "argument-dtype").message


def test_numpy_scalars_of_other_dtypes() -> None:
    failing(lambda: read("s", np.complex64(1)), "argument-dtype")
    failing(lambda: read("s", np.uint64(1)), "argument-dtype")


def test_byte_order() -> None:
    swapped = np.zeros(3, np.dtype(np.float32).newbyteorder("S"))
    error = failing(lambda: read("x", swapped, PLACE), "byte-order")
    at_place(error)
    assert swapped.dtype.str in error.message
    assert "newbyteorder('=')" in error.help
    array(swapped.astype(swapped.dtype.newbyteorder("=")))


def test_masked_array() -> None:
    masked = np.ma.masked_array(np.zeros(3), mask=[0, 1, 0])
    error = failing(lambda: read("x", masked, PLACE), "masked-array")
    at_place(error)
    assert "x.filled(value)" in error.help


def test_misaligned_array() -> None:
    value = np.zeros(13, np.uint8)[1:].view(np.float32)
    error = failing(lambda: read("x", value, PLACE), "misaligned-array")
    at_place(error)
    assert f"{value.ctypes.data:#x}" in error.message
    assert "4 bytes" in error.message
    array(value.copy())


def test_uneven_strides() -> None:
    record = np.zeros(4, np.dtype([("a", "f4"), ("b", "f4"), ("c", "u1")], align=False))
    error = failing(lambda: read("x", record["a"], PLACE), "uneven-strides")
    at_place(error)
    assert "(9,) bytes" in error.message
    array(np.ascontiguousarray(record["a"]))


def test_device(torch: Any) -> None:
    error = failing(lambda: read("x", torch.zeros(3, device="meta"), PLACE), "argument-device")
    at_place(error)
    assert "device meta" in error.message
    assert "`x.cpu()`" in error.help


def test_sparse_tensor(torch: Any) -> None:
    error = failing(lambda: read("x", torch.eye(3).to_sparse(), PLACE), "sparse-tensor")
    at_place(error)
    assert "torch.sparse_coo" in error.message
    array(torch.eye(3).to_sparse().to_dense())


def test_tensor_without_storage(torch: Any) -> None:
    seen: list[UserError] = []

    def body(row: Any) -> Any:
        seen.append(failing(lambda: read("x", row, PLACE), "argument-storage"))
        return row

    torch.func.vmap(body)(torch.ones(2, 3))
    at_place(seen[0])
    assert "torch.func" in seen[0].help


def test_negative_bit(torch: Any) -> None:
    lazy = torch.ones(3, dtype=torch.complex64).conj().imag
    error = failing(lambda: read("x", lazy, PLACE), "negative-bit")
    at_place(error)
    assert "`x.resolve_neg()`" in error.help
    array(lazy.resolve_neg())


def test_dtype_differs(torch: Any) -> None:
    error = failing(lambda: expect(array(np.zeros(3)), dtypes.F32, None, PLACE), "argument-dtype-differs")
    at_place(error)
    assert "float64" in error.message
    assert "`x.astype('float32')`" in error.help
    error = failing(lambda: expect(array(torch.zeros(3)), dtypes.BF16), "argument-dtype-differs")
    assert "`x.to(torch.bfloat16)`" in error.help
    expect(array(np.zeros(3)), dtypes.F64, (None,))


def test_rank() -> None:
    error = failing(lambda: expect(array(np.zeros((2, 3))), None, (6,), PLACE), "argument-rank")
    at_place(error)
    assert "2 axes (shape (2, 3))" in error.message
    assert "1 (shape (6,))" in error.message


def test_shape() -> None:
    error = failing(lambda: expect(array(np.zeros((2, 3))), None, (None, 4), PLACE), "argument-shape")
    at_place(error)
    assert "axis 1 has 3 elements, not 4" in error.message
    assert "(any, 4)" in error.message
    expect(array(np.zeros((2, 3))), None, (2, 3))


def test_output_that_is_a_number() -> None:
    error = failing(lambda: check_output(read("out", 1.0), PLACE), "output-not-array")
    at_place(error)
    assert "'out' is a float" in error.message


def test_read_only_output() -> None:
    value = np.zeros(3)
    value.flags.writeable = False
    error = failing(lambda: check_output(array(value, "out"), PLACE), "read-only-output")
    at_place(error)
    assert "'out' is read-only" in error.message
    check_output(array(value.copy()))


def test_output_that_requires_grad(torch: Any) -> None:
    value = torch.zeros(3, requires_grad=True)
    error = failing(lambda: check_output(array(value, "out"), PLACE), "requires-grad-output")
    at_place(error)
    assert "`out.detach()`" in error.help
    check_output(array(value.detach()))
    failing(lambda: check_output(array(value[:2])), "requires-grad-output")


def test_output_that_overlaps_itself(torch: Any) -> None:
    value = np.lib.stride_tricks.as_strided(np.zeros(9), (3, 4), (16, 8))
    error = failing(lambda: check_output(array(value, "out"), PLACE), "self-overlapping-output")
    at_place(error)
    assert "(shape (3, 4), strides (2, 1))" in error.message
    failing(lambda: check_output(array(torch.zeros(3, 1).expand(3, 4))), "self-overlapping-output")
    check_output(array(np.lib.stride_tricks.as_strided(np.zeros(12), (3, 4), (32, 8))))


def test_aliased_arguments() -> None:
    memory = np.zeros(10)
    arguments = [array(memory[:6], "a"), array(memory[4:], "out")]
    error = failing(lambda: check_aliases(arguments, ["out"], location=PLACE), "aliased-arguments")
    at_place(error)
    assert "output 'out' shares memory with argument 'a'" in error.message
    assert "other places" in error.message
    assert "`a.copy()`" in error.help
    check_aliases(arguments, [])
    same = [array(memory, "a"), array(memory, "out")]
    assert "the same elements" in failing(lambda: check_aliases(same, ["out"]), "aliased-arguments").message
    check_aliases(same, ["out"], frozenset({("out", "a")}))
    failing(lambda: check_aliases(arguments, ["out"], frozenset({("out", "a")})), "aliased-arguments")


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (300, "u8"),
        (-1, "u8"),
        (2**31, "i32"),
        (-(2**63) - 1, "i64"),
        (1e39, "f32"),
        (7e4, "f16"),
        (10**400, "f64"),
        (4e38, "bf16"),
    ],
)
def test_number_out_of_range(value: Any, dtype: str) -> None:
    error = failing(lambda: pack_scalar("s", value, dtypes.BY_NAME[dtype], PLACE), "scalar-range")
    at_place(error)
    assert f"which {dtype} cannot hold" in error.message
    assert "between" in error.help


def test_int_that_no_scalar_can_hold() -> None:
    at_place(failing(lambda: read("n", 2**63, PLACE), "scalar-range"))


def test_vector_bits() -> None:
    with settings(vector_bits=192):
        error = failing(host_machine, "vector-bits")
    assert "192" in error.message
    assert "512" in error.help
