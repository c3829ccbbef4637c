"""Kernels that do not need each other run at one time, with workspaces of their own, and give the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import Barrier, Dependency, DependencyGraph, tile
from pypto.codegen.llvm.code import Phase
from pypto.codegen.llvm.joint import Part, joined
from pypto.ir.dtypes import F32
from pypto.ir.nodes import Kernel, Parameter, Role, TileType


def part(name: str, reads: str, writes: str, items: tuple[int, ...], workspace: int = 0) -> Part:
    type_ = TileType(F32, (4,))
    parameters = [Parameter(item, type_, Role.IN) for item in reads]
    parameters += [Parameter(item, type_, Role.OUT) for item in writes]
    phases = [Phase(f"{name}_{number}", count, 2) for number, count in enumerate(items)]
    return Part(Kernel(name, tuple(parameters), (), ()), phases, workspace)


def names(*parts: Part) -> list[tuple[str, int, int]]:
    return [(phase.symbol, phase.items, phase.grain) for phase in joined(parts, "#0").phases]


def test_kernels_start_when_what_they_need_is_there():
    parts = (
        part("a", "x", "y", (5, 6)),
        part("b", "x", "z", (7,)),
        part("c", "yz", "w", (9,)),
        part("d", "z", "v", (1,)),
    )
    assert names(*parts) == [("pypto_joint_0", 3 + 4, 1), ("pypto_joint_1", 3 + 1, 1), ("c_0", 9, 2)]


@pytest.mark.parametrize(("reads", "writes"), [("y", "z"), ("x", "y"), ("z", "x")])
def test_kernels_that_share_what_is_written_follow_each_other(reads, writes):
    assert names(part("a", "x", "y", (5,)), part("b", reads, writes, (5,))) == [("a_0", 5, 2), ("b_0", 5, 2)]


def test_workspaces_do_not_meet_while_both_are_in_use():
    parts = [
        part("a", "x", "y", (5, 5), 64),
        part("b", "x", "z", (5,), 128),
        part("c", "x", "w", (5,)),
        part("d", "y", "v", (5,), 64),
    ]
    found = joined(parts, "#0")
    assert [item.offset for item in parts] == [0, 64, 0, 0]
    assert found.workspace == 192


def test_nothing_is_no_phase():
    assert joined([], "#0").phases == ()
    assert names(part("a", "x", "y", ())) == []


@tile
def first(x, y):
    y[:] = pypto.cumsum(x - pypto.max(x), axis=0)


@tile
def second(w, z):
    z[:] = w * 2.0 - pypto.min(w, axis=0, keepdims=True)


@tile
def third(w, v):
    v[:] = w / pypto.sum(pypto.abs(w))


@tile
def last(y, z, v, out):
    out[:] = y + z * v


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (128, 64), (1031, 257)])
def test_bits_are_those_of_one_kernel_after_the_other(shape, threads):
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(shape).astype(np.float32) for _ in range(2))
    found, expected = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    stages = [first, second, third, last]
    with pypto.settings(num_threads=threads):
        kernel = pypto.compile(stages, {"enable_fusion": False})
        assert kernel.execute(x, w, found, verify=True).verification_passed
        assert any("joint" in phase.symbol for phase in kernel._last.code.phases)
        links = [Dependency(stage, last) for stage in stages[:3]]
        waits = [Barrier(first, second), Barrier(second, third)]
        ordered = pypto.compile(stages, {"enable_fusion": False, "dependency_graph": DependencyGraph([*links, *waits])})
        ordered.execute(x, w, expected)
        assert not any("joint" in phase.symbol for phase in ordered._last.code.phases)
    np.testing.assert_array_equal(found, expected)
