"""Mistakes of the cube core, of several cores and of the advanced interface are found at their lines; near misses are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ascendc_host import harness
from pypto.runtime.ascendc_host.driver import Mode

MODES: tuple[Mode, ...] = ("early", "late", "random")


def square(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return values[:256].reshape(16, 16)


def pad(values: NDArray[np.float32]) -> NDArray[np.float32]:
    flat = np.asarray(values).ravel()
    return np.concatenate([flat, np.zeros(1024 - flat.size)])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", harness.expectations("cube_faulty.cpp"))
def test_mistake_is_found_at_its_line(name: str, mode: Mode) -> None:
    expected = harness.expectations("cube_faulty.cpp")[name]
    report = harness.execute("cube_faulty.cpp", name, mode, seed=1)
    found = {(finding.rule, finding.line) for finding in report.findings}
    assert expected.must <= found, str(report)
    assert found <= expected.must | expected.may, str(report)
    assert found, "nothing was found"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", harness.expectations("cube_legal.cpp"))
def test_legal_kernel_runs_clean(name: str, mode: Mode) -> None:
    expected = harness.expectations("cube_legal.cpp")[name]
    report = harness.execute("cube_legal.cpp", name, mode, seed=2)
    assert not report.findings, str(report)
    arrays = harness.inputs()
    names = {"np": np, "x": arrays["x"], "y": arrays["y"], "square": square, "pad": pad}
    wanted = eval(expected.result, names)
    np.testing.assert_array_equal(report.outputs["z"], np.asarray(wanted, np.float32))
