"""Reading a chip's description into typed records."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from importlib import resources
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of the hardware: value, unit and where it was published."""

    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Target:
    """A chip: quantities by group (``cores``, ``memory``, ``bandwidth``) and name."""

    name: str
    architecture: str
    groups: dict[str, dict[str, Quantity]]

    def quantity(self, group: str, name: str) -> Quantity:
        """Return a quantity; raises KeyError for one that the file does not have."""
        return self.groups[group][name]

    def number(self, group: str, name: str) -> int:
        """Return the value of a quantity that counts something."""
        return int(self.quantity(group, name).value)


@functools.cache
def load_target(name: str) -> Target:
    """Return the description in ``codegen/targets/<name>.toml``; raises FileNotFoundError for an unknown chip."""
    text = resources.files("pypto.codegen.targets").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    data: dict[str, Any] = tomllib.loads(text)
    groups = {
        group: {key: Quantity(**item) for key, item in content.items()}
        for group, content in data.items()
        if isinstance(content, dict)
    }
    return Target(data["name"], data["architecture"], groups)
