"""The record of one mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """Message and help of one mistake, as `str.format` templates."""

    message: str
    help: str
