"""Running programs: arguments, results, counters, time limits, crashes, ends by the user."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ascendc_host import harness
from pypto.runtime.ascendc_host.driver import Program, RunOptions, Workspace, build, run

SOURCE = """#include "kernel_operator.h"
using namespace AscendC;

struct Tiling { float factor; int32_t count; };

__global__ __vector__ void scale(GM_ADDR x, GM_ADDR out, Tiling tiling, half extra)
{
    LocalTensor<half> a(TPosition::VECCALC, 0, 512);
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half*)x);
    to.SetGlobalBuffer((__gm__ half*)out);
    const int64_t first = GetBlockIdx() * 128;
    DataCopy(a, from[first], 128);
    PipeBarrier<PIPE_ALL>();
    Muls(a, a, half(tiling.factor), tiling.count);
    PipeBarrier<PIPE_V>();
    Adds(a, a, extra, 128);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to[first], a, 128);
    if (GetBlockIdx() == 0) {
        printf("block %d of %d: %f\\n", int32_t(GetBlockIdx()), int32_t(GetBlockNum()), extra);
    }
}

__global__ __vector__ void spill(GM_ADDR x, GM_ADDR workspace, GM_ADDR out)
{
    LocalTensor<float> a(TPosition::VECCALC, 0, 64);
    GlobalTensor<float> from, kept, to;
    from.SetGlobalBuffer((__gm__ float*)x);
    kept.SetGlobalBuffer((__gm__ float*)workspace);
    to.SetGlobalBuffer((__gm__ float*)out);
    DataCopyPad(a, from, DataCopyExtParams(1, 40, 0, 0, 0), DataCopyPadExtParams<float>());
    PipeBarrier<PIPE_ALL>();
    DataCopy(kept, a, 16);
    PipeBarrier<PIPE_ALL>();
    DataCopy(a, kept, 16);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(to, a, DataCopyExtParams(1, 40, 0, 0, 0));
    PipeBarrier<PIPE_ALL>();
    DataCopy(a, kept[16], 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to[16], a, 8);
}

__global__ __vector__ void endless(GM_ADDR x)
{
    volatile int32_t turns = 0;
    while (turns >= 0) {
        turns = 1;
    }
}

template <typename T, int32_t count>
__global__ __vector__ void fill(__gm__ T* out, float value)
{
    LocalTensor<T> a(TPosition::VECCALC, 0, count);
    GlobalTensor<T> to;
    to.SetGlobalBuffer(out);
    Duplicate(a, static_cast<T>(value), count);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, count);
}

__global__ __vector__ void dump(GM_ADDR x)
{
    LocalTensor<half> a(TPosition::VECCALC, 64, 16);
    GlobalTensor<half> from;
    from.SetGlobalBuffer((__gm__ half*)x);
    DataCopy(a, from, 16);
    const uint32_t lengths[] = {2, 3};
    const ShapeInfo shape(2, lengths);
    DumpTensor(a, 7, 4, shape);
    DumpAccChkPoint(a, 8, 1, 2);
    DumpTensor(from, 9, 32);
}

__global__ __vector__ void wild(GM_ADDR x)
{
    *reinterpret_cast<volatile int32_t*>(16) = 1;
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return build(SOURCE, file="driver.cpp", instances=("fill<half, 16>", "fill<int32_t, 8>"))


def test_arguments_results_counters_and_prints(program: Program) -> None:
    x = np.arange(512, dtype=np.float16)
    out = np.zeros(512, np.float16)
    tiling = np.array([(2.0, 128)], [("factor", "f4"), ("count", "i4")]).tobytes()
    report = run(program, {"x": x, "out": out, "tiling": tiling, "extra": 0.5}, kernel="scale", blocks=4)
    assert not report.findings
    np.testing.assert_array_equal(report.outputs["out"], x * np.float16(2) + np.float16(0.5))
    assert not out.any(), "given arrays are not changed"
    assert report.counters.cores == 4
    assert report.counters.bytes == {"GM->UB": 1024, "UB->GM": 1024}
    assert report.counters.instructions == {"Adds": 4, "DataCopy": 8, "Muls": 4}
    assert report.printed == "block 0 of 4: 0.500000\n"
    assert report.as_json()["counters"]["launches"] == 1


def test_dump_waits_and_shows_the_shape(program: Program) -> None:
    report = run(program, [np.arange(16, dtype=np.float16)], kernel="dump", options=RunOptions("late"))
    head = "DumpTensor: desc=7, addr=0x40, data_type=float16, position=UB, dump_size=4\n"
    rows = "[[0.000000, 1.000000, 2.000000],\n[3.000000, -, -]]\n"
    assert report.printed.startswith(head + rows)
    assert "desc=8, addr=0x42, data_type=float16, position=UB, dump_size=2\n[1.000000, 2.000000]\n" in report.printed
    assert [finding.rule for finding in report.findings] == ["gm-out-of-bounds"], "32 elements of 16"


def test_workspace_carries_what_nobody_wrote(program: Program) -> None:
    x = np.arange(64, dtype=np.float32)
    report = run(program, [x, Workspace(4096), np.zeros(64, np.float32)], kernel="spill")
    np.testing.assert_array_equal(report.outputs["out"][:10], x[:10])
    line = SOURCE[: SOURCE.index("DataCopy(to[16]")].count("\n") + 1
    assert [(finding.rule, finding.line) for finding in report.findings] == [("uninitialised", line)]


def test_instances_of_a_template(program: Program) -> None:
    report = run(program, [np.zeros(16, np.float16), 2.5], kernel="fill<half, 16>")
    np.testing.assert_array_equal(report.outputs["out"], np.full(16, 2.5, np.float16))
    report = run(program, [np.zeros(8, np.int32), 7.0], kernel="fill<int32_t, 8>")
    np.testing.assert_array_equal(report.outputs["out"], np.full(8, 7, np.int32))


def test_time_limit(program: Program) -> None:
    begin = time.monotonic()
    report = run(program, [np.zeros(8)], kernel="endless", options=RunOptions(time_limit=1.0))
    assert [finding.rule for finding in report.findings] == ["time-limit"]
    assert time.monotonic() - begin < 10


def test_crash(program: Program) -> None:
    report = run(program, [np.zeros(8)], kernel="wild")
    assert [finding.rule for finding in report.findings] == ["crash"]
    assert "code -11" in report.findings[0].message


def test_interrupt_ends_the_kernel(program: Program, tmp_path: Path) -> None:
    script = f"""
import numpy as np, sys
from pypto.runtime.ascendc_host.driver import Program, RunOptions, find_kernels, run
from pathlib import Path
kernels = {{item.name: item for item in find_kernels({SOURCE!r})}}
print("ready", flush=True)
run(Program(Path({str(program.path)!r}), "k", kernels), [np.zeros(8)], kernel="endless", options=RunOptions(time_limit=60))
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, complaint = child.communicate(timeout=15)
    assert b"KeyboardInterrupt" in complaint


def test_same_seed_gives_the_same_run() -> None:
    first = harness.execute("faulty.cpp", "race_compute_store", "random", seed=5)
    second = harness.execute("faulty.cpp", "race_compute_store", "random", seed=5)
    np.testing.assert_array_equal(first.outputs["z"], second.outputs["z"])


def test_late_shows_what_a_race_does() -> None:
    early = harness.execute("faulty.cpp", "race_compute_store", "early")
    late = harness.execute("faulty.cpp", "race_load_compute", "late")
    np.testing.assert_array_equal(early.outputs["z"], harness.inputs()["x"] + 1)
    assert not np.array_equal(late.outputs["z"], harness.inputs()["x"] + 1)
