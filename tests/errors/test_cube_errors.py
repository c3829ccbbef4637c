"""Text and place of mistakes with the cube core: written by hand, and kernels that it cannot run."""

from __future__ import annotations

import pytest

from passes.kernels import KernelBuilder
from pypto.ir.base.errors import UserError
from pypto.ir.parser import parse_module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

TEXT = """pto 1

@fusion(sub_blocks = ["half"])
kernel handed(x: gm f32[16, 16], between: inout gm f32[16, 16]) -> (out: gm f32[16, 16]) level planned {
  buffer @x : l1 f32[16, 16] depth 1 address 0
  buffer @a : l0a f32[16, 16] depth 1 address 0
  buffer @b : l0b f32[16, 16] depth 1 address 0
  buffer @c : l0c f32[16, 16] depth 1 address 0
  buffer @u : ub f32[8, 16] depth 1 address 0
  %start @c = undefined {dtype = f32, shape = [16, 16]}
  %x @x = load x[0 : 16, 0 : 16]
  %a @a = load_a %x {ranges = [[0, 16, 1], [0, 16, 1]], shape = [16, 16], transposed = false}
  %b @b = load_b %x {ranges = [[0, 16, 1], [0, 16, 1]], shape = [16, 16], transposed = false}
  %c @c = mmad %start, %a, %b {turn = 0}
  %f @c = fixpipe %c {dtype = f32, relu = false, shape = [16, 16]}
  store between[0 : 16, 0 : 16], %f
  set_cross_flag {core = "cube", id = 0, pipe = "FIX"}
  for %half = 0 to 2 {
    wait_cross_flag {core = "vector", id = 0}
    %u @u = load between[%half * 8 : 8, 0 : 16]
    store out[%half * 8 : 8, 0 : 16], %u
  }
}
"""

CASES = {
    "l0a from l0b": ("wrong-memory", "%a @a = load_a", "%a @b = load_a", 12, "%a lies in l0b", "l0a"),
    "part of a matrix": ("cube-matrix", "shape = [16, 16], transposed", "shape = [16, 8], transposed", 12, "16, 16"),
    "stored as it is": ("fixpipe-use", "16], %f", "16], %c", 16, "%c", "fixpipe"),
    "never waited for": ("cross-flag", '    wait_cross_flag {core = "vector", id = 0}\n', "", 4, "left at 1"),
    "never counted up": ("cross-flag", '  set_cross_flag {core = "cube", id = 0, pipe = "FIX"}\n', "", 18, "flag 0"),
    "no such flag": ("cross-flag", 'core = "cube", id = 0, pipe', 'core = "cube", id = 11, pipe', 17, "from 0 to 10"),
    "three halves": ("sub-blocks", "0 to 2", "0 to 3", 18, "2 vector cores", "0 to 2"),
    "no fractals": ("buffer-shape", "@c : l0c f32[16, 16]", "@c : l0c f32[256, 1]", 8, "fractals"),
}


@pytest.mark.parametrize("case", CASES)
def test_written_by_hand(case: str) -> None:
    name, before, after, line, *parts = CASES[case]
    assert before in TEXT
    with pytest.raises(UserError) as caught:
        parse_module(TEXT.replace(before, after, 1))
    assert caught.value.name == name
    assert caught.value.location is not None
    assert caught.value.location.line == line
    for part in parts:
        assert part in str(caught.value)


def test_the_text_itself_is_right() -> None:
    assert parse_module(TEXT).kernels[0].name == "handed"


def test_more_waiting_than_there_are_flags() -> None:
    k = KernelBuilder("long")
    x, y = k.input("x", (16, 16)), k.input("y", (16, 16))
    for _ in range(7):
        x = k.op("abs", k.op("matmul", x, y))
    k.output("out", x)
    with pytest.raises(UserError) as caught:
        run_passes(k.module(), NPU_PASSES)
    assert caught.value.name == "cross-flags"
    assert "kernel long" in str(caught.value)
    assert "there are 11 flags" in str(caught.value)
    assert caught.value.location is not None
