"""Mistakes in what tuning is asked to search, and in how many candidates it may try."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "memory-name": Entry(
        "constraint_memory has no memory called {memory!r}", "{hint}; GM_per_tile is what one tile moves"
    ),
    "memory-size": Entry(
        "constraint_memory: {memory} is {value!r}, which is no size",
        "give a positive number of bytes, or a text such as '16KB', '0.5MiB' or '1GB' (a KB is 1024 bytes)",
    ),
    "predicate-name": Entry(
        "a predicate of the search space asks for {name!r}, which is no axis of it",
        "{hint}; a predicate takes axes by name: lambda tile_m, tile_n: tile_m <= tile_n",
    ),
    "schedule-attribute": Entry("kernel {kernel!r} carries the attribute {name} = {value!r}", "{name} is {wants}"),
    "space-axis": Entry("nothing in {kernel!r} is called {axis!r}, an axis of the search space", "{hint}"),
    "space-empty": Entry("the search space of {kernel!r} has no candidates: {why}", "{advice}"),
    "space-rank": Entry(
        "{axis}={value!r} has {given} extents, and the largest output of {kernel!r} has {rank} axes",
        "give at most {rank} extents, the last ones first to match",
    ),
    "space-too-large": Entry(
        "no candidate of the search space of {kernel!r} can be built; the first: {candidate}: {reason}",
        "add smaller tiles, or allow more in constraint_memory",
    ),
    "space-value": Entry("search space: {axis} has the value {value!r}", "{axis} takes {wants}"),
    "top-k": Entry(
        "top_k is {value!r}", "give how many candidates are kept, or a fraction of them greater than 0 and at most 1"
    ),
    "topn-below-one": Entry("{setting} must be >= 1, got: {value}", "set {setting} to a number from 1 to {most}"),
    "topn-not-integer": Entry(
        "{setting} must be a positive integer, got: {value!r}", "set {setting} to a number from 1 to {most}"
    ),
}
