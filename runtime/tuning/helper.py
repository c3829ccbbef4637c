"""The parent's side of a helper process: start it, send, wait with a limit, kill, and say how it died."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from pypto.runtime.tuning.channel import FOLDER_PREFIX, Message, read_message, write_message

START_LIMIT = 60.0
"""Seconds until a helper must be ready; a busy machine takes a few to import what it needs."""
_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "import importlib; importlib.import_module(sys.argv[2]).main(int(sys.argv[3]))"
)
_SERIAL = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_TAIL = 4000  # bytes of standard error that are looked at

Inbox = queue.SimpleQueue["tuple[Helper, Message | None]"]


class HelperDied(Exception):
    """The helper ended without an answer; the text says how. `signalled`: a signal ended it, not its own exit."""

    def __init__(self, reason: str, signalled: bool) -> None:
        super().__init__(reason)
        self.signalled = signalled


class HelperHung(Exception):
    """The helper gave no answer within its time."""


class Helper:
    """A process that runs ``main`` of a module and answers messages.

    It is started in a session of its own, so that Ctrl-C reaches this process alone, in an empty private folder, with
    this process's import path. Answers arrive in `inbox` as (helper, message), None standing for its end. The private
    folder lies in `parent`.
    Raises OSError when processes cannot be started here.
    """

    def __init__(self, module: str, inbox: Inbox | None = None, parent: Path | None = None) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise OSError("there is no Python interpreter to start")
        self.inbox: Inbox = queue.SimpleQueue() if inbox is None else inbox
        self.ready = self.ended = False
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent))
        try:
            self._process = self._start(module)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._reader.start()

    def _start(self, module: str) -> subprocess.Popen[bytes]:
        paths = json.dumps([os.path.abspath(entry or ".") for entry in sys.path])
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYPTO_")}
        with open(self._folder / "errors", "wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-c", _BOOT, paths, module, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._folder,
                env={**environment, **_SERIAL},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def answer_to(self, inbox: Inbox) -> bool:
        """Send answers to another inbox from now on; returns False for a helper that has ended."""
        self.inbox = inbox
        return not self.ended

    def send(self, message: Message) -> None:
        """Send a request; a helper that is dead already answers by its end."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            write_message(self._process.stdin, message)

    def ask(self, message: Message, limit: float) -> Message:
        """Return the answer to `message`; the inbox must be this helper's own. Raises HelperDied or HelperHung."""
        self.send(message)
        return self.wait(limit)

    def wait(self, limit: float) -> Message:
        """Return the next answer. Raises HelperDied, or HelperHung after `limit` seconds."""
        try:
            _, answer = self.inbox.get(timeout=limit)
        except queue.Empty:
            raise HelperHung(f"no answer within {limit:.3g} s") from None
        if answer is None:
            raise self.death()
        return answer

    def death(self) -> HelperDied:
        """Return how a helper ended whose answers have ended."""
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.kill()
            return HelperDied("it closed its pipe without an answer", False)
        errors = self._last_errors()
        if code >= 0:
            return HelperDied(errors or f"the process ended with code {code}", False)
        return HelperDied(_killed(-code) + (f": {errors}" if errors else ""), True)

    def kill(self) -> None:
        """End the process at once and remove what it left."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # with the compilers that it started
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # what was not sent yet has no reader
            self._process.stdin.close()
        self._reader.join(timeout=5)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _last_errors(self) -> str:
        """Return the line of standard error that says most: LLVM's own, else the last."""
        with contextlib.suppress(OSError):
            text = (self._folder / "errors").read_bytes()[-_TAIL:].decode(errors="replace")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            marked = [line for line in lines if "LLVM ERROR" in line]
            return (marked or lines or [""])[-1]
        return ""

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            while (message := read_message(answers)) is not None:
                self.ready = True
                self.inbox.put((self, message))
        self.ended = True  # as above before the inbox is looked up: who sets another inbox looks at both afterwards
        self.inbox.put((self, None))


def _killed(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    hints = {"SIGSEGV": " (it touched memory that is not its own)", "SIGKILL": " (perhaps out of memory)"}
    return f"the process was ended by {name}{hints.get(name, '')}"
