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
    assert "faulty.cpp:49" in result.output
    assert "(modes: early, late, random)" in result.output


def test_clean_kernel_saves_its_arrays(runner: CliRunner, tmp_path: Path) -> None:
    legal = str(KERNELS / "legal.cpp")
    options = ["--kernel", "in_place", "--mode", "early", "--save", str(tmp_path), "--json", *ARRAYS]
    result = runner.invoke(application, ["check", legal, *options], standalone_mode=False)
    assert result.return_value == 0, result.output
    assert json.loads(result.output)["early"]["findings"] == []
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), np.load(tmp_path / "x.npy") + 1)
