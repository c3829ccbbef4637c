"""Text and place of the mistakes in AscendC that is to run on the host model, and in what is passed to it."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.cli_check_source import _argument, _mode, print_reports
from pypto.ir.base.errors import UserError
from pypto.ir.base.settings import settings
from pypto.runtime.ascendc_host import toolchain
from pypto.runtime.ascendc_host.driver import check
from pypto.runtime.ascendc_host.report import Counters, Finding, Report

TWO = """#include "kernel_operator.h"

__global__ __vector__ void first(GM_ADDR x) {}
__global__ __vector__ void second(GM_ADDR x, uint32_t count) {}
"""
X = np.zeros(8, np.float32)


def error(name: str, line: int | None, *parts: str, call) -> None:
    with pytest.raises(UserError) as caught:
        call()
    assert caught.value.name == name, str(caught.value)
    if line is not None:
        assert caught.value.location is not None
        assert (caught.value.location.file, caught.value.location.line) == ("two.cpp", line)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_which_kernel():
    error("which-kernel", 1, "first, second", "--kernel", call=lambda: check(TWO, [X], file="two.cpp"))


def test_no_such_kernel():
    error("no-such-kernel", 1, "'third'", "first, second", call=lambda: check(TWO, [X], kernel="third", file="two.cpp"))


def test_kernel_arguments():
    error(
        "kernel-arguments",
        4,
        "kernel second takes 2 arguments (x, count), 1 were given",
        call=lambda: check(TWO, [X], kernel="second", file="two.cpp"),
    )


def test_kernel_does_not_compile():
    error(
        "kernel-does-not-compile",
        3,
        "nonsense",
        call=lambda: check('#include "kernel_operator.h"\n\nvoid f() { nonsense(); }\n', [], file="two.cpp"),
    )


def test_kernel_includes_what_is_not_there():
    text = '#include "kernel_operator.h"\n#include "nowhere.h"\n'
    error("kernel-does-not-compile", 2, "nowhere.h", call=lambda: check(text, [], file="two.cpp"))


def test_kernel_build_time(monkeypatch, tmp_path):
    script = tmp_path / "slow"
    script.write_text('#!/bin/sh\ncase "$*" in *--version*) echo slow 1;; *) sleep 60;; esac\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setattr(toolchain, "BUILD_SECONDS", 0.5)
    with settings(cache=str(tmp_path / "cache")):
        error(
            "kernel-build-time",
            1,
            "the C++ compiler slow did not end within 0.5 s",
            "CXX",
            call=lambda: check(TWO, [X], kernel="first", file="two.cpp"),
        )


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    error("no-compiler", None, "$CXX, g++, clang++", call=lambda: toolchain.find_compiler("absent"))


@pytest.mark.parametrize("text", ["x", "zeros:nonsense[3]", "1..2"])
def test_check_argument(text):
    error("check-argument", None, repr(text), "workspace:4096", call=lambda: _argument(text, np.random.default_rng(0)))


def test_check_argument_of_a_file(tmp_path):
    def read(name):
        return lambda: _argument(str(tmp_path / name), np.random.default_rng(0))

    error("check-argument", None, "cannot read the file: No such file", call=read("nowhere.npy"))
    (tmp_path / "text.npy").write_text("1, 2, 3")
    error("check-argument", None, "it is not an array that numpy.save wrote", call=read("text.npy"))
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    error("check-argument", None, "it is not an array that numpy.save wrote", call=read("objects.npy"))


def test_check_mode():
    error("check-argument", None, "'erly'", "early", call=lambda: _mode("erly"))


def test_a_finding_of_several_modes_is_printed_once(capsys):
    counters = Counters({}, {}, launches=1, cores=2)
    early = Finding("race", "core 0 writes byte 0", "two.cpp", 5, "two.cpp", 4, core=0)
    late = Finding("race", "core 1 writes byte 64", "two.cpp", 4, "two.cpp", 5, core=1)
    other = Finding("race", "core 1 writes byte 64", "two.cpp", 6, "two.cpp", 5, core=1)
    found = {"early": (early,), "late": (late, other)}
    print_reports({mode: Report({}, findings, counters) for mode, findings in found.items()})
    printed = capsys.readouterr().out
    assert "core 0 writes byte 0" in printed and "two.cpp:4: error" not in printed
    assert "(modes: early, late)" in printed and "(modes: late)" in printed
    assert "2 findings on 2 cores" in printed
