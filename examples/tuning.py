"""Finding the best tiling: a search space, a kernel that tunes itself, and a cache that remembers both."""

import tempfile
from pathlib import Path

import numpy as np

import pypto


@pypto.tile
def matmul(a, b, c):
    c[:] = a @ b


@pypto.autotune(configs=[{"tile_m": 8}, {"tile_m": 32}, {"tile_m": 32, "threads": 1}], warmup=5, rep=20)
@pypto.tile
def scaled_exp(x, out):
    out[:] = pypto.exp(x) * 0.5


def tune_matmul(cache: pypto.TilingCache) -> pypto.TuningResult:
    """The article's search space, for one shape; a second run reads the answer from the cache."""
    space = pypto.TilingSearchSpace(
        tile_m=[32, 64, 128],
        tile_k=[32, 64, 128],
        tile_n=[32, 64, 128],
        constraint_memory={"L1": "64KB", "GM_per_tile": "256KB"},
    )
    return pypto.auto_tune(
        kernel=matmul,
        search_space=space,
        input_shape={"a": (128, 192), "b": (192, 160), "c": (128, 160)},
        tuning_metric="throughput",
        max_trials=4,
        warmup_runs=3,
        measure_runs=5,
        cache=cache,
    )


def check_matmul(best: pypto.TuningResult) -> None:
    random = np.random.default_rng(0)
    a, b = random.random((128, 192), np.float32), random.random((192, 160), np.float32)
    c = np.zeros((128, 160), np.float32)
    pypto.compile(matmul, config=best).execute(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def check_scaled_exp() -> None:
    x = np.linspace(-3, 3, 64 * 256, dtype=np.float32).reshape(64, 256)
    out = np.empty_like(x)
    scaled_exp(x, out)  # tunes, then runs
    scaled_exp(x, out)  # runs
    np.testing.assert_allclose(out, np.exp(x) * 0.5, rtol=1e-5)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, pypto.settings(cache=folder):
        cache = pypto.TilingCache(cache_path=Path(folder) / "tiling_cache.db")
        best = tune_matmul(cache)
        check_matmul(best)
        print(f"best tile: M={best.tile_m}, K={best.tile_k}, N={best.tile_n}: {best.estimated_tops:.3f} TOPS")
        assert tune_matmul(cache).from_cache
        check_scaled_exp()
        print(f"scaled_exp: {scaled_exp.best_config.candidate.describe()}")


if __name__ == "__main__":
    main()
