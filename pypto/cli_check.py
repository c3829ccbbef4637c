"""`pypto check`: AscendC kernels, of whatever origin, under the rules of the hardware on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.locations import UNKNOWN

Source = Annotated[Path, typer.Argument(metavar="KERNEL.cpp", help="AscendC source", exists=True, dir_okay=False)]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        help="an argument, in order: x.npy, zeros:float32[1024], random:float16[8,128], workspace:4096, a number",
    ),
]
Modes = Annotated[list[str] | None, typer.Option("--mode", help="early, late or random (repeat; default: all three)")]


def check(
    source: Source,
    arg: Arguments = None,
    kernel: Annotated[str | None, typer.Option("--kernel", help="which kernel; of a template, name<arguments>")] = None,
    blocks: Annotated[int, typer.Option("--blocks", min=1, help="blocks to launch")] = 1,
    mode: Modes = None,
    seed: Annotated[int, typer.Option("--seed", help="of random arrays and of mode random")] = 0,
    auto_sync: Annotated[bool, typer.Option("--auto-sync", help="the device compiler inserts barriers")] = False,
    time_limit: Annotated[float, typer.Option("--time-limit", help="seconds for each run")] = 60.0,
    save: Annotated[Path | None, typer.Option("--save", help="folder for the arrays after the run, as .npy")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> int:
    """Run an AscendC kernel on the host model: report races, broken rules, deadlocks and unwritten values."""
    from pypto.runtime.ascendc_host.driver import RunOptions, build, run

    text = source.read_text(encoding="utf-8")
    instances = (kernel,) if kernel else ()
    program = build(text, file=str(source), include=(source.resolve().parent,), instances=instances)
    arguments = [_argument(text, np.random.default_rng(seed + k)) for k, text in enumerate(arg or ())]
    reports = {}
    for name in mode or ("early", "late", "random"):
        options = RunOptions(_mode(name), seed, auto_sync, time_limit)
        reports[name] = run(program, arguments, kernel=kernel, blocks=blocks, options=options)
    if save is not None:
        _save(save, next(iter(reports.values())).outputs)
    if as_json:
        print(json.dumps({name: report.as_json() for name, report in reports.items()}, indent=2))
    else:
        _print(reports)
    return 1 if any(report.findings for report in reports.values()) else 0


def _mode(name: str) -> Any:
    modes = ("early", "late", "random")
    if name not in modes:
        hint = nearest(name, modes) or "one of: " + ", ".join(modes)
        raise UserError("check-argument", UNKNOWN, text=name, why=f"there is no such mode; use {hint}")
    return name


def _argument(text: str, random: np.random.Generator) -> Any:
    """Read one argument as the option's help says; raises UserError ``check-argument``."""
    kind, _, rest = text.partition(":")
    if kind in ("zeros", "ones", "random") and rest.endswith("]"):
        dtype, _, extents = rest[:-1].partition("[")
        shape = tuple(int(extent) for extent in extents.split(",") if extent)
        return _made(kind, _dtype(dtype, text), shape, random)
    if kind == "workspace" and rest.isdigit():
        from pypto.runtime.ascendc_host.driver import Workspace

        return Workspace(int(rest))
    if text.endswith(".npy"):
        return np.load(text)
    try:
        return float(text) if any(letter in text.lower() for letter in ".en") else int(text, 0)
    except ValueError:
        raise UserError("check-argument", UNKNOWN, text=text, why="it is neither an array nor a number") from None


def _dtype(name: str, text: str) -> np.dtype[Any]:
    import ml_dtypes

    try:
        return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    except TypeError:
        raise UserError("check-argument", UNKNOWN, text=text, why=f"NumPy knows no dtype {name!r}") from None


def _made(kind: str, dtype: np.dtype[Any], shape: tuple[int, ...], random: np.random.Generator) -> Any:
    if kind != "random":
        return np.full(shape, int(kind == "ones"), dtype)
    if dtype.kind in "iu":
        return random.integers(0, 100, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _save(folder: Path, outputs: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in outputs.items():
        np.save(folder / f"{name}.npy", array)


def _print(reports: Any) -> None:
    shown: dict[str, list[str]] = {}
    for name, report in reports.items():
        for finding in report.findings:
            shown.setdefault(str(finding), []).append(name)
        if report.printed and name == next(iter(reports)):
            sys.stdout.write(report.printed)
    for text, modes in shown.items():
        print(text, f"  (modes: {', '.join(modes)})", sep="\n")
    counters = next(iter(reports.values())).counters
    moved = ", ".join(f"{path} {count}" for path, count in counters.bytes.items())
    instructions = sum(counters.instructions.values())
    print(f"{len(shown)} findings on {counters.cores} cores; {instructions} instructions; bytes: {moved}")
