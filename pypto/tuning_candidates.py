"""Which candidates a tuning tries, and in which order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pypto.codegen.llvm.code import Layout
from pypto.ir.base.errors import UserError
from pypto.runtime.tuning.candidate import Candidate, Candidates, Outcome, Trial
from pypto.runtime.tuning.models import model_for
from pypto.runtime.tuning.ranking import best, by_time, count_of, rank
from pypto.tuning_case import TuningCase

if TYPE_CHECKING:
    from pypto.search_space import TilingSearchSpace
    from pypto.tuning_session import Search


def candidates_of(case: TuningCase, space: TilingSearchSpace | None) -> Candidates:
    """Return the candidates of a search space, or of one made from the kernel's axes. Raises what the space raises."""
    if space is None:
        from pypto.automatic_space import automatic_space

        space = automatic_space(case.module, case.target, case.machine())
    layouts = {name: Layout(strides) for name, strides in case.layouts.items()}
    return space.candidates(case.module, case.target, layouts=layouts, machine=case.machine())


def ranked(case: TuningCase, search: Search, usable: Sequence[Candidate]) -> tuple[tuple[Candidate, ...], list[Trial]]:
    """Return the candidates to try, the modelled best first, and rows for those that are not tried.

    Hooks of the user go first, as in Triton: an early one that leaves out candidates, then a model of the time with
    the number (or fraction) that is kept.
    """
    kept, cut = _pruned(search.prune, case, usable)
    known = (
        _modelled(case, kept, search.measuring.cold) if search.model is None else _predicted(search.model, case, kept)
    )
    count = _most(search, known) if search.top_k is None else min(search.most, count_of(search.top_k, len(known)))
    tried, left = best(known, count, most=max(count, search.most))
    return tried, [*left, *cut]


def _most(search: Search, known: Sequence[Candidate]) -> int:
    """Return how many of the modelled best are tried: the untuned kernel does not count where it is measured beside."""
    beside = not search.unmeasured and any(item.is_default for item in known[: search.most])
    return search.most + beside


def _pruned(
    prune: Callable[..., Any] | None, case: TuningCase, usable: Sequence[Candidate]
) -> tuple[list[Candidate], list[Trial]]:
    """Return what the user's hook leaves; the untuned kernel always stays."""
    if prune is None:
        return list(usable), []
    chosen = _called(prune, [dict(item.values) for item in usable], _named_arguments(case))
    if not isinstance(chosen, (list, tuple)):
        wants = "a function that returns a list of the configs it was given"
        raise UserError("option-value", None, what="autotune", option="early_config_prune", value=chosen, wants=wants)
    kept = [item for item in usable if item.is_default or dict(item.values) in chosen]
    cut = [Trial(item, Outcome.NOT_RANKED, "early_config_prune left it out") for item in usable if item not in kept]
    return kept, cut


def _named_arguments(case: TuningCase) -> dict[str, Any]:
    return {name: item.value for name, item in case.call.arguments.items()}


def _called(function: Callable[..., Any], configs: list[dict[str, Any]], arguments: dict[str, Any]) -> Any:
    """Call a pruning hook with the configs, the arguments by name, and again as keywords where it takes them."""
    parameters = inspect.signature(function).parameters
    takes_all = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters.values())
    keywords = arguments if takes_all else {name: value for name, value in arguments.items() if name in parameters}
    return function(configs, arguments, **keywords) if len(parameters) > 1 else function(configs)


def _predicted(function: Callable[..., Any], case: TuningCase, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with the times that the user's model gives, the fastest first, ties by text.

    The model takes values of axes and arguments by name. The untuned kernel is not asked for where it lacks axes that
    the model takes, and then comes last; it competes all the same. Raises UserError ``option-value`` for what is no
    time.
    """
    parameters = inspect.signature(function).parameters
    takes_all = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters.values())

    needed = {name for name, item in parameters.items() if item.default is item.empty and item.kind in _BY_NAME}
    axes = {name for item in candidates for name, _ in item.values}

    def time(candidate: Candidate) -> float | None:
        given = {**_named_arguments(case), **dict(candidate.values)}
        if candidate.is_default and any(given.get(name) is None for name in (axes if takes_all else axes & needed)):
            return None
        known = {name: given.get(name) for name in needed | (given.keys() & parameters.keys())}
        return _finite(function(**(given if takes_all else known)))

    return sorted((replace(item, predicted=time(item)) for item in candidates), key=by_time)


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _finite(time: Any) -> float | None:
    """Return a user's time; None for an infinite one, which puts the candidate last, as in Triton."""
    if isinstance(time, (int, float, np.number)) and not isinstance(time, bool) and not np.isnan(time):
        return float(time) if np.isfinite(time) else None
    wants = "a function that returns a time, the smaller the better"
    raise UserError("option-value", None, what="autotune", option="perf_model", value=time, wants=wants)


def _modelled(case: TuningCase, candidates: Sequence[Candidate], cold: bool) -> Sequence[Candidate]:
    """Return the candidates with the times that the target's own model gives, the fastest first."""
    layouts = {name: Layout(strides) for name, strides in case.layouts.items()}
    return rank(candidates, case.module, model_for(case.target, layouts, case.machine(), cold=cold))
