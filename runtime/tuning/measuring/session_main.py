"""The measuring process: loads candidates, checks and times them. It may be killed at any moment, and then is."""

from __future__ import annotations

import contextlib
from typing import Any

from pypto.codegen.llvm.code import Machine
from pypto.ir.base import settings
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.runtime.tuning.channel import Message, die_with_parent, serve
from pypto.runtime.tuning.measuring.arguments import WorkingArguments
from pypto.runtime.tuning.measuring.session import Session

FAILURES = (CompilerBug, UserError, OSError, MemoryError, ValueError, KeyError)
"""What one candidate may raise without an end of the session."""


def main(parent: int) -> None:
    """Serve the process `parent`: the first message describes the session, each other one is a command."""
    die_with_parent(parent)
    with contextlib.ExitStack() as stack:
        sessions: list[Session] = []

        def handle(message: Message) -> Message:
            if not sessions:
                sessions.append(_open(stack, message))
                return {}
            return run_command(sessions[0], message)

        serve(parent, handle)


def run_command(session: Session, message: Message) -> Message:
    """Run one command of a session; return its answer, or ``{"failed": reason}``."""
    command = dict(message)
    method: Any = getattr(session, command.pop("command"))
    try:
        answer: Message = method(**command)
    except FAILURES as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return answer


def _open(stack: contextlib.ExitStack, message: Message) -> Session:
    stack.enter_context(settings.settings(**message["settings"]))
    return Session(WorkingArguments(message["arguments"]), Machine(*message["machine"]))
