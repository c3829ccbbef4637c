"""Launches: the native fast path and the one by Python and ctypes give the same results and refuse the same calls."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

from hand_kernels import LONG, add_code, launcher, read_all, scalars_code, two_phase_code, two_phase_expected
from pypto.codegen.llvm.code import CpuCode
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import ALL, F64, DType
from pypto.runtime import native
from pypto.runtime.arguments import ConstantArgument, read
from pypto.runtime.launcher import Launcher, Mode

BOTH = pytest.mark.parametrize("raw_fields", [True, False], ids=["native", "ctypes"])


def arrays(rows: int = 8, columns: int = 8) -> tuple[Any, Any, Any]:
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    return x, x * 2, np.zeros_like(x)


def make(raw_fields: bool, rows: int = 8, columns: int = 8, **options: Any) -> Launcher:
    return launcher(add_code(rows, columns), raw_fields=raw_fields, **options)


def test_this_interpreter_has_the_fast_path() -> None:
    assert native.raw_fields_work()
    x, y, out = arrays()
    assert type(make(True).fast_call(read_all(x=x, y=y, out=out))) is type(len)
    assert type(make(False).fast_call(read_all(x=x, y=y, out=out))) is not type(len)


def test_debug_builds_do_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "gettotalrefcount", lambda: 0, raising=False)
    native.raw_fields_work.cache_clear()
    try:
        assert not native.raw_fields_work()
        x, y, out = arrays()
        fast = make(True).fast_call(read_all(x=x, y=y, out=out))
        assert type(fast) is not type(len)
        assert fast(x, y, out) is True
    finally:
        native.raw_fields_work.cache_clear()


@BOTH
def test_numpy(raw_fields: bool) -> None:
    x, y, out = arrays()
    run = make(raw_fields)
    fast = run.fast_call(read_all(x=x, y=y, out=out))
    for _ in range(3):
        out[:] = -1
        assert fast(x, y, out) is True
        np.testing.assert_array_equal(out, x + y)
    other, target = x + 5, np.zeros_like(x)
    assert fast(other, y, target) is True
    np.testing.assert_array_equal(target, other + y)
    assert x.max() == 63


@BOTH
def test_torch(raw_fields: bool) -> None:
    torch = pytest.importorskip("torch")
    x, y, out = map(torch.from_numpy, arrays())
    fast = make(raw_fields).fast_call(read_all(x=x, y=y, out=out))
    version = out._version
    assert fast(x, y, out) is True
    assert torch.equal(out, x + y)
    assert out._version == version + 1
    assert (x._version, y._version) == (0, 0)
    with torch.inference_mode():
        untracked = torch.zeros(8, 8)
    assert fast(x, y, untracked) is True
    assert torch.equal(untracked, x + y)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_every_dtype_is_told_from_every_other(framework: str, dtype: DType) -> None:
    x, y, out = arrays()

    def value(kind: DType) -> Any:
        if framework == "numpy":
            return np.zeros((2, 3), kind.numpy)
        torch = pytest.importorskip("torch")
        return torch.zeros(2, 3, dtype=getattr(torch, kind.long_name))

    fast = make(True).fast_call([read("unused", value(dtype)), *read_all(x=x, y=y, out=out)])
    assert type(fast) is type(len)
    for other in ALL:
        assert fast(value(other), x, y, out) is (True if other == dtype else NotImplemented)


@BOTH
def test_autograd_notices_that_an_output_changed(raw_fields: bool) -> None:
    torch = pytest.importorskip("torch")
    x, y, out = map(torch.from_numpy, arrays())
    weight = torch.ones(8, 8, requires_grad=True)
    loss = (weight * out).sum()
    assert make(raw_fields).fast_call(read_all(x=x, y=y, out=out))(x, y, out) is True
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def different_calls(x: Any, y: Any, out: Any) -> dict[str, tuple[object, ...]]:
    read_only = out.copy()
    read_only.flags.writeable = False
    misaligned = np.zeros(8 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(8, 8)
    memory_map = x.view(np.memmap)
    return {
        "few": (x, y),
        "many": (x, y, out, out.copy()),
        "none": (),
        "rank": (x.ravel(), y, out),
        "more axes": (x[None], y, out),
        "shape": (x[:4], y, out),
        "transposed": (x.T, y, out),
        "strided": (x, y, np.zeros((8, 16), np.float32)[:, ::2]),
        "reversed": (x[::-1], y, out),
        "broadcast": (x, np.broadcast_to(y[0], (8, 8)), out),
        "dtype": (x.astype(np.float64), y, out),
        "byte order": (x.astype(">f4"), y, out),
        "read-only output": (x, y, read_only),
        "misaligned": (misaligned, y, out),
        "subclass": (memory_map, y, out),
        "masked": (np.ma.masked_array(x), y, out),
        "number": (x, 1.0, out),
        "list": (x.tolist(), y, out),
        "nothing": (x, None, out),
        "output = input": (x, out, out),
    }


@BOTH
@pytest.mark.parametrize("case", list(different_calls(*arrays())))
def test_calls_that_differ_are_refused_and_write_nothing(raw_fields: bool, case: str) -> None:
    x, y, out = arrays()
    fast = make(raw_fields).fast_call(read_all(x=x, y=y, out=out))
    out[:] = -7
    values = different_calls(x, y, out)[case]
    answer = fast(*values)
    if case == "subclass" and not raw_fields:  # reading it as an array is right too
        assert answer in (True, NotImplemented)
        return
    assert answer is NotImplemented
    assert (out == -7).all()


@BOTH
def test_overlapping_outputs_are_refused(raw_fields: bool) -> None:
    memory = np.zeros(200, np.float32)
    y = np.ones((8, 8), np.float32)
    first = memory[:64].reshape(8, 8)
    fast = make(raw_fields).fast_call(read_all(x=first, y=y, out=y.copy()))
    for start in range(1, 136):
        out = memory[start : start + 64].reshape(8, 8)
        assert fast(first, y, out) is (NotImplemented if start < 64 else True)
    assert fast(first, first, y.copy()) is True  # inputs may be the same


@BOTH
def test_in_place_where_it_is_allowed(raw_fields: bool) -> None:
    x, y, _ = arrays()
    run = make(raw_fields, may_share=[("out", "x")])
    fast = run.fast_call(read_all(x=x, y=y, out=x.copy()))
    expected = x + y
    assert fast(x, y, x) is True
    np.testing.assert_array_equal(x, expected)
    assert fast(y, x, x) is NotImplemented
    shifted = np.zeros(8 * 8 + 8, np.float32)
    assert fast(shifted[:64].reshape(8, 8), y, shifted[8:].reshape(8, 8)) is NotImplemented


@BOTH
@pytest.mark.parametrize("dtype", ["conjugate", "grad", "meta", "sparse", "bf16", "parameter"])
def test_torch_tensors_that_differ_are_refused(raw_fields: bool, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x, y, out = map(torch.from_numpy, arrays())
    strided = torch.zeros(8, 8, dtype=torch.complex64).imag
    fast = make(raw_fields).fast_call(read_all(x=x, y=y, out=out))
    values = {
        "conjugate": (torch.ones(8, 8, dtype=torch.complex64).conj().imag, y, out),
        "grad": (x, y, torch.zeros(8, 8, requires_grad=True)),
        "meta": (x.to("meta"), y, out),
        "sparse": (x.to_sparse(), y, out),
        "bf16": (x.bfloat16(), y, out),
        "parameter": (x, y, torch.nn.Parameter(torch.zeros(8, 8))),
    }[dtype]
    assert fast(*values) is NotImplemented
    assert not out.any()
    # Strides alone do not tell a lazily negated view from a plain one.
    plain = Launcher(*_strided_code(), ("out",), raw_fields=raw_fields).fast_call(read_all(x=strided, y=y, out=out))
    assert plain(strided, y, out) is True
    assert plain(torch.ones(8, 8, dtype=torch.complex64).conj().imag, y, out) is NotImplemented


def _strided_code() -> tuple[CpuCode, Any]:
    made = launcher(add_code(8, 8))
    return made._code, made._library


@BOTH
@pytest.mark.parametrize("shape", [(0, 8), (8, 0), (0, 0)])
def test_arrays_without_elements(raw_fields: bool, shape: tuple[int, int]) -> None:
    x, y, out = np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    fast = make(raw_fields, *shape).fast_call(read_all(x=x, y=y, out=out))
    assert fast(x, y, out) is True
    assert fast(x, y, x) is True  # nothing is shared
    torch = pytest.importorskip("torch")
    tensors = tuple(map(torch.from_numpy, (x, y, out)))
    assert make(raw_fields, *shape).fast_call(read_all(x=x, y=y, out=out))(*tensors) in (True, NotImplemented)


@BOTH
def test_strides_of_single_element_axes_do_not_matter(raw_fields: bool) -> None:
    x = np.arange(8, dtype=np.float32).reshape(1, 8)
    odd = np.lib.stride_tricks.as_strided(x, (1, 8), (4 * 12345, 4))
    fast = make(raw_fields, 1, 8).fast_call(read_all(x=x, y=x, out=x.copy()))
    out = np.zeros_like(x)
    assert fast(odd, x, out) is True
    np.testing.assert_array_equal(out, 2 * x)


@BOTH
def test_scalars(raw_fields: bool) -> None:
    out = np.zeros(1)
    names = ("single", "double", "integer", "flag", "out")
    values = (0.5, 0.25, 7, True, out)
    run = launcher(scalars_code(), raw_fields=raw_fields)
    fast = run.fast_call([read(name, value) for name, value in zip(names, values, strict=True)])
    for single, double, integer, flag in [(0.5, 0.25, 7, True), (-1.5, 1e-3, -(2**60), False), (3e38, 1e300, 0, True)]:
        assert fast(single, double, integer, flag, out) is True
        assert out[0] == float(np.float32(single)) + double + float(integer) + flag
    before = out.copy()
    assert fast(1e39, 0.0, 0, True, out) is NotImplemented  # f32 cannot hold it
    assert fast(0.5, 0.0, 2**63, True, out) is NotImplemented
    assert fast(1, 0.0, 0, True, out) is NotImplemented  # an int is another signature
    assert fast(0.5, 0.0, True, True, out) is NotImplemented
    assert fast(np.float64(0.5), 0.0, 1, True, out) is NotImplemented
    np.testing.assert_array_equal(out, before)
    assert fast(float("inf"), float("-inf"), 0, False, out) is True
    assert np.isnan(out[0])


def test_numpy_scalars_take_the_general_path() -> None:
    out = np.zeros(1)
    values = {"single": np.float32(0.5), "double": np.float64(2), "integer": np.int64(3), "flag": np.True_, "out": out}
    run = launcher(scalars_code())
    fast = run.fast_call(read_all(**values))
    assert fast(*values.values()) is True
    assert out[0] == 6.5
    run.run(read_all(**values))
    assert out[0] == 6.5


@BOTH
def test_constants_are_part_of_the_call(raw_fields: bool) -> None:
    x, y, out = arrays()
    run = make(raw_fields)
    for constant, same, others in [
        (12345678901, int("12345678901"), (12345678902, 12345678901.0, None)),
        ("mode", "".join(["mo", "de"]), ("made", b"mode", None)),
        (0.0, 0.0, (-0.0, 0, False)),
        (1, 1, (True, 1.0, 2)),
        (None, None, (0, False)),
        ((1, 2), (1, 2), ((1, 3),)),
    ]:
        fast = run.fast_call([*read_all(x=x, y=y, out=out), ConstantArgument("k", constant)])
        assert fast(x, y, out, constant) is True
        assert fast(x, y, out, same) in ((True,) if isinstance(constant, int | str) else (True, NotImplemented))
        for other in others:
            assert fast(x, y, out, other) is NotImplemented, (constant, other)


@BOTH
def test_parameters_that_the_code_never_uses(raw_fields: bool) -> None:
    x, y, out = arrays()
    arguments = [read("unused", y), *read_all(x=x, y=y, out=out), read("number", 3)]
    fast = make(raw_fields).fast_call(arguments)
    assert fast(x, x, y, out, 4) is True
    np.testing.assert_array_equal(out, x + y)


def test_the_general_path_raises_for_a_scalar_out_of_range() -> None:
    values = {"single": 1.0, "double": 1.0, "integer": 1, "flag": True, "out": np.zeros(1)}
    run = launcher(scalars_code())
    run.run(read_all(**values))
    with pytest.raises(UserError, match="scalar-range"):
        run.run([read("single", np.float64(1e300)), *read_all(**values)[1:]])


@BOTH
def test_more_working_memory_than_is_kept(raw_fields: bool) -> None:
    small = two_phase_code(16, 16)
    large = CpuCode(small.text, small.slots, small.phases, (64 << 20) + 1, small.scratch_bytes)
    x = np.random.default_rng(1).standard_normal((16, 16)).astype(np.float32)
    out = np.zeros_like(x)
    run = launcher(large, raw_fields=raw_fields, mode=LONG)
    run.run(read_all(x=x, factor=1.0, out=out))
    np.testing.assert_array_equal(out, two_phase_expected(x, 1.0))
    assert native.native().word("arena_bytes").value <= 64 << 20


def test_kept_memory_is_bounded_over_many_kernels() -> None:
    for rows in (3, 300, 30):
        x = np.ones((rows, 40), np.float32)
        launcher(two_phase_code(rows, 40), mode=LONG).run(read_all(x=x, factor=1.0, out=np.zeros_like(x)))
    assert 0 < native.native().word("arena_bytes").value <= 64 << 20
    assert native.native().word("arena_owner").value & 0xFFFFFFFF == 0


def test_a_call_measures_itself() -> None:
    x, y, out = arrays()
    run = make(True)
    arguments = read_all(x=x, y=y, out=out)
    for _ in range(50):
        run.run(arguments)
        if run._frame.call.mode == Mode.SHORT:
            break
    assert run._frame.call.mode == Mode.SHORT
    assert run.nanoseconds < 16_000


def test_reference_counts_are_balanced() -> None:
    x, y, out = arrays()
    fast = make(True).fast_call(read_all(x=x, y=y, out=out))
    torch = pytest.importorskip("torch")
    tensors = tuple(map(torch.from_numpy, (x, y, out)))
    tensor_fast = make(True).fast_call(read_all(**dict(zip(("x", "y", "out"), tensors, strict=True))))
    counted = (x, y, out, *tensors, x.dtype, NotImplemented, True, False, torch.Tensor)
    before = [sys.getrefcount(item) for item in counted]
    for _ in range(2000):
        fast(x, y, out)
        fast(x, y, y)
        fast(1, y, out)
        tensor_fast(*tensors)
        tensor_fast(tensors[0].T, *tensors[1:])
    after = [sys.getrefcount(item) for item in counted]
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 50


def test_the_lock_is_released_by_long_calls() -> None:
    """Another Python thread goes on while a kernel runs."""
    from hand_kernels import burn_code

    run = launcher(burn_code(1, 400_000_000), mode=LONG)
    out, seen = np.zeros(1, np.int64), []
    fast = run.fast_call(read_all(out=out))
    thread = threading.Thread(target=fast, args=(out,))
    thread.start()
    while thread.is_alive():
        seen.append(int(out[0]))
        thread.join(0.001)
    assert seen.count(0) > 5
    assert out[0] == 400_000_000


def test_f64() -> None:
    x = np.arange(12.0).reshape(3, 4)
    out = np.zeros_like(x)
    run = launcher(add_code(3, 4, dtype=F64))
    assert run.fast_call(read_all(x=x, y=x, out=out))(x, x, out) is True
    np.testing.assert_array_equal(out, 2 * x)
