"""Writing text that a user asked for to files."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pypto.ir.base.errors import UserError


def write_text(path: Path, text: str) -> Path:
    """Write `text` and return `path`; folders are made. Raises UserError ``cannot-write``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError("cannot-write", None, path=str(path), why=error.strerror or str(error)) from None
    return path


_MARKS = {".pto": "#", ".ll": ";", ".cpp": "//"}
"""How a comment begins, by the ending of the file."""

_STAMP = re.compile(r"\A(.*)\n(?:#|;|//) as written: ([0-9a-f]{12})\s*\Z", re.DOTALL)


def write_stage(path: Path, text: str) -> Path:
    """Write the text of a stage and return `path`; its last line lets `is_as_written` see whether somebody edited it.

    Raises UserError ``cannot-write``.
    """
    text = text.rstrip()
    return write_text(path, f"{text}\n{_MARKS[path.suffix]} as written: {_digest(text)}\n")


def is_as_written(text: str) -> bool:
    """Return whether `text` is what `write_stage` wrote, unedited."""
    found = _STAMP.match(text)
    return found is not None and _digest(found[1]) == found[2]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
