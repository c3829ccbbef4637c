"""`@pypto.autotune`: tuned at the first call of a kind, run directly afterwards; what Triton's users expect of it."""

from __future__ import annotations

import contextvars
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from pypto.compiled_kernel import CompiledKernel
from pypto.runtime.tuning import store
from tuning.counting import Counts, count

QUICK: dict[str, Any] = {"cold_cache": False, "warmup": 0.5, "rep": 2}
CONFIGS = [{"tile_m": 8}, {"tile_m": 16, "tile_n": 16}]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    store.warn_once.cache_clear()
    with pypto.settings(cache=tmp_path / "cache"):
        yield


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return count(monkeypatch)


@pypto.autotune(configs=CONFIGS, **QUICK)
@pypto.tile
def affine(x: Any, out: Any) -> None:
    out[:] = pypto.exp(x) * 2.0 + 1.0


def made(**options: Any) -> Any:
    return pypto.autotune(**{"configs": CONFIGS, **QUICK, **options})(affine.function)


def arguments(shape: tuple[int, ...] = (40, 48), dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).random(shape).astype(dtype), np.zeros(shape, dtype)


def test_the_first_call_tunes_and_the_next_ones_run(counts: Counts) -> None:
    kernel, (x, out) = made(), arguments()
    kernel(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)
    assert set(counts.measured) == {"default", "tile_m=8", "tile_m=16,tile_n=16"}
    counts.clear()
    out[:] = 0
    result = kernel(x, out)
    assert counts.nothing and np.allclose(result.outputs.out, np.exp(x) * 2 + 1)
    assert kernel.best_config.candidate.describe() in {"default", "tile_m=8", "tile_m=16,tile_n=16"}


def test_repeated_calls_go_straight_to_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a compiled kernel do: nothing is bound, read or looked up again."""
    kernel, (x, out) = made(), arguments((4, 8))
    kernel(x, out)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a repeated call took the long way")

    monkeypatch.setattr(CompiledKernel, "_execute", forbidden)
    monkeypatch.setattr(type(kernel), "_kernel", forbidden)
    out[:] = 0
    kernel.execute(x, out)
    assert out.any()


def test_F_shapes_strides_and_dtypes_are_kinds_of_their_own(counts: Counts) -> None:
    kernel = made()
    x, out = arguments((40, 48))
    for number, pair in enumerate(
        (
            (x, out),
            arguments((48, 40)),
            (np.asfortranarray(x), out),
            arguments(dtype=np.float64),
            (x[::-1], out),
        ),
        start=1,
    ):
        pair[1][:] = 0
        kernel(*pair)
        assert np.allclose(pair[1], np.exp(pair[0]) * 2 + 1)
        assert len(kernel.results) == number
    counts.clear()
    kernel(*arguments((48, 40)))
    assert counts.nothing


def test_named_values_are_tuned_anew() -> None:
    @pypto.autotune(configs=CONFIGS, key=["factor"], **QUICK)
    @pypto.tile
    def scaled(x: Any, factor: Any, out: Any) -> None:
        out[:] = x * factor

    x, out = arguments()
    for factor, kinds in ((2.0, 1), (3.0, 2), (2.0, 2)):
        scaled(x, factor, out)
        assert np.array_equal(out, x * np.float32(factor)) and len(scaled.results) == kinds


def test_only_so_many_kinds_stay_in_memory(counts: Counts) -> None:
    kernel = made()
    with pypto.settings(specializations=2):
        for rows in (8, 16, 24, 8):
            x, out = arguments((rows, 16))
            kernel(x, out)
            assert np.allclose(out, np.exp(x) * 2 + 1)
    assert len(kernel.results) == 2 and counts.measured.count("default") >= 3


def test_another_process_s_result_is_used(counts: Counts) -> None:
    x, out = arguments()
    made()(x, out)
    counts.clear()
    kernel = made()
    kernel(x, out)
    assert counts.nothing and kernel.best_config.from_cache


def test_in_place_kernels_change_the_data_once() -> None:
    @pypto.autotune(configs=CONFIGS, **QUICK)
    @pypto.tile
    def scale(x: Any) -> None:
        x[:] = x * 2.0 + 1.0

    x, _ = arguments()
    before = x.copy()
    scale(x)
    assert np.array_equal(x, before * np.float32(2) + np.float32(1))


def test_hooks_and_restored_values() -> None:
    seen: list[str] = []

    @pypto.autotune(
        configs=CONFIGS,
        pre_hook=lambda values: seen.append("before"),
        post_hook=lambda values, error: seen.append("after" if error is None else "failed"),
        reset_to_zero=["out"],
        **QUICK,
    )
    @pypto.tile
    def add(x: Any, out: Any) -> None:
        out[:] += x

    x, out = arguments()
    out[:] = 1.0
    result = add.tune(x, out)
    assert (out == 1.0).all() and seen.count("before") == seen.count("after") > 3 and result.seconds
    add(x, out)
    assert np.array_equal(out, x + np.float32(1))


def test_pruning() -> None:
    configs = [{"tile_m": size} for size in (2, 4, 5, 8, 10, 20)]
    kernel = made(
        configs=configs,
        prune_configs_by={
            "early_config_prune": lambda configs, arguments: [c for c in configs if c["tile_m"] != 5],
            "perf_model": lambda tile_m, **_: tile_m or 1000,
            "top_k": 0.34,
        },
    )
    kernel(*arguments())
    rows = {trial.candidate.describe(): trial for trial in kernel.best_config.trials}
    assert {name for name, trial in rows.items() if trial.seconds is not None} == {"tile_m=2", "tile_m=4", "default"}


def test_do_bench_of_the_user() -> None:
    calls: list[int] = []

    def bench(launch: Any, quantiles: Any) -> list[float]:
        launch()
        calls.append(1)
        return [1.0, 0.9, 1.1]

    kernel = made(do_bench=bench)
    kernel(*arguments())
    assert calls and kernel.best_config.winner.quantiles == pytest.approx((1e-3, 9e-4, 1.1e-3))


def test_without_configs_a_space_is_made_or_given() -> None:
    x, out = arguments()
    for options in ({}, {"search_space": pypto.TilingSearchSpace(tile_m=[8])}):
        kernel = pypto.autotune(max_trials=2, **options, **QUICK)(affine.function)
        kernel(x, out)
        assert kernel.best_config.seconds


def test_several_threads_tune_once(counts: Counts) -> None:
    kernel, (x, _) = made(), arguments()
    outs = [np.zeros_like(x) for _ in range(4)]
    contexts = [contextvars.copy_context() for _ in outs]  # threads do not inherit settings
    threads = [threading.Thread(target=c.run, args=(kernel, x, out)) for c, out in zip(contexts, outs, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.allclose(out, np.exp(x) * 2 + 1) for out in outs)
    assert counts.compiled.count("tile_m=8") == 1 and len(kernel.results) == 1


def test_inside_another_tile_function_it_is_the_tile_function() -> None:
    @pypto.tile
    def outer(x: Any, out: Any) -> None:
        out[:] = affine(x) + 1.0

    x, out = arguments()
    pypto.compile(outer).execute(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 2)
    pypto.compile(affine).execute(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)


def test_mistakes_of_a_call_leave_it_untuned() -> None:
    kernel, (x, out) = made(), arguments()
    for wrong in ((x,), (x, out, out), (x, out.astype(object))):
        with pytest.raises(pypto.UserError):
            kernel(*wrong)
    assert kernel.results == {} and kernel.best_config is None
    kernel(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)


def test_pickling_is_by_name_and_a_local_one_is_an_error() -> None:
    assert pickle.loads(pickle.dumps(affine)) is affine
    with pytest.raises(pypto.UserError) as error:
        pickle.dumps(made())
    assert error.value.name == "cannot-pickle"
    assert "affine" in repr(affine) and affine.name == "affine"
