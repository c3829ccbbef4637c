"""Hierarchical tiling: coarse tiles that are dispatched to cores and run fine ones.

A tile function under ``tile(level=TilingLevel.COARSE)`` calls functions under ``tile(level=TilingLevel.FINE)``: that is
what it means, with or without a `Scheduler`. The scheduler says how cores share the tiles, and prints it.
"""

from __future__ import annotations

import dis
import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.caller import PLACED_AT_CALLER
from pypto.code_objects import nested_codes
from pypto.codegen.targets.target import load_target
from pypto.dependencies import check_unknown, option_value
from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Attribute
from pypto.tile_function import TileFunction
from pypto.tile_plan import CHIP
from pypto.tiling_level import TilingLevel


class HierarchicalTiling:
    """Which tile functions are coarse and which are fine.

    coarse, fine: tile functions of each level besides those whose decorator says so. Raises UserError ``option-value``.
    """

    def __init__(self, coarse: Sequence[TileFunction] = (), fine: Sequence[TileFunction] = ()) -> None:
        with PLACED_AT_CALLER:
            self.coarse, self.fine = _functions("coarse", coarse), _functions("fine", fine)
            both = [stage for stage in self.fine if any(stage is item for item in self.coarse)]
            if both:
                wants = "tile functions that are not coarse too"
                raise option_value("HierarchicalTiling", "fine", both[0].name, wants)

    def level(self, stage: TileFunction) -> TilingLevel | None:
        """Return the level of a stage, None when nothing gives it one."""
        if any(stage is item for item in self.coarse):
            return TilingLevel.COARSE
        return TilingLevel.FINE if any(stage is item for item in self.fine) else stage.level

    def __repr__(self) -> str:
        names = [f"{key}=[{', '.join(item.name for item in getattr(self, key))}]" for key in ("coarse", "fine")]
        return f"HierarchicalTiling({', '.join(names)})"


def _functions(key: str, stages: object) -> tuple[TileFunction, ...]:
    listed = stages if isinstance(stages, (list, tuple)) else (stages,)
    for stage in listed:
        if not isinstance(stage, TileFunction):
            raise option_value("HierarchicalTiling", key, stage, "a list of tile functions")
    return tuple(listed)


@dataclass(frozen=True, slots=True)
class FineTiles:
    """The fine tiles that one coarse tile runs: of which stage, how many, and how many cores share them."""

    name: str
    count: int
    shape: tuple[int | None, ...] | None
    cores: int


@dataclass(frozen=True, slots=True)
class CoarseTiles:
    """The tiles of one coarse stage, the cores that they are dispatched to, and what each runs."""

    name: str
    count: int
    shape: tuple[int | None, ...] | None
    cores: int
    pipelined: bool
    fine: tuple[FineTiles, ...]


@dataclass(frozen=True, slots=True)
class HierarchicalPlan:
    """How cores share coarse and fine tiles; `str` prints it."""

    coarse: tuple[CoarseTiles, ...]

    @property
    def dispatches(self) -> int:
        """The number of coarse tiles: what is handed to cores."""
        return sum(item.count for item in self.coarse)

    @property
    def fine_tiles(self) -> int:
        return sum(item.count * fine.count for item in self.coarse for fine in item.fine)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for item in self.coarse:
            how = "copies overlap computing" if item.pipelined else "one after another"
            yield f"{item.name}: {item.count} coarse tiles{_of(item.shape)} on {item.cores} cores, {how}"
            for fine in item.fine:
                shared = f"shared by {fine.cores} cores" if fine.cores > 1 else "in turn on its core"
                yield f"  {fine.name}: {fine.count} fine tiles{_of(fine.shape)} in each, {shared}"
        if self.fine_tiles:
            share = self.dispatches / self.fine_tiles
            yield f"{self.dispatches} dispatches for {self.fine_tiles} fine tiles ({share:.1%})"


def _of(shape: tuple[int | None, ...] | None) -> str:
    return "" if shape is None else f" of {shape}"


class Scheduler:
    """How cores share the tiles of a hierarchical tiling; also a config of `compile`.

    tiling_strategy: a `HierarchicalTiling`. enable_coarse_grain_pipeline: copies of a coarse tile overlap the computing
    of the one before. enable_fine_grain_parallel: cores that no coarse tile needs share the fine tiles; without, each
    coarse tile runs them in turn on its core. It never changes results. Raises UserError ``unknown-option`` or
    ``option-value``.
    """

    def __init__(
        self,
        tiling_strategy: HierarchicalTiling,
        enable_coarse_grain_pipeline: bool = True,
        enable_fine_grain_parallel: bool = True,
        **unknown: object,
    ) -> None:
        with PLACED_AT_CALLER:
            keys = ("tiling_strategy", "enable_coarse_grain_pipeline", "enable_fine_grain_parallel")
            check_unknown("Scheduler", unknown, keys)
            if not isinstance(tiling_strategy, HierarchicalTiling):
                raise option_value("Scheduler", keys[0], tiling_strategy, "a pypto.HierarchicalTiling")
            for key, value in zip(keys[1:], (enable_coarse_grain_pipeline, enable_fine_grain_parallel), strict=True):
                if not isinstance(value, bool):
                    raise option_value("Scheduler", key, value, "True or False")
        self.tiling_strategy = tiling_strategy
        self.enable_coarse_grain_pipeline = enable_coarse_grain_pipeline
        self.enable_fine_grain_parallel = enable_fine_grain_parallel

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"Scheduler({shown})"

    def plan(self, what: Any, cores: int | None = None) -> HierarchicalPlan:
        """Return how at most `cores` cores (default: all of the chip) share the tiles of a tile function, or of a list.

        Raises UserError ``no-coarse-tiles``, ``tiling-levels`` or ``option-value``.
        """
        with PLACED_AT_CALLER:
            stages = what if isinstance(what, (list, tuple)) else [what]
            for stage in stages:
                if not isinstance(stage, TileFunction):
                    raise option_value("Scheduler.plan", "what", stage, "a tile function or a list of them")
            if cores is not None and (isinstance(cores, bool) or not isinstance(cores, int) or cores < 1):
                raise option_value("Scheduler.plan", "cores", cores, "a positive whole number")
            return self.plan_stages(stages, cores)

    def plan_stages(self, stages: Sequence[TileFunction], cores: int | None) -> HierarchicalPlan:
        """Return the plan of checked stages."""
        strategy = self.tiling_strategy
        coarse = [stage for stage in stages if strategy.level(stage) is TilingLevel.COARSE]
        if not coarse:
            raise UserError("no-coarse-tiles", stages[0].location if stages else None)
        available = cores or load_target(CHIP).number("cores", "vector")
        return HierarchicalPlan(tuple(self._coarse(stage, available) for stage in coarse))

    def choices(self, stage: TileFunction, meaning: str, cores: int | None) -> dict[str, Attribute]:
        """Return what the plan of a stage asks of its kernel's schedule: nothing where it is no coarse one.

        Tiles of a kernel of whole arrays are fine ones: on all cores, or on as many as there are coarse tiles when
        these run theirs in turn.
        """
        if self.tiling_strategy.level(stage) is not TilingLevel.COARSE:
            return {}
        plan = self._coarse(stage, cores or load_target(CHIP).number("cores", "vector"))
        made: dict[str, Attribute] = {}
        if not self.enable_fine_grain_parallel:
            made["aicore_num"] = plan.cores
        shapes = {item.shape for item in plan.fine}
        shape = shapes.pop() if len(shapes) == 1 else None
        if meaning == "whole" and shape is not None and stage.shape is not None and len(shape) == len(stage.shape):
            made |= {"tile_shape": shape, "tile_num": None}
        return made

    def _coarse(self, stage: TileFunction, cores: int) -> CoarseTiles:
        count = stage.tile_num or 1
        share = max(1, cores // count) if self.enable_fine_grain_parallel else 1
        fine = tuple(self._fine(stage, callee, share) for callee in self._callees(stage))
        return CoarseTiles(stage.name, count, stage.shape, min(count, cores), self.enable_coarse_grain_pipeline, fine)

    def _fine(self, stage: TileFunction, callee: TileFunction, share: int) -> FineTiles:
        count = callee.tile_num or _covering(stage.shape, callee.shape)
        return FineTiles(callee.name, count, callee.shape, min(share, count))

    def _callees(self, stage: TileFunction) -> list[TileFunction]:
        """Return the fine tile functions that a coarse one calls; raises UserError ``tiling-levels``."""
        fine: dict[TileFunction, None] = {}
        for callee in _called(stage):
            level = self.tiling_strategy.level(callee)
            if level is TilingLevel.COARSE:
                raise UserError("tiling-levels", stage.location, stage=stage.name, callee=callee.name)
            if level is TilingLevel.FINE:
                fine[callee] = None
                wrong = [item for item in _called(callee) if self.tiling_strategy.level(item) is TilingLevel.COARSE]
                if wrong:
                    raise UserError("tiling-levels", callee.location, stage=callee.name, callee=wrong[0].name)
        return list(fine)


def _covering(outer: tuple[int | None, ...] | None, inner: tuple[int | None, ...] | None) -> int:
    """Return how many tiles of shape `inner` cover one of shape `outer`; 1 where that is unknown."""
    if outer is None or inner is None or len(outer) != len(inner):
        return 1
    return math.prod(-(-whole // part) for whole, part in zip(outer, inner, strict=True) if whole and part)


def _called(stage: TileFunction) -> list[TileFunction]:
    """Return the tile functions that the code of a stage names, in order."""
    variables = inspect.getclosurevars(stage.original)
    known = {**variables.globals, **variables.nonlocals}
    instructions = [item for code in nested_codes(stage.original.__code__) for item in dis.get_instructions(code)]
    names = [item.argval for item in instructions if isinstance(item.argval, str)]
    found = [known[name] for name in dict.fromkeys(names) if name in known]
    return [item for item in found if isinstance(item, TileFunction)]
