"""The schedule of one kernel: `TileConfig`, `BufferConfig` and the plain dict of the same keys.

A schedule never changes what a kernel computes (see docs/language.md). Every key is checked when it is given; a key
of the articles whose work this version does not do is an error, never silently ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from pypto.caller import PLACED_AT_CALLER
from pypto.ir.base.errors import UserError, nearest

if TYPE_CHECKING:
    from pypto.dependencies import AnyDependency, DependencyGraph
    from pypto.hierarchy import Scheduler
    from pypto.ir.schedule import Schedule


class BufferStrategy(Enum):
    """How many slots each on-chip buffer gets: 1, 2, 3, or as many as pay off."""

    SINGLE = "single"
    DOUBLE = "double"
    TRIPLE = "triple"
    AUTO = "auto"


FUSION_BOUNDARIES = ("GM", "L1", "UB")


@dataclass(frozen=True, slots=True)
class _Rule:
    """How one key is checked: `wants` says in words what `accepts` tests."""

    wants: str
    accepts: Callable[[object], bool]


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_shape(value: object) -> bool:
    return isinstance(value, (tuple, list)) and all(item is None or _is_positive(item) for item in value)


def _is_ratio(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _is_size(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _is_dependency(value: object) -> bool:
    from pypto.dependencies import BroadcastDep, Dependency, GatherDep

    return isinstance(value, (Dependency, BroadcastDep, GatherDep))


def _is_barrier(value: object) -> bool:
    from pypto.barriers import Barrier

    return all(isinstance(item, Barrier) for item in (value if isinstance(value, (list, tuple)) else (value,)))


def _is_scheduler(value: object) -> bool:
    from pypto.hierarchy import Scheduler

    return isinstance(value, Scheduler)


def _is_tuned(value: object) -> bool:
    from pypto.tuning_result import TuningResult

    return isinstance(value, TuningResult)


def _is_schedule(value: object) -> bool:
    from pypto.ir.schedule import Schedule

    return isinstance(value, Schedule)


def _is_dependency_graph(value: object) -> bool:
    from pypto.dependencies import DependencyGraph

    return isinstance(value, DependencyGraph)


_FLAG = _Rule("True or False", lambda value: isinstance(value, bool))
_NUMBER = _Rule("a positive whole number", _is_positive)
_PATH = _Rule("a path", lambda value: isinstance(value, (str, os.PathLike)))

_RULES: dict[str, _Rule] = {
    "tile_num": _NUMBER,
    "tile_m": _NUMBER,
    "tile_k": _NUMBER,
    "tile_n": _NUMBER,
    "shape": _Rule("a tuple of positive whole numbers or None", _is_shape),
    "enable_pipeline": _FLAG,
    "dependency": _Rule("a pypto.Dependency, BroadcastDep or GatherDep", _is_dependency),
    "dependency_graph": _Rule("a pypto.DependencyGraph", _is_dependency_graph),
    "barrier": _Rule("a pypto.BarrierConfig, a pypto.Barrier or a list of them", _is_barrier),
    "scheduler": _Rule("a pypto.Scheduler", _is_scheduler),
    "schedule": _Rule("the schedule of a TuningResult", _is_schedule),
    "enable_double_buffer": _FLAG,
    "aicore_num": _NUMBER,
    "enable_profiling": _FLAG,
    "buffer": _Rule("a pypto.BufferConfig", lambda value: isinstance(value, BufferConfig)),
    "enable_fusion": _FLAG,
    "fusion_boundary": _Rule(f"one of {', '.join(FUSION_BOUNDARIES)}", lambda value: value in FUSION_BOUNDARIES),
    "l1_workspace_mb": _Rule("a positive number of megabytes", _is_size),
    "enable_store_clean": _FLAG,
    "output_pto_ir": _FLAG,
    "pto_ir_path": _PATH,
}
"""Every key of `TileConfig` and of the dict form."""

_LATER = ("enable_hybrid", "extern_kernels", "policy")
"""Keys of the articles that this version has nothing for."""

_LATER_VALUES: dict[str, tuple[object, ...]] = {
    "fusion_boundary": ("GM",),
    "enable_store_clean": (True,),
}
"""Values of known keys that this version has nothing for."""

_BUFFER_RULES: dict[str, _Rule] = {
    "strategy": _Rule("a pypto.BufferStrategy", lambda value: isinstance(value, BufferStrategy)),
    "buffer_size_per_tile": _Rule("a positive number of bytes", _is_positive),
    "enable_async_copy": _FLAG,
    "enable_prefetch": _FLAG,
    "overlap_compute_ratio": _Rule("a number from 0 to 1", _is_ratio),
}


def _check(what: str, key: str, value: object, rules: Mapping[str, _Rule]) -> None:
    """Raise UserError ``unknown-option``, ``later-option`` or ``option-value`` when ``key=value`` is not valid."""
    if value is None and key in rules:
        return
    if key in _LATER or any(value == item for item in _LATER_VALUES.get(key, ()) if type(value) is type(item)):
        raise UserError("later-option", None, what=what, option=key, value=value)
    if key not in rules:
        raise UserError("unknown-option", None, what=what, option=key, hint=nearest(str(key), rules))
    if not rules[key].accepts(value):
        raise UserError("option-value", None, what=what, option=key, value=value, wants=rules[key].wants)


class BufferConfig:
    """How data moves between global memory and on-chip buffers.

    strategy: slots per buffer. buffer_size_per_tile: bytes of one slot of the largest buffer between GM and the chip.
    enable_async_copy: copy while computing. enable_prefetch: one more slot of look-ahead. overlap_compute_ratio: the
    share of copying that should hide behind computing, 0 to 1. None leaves the choice to the compiler.

    Raises UserError ``unknown-option`` or ``option-value``.
    """

    strategy: BufferStrategy | None
    buffer_size_per_tile: int | None
    enable_async_copy: bool | None
    enable_prefetch: bool | None
    overlap_compute_ratio: float | None

    def __init__(
        self,
        strategy: BufferStrategy | None = None,
        buffer_size_per_tile: int | None = None,
        enable_async_copy: bool | None = None,
        enable_prefetch: bool | None = None,
        overlap_compute_ratio: float | None = None,
        **unknown: object,
    ) -> None:
        given = {
            "strategy": strategy,
            "buffer_size_per_tile": buffer_size_per_tile,
            "enable_async_copy": enable_async_copy,
            "enable_prefetch": enable_prefetch,
            "overlap_compute_ratio": overlap_compute_ratio,
            **unknown,
        }
        for key, value in given.items():
            setattr(self, key, value)

    def __setattr__(self, key: str, value: object) -> None:
        with PLACED_AT_CALLER:
            _check("BufferConfig", key, value, _BUFFER_RULES)
        object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        return _show("BufferConfig", vars(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BufferConfig) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))


class TileConfig:
    """The schedule of one kernel; None leaves the choice to the compiler.

    tile_num: number of work items. tile_m, tile_k, tile_n: tile of the last two axes (rows, columns) and of the
    contracted axis. shape: the tile as a tuple, instead of tile_m and tile_n. enable_pipeline: overlap copies and
    computing. dependency, dependency_graph: links between the stages of a list. barrier: a `BarrierConfig`, a
    `Barrier` or a list of them. scheduler: a `Scheduler` of coarse and fine tiles. enable_double_buffer: two slots
    per buffer. aicore_num: cores used (block_dim). enable_profiling: keep the time of every stage of every launch for
    `profile()`. buffer: a `BufferConfig`. enable_fusion: merge linked stages whose tiles can go on with each other's
    (default: yes). fusion_boundary ("L1" or "UB"), l1_workspace_mb, enable_store_clean: where the intermediates of a
    fused kernel live. output_pto_ir, pto_ir_path: also write the PTO IR to a file.

    Raises UserError ``unknown-option``, ``option-value`` or ``later-option``.
    """

    tile_num: int | None
    tile_m: int | None
    tile_k: int | None
    tile_n: int | None
    shape: tuple[int | None, ...] | None
    enable_pipeline: bool | None
    dependency: AnyDependency | None
    dependency_graph: DependencyGraph | None
    enable_double_buffer: bool | None
    aicore_num: int | None
    enable_profiling: bool | None
    buffer: BufferConfig | None

    def __init__(
        self,
        *,
        tile_num: int | None = None,
        tile_m: int | None = None,
        tile_k: int | None = None,
        tile_n: int | None = None,
        shape: tuple[int | None, ...] | None = None,
        enable_pipeline: bool | None = None,
        dependency: AnyDependency | None = None,
        dependency_graph: DependencyGraph | None = None,
        enable_double_buffer: bool | None = None,
        aicore_num: int | None = None,
        enable_profiling: bool | None = None,
        buffer: BufferConfig | None = None,
        **more: Any,
    ) -> None:
        given = {
            "tile_num": tile_num,
            "tile_m": tile_m,
            "tile_k": tile_k,
            "tile_n": tile_n,
            "shape": shape,
            "enable_pipeline": enable_pipeline,
            "dependency": dependency,
            "dependency_graph": dependency_graph,
            "enable_double_buffer": enable_double_buffer,
            "aicore_num": aicore_num,
            "enable_profiling": enable_profiling,
            "buffer": buffer,
            **more,
        }
        for key, value in given.items():
            setattr(self, key, value)

    def __setattr__(self, key: str, value: object) -> None:
        with PLACED_AT_CALLER:
            _check("TileConfig", key, value, _RULES)
        object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        return _show("TileConfig", vars(self))

    def set_block_shape(self, *extents: int) -> None:
        """Set the tile: ``(tile_m, tile_k, tile_n)`` for three extents, else `shape`."""
        if len(extents) == 3:
            self.tile_m, self.tile_k, self.tile_n = extents
        else:
            self.shape = extents

    def set_num_tiles(self, number: int) -> None:
        """Set the number of work items."""
        self.tile_num = number


def _show(name: str, values: Mapping[str, object]) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in values.items() if value is not None)
    return f"{name}({given})"


@dataclass(frozen=True, slots=True)
class Options:
    """A config after checking, as the compiler uses it: immutable and hashable. None: the compiler chooses.

    `schedule` is the tuner's, in place of what the other keys and the decorators ask for.
    `given` names the keys that the user gave, in order, with their values as text, for `explain()`.
    """

    tile_num: int | None = None
    tile_m: int | None = None
    tile_k: int | None = None
    tile_n: int | None = None
    shape: tuple[int | None, ...] | None = None
    enable_pipeline: bool | None = None
    enable_double_buffer: bool | None = None
    aicore_num: int | None = None
    enable_profiling: bool | None = None
    buffer: BufferConfig | None = None
    scheduler: Scheduler | None = None
    enable_fusion: bool | None = None
    fusion_boundary: str | None = None
    l1_workspace_mb: float | None = None
    output_pto_ir: bool | None = None
    pto_ir_path: str | None = None
    schedule: Schedule | None = None
    given: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def tile_shape(self) -> tuple[int | None, ...] | None:
        """The tile that the schedule asks for: `shape`, else ``(tile_m, tile_n)``, else None."""
        if self.shape is not None:
            return self.shape
        if self.tile_m is None and self.tile_n is None:
            return None
        return self.tile_m, self.tile_n

    @property
    def buffer_depth(self) -> int | None:
        """Slots per buffer that the schedule asks for; None when it says nothing or AUTO."""
        strategy = self.buffer.strategy if self.buffer else None
        if strategy in (None, BufferStrategy.AUTO):
            return {True: 2, False: 1, None: None}[self.enable_double_buffer]
        return {BufferStrategy.SINGLE: 1, BufferStrategy.DOUBLE: 2, BufferStrategy.TRIPLE: 3}[strategy]


def read_config(config: object) -> tuple[Options, tuple[AnyDependency, ...]]:
    """Return the options and the dependencies of a TileConfig, a BufferConfig, a Scheduler, a TuningResult, a dict of
    keys, or None.

    Raises UserError ``config-type``, ``unknown-option``, ``option-value``, ``later-option`` or ``option-conflict``.
    """
    values = _plain(config)
    _check_conflicts(values)
    given = tuple((key, repr(value)) for key, value in values.items())
    names = {item.name for item in fields(Options)} - {"given"}
    taken = {key: value for key, value in values.items() if key in names}
    if taken.get("shape") is not None:
        taken["shape"] = tuple(taken["shape"])
    if taken.get("scheduler") is not None:
        taken.setdefault("enable_pipeline", taken["scheduler"].enable_coarse_grain_pipeline)
    if taken.get("pto_ir_path") is not None:
        taken["pto_ir_path"] = os.fspath(taken["pto_ir_path"])
    return Options(**taken, given=given), _dependencies(values)


def _plain(config: object) -> dict[str, Any]:
    """Return the keys that were given, checked."""
    if config is None:
        return {}
    if isinstance(config, BufferConfig):
        return {"buffer": config}
    if _is_scheduler(config):
        return {"scheduler": config}
    if _is_tuned(config):
        return dict(config.config)  # type: ignore[attr-defined]  # it is a TuningResult
    if isinstance(config, TileConfig):
        return {key: value for key, value in vars(config).items() if value is not None}
    if not isinstance(config, Mapping):
        raise UserError("config-type", None, kind=type(config).__name__)
    return _plain_mapping(config)


def _plain_mapping(config: Mapping[Any, Any]) -> dict[str, Any]:
    buffer_keys = {key: value for key, value in config.items() if key in _BUFFER_RULES}
    values = {key: value for key, value in config.items() if key not in _BUFFER_RULES}
    for key, value in values.items():
        _check("config", key, value, {**_RULES, **_BUFFER_RULES} if key not in _RULES else _RULES)
    if buffer_keys:
        if values.get("buffer") is not None:
            raise UserError(
                "option-conflict", None, first="buffer", second=next(iter(buffer_keys)), why="both say how to buffer"
            )
        values["buffer"] = BufferConfig(**buffer_keys)
    return {key: value for key, value in values.items() if value is not None}


def _check_conflicts(values: Mapping[str, Any]) -> None:
    """Raise UserError ``option-conflict`` for two keys that cannot both hold."""
    if values.get("shape") is not None:
        for key in ("tile_m", "tile_n"):
            if values.get(key) is not None:
                raise UserError("option-conflict", None, first="shape", second=key, why="both give the tile")
    if values.get("dependency") is not None and values.get("dependency_graph") is not None:
        raise UserError(
            "option-conflict", None, first="dependency", second="dependency_graph", why="both give the links"
        )
    buffer = values.get("buffer")
    strategy = buffer.strategy if buffer else None
    if values.get("enable_double_buffer") is None:
        return
    allowed = {True: BufferStrategy.DOUBLE, False: BufferStrategy.SINGLE}.get(bool(values["enable_double_buffer"]))
    if allowed and strategy not in (None, BufferStrategy.AUTO, allowed):
        raise UserError(
            "option-conflict",
            None,
            first=f"enable_double_buffer={values['enable_double_buffer']}",
            second=f"BufferStrategy.{strategy.name}",
            why="they ask for different numbers of slots",
        )


def _dependencies(values: Mapping[str, Any]) -> tuple[AnyDependency, ...]:
    barrier = values.get("barrier", ())
    barriers = tuple(barrier) if isinstance(barrier, (list, tuple)) else (barrier,)
    if values.get("dependency") is not None:
        return (values["dependency"], *barriers)
    graph = values.get("dependency_graph")
    return (*(graph.dependencies if graph is not None else ()), *barriers)
