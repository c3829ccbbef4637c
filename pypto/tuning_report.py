"""What a person sees of tuning: progress while it runs, the table of candidates, a plot, log lines and a JSON log."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto.ir.base.errors import UserError
from pypto.runtime.tuning.candidate import Outcome, Trial
from pypto.runtime.tuning.locks import LOGGER
from pypto.tuning_result import TuningResult, trial_to_json

if TYPE_CHECKING:
    from rich.progress import Progress

_WORDS = {
    Outcome.MEASURED: "",
    Outcome.DUPLICATE: "duplicate",
    Outcome.TOO_LARGE: "too large",
    Outcome.NOT_RANKED: "ranked too low",
    Outcome.COMPILE_FAILED: "does not compile",
    Outcome.COMPILE_TIMEOUT: "compiles too long",
    Outcome.COMPILE_CRASHED: "compiler crashed",
    Outcome.WRONG_RESULT: "WRONG RESULT",
    Outcome.HUNG: "hangs",
    Outcome.CRASHED: "crashed",
    Outcome.NOT_MEASURED: "not measured",
}


def microseconds(seconds: float | None) -> str:
    """Return a time for a table, ``-`` for none."""
    return "-" if seconds is None else f"{seconds * 1e6:.2f}"


def verdict(trial: Trial) -> str:
    """Return why a candidate has no time, or an empty text."""
    words = _WORDS[trial.outcome]
    reason = trial.reason.strip().splitlines()[0] if trial.reason.strip() else ""
    return f"{words}: {reason}" if words and reason else words or reason


HEADER = ("", "candidate", "predicted us", "measured us", "P20..P80 us", "")


def table_rows(result: TuningResult) -> Iterator[tuple[str, ...]]:
    """Yield a row per trial: a star for the winner, candidate, predicted, measured, spread, why rejected."""
    for trial in result.trials:
        spread = ""
        if trial.quantiles is not None:
            spread = f"{microseconds(trial.quantiles[1])}..{microseconds(trial.quantiles[2])}"
        star = "*" if trial.candidate.key() == result.candidate.key() else ""
        predicted, measured = microseconds(trial.candidate.predicted), microseconds(trial.seconds)
        yield star, trial.candidate.describe(), predicted, measured, spread, verdict(trial)


def table_text(result: TuningResult) -> str:
    """Return every trial as a plain text table, then the note."""
    rows = [HEADER, *table_rows(result)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([f"{result.kernel} on {result.target}", *lines, *([result.note] if result.note else [])])


def print_table(result: TuningResult) -> None:
    """Print every trial as a table, on standard error."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    source = "from the cache" if result.from_cache else result.winner.source
    table = Table(*HEADER, title=f"{result.kernel} on {result.target}, {source}", caption=result.note or None)
    for row in table_rows(result):
        table.add_row(*(Text(cell) for cell in row), style="bold" if row[0] else None)
    Console(stderr=True).print(table)


def log_result(result: TuningResult) -> None:
    """Write the log lines of article 000: the index of the best candidate, and the time of each one measured."""
    measured = [trial for trial in result.trials if trial.seconds is not None]
    keys = [trial.candidate.key() for trial in measured]
    best = keys.index(result.candidate.key()) if result.candidate.key() in keys else 0
    for index, trial in enumerate(measured):
        assert trial.seconds is not None
        LOGGER.info("kernel %d: %s, Timing = %.2f us", index, trial.candidate.describe(), trial.seconds * 1e6)
    LOGGER.info("Autotune completed %s, best kernel index: %d", result.kernel, best)
    for trial in result.trials:
        if trial.seconds is None:
            LOGGER.info("%s: %s", trial.candidate.describe(), verdict(trial))


@dataclass(slots=True)
class Reporter:
    """Follows one tuning. `log` receives a JSON line per trial; `progress` is shown on a terminal only."""

    kernel: str
    log: Path | None = None
    progress: Progress | None = None
    started: float = field(default_factory=time.monotonic)
    best: Trial | None = None
    tasks: dict[str, Any] = field(default_factory=dict)

    def begin(self, phase: str, total: int) -> None:
        """Say that `total` candidates are about to be compiled or measured."""
        if self.progress is not None:
            self.tasks[phase] = self.progress.add_task(f"{self.kernel}: {phase}", total=total, best="")

    def advance(self, phase: str, count: int = 1) -> None:
        """Say that `count` candidates are done."""
        if self.progress is not None and phase in self.tasks:
            best = f"best {microseconds(self.best.seconds)} us" if self.best is not None else ""
            self.progress.update(self.tasks[phase], advance=count, best=best)

    def reach(self, phase: str, share: float, best: float | None) -> None:
        """Say which share of a phase is done, and the best median so far in seconds."""
        if self.progress is not None and phase in self.tasks:
            task = self.tasks[phase]
            total = next(item.total for item in self.progress.tasks if item.id == task) or 0
            self.progress.update(task, completed=share * total)
            if best is not None:
                self.progress.update(task, best=f"best {microseconds(best)} us")

    def trial(self, trial: Trial) -> None:
        """Take in what became of a candidate."""
        if trial.seconds is not None and (self.best is None or trial.seconds < (self.best.seconds or 0)):
            self.best = trial
        if self.log is None:
            return
        item = {"kernel": self.kernel, "elapsed": time.monotonic() - self.started, **trial_to_json(trial)}
        try:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(item) + "\n")
        except OSError as error:
            why = error.strerror or str(error)
            raise UserError("cannot-write", None, path=str(self.log), why=why) from None


@contextlib.contextmanager
def reporter(kernel: str, log: Any, shown: bool | None) -> Iterator[Reporter]:
    """Yield a reporter; `shown` says whether progress is shown, None: when standard error is a terminal."""
    path = None if log is None else Path(log)
    if not (sys.stderr.isatty() if shown is None else shown):
        yield Reporter(kernel, path)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[best]}"), console=Console(stderr=True)) as progress:
        yield Reporter(kernel, path, progress)


def plot(result: TuningResult, path: Any) -> None:
    """Write a plot of predicted against measured times; raises UserError ``needs-matplotlib``, ``nothing-to-plot``."""
    points = [(t.candidate.predicted, t.seconds, t) for t in result.trials if t.candidate.predicted and t.seconds]
    if not points:
        raise UserError("nothing-to-plot", None, kernel=result.kernel)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError("needs-matplotlib", None, why=str(error)) from None
    figure = Figure(figsize=(7, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw(axes, result, points)
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target)
    except (OSError, ValueError) as error:
        raise UserError("cannot-write", None, path=str(target), why=str(error)) from None


WIDE = 20
"""Times that differ by more than this factor are drawn on logarithmic axes."""


def _draw(axes: Any, result: TuningResult, points: Sequence[tuple[Any, Any, Trial]]) -> None:
    predicted = [1e6 * item for item, _, _ in points]
    measured = [1e6 * item for _, item, _ in points]
    ends = [min(*predicted, *measured), max(*predicted, *measured)]
    if ends[1] > WIDE * ends[0]:
        axes.set(xscale="log", yscale="log")
    axes.plot(ends, ends, color="0.7", linewidth=1, label="predicted = measured")
    axes.scatter(predicted, measured, s=24)
    for x, y, (_, _, trial) in zip(predicted, measured, points, strict=True):
        if trial.candidate.key() == result.candidate.key():
            axes.scatter([x], [y], s=90, facecolors="none", edgecolors="tab:red", label=trial.candidate.describe())
        elif trial.candidate.is_default:
            axes.scatter([x], [y], s=90, facecolors="none", edgecolors="0.3", label="default")
    axes.set_xlabel("predicted, us (by the model)")
    axes.set_ylabel(f"measured, us ({result.winner.source})")
    axes.set_title(f"{result.kernel}: {len(points)} candidates")
    axes.legend()
