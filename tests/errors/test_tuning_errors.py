"""Text and place of the mistakes in what tuning and its cache are asked for."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import TilingCache, auto_tune, autotune
from pypto.runtime.tuning.candidate import Candidate, Outcome, Trial
from pypto.tuning_result import Problem, TuningResult


@pypto.tile
def copied(x: Any, out: Any) -> None:
    out[:] = x


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    with pypto.settings(cache=tmp_path / "cache"):
        yield


def error(name: str, *parts: str, call: Any) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    assert caught.value.location is None or caught.value.location.file == __file__
    return caught.value


def test_a_name_where_a_kernel_belongs() -> None:
    found = error(
        "tune-name",
        "auto_tune takes a kernel and was given its name, 'dynamic_matmul'",
        "auto_tune(dynamic_matmul, input_shape)",
        call=lambda: auto_tune("dynamic_matmul", (64, 64)),
    )
    assert found.location is not None


def test_an_unknown_metric() -> None:
    error(
        "tune-metric",
        "there is no tuning metric 'thruput'",
        "throughput",
        call=lambda: auto_tune(copied, (4, 4), tuning_metric="thruput"),  # type: ignore[arg-type]
    )


def test_a_target_without_tilings() -> None:
    error(
        "tune-target",
        "target 'eager' has no tilings to choose from",
        "'cpu'",
        call=lambda: auto_tune(copied, (4, 4), target="eager"),
    )


def test_text_whose_tiles_are_chosen_already(tmp_path: Path) -> None:
    text = pypto.compile(copied, target="ascendc", shapes={"x": (16, 16), "out": (16, 16)}).to_text()
    (tmp_path / "copied.pto").write_text(text)
    message = "the PTO IR of 'copied' is at level planned, where its tiles are chosen already"
    with pytest.raises(pypto.UserError, match=message) as caught:
        auto_tune(str(tmp_path / "copied.pto"), target="ascendc")
    assert caught.value.name == "tune-level" and "--emit tile" in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*is rejected:RuntimeWarning")
def test_a_kernel_that_no_candidate_gets_right(monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto.runtime.tuning.candidate import Outcome, Trial
    from pypto.runtime.tuning.measuring import measure

    rows = {"reason": "out[0] is 1", "outcome": Outcome.WRONG_RESULT}
    monkeypatch.setattr(measure, "measure", lambda built, *others: [Trial(item.candidate, **rows) for item in built])
    error(
        "untuned-fails",
        "the untuned kernel of 'copied' gives a wrong result, and no candidate is right: out[0] is 1",
        "target='reference'",
        call=lambda: auto_tune(copied, (4, 4)),
    )


def test_a_device_that_is_not_here() -> None:
    error("needs-device", "torch_npu", "target='ascendc'", call=lambda: auto_tune(copied, (4, 4), target="npu"))


def test_one_shape_that_does_not_fit_all_parameters() -> None:
    @pypto.tile
    def product(a: Any, b: Any, c: Any) -> None:
        c[:] = a @ b

    error(
        "tune-shapes",
        "auto_tune of 'product': input_shape is (4, 8)",
        "the kernel is wrong at",
        "input_shape={'a': (1024, 512)",
        call=lambda: auto_tune(product, (4, 8)),
    )


@pytest.mark.parametrize("shape", [((4, 4),), "4x4", 1.5, {"x": ("n", 4), "out": ("n", 4)}])
def test_shapes_of_another_form(shape: Any) -> None:
    error("tune-shapes", "auto_tune of 'copied'", call=lambda: auto_tune(copied, shape))


@pytest.mark.parametrize("option", ["max_trials", "topn"])
@pytest.mark.parametrize("value", [0, -1, True, 2.0])
def test_numbers_of_candidates(option: str, value: Any) -> None:
    error(
        "option-value",
        f"auto_tune: {option} is {value!r}",
        "a positive number of candidates",
        call=lambda: auto_tune(copied, (4, 4), **{option: value}),
    )


def test_methods_and_arguments() -> None:
    error(
        "unknown-option",
        "auto_tune has no option called 'max_trial'",
        "did you mean 'max_trials'?",
        call=lambda: auto_tune(copied, (4, 4), max_trial=3),
    )
    error("option-value", "bench_method is 'clock'", call=lambda: auto_tune(copied, (4, 4), bench_method="clock"))
    error("option-value", "args is 'int'", call=lambda: auto_tune(copied, args=7))
    error(
        "unknown-parameter-option",
        "reset_to_zero names a parameter 'outt'",
        "did you mean 'out'?",
        call=lambda: auto_tune(copied, (4, 4), reset_to_zero=["outt"]),
    )
    error("missing-argument", "'out'", call=lambda: auto_tune(copied, args=(np.zeros(4),)))


def test_no_candidate_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto.tuning_session import Session

    left = Trial(Candidate((("tile_m", 8),), pypto.ir.schedule.Schedule()), Outcome.COMPILE_FAILED, "no luck")
    case = type("Case", (), {"name": "copied"})
    session = object.__new__(Session)
    session.case = case  # type: ignore[assignment]
    error(
        "no-candidate",
        "none of the 1 candidates of 'copied' can be used",
        "tile_m=8: no luck",
        call=lambda: session._fallback([left]),
    )


# -- autotune


def test_autotune_below_tile() -> None:
    def plain(x: Any, out: Any) -> None:
        out[:] = x

    error(
        "autotune-order",
        "@pypto.autotune is given plain, not a tile function",
        "above `@pypto.tile`",
        call=lambda: autotune(configs=[{"tile_m": 8}])(plain),  # type: ignore[arg-type]
    )


def test_options_of_autotune() -> None:
    configs = [{"tile_m": 8}]
    error("unknown-option", "no option called 'confgs'", "configs", call=lambda: autotune(confgs=configs))
    error("unknown-option", "'early_prune'", call=lambda: autotune(configs, prune_configs_by={"early_prune": len}))
    error("option-value", "autotune: rep is -1", call=lambda: autotune(configs, rep=-1))
    error("option-value", "autotune: configs is []", call=lambda: autotune([]))
    error("option-value", "autotune: configs is [8]", call=lambda: autotune([8]))  # type: ignore[list-item]
    space = pypto.TilingSearchSpace(tile_m=[8])
    error("option-conflict", "configs and search_space", call=lambda: autotune(configs, search_space=space))
    error(
        "unknown-parameter-option",
        "key names a parameter 'n'",
        call=lambda: autotune(configs, key=["n"])(copied),
    )


# -- the cache


def test_values_that_cannot_be_kept(tmp_path: Path) -> None:
    cache = TilingCache(tmp_path / "t.db")
    error("cache-value", "cannot keep", "'k'", "auto_tune", call=lambda: cache.store("k", (1,), object()))
    error("cache-value", "a value of type function", call=lambda: cache.store("k", (1,), {"f": error}))


def test_a_path_that_is_none(tmp_path: Path) -> None:
    error("option-value", "TilingCache: cache_path is ''", call=lambda: TilingCache(""))
    error("option-value", "TilingCache: cache_path is 7", call=lambda: TilingCache(7))  # type: ignore[arg-type]


def test_files_that_are_no_export(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([]))
    cache = TilingCache(tmp_path / "t.db")
    error("cache-file", "it is no export of a tuning cache", call=lambda: cache.import_json(tmp_path / "x.json"))


def test_keys_that_are_not_there(tmp_path: Path) -> None:
    from pypto.cli_cache import show

    error(
        "cache-key",
        "key that begins with 'abc'",
        "`pypto cache ls` lists",
        call=lambda: show("abc", cache=tmp_path / "t.db"),
    )


# -- plots


def result(predicted: float | None, seconds: float | None) -> TuningResult:
    candidate = Candidate((), pypto.ir.schedule.Schedule(), predicted=predicted)
    outcome = Outcome.MEASURED if seconds else Outcome.NOT_MEASURED
    trial = Trial(candidate, outcome, seconds=seconds)
    return TuningResult("copied", "cpu", trial, (trial,), Problem(1.0, 1))


def test_nothing_to_plot(tmp_path: Path) -> None:
    for item in (result(None, 1.0), result(1.0, None)):
        error(
            "nothing-to-plot",
            "'copied' has no candidate that was both predicted and measured",
            call=lambda item=item: item.plot(tmp_path / "x.png"),  # type: ignore[misc]
        )


def test_plots_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importing = builtins.__import__

    def without(name: str, *others: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError("No module named 'matplotlib'")
        return importing(name, *others)

    monkeypatch.setattr(builtins, "__import__", without)
    error(
        "needs-matplotlib",
        "plotting needs matplotlib: No module named 'matplotlib'",
        "pip install matplotlib",
        call=lambda: result(1.0, 1.0).plot(tmp_path / "x.png"),
    )


def test_plots_that_cannot_be_written(tmp_path: Path) -> None:
    error("cannot-write", "x.unknown", call=lambda: result(1.0, 1.0).plot(tmp_path / "x.unknown"))


def test_limits_of_cores() -> None:
    for value in (0, -1, True, 1.5, "8"):
        error(
            "option-value",
            "set_device_limit: cube is",
            "a positive number of cores",
            call=lambda value=value: pypto.set_device_limit(cube=value),  # type: ignore[misc]
        )
