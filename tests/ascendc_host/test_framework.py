"""Limits of the pipe, SyncAll by software, and printing from every memory."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from pypto.runtime.ascendc_host.driver import Program, RunOptions, Workspace, build, run

SOURCE = """#include "kernel_operator.h"
#include "utils/debug/asc_dump.h"
using namespace AscendC;

__global__ __vector__ void buffers(GM_ADDR z, uint32_t tables, uint32_t depth)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffers[64];
    TQue<TPosition::VECIN, 2> queue;
    for (uint32_t k = 0; k < tables; ++k) {
        pipe.InitBuffer(buffers[k], 32);
    }
    pipe.InitBuffer(queue, depth, 32);  // the queue
}

__global__ __vector__ void meet(GM_ADDR workspace, GM_ADDR z, uint32_t clears)
{
    GlobalTensor<int32_t> counts, result;
    counts.SetGlobalBuffer((__gm__ int32_t*)workspace, 32);
    result.SetGlobalBuffer((__gm__ int32_t*)z, 32);
    LocalTensor<int32_t> zeros(TPosition::VECCALC, 0, 32), scratch(TPosition::VECCALC, 1024, 32), mine(TPosition::VECCALC, 2048, 8);
    if (clears != 0 && GetBlockIdx() == 0) {
        Duplicate(zeros, 0, 32);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(counts, zeros, 32);
    }
    Duplicate(mine, int32_t(GetBlockIdx() + 1), 8);
    SetFlag<HardEvent::V_MTE3>(1);
    WaitFlag<HardEvent::V_MTE3>(1);
    DataCopy(result[GetBlockIdx() * 8], mine, 8);
    SyncAll(counts, scratch);  // the meeting
    DataCopy(zeros, result, 32);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    if (GetBlockIdx() == 3) {
        DataCopy(result[32], zeros, 32);
    }
}

__global__ __vector__ void print(GM_ADDR x, GM_ADDR z)
{
    GlobalTensor<float> from;
    from.SetGlobalBuffer((__gm__ float*)x, 16);
    LocalTensor<float> a(TPosition::VECCALC, 64, 16);
    DataCopy(a, from, 16);
    asc_dump_ubuf((__ubuf__ float*)a.GetPhyAddr(), 5, 4);
    asc_dump_gm((__gm__ float*)x, 6, 3);
    asc_dump_gm((__gm__ float*)x, 7, 17);  // one too many
}

__global__ __cube__ void print_cube(GM_ADDR x, GM_ADDR z)
{
    GlobalTensor<half> from;
    from.SetGlobalBuffer((__gm__ half*)x, 256);
    LocalTensor<half> a1(TPosition::A1, 0, 256), a2(TPosition::A2, 0, 256), b2(TPosition::B2, 0, 256);
    LocalTensor<float> c(TPosition::CO1, 1024, 256);
    DataCopy(a1, from, 256);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData(a2, a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    LoadData(b2, a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(c, a2, b2, MmadParams(16, 16, 16, 0, false, true));
    asc_dump_l1buf((__cbuf__ half*)a1.GetPhyAddr(), 8, 3);
    asc_dump_cbuf((__cc__ float*)c.GetPhyAddr(), 9, 2);
}
"""


@functools.cache
def program() -> Program:
    return build(SOURCE, file="framework.cpp")


def line(comment: str) -> int:
    return SOURCE[: SOURCE.index(f"// {comment}")].count("\n") + 1


@pytest.mark.parametrize(("tables", "depth"), [(62, 2), (63, 1), (64, 1), (63, 2)])
def test_a_pipe_has_64_buffers_of_queues_and_tables_together(tables: int, depth: int) -> None:
    report = run(program(), {"z": np.zeros(8, np.float32), "tables": tables, "depth": depth}, kernel="buffers")
    found = [(finding.rule, finding.line) for finding in report.findings]
    assert found == ([] if tables + depth <= 64 else [("buffer-count", line("the queue"))]), str(report)


def test_a_meeting_by_software_needs_a_workspace_that_was_written() -> None:
    arguments = {"workspace": Workspace(4096), "z": np.zeros(64, np.int32), "clears": 0}
    report = run(program(), arguments, kernel="meet", blocks=4, options=RunOptions("random", 3))
    assert {(finding.rule, finding.line) for finding in report.findings} == {("uninitialised", line("the meeting"))}


@pytest.mark.parametrize("mode", ["early", "late", "random"])
def test_a_meeting_by_software_orders_what_blocks_store(mode: str) -> None:
    zeros, z = np.zeros(32, np.int32), np.zeros(64, np.int32)
    arguments = {"workspace": zeros, "z": z, "clears": 0}
    report = run(program(), arguments, kernel="meet", blocks=4, options=RunOptions(mode, 3))
    assert not report.findings, str(report)
    np.testing.assert_array_equal(report.outputs["z"].reshape(2, 4, 8)[1, :, 0], [1, 2, 3, 4])


def test_printing_by_pointers() -> None:
    report = run(
        program(), {"x": np.arange(16, dtype=np.float32), "z": np.zeros(8)}, kernel="print", options=RunOptions("late")
    )
    assert (
        "desc=5, addr=0x40, data_type=float32, position=UB, dump_size=4\n[0.000000, 1.000000, 2.000000, 3.000000]"
        in report.printed
    )
    assert "desc=6," in report.printed
    assert "position=GM, dump_size=3\n[0.000000, 1.000000, 2.000000]" in report.printed
    assert [(finding.rule, finding.line) for finding in report.findings] == [("gm-out-of-bounds", line("one too many"))]


def test_printing_from_memories_of_the_cube_core() -> None:
    report = run(
        program(), {"x": np.ones(256, np.float16), "z": np.zeros(8)}, kernel="print_cube", options=RunOptions("late")
    )
    assert not report.findings, str(report)
    assert "position=L1, dump_size=3\n[1.000000, 1.000000, 1.000000]" in report.printed
    assert "desc=9, addr=0x400, data_type=float32, position=L0C, dump_size=2\n[16.000000, 16.000000]" in report.printed
