"""Points where tiles wait for tiles without handing data on: `Barrier` and `BarrierConfig`."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pypto.caller import PLACED_AT_CALLER, called_at
from pypto.dependencies import check_unknown, functions_among, option_value, stage_name
from pypto.ir.base.errors import UserError, nearest
from pypto.tile_indices import WANTS_RANGE, Mapping, TileRange, read_mapping, read_range, show_range


class SYNC_MODE(Enum):  # noqa: N801  # the public name of the articles
    """BLOCKING: tiles that arrive wait for the others. NON_BLOCKING: they go on; the tiles after the barrier wait."""

    BLOCKING = "blocking"
    NON_BLOCKING = "non_blocking"


@dataclass(frozen=True, slots=True)
class Group:
    """Tiles of one stage; None: all of them."""

    stage: str
    tiles: TileRange = None

    def __str__(self) -> str:
        return self.stage if self.tiles is None else f"{self.stage}[{show_range(self.tiles)}]"


class Barrier:
    """The tiles of `after` start when those of `before` have finished.

    before, after: a stage (name or tile function), a dict ``{"op": stage, "tile_range": tiles}``, or a list of these
    for `before`. With `mapping` (as in `Dependency`), tile i of `after` waits for tile ``mapping(i)`` of the only
    stage in `before`; without, for all tiles. Raises UserError ``unknown-option``, ``option-value`` or
    ``mapping-syntax``.
    """

    mode = SYNC_MODE.BLOCKING
    timeout_us: float | None = None

    def __init__(self, before: object, after: object, mapping: object = None, **unknown: object) -> None:
        with PLACED_AT_CALLER:
            check_unknown("Barrier", unknown, ("before", "after", "mapping"))
            self.location = called_at()
            self.functions = functions_among(before, after)
            listed = before if isinstance(before, (list, tuple)) else [before]
            if not listed:
                raise option_value("Barrier", "before", before, "at least one stage")
            self.before = tuple(_group("Barrier", "before", item) for item in listed)
            self.after = _group("Barrier", "after", after)
            self.mapping: Mapping | None = read_mapping(mapping)
            if mapping is not None and len(self.before) != 1:
                raise option_value("Barrier", "before", before, "one stage when mapping is given")

    def _key(self) -> tuple[object, ...]:
        return self.before, self.after, self.mapping, self.mode, self.timeout_us

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Barrier) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        how = "" if self.mapping is None else ", tile by tile"
        return f"Barrier({', '.join(map(str, self.before))} -> {self.after}{how})"


class BarrierConfig(Barrier):
    """A barrier between the stages that take part, in their order: all but the last arrive when their tiles have
    finished; the tiles of the last start when all have arrived.

    participants: dicts ``{"op": stage, "tile_range": (first, last)}``, both ends included, at least two. sync_mode:
    `SYNC_MODE`. enable_timeout, timeout_us: with a time-out, a tile graph whose model of time lets a tile wait longer
    than that many microseconds is an error. Raises UserError ``unknown-option`` or ``option-value``.
    """

    def __init__(
        self,
        participants: Sequence[Dict[str, Any]],
        sync_mode: SYNC_MODE = SYNC_MODE.BLOCKING,
        enable_timeout: bool = False,
        timeout_us: float | None = None,
        **unknown: object,
    ) -> None:
        with PLACED_AT_CALLER:
            check_unknown("BarrierConfig", unknown, _CONFIG_KEYS)
            if not isinstance(participants, (list, tuple)) or len(participants) < 2:
                wants = 'a list of at least two of {"op": stage, "tile_range": (first, last)}'
                raise option_value("BarrierConfig", "participants", participants, wants)
            if not isinstance(sync_mode, SYNC_MODE):
                wants = "SYNC_MODE.BLOCKING or SYNC_MODE.NON_BLOCKING"
                raise option_value("BarrierConfig", "sync_mode", sync_mode, wants)
            timeout = _timeout(enable_timeout, timeout_us)
            super().__init__(list(participants[:-1]), participants[-1])
        self.participants, self.mode, self.timeout_us = tuple(participants), sync_mode, timeout


_CONFIG_KEYS = ("participants", "sync_mode", "enable_timeout", "timeout_us")


def _timeout(enabled: object, timeout: object) -> float | None:
    if not isinstance(enabled, bool):
        raise option_value("BarrierConfig", "enable_timeout", enabled, "True or False")
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout > 0
    if not is_number and (timeout is not None or enabled):
        raise option_value("BarrierConfig", "timeout_us", timeout, "a positive number of microseconds")
    assert timeout is None or isinstance(timeout, (int, float))
    return float(timeout) if enabled and timeout is not None else None


def _group(what: str, key: str, value: object) -> Group:
    if not isinstance(value, Dict):
        return Group(stage_name(what, key, value))
    for option in value:
        if option not in ("op", "tile_range"):
            hint = nearest(str(option), ("op", "tile_range"))
            raise UserError("unknown-option", None, what=f"{what}.{key}", option=option, hint=hint)
    try:
        tiles = read_range(value.get("tile_range", "*"))
    except ValueError:
        raise option_value(what, "tile_range", value["tile_range"], WANTS_RANGE) from None
    return Group(stage_name(what, "op", value.get("op")), tiles)
