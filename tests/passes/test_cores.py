"""All blocks of a kernel at once: races between blocks, barriers that wait for ever, and the cycle in words."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.ir.engine import clocks, cores, values
from pypto.ir.engine.cores import crossing_faults
from pypto.ir.engine.machine import Order
from pypto.ir.nodes import Kernel, Operation
from pypto.ir.parser import parse_module

HEAD = """pto 1

module m(x: gm f32[4, 8]) -> (y: gm f32[4, 8], z: gm f32[4, 8])

kernel k(x: gm f32[4, 8]) -> (y: gm f32[4, 8], z: gm f32[4, 8]) level planned {
  grid %core : 4
  buffer @b0 : ub f32[1, 8] depth 1 address 0
  buffer @b1 : ub f32[1, 8] depth 1 address 256
"""
FIRST = """  %a @b0 = load x[%core : 1, 0 : 8] : f32[1, 8]
  set_flag {destination = "MTE3", id = 0, source = "MTE2"}
  wait_flag {destination = "MTE3", id = 0, source = "MTE2"}
  store y[%core : 1, 0 : 8], %a
"""
SECOND = """  %b @b1 = load y[3 - %core : 1, 0 : 8] : f32[1, 8]
  set_flag {destination = "MTE3", id = 1, source = "MTE2"}
  wait_flag {destination = "MTE3", id = 1, source = "MTE2"}
  store z[%core : 1, 0 : 8], %b
"""


def set_(number: int) -> str:
    return f"  set_barrier {{barrier_id = {number}, participants = 4}}\n"


def wait(number: int) -> str:
    return f"  wait_barrier {{barrier_id = {number}}}\n"


def kernel(*parts: str) -> Kernel:
    (made,) = parse_module(HEAD + "".join(parts) + "}\n").kernels
    return made


def choice(then: str, other: str) -> str:
    return f"  if %core < 2 {{\n{then}  }} else {{\n{other}  }}\n"


def what(made: Kernel) -> list[str]:
    return [fault.what for fault in crossing_faults(made)]


def test_a_barrier_orders_blocks():
    made = kernel(FIRST, set_(0), wait(0), SECOND)
    assert clocks.faults(made) == []
    for seed in range(20):
        arrays = {"x": np.arange(32, dtype=np.float32).reshape(4, 8), "y": np.zeros((4, 8), np.float32)}
        arrays["z"] = np.zeros((4, 8), np.float32)
        assert values.execute(made, arrays, Order("random", seed), {}) == []
        np.testing.assert_array_equal(arrays["z"], arrays["x"][::-1])


def test_without_it_blocks_race():
    (fault,) = [fault for fault in clocks.faults(kernel(FIRST, SECOND)) if "blocks" in fault.what]
    assert fault.what == "blocks 0 and 3 race on gm:y"
    assert (fault.other.target, fault.statement.source) == ("y", "y")


@pytest.mark.parametrize(
    "parts", [(set_(0), wait(0), FIRST, SECOND), (FIRST, SECOND, set_(0), wait(0)), (set_(0), FIRST, wait(0), SECOND)]
)
def test_a_barrier_at_another_place_orders_nothing(parts):
    assert "blocks 0 and 3 race on gm:y" in what(kernel(*parts))


def test_what_is_read_again_is_not_overwritten_before():
    overwrite = SECOND.replace("load y[3 - %core", "load x[%core").replace("store z[%core", "store y[3 - %core")
    assert what(kernel(FIRST, set_(0), wait(0), overwrite)) == []
    assert what(kernel(FIRST, overwrite)) == ["blocks 0 and 3 race on gm:y"]


def test_barriers_in_different_orders_wait_for_ever():
    made = kernel(choice(set_(0) + wait(0) + set_(1) + wait(1), set_(1) + wait(1) + set_(0) + wait(0)))
    text = "deadlock: block 0 waits at barrier 0 for block 2, which waits at barrier 1 for block 0"
    assert what(made) == [text]
    arrays = {name: np.zeros((4, 8), np.float32) for name in "xyz"}
    assert text in [fault.what for fault in values.execute(made, arrays, Order("early"), {})]


def test_a_block_that_ends_is_waited_for_in_vain():
    made = kernel(choice(set_(0) + wait(0), FIRST))
    assert what(made) == ["deadlock: block 0 waits at barrier 0 for block 2, which ends without setting it"]


def test_a_barrier_can_be_used_again():
    made = kernel(
        FIRST, set_(0), wait(0), SECOND, set_(0), wait(0), SECOND.replace("%b", "%c").replace("3 -", "2 + 1 -")
    )
    assert what(made) == []


def test_blocks_that_share_nothing_need_no_barrier():
    assert clocks.faults(kernel(FIRST)) == []


@pytest.mark.parametrize("seed", range(40))
def test_races_are_those_of_all_pairs(seed, monkeypatch):
    """Whatever part of the touches is compared with whatever other: each by a statement of its own."""
    monkeypatch.setattr(cores, "ROWS", 3)
    generator = np.random.default_rng(seed)
    rank, touches = int(generator.integers(0, 3)), []
    for _ in range(int(generator.integers(1, 25))):
        low = generator.integers(0, 8, rank)
        box = tuple(
            (int(first), int(first + size)) for first, size in zip(low, generator.integers(0, 4, rank), strict=True)
        )
        block, told, knows = (int(number) for number in generator.integers(0, 3, 3))
        statement = Operation("pipe_barrier", (), (), ())
        touches.append(cores.Touch(block, box, bool(generator.random() < 0.5), told, knows, statement))
    expected = {
        frozenset((id(one.statement), id(other.statement)))
        for one in touches
        for other in touches
        if one.block != other.block and (one.is_write or other.is_write)
        if one.told >= other.knows and other.told >= one.knows
        if all(a[0] < b[1] and b[0] < a[1] for a, b in zip(one.box, other.box, strict=True))
    }
    found = {frozenset((id(fault.statement), id(fault.other))) for fault in cores._races(touches)}
    assert found == expected
