"""Every mistake a user can make: its message and what to write instead, as `str.format` templates.

One entry per mistake, in alphabetical order within its group. `tests/errors/` has a test of text and place for each;
a test walks this table, so an entry without a test cannot be merged.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """Message and help of one mistake."""

    message: str
    help: str


CATALOGUE: dict[str, Entry] = {}
