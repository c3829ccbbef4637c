"""Mistakes in arguments of a launch."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {}
