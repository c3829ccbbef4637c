"""Tile functions by name, for links that are compiled without a list of stages.

The registry keeps no function alive. A function defined again (same module, same qualified name) replaces the first.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from pypto.ir.base.errors import UserError, nearest

if TYPE_CHECKING:
    from pypto.tile_function import TileFunction

_Definitions = weakref.WeakValueDictionary[tuple[str, str], "TileFunction"]

_BY_NAME: dict[str, _Definitions] = {}
"""By name of the stage: its definitions by module and qualified name. The one table that lives as long as Python."""


def register(stage: TileFunction) -> None:
    """Let `find_stage` find `stage` under its name and under its function's name."""
    original = stage.original
    for name in {stage.name, original.__name__}:
        definitions = _BY_NAME.setdefault(name, weakref.WeakValueDictionary())
        definitions[original.__module__, original.__qualname__] = stage


def find_stage(name: str, link: str) -> TileFunction:
    """Return the tile function called `name`, one whose ``tile(name=)`` it is before one whose function it is.

    Raises UserError ``unknown-stage`` or ``ambiguous-stage``; `link` is the link that names it, for the message.
    """
    found = list(_BY_NAME.get(name, {}).values())
    found = [stage for stage in found if stage.name == name] or found
    if not found:
        names = [known for known, definitions in _BY_NAME.items() if len(definitions)]
        raise UserError("unknown-stage", None, link=link, stage=name, hint=nearest(name, names))
    if len(found) > 1:
        places = ", ".join(sorted(str(stage.location) for stage in found))
        raise UserError("ambiguous-stage", None, stage=name, places=places)
    return found[0]
