"""`constraint_memory` of a search space: names of memories, sizes with units."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pypto.ir.base.errors import UserError, nearest

MEMORIES = ("GM_per_tile", "L0A", "L0B", "L0C", "L1", "L2", "L3", "UB")
"""GM_per_tile limits what one tile moves from and to global memory, the others what a tile works on at a time."""

_UNITS = {"": 1, "B": 1}
for _power, _prefix in enumerate("KMGT", 1):
    # Sizes of memories are powers of two, also where documents of the hardware write KB for KiB.
    _UNITS.update(dict.fromkeys((_prefix, f"{_prefix}B", f"{_prefix}IB"), 1024**_power))


def bytes_of(memory: str, value: object) -> int:
    """Return a size in bytes: a number of bytes, or a text with a unit (``"16KB"`` and ``"16KiB"`` are 16384 bytes).

    Raises UserError ``memory-size``.
    """
    size = -1.0
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        size = float(value)
    elif isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        if found is not None and found[2].upper() in _UNITS:
            size = float(found[1]) * _UNITS[found[2].upper()]
    if not 1 <= size < 2**63:
        raise UserError("memory-size", None, memory=memory, value=value)
    return int(size)


def read_limits(limits: Mapping[str, object] | None) -> dict[str, int]:
    """Return the limits in bytes by name of the memory; raises UserError ``memory-name`` or ``memory-size``."""
    if limits is not None and not isinstance(limits, Mapping):
        wants = 'a dict such as {"UB": "64KB"}'
        raise UserError(
            "option-value", None, what="TilingSearchSpace", option="constraint_memory", value=limits, wants=wants
        )
    known = {name.lower(): name for name in MEMORIES}
    result = {}
    for memory, value in (limits or {}).items():
        name = known.get(str(memory).lower())
        if name is None:
            raise UserError("memory-name", None, memory=memory, hint=nearest(str(memory), MEMORIES))
        result[name] = bytes_of(name, value)
    return result
