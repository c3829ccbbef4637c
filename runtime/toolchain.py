"""From LLVM IR text to machine code in memory, in this process, without a system compiler.

Text is parsed, verified and run through the code generator at level O2 alone: kernels come with explicit vectors, and
no pass pipeline is both faster to compile and faster to run. Object code goes through the disk cache and is linked by
LLJIT, one JIT per library, so that freeing a library frees all of it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pypto.codegen.llvm.code import CpuCode, Machine
from pypto.ir.base import settings
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.runtime.object_cache import cache_at

VECTOR_BITS = (128, 256, 512)

# Held around every use of LLVM, the freeing of its objects included, and taken before a fork, so that a child never
# inherits LLVM's or llvmlite's own locks from a thread that it does not have.
LLVM_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LLVM_LOCK.acquire, after_in_parent=LLVM_LOCK.release, after_in_child=LLVM_LOCK.release)


class Library:
    """Machine code in memory. It is freed with its last reference, so whoever runs its functions keeps one."""

    def __init__(self, content: bytes, machine: Machine, symbols: Iterable[str], imports: Mapping[str, int]) -> None:
        """Link object code; raises CompilerBug when a symbol is missing."""
        import llvmlite.binding as llvm

        with LLVM_LOCK:
            builder = llvm.JITLibraryBuilder().add_object_img(content).add_current_process()
            for name, address in imports.items():
                builder.import_symbol(name, address)
            for name in symbols:
                builder.export_symbol(name)
            with contextlib.closing(_target_machine(machine)) as target:
                self._jit = llvm.create_lljit_compiler(target)
            try:
                self._tracker = builder.link(self._jit, "library")
            except RuntimeError as error:
                self._jit.close()
                raise CompilerBug("the toolchain", f"linking failed: {error}") from error

    def address(self, symbol: str) -> int:
        """Return the address of one of the exported symbols; raises KeyError for another name."""
        return int(self._tracker[symbol])

    def keep_forever(self) -> None:
        """Never free this library: threads of its own may run in it until the process ends."""
        self._tracker.detach()
        self._jit.detach()

    def __del__(self) -> None:
        # The order matters: what a JIT holds goes before the JIT.
        if hasattr(self, "_tracker") and not sys.is_finalizing():
            with LLVM_LOCK:
                self._tracker.close()
                self._jit.close()


def host_machine() -> Machine:
    """Return this processor, with the vector width that the settings ask for.

    Raises UserError ``vector-bits`` for a width that no register has.
    """
    machine = _host()
    wanted = settings.current().vector_bits
    if wanted == 0:
        return machine
    if wanted not in VECTOR_BITS:
        raise UserError("vector-bits", None, value=wanted)
    return Machine(machine.triple, machine.cpu, machine.features, wanted)


def compile_code(code: CpuCode, machine: Machine) -> Library:
    """Return the library of `code`, compiled for `machine` or found in the disk cache.

    Raises CompilerBug when LLVM rejects the text or a phase's symbol is missing.
    """
    return compile_text(code.text, machine, tuple(dict.fromkeys(phase.symbol for phase in code.phases)), {})


def compile_text(text: str, machine: Machine, symbols: Iterable[str], imports: Mapping[str, int]) -> Library:
    """Compile LLVM IR text, or find its object code in the cache, and link it with `imports` (addresses by name)."""
    return Library(object_code(text, machine), machine, symbols, imports)


def object_code(text: str, machine: Machine) -> bytes:
    """Return the object file of `text`, through the disk cache unless that is off."""
    folder = settings.current().cache
    if folder == "off":
        return emit_object(text, machine)
    cache, key = cache_at(folder), cache_key(text, machine)
    content = cache.get(key)
    if content is None:
        content = emit_object(text, machine)
        cache.put(key, content)
    return content


def cache_key(text: str, machine: Machine) -> str:
    """Return the SHA-256 of everything that decides the object code, in hexadecimal."""
    parts = (text, machine.triple, machine.cpu, machine.features, generator_fingerprint())
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def emit_object(text: str, machine: Machine) -> bytes:
    """Compile LLVM IR text for `machine`, which may be another kind of processor; raises CompilerBug when LLVM
    rejects it.
    """
    import llvmlite.binding as llvm

    with LLVM_LOCK, contextlib.ExitStack() as stack:
        target = stack.enter_context(contextlib.closing(_target_machine(machine)))
        try:
            module = stack.enter_context(contextlib.closing(llvm.parse_assembly(text)))
            module.triple = machine.triple
            module.verify()
        except RuntimeError as error:
            raise CompilerBug("the LLVM emitter", str(error).strip()) from error
        return bytes(target.emit_object(module))


def functions_in(text: str) -> set[str]:
    """Return the names of the functions that LLVM IR `text` defines; raises ValueError with what is wrong, line, column
    (0 where LLVM names no place).
    """
    import llvmlite.binding as llvm

    with LLVM_LOCK:
        try:
            with contextlib.closing(llvm.parse_assembly(text)) as module:
                module.verify()
                return {function.name for function in module.functions if not function.is_declaration}
        except RuntimeError as error:
            place = _PLACE.search(str(error))
            if place is None:
                raise ValueError(" ".join(str(error).split()), 0, 0) from None
            raise ValueError(place["why"], int(place["line"]), int(place["column"])) from None


_PLACE = re.compile(r"<string>:(?P<line>\d+):(?P<column>\d+): error: (?P<why>.*)")


@functools.lru_cache(maxsize=1)
def generator_fingerprint() -> str:
    """Return a hash of LLVM's version and of the sources that make and compile LLVM IR."""
    import llvmlite
    import llvmlite.binding as llvm

    from pypto.codegen import llvm as generator

    digest = hashlib.sha256(repr((llvmlite.__version__, llvm.llvm_version_info)).encode())
    folder = Path(str(generator.__file__)).parent
    for file in [*sorted(folder.rglob("*.py")), Path(__file__)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.lru_cache(maxsize=1)
def _host() -> Machine:
    import llvmlite.binding as llvm

    with LLVM_LOCK:
        features = llvm.get_host_cpu_features()
        triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
    bits = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    return Machine(triple, cpu, features.flatten(), bits)


@functools.lru_cache(maxsize=2)
def _initialize(foreign: bool) -> None:
    import llvmlite.binding as llvm

    if foreign:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    else:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()


def _target_machine(machine: Machine) -> Any:
    """Return a new llvmlite target machine, to be closed under the lock."""
    import llvmlite.binding as llvm

    _initialize(machine.triple.split("-")[0] != _native_architecture())
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(cpu=machine.cpu, features=machine.features, opt=2, jit=True)


def _native_architecture() -> str:
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
