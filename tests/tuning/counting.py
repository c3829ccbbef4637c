"""What the tests of tuning share: counting what is compiled and measured, and quick options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pypto.runtime.tuning import workers
from pypto.runtime.tuning.measuring import measure as measuring

QUICK: dict[str, Any] = {"cold_cache": False, "warmup_seconds": 0.0005, "measure_seconds": 0.002}
"""Options for measurements of which the figures do not matter."""


@dataclass
class Counts:
    """What was compiled, and measured for the first time in a tuning (a confirmation measures winners again)."""

    compiled: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)

    def clear(self) -> None:
        self.compiled.clear()
        self.measured.clear()

    @property
    def nothing(self) -> bool:
        return not self.compiled and not self.measured


def count(patch: pytest.MonkeyPatch) -> Counts:
    """Count what every tuning compiles and measures from now on."""
    counts = Counts()
    compile_candidates, measure = workers.compile_candidates, measuring.measure

    def counted_compile(jobs: Sequence[Any], *others: Any) -> Any:
        counts.compiled += [job.candidate.describe() for job in jobs]
        return compile_candidates(jobs, *others)

    def counted_measure(built: Sequence[Any], *others: Any) -> Any:
        counts.measured += [item.candidate.describe() for item in built]
        return measure(built, *others)

    patch.setattr(workers, "compile_candidates", counted_compile)
    patch.setattr(measuring, "measure", counted_measure)
    return counts
