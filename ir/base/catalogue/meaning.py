"""Mistakes in decorators, and decorators against arguments."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "batch-extent": Entry(
        "axis {axis} of {parameter} is a batch axis of extent {extent}, another argument has {expected} there",
        "the axes before the last {rank} are a batch (shape= has {rank} axes): give arguments the same extents or 1",
    ),
    "batch-output": Entry(
        "output {parameter} has {rank} axes, but there are {batch} batch axes before the {shape_rank} of shape=: "
        "every batch item would write the same elements",
        "give {parameter} at least the {batch} batch axes, or name the axes in shape= as well",
    ),
    "block-bounds": Entry(
        "block {block} reaches elements {first} to {last} of axis {axis} of {array}, which has {extent}",
        "use fewer blocks, smaller slices, or `pypto.block(x, offset, shape)`, which clips at the edge",
    ),
    "block-count": Entry(
        "{function} asks for its block id, but its decorator does not say how many blocks there are",
        "write `@tile(shape=..., tile_num=N)` with the number of blocks",
    ),
    "block-overlap": Entry(
        "blocks {other} and {block} write the same elements of {array}: {other_region} and {region}",
        "make the written regions disjoint: blocks run in any order",
    ),
    "block-race": Entry(
        "block {block} reads {array}{region}, and block {other} writes {other_region} of it: blocks run in any order",
        "write to another array, or split the kernel into two stages",
    ),
    "cut-bound-axis": Entry(
        "shape= cuts axis {axis} of {parameter} ({extent} elements into tiles of {tile}), but {because}; "
        "one body per tile would need {arithmetic} full tiles and tile_num is {tile_num}",
        "write shape={whole} to work on the whole axis, or {advice} to apply the body to each tile alone",
    ),
    "no-anchor": Entry(
        "shape={shape} of {function} has {rank} axes, but no argument has that many",
        "give shape= one extent per axis of the largest output, or leave it out",
    ),
    "not-a-function": Entry("@tile marks a Python function, not {what}", "write `@tile` above a `def`"),
    "not-a-tile-function": Entry("{what} is not a tile function", "mark it with `@tile` first"),
    "tile-double": Entry(
        "axis {axis} of {parameter} goes with anchor axis {anchor_axis}, which another of its axes goes with already: "
        "one tile of it is not a block",
        "copy the argument along one of the axes, or leave out shape= so that the body sees whole arguments",
    ),
    "tile-number": Entry(
        "tile_num={tile_num!r} is not a positive number of tiles", "write a whole number of at least 1"
    ),
    "tile-output": Entry(
        "output {parameter} of shape {shape} has no axis for the {count} tiles along axis {axis}: "
        "all of them would write the same elements",
        "give it the whole extent, or extent {count} for one element per tile",
    ),
    "tile-shape": Entry(
        "shape={shape} has {extent!r}, which is no extent", "use positive whole numbers, or None for a whole axis"
    ),
    "tile-view": Entry(
        "axis {axis} of {parameter} has {extent} elements; for tiles of {tile} of {whole} it can have {whole} (cut), "
        "{tile} or 1 (shared by all tiles) or {count} (one element per tile)",
        "change the argument's shape to one of these",
    ),
    "unknown-output": Entry("outputs= names {output!r}, which is no parameter", "{hint}"),
    "variable-parameters": Entry(
        "a tile function cannot take {parameter}: the number of its arguments is part of the kernel",
        "name each parameter",
    ),
}
