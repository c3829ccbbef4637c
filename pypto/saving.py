"""Writing what a compilation made to files."""

from __future__ import annotations

from pathlib import Path

from pypto.compiler import Built
from pypto.ir.base.files import write_stage, write_text
from pypto.ir.printer import print_module

_ENDINGS = {"cpu": "ll", "ascendc": "cpp"}


def save_texts(folder: Path, built: Built, target: str, explanation: str) -> tuple[Path, ...]:
    """Write ``NN-stage.pto`` for each stage, ``source.ll`` or ``source.cpp``, and ``explain.txt``; return the paths."""
    paths = [
        write_stage(folder / f"{number:02}-{name}.pto", print_module(module))
        for number, (name, module) in enumerate(built.stages.modules.items())
    ]
    if built.source is not None:
        paths.append(write_stage(folder / f"source.{_ENDINGS[target]}", built.source))
    return (*paths, write_text(folder / "explain.txt", explanation + "\n"))
