"""Mistakes in lists and graphs of stages."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "alias-views": Entry(
        "arguments {first!r} and {second!r} of {kernel!r} are the same memory, but its tiles see them cut differently",
        "pass a copy of one of them",
    ),
    "argument-shape-fixed": Entry(
        "argument {parameter!r} is {given}, and the kernel was compiled for {written}",
        "pass an array of that dtype and shape",
    ),
    "ambiguous-link": Entry(
        "stage {stage!r} reads {parameter!r}, which more than one earlier stage writes: {producers}",
        "say which one with pypto.Dependency(src_op=, dst_op=, src_buffer=, dst_buffer=)",
    ),
    "consumer-overwrites": Entry(
        "the link {link} ends in parameter {parameter!r}, which stage {stage!r} overwrites without reading it",
        "link a parameter that {stage!r} reads",
    ),
    "dependency-cycle": Entry("the stages depend on each other in a circle: {cycle}", "remove one of these links"),
    "duplicate-stage": Entry("two stages are called {stage!r}", "give each a name of its own: `@pypto.tile(name=...)`"),
    "empty-graph": Entry("there is no stage to compile", "pass at least one tile function"),
    "link-needs-buffer": Entry(
        "the link from {source!r} to {destination!r} does not say {which}: {why}",
        "give {which}= the name of a parameter",
    ),
    "link-shape": Entry(
        "the link {link} does not fit: {source!r} gives {given}, {destination!r} takes {taken}",
        "make the tile shape and tile_num of both stages equal",
    ),
    "link-shape-unknown": Entry(
        "the link {link} has no shape: stage {stage!r} asks for its block id, so its decorator must give the shape of "
        "one item",
        "write `@pypto.tile(shape=(...), tile_num=...)` over {stage!r}",
    ),
    "linked-twice": Entry(
        "parameter {parameter!r} of stage {stage!r} is linked twice: {first} and {second}", "keep one of the two links"
    ),
    "not-a-stage": Entry(
        "node {node!r} of the graph has no tile function", "add it as graph.add_node(name, stage=tile_function)"
    ),
    "not-an-output": Entry(
        "stage {stage!r} never writes its parameter {parameter!r}, so nothing can be linked from it", "{hint}"
    ),
    "output-twice": Entry(
        "stages {first!r} and {second!r} both write an unlinked parameter {parameter!r}: the first result "
        "would be lost",
        "link them with pypto.Dependency, or give the parameters different names",
    ),
    "unknown-stage-parameter": Entry("stage {stage!r} has no parameter called {parameter!r}", "{hint}"),
    "unknown-stage": Entry("the link {link} names a stage {stage!r} that is not in the list", "{hint}"),
    "unlinked-stage": Entry(
        "stage {stage!r} shares no parameter with the stages before it: nothing links them by name",
        "link it with pypto.Dependency(src_op=, dst_op=, src_buffer=, dst_buffer=) in TileConfig(dependency=...), or "
        "use equal names",
    ),
}
