"""Records of the operations that order pipes and cores."""

from __future__ import annotations

from pypto.ir.nodes import Level, Pipe
from pypto.ir.operations.records import synchronisation

RECORDS = (
    # synchronisation
    synchronisation(
        "set_flag",
        "raise flag `id` from pipe `source` to pipe `destination`; `core` in kernels with both kinds of cores",
        Pipe.S,
        "core",
        "destination",
        "id",
        "source",
        optional=("core",),
    ),
    synchronisation(
        "wait_flag",
        "wait for flag `id`, then lower it; `core` in kernels with both kinds of cores",
        Pipe.S,
        "core",
        "destination",
        "id",
        "source",
        optional=("core",),
    ),
    synchronisation(
        "set_cross_flag",
        "when all that `core` has issued to `pipe` has finished, count flag `id` up for the other kind of core: a cube "
        "core for each of its two vector cores, these together for it",
        Pipe.S,
        "core",
        "id",
        "pipe",
    ),
    synchronisation(
        "wait_cross_flag",
        "on `core` (cube or vector), issue nothing more until flag `id` has been counted up, then count it down",
        Pipe.S,
        "core",
        "id",
    ),
    synchronisation(
        "set_barrier",
        "tell all blocks that what this one has issued to `MTE3`, and all that had to come before, has finished; "
        "`participants` is the number of blocks",
        Pipe.MTE3,
        "barrier_id",
        "participants",
        level=Level.BUFFERED,
    ),
    synchronisation(
        "wait_barrier",
        "issue nothing more until all blocks have set barrier `barrier_id`",
        Pipe.S,
        "barrier_id",
        level=Level.BUFFERED,
    ),
    synchronisation(
        "pipe_barrier",
        "wait until everything issued to `pipe` has finished; `core` in kernels with both kinds of cores",
        Pipe.S,
        "core",
        "pipe",
        optional=("core",),
    ),
)
