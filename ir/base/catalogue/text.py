"""Mistakes in a .pto file."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {}
