"""Every example runs as a script, from any folder, and checks its own numbers."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


def test_the_examples_are_found() -> None:
    names = {path.stem for path in EXAMPLES}
    assert {"quickstart", "pipeline", "layernorm_gelu_add", "softmax", "strided", "batched", "demo", "tuning"} <= names


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path))["main"]()
    assert capsys.readouterr().out.strip()


def test_demo_shows_each_stage(tmp_path: Path) -> None:
    (demo,) = (path for path in EXAMPLES if path.stem == "demo")
    done = subprocess.run([sys.executable, demo], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in (
        "def bias_gelu_residual",
        "largest difference",
        "level tile",
        "level planned",
        "__aicore__",
        "SetFlag",
    ):
        assert part in done.stdout
