"""The `pypto` command: each verb is one thin function over the public API.

Exit codes: 0 right, 1 wrong or found something, 2 misuse.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pypto.cli_check import check
from pypto.ir.base.errors import CompilerBug, UserError, nearest

if TYPE_CHECKING:
    from pypto.compiled_kernel import CompiledKernel

application = typer.Typer(
    name="pypto",
    help="Compile, run and read tile kernels. KERNEL is FILE.py, FILE.py:name or FILE.pto.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Kernel = Annotated[str, typer.Argument(metavar="KERNEL", help="FILE.py:name or FILE.pto")]
Shapes = Annotated[list[str] | None, typer.Option("--shape", help="shape of a parameter: x=1024,512 (repeat)")]
DTypes = Annotated[
    list[str] | None, typer.Option("--dtype", help="dtype of a parameter: x=float16, or of all: float16")
]
Target = Annotated[str | None, typer.Option("--target", help="cpu, reference, eager or ascendc")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]


application.command()(check)


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
    except Exception as error:
        shown = getattr(error, "format_message", None)  # click's own complaints about options
        if shown is None:
            raise
        _fail(f"error: {shown()}", 2)
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
    compiled = _compile(what, shape, dtype, target)
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
def ir(
    kernel: Kernel,
    emit: Annotated[str | None, typer.Option("--emit", help="stage, pass or level (default: planned)")] = None,
    shape: Shapes = None,
    dtype: DTypes = None,
) -> None:
    """Print the PTO IR of a kernel after any stage."""
    for _, item in find_kernels(kernel):
        print(_compile(item, shape, dtype, "ascendc" if emit is None else "reference").to_text(emit))


@application.command()
def source(kernel: Kernel, target: Target = "ascendc", shape: Shapes = None, dtype: DTypes = None) -> None:
    """Print the generated source: AscendC, or LLVM IR with --target cpu."""
    for _, item in find_kernels(kernel):
        print(_compile(item, shape, dtype, target).source())


@application.command()
def explain(kernel: Kernel, target: Target = None, shape: Shapes = None, dtype: DTypes = None) -> None:
    """Say what the compiler decides about a kernel, and why."""
    for _, item in find_kernels(kernel):
        compiled = _compile(item, shape, dtype, target)
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


# -- finding and compiling


def _compile(what: Any, shape: list[str] | None, dtype: list[str] | None, target: str | None) -> CompiledKernel:
    import pypto

    return pypto.compile(what, target=target, shapes=_read_shapes(shape), dtypes=_read_dtypes(dtype))


def _read_shapes(given: list[str] | None) -> dict[str, Any] | None:
    shapes: dict[str, Any] = {}
    for item in given or ():
        name, _, extents = item.partition("=")
        shapes[name] = tuple(int(part) if part.isdigit() else part for part in extents.split(",") if part)
    return shapes or None


def _read_dtypes(given: list[str] | None) -> Any:
    pairs = [item.partition("=") for item in given or ()]
    for name, separator, _ in pairs:
        if not separator:
            return name
    return {name: dtype for name, _, dtype in pairs} or None


def find_kernels(text: str) -> list[tuple[str, Any]]:
    """Return name and tile function of each kernel that ``FILE.py[:name]`` or ``FILE.pto`` means."""
    path, name = _split(text)
    if not path.exists():
        raise UserError("pto-file", None, path=str(path), why="there is no such file")
    if path.suffix == ".pto":
        return [(path.stem, path)]
    found = _tile_functions(path)
    if not name:
        return list(found.items())
    if name not in found:
        raise UserError("unknown-kernel", None, kernel=name, file=str(path), hint=nearest(name, found))
    return [(name, found[name])]


def _split(text: str) -> tuple[Path, str]:
    if Path(text).exists():
        return Path(text), ""
    file, separator, name = text.rpartition(":")
    return (Path(file), name) if separator and file else (Path(text), "")


def _tile_functions(path: Path) -> dict[str, Any]:
    import runpy

    from pypto.tile_function import TileFunction

    sys.path.insert(0, str(path.parent.resolve()))
    space = runpy.run_path(str(path), run_name="pypto_kernels")
    found = {name: value for name, value in space.items() if isinstance(value, TileFunction)}
    if not found:
        raise UserError("no-kernel", None, file=str(path))
    return found


if __name__ == "__main__":
    main()
