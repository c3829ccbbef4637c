"""Mistakes in what the passes and the AscendC emitter cannot do."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {}
