"""A compile worker: ``python -m pypto.runtime.tuning.worker_main``, started and spoken to by workers.py."""

from __future__ import annotations

import os
import sys
from typing import Any

from pypto.ir.base.errors import UserError
from pypto.ir.passes.manager import FAULTS
from pypto.runtime.tuning.channel import Message, serve
from pypto.runtime.tuning.compiling import compile_message

IDLE_LIMIT = 60.0
"""Seconds after which a worker that nobody needs ends."""
FAILURES = (*FAULTS, UserError, OSError, MemoryError)
"""What ends the compilation of one candidate, and of no other."""


def try_compile(message: Message) -> dict[str, Any]:
    """Compile a job; return its artefact's digests, or ``{"failed": reason}``."""
    try:
        return compile_message(message)
    except UserError as error:
        return {"failed": f"{error.name}: {error.message}"}
    except FAILURES as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def main(parent: int) -> None:
    """Serve the process `parent`."""
    _no_core_files()
    _import_early()
    serve(parent, try_compile, IDLE_LIMIT)


def _no_core_files() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _import_early() -> None:
    """Import what every job needs while the parent still prepares the first."""
    import llvmlite.binding  # noqa: F401

    import pypto.codegen.llvm.emitter
    import pypto.ir.parser
    import pypto.runtime.code_cache  # noqa: F401


if __name__ == "__main__":
    main(os.getppid())
