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
    "barrier-deadlock": Entry(
        "the stages wait for each other in a circle: {cycle}",
        "remove one of these barriers, or list its participants in the order in which they run",
    ),
    "barrier-ids": Entry(
        "{count} barriers are open in phase {phase}, and cores have {limit} flags to order each other",
        "join barriers into one: a pypto.Barrier takes a list of stages as before=",
    ),
    "barrier-timeout": Entry(
        "{barrier}: a tile waits {wait} us in the model of time, and timeout_us is {timeout}",
        "give a longer timeout_us, more even tiles, or sync_mode=SYNC_MODE.NON_BLOCKING",
    ),
    "consumer-overwrites": Entry(
        "the link {link} ends in parameter {parameter!r}, which stage {stage!r} overwrites without reading it",
        "link a parameter that {stage!r} reads",
    ),
    "dependency-cycle": Entry("the stages depend on each other in a circle: {cycle}", "remove one of these links"),
    "duplicate-stage": Entry("two stages are called {stage!r}", "give each a name of its own: `@pypto.tile(name=...)`"),
    "empty-graph": Entry("there is no stage to compile", "pass at least one tile function"),
    "ambiguous-stage": Entry(
        "several tile functions are called {stage!r}: {places}",
        "pass the stages: `pypto.DependencyGraph(stages=[...])`, or `pypto.compile([...], config=...)`",
    ),
    "gather-counts": Entry(
        "{link}: the producers have different numbers of tiles: {counts}", "give all producers the same tile_num"
    ),
    "gather-dtype": Entry(
        "parameter {parameter!r} of stage {stage!r} gathers {dtype} values by {reduction!r}",
        "cast them to a float dtype in the producers, or use 'max', 'min' or 'concat'",
    ),
    "gather-repeats": Entry("{link} lists stage {stage!r} twice", "list every producer once"),
    "join-types": Entry(
        "parameter {parameter!r} of stage {stage!r} is put together from {first}, which is {first_type}, and {second}, "
        "which is {second_type}",
        "make dtypes and tile shapes of the producers equal (a concat needs equal extents but for axis 0)",
    ),
    "link-fresh-partial": Entry(
        "the first write to {parameter!r} of stage {stage!r} covers a part of it; it is linked to other stages, so its "
        "shape follows from what {stage!r} writes",
        "write all of it first (`{parameter}[:] = pypto.full(shape, 0.0)`), or read it first to make it an argument "
        "too (`{parameter}[:] = {parameter} * 1.0`)",
    ),
    "link-fresh-read": Entry(
        "stage {stage!r} reads {parameter!r} before it writes it; it is linked to other stages, and the code does not "
        "show that what it held before has to be an argument",
        "read it in the first statement that uses it, outside of branches and helpers (`{parameter}[:] = {parameter} "
        "+ ...`), or link another stage to {parameter!r}",
    ),
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
    "link-tiles": Entry(
        "parameter {parameter!r} of stage {stage!r} is {array}, which is not {count} full tiles of {shape}: single "
        "tiles of it cannot be told apart",
        "give the decorator the shape of one tile and the number of tiles, so that their product is the array",
    ),
    "linked-twice": Entry(
        "parameter {parameter!r} of stage {stage!r} is linked twice: {first} and {second}", "keep one of the two links"
    ),
    "mapping-raised": Entry(
        "{link}: the mapping raises {error} when it is called with tile {tile} of {destination!r}",
        "give a callable that takes the destination's tile number and returns one of the source tiles {first}..{last}",
    ),
    "mapping-syntax": Entry(
        "mapping is {mapping!r}: {why}",
        "write 'tile_idx', an expression of tile_idx, src_tile_num, dst_tile_num and numbers with + - * // % min max, "
        "such as 'tile_idx // 2', or a callable from the destination's tile number to the source's",
    ),
    "mapping-value": Entry(
        "{link}: the mapping gives {value!r} for tile {tile} of {destination!r}, which is none of the tiles "
        "{first}..{last} of {source!r}",
        "the mapping takes the destination's tile number and gives the number of the source tile that it reads",
    ),
    "no-coarse-tiles": Entry(
        "none of the tile functions is coarse",
        "write `@pypto.tile(level=TilingLevel.COARSE, ...)`, or pypto.HierarchicalTiling(coarse=[...])",
    ),
    "no-tile-graph": Entry(
        "{kernel!r} was read from PTO IR and has no tile graph",
        "pass a pypto.DependencyGraph, a list of tile functions or a networkx graph",
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
    "pick-shapes": Entry(
        "parameter {parameter!r} of stage {stage!r} takes tiles of different shapes: {shapes}",
        "make the tile shapes of the producers equal",
    ),
    "tile-counts": Entry(
        "{link}: {source!r} gives {source_count} tiles and {destination!r} takes {count}, and nothing says which goes "
        "where",
        "give both the same tile_num, or mapping= from the destination's tile number to the source's, such as "
        "'tile_idx // 2'; pypto.GatherDep combines all tiles into one",
    ),
    "tile-outside": Entry(
        "{link} names tiles {tiles} of {stage!r}, which has {count}: 0..{last}",
        "give tile numbers from 0 to {last}; both ends of a range count",
    ),
    "tiles-uncovered": Entry(
        "tiles {tiles} of parameter {parameter!r} of stage {stage!r} are linked to nothing, other tiles of it are",
        "add a pypto.Dependency for these tiles (dst_tile_idx=)",
    ),
    "tiling-levels": Entry(
        "{stage!r} runs inside a coarse tile or is one, and calls {callee!r}, which is coarse",
        "make {callee!r} TilingLevel.FINE, or leave its level out",
    ),
    "unknown-stage-parameter": Entry("stage {stage!r} has no parameter called {parameter!r}", "{hint}"),
    "unknown-stage": Entry("the link {link} names a stage {stage!r} that is not in the list", "{hint}"),
    "unlinked-stage": Entry(
        "stage {stage!r} shares no parameter with the stages before it: nothing links them by name",
        "link it with pypto.Dependency(src_op=, dst_op=, src_buffer=, dst_buffer=) in TileConfig(dependency=...), or "
        "use equal names",
    ),
}
