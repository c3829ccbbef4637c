"""`auto_tune`: the best tiling of a kernel for given arguments, found once and kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypto.caller import PLACED_AT_CALLER
from pypto.compiled_kernel import require_device
from pypto.compiler import TARGETS
from pypto.config import read_config
from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.settings import current
from pypto.ir.schedule import Schedule
from pypto.runtime.tuning.selection import Metric
from pypto.runtime.tuning.topn import autotune_topn
from pypto.subject import read_subject
from pypto.tuning_case import TuningCase, bound_arguments, generated_code, trace_case, trace_made_case
from pypto.tuning_options import MEASURING, check_metric, check_options, measure_options
from pypto.tuning_report import log_result, print_table, reporter
from pypto.tuning_session import Search, Session, default_store

if TYPE_CHECKING:
    from pypto.runtime.tuning.store import TuningStore
    from pypto.search_space import TilingSearchSpace
    from pypto.tiling_cache import TilingCache
    from pypto.tuning_result import TuningResult

MOST_MEASURED = 10
"""Candidates that an explicit tuning measures where nothing else says how many."""
TUNED_TARGETS = ("ascendc", "cpu", "npu")


def auto_tune(
    kernel: Any = None,
    input_shape: Any = None,
    search_space: TilingSearchSpace | None = None,
    *,
    args: Any = None,
    dtypes: Any = None,
    config: Any = None,
    target: str | None = None,
    cache: TilingCache | None = None,
    tuning_metric: Metric = "throughput",
    max_trials: int | None = None,
    topn: int | None = None,
    warmup_runs: int | None = None,
    measure_runs: int | None = None,
    early_config_prune: Callable[..., Any] | None = None,
    perf_model: Callable[..., Any] | None = None,
    top_k: int | float | None = None,
    log: Any = None,
    progress: bool | None = None,
    **measuring: Any,
) -> TuningResult:
    """Return the best tiling of `kernel`; pass it on as ``pypto.compile(kernel, config=result)``.

    kernel: whatever `pypto.compile` takes. args: the arguments of a launch, a tuple or a dict by name; they are only
    read, every candidate runs on copies. Without them inputs are made from a fixed seed in `input_shape`: a dict by
    parameter, a shape for each parameter, or one shape for all; without that too, in the shapes that the decorators
    cover. dtypes: as in `pypto.compile`. search_space: a `TilingSearchSpace`; None makes one from the kernel's axes.
    config: what the schedule of every candidate starts from. cache: a `TilingCache`; None is the one in the folder of
    the setting `cache`.

    tuning_metric: ``throughput`` (median time), ``latency`` (P99) or ``memory_efficiency`` (the median, and the memory
    that a launch needs). max_trials: candidates compiled and measured, those that the model puts first; None: `topn`,
    else the setting `autotune_topn`, else 10. ``topn=1`` takes the modelled best unmeasured. The untuned kernel is
    always measured beside them. warmup_runs, measure_runs: launches of each; None: as many as `warmup_seconds` and
    `measure_seconds` hold.

    early_config_prune: returns those of a list of configs (dicts) that are tried. perf_model: takes values and
    arguments by name, returns a time to rank by; top_k: how many are kept of it, a number or a fraction. log: a file
    that receives a JSON line for each trial. progress: whether progress and a table are shown; None: on a terminal.
    measuring: warmup_seconds, measure_seconds (0.025 and 0.1); time_budget: seconds for measuring everything;
    cold_cache (True): overwrite the caches before each launch; bench_method: ``event`` or ``profiler`` (the setting);
    do_bench: ``do_bench(launch, quantiles=)`` measures instead and returns milliseconds; pre_hook, post_hook: called
    around every launch with the arguments by name; reset_to_zero, restore_value: parameters set to zero, or back,
    before every launch (in/out ones always are).

    A tuning with the same kernel, arguments, machine and search is read from the cache. Raises UserError of the
    groups `tuning` and `search`, and whatever reading the arguments and tracing the kernel raises.
    """
    with PLACED_AT_CALLER:
        _check_kernel(kernel)
        check_metric(tuning_metric)
        check_options({"search_space": search_space, "cache": cache, "log": log})
        check_options({"early_config_prune": early_config_prune, "perf_model": perf_model})
        how = measure_options({"warmup_runs": warmup_runs, "measure_runs": measure_runs, **_known_options(measuring)})
        counts = _most_measured(max_trials, topn)
        case = read_case(kernel, args, input_shape, dtypes, config, target)
        search = Search(search_space, *counts, tuning_metric, how, early_config_prune, perf_model, top_k, _base(case))
        _check_names(case, {"reset_to_zero": how.reset_to_zero, "restore_value": how.restore_value})
        return tune(case, search, default_store() if cache is None else cache.rows, log=log, shown=progress)


def tune(case: TuningCase, search: Search, store: TuningStore | None, *, log: Any, shown: bool | None) -> TuningResult:
    """Return the best tiling of a case, shown and logged as asked for."""
    with reporter(case.name, log, shown) as report:
        result = Session(case, search, store, report, case.key(generated_code(case))).run()
    if not result.from_cache:
        log_result(result)
        if report.progress is not None:
            print_table(result)
    return result


def _base(case: TuningCase) -> str:
    """Return what the schedule of every candidate starts from, as text."""
    return repr([Schedule.of(item).attributes() for item in case.module.kernels])


def _known_options(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `given`; raises UserError ``unknown-option`` for names of no option."""
    for option in given:
        if option not in MEASURING:
            hint = nearest(option, [*MEASURING, *inspect.signature(auto_tune).parameters])
            raise UserError("unknown-option", None, what="auto_tune", option=option, hint=hint)
    return given


def _most_measured(max_trials: int | None, topn: int | None) -> tuple[int, bool]:
    """Return how many candidates are tried, and whether the modelled best is taken unmeasured instead.

    Raises UserError ``option-value`` for numbers that are none.
    """
    check_options({"max_trials": max_trials, "topn": topn})
    usual = autotune_topn()
    return max_trials or topn or (usual if usual > 1 else MOST_MEASURED), max_trials is None and topn == 1


def _check_kernel(kernel: Any) -> None:
    """Raise UserError ``tune-name`` for the name of a kernel."""
    if isinstance(kernel, str) and not kernel.endswith(".pto"):
        raise UserError("tune-name", None, name=kernel)


def _check_names(case: TuningCase, given: Mapping[str, Sequence[str]]) -> None:
    """Raise UserError ``unknown-parameter-option`` for a name of no array parameter."""
    for option, names in given.items():
        for name in names:
            if name not in case.shapes:
                hint = nearest(str(name), case.shapes)
                raise UserError(
                    "unknown-parameter-option", None, option=option, parameter=name, kernel=case.name, hint=hint
                )


def read_case(kernel: Any, args: Any, input_shape: Any, dtypes: Any, config: Any, target: str | None) -> TuningCase:
    """Return what `auto_tune` is asked to tune; raises UserError as it does."""
    name = current().target if target is None else target
    if name not in TARGETS:
        raise UserError("unknown-target", None, target=name, hint=nearest(str(name), TARGETS))
    if name not in TUNED_TARGETS:
        raise UserError("tune-target", None, target=name)
    if name == "npu":
        require_device()
    options, dependencies = read_config(config)
    subject = read_subject(kernel, dependencies)
    if args is not None:
        return trace_case(subject, options, name, bound_arguments(subject, args), made=False)
    return trace_made_case(subject, options, name, input_shape, dtypes)
