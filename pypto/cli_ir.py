"""`pypto ir`: the PTO IR of a kernel after any stage, and what each stage changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from pypto.cli_kernels import DTypes, Json, Kernel, Shapes, compile_kernel, find_kernels
from pypto.ir.base.errors import UserError

if TYPE_CHECKING:
    from pypto.changes import Change
    from pypto.compiled_kernel import CompiledKernel

STYLES = {"+": "green", "-": "red", "@": "cyan"}
"""The colours of a diff, by the first character of a line."""

Emit = Annotated[
    str | None,
    typer.Option("--emit", "--stage", help="stage, pass or level, or source; default: planned; with --diff: all"),
]
Target = Annotated[str | None, typer.Option("--target", help="of --emit source: ascendc (the default) or cpu")]


def ir(
    kernel: Kernel,
    emit: Emit = None,
    diff: Annotated[bool, typer.Option("--diff", help="show what each pass changed, and its time")] = False,
    target: Target = None,
    shape: Shapes = None,
    dtype: DTypes = None,
    as_json: Json = False,
) -> int:
    """Print the PTO IR of a kernel after any stage, or what each stage changed.

    Exit codes: 0 printed, 1 the compiler is wrong, 2 the kernel or the command is.
    """
    shown = []
    for name, item in find_kernels(kernel):
        chosen = target or ("ascendc" if emit == "source" else "reference")
        compiled = compile_kernel(item, shape, dtype, chosen)
        if diff:
            parts = _chosen(compiled.changes(), emit, chosen)
            shown.append({"kernel": name, "stages": [part.as_json() for part in parts]})
            if not as_json:
                _print(name, parts)
            continue
        text = _text(compiled, emit)
        shown.append({"kernel": name, "stage": emit or "planned", "text": text})
        if not as_json:
            print(text)
    if as_json:
        print(json.dumps(shown, indent=2))
    return 0


def _text(compiled: CompiledKernel, stage: str | None) -> str:
    """Return the text of a stage; without one, of level planned, or of level tile when shapes are not known."""
    if stage is not None:
        return compiled.to_text(stage)
    try:
        return compiled.to_text("planned")
    except UserError as error:
        if error.name != "shapes-needed":
            raise
    return compiled.to_text()


def _chosen(parts: tuple[Change, ...], stage: str | None, target: str) -> tuple[Change, ...]:
    """Return the changes of `stage`, a stage or a level, or all; raises UserError ``unknown-stage-text``."""
    if stage is None:
        return parts
    found = [part for part in parts if part.stage == stage]
    found = found or [part for part in parts if part.after.level.value == stage]
    if not found:
        names = ", ".join(part.stage for part in parts)
        raise UserError("unknown-stage-text", None, stage=stage, target=target, hint=f"this kernel has: {names}")
    return tuple(found)


def _print(kernel: str, parts: tuple[Change, ...]) -> None:
    """Print titles and diffs; in colours on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    console.print(Text(f"kernel {kernel}", "bold"))
    for part in parts:
        title, *lines = str(part).split("\n")
        console.print(Text(title, "bold" if part.changed else "dim"))
        for line in lines:
            console.print(Text(line, STYLES.get(line[:1], "")))
