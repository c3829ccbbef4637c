"""Every mistake a user can make: its message and what to write instead.

One entry per mistake, grouped by where it is found. `tests/errors/` has a test of text and place for each; a test
walks this table, so an entry without a test cannot be merged.
"""

from __future__ import annotations

from pypto.ir.base.catalogue import (
    arguments,
    binding,
    checks,
    graph,
    host_model,
    indexing,
    lowering,
    meaning,
    operations,
    options,
    search,
    text,
    tracing,
    tuning,
)
from pypto.ir.base.catalogue.entry import Entry

_GROUPS = (
    arguments,
    binding,
    checks,
    graph,
    host_model,
    indexing,
    lowering,
    meaning,
    operations,
    options,
    search,
    text,
    tracing,
    tuning,
)

CATALOGUE: dict[str, Entry] = {name: entry for group in _GROUPS for name, entry in group.ENTRIES.items()}

__all__ = ["CATALOGUE", "Entry"]
