"""Private folders that somebody removes in any case: their owner when it is done, else the next process that makes one.

The owner holds a lock on a file in the folder, which the system releases when it dies, however it dies. A folder whose
lock can be had has no owner.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

LOCK = "owner"
_ABANDONED_AFTER = 3600.0
"""Seconds after which a folder without a lock file has nobody who is about to lock it."""


class PrivateFolder:
    """A new folder for this user alone, under `parent` (None: the system's for temporary files). Raises OSError."""

    def __init__(self, prefix: str, parent: str | None = None) -> None:
        _remove_abandoned(Path(parent or tempfile.gettempdir()), prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._handle = _lock_new(self.path)

    def remove(self) -> None:
        """Remove the folder and what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock_new(folder: Path) -> int | None:
    """Lock a file under another name first, so that nobody finds it unlocked; None where locks are unknown."""
    if sys.platform == "win32":
        return None
    import fcntl

    aside = folder / f"{LOCK}.new"
    handle = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with contextlib.suppress(OSError):  # a file system without locks: the folder is removed by its age alone
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        aside.rename(folder / LOCK)
    return handle


def _remove_abandoned(parent: Path, prefix: str) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False) and _is_ours(entry):
                _remove_if_abandoned(Path(entry.path))


def _is_ours(entry: os.DirEntry[str]) -> bool:
    return not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid()


def _remove_if_abandoned(folder: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    with contextlib.suppress(OSError):
        if not (folder / LOCK).exists():
            if time.time() - folder.stat().st_mtime > _ABANDONED_AFTER:
                shutil.rmtree(folder, ignore_errors=True)
            return
        handle = os.open(folder / LOCK, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)
