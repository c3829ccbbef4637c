"""The two levels of a hierarchical tiling."""

from __future__ import annotations

from enum import Enum


class TilingLevel(Enum):
    """COARSE tiles are dispatched to cores; FINE tiles run inside a coarse one."""

    COARSE = "coarse"
    FINE = "fine"
