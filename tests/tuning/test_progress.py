"""What is shown while candidates are compiled and measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from pypto.tuning_report import Reporter, reporter


def test_the_bar_follows_the_share_and_shows_the_best_so_far() -> None:
    with reporter("k", None, True) as report:
        assert report.progress is not None
        report.begin("measuring", 8)
        report.reach("measuring", 0.25, None)
        (task,) = report.progress.tasks
        assert (task.completed, task.fields["best"]) == (2, "")
        report.reach("measuring", 0.5, 12.5e-6)
        assert task.completed == 4 and "12.5" in task.fields["best"]
        report.reach("measuring", 1.0, None)
        assert task.completed == 8 and "12.5" in task.fields["best"]


@pytest.mark.parametrize("phase", ["measuring", "sleeping"])
def test_without_a_terminal_nothing_is_shown(tmp_path: Path, phase: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = Reporter("k", tmp_path / "log")
    report.begin("measuring", 3)
    report.reach(phase, 0.5, 1e-3)
    assert capsys.readouterr() == ("", "")
