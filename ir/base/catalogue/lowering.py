"""Mistakes in what the passes and the AscendC emitter cannot do."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "ascendc-cube": Entry(
        "kernel {kernel} is planned for the cube cores, for which no AscendC is generated",
        "read its plan with `to_text('planned')`, or run it with target='cpu'",
    ),
    "cross-flags": Entry(
        "cube and vector cores of kernel {kernel} wait for each other at {count} places, and there are {limit} flags",
        "split the kernel into several, each with fewer matrix products",
    ),
    "cube-matrix": Entry(
        "the cube core works on matrices: {shape} has other long axes than the last two, or they do not fit",
        "give ranges of extent 1 for all axes but the last two",
    ),
    "flag-ids": Entry(
        "the copies and computations of kernel {kernel} need more than {limit} flags between two pipes at once",
        "split the kernel into several, each with fewer loops inside loops, or use a smaller tile",
    ),
    "npu-dtype": Entry(
        "{name} has dtype {dtype}, which the vector cores of the NPU cannot compute with",
        "use {wanted} arrays for this target, or run the kernel with target='cpu'",
    ),
    "npu-operation": Entry("the NPU has no way to compute {operation} of {dtype} here", "{alternative}"),
    "strided-store": Entry(
        "a block stores to elements of {array} that are apart in memory (step {step} on axis {axis}), between which "
        "other blocks may write",
        "write whole rows of {array}, or write the kernel without block ids: then what lies between is kept",
    ),
    "unified-buffer-full": Entry(
        "kernel {kernel} needs {needed} bytes of on-chip memory at its smallest tile, a core has {capacity} ({live})",
        "make the axes that are not split smaller, or write the kernel with `pypto.loop` over pieces of them",
    ),
    "unknown-extent": Entry(
        "the extent {extent} in kernel {kernel} is not known, but memory on the NPU is planned for fixed shapes",
        "compile with `shapes=` or call the kernel with arguments first",
    ),
}
