"""Compiling one candidate to an artefact: what a worker does for a job, and what it is sent and gives back.

An artefact is a folder. For target cpu it holds the object code (``kernel.o``) and how to call it (``code.json``, as
runtime.code_cache writes it). For targets ascendc and npu it holds the planned IR (``planned.pto``), the source
(``kernel.cpp``) and, where there is a C++ compiler, the program of the host model (``host_program``).
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto.ir.base import settings
from pypto.ir.base.errors import UserError

if TYPE_CHECKING:
    from pypto.codegen.llvm.code import Machine
    from pypto.runtime.tuning.candidate import Candidate

OBJECT, CODE = "kernel.o", "code.json"
PLANNED, SOURCE, HOST_PROGRAM = "planned.pto", "kernel.cpp", "host_program"
_SENT_SETTINGS = ("cache", "num_threads", "vector_bits", "verify", "override", "cube_limit", "vector_limit")

_PATHS = ("cache", "override")


@dataclass(frozen=True, slots=True)
class CompileJob:
    """One candidate to compile: plain data, all that a worker needs.

    module: text of the module, its kernels carrying the candidate's schedule. layouts: strides in elements of each
    array parameter. machine: the processor (target cpu). folder: where the artefact is published.
    """

    candidate: Candidate
    module: str
    layouts: Mapping[str, tuple[int, ...]]
    target: str
    machine: Machine | None
    folder: Path

    def message(self) -> dict[str, Any]:
        """Return the job as JSON, with the settings that change code."""
        return {
            "module": self.module,
            "layouts": {name: list(strides) for name, strides in self.layouts.items()},
            "target": self.target,
            "machine": dataclasses.astuple(self.machine) if self.machine else None,
            "folder": os.path.abspath(self.folder),
            "settings": sent_settings(_SENT_SETTINGS),
        }


def sent_settings(names: Iterable[str]) -> dict[str, Any]:
    """Return the settings in force called `names` for a process in another folder: paths are absolute."""
    values = {name: getattr(settings.current(), name) for name in names}
    paths = {
        name: os.path.abspath(value) for name, value in values.items() if name in _PATHS and value not in ("", "off")
    }
    return {**values, **paths}


@dataclass(frozen=True, slots=True)
class CompiledCandidate:
    """A candidate's artefact: its folder, the SHA-256 of each file in it by name, seconds that compiling took."""

    candidate: Candidate
    target: str
    folder: Path
    digests: Mapping[str, str]
    seconds: float


def compile_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Compile the job that `message` describes, publish its artefact, and return its digests and the time taken.

    Raises whatever compiling raises, and OSError when the folder cannot be written.
    """
    start = time.perf_counter()
    with settings.settings(**message["settings"], dump="", debug=0):
        make = _cpu_files if message["target"] == "cpu" else _ascendc_files
        digests = publish(Path(message["folder"]), make(message))
    return {"digests": digests, "seconds": time.perf_counter() - start}


def publish(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Make `folder` hold exactly `files` and return their SHA-256 by name.

    They are written aside and the folder is renamed, so that readers see all of them or none. Raises OSError.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(6)}")
    private.mkdir(mode=0o700)
    try:
        for name, content in files.items():
            _write(private / name, content)
        _replace(private, folder)
    finally:
        shutil.rmtree(private, ignore_errors=True)
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def _write(path: Path, content: bytes) -> None:
    mode = 0o700 if path.name == HOST_PROGRAM else 0o600
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def _replace(private: Path, folder: Path) -> None:
    """Rename `private` to `folder`; a folder that is there moves aside first, since it may be damaged."""
    while True:
        try:
            private.rename(folder)
            return
        except OSError:
            if not folder.exists():
                raise
        old = private.with_name(f"{private.name}.old")
        with contextlib.suppress(FileNotFoundError):  # somebody else moved it first
            folder.rename(old)
        shutil.rmtree(old, ignore_errors=True)


def _cpu_files(message: Mapping[str, Any]) -> dict[str, bytes]:
    from pypto.codegen.llvm.code import Layout, Machine
    from pypto.codegen.llvm.emitter import emit
    from pypto.ir.parser import parse_module
    from pypto.runtime.code_cache import cached_code, write_code
    from pypto.runtime.toolchain import object_code

    module = parse_module(message["module"])
    machine = Machine(*message["machine"])
    layouts = {name: Layout(tuple(strides)) for name, strides in message["layouts"].items()}
    code = cached_code(module, layouts, machine, emit)
    return {OBJECT: object_code(code.text, machine), CODE: write_code(code)}


def _ascendc_files(message: Mapping[str, Any]) -> dict[str, bytes]:
    from pypto.codegen.ascendc.emitter import emit
    from pypto.ir.parser import parse_module
    from pypto.ir.passes.manager import run_passes
    from pypto.ir.passes.pipeline import NPU_PASSES
    from pypto.ir.printer import print_module

    module = parse_module(message["module"])
    left = [item for item in NPU_PASSES if item.needs.rank >= module.level.rank]
    planned, _ = run_passes(module, left)
    source = emit(planned)
    files = {PLANNED: print_module(planned).encode(), SOURCE: source.encode()}
    program = _host_program(source, planned.name)
    return files if program is None else {**files, HOST_PROGRAM: program}


def _host_program(source: str, name: str) -> bytes | None:
    from pypto.runtime.ascendc_host.driver import build

    try:
        return build(source, file=f"{name}.asc").path.read_bytes()
    except UserError as error:
        if error.name != "no-compiler":
            raise
        return None
