"""Bugs that other compilers had. Tuning: the caller's data, keys of caches, many processes, candidates that fail."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from bugs.helpers import F32, NAN, rng, run, same
from pypto import tile

TILES = [(8, 8), (16, 32), (64, 64)]
TUNED = ("cpu", "ascendc")
QUICK: dict[str, Any] = {"cold_cache": False, "warmup_seconds": 0.0005, "measure_seconds": 0.002}


def tune(kernel: Any, arguments: tuple[Any, ...], target: str, tiles: Any, database: Path, **options: Any) -> Any:
    space = pypto.TilingSearchSpace(tiles=tiles)
    cache = pypto.TilingCache(cache_path=database)
    return pypto.auto_tune(
        kernel=kernel, search_space=space, args=arguments, target=target, cache=cache, **QUICK, **options
    )


@pytest.mark.parametrize("target", TUNED)
def test_B45_tuning_an_in_place_kernel(target: str, tmp_path: Path) -> None:
    """As in triton-lang/triton#6547 (with #7181, #9230): every candidate ran on the caller's arrays."""

    @tile
    def scale(x):
        x[:] = x * 2.0 + 1.0

    x = rng(1).random((40, 24)).astype(F32)
    y = x.copy()
    best = tune(scale, (y,), target, TILES, tmp_path / "t.db")
    same(y, x)
    pypto.compile(scale, best, target=target).execute(y)
    same(y, x * F32(2) + F32(1))


@pytest.mark.parametrize("target", ["cpu"])
def test_B45_tuning_a_kernel_that_adds_up(target: str, tmp_path: Path) -> None:
    @tile
    def add(x, out):
        out[:] += x

    x = rng(1).random((40, 24)).astype(F32)
    out = np.full_like(x, 0.5)
    best = tune(add, (x, out), target, TILES, tmp_path / "t.db")
    same(out, np.full_like(x, 0.5))
    pypto.compile(add, best, target=target).execute(x, out)
    same(out, x + F32(0.5))


SHAPES = {"cpu": ((64, 64), (3, 5), (1, 1), (129, 1), (64, 64), (257, 33)), "ascendc": ((16, 64), (3, 5), (16, 64))}
DTYPES = {"cpu": (F32, np.float16, np.float64), "ascendc": (F32,)}


@pytest.mark.parametrize("target", TUNED)
def test_B46_one_cache_many_shapes_types_and_strides(target: str, tmp_path: Path) -> None:
    """As in tile-ai/tilelang#1250: the key was made from source and candidates, not from sizes."""

    @tile
    def k(x, y, out):
        out[:] = pypto.exp(x) * y

    def bench(launch: Any, quantiles: Any) -> float:
        launch()
        return 1.0

    options = {"do_bench": bench} if target == "cpu" else {}
    found = {}
    for shape in SHAPES[target]:
        for dtype in DTYPES[target]:
            x, y = rng(1).random(shape).astype(dtype), rng(2).random(shape).astype(dtype)
            for number, used in enumerate((x, np.asfortranarray(x), x[::-1]) if target == "cpu" else (x,)):
                out = np.full(shape, NAN, dtype)
                best = tune(k, (used, y, out), target, TILES, tmp_path / "t.db", **options)
                assert best.from_cache is ((shape, dtype, number) in found) or 1 in shape
                found[shape, dtype, number] = best
                pypto.compile(k, best, target=target).execute(used, y, out)
                exact = np.exp(used.astype(np.float64)) * y
                np.testing.assert_allclose(out, exact, rtol=5e-3 if dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("target", ["cpu"])
def test_B46_a_cache_of_garbage(target: str, tmp_path: Path) -> None:
    @tile
    def k(x, y, out):
        out[:] = pypto.exp(x) * y

    (tmp_path / "bad.db").write_bytes(b"not a database" * 99)
    x, y, out = np.ones((4, 4), F32), np.ones((4, 4), F32), np.zeros((4, 4), F32)
    with pytest.warns(RuntimeWarning, match=r"could not be read .* is now .*bad\.db\.damaged"):
        best = tune(k, (x, y, out), target, TILES, tmp_path / "bad.db")
    pypto.compile(k, best, target=target).execute(x, y, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-5)
    assert tune(k, (x, y, out), target, TILES, tmp_path / "bad.db").from_cache


CHILD = """
import sys, numpy as np, pypto
from pypto import tile
@tile
def k(x, out): out[:] = pypto.exp(x) + 1.0
target, database = sys.argv[1:]
x = np.random.default_rng(0).random((50, 70)).astype(np.float32)
out = np.zeros((50, 70), np.float32)
space = pypto.TilingSearchSpace(tiles=[(8, 8), (16, 32), (64, 64)])
best = pypto.auto_tune(kernel=k, search_space=space, args=(x, out), target=target, cold_cache=False,
                       cache=pypto.TilingCache(cache_path=database), measure_seconds=0.002)
pypto.compile(k, best, target=target).execute(x, out)
np.testing.assert_allclose(out, np.exp(x.astype(np.float64)) + 1, rtol=1e-5)
print("OK", best.from_cache)
"""


@pytest.mark.parametrize("target", TUNED)
def test_B48_many_processes_one_cache(target: str, tmp_path: Path) -> None:
    """As in triton-lang/triton#11512 (with #2688, #518): processes that share a cache failed at cleaning up."""
    command = [sys.executable, "-W", "error", "-c", CHILD, target, str(tmp_path / "new_folder" / "t.db")]
    number = 4 if target == "cpu" else 2
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(number)
    ]
    ends = [child.communicate(timeout=300) for child in children]
    assert all(child.returncode == 0 for child in children), [errors[-400:] for _, errors in ends]
    assert sorted(printed for printed, _ in ends) == ["OK False\n", *["OK True\n"] * (number - 1)]


@pytest.mark.parametrize("target", ["cpu"])
def test_B48_no_place_to_write(target: str, tmp_path: Path) -> None:
    @tile
    def k(x, out):
        out[:] = x + 1.0

    (tmp_path / "plain_file").write_text("x")
    x, out = np.ones((8, 8), F32), np.zeros((8, 8), F32)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        best = tune(k, (x, out), target, TILES, tmp_path / "plain_file" / "sub" / "t.db")
    assert any("is not used" in str(item.message) for item in found)
    pypto.compile(k, best, target=target).execute(x, out)
    same(out, x + F32(1))


@pytest.mark.parametrize("target", TUNED)
def test_B50_candidates_that_cannot_be_built(target: str, tmp_path: Path) -> None:
    """As in triton-lang/triton#6803 (with triton-lang/triton-ascend#558): one bad candidate ended the tuning."""

    @tile
    def k(x, out):
        out[:] = x * 2.0

    x, out = rng(1).random((40, 24)).astype(F32), np.zeros((40, 24), F32)
    huge = (1 << 20, 1 << 20)
    best = tune(k, (x, out), target, [huge, (16, 16), huge], tmp_path / "t.db")
    assert huge not in best.values.values()
    pypto.compile(k, best, target=target).execute(x, out)
    same(out, x * F32(2))
    with pytest.raises(pypto.UserError, match="1048576"):
        tune(k, (x, out), target, [huge], tmp_path / "t.db")
    run(k, x, out, target=target)
    same(out, x * F32(2))
