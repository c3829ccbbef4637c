"""The state of one measurement: which candidates are still in, what is known of each, and how long to wait for one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.channel import Message
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.helper import HelperDied, HelperHung
from pypto.runtime.tuning.measuring.options import QUANTILES, TAIL, Estimate, MeasureOptions, Samples
from pypto.runtime.tuning.measuring.runner import CandidateFailed, Runner

OnTrial = Callable[[Trial], None]
OnProgress = Callable[[float, float | None], None]
"""Called with the share of the work that is done, from 0 to 1, and the best median so far in seconds."""
PREPARING = 0.2
"""The share of the work that checking and estimating is taken for."""
_CHECK_RUNS = 3  # a check also restores and compares arrays, which its own time says little about


class OutOfTime(Exception):
    """The time budget is used up."""


@dataclass(slots=True, eq=False)
class Measured:
    """One candidate under measurement. `key` tells it apart in the session; `trial` is set once it is out or done."""

    built: CompiledCandidate
    key: str
    checked: float = 0.0
    memory: int = 0
    names: tuple[str, ...] = ()
    estimate: Estimate | None = None
    samples: Samples = field(default_factory=Samples)
    trial: Trial | None = None

    @property
    def seconds(self) -> list[float]:
        """Return the launches that count."""
        return self.samples.usable()

    @property
    def known(self) -> Estimate:
        assert self.estimate is not None, "only candidates that were estimated are measured"
        return self.estimate


def item_key(built: CompiledCandidate, number: int) -> str:
    """Return what tells candidate `number` apart from all others of a measurement."""
    return f"{built.candidate.key()}_{number}"


class Measurement:
    """Asks a runner about candidates and keeps the rows. Times are waited for in proportion to the default's."""

    def __init__(
        self,
        built: Sequence[CompiledCandidate],
        runner: Runner,
        options: MeasureOptions,
        on_trial: OnTrial,
        source: str,
        on_progress: OnProgress = lambda share, best: None,
    ) -> None:
        self.options, self._runner, self._on_trial, self._source = options, runner, on_trial, source
        self._on_progress = on_progress
        self.candidates = [Measured(item, item_key(item, number)) for number, item in enumerate(built)]
        budget = options.time_budget
        self._deadline = None if budget is None else time.monotonic() + budget
        self._default_seconds: float | None = None
        self._check_seconds = 0.0

    @property
    def alive(self) -> list[Measured]:
        """Return the candidates that are still in."""
        return [item for item in self.candidates if item.trial is None]

    # -- rows

    def reject(self, item: Measured, outcome: Outcome, reason: str) -> None:
        """Take a candidate out, with its reason."""
        self._finish(item, Trial(item.built.candidate, outcome, reason, source=self._source))

    def accept(self, item: Measured, method: str, statistic: float | None = None, *, cut_short: bool = False) -> None:
        """Give a candidate its row: `statistic` seconds, else the median of its samples."""
        counted = item.seconds
        middle, low, high, tail = (float(value) for value in np.quantile(counted, (*QUANTILES, TAIL)))
        row = self._row(item, middle if statistic is None else statistic, len(counted), method)
        self._finish(item, replace(row, quantiles=(middle, low, high), tail=tail, cut_short=cut_short))

    def accept_figures(self, item: Measured, figures: Sequence[float], method: str) -> None:
        """Give a candidate its row from what the user's function returned: one number, or P50, P20 and P80."""
        row = self._row(item, figures[0], 1, method)
        self._finish(item, replace(row, quantiles=(figures[0], figures[1], figures[2])) if figures[1:] else row)

    def _row(self, item: Measured, seconds: float, samples: int, method: str) -> Trial:
        row = Trial(item.built.candidate, Outcome.MEASURED, "", seconds, None, samples, method, self._source)
        return replace(row, memory=item.memory)

    def _finish(self, item: Measured, trial: Trial) -> None:
        item.trial = trial
        self._on_trial(trial)

    def trials(self) -> list[Trial]:
        """Return the rows; candidates without a time get one that says so."""
        for item in self.alive:
            self.reject(item, Outcome.NOT_MEASURED, self._budget_text())
        return [item.trial for item in self.candidates if item.trial is not None]

    def _budget_text(self) -> str:
        return f"the time budget of {self.options.time_budget:g} s was used up" if self._deadline else "not measured"

    # -- asking

    def prepare(self) -> None:
        """Check and estimate every candidate, the default first. Raises OutOfTime or SessionLost."""
        order = sorted(self.candidates, key=lambda item: not item.built.candidate.is_default)
        for number, item in enumerate(order, 1):
            self.check_time()
            if self.check(item):
                self._estimate(item)
            self._on_progress(PREPARING * number / len(order), None)

    def check(self, item: Measured) -> bool:
        """Launch a candidate once, alone, and compare with the reference; returns whether it stays in."""
        answer = self.ask(item, "check", self._check_limit(item))
        if answer is None:
            return False
        if answer["problem"] is not None:
            self.reject(item, Outcome.WRONG_RESULT, answer["problem"])
            self._runner.close()  # who writes wrong numbers may have written elsewhere too: the others start afresh
            return False
        item.checked, item.memory = answer["seconds"], answer["memory"]
        self._check_seconds = self._check_seconds or answer["whole"]
        return True

    def _check_limit(self, item: Measured) -> float:
        if self._default_seconds is None:
            return self.options.first_limit
        return self.options.hang_limit(self._default_seconds) + _CHECK_RUNS * self._check_seconds

    def _estimate(self, item: Measured) -> None:
        answer = self.ask(item, "estimate", self.limit(item, 10 * item.checked), cold=self.options.cold)
        if answer is not None:
            item.estimate = Estimate(**answer)
            if self._default_seconds is None:
                self._default_seconds = item.estimate.launch

    def limit(self, item: Measured, expected: float) -> float:
        """Return how long to wait for a command that should take `expected` seconds."""
        one = (
            self.options.first_limit
            if self._default_seconds is None
            else self.options.hang_limit(self._default_seconds)
        )
        return one + _CHECK_RUNS * self._check_seconds + self.options.hang_factor * expected

    def ask(self, item: Measured, command: str, limit: float, **arguments: object) -> Message | None:
        """Return the runner's answer, or None for a candidate that is out now. Raises SessionLost, OutOfTime."""
        left = self._time_left()
        cut = left is not None and left < limit
        try:
            waited = max(left or 0.0, self.options.hang_least) if cut else limit
            return self._runner.ask(item.built, item.key, command, waited, **arguments)
        except HelperHung:
            if cut and waited < limit:
                raise OutOfTime from None
            self.reject(item, Outcome.HUNG, f"no end of {command} after {limit:.3g} s: stopped")
        except HelperDied as error:
            self.reject(item, Outcome.CRASHED, str(error))
        except CandidateFailed as error:
            self.reject(item, Outcome.CRASHED, str(error))
        return None

    def progress(self, share: float) -> None:
        """Tell that `share` of all samples are taken."""
        medians = [statistics.median(item.seconds) for item in self.alive if item.seconds]
        self._on_progress(PREPARING + (1 - PREPARING) * share, min(medians, default=None))

    def check_time(self) -> None:
        """Raise OutOfTime when the budget is used up."""
        left = self._time_left()
        if left is not None and left <= 0:
            raise OutOfTime

    def _time_left(self) -> float | None:
        return None if self._deadline is None else self._deadline - time.monotonic()
