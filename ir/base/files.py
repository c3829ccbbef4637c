"""Writing text that a user asked for to files."""

from __future__ import annotations

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
