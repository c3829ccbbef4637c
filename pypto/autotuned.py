"""`@pypto.autotune`: a kernel that tunes itself at the first call with arguments of a kind, and runs directly after."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypto.binding import bind
from pypto.caller import PLACED_AT_CALLER
from pypto.captured import Captured, freeze
from pypto.compiler import TARGETS
from pypto.fork_safe_lock import ForkSafeLock
from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.settings import current
from pypto.subject import read_subject
from pypto.tile_function import TileFunction

if TYPE_CHECKING:
    from pypto.compiled_kernel import CompiledKernel
    from pypto.result import Result
    from pypto.search_space import TilingSearchSpace
    from pypto.tuning_result import TuningResult

_PRUNING = ("early_config_prune", "perf_model", "top_k")
_OWN = (
    "bench_method cache cold_cache config do_bench log max_trials measure_runs post_hook pre_hook progress "
    "reset_to_zero restore_value search_space target time_budget topn tuning_metric warmup_runs"
)


class AutotunedKernel:
    """A tile function with its best tilings. `execute` (or a call) runs it; `function` is the tile function.

    It may be called from several threads. A tuning that fails leaves it as it was. `results` holds what tuning found,
    by kind of arguments, the latest last; of at most as many kinds as the setting `specializations` says.
    """

    def __init__(self, function: TileFunction, key: tuple[str, ...], options: Mapping[str, Any]) -> None:
        self.function, self._names, self._options = function, key, dict(options)
        self._subject = read_subject(function)
        self._captured = Captured((function,))
        self._lock = ForkSafeLock()
        self._kernels: dict[Hashable, CompiledKernel] = {}
        self._recent: CompiledKernel | None = None
        self.results: dict[Hashable, TuningResult] = {}

    def __repr__(self) -> str:
        return f"<autotuned {self.function!r}, {len(self.results)} tilings>"

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def best_config(self) -> TuningResult | None:
        """What the last tuning found; None before the first call."""
        return next(reversed(self.results.values()), None)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run it as `execute` does; inside another tile function it is the tile function."""
        from pypto.tracing.context import active

        if active() is not None:
            return self.function(*arguments, **keywords)
        return self.execute(*arguments, **keywords)

    def execute(self, /, *arguments: Any, verify: bool = False, **keywords: Any) -> Result:
        """Run the kernel with the best tiling for the arguments, which is found first where it is not known.

        Outputs are written in place. Raises UserError as `pypto.auto_tune` and `CompiledKernel.execute` do.
        """
        recent = self._recent
        if recent is not None and not keywords and not verify:
            again = recent.execute_again(arguments)
            if again is not None:
                return again
        with PLACED_AT_CALLER:
            kernel = self._kernel(bind(self.name, self._subject.signature, arguments, keywords))
            result = kernel.execute(*arguments, verify=verify, **keywords)
        if not self._names:
            self._recent = kernel
        return result

    def tune(self, *arguments: Any, **keywords: Any) -> TuningResult:
        """Return the best tiling for the arguments, which are only read; it is found first where it is not known."""
        with PLACED_AT_CALLER:
            values = bind(self.name, self._subject.signature, arguments, keywords)
            kind = self._kind(values)
            self._kernel(values)
            if kind not in self.results:
                raise UserError("tune-target", None, target=self._options.get("target") or current().target)
        return self.results[kind]

    def _kind(self, values: Mapping[str, Any]) -> Hashable:
        """Return what a tiling is found for: everything that a specialisation depends on, and the named values."""
        from pypto.signature import read_call

        named = tuple(freeze(values[name], 4) for name in self._names if not hasattr(values[name], "shape"))
        call = read_call(self._subject, values, self._subject.outputs)
        return call.key, named, self._captured.snapshot(), current()

    def _kernel(self, values: Mapping[str, Any]) -> CompiledKernel:
        kind = self._kind(values)
        with self._lock:
            if kind not in self._kernels:
                self._kernels[kind] = self._tuned(kind, values)
            kernel = self._kernels[kind] = self._kernels.pop(kind)  # the last one used stands last
            while len(self._kernels) > max(1, current().specializations):
                oldest = next(iter(self._kernels))
                del self._kernels[oldest]
                self.results.pop(oldest, None)
            return kernel

    def _tuned(self, kind: Hashable, values: Mapping[str, Any]) -> CompiledKernel:
        """Return the kernel with the best tiling; as it is for targets without tilings, such as that of a debugger."""
        import pypto
        from pypto.tuning import TUNED_TARGETS

        target = self._options.get("target") or current().target
        if target in TARGETS and target not in TUNED_TARGETS:
            return pypto.compile(self.function, self._options.get("config"), target=target)
        result = pypto.auto_tune(self.function, args=dict(values), **self._options)
        kernel = pypto.compile(self.function, result, target=target)
        self.results[kind] = result
        return kernel

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by module and name, as the tile function; raises UserError ``cannot-pickle`` for a local one."""
        from pypto.pickling import find

        original = self.function.original
        place = (original.__module__, original.__qualname__)
        try:
            found = find(place)
        except (ImportError, AttributeError):
            found = None
        if found is not self:
            why = f"it cannot be imported from module {place[0]}"
            raise UserError("cannot-pickle", self.function.location, kernel=self.name, why=why)
        return find, (place,)


def autotune(
    configs: Sequence[Mapping[str, Any]] | None = None,
    key: Sequence[str] = (),
    *,
    search_space: TilingSearchSpace | None = None,
    prune_configs_by: Mapping[str, Any] | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    **options: Any,
) -> Callable[[TileFunction], AutotunedKernel]:
    """Make a tile function tune itself: written above ``@pypto.tile``.

    configs: dicts from names of axes (those of `TilingSearchSpace`) to values, each one candidate; all that pruning
    leaves are measured. search_space: a `TilingSearchSpace` instead; neither: one made from the kernel's axes. The
    untuned kernel always competes. key: names of arguments; another value of a number among them is tuned anew.
    Shapes, dtypes, strides, alignment, device and what the body captures always count. prune_configs_by: a dict with
    `early_config_prune`, `perf_model` and `top_k`. warmup, rep: milliseconds of launches before and while a
    candidate is measured; default 25 and 100. Other options are those of `auto_tune`: do_bench, pre_hook, post_hook,
    reset_to_zero, restore_value, target, cache, tuning_metric, max_trials, time_budget, ...

    Raises UserError ``option-value``, ``option-conflict``, ``unknown-option`` or ``autotune-order``, and those of
    `TilingSearchSpace`.
    """
    with PLACED_AT_CALLER:
        space = _space(configs, search_space)
        for option in options:
            if option not in _OWN.split():
                hint = nearest(option, [*_OWN.split(), "configs", "key", "prune_configs_by", "rep", "warmup"])
                raise UserError("unknown-option", None, what="autotune", option=option, hint=hint)
        chosen = {**options, **_pruning(prune_configs_by), "search_space": space}
        if configs is not None:
            chosen.setdefault("max_trials", len(configs) + 1)
        chosen |= {"warmup_seconds": _seconds("warmup", warmup), "measure_seconds": _seconds("rep", rep)}

    def decorate(function: TileFunction) -> AutotunedKernel:
        with PLACED_AT_CALLER:
            if not isinstance(function, TileFunction):
                what = getattr(function, "__name__", None) or type(function).__name__
                raise UserError("autotune-order", None, what=what)
            return AutotunedKernel(function, _names(function, key), chosen)

    return decorate


def _space(configs: Any, space: TilingSearchSpace | None) -> TilingSearchSpace | None:
    if configs is None:
        return space
    if space is not None:
        why = "both say which candidates there are"
        raise UserError("option-conflict", None, first="configs", second="search_space", why=why)
    from pypto.config_list import ConfigList

    return ConfigList(configs)


def _pruning(given: Mapping[str, Any] | None) -> dict[str, Any]:
    for name in given or ():
        if name not in _PRUNING:
            raise UserError(
                "unknown-option", None, what="prune_configs_by", option=name, hint=nearest(str(name), _PRUNING)
            )
    return dict(given or {})


def _seconds(option: str, milliseconds: Any) -> float | None:
    if milliseconds is None:
        return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)) or milliseconds < 0:
        raise UserError(
            "option-value", None, what="autotune", option=option, value=milliseconds, wants="a number of milliseconds"
        )
    return float(milliseconds) / 1e3


def _names(function: TileFunction, key: Sequence[str]) -> tuple[str, ...]:
    names = [item.name for item in function.parameters]
    given = (key,) if isinstance(key, str) else tuple(key)
    for name in given:
        if name not in names:
            hint = nearest(str(name), names)
            raise UserError(
                "unknown-parameter-option", None, option="key", parameter=name, kernel=function.name, hint=hint
            )
    return given
