"""The settings of measuring and compiling, and the variables of other tools that stand in for them."""

from __future__ import annotations

from pathlib import Path

import pytest

import pypto
from pypto.ir.base.settings import from_environment
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.measuring.options import MeasureOptions
from pypto.runtime.tuning.workers import compile_candidates
from tests.tuning import making


@pytest.mark.parametrize(
    ("environment", "method", "threads"),
    [
        ({}, "event", 0),
        ({"TRITON_BENCH_METHOD": "npu"}, "profiler", 0),
        ({"TRITON_BENCH_METHOD": "NPU"}, "profiler", 0),
        ({"TRITON_BENCH_METHOD": "default"}, "event", 0),
        ({"TRITON_BENCH_METHOD": "npu", "PYPTO_BENCH_METHOD": "event"}, "event", 0),
        ({"PYPTO_BENCH_METHOD": "profiler"}, "profiler", 0),
        ({"TORCHINDUCTOR_COMPILE_THREADS": "3"}, "event", 3),
        ({"TORCHINDUCTOR_COMPILE_THREADS": "0"}, "event", 1),
        ({"TORCHINDUCTOR_COMPILE_THREADS": "many"}, "event", 0),
        ({"TORCHINDUCTOR_COMPILE_THREADS": "3", "PYPTO_COMPILE_THREADS": "5"}, "event", 5),
    ],
)
def test_variables_of_other_tools_count_where_ours_are_not_set(
    environment: dict[str, str], method: str, threads: int
) -> None:
    values = from_environment(environment)
    assert (values.bench_method, values.compile_threads) == (method, threads)


def test_an_unknown_method_is_an_error_that_names_both() -> None:
    with pytest.raises(pypto.UserError, match="event or profiler"), pypto.settings(bench_method="stopwatch"):
        raise AssertionError
    with pytest.raises(pypto.UserError, match=r"PYPTO_BENCH_METHOD.*event or profiler"):
        from_environment({"PYPTO_BENCH_METHOD": "npu-smi"})


def test_options_take_the_method_from_the_settings_unless_given() -> None:
    with pypto.settings(bench_method="profiler"):
        assert MeasureOptions.from_settings().method == "profiler"
        assert MeasureOptions.from_settings(method="event").method == "event"


@pytest.mark.parametrize("processes", [1, 2])
def test_settings_in_force_reach_the_workers(tmp_path: Path, processes: int) -> None:
    """The object cache is the scope's, also in another process."""
    module = making.double_module()
    cache = tmp_path / "cache"
    with pypto.settings(cache=cache, vector_limit=7):
        (item,) = [making.job(module, making.candidate(), tmp_path)]
        assert item.message()["settings"]["vector_limit"] == 7
        (made,) = compile_candidates([item], 60.0, processes)
    assert isinstance(made, CompiledCandidate)
    assert len(list(cache.glob("*.object"))) == 2  # the code and the object


def test_relative_folders_are_this_process_s_in_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = making.double_module()
    with pypto.settings(cache="cache"):
        (made,) = compile_candidates([making.job(module, making.candidate(), Path("artefacts"))], 60.0, 2)
    assert isinstance(made, CompiledCandidate)
    assert len(list((tmp_path / "cache").glob("*.object"))) == 2 and (tmp_path / "artefacts").is_dir()
    with pypto.settings(cache="off"):
        assert making.job(module, making.candidate(), tmp_path).message()["settings"]["cache"] == "off"
