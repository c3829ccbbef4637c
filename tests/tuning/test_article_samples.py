"""The samples of the two articles on tuning, in this API; the CPU stands for the NPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from documents import ROOT, run_page
from pypto.runtime.tuning import store
from pypto.runtime.tuning.artefacts import folders
from tuning.counting import Counts, count

QUICK: dict[str, Any] = {"cold_cache": False, "warmup": 0.5, "rep": 2}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    store.warn_once.cache_clear()
    with pypto.settings(cache=tmp_path / "cache"):
        yield


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return count(monkeypatch)


def test_the_page_on_tuning_runs() -> None:
    assert run_page(ROOT / "docs" / "tuning.md") == 3


def add_sum() -> Any:
    @pypto.autotune(**QUICK)
    @pypto.tile
    def test_add_sum(x: Any, y: Any, out: Any) -> None:
        out[:] = pypto.sum(x + y, axis=(0, 1), keepdims=True)

    return test_add_sum


def test_article_000_section_10_topn_and_a_winner_on_disk(counts: Counts, tmp_path: Path) -> None:
    """At most three solutions; the first call compiles, measures and writes ``optimize_tiling``; the second nothing."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal((32, 1024), np.float32), random.standard_normal((1, 1024), np.float32)
    out = np.zeros((1, 1), np.float32)
    golden = (x.astype(np.float64) + y).sum()
    with pypto.settings(autotune_topn=3, compile_threads=1):
        add_sum()(x, y, out)
        assert abs(out[0, 0] - golden) < 1e-3 * abs(golden) + 1e-3
        (folder,) = folders(tmp_path / "cache")
        assert (folder.path / "optimize_tiling").exists() and folder.load_optimum() in folder.binaries()
        kernels = list(folder.path.glob("static_kernel/*/kernel.o"))
        assert len(kernels) == len(set(counts.compiled)) <= 4, "three solutions, and the untuned kernel beside them"
        counts.clear()
        out[:] = 0
        add_sum()(x, y, out)
        assert counts.nothing and abs(out[0, 0] - golden) < 1e-3 * abs(golden) + 1e-3


def test_article_000_section_2_topn_one_is_static_without_measuring(counts: Counts, tmp_path: Path) -> None:
    @pypto.tile
    def test_add(x: Any, y: Any, out: Any) -> None:
        out[:] = x + y

    x, y, out = (np.ones((32, 1024), np.float32) for _ in range(3))
    best = pypto.auto_tune(test_add, args=(x, y, out), topn=1)
    (folder,) = folders(tmp_path / "cache")
    assert counts.measured == [] and len(counts.compiled) == 1
    assert folder.load_optimum() == best.candidate.key(), "one solution is written as the winner at once"


@pytest.mark.parametrize("method", ["event", "profiler"])
def test_article_004_configs_measured_in_either_way(method: str, counts: Counts) -> None:
    """Named blocks; the key counts; the best config is kept and runs directly afterwards."""

    @pypto.autotune(
        configs=[
            {"tile_m": 64, "tile_n": 64, "tile_k": 32},
            {"tile_m": 32, "tile_n": 64, "tile_k": 32},
            {"tile_m": 32, "tile_n": 32, "tile_k": 64},
        ],
        key=["scale"],
        **QUICK,
    )
    @pypto.tile
    def matmul(a: Any, b: Any, scale: Any, c: Any) -> None:
        c[:] = (a @ b) * scale

    random = np.random.default_rng(0)
    a, b = random.random((96, 64), np.float32), random.random((64, 80), np.float32)
    c = np.zeros((96, 80), np.float32)
    with pypto.settings(bench_method=method):
        matmul(a, b, 2.0, c)
        assert np.allclose(c, a @ b * 2, rtol=1e-5)
        best = matmul.best_config
        assert best.winner.method == method and best.seconds > 0
        if method == "profiler":
            assert best.winner.samples == 30, "5 launches warm up, 30 count"
        else:
            assert best.winner.quantiles is not None and best.winner.seconds == best.winner.quantiles[0]
        counts.clear()
        matmul(a, b, 2.0, c)
        assert counts.nothing
        matmul(a, b, 3.0, c)
        assert np.allclose(c, a @ b * 3, rtol=1e-5) and len(matmul.results) == 2
