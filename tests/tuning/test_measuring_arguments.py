"""The arguments of a measurement: copies as they lie in memory, restored before every launch; hooks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.measuring import arguments as measuring_arguments
from pypto.runtime.tuning.measuring.arguments import ArgumentFiles, WorkingArguments
from pypto.runtime.tuning.measuring.measure import measure
from pypto.runtime.tuning.measuring.options import Expected, Inputs, MeasureOptions
from pypto.runtime.tuning.workers import compile_candidates
from tests.tuning import making
from tests.tuning.making import QUICK, made

F32 = np.float32
WARM = replace(QUICK, cold=False)
PROFILER = replace(QUICK, method="profiler")


def run(built: Sequence[CompiledCandidate], options: MeasureOptions = WARM) -> list[Trial]:
    inputs, expected = making.doubling()
    return measure(built, inputs, expected, options)


def outcomes(trials: Sequence[Trial]) -> list[str]:
    return [trial.outcome.name for trial in trials]


def compiled(folder: Path, module: Any, count: int = 2) -> list[CompiledCandidate]:
    jobs = [making.job(module, making.candidate(number), folder) for number in range(count)]
    results = compile_candidates(jobs, 60.0, 1)
    return [item for item in results if isinstance(item, CompiledCandidate)]


# -- arguments


@pytest.mark.parametrize("options", [WARM, QUICK, PROFILER, replace(WARM, pre_hook=lambda values: None)])
def test_F_inputs_are_restored_before_every_launch_not_once_per_round(tmp_path: Path, options: MeasureOptions) -> None:
    """Two candidates that add to `total`: with one restoration per round the second would see the first's sum."""
    module = making.module_of(making.grow, {"x": making.SHAPE, "total": making.SHAPE})
    x, total = making.numbers(), making.numbers(seed=2)
    before = total.copy()
    expected = {"total": Expected(total + x, 1e-6, 1e-6)}
    trials = measure(compiled(tmp_path, module), Inputs.of(module, {"x": x, "total": total}), expected, options)
    assert outcomes(trials) == ["MEASURED", "MEASURED"]
    assert np.array_equal(total, before), "measuring ran on the caller's array"


def test_unwritten_elements_count_as_they_were(tmp_path: Path) -> None:
    """A kernel writes half of its output; the other half keeps what the user's array holds."""

    @pypto.tile
    def half(x: Any, out: Any) -> None:
        out[:8] = x[:8]

    module = making.module_of(half, {"x": making.SHAPE, "out": making.SHAPE})
    x, out = making.numbers(), making.numbers(seed=5)
    wanted = out.copy()
    wanted[:8] = x[:8]
    inputs = Inputs.of(module, {"x": x, "out": out})
    trials = measure(compiled(tmp_path, module), inputs, {"out": Expected(wanted, 0.0, 0.0)}, QUICK)
    assert outcomes(trials) == ["MEASURED", "MEASURED"]


def layouts() -> list[Any]:
    base = np.arange(40 * 30, dtype=F32).reshape(40, 30)
    wide = np.arange(9, dtype=np.uint8)
    return [
        base,
        base[::-1],
        base[5:20:3, ::-2],
        base.T,
        np.broadcast_to(base[0], (7, 30)),
        base[:0],
        base[3, 4:5],
        np.float64(3.5) * np.ones((2, 3, 4)).transpose(2, 0, 1),
        np.ones((3, 5), ml_dtypes.bfloat16)[:, 1::2],
        wide[1:].view(np.uint8)[::2],
        np.array([True, False, True]),
    ]


@pytest.mark.parametrize("number", range(len(layouts())))
def test_copies_lie_in_memory_as_the_originals(number: int) -> None:
    array = layouts()[number]
    files = ArgumentFiles(Inputs({"a": array, "n": 3}, frozenset(), frozenset()), {}, MeasureOptions())
    try:
        assert Path(files.folder).stat().st_mode & 0o077 == 0
        working = WorkingArguments(files.description)
        copy = working.arrays["a"].view
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape) and np.array_equal(copy, array)
        assert not np.shares_memory(copy, array)
        if array.size > 1:
            steps = [
                [step for step, extent in zip(item.strides, item.shape, strict=True) if extent > 1]
                for item in (copy, array)
            ]
            assert steps[0] == steps[1]
            page = measuring_arguments.ALIGNMENT
            assert (copy.__array_interface__["data"][0] - array.__array_interface__["data"][0]) % page == 0
        assert working.values["n"] == 3
    finally:
        files.remove()
    assert not files.folder.exists()


def test_torch_tensors_are_copied_as_tensors(tmp_path: Path) -> None:
    import torch

    seen: list[Any] = []
    x, out = torch.rand(16, 24), torch.zeros(16, 24)
    inputs = Inputs({"x": x, "out": out}, frozenset({"out"}), frozenset())
    expected = {"out": Expected((x * 2).numpy(), 1e-6, 1e-6)}
    options = replace(WARM, pre_hook=lambda values: seen.append(values["x"]))
    trials = measure([made(tmp_path, 0, "double")], inputs, expected, options)
    assert outcomes(trials) == ["MEASURED"]
    assert isinstance(seen[0], torch.Tensor) and seen[0].data_ptr() != x.data_ptr() and torch.equal(seen[0], x)
    assert not out.any()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int32"])
def test_the_measuring_process_needs_no_torch_for_tensors(dtype: str) -> None:
    import torch

    x = (torch.arange(60) % 7).reshape(6, 10).to(getattr(torch, dtype))[::2, 1:]
    files = ArgumentFiles(Inputs({"x": x}, frozenset(), frozenset()), {}, MeasureOptions())
    try:
        plain = WorkingArguments(files.description).values["x"]
        tensor = WorkingArguments(files.description, tensors=True).values["x"]
        assert isinstance(plain, np.ndarray) and torch.equal(tensor, x)
        assert plain.astype(np.float64).tolist() == x.double().tolist()
        assert [step // plain.itemsize for step in plain.strides] == list(x.stride()) == list(tensor.stride())
    finally:
        files.remove()


def test_F_every_single_launch_sees_what_the_caller_gave(tmp_path: Path) -> None:
    """Those that estimate and warm up, too: an index that a kernel changes in place may else leave its axis."""
    module = making.module_of(making.grow, {"x": making.SHAPE, "total": making.SHAPE})
    x, total = making.numbers(), making.numbers(seed=2)
    seen: list[bool] = []
    options = replace(WARM, pre_hook=lambda values: seen.append(np.array_equal(values["total"], total)))
    inputs = Inputs.of(module, {"x": x, "total": total})
    measure(compiled(tmp_path, module, 1), inputs, {"total": Expected(total + x, 1e-6, 1e-6)}, options)
    assert len(seen) > 10 and all(seen), seen


def test_reset_to_zero_and_restore_value(tmp_path: Path) -> None:
    module = making.module_of(making.grow, {"x": making.SHAPE, "total": making.SHAPE})
    x, total = making.numbers(), making.numbers(seed=2)
    inputs = Inputs.of(module, {"x": x, "total": total})
    zero = replace(WARM, reset_to_zero=("total",))
    assert outcomes(measure(compiled(tmp_path, module), inputs, {"total": Expected(x, 0.0, 0.0)}, zero)) == [
        "MEASURED",
        "MEASURED",
    ]
    kept: list[float] = []
    options = replace(WARM, restore_value=("x",), pre_hook=lambda values: values["x"].__setitem__((0, 0), 7.0))
    options = replace(options, post_hook=lambda values, error: kept.append(float(values["x"][0, 0])))
    wanted = total + x
    wanted[0, 0] = total[0, 0] + F32(7.0)
    measure(compiled(tmp_path, module, 1), inputs, {"total": Expected(wanted, 1e-6, 1e-6)}, options)
    assert kept and set(kept) == {7.0} and x[0, 0] != 7.0


# -- hooks and the user's own benchmark


def test_hooks_run_around_every_launch_with_copies(tmp_path: Path) -> None:
    order: list[str] = []
    inputs, expected = making.doubling()
    options = replace(
        WARM,
        pre_hook=lambda values: order.append("before" if set(values) == {"x", "out"} else "wrong"),
        post_hook=lambda values, error: order.append("after" if error is None else "error"),
    )
    (trial,) = measure([made(tmp_path, 0, "double")], inputs, expected, options)
    assert trial.outcome is Outcome.MEASURED and 0 < trial.samples <= 8
    assert order[::2] == ["before"] * (len(order) // 2) and order[1::2] == ["after"] * (len(order) // 2)
    # check, estimate (1 + 5), warm-up, samples, check
    assert len(order) // 2 >= 1 + 6 + 1 + 4 + 1


def test_hooks_work_with_the_profiler_whose_rows_leave_them_out(tmp_path: Path) -> None:
    options = replace(PROFILER, cold=False, pre_hook=lambda values: time.sleep(0.01))
    trials = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "double")], options)
    assert all(trial.method == "profiler" and (trial.seconds or 1) < 0.005 for trial in trials)
    events = run([made(tmp_path, 0, "double")], replace(options, method="event"))
    assert (events[0].seconds or 0) >= 0.01


@pytest.mark.parametrize("result", [1.5, [1.5, 1.0, 2.0], (1.5, 1.0, 2.0)])
def test_do_bench_measures_in_milliseconds(tmp_path: Path, result: Any) -> None:
    def bench(launch: Any, quantiles: Any) -> Any:
        assert quantiles == (0.5, 0.2, 0.8)
        launch()
        return result

    options = replace(PROFILER, do_bench=bench)  # the user's own function goes before the profiler
    first, second = run([made(tmp_path, 0, "double"), made(tmp_path, 1, "double", factor=5.0)], options)
    assert (first.seconds, first.method) == (1.5e-3, "do_bench")
    assert first.quantiles == (None if result == 1.5 else (1.5e-3, 1.0e-3, 2.0e-3))
    assert second.outcome is Outcome.WRONG_RESULT


@pytest.mark.parametrize("result", [float("nan"), -1.0, [1.0, 2.0], "fast"])
def test_do_bench_that_returns_nonsense_is_a_reason(tmp_path: Path, result: Any) -> None:
    (trial,) = run([made(tmp_path, 0, "double")], replace(WARM, do_bench=lambda launch, quantiles: result))
    assert trial.outcome is Outcome.CRASHED and "ValueError" in trial.reason


def test_an_exception_of_a_hook_is_the_users(tmp_path: Path) -> None:
    def hook(values: Any) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        run([made(tmp_path, 0, "double")], replace(WARM, pre_hook=hook))
