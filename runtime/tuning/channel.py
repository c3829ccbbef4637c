"""Messages between this process and its helper processes: length-prefixed JSON over pipes, never pickles.

The helper's side. A helper reads requests from its standard input and answers on what was its standard output; prints
of libraries go to standard error instead, so they cannot break a message. It ends by itself when its parent does: by
the end of the pipe, and, where another process holds the pipe open, by looking at who its parent is.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import shutil
import signal
import struct
import sys
import threading
from collections.abc import Callable
from typing import IO, Any, NoReturn

Message = dict[str, Any]

LARGEST_MESSAGE = 1 << 30
"""Bytes; a length beyond this is garbage, not a message."""
LOOK_AT_PARENT = 1.0
"""Seconds between two looks at the parent process."""
FOLDER_PREFIX = "pypto-helper-"
"""How the private folders begin that helpers run in."""
_HEAD = struct.Struct(">I")
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl


def write_message(file: IO[bytes], message: Message) -> None:
    """Write one message; raises OSError when nobody reads any more."""
    data = json.dumps(message).encode()
    file.write(_HEAD.pack(len(data)) + data)
    file.flush()


def read_message(file: IO[bytes]) -> Message | None:
    """Return the next message; None at the end of the file, also in the middle of a message."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    (length,) = _HEAD.unpack(head)
    data = file.read(length) if length <= LARGEST_MESSAGE else b""
    if len(data) < length:
        return None
    message: Message = json.loads(data)
    return message


def serve(parent: int, handle: Callable[[Message], Message], idle_limit: float | None = None) -> None:
    """Answer requests by `handle` until the process `parent` closes the pipe or dies, or `idle_limit` seconds pass
    without one.

    The first message out says that the helper is ready.
    """
    if os.getppid() != parent:  # it died while this process started
        _leave()
    answers = _private_output()
    requests: queue.SimpleQueue[Message] = queue.SimpleQueue()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, who ends its helpers
    threading.Thread(target=_read_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    _answer(answers, {"ready": os.getpid()})
    while True:
        try:
            request = requests.get(timeout=idle_limit)
        except queue.Empty:
            return  # the parent sees the end and removes the private folder
        _answer(answers, handle(request))


def _answer(answers: IO[bytes], message: Message) -> None:
    try:
        write_message(answers, message)
    except OSError:  # nobody reads any more
        _leave()


def die_with_parent(parent: int) -> None:
    """Have the system kill this process with `parent`, even while native code holds the interpreter (Linux only).

    It acts when the thread that started this process ends, so that thread has to wait for this process.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it died before that call
            os._exit(0)


def _private_output() -> IO[bytes]:
    """Return what was standard output, which from now on is standard error."""
    sys.stdout.flush()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _read_requests(file: IO[bytes], requests: queue.SimpleQueue[Message]) -> None:
    while (message := read_message(file)) is not None:
        requests.put(message)
    _leave()


def _watch_parent(parent: int) -> None:
    tick = threading.Event()
    while not tick.wait(LOOK_AT_PARENT):
        if os.getppid() != parent:
            _leave()


def _leave() -> NoReturn:
    """End at once, whatever the other threads do: nobody waits for their result, nor removes the private folder."""
    folder = os.getcwd()
    if os.path.basename(folder).startswith(FOLDER_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)  # a helper leads a group of its own: compilers that it started end with it
    os._exit(0)
