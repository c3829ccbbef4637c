"""Every rule is caught, at its line, in every mode; what is legal is not reported and gives the right numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ascendc_host import harness
from pypto.runtime.ascendc_host.driver import Mode

MODES: tuple[Mode, ...] = ("early", "late", "random")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", harness.expectations("faulty.cpp"))
def test_mistake_is_found_at_its_line(name: str, mode: Mode) -> None:
    expected = harness.expectations("faulty.cpp")[name]
    report = harness.execute("faulty.cpp", name, mode, seed=1)
    found = {(finding.rule, finding.line) for finding in report.findings}
    assert expected.must <= found, str(report)
    assert found <= expected.must | expected.may, str(report)
    assert found, "nothing was found"
    assert all(finding.file == "faulty.cpp" for finding in report.findings)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", harness.expectations("legal.cpp"))
def test_legal_kernel_runs_clean(name: str, mode: Mode) -> None:
    expected = harness.expectations("legal.cpp")[name]
    report = harness.execute("legal.cpp", name, mode, seed=2)
    assert not report.findings, str(report)
    arrays = harness.inputs()
    wanted = eval(expected.result, {"np": np, "x": arrays["x"], "y": arrays["y"]})
    np.testing.assert_array_equal(report.outputs["z"], np.asarray(wanted, np.float32))


def test_there_are_enough_of_both() -> None:
    assert len(harness.expectations("faulty.cpp")) >= 30
    assert len(harness.expectations("legal.cpp")) >= 30
