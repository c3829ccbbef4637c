"""The command line: each verb, its output and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

KERNELS = """
import pypto

@pypto.tile(shape=(4, 8), tile_num=3)
def double(x, out):
    out[:] = x * 2.0

@pypto.tile
def shift(x, out, amount=1.0):
    out[:] = x + amount
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def run(*arguments, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "pypto.cli", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def test_run_verifies_on_made_inputs(file):
    shapes = ("--shape", "x=5,7", "--shape", "out=5,7")
    reports = json.loads(run("run", f"{file}:shift", *shapes, "--json"))
    assert [(item["kernel"], item["passed"], item["outputs"]) for item in reports] == [("shift", True, {"out": [5, 7]})]
    assert "library" in reports[0]["stages"]
    assert "right" in run("run", f"{file}:double", "--target", "reference")


def test_run_in_another_dtype(file):
    text = run("ir", f"{file}:shift", "--shape", "x=5", "--shape", "out=5", "--dtype", "float16", "--emit", "tile")
    assert "f16[5]" in text


def test_ir_prints_any_stage(file):
    assert "level planned" in run("ir", f"{file}:double", "--emit", "planned")
    assert "level tile" in run("ir", f"{file}:double", "--emit", "tile")


def test_ir_reads_a_pto_file(file, tmp_path):
    path = tmp_path / "double.pto"
    shapes = ("--shape", "x=12,8", "--shape", "out=12,8")
    path.write_text(run("ir", f"{file}:double", "--emit", "tile", *shapes))
    assert "level buffered" in run("ir", path, "--emit", "buffered")
    path.write_text(run("ir", f"{file}:double", "--emit", "tile"))
    assert "%n0" in path.read_text()
    assert "level buffered" in run("ir", path, "--emit", "buffered", *shapes)
    assert "unknown-extent" in run("ir", path, "--emit", "buffered", code=2)


def test_source_for_the_cpu(file):
    assert "define" in run("source", f"{file}:double", "--target", "cpu")


def test_explain(file):
    text = run("explain", f"{file}:double", "--target", "reference")
    assert "double: WHOLE" in text
    assert "taken from the decorator" in text


def test_targets():
    assert set(json.loads(run("targets", "--json"))) == {"cpu", "reference", "eager", "ascendc", "npu"}
    assert "native code" in run("targets")


def test_misuse_is_exit_code_2(file):
    assert "did you mean 'double'?" in run("run", f"{file}:doubel", code=2)
    assert "error[kernel-file]: cannot read 'nowhere.py': there is no such file" in run("run", "nowhere.py", code=2)
    assert "error[kernel-file]" in run("check", "nowhere.cpp", code=2)
    assert "shapes-needed" in run("run", f"{file}:shift", code=2)
    assert "No such option" in run("run", f"{file}:double", "--shapes", "x=1", code=2)
    assert "no stage called" in run("ir", f"{file}:double", "--emit", "plan", code=2)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--shape", "x=3,-4"),
        ("run", "--shape", "=3"),
        ("run", "--dtype", "x=f17"),
        ("run", "--target", "gpu"),
        ("run", "--target", "npu"),
        ("ir", "--shape", "y=3"),
        ("check", "--shape", "y=3"),
        ("tune", "--axis", "tile_z=3"),
    ],
)
def test_a_mistake_in_the_words_of_the_command_has_no_line(file, words):
    verb, *options = words
    assert run(verb, f"{file}:double", *options, code=2).startswith("error[")


def test_the_package_is_the_command():
    text = subprocess.run([sys.executable, "-m", "pypto", "targets"], capture_output=True, text=True, check=True).stdout
    assert "native code" in text


def test_a_mistake_in_the_file_has_its_line(file):
    assert run("run", f"{file}:shift", code=2).startswith(f"{file}:")


def test_a_wrong_result_is_exit_code_1(file, monkeypatch):
    from pypto import cli
    from pypto.result import Result

    monkeypatch.setattr(
        "pypto.compiled_kernel.CompiledKernel.execute",
        lambda self, verify: Result((), (), (), verification_passed=False, verification_error="out[0] is 1"),
    )
    monkeypatch.setattr(sys, "argv", ["pypto", "run", f"{file}:double"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1
