"""The `pypto` command: each verb is one thin function over the public API.

Exit codes: 0 right, 1 wrong or found something, 2 misuse.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from pypto.cli_cache import cache
from pypto.cli_check import check
from pypto.cli_ir import ir
from pypto.cli_kernels import DTypes, Json, Kernel, Shapes, Target, compile_kernel, find_kernels
from pypto.cli_tune import tune
from pypto.ir.base.errors import CompilerBug, UserError

application = typer.Typer(
    name="pypto",
    help="Compile, run and read tile kernels. KERNEL is FILE.py, FILE.py:name or FILE.pto.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

application.command()(check)
application.command()(ir)
application.command()(tune)
application.add_typer(cache, name="cache")


COMPLAINT: Any = typer.BadParameter.__mro__[2]
"""ClickException, from wherever typer has it: what is wrong with the words of a command."""

INTERRUPTED = 130
"""The exit code that shells give to what Ctrl-C ended."""


def main() -> None:
    """Run the command; the entry point of the ``pypto`` script."""
    try:
        code = application(standalone_mode=False)
    except UserError as error:
        _fail(str(error), 2)
    except CompilerBug as bug:
        _fail(str(bug), 1)
    except (typer.Exit, SystemExit) as end:
        sys.exit(getattr(end, "exit_code", getattr(end, "code", 0)))
    except typer.Abort:
        sys.exit(INTERRUPTED)
    except COMPLAINT as error:
        _fail(f"error: {error.format_message()}", 2)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)


@application.command()
def run(
    kernel: Kernel,
    shape: Shapes = None,
    dtype: DTypes = None,
    target: Target = None,
    as_json: Json = False,
) -> int:
    """Run the kernels of a file on made inputs and verify them against the reference."""
    reports = [_run_one(name, item, shape, dtype, target) for name, item in find_kernels(kernel)]
    if as_json:
        print(json.dumps(reports, indent=2))
    else:
        _print_reports(reports)
    return 0 if all(report["passed"] for report in reports) else 1


def _run_one(
    name: str, what: Any, shape: list[str] | None, dtype: list[str] | None, target: str | None
) -> dict[str, Any]:
    compiled = compile_kernel(what, shape, dtype, target)
    result = compiled.execute(verify=True)
    outputs = {key: list(value.shape) for key, value in result.outputs.items()}
    seconds = {item.name: item.seconds for item in compiled.profile().stages}
    return {
        "kernel": name,
        "target": compiled.target,
        "passed": result.verification_passed,
        "error": result.verification_error,
        "outputs": outputs,
        "stages": seconds,
        "notes": list(compiled.notes),
    }


def _print_reports(reports: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("kernel", "target", "outputs", "compiled in", "verified")
    for report in reports:
        outputs = ", ".join(f"{name} {tuple(shape)}" for name, shape in report["outputs"].items())
        total = sum(report["stages"].values()) * 1e3
        verdict = "right" if report["passed"] else report["error"]
        table.add_row(report["kernel"], report["target"], outputs, f"{total:.1f} ms", verdict)
    Console().print(table)


@application.command()
def source(kernel: Kernel, target: Target = "ascendc", shape: Shapes = None, dtype: DTypes = None) -> None:
    """Print the generated source: AscendC, or LLVM IR with --target cpu."""
    for _, item in find_kernels(kernel):
        print(compile_kernel(item, shape, dtype, target).source())


@application.command()
def explain(kernel: Kernel, target: Target = None, shape: Shapes = None, dtype: DTypes = None) -> None:
    """Say what the compiler decides about a kernel, and why."""
    for _, item in find_kernels(kernel):
        compiled = compile_kernel(item, shape, dtype, target)
        compiled.module_at("tile")
        print(compiled.explain())


@application.command()
def targets(as_json: Json = False) -> None:
    """List the targets and what each is for."""
    from pypto.compiler import TARGETS

    if as_json:
        print(json.dumps(TARGETS, indent=2))
        return
    for name, text in TARGETS.items():
        print(f"{name:<10} {text}")


if __name__ == "__main__":
    main()
