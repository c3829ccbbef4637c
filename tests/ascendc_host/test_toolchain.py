"""Choosing a compiler, and the precompiled header that each of them wants."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pypto.ir.base.errors import UserError
from pypto.ir.base.settings import settings
from pypto.runtime.ascendc_host import toolchain

CLANG = """
import subprocess, sys
from pathlib import Path

arguments = sys.argv[1:]
if "--version" in arguments:
    print("clang version 19")
elif "c++-header" in arguments:
    Path(arguments[-1]).write_text(arguments[arguments.index("c++-header") + 1])
else:
    place = arguments.index("-include-pch")
    header = Path(Path(arguments[place + 1]).read_text())
    if not header.exists():
        sys.exit(f"error: could not find file '{header}' referenced by AST file")
    done = subprocess.run(["g++", *arguments[:place], "-fsyntax-only", *arguments[place + 2 : -2]], stdin=sys.stdin)
    Path(arguments[-1]).write_text("program")
    sys.exit(done.returncode)
"""


def test_clang_finds_the_header_that_it_precompiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It remembers where the header was."""
    (tmp_path / "clang.py").write_text(CLANG)
    monkeypatch.setenv("CXX", f"{sys.executable} {tmp_path / 'clang.py'}")
    with settings(cache=str(tmp_path / "cache")):
        for number in range(2):
            program = toolchain.build(f"int main() {{ return {number}; }}\n", "kernel.cpp")
            assert program.read_text() == "program"
        names = {path.name for path in (tmp_path / "cache" / "ascendc_host").glob("prefix-*/*")}
    assert names == {"prefix.h", "prefix.pch", "tried"}


def test_a_compiler_that_cannot_precompile_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "plain"
    script.write_text('#!/bin/sh\ncase "$*" in *c++-header*) exit 1;; *) exec g++ "$@";; esac\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setattr(toolchain, "PREFIX", "#include <cstdio>\n")
    with settings(cache=str(tmp_path / "cache")):
        program = toolchain.build('int main() { std::puts("there"); }\n', "kernel.cpp")
    assert program.exists()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_candidates", lambda wanted: [("no-such-compiler",)])
    toolchain.find_compiler.cache_clear()
    with pytest.raises(UserError, match=r"no-compiler|compiler"):
        toolchain.find_compiler("nothing")
    toolchain.find_compiler.cache_clear()


SLOW = """#!/bin/sh
case "$*" in
*--version*) echo slow 1;;
*c++-header*) exit 1;;
*) touch started; sleep 60 & echo $! > child; wait;;
esac
"""
BUILD = """
import sys
from pypto.ir.base.settings import settings
from pypto.runtime.ascendc_host import toolchain

with settings(cache=sys.argv[1]):
    toolchain.build("int main() {}", "kernel.cpp")
"""


def is_alive(number: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    stat = Path(f"/proc/{number}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_interrupt_during_the_build_ends_the_compiler(tmp_path: Path) -> None:
    """The compiler itself and what it started; nothing half built stays in the cache."""
    script = tmp_path / "slow"
    script.write_text(SLOW)
    script.chmod(0o755)
    environment = {**os.environ, "CXX": str(script)}
    command = [sys.executable, "-c", BUILD, str(tmp_path / "cache")]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE) as child:
        assert wait_for((tmp_path / "child").exists)
        assert wait_for(lambda: (tmp_path / "child").read_text().strip() != "")
        child.send_signal(signal.SIGINT)
        _, complaint = child.communicate(timeout=20)
    assert b"KeyboardInterrupt" in complaint
    sleeper = int((tmp_path / "child").read_text())
    assert wait_for(lambda: not is_alive(sleeper))
    left = {path.name for path in (tmp_path / "cache" / "ascendc_host").iterdir()}
    assert all(name.startswith("prefix-") for name in left), left


def test_time_limit_of_a_build_ends_what_the_compiler_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "slow"
    script.write_text(SLOW)
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setattr(toolchain, "BUILD_SECONDS", 1.0)
    monkeypatch.chdir(tmp_path)
    begin = time.monotonic()
    with settings(cache=str(tmp_path / "cache")), pytest.raises(UserError, match="did not end within 1 s"):
        toolchain.build("int main() {}", "kernel.cpp")
    assert time.monotonic() - begin < 20
    sleeper = int((tmp_path / "child").read_text())
    assert wait_for(lambda: not is_alive(sleeper))
