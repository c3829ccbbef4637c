"""Mistakes in options and settings."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "setting-value": Entry(
        "{setting} is {value!r}, which is not of type {kind}", "set {setting} to a value of type {kind}"
    ),
    "unknown-setting": Entry("there is no setting called {setting!r}", "{hint}"),
}
