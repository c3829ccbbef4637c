"""Candidates of tuning, and what became of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Union

from pypto.ir.schedule import Schedule

Value = Union[None, bool, int, float, str, tuple["Value", ...]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One complete tiling of one kernel.

    values: the names of the user's axes and their values, in the user's order. schedule: what they lower to.
    is_default: what the compiler does untuned. predicted: seconds by the model. workspace: bytes of global memory
    beside the arguments. block_dim: cores (NPU) or threads (CPU, 0: as many as there are) that it is launched on.
    injected: values that a kernel reads while it is traced (`tile_config`, `config`), so that its IR depends on them.
    """

    values: tuple[tuple[str, Value], ...]
    schedule: Schedule
    is_default: bool = False
    predicted: float | None = None
    workspace: int = 0
    block_dim: int = 1
    injected: tuple[tuple[str, Value], ...] = ()

    def tiling_repr(self) -> str:
        """Return the choices as one line without ``|``: equal exactly where schedule and injected values are."""
        chosen = {**self.schedule.attributes(), **{f"config.{name}": value for name, value in self.injected}}
        return _line(chosen) or "default"

    def key(self) -> str:
        """Return the key of the candidate's artefacts: the md5 of ``tiling_repr|workspace|block_dim`` in hex."""
        text = f"{self.tiling_repr()}|{self.workspace}|{self.block_dim}"
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

    def describe(self) -> str:
        """Return the user's values as one line for tables, such as ``tile_m=64,tile_n=128``."""
        if self.is_default:
            return "default"
        return ",".join(f"{name}={_text(value)}" for name, value in self.values) or self.tiling_repr()


def _line(chosen: Mapping[str, object]) -> str:
    return ",".join(f"{name}={_text(value)}" for name, value in sorted(chosen.items()))


def _text(value: object) -> str:
    """Return `value` as JSON in one line of ASCII; ``|`` separates the parts of a key and is escaped."""
    return json.dumps(value, separators=(",", ":")).replace("|", "\\u007c")


class Outcome(Enum):
    """What became of a candidate: only those MEASURED have a time."""

    MEASURED = auto()
    DUPLICATE = auto()  # lowers to the same IR as one before
    TOO_LARGE = auto()  # needs more memory than there is: never compiled
    NOT_RANKED = auto()  # the model puts it after the best that are measured
    COMPILE_FAILED = auto()
    COMPILE_TIMEOUT = auto()
    COMPILE_CRASHED = auto()
    WRONG_RESULT = auto()
    HUNG = auto()
    CRASHED = auto()
    NOT_MEASURED = auto()  # the time budget was used up


@dataclass(frozen=True, slots=True)
class Trial:
    """One row of the table, of the JSON log and of the cache.

    seconds: the statistic that candidates are compared by (the median). quantiles: P50, P20 and P80 in seconds.
    samples: launches that were timed. method: ``event``, ``profiler`` or ``do_bench``. source: where the figures come
    from (``measured:cpu``, ``measured:npu``). tail: P99 in seconds. memory: bytes that a launch needs beside its
    arguments. cut_short: the time budget ended before all samples were taken; such a figure does for this tuning alone.
    """

    candidate: Candidate
    outcome: Outcome
    reason: str = ""
    seconds: float | None = None
    quantiles: tuple[float, float, float] | None = None
    samples: int = 0
    method: str = ""
    source: str = "measured:cpu"
    tail: float | None = None
    memory: int = 0
    cut_short: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a search space comes to for one kernel.

    usable: in the order of the space, the default first (or where the space has it, with the user's values). rejected:
    one row for each combination that is no candidate of its own: TOO_LARGE, DUPLICATE or COMPILE_FAILED. notes: what
    was left out of a space too large to look at.
    """

    usable: tuple[Candidate, ...]
    rejected: tuple[Trial, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def default(self) -> Candidate | None:
        """What the compiler does untuned; None where that does not fit."""
        return next((candidate for candidate in self.usable if candidate.is_default), None)
