"""`pypto check` on kernels that are right and wrong: what is printed, saved and returned."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pypto.cli import application

KERNELS = Path(__file__).parent / "ascendc_host" / "kernels"
ARRAYS = ["--arg", "random:float32[1024]", "--arg", "ones:float32[1024]", "--arg", "zeros:float32[1024]"]


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


def test_finding_is_printed_once_for_all_modes(runner: CliRunner) -> None:
    faulty = str(KERNELS / "faulty.cpp")
    result = runner.invoke(
        application, ["check", faulty, "--kernel", "race_load_compute", *ARRAYS], standalone_mode=False
    )
    assert result.return_value == 1
    assert result.output.count("error[race]") == 1
    lines = (KERNELS / "faulty.cpp").read_text().splitlines()
    kernel = next(number for number, line in enumerate(lines) if " race_load_compute(" in line)
    faulty_line = next(number for number in range(kernel, len(lines)) if "rule: race" in lines[number])
    assert f"faulty.cpp:{faulty_line + 1}" in result.output
    assert "(modes: early, late, random)" in result.output


def test_clean_kernel_saves_its_arrays(runner: CliRunner, tmp_path: Path) -> None:
    legal = str(KERNELS / "legal.cpp")
    options = ["--kernel", "in_place", "--mode", "early", "--save", str(tmp_path), "--json", *ARRAYS]
    result = runner.invoke(application, ["check", legal, *options], standalone_mode=False)
    assert result.return_value == 0, result.output
    assert json.loads(result.output)["early"]["findings"] == []
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), np.load(tmp_path / "x.npy") + 1)


KERNEL = """
import pypto

@pypto.tile(shape=(4, 8), tile_num=3)
def double(x, out):
    out[:] = x * 2.0

@pypto.tile
def row(x, out):
    out[:] = x - pypto.max(x, axis=1, keepdims=True)
"""


def invoke(runner: CliRunner, *words: object) -> tuple[int, str]:
    result = runner.invoke(application, ["check", *map(str, words)], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.output


def test_kernels_of_a_python_file(runner: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL)
    assert invoke(runner, f"{path}:double") == (0, "double: 0 findings\n  kernel double: 128 of 196608 bytes of ub\n")
    code, text = invoke(runner, f"{path}:row", "--shape", "x=6,60", "--shape", "out=6,60", "--json")
    (report,) = json.loads(text)
    assert (code, report["kernel"], report["findings"]) == (0, "row", [])


def test_a_kernel_that_does_not_fit_a_core_is_a_finding(runner: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text("import pypto\n@pypto.tile\ndef f(x, out):\n    out[:] = pypto.sort(x, axis=1).values\n")
    code, text = invoke(runner, path, "--shape", "x=2,200000", "--shape", "out=2,200000")
    assert code == 1
    assert text.startswith(f"{path}:")
    assert "error[unified-buffer-full]" in text
    assert text.endswith("f: 1 finding\n")


def test_findings_of_a_text_have_places(runner: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL)
    text = runner.invoke(application, ["ir", f"{path}:double", "--stage", "planned"], standalone_mode=False).output
    lines = [line for line in text.split("\n") if "MTE3" not in line]
    damaged = tmp_path / "damaged.pto"
    damaged.write_text("\n".join(lines))
    code, text = invoke(runner, damaged, "--json")
    (report,) = json.loads(text)
    found = report["findings"][0]
    place = next(number for number, line in enumerate(lines, 1) if "store out" in line)
    assert code == 1
    assert (found["rule"], found["severity"], found["line"], found["column"]) == ("race", "error", place, 3)
    assert lines[found["other_line"] - 1].strip().startswith("%")
    damaged.write_text("\n".join(line.replace("address 0", "address 196608") for line in lines))
    code, text = invoke(runner, damaged)
    assert code == 1
    assert "error[over-capacity]: buffer b0 ends at byte 196736 of ub, which has 196608 bytes" in text
