"""What is kept, under which keys, and what is never done twice. Tests named F are faults of the reference systems."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import TilingCache, TilingSearchSpace, UserError, auto_tune
from pypto.runtime.tuning import keys, store
from pypto.runtime.tuning.artefacts import ArtefactFolder, artefact_root, folders
from pypto.tuning import read_case
from pypto.tuning_candidates import candidates_of
from pypto.tuning_case import generated_code
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


@pytest.fixture
def cache(tmp_path: Path) -> TilingCache:
    return TilingCache(tmp_path / "t.db")


@pypto.tile
def affine(x: Any, out: Any) -> None:
    out[:] = pypto.exp(x) * 2.0 + 1.0


def arguments(shape: tuple[int, ...] = (40, 48), dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).random(shape).astype(dtype), np.zeros(shape, dtype)


def tune(cache: TilingCache, *args: Any, **options: Any) -> pypto.TuningResult:
    options = {"search_space": SPACE, **QUICK, **options}
    return auto_tune(affine, args=args or arguments(), cache=cache, **options)


def subject(kernel: Any = affine, args: Any = None, target: str = "cpu", **changes: Any) -> str:
    case = read_case(kernel, args or arguments(), None, None, None, target)
    return replace(case.key(changes.pop("code", generated_code(case))), **changes).digest()


# -- never twice


def test_the_same_tuning_is_read_from_the_cache(cache: TilingCache, counts: Counts) -> None:
    first = tune(cache)
    counts.clear()
    again = tune(cache)
    assert counts.nothing and again.from_cache and not first.from_cache
    assert again.candidate == first.candidate and again.seconds == first.seconds
    assert [trial.outcome for trial in again.trials] == [trial.outcome for trial in first.trials]


def test_F_one_more_config_measures_that_one_only(cache: TilingCache, counts: Counts) -> None:
    """The reference lost all timings when one config was added."""
    tune(cache)
    counts.clear()
    more = tune(cache, search_space=TilingSearchSpace(tiles=[(8, 16), (16, 48), (5, 6)]))
    assert set(counts.measured) == {"tiles=[5,6]"}
    assert set(counts.compiled) <= {"tiles=[5,6]", more.candidate.describe()}
    assert len([trial for trial in more.trials if trial.seconds is not None]) >= 3


def test_F_another_topn_tunes_what_is_missing_and_that_only(cache: TilingCache, counts: Counts) -> None:
    """In the reference another topn never tuned again, and a key of the wrapper's map was missing."""
    space = TilingSearchSpace(tile_m=[4, 8, 10, 20])
    model = {"perf_model": lambda tile_m: float(tile_m or 1000), "search_space": space}
    tune(cache, topn=2, **model)
    assert {"tile_m=4", "tile_m=8"} <= set(counts.compiled)
    counts.clear()
    best = tune(cache, topn=4, **model)
    assert set(counts.measured) == {"tile_m=10", "tile_m=20"}
    assert set(counts.compiled) - {best.candidate.describe()} <= {"tile_m=10", "tile_m=20"}


def test_F_a_winner_that_another_search_measured_has_its_binary(cache: TilingCache, counts: Counts) -> None:
    space = TilingSearchSpace(tile_m=[4, 8, 10])
    model = {"perf_model": lambda tile_m: float(tile_m or 1000), "search_space": space}
    bench = {"do_bench": lambda launch, quantiles: (launch(), 1.0 + 0.5 * len(counts.measured))[1]}
    tune(cache, topn=2, **model, **bench)
    best = tune(cache, topn=3, **model, **bench)
    for folder in folders(artefact_root(cache.path)):
        assert folder.load_optimum() in folder.binaries()
    assert best.candidate.key() in {folder.load_optimum() for folder in folders(artefact_root(cache.path))}


def test_F_deleting_optimize_tiling_alone_recovers(cache: TilingCache, counts: Counts) -> None:
    best = tune(cache)
    (folder,) = folders(artefact_root(cache.path))
    text = (folder.path / "optimize_tiling").read_text()
    (folder.path / "optimize_tiling").unlink()
    counts.clear()
    assert tune(cache).candidate == best.candidate and counts.nothing
    assert (folder.path / "optimize_tiling").read_text() == text


@pytest.mark.parametrize("damage", [lambda t: t[:5], lambda t: t + "\n", lambda t: t + "|1", lambda t: "x|1|1"])
def test_F_a_damaged_optimize_tiling_recovers(cache: TilingCache, counts: Counts, damage: Any) -> None:
    best = tune(cache)
    (folder,) = folders(artefact_root(cache.path))
    path = folder.path / "optimize_tiling"
    text = path.read_text()
    path.write_text(damage(text))
    counts.clear()
    with pytest.warns(RuntimeWarning, match="ignored"):
        assert tune(cache).candidate == best.candidate
    assert counts.nothing and path.read_text() == text


def test_the_folder_answers_where_the_database_is_lost(cache: TilingCache, counts: Counts) -> None:
    best = tune(cache)
    cache.path.write_bytes(b"rubbish" * 1000)
    counts.clear()
    with pytest.warns(RuntimeWarning, match="is now"):
        again = tune(cache)
    assert again.candidate == best.candidate and again.seconds == best.seconds and counts.nothing
    assert tune(cache).candidate == best.candidate and cache.verify() == []


def test_a_lost_database_and_a_damaged_winner_tune_again(cache: TilingCache, counts: Counts) -> None:
    tune(cache)
    (folder,) = folders(artefact_root(cache.path))
    (folder.path / "optimize_tiling").write_text("x|y|z")
    for end in ("", "-wal", "-shm"):
        Path(f"{cache.path}{end}").unlink(missing_ok=True)
    counts.clear()
    with pytest.warns(RuntimeWarning, match="Load optimize file format error"):
        assert tune(cache).seconds
    assert len(counts.measured) >= 2


def test_F_a_binary_that_was_exchanged_is_not_used(cache: TilingCache, counts: Counts) -> None:
    tune(cache)
    (folder,) = folders(artefact_root(cache.path))
    for file in folder.path.glob("static_kernel/*/kernel.o"):
        file.write_bytes(b"evil")
    assert len(cache.verify()) == len(list(folder.path.glob("static_kernel/*")))
    x, out = arguments()
    with pytest.warns(RuntimeWarning, match="hash"):
        best = tune(cache, x, out)
    pypto.compile(affine, config=best).execute(x, out)
    assert np.allclose(out, np.exp(x) * 2 + 1)


# -- what is in the key


def test_F_shapes_dtypes_strides_and_alignment_are_in_the_key() -> None:
    x, out = arguments((40, 48))
    found = {
        "same": subject(args=(x, out)),
        "shape": subject(args=arguments((48, 40))),
        "dtype": subject(args=arguments(dtype=np.float64)),
        "column order": subject(args=(np.asfortranarray(x), out)),
        "reversed": subject(args=(x[::-1], out)),
    }
    whole = np.zeros(40 * 48 + 4, np.float32)
    odd = next(whole[k : k + 1920].reshape(40, 48) for k in range(4) if whole[k:].ctypes.data % 16 == 4)
    found["alignment"] = subject(args=(x, odd))
    assert len(set(found.values())) == len(found)
    assert subject(args=(x.copy(), out.copy())) == found["same"], "the same kind of arguments has the same key"


def test_F_device_toolchain_threads_and_target_are_in_the_key() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"device": "another processor"},
        {"toolchain": "another LLVM"},
        {"threads": 97},
        {"target": "ascendc"},
        {"cores": (1, 2)},
        {"generator": "another"},
    ]
    assert len({subject(**change) for change in changes}) == len(changes)
    with pypto.settings(num_threads=1):
        one = subject()
    with pypto.settings(num_threads=2):
        assert subject() != one
    assert "910b1" in read_case(affine, arguments(), None, None, None, "ascendc").key("").device


def quick_bench(launch: Any, quantiles: Any) -> float:
    launch()
    return 1.0


def test_F_search_options_are_in_the_key(cache: TilingCache, counts: Counts) -> None:
    tune(cache, do_bench=quick_bench)
    for change in (
        {"tuning_metric": "latency"},
        {"topn": 2},
        {"measure_runs": 3},
        {"cold_cache": True},
        {"bench_method": "profiler"},
        {"perf_model": lambda tiles: 1.0},
        {"config": {"aicore_num": 3}},
        {"search_space": TilingSearchSpace(tiles=[(8, 16), (16, 48)], predicates=lambda tiles: True)},
    ):
        assert not tune(cache, do_bench=quick_bench, **change).from_cache, change
        assert tune(cache, do_bench=quick_bench, **change).from_cache, change


def test_F_another_way_of_measuring_measures_again(cache: TilingCache, counts: Counts) -> None:
    tune(cache)
    counts.clear()
    tune(cache, bench_method="profiler")
    assert counts.measured


def test_F_results_with_hooks_are_kept_and_another_hook_is_another_result(cache: TilingCache, counts: Counts) -> None:
    """The reference kept nothing when there were hooks."""

    def make(number: int) -> Any:
        return lambda values: values.setdefault("seen", number)

    tune(cache, pre_hook=make(1))
    counts.clear()
    assert tune(cache, pre_hook=make(1)).from_cache and counts.nothing
    assert not tune(cache, pre_hook=make(2)).from_cache and counts.measured


def test_F_an_upgrade_that_changes_no_generated_code_keeps_results(
    cache: TilingCache, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(cache)
    counts.clear()
    monkeypatch.setattr(pypto, "__version__", "99.0")
    assert tune(cache).from_cache and counts.nothing
    assert subject() == subject(code=generated_code(read_case(affine, arguments(), None, None, None, None)))
    assert subject(code="other code") != subject()


def test_F_a_kernel_that_computes_something_else_is_another_one(cache: TilingCache) -> None:
    @pypto.tile(name="affine")
    def other(x: Any, out: Any) -> None:
        out[:] = pypto.exp(x) * 2.0 + 1.5

    tune(cache)
    assert not auto_tune(other, args=arguments(), search_space=SPACE, cache=cache, **QUICK).from_cache
    assert cache.lookup(affine, (40, 48)) is not None


@pytest.fixture
def no_limit() -> Iterator[None]:
    yield
    pypto.set_device_limit()


def test_the_core_limit_is_in_the_key_of_static_kernels_for_a_device(no_limit: None) -> None:
    def found(target: str) -> str:
        return subject(target=target)

    free = {target: found(target) for target in ("ascendc", "cpu")}
    pypto.set_device_limit(vector=1000, cube=1000)
    assert found("ascendc") == free["ascendc"], "more than there are is no limit"
    pypto.set_device_limit(vector=8)
    limited = found("ascendc")
    assert limited != free["ascendc"] and found("cpu") == free["cpu"]
    pypto.set_device_limit(vector=4)
    assert found("ascendc") not in (limited, free["ascendc"])
    case = read_case(affine, arguments(), None, None, None, "ascendc")
    assert case.key("").cores == (24, 4)


def test_the_core_limit_is_not_in_the_key_of_dynamic_kernels(no_limit: None) -> None:
    from pypto.ir.index import Symbol

    case = read_case(affine, arguments(), None, None, None, "ascendc")
    parameters = [replace(p, type=replace(p.type, shape=(Symbol("n"), 48))) for p in case.module.parameters]
    dynamic = replace(case, module=replace(case.module, parameters=tuple(parameters)))
    free = dynamic.key("")
    pypto.set_device_limit(vector=8)
    assert dynamic.key("") == free and free.cores is None


def test_the_core_limit_limits_candidates_and_launches(no_limit: None) -> None:
    pypto.set_device_limit(vector=3)
    case = read_case(affine, arguments((64, 256)), None, None, None, "ascendc")
    usable = candidates_of(case, TilingSearchSpace(tile_m=[2, 4])).usable
    assert [item.block_dim for item in usable] == [3] * len(usable) and len(usable) > 1
    for config in ({"schedule": usable[-1].schedule}, {}):
        compiled = pypto.compile(affine, config, target="ascendc", shapes={"x": (64, 256), "out": (64, 256)})
        assert "3 blocks on vector cores" in compiled.source()


# -- others that tune the same


def test_who_waits_too_long_for_another_tuner_goes_on_alone(
    cache: TilingCache, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pypto import tuning_session

    tune(cache)
    (folder,) = folders(artefact_root(cache.path))
    (folder.path / "optimize_tiling").unlink()
    cache.rows.remove(cache.rows.rows())
    monkeypatch.setattr(tuning_session, "LOCK_SECONDS", 0.2)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with folder.tuning(wait=1):
            inside.set()
            leave.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert inside.wait(10)
        with pytest.warns(RuntimeWarning, match="tuned without waiting any longer"):
            assert tune(cache).seconds
    finally:
        leave.set()
        holder.join()
    assert tune(cache).from_cache, "its choice is kept all the same"


def test_who_waits_for_another_tuner_says_so(cache: TilingCache, caplog: pytest.LogCaptureFixture) -> None:
    folder = ArtefactFolder(cache.path.parent / "kernel" / "hash")

    def wait() -> None:
        with folder.tuning(wait=30):
            pass

    with folder.tuning(wait=1):
        waiting = threading.Thread(target=wait)
        with caplog.at_level("INFO", "pypto.tuning"):
            waiting.start()
            time.sleep(0.2)
    waiting.join()
    assert "waiting for the process that tunes it" in caplog.text


# -- a failed tuning


def test_F_a_failed_tuning_leaves_everything_as_it_was(cache: TilingCache, monkeypatch: pytest.MonkeyPatch) -> None:
    @pypto.autotune(configs=[{"tile_m": 8}, {"tile_m": 16}], cache=cache, warmup=0.5, rep=2, cold_cache=False)
    @pypto.tile
    def shifted(x: Any, out: Any) -> None:
        out[:] = x + 1.0

    x, out = arguments()
    with monkeypatch.context() as patch:
        patch.setattr("pypto.tuning_session.Session.run", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                shifted(x, out)
    assert shifted.best_config is None and (out == 0).all()
    shifted(x, out)
    assert np.array_equal(out, x + np.float32(1)) and shifted.best_config is not None


# -- TilingCache


def test_lookup_and_store_by_name(cache: TilingCache) -> None:
    """Section 3.2: a function that looks up, tunes, and stores."""

    def get_optimal_tile_config(kernel_name: str, input_shape: tuple[int, ...]) -> Any:
        cached = cache.lookup(kernel_name, input_shape)
        if cached is not None:
            return cached
        config = auto_tune(affine, input_shape, SPACE, **QUICK)
        cache.store(kernel_name, input_shape, config)
        return config

    first = get_optimal_tile_config("affine", (40, 48))
    again = get_optimal_tile_config("affine", (40, 48))
    assert again.candidate == first.candidate and again.from_cache
    assert cache.lookup("affine", (48, 40)) is None and cache.lookup("other", (40, 48)) is None
    assert cache.lookup("affine", [40, 48]).candidate == first.candidate


def test_lookup_and_store_by_kernel(cache: TilingCache) -> None:
    assert cache.lookup(affine, (40, 48)) is None
    best = auto_tune(affine, (40, 48), SPACE, cache=cache, **QUICK)
    assert cache.lookup(affine, (40, 48)).candidate == best.candidate
    assert cache.lookup(affine, {"x": (40, 48), "out": (40, 48)}).candidate == best.candidate
    assert cache.lookup(affine, (40, 49)) is None
    assert cache.lookup(affine, (40, 48), target="ascendc") is None
    assert cache.lookup(affine, (40, 48), dtypes="float64") is None
    cache.store(affine, (40, 48), {"tile_m": 4})
    assert cache.lookup(affine, (40, 48)) == {"tile_m": 4}, "the latest counts"


@pytest.mark.parametrize(
    "config",
    [
        {"tile_m": 32, "enable_pipeline": True, "note": None, "shape": (8, None)},
        pypto.TileConfig(tile_m=32, tile_n=16, tile_num=4),
        pypto.TileConfig(buffer=pypto.BufferConfig(strategy=pypto.BufferStrategy.TRIPLE)),
    ],
)
def test_configs_come_back_as_they_were(cache: TilingCache, config: Any) -> None:
    cache.store("k", (1,), config)
    found = cache.lookup("k", (1,))
    assert type(found) is type(config)
    assert (vars(found) if hasattr(found, "__dict__") else found) == (
        vars(config) if hasattr(config, "__dict__") else config
    )


def test_export_import_entries_and_prune(cache: TilingCache, tmp_path: Path) -> None:
    best = auto_tune(affine, (40, 48), SPACE, cache=cache, **QUICK)
    cache.store("by_name", (3,), {"tile_m": 1})
    entries = {entry.kernel: entry for entry in cache.entries()}
    assert entries["affine"].value.candidate == best.candidate and entries["affine"].timings >= 2
    rows = cache.export_json(tmp_path / "out.json")
    other = TilingCache(tmp_path / "other.db")
    assert other.import_json(tmp_path / "out.json") == rows
    assert other.lookup(affine, (40, 48)).candidate == best.candidate
    assert cache.prune(days=1) == 0 and cache.prune(kernel="nothing") == 0
    assert list(folders(artefact_root(cache.path)))
    assert cache.prune(kernel="affine") == 1
    assert not list(folders(artefact_root(cache.path)))
    assert [entry.kernel for entry in cache.entries()] == ["by_name"]
    assert cache.prune() == 1 and cache.rows.rows() == []


def test_importing_something_else_is_an_error(cache: TilingCache, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"format": "other"}))
    for path in (tmp_path / "x.json", tmp_path / "none.json"):
        with pytest.raises(UserError) as error:
            cache.import_json(path)
        assert error.value.name == "cache-file"


def test_values_that_json_has_not(cache: TilingCache) -> None:
    for config in (object(), {"f": lambda: 0}, pypto.TileConfig(dependency=pypto.Dependency("a", "b"))):
        with pytest.raises(UserError) as error:
            cache.store("k", (1,), config)
        assert error.value.name == "cache-value"


def test_code_digests_tell_functions_apart() -> None:
    def make(number: float) -> Any:
        return lambda x: x + number

    assert keys.code_digest(make(1)) == keys.code_digest(make(1)) != keys.code_digest(make(2))
    assert keys.code_digest(lambda x: [x, 1]) != keys.code_digest(lambda x: [1, x])
    assert keys.code_digest(len) != keys.code_digest(max)
    assert len(keys.digest({"a": 1})) == 64


# -- a second process

SECOND = """
import sys, time
import numpy as np
import pypto
from pypto.codegen.llvm import emitter
from pypto.runtime import code_cache, toolchain
from pypto.runtime.tuning import workers
from pypto.runtime.tuning.measuring import measure as measuring

def forbidden(*arguments, **options):
    raise AssertionError("a warm process compiles and measures nothing")

first = sys.argv[2] == "first"

@pypto.autotune(configs=[{"tile_m": 8}, {"tile_m": 16}], cache=pypto.TilingCache(sys.argv[1] + "/t.db"),
                warmup=0.5, rep=2, cold_cache=False)
@pypto.tile
def affine(x, out): out[:] = pypto.exp(x) * 2.0 + 1.0

@pypto.tile
def other(x, out): out[:] = pypto.exp(x)

x = np.random.default_rng(0).random((40, 48)).astype(np.float32)
out = np.zeros_like(x)
pypto.compile(other).execute(x, out)
if not first:
    emitter.emit = toolchain.emit_object = workers.compile_candidates = measuring.measure = forbidden
kernel = pypto.AutotunedKernel(affine.function, (), affine._options)
kernel.execute(x, out)
assert np.allclose(out, np.exp(x) * 2 + 1)
assert kernel.best_config.from_cache is not first
"""


def test_a_warm_second_process_compiles_and_measures_nothing(tmp_path: Path) -> None:
    """Its first execute traces, reads the choice and links the binary."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for turn in ("first", "second"):
            done = subprocess.run(
                [sys.executable, "-c", SECOND, str(tmp_path), turn],
                check=False,
                capture_output=True,
                text=True,
                env={**os.environ, "PYPTO_CACHE": str(tmp_path / "cache")},
            )
            assert done.returncode == 0, done.stderr


def test_folders_are_named_by_kernel_and_hash(cache: TilingCache) -> None:
    tune(cache)
    (folder,) = folders(artefact_root(cache.path))
    assert isinstance(folder, ArtefactFolder)
    assert folder.path.parent.name == "affine" and len(folder.path.name) == 64
    assert {path.name for path in folder.path.iterdir()} == {
        "tiling.pto",
        "wrapper.json",
        "static_kernel",
        "optimize_tiling",
        "compile.lock",
    }


def test_what_failed_for_want_of_disk_or_memory_is_tried_again(
    cache: TilingCache, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pypto.runtime.tuning import worker_main

    with monkeypatch.context() as patch, pypto.settings(compile_threads=1):
        patch.setattr(worker_main, "try_compile", lambda message: {"failed": "OSError: No space left on device"})
        with pytest.warns(RuntimeWarning, match="is not tuned"):
            assert tune(cache).seconds is None
    assert cache.entries() == [] and cache.rows.rows("timings") == []
    counts.clear()
    assert tune(cache).seconds and len(counts.measured) >= 2
