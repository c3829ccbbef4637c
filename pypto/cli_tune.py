"""`pypto tune`: find the best tiling of a kernel, on made inputs, and keep it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pypto.cli_kernels import DTypes, Json, Kernel, Shapes, Target, find_kernels, read_dtypes, read_shapes
from pypto.ir.base.errors import UserError

if TYPE_CHECKING:
    from pypto.tuning_result import TuningResult

Axes = Annotated[
    list[str] | None,
    typer.Option("--axis", help="an axis of the search space: tile_m=16,32,64 (repeat; none: made from the kernel)"),
]
Cache = Annotated[Path | None, typer.Option("--cache", help="the cache's file (default: in the cache folder)")]


def tune(
    kernel: Kernel,
    shape: Shapes = None,
    dtype: DTypes = None,
    target: Target = None,
    axis: Axes = None,
    metric: Annotated[str, typer.Option("--metric", help="throughput, latency or memory_efficiency")] = "throughput",
    max_trials: Annotated[int | None, typer.Option("--max-trials", min=1, help="candidates measured")] = None,
    time_budget: Annotated[float | None, typer.Option("--time-budget", help="seconds for measuring")] = None,
    method: Annotated[str | None, typer.Option("--method", help="event or profiler")] = None,
    warm: Annotated[bool, typer.Option("--warm", help="leave the caches as they are between launches")] = False,
    cache: Cache = None,
    log: Annotated[Path | None, typer.Option("--log", help="file for a JSON line per trial")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="plot of predicted against measured times")] = None,
    as_json: Json = False,
) -> int:
    """Find the best tiling of a kernel on made inputs, and keep it for later runs."""
    import pypto

    space = pypto.TilingSearchSpace(**read_axes(axis)) if axis else None
    options: dict[str, Any] = {
        "target": target,
        "dtypes": read_dtypes(dtype),
        "tuning_metric": metric,
        "max_trials": max_trials,
        "time_budget": time_budget,
        "bench_method": method,
        "cold_cache": not warm,
        "log": log,
        "cache": None if cache is None else pypto.TilingCache(cache),
    }
    found = [pypto.auto_tune(item, read_shapes(shape), space, **options) for _, item in find_kernels(kernel)]
    _print(found, as_json)
    if plot is not None:
        for result in found:
            result.plot(plot if len(found) == 1 else plot.with_stem(f"{plot.stem}-{result.kernel}"))
    return 1 if any(_went_wrong(result) for result in found) else 0


def read_axes(given: list[str]) -> dict[str, Any]:
    """Return axes of a search space from words such as ``tile_m=16,32`` and ``tiles=8x16,64x64``."""
    axes = {}
    for item in given:
        name, separator, values = item.partition("=")
        if not separator or not values:
            wants = "written as NAME=VALUE,VALUE,..."
            raise UserError("option-value", None, what="tune", option="--axis", value=item, wants=wants)
        axes[name] = [_value(text) for text in values.split(",")]
    return axes


def _value(text: str) -> Any:
    parts = text.split("x")
    if len(parts) > 1 and all(part.isdigit() for part in parts):
        return tuple(int(part) for part in parts)
    return {"true": True, "false": False}.get(text.lower(), int(text) if text.isdigit() else text)


def _went_wrong(result: TuningResult) -> bool:
    from pypto.runtime.tuning.candidate import Outcome

    return any(trial.outcome is Outcome.WRONG_RESULT for trial in result.trials)


def _print(found: list[TuningResult], as_json: bool) -> None:
    if as_json:
        from pypto.tuning_result import result_to_json

        print(json.dumps([result_to_json(result) for result in found], indent=2))
        return
    for result in found:
        print(result.table())
        source = "from the cache" if result.from_cache else result.winner.source
        print(f"best: {result.candidate.describe()}, {result.estimated_tops:.3g} TOPS ({source})")
