"""Generated code comes back from the disk as it was made, and only for what it was made from."""

from __future__ import annotations

import pytest

import pypto
from pypto import tile
from pypto.codegen.llvm.code import Layout
from pypto.codegen.llvm.emitter import emit
from pypto.runtime.code_cache import cached_code, read_code, write_code
from pypto.runtime.toolchain import host_machine


@tile
def kernel(x, out, s=2.0):
    out[:] = pypto.nn.softmax(x * s, axis=-1)


def module(extent):
    return pypto.compile(kernel, target="reference", shapes={"x": (5, extent), "out": (5, extent)}).module_at("tile")


def counting(calls):
    def emit_once(*inputs):
        calls.append(inputs)
        return emit(*inputs)

    return emit_once


def test_code_survives_the_way_to_disk_and_back():
    code = emit(module(70), {}, host_machine())
    assert read_code(write_code(code)) == code


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2]", b"\xff", b'["", [["x", "array", "f33", 0]], [], 0, 0, []]'])
def test_foreign_content_is_a_miss(content):
    assert read_code(content) is None


def test_the_emitter_runs_once_for_one_module_layout_and_machine(tmp_path):
    calls, machine = [], host_machine()
    with pypto.settings(cache=str(tmp_path / "cache")):
        first = cached_code(module(70), {}, machine, counting(calls))
        assert cached_code(module(70), {}, machine, counting(calls)) == first
        assert len(calls) == 1
        cached_code(module(71), {}, machine, counting(calls))
        cached_code(module(70), {"x": Layout((1, 5))}, machine, counting(calls))
        assert len(calls) == 3


def test_off_means_off(tmp_path):
    calls = []
    with pypto.settings(cache="off"):
        for _ in range(2):
            cached_code(module(70), {}, host_machine(), counting(calls))
    assert len(calls) == 2
