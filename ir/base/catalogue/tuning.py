"""Mistakes in what tuning and its cache are asked for."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "autotune-order": Entry(
        "@pypto.autotune is given {what}, not a tile function",
        "write `@pypto.autotune(...)` above `@pypto.tile`, so that it is applied to the tile function",
    ),
    "cache-file": Entry(
        "{path!r} cannot be imported into the tuning cache: {why}", "give a file that `TilingCache.export_json` wrote"
    ),
    "cache-key": Entry(
        "nothing in the tuning cache {path!r} has a key that begins with {key!r}, or is a kernel of that name",
        "`pypto cache ls` lists what there is",
    ),
    "cache-value": Entry(
        "the tuning cache cannot keep {kind} for {kernel!r}: {why}",
        "store what `auto_tune` returned, a `pypto.TileConfig` of numbers, or a dict of numbers and texts",
    ),
    "needs-matplotlib": Entry(
        "plotting needs matplotlib: {why}", "install it with `pip install matplotlib`, or pypto with the extra `plot`"
    ),
    "no-candidate": Entry(
        "none of the {count} candidates of {kernel!r} can be used: {reasons}",
        "widen the search space; the untuned kernel runs without auto_tune",
    ),
    "nothing-to-plot": Entry(
        "{kernel!r} has no candidate that was both predicted and measured", "tune with more than one candidate"
    ),
    "tune-metric": Entry("there is no tuning metric {metric!r}", "{hint}"),
    "tune-name": Entry(
        "auto_tune takes a kernel and was given its name, {name!r}",
        "pass the tile function itself: auto_tune({name}, input_shape); `TilingCache.lookup` and `store` take names as "
        "well",
    ),
    "tune-shapes": Entry(
        "auto_tune of {kernel!r}: input_shape is {given!r}: {why}",
        "give the shape of each parameter: input_shape={example}, or pass args=",
    ),
    "tune-level": Entry(
        "the PTO IR of {kernel!r} is at level {level}, where its tiles are chosen already",
        "tune the tile function, or text at level tile: `pypto ir FILE.py:{kernel} --emit tile`",
    ),
    "tune-target": Entry(
        "target {target!r} has no tilings to choose from", "tune for target 'cpu', 'ascendc' or 'npu'"
    ),
    "untuned-fails": Entry(
        "the untuned kernel of {kernel!r} {how}, and no candidate is right: {why}",
        "run it with target='reference' to see what it should give, and without a pre_hook that changes what it reads; "
        "if that differs, the code that was generated is wrong: please report the kernel",
    ),
}
