"""The order in which candidates are tried: by modelled time. The search hands over ten at most, of which N are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pypto.ir.base.errors import UserError
from pypto.ir.base.settings import MOST_TOPN
from pypto.ir.nodes import Module
from pypto.ir.schedule import Schedule
from pypto.runtime.tuning.candidate import Candidate, Outcome, Trial


class Model(Protocol):
    """Predicts times without running anything."""

    @property
    def source(self) -> str:
        """Where its figures come from, such as ``modelled:cpu``."""

    def predict(self, module: Module, schedule: Schedule) -> float:
        """Return seconds of one launch of `module` (level tile) under `schedule`."""


def rank(candidates: Sequence[Candidate], module: Module, model: Model) -> tuple[Candidate, ...]:
    """Return the candidates with their modelled times, the fastest first, ties by text.

    The default gets no better place than its time does: it is kept in any case, see `best`.
    """
    known = [replace(item, predicted=model.predict(module, item.schedule)) for item in candidates]
    return tuple(sorted(known, key=by_time))


def by_time(candidate: Candidate) -> tuple[float, str]:
    """Return what candidates are sorted by: modelled time, unknown ones last; ties by text."""
    return candidate.predicted if candidate.predicted is not None else float("inf"), candidate.tiling_repr()


def best(
    ranked: Sequence[Candidate], count: int, most: int = MOST_TOPN
) -> tuple[tuple[Candidate, ...], tuple[Trial, ...]]:
    """Return the first `count` candidates (of at most `most`) and rows for those that are cut off.

    The default is kept beside them, uncounted, where it is not among them: something has to run when the others fail.
    """
    kept = tuple(ranked[: min(count, most)])
    fallback = tuple(item for item in ranked if item.is_default and item not in kept)
    cut = [item for item in ranked if item not in kept and not item.is_default]
    return (*kept, *fallback), tuple(
        Trial(item, Outcome.NOT_RANKED, f"the model puts it at place {ranked.index(item) + 1}, {len(kept)} are tried")
        for item in cut
    )


def count_of(top_k: float, total: int) -> int:
    """Return how many of `total` candidates ``top_k`` keeps: a count, or a fraction of them, at least one.

    Raises UserError ``top-k``.
    """
    is_number = isinstance(top_k, (int, float)) and not isinstance(top_k, bool)
    if isinstance(top_k, int) and is_number and top_k >= 1:
        return min(top_k, total)
    if isinstance(top_k, float) and 0 < top_k <= 1:
        return max(1, int(top_k * total))
    raise UserError("top-k", None, value=top_k)
