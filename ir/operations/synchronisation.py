"""Records of the operations that order pipes."""

from __future__ import annotations

from pypto.ir.nodes import Pipe
from pypto.ir.operations.records import synchronisation

RECORDS = (
    # synchronisation
    synchronisation(
        "set_flag", "raise flag `id` from pipe `source` to pipe `destination`", Pipe.S, "destination", "id", "source"
    ),
    synchronisation("wait_flag", "wait for flag `id`, then lower it", Pipe.S, "destination", "id", "source"),
    synchronisation("pipe_barrier", "wait until everything issued to `pipe` has finished", Pipe.S, "pipe"),
)
