"""What a run on the host model says: findings with their lines, and counters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule, race or deadlock, at a line of the kernel's text; `other_line` is a race's earlier access."""

    rule: str
    message: str
    file: str
    line: int
    other_file: str = ""
    other_line: int = 0
    core: int = -1
    count: int = 1

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}: error[{self.rule}]: {self.message}"
        return text + (f"\n{self.other_file}:{self.other_line}: note: the other place" if self.other_line else "")


Place = tuple[str, int]
"""File and line."""


@dataclass(frozen=True, slots=True)
class Sync:
    """One call of a run that orders things: `name` as ``SetFlag``, its place, how often it ran on all cores.

    `partners` are the calls that the run showed to belong to it: the waits for what it sets, or the other way round.
    """

    name: str
    place: Place
    count: int
    partners: frozenset[Place] = frozenset()


@dataclass(frozen=True, slots=True)
class Counters:
    """What was executed: bytes by path (as ``GM->UB``), instructions by name, cores that ran."""

    bytes: Mapping[str, int] = field(default_factory=dict)
    instructions: Mapping[str, int] = field(default_factory=dict)
    launches: int = 0
    cores: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """Outputs by parameter name (every array as it is after the run), what was found, what was counted.

    `syncs` are there when the run was asked for them (`RunOptions.list_syncs`).
    """

    outputs: Mapping[str, np.ndarray[Any, Any]]
    findings: tuple[Finding, ...]
    counters: Counters
    printed: str = ""
    syncs: tuple[Sync, ...] = ()

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return findings and counters as plain data."""
        found = [{name: getattr(item, name) for name in Finding.__slots__} for item in self.findings]
        counted = {name: getattr(self.counters, name) for name in Counters.__slots__}
        return {"findings": found, "counters": counted, "printed": self.printed}


def read_report(text: str) -> tuple[tuple[Finding, ...], Counters, tuple[Sync, ...]]:
    """Read the JSON that a program of the model writes."""
    data = json.loads(text)
    found = tuple(Finding(**item) for item in data["findings"])
    counted = Counters(data["bytes"], data["instructions"], data["launches"], data["cores"])
    return found, counted, _syncs(data["syncs"], data["pairs"])


def _syncs(sites: list[tuple[str, str, int, int]], pairs: list[tuple[str, int, str, int]]) -> tuple[Sync, ...]:
    partners: dict[Place, set[Place]] = {}
    for file, line, other_file, other_line in pairs:
        partners.setdefault((file, line), set()).add((other_file, other_line))
        partners.setdefault((other_file, other_line), set()).add((file, line))
    return tuple(
        Sync(name, (file, line), count, frozenset(partners.get((file, line), ()))) for name, file, line, count in sites
    )


def sync_groups(syncs: tuple[Sync, ...]) -> tuple[tuple[Sync, ...], ...]:
    """Return the calls that have to be left out together: each barrier alone, each set with its waits.

    A flag around a loop is one group: the set before the loop, the wait and the set in it, the wait after it.
    """
    by_place = {item.place: item for item in syncs}
    groups: list[tuple[Sync, ...]] = []
    seen: set[Place] = set()
    for item in syncs:
        if item.place in seen:
            continue
        group, open_places = [], [item.place]
        while open_places:
            place = open_places.pop()
            if place not in seen:
                seen.add(place)
                group.append(by_place[place])
                open_places += by_place[place].partners
        groups.append(tuple(sorted(group, key=lambda one: one.place)))
    return tuple(groups)
