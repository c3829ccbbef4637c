"""Names in emitted source: no user's name can clash with a C++ or AscendC one, and no text can leave its comment."""

from __future__ import annotations

import re
from pathlib import PurePath

from pypto.ir.base.locations import UNKNOWN, Location

LONGEST_NAME = 40
LONGEST_COMMENT = 100


def identifier(prefix: str, number: int, name: str) -> str:
    """Return ``prefix<number>_<name>`` with `name` reduced to ASCII letters, digits and single underscores.

    Prefix and number make it unique and no reserved word; the rest is only for the reader.
    """
    clean = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:LONGEST_NAME].rstrip("_")
    return f"{prefix}{number}_{clean}" if clean else f"{prefix}{number}"


def comment(text: str) -> str:
    """Return `text` on one line of printable ASCII that cannot continue into the next line or end a comment."""
    shown = "".join(character if " " <= character <= "~" else "?" for character in text)
    shown = shown.replace("\\", "/").replace("??", "? ?").replace("*/", "* /").replace("/*", "/ *")
    return shown[:LONGEST_COMMENT].rstrip()


def place(location: Location) -> str:
    """Return the file name, line and text of a source location for a comment; nothing for an unknown one."""
    if location == UNKNOWN:
        return ""
    source = (location.source_line() or "").strip()
    return comment(f"{PurePath(location.file).name}:{location.line}  {source}")
