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


@dataclass(frozen=True, slots=True)
class Counters:
    """What was executed: bytes by path (as ``GM->UB``), instructions by name, cores that ran."""

    bytes: Mapping[str, int] = field(default_factory=dict)
    instructions: Mapping[str, int] = field(default_factory=dict)
    launches: int = 0
    cores: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """Outputs by parameter name (every array as it is after the run), what was found, what was counted."""

    outputs: Mapping[str, np.ndarray[Any, Any]]
    findings: tuple[Finding, ...]
    counters: Counters
    printed: str = ""

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return findings and counters as plain data."""
        found = [{name: getattr(item, name) for name in Finding.__slots__} for item in self.findings]
        counted = {name: getattr(self.counters, name) for name in Counters.__slots__}
        return {"findings": found, "counters": counted, "printed": self.printed}


def read_report(text: str) -> tuple[tuple[Finding, ...], Counters]:
    """Read the JSON that a program of the model writes."""
    data = json.loads(text)
    found = tuple(Finding(**item) for item in data["findings"])
    counted = Counters(data["bytes"], data["instructions"], data["launches"], data["cores"])
    return found, counted
