"""`auto_tune` as a whole: the article's call shapes, what it returns, what it leaves alone, what it says."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import TilingCache, TilingSearchSpace, UserError, auto_tune
from pypto.runtime.tuning import store
from pypto.runtime.tuning.candidate import Outcome
from tuning.counting import QUICK, Counts, count

SPACE = TilingSearchSpace(tiles=[(8, 16), (16, 48), (40, 24)])


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


@pypto.tile
def product(a: Any, b: Any, c: Any) -> None:
    c[:] = a @ b


def arguments(shape: tuple[int, ...] = (40, 48), seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(seed).random(shape).astype(np.float32)
    return x, np.full(shape, 7.0, np.float32)


# -- what it returns


def test_the_first_form_of_the_article() -> None:
    """Section 3.2: named axes with memory limits, trials and runs; the fields that the article prints."""
    space = TilingSearchSpace(
        tile_m=[32, 64], tile_k=[32, 64], tile_n=[32, 64], constraint_memory={"L1": "48KB", "GM_per_tile": "256KB"}
    )
    best = auto_tune(
        kernel=product,
        search_space=space,
        input_shape={"a": (128, 64), "b": (64, 128), "c": (128, 128)},
        tuning_metric="throughput",
        max_trials=4,
        warmup_runs=1,
        measure_runs=5,
    )
    assert best.tile_m in (32, 64, 128) and best.tile_n in (32, 64, 128) and best.tile_k in (32, 64)
    assert best.estimated_tops == pytest.approx(2 * 128**3 / 2 / best.seconds / 1e12)
    assert best.num_tiles >= 1
    assert format(best.estimated_tops, ".2f") != "0.00" or best.estimated_tops < 0.005
    a, b = (np.random.default_rng(1).random(s).astype(np.float32) for s in ((128, 64), (64, 128)))
    c = np.zeros((128, 128), np.float32)
    pypto.compile(product, config=best).execute(a, b, c)
    assert np.allclose(c, a @ b, rtol=1e-5)
    assert len([trial for trial in best.trials if trial.outcome is Outcome.MEASURED]) <= 5
    assert len(best.trials) >= 8


def test_the_second_form_of_the_article() -> None:
    """Section 8.2: one shape after another, with numbers of tiles as axes."""

    @pypto.tile
    def pooled(image: Any, output: Any) -> None:
        output[:] = pypto.maximum(image, 0.0) * 0.5

    space = TilingSearchSpace(tile_h=[16, 32], tile_w=[16, 32])
    for shape in ((4, 56, 56), (16, 14, 14)):
        best = auto_tune(
            kernel=pooled,
            input_shape=shape,
            search_space=space,
            max_trials=3,
            tuning_metric="throughput",
            **QUICK,
        )
        assert best.tile_h in (16, 32, shape[1]) and best.num_tiles >= 1 and best.estimated_tops > 0
        assert best.shapes == {"image": shape, "output": shape}


def test_the_third_form_gets_a_name_where_a_kernel_belongs() -> None:
    with pytest.raises(UserError) as error:
        auto_tune("dynamic_matmul", (64, 64))
    assert error.value.name == "tune-name"
    assert "'dynamic_matmul'" in error.value.message and "auto_tune(dynamic_matmul" in error.value.help
    best = auto_tune(affine, (40, 48), SPACE, **QUICK)
    assert best.kernel == "affine" and best.winner.seconds


def test_every_candidate_is_a_row_and_the_winner_is_the_best(counts: Counts) -> None:
    best = auto_tune(affine, args=arguments(), search_space=SPACE, **QUICK)
    rows = {trial.candidate.describe(): trial for trial in best.trials}
    assert set(rows) >= {"tiles=[8,16]", "tiles=[16,48]"}
    measured = [trial for trial in best.trials if trial.seconds is not None]
    assert best.seconds is not None and best.seconds <= min(t.seconds for t in measured if t.seconds) * 1.5
    assert best.default is not None and best.speedup is not None and best.speedup > 0
    assert all(trial.samples > 0 and trial.method == "event" for trial in measured)
    assert "tiles=[8,16]" in best.table() and "measured us" in best.table()


def test_arguments_are_only_read() -> None:
    x, out = arguments()
    before = x.copy()
    auto_tune(affine, args=(x, out), search_space=SPACE, **QUICK)
    assert np.array_equal(x, before) and (out == 7.0).all()


def test_an_in_place_kernel_tunes_without_changing_the_data() -> None:
    @pypto.tile
    def scale(x: Any) -> None:
        x[:] = x * 2.0 + 1.0

    x, _ = arguments()
    before = x.copy()
    best = auto_tune(scale, args={"x": x}, search_space=SPACE, **QUICK)
    assert np.array_equal(x, before)
    pypto.compile(scale, config=best).execute(x)
    assert np.array_equal(x, before * np.float32(2) + np.float32(1))


@pytest.mark.parametrize("metric", ["throughput", "latency", "memory_efficiency"])
def test_metrics(metric: Any) -> None:
    best = auto_tune(affine, args=arguments(), search_space=SPACE, tuning_metric=metric, **QUICK)
    assert best.metric == metric and best.seconds


def test_topn_one_takes_the_modelled_best_unmeasured(counts: Counts) -> None:
    best = auto_tune(affine, args=arguments(), search_space=SPACE, topn=1)
    assert best.seconds is None and "unmeasured" in best.note
    assert len(counts.compiled) == 1 and counts.measured == []
    x, out = arguments()
    pypto.compile(affine, config=best).execute(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)


def test_one_trial_is_measured_beside_the_untuned_kernel(counts: Counts) -> None:
    """Whatever took the modelled best unmeasured before."""
    unmeasured = auto_tune(affine, args=arguments(), search_space=SPACE, topn=1)
    counts.clear()
    best = auto_tune(affine, args=arguments(), search_space=SPACE, max_trials=1, **QUICK)
    measured = [trial for trial in best.trials if trial.outcome is Outcome.MEASURED]
    assert len(counts.compiled) == len(measured) == 2 and best.seconds and "unmeasured" not in best.note
    assert [trial.candidate.is_default for trial in measured].count(True) == 1
    assert unmeasured.candidate.key() in {trial.candidate.key() for trial in measured}


def test_torch_tensors_and_scalars() -> None:
    import torch

    @pypto.tile
    def scaled(x: Any, factor: Any, out: Any) -> None:
        out[:] = x * factor

    x, out = torch.ones(40, 48), torch.zeros(40, 48)
    best = auto_tune(scaled, args=(x, 3.0, out), search_space=SPACE, **QUICK)
    assert float(out.sum()) == 0.0
    pypto.compile(scaled, config=best).execute(x, 3.0, out)
    assert float(out[0, 0]) == 3.0


def test_a_graph_of_stages() -> None:
    @pypto.tile
    def double(x: Any, middle: Any) -> None:
        middle[:] = x * 2.0

    @pypto.tile
    def shift(middle: Any, out: Any) -> None:
        out[:] = pypto.exp(middle) + 1.0

    links = pypto.Dependency("double", "shift", src_buffer="middle", dst_buffer="middle")
    config = {"dependency": links}
    x, out = arguments()
    best = auto_tune([double, shift], args=(x, out), config=config, search_space=SPACE, **QUICK)
    pypto.compile([double, shift], config={**config, **best.config}).execute(x, out)
    assert np.allclose(out, np.exp(x * 2) + 1, rtol=1e-5)


# -- hooks, pruning, own benchmarks


def test_do_bench_decides_and_its_figures_are_milliseconds() -> None:
    calls: list[int] = []

    def do_bench(launch: Any, quantiles: Any) -> float:
        launch()
        calls.append(1)
        return float(len(calls))

    best = auto_tune(affine, args=arguments(), search_space=SPACE, do_bench=do_bench)
    assert len(calls) >= 3
    assert best.winner.method == "do_bench"
    assert min(trial.seconds for trial in best.trials if trial.seconds) == pytest.approx(1e-3)


def test_hooks_see_copies_of_the_arguments() -> None:
    seen: list[str] = []
    x, out = arguments()

    def before(values: dict[str, Any]) -> None:
        seen.append("before")
        assert values["x"] is not x and np.array_equal(values["x"], x)

    auto_tune(affine, args=(x, out), search_space=SPACE, pre_hook=before, **QUICK)
    assert len(seen) > 3


def test_an_early_hook_leaves_out_candidates_and_they_are_named() -> None:
    def prune(configs: list[dict[str, Any]], arguments: dict[str, Any]) -> list[dict[str, Any]]:
        assert set(arguments) == {"x", "out"}
        return [config for config in configs if config.get("tiles") != (8, 16)]

    best = auto_tune(affine, args=arguments(), search_space=SPACE, early_config_prune=prune, **QUICK)
    row = next(trial for trial in best.trials if trial.candidate.describe() == "tiles=[8,16]")
    assert row.outcome is Outcome.NOT_RANKED and "early_config_prune" in row.reason


def test_a_model_of_the_user_ranks_and_top_k_keeps(counts: Counts) -> None:
    space = TilingSearchSpace(tile_m=[4, 8, 10, 20])
    best = auto_tune(
        affine,
        args=arguments(),
        search_space=space,
        perf_model=lambda tile_m: abs((tile_m or 99) - 9),
        top_k=2,
        **QUICK,
    )
    assert sorted(set(counts.compiled)) == ["default", "tile_m=10", "tile_m=8"]
    assert {t.candidate.describe(): t.candidate.predicted for t in best.trials}["tile_m=8"] == 1.0


@pytest.mark.parametrize("top_k", [0.0001, 0.5, 1])
def test_F_a_fraction_that_rounds_to_nothing_keeps_one(top_k: float) -> None:
    best = auto_tune(affine, args=arguments(), search_space=SPACE, perf_model=lambda tiles: 1.0, top_k=top_k, **QUICK)
    assert best.seconds


# -- what goes wrong


def test_F_a_tuning_in_which_all_fail_says_what_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto.runtime.tuning import worker_main
    from pypto.runtime.tuning.measuring import measure as measuring

    monkeypatch.setattr(measuring, "measure", lambda built, *others: [])
    monkeypatch.setattr(worker_main, "try_compile", lambda message: {"failed": "no such luck"})
    with pypto.settings(compile_threads=1), pytest.warns(RuntimeWarning, match="affine is not tuned: no such luck"):
        best = auto_tune(affine, args=arguments(), search_space=SPACE)
    assert best.candidate.is_default and best.config == {} and "no such luck" in best.note
    assert [trial.outcome for trial in best.trials if trial.seconds] == []
    assert "no such luck" in best.table()
    x, out = arguments()
    pypto.compile(affine, config=best).execute(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)


def test_a_space_in_which_nothing_fits_is_an_error() -> None:
    with pytest.raises(UserError) as error:
        auto_tune(affine, args=arguments(), search_space=TilingSearchSpace(tiles=[(1 << 20, 1 << 20)]))
    assert error.value.name == "space-too-large"


def test_a_candidate_that_does_not_fit_costs_itself_alone() -> None:
    huge = (1 << 20, 1 << 20)
    space = TilingSearchSpace(tiles=[huge, (16, 16), huge])
    best = auto_tune(affine, args=arguments(), search_space=space, **QUICK)
    rows = [trial for trial in best.trials if trial.outcome is Outcome.TOO_LARGE]
    assert best.seconds and rows and "larger than the memory" in rows[0].reason


def test_a_wrong_candidate_loses_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto.tuning_case import TuningCase

    expected = TuningCase.expected

    def wrong(self: TuningCase, zero: Any) -> Any:
        from dataclasses import replace

        found = expected(self, zero)
        return {name: replace(item, value=item.value + 1) for name, item in found.items()}

    monkeypatch.setattr(TuningCase, "expected", wrong)
    with pytest.warns(RuntimeWarning) as warned, pytest.raises(UserError) as error:
        auto_tune(affine, args=arguments(), search_space=SPACE, **QUICK)
    named = [str(item.message) for item in warned if "is rejected, its result is wrong" in str(item.message)]
    assert len(named) >= 3 and all("reference" in text for text in named)
    assert error.value.name == "untuned-fails" and "reference" in str(error.value)


# -- what it says


def test_log_lines_of_the_article(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "pypto.tuning"):
        best = auto_tune(affine, args=arguments(), search_space=SPACE, **QUICK)
    lines = [record.getMessage() for record in caplog.records]
    measured = [trial for trial in best.trials if trial.seconds is not None]
    index = [trial.candidate.key() for trial in measured].index(best.candidate.key())
    assert f"Autotune completed affine, best kernel index: {index}" in lines
    assert sum("Timing = " in line and line.endswith(" us") for line in lines) == len(measured)


def test_a_json_line_for_each_trial(tmp_path: Path) -> None:
    best = auto_tune(affine, args=arguments(), search_space=SPACE, log=tmp_path / "trials.jsonl", **QUICK)
    lines = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()]
    keys = {line["kernel_key"] for line in lines}
    assert {trial.candidate.key() for trial in best.trials if trial.seconds} <= keys
    assert all(line["kernel"] == "affine" and line["elapsed"] >= 0 for line in lines)


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        auto_tune(affine, args=arguments(), search_space=SPACE, log=tmp_path, **QUICK)
    assert error.value.name == "cannot-write"


def test_progress_and_a_table_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    auto_tune(affine, args=arguments(), search_space=SPACE, progress=True, **QUICK)
    shown = capsys.readouterr().err
    assert "affine: compiling" in shown and "affine: measuring" in shown and "best" in shown
    assert "tiles=" in shown and "measured us" in shown


def test_nothing_is_printed_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    auto_tune(affine, args=arguments(), search_space=SPACE, **QUICK)
    assert capfd.readouterr() == ("", "")


def test_debug_artefacts_and_a_benchmark_that_runs_alone(tmp_path: Path) -> None:
    with pypto.settings(dump=tmp_path / "dump"):
        best = auto_tune(affine, args=arguments(), search_space=SPACE, **QUICK)
    folder = tmp_path / "dump" / "affine-tuning"
    keys = {trial.candidate.key() for trial in best.trials if trial.seconds is not None}
    assert {path.stem.removeprefix("kernel_") for path in folder.glob("kernel_*.ll")} == keys
    assert "kernel affine" in (folder / "tiling.pto").read_text()
    wrapper = json.loads((folder / "wrapper.json").read_text())
    assert set(wrapper["tiling_map"]) == keys and all(text.count("|") == 2 for text in wrapper["tiling_map"].values())
    done = subprocess.run(
        [sys.executable, str(folder / "benchmark.py"), "3"], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert {line.split()[0] for line in done.stdout.splitlines()} == keys
    assert all(line.split()[2] == "us" for line in done.stdout.splitlines())


# -- where nothing can be kept


@pytest.mark.parametrize("place", ["plain/sub/t.db", "folder.db", "/sys/t.db", "off"])
def test_no_place_to_write_is_one_warning_and_a_right_result(tmp_path: Path, place: str) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "folder.db").mkdir()
    x, out = arguments()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        cache = TilingCache(tmp_path / place) if place != "off" else None
        with pypto.settings(cache="off" if place == "off" else tmp_path / "cache"):
            best = auto_tune(affine, args=(x, out), search_space=SPACE, cache=cache, **QUICK)
            pypto.compile(affine, config=best).execute(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)
    about = [str(item.message) for item in found]
    assert len(about) == (0 if place == "off" else 1), about
    assert all("is not used" in text for text in about)


def test_a_disk_that_is_full_is_a_warning_and_a_right_result(tmp_path: Path) -> None:
    """Files may not grow beyond a size at which nothing can be kept, as on a full disk."""
    script = tmp_path / "full.py"
    script.write_text(FULL_DISK)
    done = subprocess.run(
        [sys.executable, "-W", "always", str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "right"
    assert done.stderr.count("is not used: ") <= 2, "the object cache, and the tuning cache"
    assert done.stderr.count("affine is not tuned: ") == 1, done.stderr
    assert "File too large" in done.stderr


FULL_DISK = """
import resource, sys
import numpy as np
import pypto

@pypto.tile
def affine(x, out): out[:] = pypto.exp(x) * 2.0 + 1.0

x, out = np.random.default_rng(0).random((40, 48)).astype(np.float32), np.zeros((40, 48), np.float32)
pypto.compile(affine).execute(x, out)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with pypto.settings(cache=sys.argv[1] + "/full", compile_threads=1):
    best = pypto.auto_tune(affine, args=(x, out), search_space=pypto.TilingSearchSpace(tiles=[(8, 16), (16, 48)]))
    out[:] = 0
    pypto.compile(affine, config=best).execute(x, out)
assert np.allclose(out, np.exp(x) * 2 + 1)
print("right")
"""


def test_outputs_may_hold_anything_before() -> None:
    x, out = arguments()
    out.view(np.uint32)[:] = 0x7F800001  # a signalling NaN, as uninitialised memory may hold
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert auto_tune(affine, args=(x, out), search_space=SPACE, **QUICK).seconds
