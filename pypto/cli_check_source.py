"""Checking AscendC, of whatever origin, under the rules of the hardware on this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.locations import UNKNOWN
from pypto.runtime.ascendc_host.report import Report


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to run AscendC; the command's help says what each is for."""

    arg: Sequence[str]
    kernel: str | None
    blocks: int
    mode: Sequence[str]
    seed: int
    auto_sync: bool
    time_limit: float
    save: Path | None


def check_source(source: Path, options: SourceOptions) -> dict[str, Report]:
    """Run a kernel of AscendC `source` in each mode; return the reports by mode, and save the arrays of the first."""
    from pypto.runtime.ascendc_host.driver import RunOptions, build, run

    text = source.read_text(encoding="utf-8")
    instances = (options.kernel,) if options.kernel else ()
    program = build(text, file=str(source), include=(source.resolve().parent,), instances=instances)
    arguments = [_argument(text, np.random.default_rng(options.seed + k)) for k, text in enumerate(options.arg)]
    reports = {}
    for name in options.mode or ("early", "late", "random"):
        chosen = RunOptions(_mode(name), options.seed, options.auto_sync, options.time_limit)
        reports[name] = run(program, arguments, kernel=options.kernel, blocks=options.blocks, options=chosen)
    if options.save is not None:
        _save(options.save, next(iter(reports.values())).outputs)
    return reports


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
        return _loaded(text)
    try:
        return float(text) if any(letter in text.lower() for letter in ".en") else int(text, 0)
    except ValueError:
        raise UserError("check-argument", UNKNOWN, text=text, why="it is neither an array nor a number") from None


def _loaded(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = getattr(error, "strerror", None) or "it is not an array that numpy.save wrote"
        raise UserError("check-argument", UNKNOWN, text=path, why=f"cannot read the file: {why}") from None


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


def print_reports(reports: Mapping[str, Report]) -> None:
    """Print each finding once, with the modes that it came up in, and what ran.

    The same rule broken at the same places is one finding, on whichever core and bytes a mode met it first.
    """
    shown: dict[tuple[object, ...], tuple[str, list[str]]] = {}
    for name, report in reports.items():
        for finding in report.findings:
            places = sorted([(finding.file, finding.line), (finding.other_file, finding.other_line)])
            _, modes = shown.setdefault((finding.rule, *places), (str(finding), []))
            modes.extend([name] if name not in modes else [])
        if report.printed and name == next(iter(reports)):
            sys.stdout.write(report.printed)
    for text, modes in shown.values():
        print(text, f"  (modes: {', '.join(modes)})", sep="\n")
    counters = next(iter(reports.values())).counters
    moved = ", ".join(f"{path} {count}" for path, count in counters.bytes.items())
    instructions = sum(counters.instructions.values())
    print(f"{len(shown)} findings on {counters.cores} cores; {instructions} instructions; bytes: {moved}")
