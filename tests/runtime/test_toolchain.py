"""Compiling, linking and freeing machine code."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hand_kernels import add_code, launcher, read_all
from pypto.codegen.llvm.code import Machine
from pypto.ir.base.errors import CompilerBug
from pypto.ir.base.settings import settings
from pypto.runtime.native import source
from pypto.runtime.toolchain import compile_text, emit_object, host_machine

ANSWER = "define i32 @answer() {\n  ret i32 42\n}\n"


def test_host_machine() -> None:
    machine = host_machine()
    assert machine.vector_bits in (128, 256, 512)
    assert machine.triple
    with settings(vector_bits=128):
        assert host_machine().vector_bits == 128


def test_compile_and_call() -> None:
    library = compile_text(ANSWER, host_machine(), ("answer",), {})
    assert ctypes.CFUNCTYPE(ctypes.c_int)(library.address("answer"))() == 42
    with pytest.raises(KeyError):
        library.address("other")


def test_imports_by_address() -> None:
    text = "declare i32 @given(i32)\ndefine i32 @twice(i32 %x) {\n  %y = call i32 @given(i32 %x)\n  ret i32 %y\n}\n"
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: 2 * x)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    library = compile_text(text, host_machine(), ("twice",), {"given": address})
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(library.address("twice"))(21) == 42


@pytest.mark.parametrize(
    "text", ["nonsense", "define i32 @f() {\n  ret i64 1\n}\n", "define void @f() {\n  br label %x\n}\n"]
)
def test_text_that_llvm_rejects(text: str) -> None:
    with pytest.raises(CompilerBug, match="the LLVM emitter"):
        emit_object(text, host_machine())


def test_missing_symbols_are_errors_not_crashes() -> None:
    text = "declare i32 @no_such_function()\ndefine i32 @f() {\n  %x = call i32 @no_such_function()\n  ret i32 %x\n}\n"
    with pytest.raises(CompilerBug, match="linking failed"):
        compile_text(text, host_machine(), ("f",), {})
    with pytest.raises(CompilerBug, match="linking failed"):
        compile_text(ANSWER, host_machine(), ("question",), {})


@pytest.mark.parametrize(
    ("triple", "cpu"),
    [
        ("x86_64-unknown-linux-gnu", "x86-64"),
        ("aarch64-unknown-linux-gnu", "neoverse-n1"),
        ("arm64-apple-darwin", "apple-m1"),
        ("x86_64-pc-windows-msvc", "x86-64"),
    ],
)
def test_the_runtime_compiles_for_other_systems(triple: str, cpu: str) -> None:
    assert len(emit_object(source(triple), Machine(triple, cpu, "", 128))) > 1000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_libraries_are_freed() -> None:
    """200 specialisations come and go; the process does not grow by more than noise."""
    x = np.ones((8, 8), np.float32)

    def use(number: int) -> None:
        out = np.zeros_like(x)
        run = launcher(add_code(8, 8, name=f"add_{number % 10}"))
        fast = run.fast_call(read_all(x=x, y=x, out=out))
        assert fast(x, x, out) is True
        assert (out == 2).all()

    for number in range(40):
        use(number)
    gc.collect()
    before = resident_bytes()
    for number in range(200):
        use(number)
    gc.collect()
    assert resident_bytes() - before < 2 << 20


def test_a_fast_function_keeps_its_code_alive() -> None:
    x, out = np.ones((8, 8), np.float32), np.zeros((8, 8), np.float32)
    fast = launcher(add_code(8, 8)).fast_call(read_all(x=x, y=x, out=out))
    gc.collect()
    for number in range(30):  # reuse the memory that freed code would have left
        launcher(add_code(9, 8, name=f"other_{number}"))
    assert fast(x, x, out) is True
    assert (out == 2).all()


def test_arguments_are_not_kept_alive() -> None:
    x = np.ones((8, 8), np.float32)
    count = sys.getrefcount(x)
    run = launcher(add_code(8, 8))
    run.run(read_all(x=x, y=x, out=np.zeros_like(x)))
    fast, slow = run.fast_call(read_all(x=x, y=x, out=x.copy())), launcher(add_code(8, 8), raw_fields=False)
    general = slow.fast_call(read_all(x=x, y=x, out=x.copy()))
    assert fast(x, x, x.copy()) is True
    assert general(x, x, x.copy()) is True
    gc.collect()
    assert sys.getrefcount(x) == count


def test_reload_from_the_cache_is_quick() -> None:
    """A loose bound: about a millisecond when nothing else runs."""
    code = add_code(16, 16)
    launcher(code)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        launcher(code)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05
