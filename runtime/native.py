"""The runtime's own machine code (pool.ll, launch.ll), loaded once per process, and what it needs from the interpreter.

Loading takes about a millisecond once the object code is in the disk cache. The code is never unloaded: its worker
threads wait in it until the process ends.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import platform
import signal
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pypto.ir.base import settings
from pypto.runtime.toolchain import LLVM_LOCK, Library, compile_text, host_machine

MOST_THREADS = 255  # the ticket has eight bits for them

_FUTEX_CALL = {"x86_64": 202, "aarch64": 98}
_PYTHON_FUNCTIONS = (
    "PyCapsule_GetPointer", "PyErr_CheckSignals", "PyErr_Clear", "PyErr_SetNone", "PyEval_RestoreThread",
    "PyEval_SaveThread", "PyFloat_AsDouble", "PyLong_AsLongLongAndOverflow", "PyOS_getsig", "PyOS_setsig",
    "PyObject_CallNoArgs", "PyObject_CallFunctionObjArgs", "PyObject_GetAttr", "PyObject_RichCompareBool",
    "PyObject_VectorcallMethod", "PyThread_get_thread_ident", "PyTuple_Pack", "Py_DecRef", "Py_IncRef",
)  # fmt: skip
_SYMBOLS = (
    "claim", "release", "reset", "run", "fast", "objects", "arena_owner", "arena_data", "arena_bytes",
    "get_float_mode_now", "worker_count",
)  # fmt: skip
_METH_FASTCALL = 0x80

# Indices into the table of objects in pool.ll.
_TRUE, _FALSE, _NOT_IMPLEMENTED, _INTERRUPT, _PLAN, _REQUIRES_GRAD, _IS_NEG, _EXPORT, _INCREMENT, _INT, _FLOAT, _STR = (
    range(12)
)


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


@dataclass(frozen=True, slots=True)
class Native:
    """The loaded code. `objects` keeps alive what the table of objects points to."""

    library: Library
    run: Callable[[int], int]
    """``run(address of a Call)``: raises what the call raised, for example KeyboardInterrupt."""
    claim: Callable[[int], int]
    """``claim(address of a word)``: 1 when the word was free and is taken now."""
    release: Callable[[int], None]
    method: _MethodDefinition
    table: Any
    objects: tuple[object, ...]

    def word(self, symbol: str) -> ctypes.c_uint64:
        """Return the 64-bit global called `symbol`."""
        return ctypes.c_uint64.from_address(self.library.address(symbol))

    def fast_function(self, launch: int, keep: object) -> Callable[..., object]:
        """Return the METH_FASTCALL function over the Launch at an address; `keep` lives as long as the function."""
        capsule = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        create = _python("PyCFunction_NewEx", ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        function: Callable[..., object] = create(ctypes.addressof(self.method), capsule(launch, None, None), keep)
        return function


def native() -> Native:
    """Return the runtime's machine code, compiled or loaded at the first call."""
    with LLVM_LOCK:
        return _load()


@functools.lru_cache(maxsize=1)
def _load() -> Native:
    library = compile_text(source(host_machine().triple), host_machine(), _SYMBOLS, _imports())
    library.keep_forever()
    reset = ctypes.PYFUNCTYPE(None, ctypes.c_uint64)(library.address("reset"))
    reset(_main_thread())
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: reset(threading.get_ident()))
    method = _MethodDefinition(b"launch", library.address("fast"), _METH_FASTCALL, None)
    table = (ctypes.c_void_p * 16).from_address(library.address("objects"))
    return Native(
        library,
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(library.address("run")),
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(library.address("claim")),
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(library.address("release")),
        method,
        table,
        _fill(table),
    )


def _main_thread() -> int:
    return threading.main_thread().ident or 0


def _fill(table: Any) -> tuple[object, ...]:
    """Write the interpreter's objects into the table and return them."""
    objects = {
        _TRUE: True, _FALSE: False, _NOT_IMPLEMENTED: NotImplemented, _INTERRUPT: KeyboardInterrupt, _PLAN: plan,
        _REQUIRES_GRAD: "requires_grad", _IS_NEG: "is_neg", _INT: int, _FLOAT: float, _STR: str,
    }  # fmt: skip
    for index, value in objects.items():
        table[index] = id(value)
    return tuple(objects.values())


def source(triple: str) -> str:
    """Return the LLVM IR of the runtime for a target triple."""
    architecture = triple.partition("-")[0].replace("arm64", "aarch64")
    futex = _FUTEX_CALL.get(architecture)
    linux = "linux" in triple and futex is not None
    system = _text("system_linux.ll").replace("{futex}", str(futex)) if linux else _text("system_serial.ll")
    processor = _text("processor_aarch64.ll" if architecture == "aarch64" else "processor_x86.ll")
    return "\n".join((_text("pool.ll"), system, processor, _text("launch.ll")))


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _imports() -> dict[str, int]:
    addresses = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}
    if sys.platform != "linux":
        return addresses
    process = ctypes.CDLL(None)
    names = ("syscall", "clock_gettime", "pthread_create", "pthread_detach", "sigfillset", "pthread_sigmask")
    return addresses | {name: _address(getattr(process, name)) for name in names}


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _python(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of Python's C API; a prototype of its own, since those of `ctypes.pythonapi` are shared."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


# -- what a call that may be long asks


_get_signal_handler: Callable[[int], object] = importlib.import_module(
    "_signal"
).getsignal  # signal.getsignal takes 1.6 us


def plan() -> int:
    """Return the number of threads in force, and in bit 8 whether Ctrl-C raises KeyboardInterrupt by Python's
    default handler.
    """
    hook = _get_signal_handler(signal.SIGINT) is signal.default_int_handler
    return thread_count() | hook << 8


def thread_count() -> int:
    """Return how many threads a call may use: `settings.num_threads`, or one per core that this process may use."""
    return max(1, min(settings.current().num_threads or _cores(), MOST_THREADS))


@functools.lru_cache(maxsize=1)
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -- may object fields be read directly?


@functools.lru_cache(maxsize=1)
def raw_fields_work() -> bool:
    """Return whether objects of this interpreter and of this NumPy lie in memory as launch.ll reads them, by
    looking at some.
    """
    plain = sys.implementation.name == "cpython" and ctypes.sizeof(ctypes.c_void_p) == 8
    if not plain or _is_special_build() or platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"):
        return False
    samples: list[np.ndarray[Any, Any]] = [np.zeros((2, 3, 5), np.float32)[:, ::-1, ::2], np.zeros(7, np.int64)]
    samples.append(np.broadcast_to(samples[1], (2, 7)))  # read-only
    return all(_fields_agree(sample) for sample in samples) and all(_type_agrees(item) for item in (1, 1.0, True, "a"))


def _is_special_build() -> bool:
    """Return whether this interpreter counts references in another way, or keeps more in its objects."""
    if sys.version_info >= (3, 13):  # older ones have no such build, and importing sysconfig takes long
        import sysconfig

        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            return True
    return hasattr(sys, "gettotalrefcount")


def _type_agrees(value: object) -> bool:
    return ctypes.c_void_p.from_address(id(value) + 8).value == id(type(value))


def _fields_agree(array: np.ndarray[Any, Any]) -> bool:
    if type(array).__basicsize__ < 72 or not _type_agrees(array):
        return False
    header = ctypes.string_at(id(array), 72)
    data, rank = struct.unpack_from("=Qi", header, 16)
    shape, strides, _, dtype, flags = struct.unpack_from("=QQQQi", header, 32)
    right = (data, rank, dtype) == (array.__array_interface__["data"][0], array.ndim, id(array.dtype))
    if not right or bool(flags & 0x400) != array.flags.writeable or bool(flags & 0x100) != array.flags.aligned:
        return False
    count = ctypes.c_int64 * array.ndim
    return rank == 0 or (
        tuple(count.from_address(shape)) == array.shape and tuple(count.from_address(strides)) == array.strides
    )


# -- torch


def torch_ready() -> bool:
    """Return whether torch's DLPack C exchange API was found and entered into the table of objects.

    The API is a table: version (two 32-bit numbers, major 1), previous table, then functions, of which the fourth
    fills a DLTensor from a tensor without a new reference and without synchronising.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    table = native().table
    if table[_EXPORT] is None:
        found = _find_torch_export(torch)
        if found is None:
            return False
        table[_INCREMENT] = id(torch._C._increment_version)
        table[_EXPORT] = found
    return True


def _find_torch_export(torch: Any) -> int | None:
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if capsule is None or not hasattr(torch._C, "_increment_version"):
        return None
    get = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    try:
        api = get(capsule() if callable(capsule) else capsule, b"dlpack_exchange_api")
    except ValueError:  # a capsule of another kind
        return None
    if ctypes.c_uint32.from_address(api).value != 1:
        return None
    return ctypes.c_void_p.from_address(api + 40).value
