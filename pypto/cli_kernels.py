"""What the verbs of the command line share: the words that name kernels, shapes and dtypes."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pypto.ir.base.errors import CompilerBug, UserError, nearest
from pypto.ir.base.locations import Location

if TYPE_CHECKING:
    from pypto.compiled_kernel import CompiledKernel

Kernel = Annotated[str, typer.Argument(metavar="KERNEL", help="FILE.py, FILE.py:name or FILE.pto")]
Shapes = Annotated[list[str] | None, typer.Option("--shape", help="shape of a parameter: x=1024,512 (repeat)")]
DTypes = Annotated[
    list[str] | None, typer.Option("--dtype", help="dtype of a parameter: x=float16, or of all: float16")
]
Target = Annotated[str | None, typer.Option("--target", help="cpu, reference, eager or ascendc")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]


def compile_kernel(what: Any, shape: list[str] | None, dtype: list[str] | None, target: str | None) -> CompiledKernel:
    """Return what `pypto.compile` makes of a kernel and the words of the options."""
    import pypto

    return pypto.compile(what, target=target, shapes=read_shapes(shape), dtypes=read_dtypes(dtype))


def read_shapes(given: list[str] | None) -> dict[str, Any] | None:
    shapes: dict[str, Any] = {}
    for item in given or ():
        name, _, extents = item.partition("=")
        shapes[name] = tuple(int(part) if part.isdigit() else part for part in extents.split(",") if part)
    return shapes or None


def read_dtypes(given: list[str] | None) -> Any:
    pairs = [item.partition("=") for item in given or ()]
    for name, separator, _ in pairs:
        if not separator:
            return name
    return {name: dtype for name, _, dtype in pairs} or None


def find_kernels(text: str) -> list[tuple[str, Any]]:
    """Return name and tile function or graph of each kernel that ``FILE.py[:name]`` means; of ``FILE.pto`` its path.

    Raises UserError ``kernel-file``, ``file-import``, ``no-kernel``, ``unknown-kernel``.
    """
    path, name = split(text)
    if not path.is_file():
        why = "it is a folder" if path.is_dir() else "there is no such file"
        raise UserError("kernel-file", None, path=str(path), why=why)
    if path.suffix == ".pto":
        return [(path.stem, path)]
    found = _defined(path)
    if not name:
        return list(found.items())
    if name not in found:
        raise UserError("unknown-kernel", None, kernel=name, file=str(path), hint=nearest(name, found))
    return [(name, found[name])]


def split(text: str) -> tuple[Path, str]:
    """Return the file and the name, empty for all, that ``FILE[:name]`` means."""
    if Path(text).exists():
        return Path(text), ""
    file, separator, name = text.rpartition(":")
    return (Path(file), name) if separator and file else (Path(text), "")


def _defined(path: Path) -> dict[str, Any]:
    """Return the tile functions and the graphs of them that a file defines at its top level."""
    import runpy

    from pypto.dependencies import DependencyGraph
    from pypto.tile_function import TileFunction

    sys.path.insert(0, str(path.parent.resolve()))
    with _Running(path):
        space = runpy.run_path(str(path), run_name="pypto_kernels")
    # an autotuned kernel stands for its tile function
    items = {name: getattr(value, "function", value) for name, value in space.items()}
    found = {name: value for name, value in items.items() if isinstance(value, (TileFunction, DependencyGraph))}
    if not found:
        raise UserError("no-kernel", None, file=str(path))
    return found


class _Running:
    """Turns whatever the user's file raises into UserError ``file-import``, at the line of the file that led to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = isinstance(error, (UserError, CompilerBug, KeyboardInterrupt))
        if error is None or ours:
            return
        what = f"{type(error).__name__}: {_reason(error)}".rstrip(": ")
        raise UserError("file-import", self._place(error, trace), file=str(self.path), what=what) from None

    def _place(self, error: BaseException, trace: TracebackType | None) -> Location | None:
        if isinstance(error, SyntaxError) and error.lineno:
            text = error.text.rstrip("\n") if error.text else None
            return Location(error.filename or str(self.path), error.lineno, error.offset or 0, text=text)
        frames = [frame for frame in traceback.extract_tb(trace) if frame.filename == str(self.path)]
        return Location(str(self.path), frames[-1].lineno or 0) if frames else None


def _reason(error: BaseException) -> str:
    """Return the first line of what an exception says."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return text.strip().split("\n")[0]
