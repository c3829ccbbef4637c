"""The options of tuning as users give them, checked before anything is traced, compiled or measured."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from pypto.ir.base.errors import UserError, nearest
from pypto.runtime.tuning.measuring.options import MeasureOptions
from pypto.runtime.tuning.selection import METRICS


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_seconds(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_names(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(name, str) for name in value)


def _is_space(value: object) -> bool:
    from pypto.search_space import TilingSearchSpace

    return isinstance(value, TilingSearchSpace)


def _is_cache(value: object) -> bool:
    from pypto.tiling_cache import TilingCache

    return isinstance(value, TilingCache)


Rule = tuple[Callable[[Any], bool], str]
_CANDIDATES: Rule = (lambda value: _is_count(value, 1), "a positive number of candidates")
_SECONDS: Rule = (_is_seconds, "a number of seconds, 0 or more")
_FUNCTION: Rule = (callable, "a function")
_NAMES: Rule = (_is_names, "a list of parameter names")
RULES: dict[str, Rule] = {
    "search_space": (_is_space, "a TilingSearchSpace"),
    "cache": (_is_cache, "a TilingCache, such as TilingCache(cache_path='tilings.db')"),
    "log": (lambda value: isinstance(value, (str, os.PathLike)) and os.fspath(value) != "", "a path"),
    "max_trials": _CANDIDATES,
    "topn": _CANDIDATES,
    "warmup_runs": (lambda value: _is_count(value, 0), "a number of launches, 0 or more"),
    "measure_runs": (lambda value: _is_count(value, 1), "a positive number of launches"),
    "warmup_seconds": _SECONDS,
    "measure_seconds": _SECONDS,
    "time_budget": _SECONDS,
    "cold_cache": (lambda value: isinstance(value, bool), "True or False"),
    "bench_method": (lambda value: value in ("event", "profiler"), "'event' or 'profiler'"),
    "reset_to_zero": _NAMES,
    "restore_value": _NAMES,
    **dict.fromkeys(("early_config_prune", "perf_model", "do_bench", "pre_hook", "post_hook"), _FUNCTION),
}
"""What the value of an option has to be, as a test and in words."""
MEASURING = {
    **{name: name for name in ("warmup_runs", "measure_runs", "warmup_seconds", "measure_seconds", "time_budget")},
    **{name: name for name in ("do_bench", "pre_hook", "post_hook", "reset_to_zero", "restore_value")},
    "cold_cache": "cold",
    "bench_method": "method",
}
"""Options of measuring by the names that users give; and as `MeasureOptions` calls them."""


def check_options(given: Mapping[str, Any], what: str = "auto_tune") -> None:
    """Raise UserError ``option-value`` for the first option whose value, unless None, is not what `RULES` want."""
    for option, value in given.items():
        fits, wants = RULES.get(option, (lambda value: True, ""))
        if value is not None and not fits(value):
            raise UserError("option-value", None, what=what, option=option, value=value, wants=wants)


def check_metric(metric: object) -> None:
    """Raise UserError ``tune-metric`` for what is no metric."""
    if not isinstance(metric, str) or metric not in METRICS:
        raise UserError("tune-metric", None, metric=metric, hint=nearest(str(metric), METRICS))


def measure_options(given: Mapping[str, Any]) -> MeasureOptions:
    """Return how to measure, with what is None left to the defaults. Raises UserError ``option-value``."""
    check_options(given)
    return MeasureOptions.from_settings(
        **{MEASURING[name]: value for name, value in given.items() if value is not None}
    )
