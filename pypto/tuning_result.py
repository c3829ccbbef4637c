"""What tuning found: the winner, every trial, and what a user asks of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pypto.ir.base.errors import nearest
from pypto.ir.schedule import Schedule
from pypto.runtime.tuning.candidate import Candidate, Outcome, Trial, Value
from pypto.runtime.tuning.selection import estimated_tops
from pypto.runtime.tuning.work import Work


@dataclass(frozen=True, slots=True)
class Problem:
    """What one launch does, whatever its tiling: arithmetic operations, bytes of arguments, the whole extents that the
    article's axes stand for (`tile_m`, `tile_n`: the last two axes of the largest output; `tile_k`: what is
    contracted), and the shape of the largest output.
    """

    operations: float
    bytes: int
    extents: Mapping[str, int] = field(default_factory=dict)
    output_shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The best tiling found. Pass it as ``config=`` to `pypto.compile`, or use it as the article does:
    ``result.tile_m``, ``result.num_tiles``, ``result.estimated_tops``.

    kernel, target: what was tuned. trials: every candidate, measured or not, best first. winner: the best one.
    note: what should be known about it, such as a difference that is noise. from_cache: no candidate was measured now.
    default: the trial of what the compiler does untuned, where it was measured.
    """

    kernel: str
    target: str
    winner: Trial
    trials: tuple[Trial, ...]
    problem: Problem
    metric: str = "throughput"
    note: str = ""
    from_cache: bool = False
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def candidate(self) -> Candidate:
        """The winning candidate."""
        return self.winner.candidate

    @property
    def values(self) -> dict[str, Value]:
        """The winner's value of each axis of the search space."""
        return dict(self.candidate.values)

    @property
    def schedule(self) -> Schedule:
        """What the winner chooses of a kernel's schedule."""
        return self.candidate.schedule

    @property
    def config(self) -> dict[str, Any]:
        """The winner as a config for `pypto.compile`; empty when that is the untuned kernel."""
        return {} if self.candidate.is_default else {"schedule": self.schedule}

    @property
    def seconds(self) -> float | None:
        """Seconds of one launch of the winner; None when nothing could be measured."""
        return self.winner.seconds

    @property
    def estimated_tops(self) -> float:
        """Operations per second of the winner, in 10^12: measured, else by the model, else 0."""
        seconds = self.winner.seconds or self.candidate.predicted
        return estimated_tops(Work(self.problem.operations, self.problem.bytes), seconds) if seconds else 0.0

    @property
    def num_tiles(self) -> int:
        """The number of tiles that the largest output is cut into, or that the search space gives by name."""
        named = [self.values[name] for name in ("num_tiles", "tile_num") if isinstance(self.values.get(name), int)]
        parts = [value for name, value in self.values.items() if name.startswith("num_tiles_") and type(value) is int]
        if named:
            return int(named[0])  # type: ignore[arg-type]  # it is an int
        return _product(parts) if parts else self.schedule.tile_num or self._count()

    @property
    def default(self) -> Trial | None:
        """The trial of the untuned kernel."""
        return next((trial for trial in self.trials if trial.candidate.is_default), None)

    @property
    def speedup(self) -> float | None:
        """How many times the untuned kernel takes as long as the winner; None when either was not measured."""
        default = self.default
        if default is None or not default.seconds or not self.seconds:
            return None
        return default.seconds / self.seconds

    def _count(self) -> int:
        tile = self.schedule.tile_shape or ()
        shape = self.problem.output_shape[len(self.problem.output_shape) - len(tile) :]
        return _product(
            [-(-extent // min(cut or extent, extent)) for extent, cut in zip(shape, tile, strict=False) if extent]
        )

    def _axis(self, name: str) -> Value:
        """Return the winner's extent of an axis that it leaves to the compiler: the schedule's, else the whole axis."""
        tile, whole = self.schedule.tile_shape or (), self.problem.output_shape
        name = {"tile_h": "tile_m", "tile_w": "tile_n"}.get(name, name)
        chosen: dict[str, Value] = {"tile_k": self.schedule.tile_k, "tile_n": tile[-1] if tile else None}
        chosen["tile_m"] = tile[-2] if len(tile) > 1 else None
        chosen |= dict.fromkeys(("tiles", "tile", "shape", "tile_shape"), tile or whole)
        return chosen.get(name) or self.problem.extents.get(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.values.get(name) is not None:
            return self.values[name]
        known = {axis for trial in self.trials for axis, _ in trial.candidate.values}
        if name in known or name in self.problem.extents:
            return self._axis(name)
        raise AttributeError(f"a tuning result has no {name!r}: {nearest(name, [*_PUBLIC, *known])}")

    def __str__(self) -> str:
        found = self.candidate.describe()
        time = f"{self.seconds * 1e6:.2f} us" if self.seconds else "not measured"
        return f"{self.kernel}: {found}: {time}" + (f" ({self.note})" if self.note else "")

    def table(self) -> str:
        """Return every trial as a text table."""
        from pypto.tuning_report import table_text

        return table_text(self)

    def plot(self, path: Any) -> None:
        """Write a plot of predicted against measured times to `path` (.png, .svg or .pdf).

        Raises UserError ``needs-matplotlib`` or ``nothing-to-plot``.
        """
        from pypto.tuning_report import plot

        plot(self, path)


_PUBLIC = ("config", "estimated_tops", "num_tiles", "schedule", "seconds", "speedup", "trials", "values", "winner")


def _product(numbers: list[int]) -> int:
    result = 1
    for number in numbers:
        result *= max(1, number)
    return result


# -- as JSON


def trial_to_json(trial: Trial) -> dict[str, Any]:
    """Return a trial as plain data."""
    candidate = trial.candidate
    return {
        "values": [[name, value] for name, value in candidate.values],
        "injected": [[name, value] for name, value in candidate.injected],
        "schedule": dict(candidate.schedule.attributes()),
        "is_default": candidate.is_default,
        "predicted": candidate.predicted,
        "workspace": candidate.workspace,
        "block_dim": candidate.block_dim,
        "kernel_key": candidate.key(),
        "outcome": trial.outcome.name,
        "reason": trial.reason,
        "seconds": trial.seconds,
        "quantiles": trial.quantiles,
        "samples": trial.samples,
        "method": trial.method,
        "source": trial.source,
        "tail": trial.tail,
        "memory": trial.memory,
    }


def trial_from_json(item: Mapping[str, Any]) -> Trial:
    """Return the trial that `trial_to_json` wrote. Raises ValueError for anything else."""
    try:
        candidate = Candidate(
            values=tuple((str(name), _tuples(value)) for name, value in item["values"]),
            schedule=Schedule(**{name: _tuples(value) for name, value in item["schedule"].items()}),
            is_default=bool(item["is_default"]),
            predicted=_number(item["predicted"]),
            workspace=int(item["workspace"]),
            block_dim=int(item["block_dim"]),
            injected=tuple((str(name), _tuples(value)) for name, value in item["injected"]),
        )
        quantiles = item["quantiles"]
        trial = Trial(
            candidate,
            Outcome[item["outcome"]],
            str(item["reason"]),
            _number(item["seconds"]),
            None if quantiles is None else (float(quantiles[0]), float(quantiles[1]), float(quantiles[2])),
            int(item["samples"]),
            str(item["method"]),
            str(item["source"]),
            _number(item["tail"]),
            int(item["memory"]),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"it is no trial: {error!r}") from None
    if candidate.key() != item.get("kernel_key"):
        raise ValueError("its tiling does not fit its key")
    return trial


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def result_to_json(result: TuningResult) -> dict[str, Any]:
    """Return a result as plain data, with all its trials."""
    problem = result.problem
    return {
        "kernel": result.kernel,
        "target": result.target,
        "metric": result.metric,
        "note": result.note,
        "from_cache": result.from_cache,
        "shapes": {name: list(shape) for name, shape in result.shapes.items()},
        "winner": result.candidate.key(),
        "seconds": result.seconds,
        "estimated_tops": result.estimated_tops,
        "num_tiles": result.num_tiles,
        "speedup": result.speedup,
        "problem": {
            "operations": problem.operations,
            "bytes": problem.bytes,
            "extents": dict(problem.extents),
            "output_shape": list(problem.output_shape),
        },
        "trials": [trial_to_json(trial) for trial in result.trials],
    }


def result_from_json(item: Any) -> TuningResult:
    """Return the result that `result_to_json` wrote, marked as cached. Raises ValueError for anything else."""
    try:
        trials = tuple(trial_from_json(trial) for trial in item["trials"])
        winner = next(trial for trial in trials if trial.candidate.key() == item["winner"])
        problem = item["problem"]
        return TuningResult(
            str(item["kernel"]),
            str(item["target"]),
            winner,
            trials,
            Problem(
                float(problem["operations"]),
                int(problem["bytes"]),
                {str(name): int(extent) for name, extent in problem["extents"].items()},
                tuple(int(extent) for extent in problem["output_shape"]),
            ),
            str(item["metric"]),
            str(item["note"]),
            True,
            {str(name): tuple(int(extent) for extent in shape) for name, shape in item["shapes"].items()},
        )
    except (KeyError, TypeError, StopIteration, AttributeError) as error:
        raise ValueError(f"it is no tuning result: {error!r}") from None
