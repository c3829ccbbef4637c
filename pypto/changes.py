"""What each stage of lowering changed in a kernel's PTO IR."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from pypto.ir.nodes import Module
from pypto.ir.passes.manager import Timing
from pypto.ir.printer import print_module


@dataclass(frozen=True, slots=True)
class Change:
    """One stage that makes PTO IR: its time, what it was given (None for the first) and what it made.

    `source` is the stage that made `before`; `seconds` are of the stage alone, without printing.
    """

    stage: str
    seconds: float
    after: Module
    source: str = ""
    before: Module | None = None

    @property
    def changed(self) -> bool:
        """Whether the stage made anything else than it was given; the first one always did."""
        return self.before is None or self.before != self.after

    def diff(self, context: int = 3) -> tuple[str, ...]:
        """Return the lines of a unified diff of the two texts, with `context` lines around each change.

        A stage that changed nothing has none.
        """
        before = () if self.before is None else print_module(self.before).splitlines()
        after = print_module(self.after).splitlines()
        return tuple(
            difflib.unified_diff(before, after, self.source or "/dev/null", self.stage, lineterm="", n=context)
        )

    def __str__(self) -> str:
        title = f"{self.stage}: {self.seconds * 1e3:.2f} ms"
        return "\n".join((title, *self.diff())) if self.changed else f"{title} (unchanged)"

    def as_json(self) -> dict[str, Any]:
        """Return the change as plain data."""
        return {
            "stage": self.stage,
            "seconds": self.seconds,
            "level": self.after.level.value,
            "changed": self.changed,
            "diff": list(self.diff()),
        }


def changes(modules: dict[str, Module], timings: list[Timing]) -> tuple[Change, ...]:
    """Return the changes of the stages that made `modules`, in order."""
    seconds = {item.name: item.seconds for item in timings}
    found: list[Change] = []
    for stage, after in modules.items():
        last = found[-1] if found else None
        found.append(Change(stage, seconds[stage], after, last.stage if last else "", last.after if last else None))
    return tuple(found)
