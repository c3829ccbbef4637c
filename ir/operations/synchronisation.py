"""Records of the operations that order pipes and cores."""

from __future__ import annotations

from pypto.ir.nodes import Level, Pipe
from pypto.ir.operations.records import synchronisation

RECORDS = (
    # synchronisation
    synchronisation(
        "set_flag", "raise flag `id` from pipe `source` to pipe `destination`", Pipe.S, "destination", "id", "source"
    ),
    synchronisation("wait_flag", "wait for flag `id`, then lower it", Pipe.S, "destination", "id", "source"),
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
    synchronisation("pipe_barrier", "wait until everything issued to `pipe` has finished", Pipe.S, "pipe"),
)
