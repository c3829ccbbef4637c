"""The disk cache of object code: a private folder of files that are checked before they are loaded.

An entry is one file named by its key. It begins with a magic line, its key and the SHA-256 of its content, so a
truncated, mixed up or edited file is a miss, never wrong code. Entries are written to a temporary file in the same
folder and published by rename: readers see a whole entry or none. No fsync is needed for that, since content that a
crash lost fails its hash. Whatever goes wrong with the folder costs a warning and the caching, never the run.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
import stat
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = b"pypto object 1\n"
HEADER_BYTES = len(MAGIC) + 64
SUFFIX = ".object"
TEMPORARY = ".writing-"
LARGEST_TOTAL = 1 << 30  # bytes that all entries may take together
PRUNE_EVERY = 64  # writes between two looks at the total
ABANDONED_AFTER = 3600.0  # seconds after which a temporary file has no writer any more
TOUCH_AFTER = 86400.0  # seconds; a used entry is marked as used once a day

_OWNER_KNOWN = hasattr(os, "geteuid")
_OPEN_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class UntrustedFolder(OSError):
    """The folder or an entry could be changed by somebody else."""


@functools.lru_cache(maxsize=64)
def _warn_once(folder: str, what: str) -> None:
    warnings.warn(f"the object cache {folder} is not used: {what}", RuntimeWarning, stacklevel=4)


@functools.lru_cache(maxsize=16)
def cache_at(folder: str) -> ObjectCache:
    """Return the process's cache for `folder`."""
    return ObjectCache(Path(folder))


@dataclass(slots=True)
class ObjectCache:
    """Object code by key. `get` and `put` never raise for what is wrong with the disk: they warn once and do
    without.
    """

    folder: Path
    largest_total: int = LARGEST_TOTAL
    writes: int = field(default=0, init=False)

    def get(self, key: str) -> bytes | None:
        """Return the content stored under `key` (64 hexadecimal digits), or None."""
        try:
            with _opened(self.folder) as directory:
                return self._read(directory, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn_once(str(self.folder), _reason(error))
            return None

    def put(self, key: str, content: bytes) -> None:
        """Store `content` under `key`."""
        try:
            with _opened(self.folder) as directory:
                self._write(directory, key, content)
        except OSError as error:
            _warn_once(str(self.folder), _reason(error))

    def _read(self, directory: int, key: str) -> bytes | None:
        handle = os.open(key + SUFFIX, os.O_RDONLY | _OPEN_FLAGS, dir_fd=directory)
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            _check_private(status, key)
            data = file.read()
            if time.time() - status.st_mtime > TOUCH_AFTER:
                with contextlib.suppress(OSError):
                    os.utime(handle)
        return _unpack(key, data)

    def _write(self, directory: int, key: str, content: bytes) -> None:
        temporary = f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS, 0o600, dir_fd=directory)
        try:
            with open(handle, "wb") as file:
                file.write(_pack(key, content))
            os.replace(temporary, key + SUFFIX, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise
        if self.writes % PRUNE_EVERY == 0:
            _prune(directory, self.largest_total)
        self.writes += 1


def _pack(key: str, content: bytes) -> bytes:
    return MAGIC + bytes.fromhex(key) + hashlib.sha256(content).digest() + content


def _unpack(key: str, data: bytes) -> bytes | None:
    content = data[HEADER_BYTES:]
    return content if data == _pack(key, content) else None


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Yield a descriptor of the folder, made with mode 0700 if missing and checked to be ours.

    Files are then opened relative to the descriptor, so nobody can exchange the folder after the check.
    """
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        _check_private(os.fstat(directory), "the folder")
        yield directory
    finally:
        os.close(directory)


def _check_private(status: os.stat_result, name: str) -> None:
    if not _OWNER_KNOWN:
        return
    if status.st_uid != os.geteuid():
        raise UntrustedFolder(f"{name} belongs to user {status.st_uid}, not to {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UntrustedFolder(f"{name} has mode {stat.S_IMODE(status.st_mode):04o}: others may write to it")


def _reason(error: OSError) -> str:
    return str(error) if isinstance(error, UntrustedFolder) else (error.strerror or type(error).__name__)


def _prune(directory: int, largest_total: int) -> None:
    """Remove abandoned temporary files, then the entries longest unused until the rest fits into `largest_total`
    bytes.
    """
    entries: list[tuple[float, int, str]] = []
    for name in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):  # another process prunes too
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if name.startswith(TEMPORARY) and time.time() - status.st_mtime > ABANDONED_AFTER:
                os.unlink(name, dir_fd=directory)
            elif name.endswith(SUFFIX):
                entries.append((status.st_mtime, status.st_size, name))
    total = sum(size for _, size, _ in entries)
    for _, size, name in sorted(entries):
        if total <= largest_total:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        total -= size
