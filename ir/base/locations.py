"""Source locations: where a traced value, an IR statement or an error comes from."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source text. Lines and columns count from 1; column 0 means "the whole line"."""

    file: str
    line: int
    column: int = 0
    end_column: int = 0
    text: str | None = field(default=None, compare=False, repr=False)
    """The line itself, for a source that is in no file."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"

    def source_line(self) -> str | None:
        """Return the text of the line, or None when the source cannot be read (``exec``, old REPLs)."""
        if self.text is not None:
            return self.text
        text = linecache.getline(self.file, self.line).rstrip("\n")
        return text or None


UNKNOWN = Location("<unknown>", 0)
