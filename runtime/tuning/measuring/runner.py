"""Where the commands of a session run: in a process that can be killed, or in this one beside the user's functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from pypto.codegen.llvm.code import Machine
from pypto.runtime.tuning.channel import Message
from pypto.runtime.tuning.compiling import CompiledCandidate, sent_settings
from pypto.runtime.tuning.helper import START_LIMIT, Helper, HelperDied, HelperHung
from pypto.runtime.tuning.measuring.arguments import ArgumentFiles, WorkingArguments
from pypto.runtime.tuning.measuring.options import Launch, MeasureOptions
from pypto.runtime.tuning.measuring.session import Session
from pypto.runtime.tuning.measuring.session_main import run_command

SESSION = "pypto.runtime.tuning.measuring.session_main"
LOAD_LIMIT = 30.0
"""Seconds that loading an artefact may take."""
_SENT_SETTINGS = ("cache", "num_threads")


class SessionLost(Exception):
    """No session can be had: the process does not start or cannot read the arguments."""


class CandidateFailed(Exception):
    """A command failed, and the session goes on."""


class ProcessRunner:
    """Runs commands in a measuring process, and starts the next one after a candidate ended or blocked it."""

    def __init__(self, files: ArgumentFiles, machine: Machine) -> None:
        self._opening: Message = {
            "settings": sent_settings(_SENT_SETTINGS),
            "machine": [machine.triple, machine.cpu, machine.features, machine.vector_bits],
            "arguments": files.description,
        }
        self._folder = files.folder
        self._helper: Helper | None = None
        self._loaded: set[str] = set()

    def ask(self, built: CompiledCandidate, key: str, command: str, limit: float, **arguments: Any) -> Message:
        """Return the answer to a command about one candidate, loading it first when it is not.

        Raises HelperDied, HelperHung after `limit` seconds, CandidateFailed or SessionLost.
        """
        helper = self._helper or self._start()
        try:
            if key not in self._loaded:
                _answer(helper.ask(_loading(built, key), LOAD_LIMIT))
                self._loaded.add(key)
            return _answer(helper.ask({"command": command, "key": key, **arguments}, limit))
        except (HelperDied, HelperHung):
            self.close()
            raise

    def close(self) -> None:
        """End the process."""
        if self._helper is not None:
            self._helper.kill()
        self._helper = None
        self._loaded.clear()

    def _start(self) -> Helper:
        try:
            self._helper = Helper(SESSION, parent=self._folder)
            self._helper.wait(START_LIMIT)
            self._helper.ask(self._opening, START_LIMIT)
        except (OSError, HelperDied, HelperHung) as error:
            self.close()
            raise SessionLost(f"the measuring process does not start: {error}") from error
        return self._helper


class LocalRunner:
    """Runs commands in this process, where the user's functions are. Nothing here can stop a kernel that hangs."""

    def __init__(self, files: ArgumentFiles, machine: Machine, options: MeasureOptions) -> None:
        arguments = WorkingArguments(files.description, tensors=True)
        self.session = Session(arguments, machine, _hooked(options, arguments))

    def ask(self, built: CompiledCandidate, key: str, command: str, limit: float, **arguments: Any) -> Message:
        """Return the answer to a command; raises CandidateFailed."""
        if key not in self.session.loaded:
            _answer(run_command(self.session, _loading(built, key)))
        return _answer(run_command(self.session, {"command": command, "key": key, **arguments}))

    def close(self) -> None:
        """Forget the candidates."""
        self.session.loaded.clear()


class Runner(Protocol):
    """Runs commands about candidates."""

    def ask(self, built: CompiledCandidate, key: str, command: str, limit: float, **arguments: Any) -> Message:
        """Return the answer. Raises HelperDied, HelperHung, CandidateFailed or SessionLost."""

    def close(self) -> None:
        """Let everything go; the next command begins anew."""


def _loading(built: CompiledCandidate, key: str) -> Message:
    folder = os.path.abspath(built.folder)  # a helper runs in another one
    return {"command": "load", "key": key, "folder": folder, "digests": dict(built.digests)}


def _answer(message: Message) -> Message:
    if "failed" in message:
        raise CandidateFailed(message["failed"])
    return message


def _hooked(options: MeasureOptions, arguments: WorkingArguments) -> Callable[[Launch], Launch] | None:
    """Return what wraps a launch in the user's hooks; None without any."""
    before, after = options.pre_hook, options.post_hook
    if before is None and after is None:
        return None

    def around(launch: Launch) -> Launch:
        def hooked() -> Any:
            values = arguments.values
            if before is not None:
                before(values)
            try:
                result = launch()
            except BaseException as error:
                if after is not None:
                    after(values, error)
                raise
            if after is not None:
                after(values, None)
            return result

        return hooked

    return around
