"""Leaving out one flag or barrier of an emitted kernel is noticed: a part of what `benchmarks/deletions.py` does."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ascendc_host.deletions import Deleter, Deletion, Outcome
from ascendc_host.modules import build_all
from passes.corpus import CORPUS
from pypto.ir.nodes import Module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.runtime.ascendc_host.driver import Program, RunOptions, build, run
from pypto.runtime.ascendc_host.report import sync_groups

NAMES = (
    "chain_triple",
    "chain_single",
    "softmax",
    "softmax_tiles",
    "layer_norm",
    "accumulate",
    "copies_two_rows",
    "copies_triple",
    "nested",
    "spmd",
    "clipped",
    "in_place",
    "many_inputs",
    "window",
    "views",
    "views_aligned",
    "nested_no_inner",
    "triangle",
)


@functools.cache
def modules() -> dict[str, Module]:
    return {name: run_passes(CORPUS[name](), NPU_PASSES)[0] for name in NAMES}


@functools.cache
def program() -> Program:
    return build_all(modules())


@functools.cache
def deletions(name: str) -> list[Deletion]:
    return Deleter(name, CORPUS[name](), modules()[name], program()).deletions()


@pytest.mark.parametrize("name", NAMES)
def test_every_deletion_is_noticed(name: str) -> None:
    own = [item for item in deletions(name) if item.in_body]
    assert own
    assert [str(item) for item in own if item.outcome is not Outcome.REPORTED] == []


def test_flags_around_a_loop_are_one_deletion() -> None:
    groups = {tuple(call.name for call in item.calls) for item in deletions("copies_triple") if item.kind == "flag"}
    inside = ("SetFlag", "WaitFlag")
    around = {group for group in groups if group not in (inside, inside[::-1])}
    assert around
    assert all(group.count("SetFlag") == group.count("WaitFlag") == 4 for group in around)  # three slots and the turn


PAIRS = """#include "kernel_operator.h"
__global__ __vector__ void copy(GM_ADDR x, GM_ADDR z)
{
    AscendC::GlobalTensor<float> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 64);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 64);
    AscendC::LocalTensor<float> ub(AscendC::TPosition::VECCALC, 0, 64);
    AscendC::DataCopy(ub, from, 64);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);
    AscendC::Adds(ub, ub, 1.0f, 64);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(ub, ub, 1.0f, 64);
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(EVENT_ID0);
    AscendC::DataCopy(to, ub, 64);
}
"""


EARLY = (
    PAIRS[PAIRS.index("__global__") :]
    .replace("void copy", "void again")
    .replace(
        "    AscendC::DataCopy(to, ub, 64);\n",
        """    AscendC::DataCopy(to, ub, 64);
    AscendC::LocalTensor<float> other(AscendC::TPosition::VECCALC, 256, 64);
    AscendC::DataCopy(other, from, 64);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);
    AscendC::Adds(other, other, 1.0f, 64);
""",
    )
)


@functools.cache
def pairs() -> Program:
    return build(PAIRS + EARLY, file="pairs.cpp")


def findings(*lines: int, **options: object) -> list[tuple[str, int]]:
    arrays = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    chosen = RunOptions(skip=tuple(("pairs.cpp", line) for line in lines), **options)  # type: ignore[arg-type]
    return [(item.rule, item.line) for item in run(pairs(), arrays, kernel="copy", options=chosen).findings]


def test_one_program_runs_without_any_of_its_calls() -> None:
    assert findings() == []
    assert findings(9, 10) == [("race", 11)]
    assert findings(12) == [("race", 13)]
    assert ("race", 16) in findings(14, 15)
    assert ("deadlock", 10) in findings(9)
    assert ("flag-left-set", 9) in findings(10)
    assert findings(11, 13) == []  # no calls that order anything


def test_calls_are_listed_with_their_partners() -> None:
    arrays = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    assert run(pairs(), arrays, kernel="copy").syncs == ()
    groups = sync_groups(run(pairs(), arrays, kernel="copy", options=RunOptions(list_syncs=True)).syncs)
    shown = [[(call.name, call.place[1], call.count) for call in group] for group in groups]
    assert shown == [
        [("SetFlag", 9, 1), ("WaitFlag", 10, 1)],
        [("PipeBarrier", 12, 1)],
        [("SetFlag", 14, 1), ("WaitFlag", 15, 1)],
    ]


@pytest.mark.parametrize("mode", ["early", "late", "random"])
def test_a_flag_that_may_be_set_before_its_last_wait_has_run(mode: str) -> None:
    """Only where flags are strict: published kernels do it, though a flag is one bit."""
    arrays = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    first = PAIRS.count("\n")
    for strict in (False, True):
        report = run(pairs(), arrays, kernel="again", options=RunOptions(mode, strict_flags=strict))  # type: ignore[arg-type]
        expected = [("flag-set-early", first + 18)] if strict else []
        assert [(item.rule, item.line) for item in report.findings] == expected
        assert all(item.other_line in (0, first + 9) for item in report.findings)  # 0: it has not run at all
