"""A compile worker that does what the test asks for before or instead of compiling; started as a worker is."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pypto.runtime.tuning.channel import Message, serve
from pypto.runtime.tuning.worker_main import try_compile


def main(parent: int) -> None:
    serve(parent, handle, 60.0)


def handle(message: Message) -> dict[str, Any]:
    """Compile, or misbehave as the first line of the module's text says: ``#fault NAME [PATH]``."""
    words = message["module"].partition("\n")[0].split()
    if words[:1] == ["#fault"]:
        FAULTS[words[1]](*words[2:])
    return try_compile(message)


def hang(*path: str) -> None:
    note_process(*path)
    while True:
        time.sleep(60)


def note_process(*path: str) -> None:
    for name in path:
        Path(name).write_text(str(os.getpid()), encoding="utf-8")


def spawn_and_hang(path: str) -> None:
    """Start a process, as a compiler would be, and wait for it for ever."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(path).write_text(str(child.pid), encoding="utf-8")
    child.wait()


def crash() -> None:
    ctypes.string_at(0)


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def abort() -> None:
    os.write(2, b"LLVM ERROR: out of registers\nsome other line\n")
    os.abort()


def leave() -> None:
    os.write(2, b"cannot go on\n")
    os._exit(3)


def chatter() -> None:
    """Print where answers used to go."""
    print("a library prints this", flush=True)
    os.write(1, b"\0\0\0\7garbage\n")


FAULTS = {
    "hang": hang,
    "spawn": spawn_and_hang,
    "crash": crash,
    "killed": be_killed,
    "abort": abort,
    "leave": leave,
    "chatter": chatter,
}
