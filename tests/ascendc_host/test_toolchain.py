"""Choosing a compiler, and the precompiled header that each of them wants."""

from __future__ import annotations

import sys
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
