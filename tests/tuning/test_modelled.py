"""Candidates for a device that is not here: checked on the host model, with the model's time under the model's name."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pypto.runtime.tuning.candidate import Outcome
from pypto.runtime.tuning.compiling import HOST_PROGRAM, PLANNED, SOURCE, CompiledCandidate
from pypto.runtime.tuning.measuring import modelled
from pypto.runtime.tuning.measuring.measure import measure
from pypto.runtime.tuning.measuring.options import Expected, Inputs, MeasureOptions
from pypto.runtime.tuning.workers import compile_candidates
from tests.tuning import making

FILES = {PLANNED, SOURCE, HOST_PROGRAM}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[CompiledCandidate]:
    """Return two candidates of `grow`, whose times the model puts at 2 and 1 us, and one without a time."""
    module = making.module_of(making.grow, {"x": making.SHAPE, "total": making.SHAPE}, "ascendc")
    candidates = [making.candidate(number, predicted=seconds) for number, seconds in enumerate((2e-6, 1e-6, None))]
    folder = tmp_path_factory.mktemp("candidates")
    jobs = [making.job(module, item, folder, "ascendc") for item in candidates]
    results = compile_candidates(jobs, 120.0, 2)
    return [item for item in results if isinstance(item, CompiledCandidate)]


def inputs() -> tuple[Inputs, dict[str, Expected]]:
    x, total = making.numbers(), making.numbers(seed=2)
    values = Inputs({"x": x, "total": total}, frozenset({"total"}), frozenset({"total"}))
    return values, {"total": Expected(total + x, 1e-6, 1e-6)}


def test_artefacts_hold_plan_source_and_program(built: list[CompiledCandidate]) -> None:
    assert len(built) == 3
    for item in built:
        assert set(item.digests) == FILES == {path.name for path in item.folder.iterdir()}


def test_the_time_is_the_models_and_says_so(built: list[CompiledCandidate]) -> None:
    values, expected = inputs()
    before = values.values["total"].copy()
    trials = measure(built, values, expected, MeasureOptions())
    assert [(trial.outcome, trial.seconds) for trial in trials] == [
        (Outcome.MEASURED, 2e-6),
        (Outcome.MEASURED, 1e-6),
        (Outcome.NOT_MEASURED, None),
    ]
    assert all(trial.source == "modelled:910B1" for trial in trials)
    assert trials[0].method == "model" and trials[0].quantiles is None and trials[0].samples == 0
    assert np.array_equal(values.values["total"], before)


def test_a_wrong_candidate_is_rejected_on_the_host_model(built: list[CompiledCandidate]) -> None:
    values, expected = inputs()
    wrong = {"total": replace(expected["total"], value=expected["total"].value + 1)}
    trials = measure(built[:2], values, wrong, MeasureOptions())
    assert [trial.outcome for trial in trials] == [Outcome.WRONG_RESULT] * 2
    assert "total[0, 0] is" in trials[0].reason and trials[0].seconds is None


def test_a_program_that_does_not_end_is_stopped(built: list[CompiledCandidate], tmp_path: Path) -> None:
    item = with_program(built[0], tmp_path, "#!/bin/sh\nexec sleep 600\n")
    values, expected = inputs()
    (trial,) = measure([item], values, expected, MeasureOptions(first_limit=1.0))
    assert trial.outcome is Outcome.HUNG and "time-limit" in trial.reason


def test_a_program_that_crashes_is_rejected(built: list[CompiledCandidate], tmp_path: Path) -> None:
    item = with_program(built[0], tmp_path, "#!/bin/sh\nkill -SEGV $$\n")
    values, expected = inputs()
    trials = measure([item, built[1]], values, expected, MeasureOptions())
    assert [trial.outcome for trial in trials] == [Outcome.CRASHED, Outcome.MEASURED]


def with_program(item: CompiledCandidate, folder: Path, text: str) -> CompiledCandidate:
    files = {name: (item.folder / name).read_bytes() for name in FILES} | {HOST_PROGRAM: text.encode()}
    from pypto.runtime.tuning.compiling import publish

    digests = publish(folder / item.candidate.key(), files)
    return replace(item, folder=folder / item.candidate.key(), digests=digests)


def test_a_changed_program_is_not_run(built: list[CompiledCandidate], tmp_path: Path) -> None:
    item = with_program(built[0], tmp_path, "#!/bin/sh\nexit 0\n")
    values, expected = inputs()
    (trial,) = measure([replace(item, digests=built[0].digests)], values, expected, MeasureOptions())
    assert trial.outcome is Outcome.CRASHED and "hash differs" in trial.reason


def test_without_a_compiler_candidates_are_unchecked_and_say_so(built: list[CompiledCandidate]) -> None:
    digests = {name: digest for name, digest in built[0].digests.items() if name != HOST_PROGRAM}
    values, expected = inputs()
    (trial,) = measure([replace(built[0], digests=digests)], values, expected, MeasureOptions())
    assert (trial.outcome, trial.seconds) == (Outcome.MEASURED, 2e-6)
    assert "not checked" in trial.reason


def test_a_used_up_budget_leaves_the_rest_unmeasured(
    built: list[CompiledCandidate], monkeypatch: pytest.MonkeyPatch
) -> None:
    values, expected = inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trials = measure(built[:2], values, expected, MeasureOptions(time_budget=0.0))
    assert [trial.outcome for trial in trials] == [Outcome.NOT_MEASURED] * 2
    assert modelled.CHIP in trials[0].source
