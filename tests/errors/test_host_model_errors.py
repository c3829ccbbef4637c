"""Text and place of the mistakes in AscendC that is to run on the host model, and in what is passed to it."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.cli_check_source import _argument, _mode
from pypto.ir.base.errors import UserError
from pypto.runtime.ascendc_host import toolchain
from pypto.runtime.ascendc_host.driver import check

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
        1,
        "two.cpp:3",
        "nonsense",
        call=lambda: check('#include "kernel_operator.h"\n\nvoid f() { nonsense(); }\n', [], file="two.cpp"),
    )


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    error("no-compiler", None, "$CXX, g++, clang++", call=lambda: toolchain.find_compiler("absent"))


@pytest.mark.parametrize("text", ["x", "zeros:nonsense[3]", "1..2"])
def test_check_argument(text):
    error("check-argument", None, repr(text), "workspace:4096", call=lambda: _argument(text, np.random.default_rng(0)))


def test_check_mode():
    error("check-argument", None, "'erly'", "early", call=lambda: _mode("erly"))
