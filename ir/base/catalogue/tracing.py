"""Mistakes in the body of a tile function."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {}
