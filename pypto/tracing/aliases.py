"""Aliases that a loop's carried state cannot express, so that changing one side in place is an error and never a
wrong value.

A name re-bound in a loop's body carries a value of its own. Where Python would leave it sharing elements with
another tile (``c = b`` in the body), a later change in place would have to be seen on both sides. Such pairs are
remembered while the re-bound name's tile lives.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pypto.tracing.storage import Cell, Storage
from pypto.tracing.tiles import Tile


def root(storage: Storage) -> Storage:
    """Return the storage that holds the elements which a view shows."""
    parent: Tile | None = getattr(storage, "parent", None)
    while parent is not None:
        storage = parent.storage
        parent = getattr(storage, "parent", None)
    return storage


def is_private(storage: Storage) -> bool:
    """Return whether only tiles show a storage: not a parameter, which its array shows as well."""
    return isinstance(storage, Cell)


class Shared:
    """The pairs that are alive: by storage, which tiles show its elements without knowing, and of which storages
    they are.
    """

    def __init__(self) -> None:
        self._pairs: dict[int, list[tuple[Storage, weakref.ref[Tile] | None, str]]] = {}
        self._partners: dict[int, list[tuple[Storage, Storage]]] = {}

    def add(self, storage: Storage, tile: Tile | None, name: str) -> None:
        """Remember that `tile` (None: something that always lives) shows the elements of `storage`."""
        pair = (storage, None if tile is None else weakref.ref(tile), name)
        self._pairs.setdefault(id(storage), []).append(pair)

    def pair(self, one: Storage, other: Storage) -> None:
        """Remember that two storages hold what Python has once."""
        self._partners.setdefault(id(one), []).append((one, other))
        self._partners.setdefault(id(other), []).append((other, one))

    def partners(self, storage: Storage) -> list[Storage]:
        """Return the storages that hold the same elements, `storage` first."""
        found = [storage]
        for known in found:
            for _, other in self._partners.get(id(known), ()):
                if all(other is not item for item in found):
                    found.append(other)
        return found

    def conflict(self, storage: Storage) -> str | None:
        """Return the name that shares elements with `storage`, if one still does."""
        for _, reference, name in self._pairs.get(id(storage), ()):
            if reference is None or reference() is not None:
                return name
        return None


@dataclass(slots=True)
class Sharing:
    """Who shares elements with whom after a turn of a loop, found after its first run."""

    twins: list[tuple[str, str]] = field(default_factory=list)
    outer: list[tuple[str, Storage]] = field(default_factory=list)

    def apply(self, own: Mapping[str, Tile], shared: Shared) -> None:
        """Remember the pairs for the tiles that the re-bound names hold now."""
        for name, twin in self.twins:
            shared.add(own[name].storage, own[twin], name)
            shared.pair(own[name].storage, own[twin].storage)
        for name, storage in self.outer:
            shared.add(storage, own[name], name)
            shared.add(own[name].storage, None, name)
            shared.pair(own[name].storage, storage)


def sharing_after_a_turn(
    before: Mapping[str, Any], after: Mapping[str, Any], rebound: list[str], first_key: int, shared: Shared
) -> Sharing:
    """Return what each re-bound name shares at the end of a turn; storages made before the loop are older than
    `first_key`.
    """
    found = Sharing()
    roots = {name: root(after[name].storage) for name in rebound}
    for name, own in roots.items():
        for storage in shared.partners(own):
            found.twins += [(name, other) for other in rebound if other != name and roots[other] is storage]
            is_outer = storage.birth < first_key or not is_private(storage)
            if is_outer and not _handed_over(storage, before, rebound):
                found.outer.append((name, storage))
    return found


def _handed_over(storage: Storage, before: Mapping[str, Any], rebound: list[str]) -> bool:
    """Return whether `storage` was that of re-bound names only, as in ``p, q = q, p``."""
    holders = shown_by(storage, before)
    return bool(holders) and is_private(storage) and all(name in rebound for name in holders)


def shown_by(storage: Storage, names: Mapping[str, Any]) -> list[str]:
    """Return the names whose tiles show `storage`."""
    return [name for name, value in names.items() if isinstance(value, Tile) and root(value.storage) is storage]
