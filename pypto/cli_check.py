"""`pypto check`: races, capacities and bank conflicts of kernels; AscendC of any origin under the hardware's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pypto.cli_kernels import DTypes, Json, Shapes, compile_kernel, find_kernels, split
from pypto.ir.base.errors import UserError

IR_ENDINGS = (".py", ".pto")

Checked = Annotated[str, typer.Argument(metavar="KERNEL", help="FILE.py, FILE.py:name, FILE.pto or AscendC source")]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        help="an argument, in order: x.npy, zeros:float32[1024], random:float16[8,128], workspace:4096, a number",
        rich_help_panel="AscendC",
    ),
]
Modes = Annotated[
    list[str] | None,
    typer.Option("--mode", help="early, late or random (repeat; default: all three)", rich_help_panel="AscendC"),
]
Name = Annotated[
    str | None,
    typer.Option("--kernel", help="which kernel; of a template, name<arguments>", rich_help_panel="AscendC"),
]
Blocks = Annotated[int, typer.Option("--blocks", min=1, help="blocks to launch", rich_help_panel="AscendC")]
Seed = Annotated[int, typer.Option("--seed", help="of random arrays and of mode random", rich_help_panel="AscendC")]
AutoSync = Annotated[
    bool, typer.Option("--auto-sync", help="the device compiler inserts barriers", rich_help_panel="AscendC")
]
TimeLimit = Annotated[float, typer.Option("--time-limit", help="seconds for each run", rich_help_panel="AscendC")]
Save = Annotated[
    Path | None,
    typer.Option("--save", help="folder for the arrays after the run, as .npy", rich_help_panel="AscendC"),
]


def check(
    kernel_file: Checked,
    shape: Shapes = None,
    dtype: DTypes = None,
    arg: Arguments = None,
    kernel: Name = None,
    blocks: Blocks = 1,
    mode: Modes = None,
    seed: Seed = 0,
    auto_sync: AutoSync = False,
    time_limit: TimeLimit = 60.0,
    save: Save = None,
    as_json: Json = False,
) -> int:
    """Check kernels as they are lowered, or AscendC on the host model.

    Of a kernel or a text: races, deadlocks, misused flags and capacities are errors, bank conflicts warnings. AscendC
    runs on the host model in three modes: races, broken rules, deadlocks, unwritten values. Exit codes: 0 no errors, 1
    errors, 2 misuse.
    """
    from pypto.cli_check_source import SourceOptions

    options = SourceOptions(arg or (), kernel, blocks, mode or (), seed, auto_sync, time_limit, save)
    if split(kernel_file)[0].suffix in IR_ENDINGS:
        if options != SourceOptions((), None, 1, (), 0, False, 60.0, None):
            raise UserError("check-options", None, file=kernel_file, options="--shape and --dtype")
        return _check_kernels(kernel_file, shape, dtype, as_json)
    if shape or dtype:
        raise UserError("check-options", None, file=kernel_file, options="--arg, --kernel, --blocks, --mode and so on")
    return _check_source(Path(kernel_file), options, as_json)


def _check_source(path: Path, options: Any, as_json: bool) -> int:
    from pypto.cli_check_source import check_source, print_reports

    if not path.is_file():
        raise UserError("kernel-file", None, path=str(path), why="there is no such file")
    reports = check_source(path, options)
    if as_json:
        print(json.dumps({name: report.as_json() for name, report in reports.items()}, indent=2))
    else:
        print_reports(reports)
    return 1 if any(report.findings for report in reports.values()) else 0


def _check_kernels(text: str, shape: list[str] | None, dtype: list[str] | None, as_json: bool) -> int:
    from pypto.checking import CheckReport, check_module

    reports = []
    for name, item in find_kernels(text):
        try:
            module = compile_kernel(item, shape, dtype, "reference").module_at("planned")
            reports.append(check_module(name, module))
        except UserError as error:
            if error.location is None or error.name == "shapes-needed":
                raise
            reports.append(CheckReport.of(name, error))
    if as_json:
        print(json.dumps([report.as_json() for report in reports], indent=2))
    else:
        print("\n".join(map(str, reports)))
    return 1 if any(report.errors for report in reports) else 0
