"""The two kinds of failure: a user's mistake, and a fault of the compiler.

A `UserError` always has an entry in the catalogue (`catalogue.py`), which holds its text and its help; the code that
detects the mistake only supplies the numbers. Everything else that goes wrong is a `CompilerBug`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pypto.ir.base.catalogue import CATALOGUE
from pypto.ir.base.locations import Location


class UserError(Exception):
    """A mistake in a kernel, a call or an option, reported as ``file:line:col: error[name]: what`` with help.

    Attributes: ``name`` (catalogue key), ``message``, ``help``, ``location`` (or None), ``details`` (the numbers).
    """

    def __init__(self, name: str, location: Location | None = None, /, **details: object) -> None:
        entry = CATALOGUE[name]
        self.name = name
        self.location = location
        self.details = details
        self.message = entry.message.format(**details)
        self.help = entry.help.format(**details)
        super().__init__(self.render())

    def render(self) -> str:
        """Return the whole report: place, message, source line with a caret, help."""
        head = f"error[{self.name}]: {self.message}"
        lines = [f"{self.location}: {head}" if self.location else head]
        lines += _excerpt(self.location)
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.name, self.location, self.details)


def _rebuild(name: str, location: Location | None, details: dict[str, object]) -> UserError:
    return UserError(name, location, **details)


def _excerpt(location: Location | None) -> list[str]:
    text = location.source_line() if location else None
    if location is None or text is None:
        return []
    shown = [f"    {text}"]
    if location.column:
        width = max(1, location.end_column - location.column)
        padding = "".join("\t" if character == "\t" else " " for character in text[: location.column - 1])
        shown.append(f"    {padding}{'^' * width}")
    return shown


class CompilerBug(Exception):
    """A fault of the compiler, never of the user: names the stage and, when known, where the IR was dumped."""

    def __init__(self, stage: str, what: str, dump: str | None = None) -> None:
        self.stage, self.what, self.dump = stage, what, dump
        where = f"; the IR was written to {dump}" if dump else ""
        super().__init__(f"compiler bug in {stage}: {what}{where}. Please report it with the kernel.")


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a phrase that names the valid word nearest to `name`, or lists all of them when none is near."""
    words = sorted(valid)
    near = difflib.get_close_matches(name, words, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"valid names: {', '.join(words)}"
