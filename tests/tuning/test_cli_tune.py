"""`pypto tune` and `pypto cache`: what they print, and their exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pypto
from pypto import cli

FILE = """
import pypto

@pypto.autotune(configs=[{"tile_m": 8}])
@pypto.tile
def affine(x, out):
    out[:] = pypto.exp(x) * 2.0 + 1.0
"""
WORDS = ("--shape", "x=40,48", "--shape", "out=40,48", "--axis", "tiles=8x16,16x48", "--time-budget", "3", "--warm")


@dataclass
class Done:
    """What a command left: exit code and texts."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    (tmp_path / "kernels.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["pypto", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return Done(int(end.value.code or 0), *capsys.readouterr())

    with pypto.settings(cache=tmp_path / "cache", compile_threads=1):
        yield call


def test_tuning_and_the_cache_from_the_command_line(run: Any, tmp_path: Path) -> None:
    done = run("tune", "kernels.py:affine", *WORDS, "--plot", "plot.png", "--log", "log.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert result["kernel"] == "affine" and result["seconds"] > 0 and not result["from_cache"]
    assert {trial["outcome"] for trial in result["trials"]} <= {"MEASURED", "DUPLICATE", "NOT_MEASURED"}
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) >= 2
    again = run("tune", "kernels.py:affine", *WORDS)
    assert again.returncode == 0 and "from the cache" in again.stdout and "affine on cpu" in again.stdout

    (entry,) = json.loads(run("cache", "ls", "--json").stdout)
    assert entry["kernel"] == "affine" and entry["shapes"] == {"x": [40, 48], "out": [40, 48]}
    assert entry["key"][:12] in run("cache", "ls").stdout
    shown = run("cache", "show", entry["key"][:10])
    assert shown.returncode == 0 and "affine on cpu" in shown.stdout
    (whole,) = json.loads(run("cache", "show", "affine", "--json").stdout)
    assert whole["value"]["value"]["winner"] == result["winner"]
    assert run("cache", "show", "nothing").returncode == 2

    assert run("cache", "verify").stdout == "nothing is wrong\n"
    file = next((tmp_path / "cache" / "affine").glob("*/static_kernel/*/kernel.o"))
    file.write_bytes(b"damage")
    found = run("cache", "verify", "--json")
    assert found.returncode == 1 and "hash" in json.loads(found.stdout)["problems"][0]

    assert run("cache", "export", "out.json").returncode == 0
    assert run("cache", "prune").returncode == 2
    assert json.loads(run("cache", "prune", "--days", "1", "--json").stdout) == {"removed": 0}
    assert run("cache", "prune", "--all").stdout == "1 tilings removed\n"
    assert json.loads(run("cache", "ls", "--json").stdout) == []
    assert run("cache", "import", "out.json").returncode == 0
    assert len(json.loads(run("cache", "ls", "--json").stdout)) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--axis", "tile_m"), "NAME=VALUE"),
        (("--axis", "tile_q=8"), "tile_q"),
        (("--metric", "speed"), "there is no tuning metric 'speed'"),
        (("--method", "clock"), "bench_method"),
        (("--target", "eager"), "no tilings"),
        (("--max-trials", "0"), "max-trials"),
    ],
)
def test_misuse_has_exit_code_2(run: Any, words: tuple[str, ...], says: str) -> None:
    done = run("tune", "kernels.py:affine", "--shape", "x=40,48", "--shape", "out=40,48", *words)
    assert done.returncode == 2 and says in done.stderr
    assert "Traceback" not in done.stderr


def test_shapes_that_nobody_knows(run: Any) -> None:
    done = run("tune", "kernels.py:affine")
    assert done.returncode == 2 and "shapes" in done.stderr and "Traceback" not in done.stderr
