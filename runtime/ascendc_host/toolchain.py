"""Building kernels for this machine with a C++17 compiler; programs are kept in the cache folder by their content."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import UNKNOWN, Location

INCLUDE = Path(__file__).parent / "include"
"""The folder that holds `kernel_operator.h`."""

FLAGS = ("-std=c++17", "-O1", "-pthread", "-w", "-Wno-narrowing", "-fno-strict-aliasing", "-ffp-contract=off")
PREFIX = '#include "acl/acl.h"\n#include "kernel_operator.h"\n#include "ascendc_host/job.h"\n'
BUILD_SECONDS = 300.0
"""How long one run of the compiler may take; a kernel of a thousand lines takes three on a free machine."""

MOST_PROGRAMS = 256
MOST_HEADERS = 2
ABANDONED_AFTER = 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler: the words that start it, and what its version says."""

    command: tuple[str, ...]
    version: str
    machine_flags: tuple[str, ...]


@functools.lru_cache(maxsize=8)
def find_compiler(wanted: str = "") -> Compiler:
    """Return `$CXX`, g++, clang++ or pip's ziglang, the first that is there; raises UserError when none is."""
    for command in _candidates(wanted):
        if shutil.which(command[0]) is None:
            continue
        shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        if shown.returncode == 0:
            return Compiler(command, shown.stdout, _machine_flags())
    raise UserError("no-compiler", UNKNOWN, tried="$CXX, g++, clang++, ziglang")


def _candidates(wanted: str) -> Iterable[tuple[str, ...]]:
    if wanted:
        yield tuple(shlex.split(wanted))
    yield ("g++",)
    yield ("clang++",)
    if importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-m", "ziglang", "c++")


def _machine_flags() -> tuple[str, ...]:
    return ("-mf16c",) if platform.machine() in ("x86_64", "AMD64") and _has_f16c() else ()


@functools.cache
def _has_f16c() -> bool:
    try:
        return " f16c" in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False


@functools.cache
def headers_digest() -> str:
    """Return a digest of the model's headers: programs built with others are not used."""
    digest = hashlib.sha256()
    for path in sorted(INCLUDE.rglob("*.h")):
        digest.update(path.relative_to(INCLUDE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _stamps() -> tuple[tuple[str, int], ...]:
    """When each header was written: compilers take a header that was touched for another than the precompiled one."""
    return tuple((str(path), path.stat().st_mtime_ns) for path in sorted(INCLUDE.rglob("*.h")))


def folder() -> Path:
    """Return where programs are kept: in the cache folder, or for this process alone when the cache is off."""
    from pypto.ir.base.settings import current

    chosen = current().cache
    return _own_folder() if chosen == "off" else Path(chosen).expanduser() / "ascendc_host"


@functools.cache
def _own_folder() -> Path:
    place = Path(tempfile.mkdtemp(prefix="pypto-programs-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _prune() -> None:
    """Keep the newest programs and precompiled headers, and whatever was used within the hour."""
    entries = [path for path in folder().iterdir() if not path.name.startswith(".")]
    for paths, most in (
        ([path for path in entries if path.is_file()], MOST_PROGRAMS),
        ([path for path in entries if path.is_dir()], MOST_HEADERS),
    ):
        aged = sorted(paths, key=_used, reverse=True)
        for path in aged[most:]:
            if time.time() - _used(path) > ABANDONED_AFTER:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _used(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def build(text: str, name: str, include: tuple[Path, ...] = (), defines: tuple[str, ...] = ()) -> Path:
    """Compile C++ `text` (called `name` in messages) to a program.

    Raises UserError with what the compiler said, or when it takes longer than BUILD_SECONDS.
    """
    compiler = find_compiler(os.environ.get("CXX", ""))
    options = (*FLAGS, *compiler.machine_flags, *(f"-D{define}" for define in defines))
    extra = [path.read_bytes() for place in include for path in sorted(place.glob("*.h"))]
    parts = [
        text.encode(),
        compiler.version.encode(),
        repr(compiler.command + options).encode(),
        headers_digest().encode(),
        *extra,
    ]
    key = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
    program = folder() / key[:40]
    if not program.exists():
        folder().mkdir(parents=True, exist_ok=True)
        places = [f"-I{path}" for path in (INCLUDE, *include)]
        _compile(compiler, [*options, *places], text, program, name)
    return program


def _compile(compiler: Compiler, options: list[str], text: str, program: Path, name: str) -> None:
    private = program.with_name(f".{program.name}.{secrets.token_hex(6)}")
    prefix = _prefix(compiler, [option for option in options if not option.startswith(("-D", "-I"))], name)
    command = [*compiler.command, *options, *prefix, "-x", "c++", "-", "-o", str(private)]
    try:
        code, complaint = _run(command, name, text)
        if code != 0:
            place, message = _first_error(complaint, name)
            raise UserError("kernel-does-not-compile", place, message=message)
        private.replace(program)
    finally:
        private.unlink(missing_ok=True)


def _run(command: list[str], name: str, text: str = "") -> tuple[int, str]:
    """Run a compiler on `text`; return its code and its complaint. Whatever ends the wait ends all that it started."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            _, complaint = process.communicate(text, timeout=BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise UserError(
                "kernel-build-time", Location(name, 1, 1), compiler=Path(command[0]).name, seconds=BUILD_SECONDS
            ) from None
        except BaseException:
            _kill(process)
            raise
    return process.returncode, complaint


def _kill(process: subprocess.Popen[str]) -> None:
    """A compiler is a driver with children, which keep its pipes open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _first_error(text: str, name: str) -> tuple[Location, str]:
    """Return place and text of a compiler's first error; of one in a header, the first line of file `name`."""
    lines = text.strip().splitlines()
    line = next((line for line in lines if "error" in line), lines[0] if lines else "it says nothing")
    found = re.match(re.escape(name) + r":(\d+):(\d+): (?:fatal )?error: (.*)", line)
    return (Location(name, int(found[1]), int(found[2])), found[3]) if found else (Location(name, 1, 1), line)


def _prefix(compiler: Compiler, options: list[str], name: str) -> list[str]:
    """Return options that include the model's headers, precompiled when the compiler can."""
    key = hashlib.sha256(repr((compiler, options, headers_digest(), _stamps(), PREFIX)).encode()).hexdigest()[:24]
    place = folder() / f"prefix-{key}"
    header = place / "prefix.h"
    is_clang = "clang" in compiler.version
    compiled = place / ("prefix.pch" if is_clang else "prefix.h.gch")
    if not (place / "tried").exists():
        place.mkdir(parents=True, exist_ok=True)
        _precompile(compiler, options, header, compiled, name)
        (place / "tried").touch()
        _prune()
    with contextlib.suppress(OSError):
        os.utime(place)
    if is_clang and compiled.exists():
        return ["-include-pch", str(compiled)]
    return ["-include", str(header)]


def _precompile(compiler: Compiler, options: list[str], header: Path, compiled: Path, name: str) -> None:
    """Write `header`, once, and what it compiles to. Clang remembers its path and time: neither may change."""
    mark = secrets.token_hex(6)
    if not header.exists():
        text = header.with_name(f".{mark}.h")
        text.write_text(PREFIX, encoding="utf-8")
        try:
            os.link(text, header)
        except FileExistsError:  # somebody else was faster
            pass
        except OSError:  # no links here
            text.replace(header)
        text.unlink(missing_ok=True)
    private = compiled.with_name(f".{mark}.{compiled.name}")
    command = [*compiler.command, *options, f"-I{INCLUDE}", "-x", "c++-header", str(header), "-o", str(private)]
    try:
        code, _ = _run(command, name)
        if code == 0 and private.exists() and not compiled.exists():
            private.replace(compiled)
    finally:
        private.unlink(missing_ok=True)
