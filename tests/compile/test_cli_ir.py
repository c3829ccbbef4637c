"""`pypto ir`: stages, diffs between them, and mistakes in what the user wrote."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import pypto
from pypto.ir.nodes import Level
from pypto.ir.passes.pipeline import NPU_PASSES

KERNELS = """
import pypto

@pypto.tile(shape=(4, 8), tile_num=3)
def double(x, out):
    out[:] = x * 2.0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def run(*words: object, code: int = 0) -> str:
    command = [sys.executable, "-m", "pypto.cli", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def test_diff_shows_every_pass_with_its_time(file: Path) -> None:
    text = run("ir", f"{file}:double", "--diff")
    titles = [line for line in text.split("\n") if " ms" in line]
    assert [title.split(":")[0] for title in titles] == ["tile", "fuse", *(item.name for item in NPU_PASSES)]
    assert any(title.startswith("fold_constants: ") and title.endswith(" ms (unchanged)") for title in titles)
    assert re.search(r"\n--- \w+\n\+\+\+ assign_buffers\n@@", text)
    assert "\n-kernel double(x: gm f32[12, 8]) -> (out: gm f32[12, 8]) level buffered {\n" in text
    assert '\n+  wait_flag {destination = "V", id = 0, source = "MTE2"}\n' in text
    assert "\x1b[" not in text  # colours are for terminals


def test_a_product_shows_how_it_is_planned_for_the_cube_cores(tmp_path: Path) -> None:
    """No source is generated for it yet, which is no reason not to show its plan."""
    file = tmp_path / "product.py"
    file.write_text("import pypto\n\n@pypto.tile\ndef product(a, b, c):\n    c[:] = a @ b\n")
    shapes = ("--shape", "a=64,32", "--shape", "b=32,64", "--shape", "c=64,64")
    assert "\n+++ plan_addresses\n" in run("ir", f"{file}:product", "--diff", *shapes)
    assert "level planned {" in run("ir", f"{file}:product", *shapes)


GRAPH = (
    KERNELS
    + """
@pypto.tile(shape=(4, 8), tile_num=3)
def shift(out, moved):
    moved[:] = out - pypto.max(out, axis=0, keepdims=True)

turned = pypto.Dependency(double, shift, mapping="dst_tile_num - 1 - tile_idx")
graph = pypto.DependencyGraph([turned], stages=[double, shift])
"""
)


def test_a_graph_of_a_file_is_one_module(tmp_path: Path) -> None:
    """Its stages are phases of one kernel, with a barrier between; verbs name it like a kernel."""
    file = tmp_path / "graph.py"
    file.write_text(GRAPH)
    text = run("ir", f"{file}:graph", "--diff")
    assert re.search(r"\n--- \w+\n\+\+\+ join_phases\n", text)
    assert "\n+  set_barrier {barrier_id = 0, participants = 3}\n" in text
    assert "graph: 0 findings" in run("check", f"{file}:graph")


def test_diff_applied_in_order_gives_the_last_text(file: Path) -> None:
    (report,) = json.loads(run("ir", f"{file}:double", "--diff", "--json"))
    assert report["kernel"] == "double"
    lines: list[str] = []
    for stage in report["stages"]:
        assert stage["seconds"] >= 0
        assert stage["changed"] == bool(stage["diff"])
        lines = patched(lines, stage["diff"])
    planned = run("ir", f"{file}:double")
    assert lines == [line for line in planned.rstrip("\n").split("\n") if not line.startswith("#")]
    assert report["stages"][-1]["level"] == "planned"


def patched(lines: list[str], diff: list[str]) -> list[str]:
    """Return `lines` after a unified diff."""
    made, position = [], 0
    for line in diff[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            first = int(start) - (count != "0")
            made += lines[position:first]
            position = first
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert lines[position] == line[1:]
            position += 1
            made += [] if line.startswith("-") else [line[1:]]
    return made + lines[position:]


def test_diff_of_one_stage_and_of_a_level(file: Path) -> None:
    assert [item["stage"] for item in diffs(file, "choose_tiles")] == ["choose_tiles"]
    assert {item["level"] for item in diffs(file, "buffered")} == {"buffered"}
    assert "this kernel has: tile, fuse, " in run("ir", file, "--diff", "--stage", "frobnicate", code=2)


def diffs(file: Path, stage: str) -> list[dict[str, object]]:
    (report,) = json.loads(run("ir", file, "--diff", "--stage", stage, "--json"))
    return report["stages"]


def test_diff_is_coloured_on_a_terminal(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto import cli_ir

    made: list[Console] = []

    def terminal(**options: object) -> Console:
        made.append(Console(force_terminal=True, color_system="standard", record=True, width=300, **options))
        return made[-1]

    monkeypatch.setattr("rich.console.Console", terminal)
    assert cli_ir.ir(f"{file}:double", diff=True) == 0
    text = made[-1].export_text(styles=True)
    assert "\x1b[32m+  buffer @b0" in text
    assert "\x1b[31m-kernel double" in text
    assert "\x1b[36m@@" in text


@pytest.mark.parametrize("level", list(Level))
def test_verbs_take_a_file_of_any_level(file: Path, tmp_path: Path, level: Level) -> None:
    path = tmp_path / f"{level.value}.pto"
    path.write_text(run("ir", file, "--stage", level.value, "--shape", "x=12,8", "--shape", "out=12,8"))
    assert "level planned" in run("ir", path)
    assert "pypto0_launch_double" in run("source", path)
    assert "pypto0_launch_double" in run("ir", path, "--stage", "source")
    (report,) = json.loads(run("run", path, "--target", "reference", "--json"))
    assert report["passed"]
    assert "0 findings" in run("check", path)
    assert "finish_plan: " in run("ir", path, "--diff") or level is Level.PLANNED


def test_stage_source_of_the_cpu(file: Path) -> None:
    assert "define void" in run("ir", file, "--stage", "source", "--target", "cpu")


def test_changes_of_a_compiled_kernel(file: Path) -> None:
    from pypto.cli_kernels import find_kernels

    ((_, function),) = find_kernels(str(file))
    parts = pypto.compile(function, target="ascendc").changes()
    assert parts[0].before is None
    assert all(part.before is last.after for last, part in itertools.pairwise(parts))
    assert str(parts[2]).endswith("(unchanged)") == (not parts[2].changed)


# -- mistakes


def test_a_file_that_cannot_be_imported(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    for body, line, what in (
        ("import pypto\nimport frobnicate\n", 2, "ModuleNotFoundError: No module named 'frobnicate'"),
        ("def f(:\n    pass\n", 1, "SyntaxError: invalid syntax"),
        ("x = 1\n\ndef f():\n    return 1 / 0\n\nf()\n", 4, "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)\n", 1, "SystemExit: 3"),
        ("class Odd(BaseException):\n    pass\nraise Odd\n", 3, "Odd"),
        (
            "import pypto\n@pypto.tile(shpe=3)\ndef f(x, out):\n    out[:] = x\n",
            2,
            "tile has no option called 'shpe'",
        ),
    ):
        path.write_text(body)
        for verb in ("ir", "run", "source", "explain", "check"):
            text = run(verb, path, code=2)
            assert text.startswith(f"{path}:{line}"), text
            assert what in text
            assert "help: " in text


def test_a_folder_and_a_file_without_kernels(tmp_path: Path) -> None:
    assert "it is a folder" in run("ir", tmp_path, code=2)
    (tmp_path / "empty.py").write_text("")
    assert "error[no-kernel]" in run("ir", tmp_path / "empty.py", code=2)


def test_bad_text_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.pto"
    path.write_text("pto 1\nkernel k(x: gm f32[4]) -> (y: gm f32[4]) level tile {\n  %a = load z[0 : 4]\n}\n")
    text = run("ir", path, code=2)
    assert text.startswith(f"{path}:3:13: error[unknown-parameter]")
    assert "^" in text
