"""What measuring is given: how to measure, the arguments, and the results that each candidate has to give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

from pypto.ir.base import settings
from pypto.ir.nodes import Module, Role

Array = NDArray[Any]
Method = Literal["event", "profiler"]
Launch = Callable[[], Any]
Benchmark = Callable[..., "float | Sequence[float]"]

QUANTILES = (0.5, 0.2, 0.8)
TAIL = 0.99
ENOUGH_CLEAN = 3
"""Launches without an interruption that suffice; fewer only where most were clean."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reference gives for one output, and how far a candidate may be off: by ``absolute + relative * |value|``
    (`relative` 0: not at all).
    """

    value: Array
    relative: float
    absolute: float


@dataclass(frozen=True, slots=True)
class Inputs:
    """The arguments of a launch, by parameter name in the order of the module's parameters.

    values: NumPy arrays, torch CPU tensors and numbers. They are only read: every launch works on copies. written: the
    parameters that the kernel writes; updated: those of them that it also reads (in/out).
    """

    values: Mapping[str, Any]
    written: frozenset[str]
    updated: frozenset[str]

    @classmethod
    def of(cls, module: Module, values: Mapping[str, Any]) -> Inputs:
        """Return the inputs of `module`, whose parameters say what is written."""
        roles = {item.name: item.role for item in module.parameters}
        written = frozenset(name for name, role in roles.items() if role is not Role.IN)
        updated = frozenset(name for name, role in roles.items() if role is Role.INOUT)
        return cls({name: values[name] for name in roles}, written, updated)


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How to measure.

    method: ``event`` (median of launches between two marks) or ``profiler`` (mean of the rows of a profiler).
    cold: whether the caches are overwritten before each launch. warmup_runs, measure_runs: launches of each candidate;
    None: as many as fit `warmup_seconds` and `measure_seconds` (event), 5 and 30 (profiler). time_budget: seconds for
    everything; what is not measured by then has no time. candidate_seconds: most seconds, with overwriting caches and
    restoring arguments, for one candidate; at least `least_samples` are taken whatever that costs.

    rounds: parts that a candidate's samples are taken in, in turn with the other candidates. hopeless: how many times
    the best median the fastest launch of a candidate may take, for it to be sampled in the next round. first_limit:
    seconds that the first launch of all may take. A launch of another candidate is taken for hung after
    ``hang_factor`` times the estimate of the default, at least `hang_least` seconds.

    reset_to_zero, restore_value: parameters that are set to zero, or to what they were, before every launch; what is
    in/out is always restored. pre_hook, post_hook: called around every launch with a dict of the arguments (copies),
    post_hook also with the exception or None. do_bench: ``do_bench(launch, quantiles=(0.5, 0.2, 0.8))`` measures
    instead and returns milliseconds, one number or one per quantile.
    """

    method: Method = "event"
    cold: bool = True
    warmup_runs: int | None = None
    measure_runs: int | None = None
    time_budget: float | None = None
    warmup_seconds: float = 0.025
    measure_seconds: float = 0.1
    candidate_seconds: float = 0.3
    least_samples: int = 20
    rounds: int = 5
    hopeless: float = 2.0
    first_limit: float = 60.0
    hang_factor: float = 20.0
    hang_least: float = 5.0
    reset_to_zero: Sequence[str] = ()
    restore_value: Sequence[str] = ()
    pre_hook: Callable[[dict[str, Any]], Any] | None = None
    post_hook: Callable[[dict[str, Any], BaseException | None], Any] | None = None
    do_bench: Benchmark | None = None

    @classmethod
    def from_settings(cls, **changes: Any) -> MeasureOptions:
        """Return the options with the method that the setting `bench_method` asks for."""
        return cls(**{"method": settings.current().bench_method, **changes})

    @property
    def needs_python(self) -> bool:
        """Whether functions of the user have to run beside the launches, which then run in this process."""
        return self.do_bench is not None or self.pre_hook is not None or self.post_hook is not None

    def hang_limit(self, default_seconds: float) -> float:
        """Return the seconds after which a launch is taken for hung."""
        return max(self.hang_least, self.hang_factor * default_seconds)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of one launch, of overwriting the caches before it (0 with warm caches), of restoring arguments."""

    launch: float
    flush: float
    restore: float

    @property
    def whole(self) -> float:
        return self.launch + self.flush + self.restore


@dataclass(slots=True)
class Samples:
    """Seconds of launches, those apart that were interrupted: the system took the processor away meanwhile."""

    clean: list[float] = field(default_factory=list)
    interrupted: list[float] = field(default_factory=list)

    def add(self, seconds: float, interrupted: bool) -> None:
        """Add one launch."""
        (self.interrupted if interrupted else self.clean).append(seconds)

    def extend(self, other: Samples) -> None:
        """Add the launches of `other`."""
        self.clean += other.clean
        self.interrupted += other.interrupted

    def usable(self) -> list[float]:
        """Return the launches that count: clean ones, or all where too few are clean to speak for the kernel."""
        enough = len(self.clean) >= min(ENOUGH_CLEAN, len(self.interrupted) + 1)
        return self.clean if enough else self.clean + self.interrupted
