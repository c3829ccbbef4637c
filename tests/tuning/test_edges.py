"""Tuning where something is unusual: options of every kind, empty arrays, levels, budgets, kernels known to be wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import TilingCache, TilingSearchSpace, UserError, auto_tune
from pypto.runtime.tuning import store
from pypto.runtime.tuning.artefacts import OPTIMUM, WRAPPER, artefact_root, folders
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.measuring import measure as measuring
from pypto.runtime.tuning.work import work_of
from pypto.tuning_options import RULES
from tuning.counting import QUICK, Counts, count

SPACE = TilingSearchSpace(tiles=[(8, 16), (16, 48)])


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    store.warn_once.cache_clear()
    with pypto.settings(cache=tmp_path / "cache"):
        yield


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return count(monkeypatch)


@pypto.tile
def affine(x: Any, out: Any) -> None:
    out[:] = pypto.exp(x) * 2.0 + 1.0


def arguments(shape: tuple[int, ...] = (40, 48)) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).random(shape).astype(np.float32), np.zeros(shape, np.float32)


def tune(**options: Any) -> pypto.TuningResult:
    return auto_tune(affine, **{"args": arguments(), "search_space": SPACE, **QUICK, **options})


# -- options

NAN, INFINITE = float("nan"), float("inf")
WRONG = {
    **dict.fromkeys(("search_space", "cache"), (3, "t.db", {"tile_m": [8]})),
    "log": (3, ""),
    **dict.fromkeys(("max_trials", "topn"), (0, -1, 1.5, "3", True)),
    "warmup_runs": (-1, 1.5, "3", True),
    "measure_runs": (0, -1, 1.5, "3", True),
    **dict.fromkeys(("warmup_seconds", "measure_seconds", "time_budget"), (-1, "3", NAN, INFINITE, True)),
    "cold_cache": ("no", 0),
    "bench_method": ("npu", 1),
    **dict.fromkeys(("reset_to_zero", "restore_value"), ("out", 5, [3])),
    **dict.fromkeys(("early_config_prune", "perf_model", "do_bench", "pre_hook", "post_hook"), (3, "f")),
}


def test_every_option_with_a_rule_has_wrong_values_here() -> None:
    assert set(WRONG) == set(RULES)


@pytest.mark.parametrize(("option", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_value_of_an_option_is_an_error_that_says_what_is_wanted(option: str, value: Any) -> None:
    with pytest.raises(UserError) as error:
        tune(**{option: value})
    assert error.value.name == "option-value" and error.value.location is not None
    assert option in str(error.value) and "must be" in str(error.value)


@pytest.mark.parametrize("figure", [NAN, None, "fast"])
def test_a_model_that_gives_no_time_is_an_error(figure: Any) -> None:
    with pytest.raises(UserError) as error:
        tune(perf_model=lambda tiles: figure)
    assert error.value.name == "option-value" and "perf_model" in str(error.value)


def test_a_model_that_gives_infinity_puts_a_candidate_last() -> None:
    best = tune(perf_model=lambda tiles: INFINITE if tiles == (8, 16) else 1.0, topn=1)
    assert best.values == {"tiles": (16, 48)}
    assert {trial.candidate.predicted for trial in best.trials} == {None, 1.0}


def test_a_model_is_not_asked_for_the_untuned_kernel_and_keeps_its_own_defaults() -> None:
    asked: list[Any] = []

    def model(tiles: Any, scale: float = 2.0) -> float:
        asked.append(tiles)
        return scale * tiles[0]

    best = tune(perf_model=model)
    assert sorted(asked) == [(8, 16), (16, 48)]
    assert best.default is not None and best.default.outcome is Outcome.MEASURED


@pytest.mark.parametrize("shape", [object(), np.array([1, 2]), True, (1.5,)])
def test_a_shape_that_is_none_is_an_error_of_the_cache(shape: Any, tmp_path: Path) -> None:
    cache = TilingCache(tmp_path / "t.db")
    for ask in (lambda: cache.lookup("name", shape), lambda: cache.store("name", shape, {})):
        with pytest.raises(UserError) as error:
            ask()
        assert error.value.name == "option-value"


@pytest.mark.parametrize("value", [NAN, INFINITE, [1, -INFINITE]])
def test_numbers_that_json_has_not_are_an_error_of_the_cache(value: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        TilingCache(tmp_path / "t.db").store("name", (1, 2), {"a": value})
    assert error.value.name == "cache-value"


def test_a_dict_that_contains_itself_is_an_error_of_the_cache(tmp_path: Path) -> None:
    config: dict[str, Any] = {"tile_m": 32}
    config["inner"] = [config]
    with pytest.raises(UserError) as error:
        TilingCache(tmp_path / "t.db").store("name", (1, 2), config)
    assert error.value.name == "cache-value" and "contains itself" in str(error.value)


def test_a_shape_that_contains_itself_is_an_error_of_the_cache(tmp_path: Path) -> None:
    shape: list[Any] = [1]
    shape.append(shape)
    with pytest.raises(UserError) as error:
        TilingCache(tmp_path / "t.db").lookup("name", shape)
    assert error.value.name == "option-value"


@pytest.mark.parametrize("target", ["cpu", "ascendc"])
def test_a_name_is_kept_for_the_target_of_the_settings_where_no_other_is_given(tmp_path: Path, target: str) -> None:
    cache = TilingCache(tmp_path / "t.db")
    other = "cpu" if target == "ascendc" else "ascendc"
    with pypto.settings(target=target):
        cache.store("name", (1, 2), {"tile_m": 32})
        assert cache.lookup("name", (1, 2)) == {"tile_m": 32}
    assert cache.lookup("name", (1, 2), target=target) == {"tile_m": 32}
    assert cache.lookup("name", (1, 2), target=other) is None


def row(key: str = '"a"', value: str = "1", written: str = "1") -> str:
    return f'[{{"table": "choices", "key": {key}, "name": "b", "value": {value}, "written": {written}}}]'


NO_ROWS = ["5", "null", '{"a": 1}', "[5]", "[{}]"]
BAD_ROWS = [
    row(value="NaN"),
    row(written="Infinity"),
    row(written="1e999"),
    row(written="null"),
    row(key=r'"\ud800"'),
    row(value="[" * 100000),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [*NO_ROWS, *BAD_ROWS])
def test_importing_what_no_export_wrote_is_an_error_and_changes_nothing(rows: str, tmp_path: Path) -> None:
    cache, file = TilingCache(tmp_path / "t.db"), tmp_path / "x.json"
    file.write_text('{"format": "pypto tuning", "schema": 1, "rows": ROWS}'.replace("ROWS", rows))
    with pytest.raises(UserError) as error:
        cache.import_json(file)
    assert error.value.name == "cache-file" and cache.entries() == []


# -- kernels


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,), (3, 0, 4)])
def test_arrays_without_elements(shape: tuple[int, ...]) -> None:
    options: dict[str, Any] = {"args": arguments(shape), "search_space": None, "max_trials": 2}
    best = tune(**options)
    assert best.num_tiles >= 1 and best.estimated_tops == 0.0
    assert tune(**options).candidate == best.candidate
    pypto.compile(affine, config=best).execute(*arguments(shape))


def test_work_of_a_planned_kernel_counts_no_flags() -> None:
    module = pypto.compile(affine, target="ascendc", shapes={"x": (40, 48), "out": (40, 48)}).module_at("planned")
    assert work_of(module).operations > 0


@pytest.mark.parametrize("target", ["cpu", "ascendc"])
def test_text_whose_tiles_are_chosen_already_is_an_error(tmp_path: Path, target: str) -> None:
    shapes = {"x": (40, 48), "out": (40, 48)}
    (tmp_path / "planned.pto").write_text(pypto.compile(affine, target="ascendc", shapes=shapes).to_text())
    with pytest.raises(UserError) as error:
        auto_tune(str(tmp_path / "planned.pto"), target=target)
    assert error.value.name == "tune-level"


def test_text_at_level_tile_is_tuned_as_its_function(tmp_path: Path) -> None:
    kernel = pypto.compile(affine, shapes={"x": (40, 48), "out": (40, 48)}, dtypes="float32")
    (tmp_path / "kernel.pto").write_text(kernel.to_text("tile"))
    best = auto_tune(str(tmp_path / "kernel.pto"), args=arguments(), search_space=SPACE, **QUICK)
    measured = {dict(trial.candidate.values).get("tiles") for trial in best.trials if trial.seconds}
    assert measured == {None, (8, 16), (16, 48)}
    x, out = arguments()
    pypto.compile(str(tmp_path / "kernel.pto"), config=best).execute(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)


def test_special_values_do_not_hide_a_wrong_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto.tuning_case import TuningCase

    x, out = arguments()
    x[0, :4] = NAN, INFINITE, -INFINITE, 0.0
    best = tune(args=(x, out))
    assert [trial.outcome for trial in best.trials] == [Outcome.MEASURED] * 3
    expected = TuningCase.expected

    def off_by_a_little(self: TuningCase, zero: Any) -> Any:
        found = expected(self, zero)
        found["out"].value[1, 1] *= 1.001
        return found

    monkeypatch.setattr(TuningCase, "expected", off_by_a_little)
    with pytest.warns(RuntimeWarning, match="wrong"), pytest.raises(UserError):
        tune(args=(x, out), cache=TilingCache(tmp_path / "other.db"))


# -- what must not be kept, or run


def test_F_a_budget_that_ended_decides_for_nobody_else(counts: Counts) -> None:
    """A choice among what there was time for would else be the best for ever."""
    first = tune(time_budget=0.0)
    assert first.seconds is None
    whole = tune()
    assert not whole.from_cache and whole.seconds is not None
    assert all(trial.outcome is Outcome.MEASURED for trial in whole.trials)
    counts.clear()
    again = tune()
    assert again.from_cache and counts.nothing


def test_F_samples_that_the_budget_cut_short_are_not_kept(counts: Counts) -> None:
    def slowly(values: dict[str, Any]) -> None:
        time.sleep(0.02)

    options: dict[str, Any] = {"pre_hook": slowly, "measure_runs": 40}
    short = tune(time_budget=1.5, **options)
    assert any(trial.cut_short for trial in short.trials), [trial.samples for trial in short.trials]
    counts.clear()
    tune(time_budget=2.0, **options)
    assert len(counts.measured) >= 3


def test_F_nothing_measured_is_not_kept_in_the_folder_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> list[Trial]:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(measuring, "measure", fail)
        assert tune().seconds is None
    best = tune()
    assert not best.from_cache and best.seconds is not None


def test_F_figures_of_fewer_launches_are_not_taken_for_those_of_more(counts: Counts) -> None:
    tune(measure_runs=1)
    counts.clear()
    tune(measure_runs=30)
    assert len(counts.measured) >= 3


def outcome(monkeypatch: pytest.MonkeyPatch, found: Outcome) -> None:
    def fail(built: Any, inputs: Any, expected: Any, options: Any, learned: Any, *others: Any) -> list[Trial]:
        rows = [Trial(item.candidate, found, "on purpose") for item in built]
        for row in rows:
            learned(row)
        return rows

    monkeypatch.setattr(measuring, "measure", fail)


@pytest.mark.parametrize("found", [Outcome.WRONG_RESULT, Outcome.HUNG, Outcome.CRASHED])
@pytest.mark.filterwarnings("ignore:.*is rejected:RuntimeWarning")
def test_an_untuned_kernel_known_to_be_bad_is_never_the_answer(found: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):  # nothing of it is kept as an answer
        with monkeypatch.context() as patch:
            outcome(patch, found)
            with pytest.raises(UserError) as error:
                tune()
        assert error.value.name == "untuned-fails" and "on purpose" in str(error.value)


def test_a_wrong_untuned_kernel_does_not_forbid_a_right_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = measuring.measure

    def some(built: Any, inputs: Any, expected: Any, options: Any, learned: Any, *others: Any) -> list[Trial]:
        bad = [item for item in built if item.candidate.is_default]
        rows = [Trial(item.candidate, Outcome.WRONG_RESULT, "on purpose") for item in bad]
        for row in rows:
            learned(row)
        good = [item for item in built if not item.candidate.is_default]
        return [*rows, *measure(good, inputs, expected, options, learned, *others)]

    monkeypatch.setattr(measuring, "measure", some)
    with pytest.warns(RuntimeWarning, match="default is rejected, its result is wrong: on purpose"):
        best = tune()
    assert not best.candidate.is_default and best.seconds


# -- self-tuning kernels on targets without tilings


@pytest.mark.parametrize("target", ["reference", "eager"])
def test_targets_without_tilings_run_self_tuning_kernels_as_they_are(target: str) -> None:
    kernel = pypto.autotune(configs=[{"tiles": (8, 16)}], measure_runs=2)(affine)
    x, out = arguments()
    with pypto.settings(target=target):
        kernel(x, out)
        assert np.allclose(out, np.exp(x) * 2 + 1) and kernel.results == {}
        with pytest.raises(UserError) as error:
            kernel.tune(x, out)
        assert error.value.name == "tune-target"
    out[:] = 0
    kernel(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1) and len(kernel.results) == 1


# -- verify


def test_verify_names_a_damaged_record_and_an_unknown_winner(tmp_path: Path) -> None:
    cache = TilingCache(tmp_path / "t.db")
    tune(cache=cache)
    (folder,) = folders(artefact_root(cache.path))
    assert cache.verify() == []
    winner = (folder.path / OPTIMUM).read_bytes()
    (folder.path / OPTIMUM).write_text("another|1|2")
    assert len(cache.verify()) == 1 and "does not list" in cache.verify()[0]
    (folder.path / OPTIMUM).write_bytes(winner)
    for content in ("{", "[]", '{"kernels": 5}', "[" * 100000):
        (folder.path / WRAPPER).write_text(content)
        assert len(cache.verify()) == 1 and "cannot be read" in cache.verify()[0], content
