"""The folder of binaries of one kernel that was tuned for one signature, in the layout of the Inductor extension.

    <root>/<kernel>/<artifact_hash>/
        tiling.pto                        the tiling source: the IR that every candidate is made from
        wrapper.json                      what each key stands for, and the SHA-256 of its files
        static_kernel/<kernel_key>/       one folder per candidate: kernel.* and what belongs to it
        optimize_tiling                   the winner: tiling_repr|workspace|block_dim, whose md5 is its key
        compile.lock                      held while the kernel is tuned

Files are written beside their place, synchronised and renamed. Nothing read here is trusted: a winner counts only when
its file has the right form, its key is in the wrapper's map, and its files are ours, no links, and have the recorded
hashes. Anything else is a miss.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypto.runtime.tuning.candidate import Candidate
from pypto.runtime.tuning.locks import LOGGER, locked
from pypto.runtime.tuning.store import FILE_NAME, warn_once

OPTIMUM = "optimize_tiling"
WRAPPER = "wrapper.json"
SOURCE = "tiling.pto"
STATIC = "static_kernel"
LOCK = "compile.lock"
LONGEST_NAME = 60
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
_INTEGER = re.compile(r"[0-9]+")
_KEY = re.compile(r"[0-9a-f]{32}")


class Untrusted(OSError):
    """A file that is about to be loaded could be somebody else's, or is not the one that was made."""


@dataclass(frozen=True, slots=True)
class Binary:
    """The recorded binary of a candidate: the text that its key is the md5 of, and the SHA-256 of each file by name.

    about: what else is known of the candidate, as JSON-able data.
    """

    tiling: str
    digests: Mapping[str, str]
    about: Any = None

    def load(self, folder: Path) -> dict[str, bytes]:
        """Return the content of the files in `folder`; raises OSError for a missing one or one that is not ours."""
        return {name: load_binary(folder / name, digest) for name, digest in self.digests.items()}

    @classmethod
    def of_json(cls, item: Any) -> Binary:
        """Return what JSON says; raises ValueError for anything that no record holds."""
        tiling, files = item["tiling"], item["files"]
        texts = (tiling, *files, *files.values())
        if not all(isinstance(text, str) for text in texts) or any(Path(name).name != name for name in files):
            raise ValueError("it lists no files of this folder")
        return cls(tiling, files, item.get("about"))


def artefact_root(database: Path) -> Path:
    """Return the folder for the binaries that go with a database: beside the default one, else named after it."""
    return database.parent if database.name == FILE_NAME else database.with_name(f"{database.name}.kernels")


@dataclass(frozen=True, slots=True)
class ArtefactFolder:
    """The artefacts of one kernel and signature. Reading never raises for what is wrong with files; writing raises
    OSError.
    """

    path: Path

    @classmethod
    def under(cls, root: Path, kernel: str, artifact_hash: str) -> ArtefactFolder:
        """Return the folder of a kernel; other characters than letters, digits and ``_`` of its name become ``_``."""
        name = re.sub(r"[^A-Za-z0-9_]+", "_", kernel)[:LONGEST_NAME] or "kernel"
        return cls(root / name / artifact_hash)

    def make(self) -> None:
        """Make the folder, for this user alone. Raises OSError."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def tuning(self, wait: float) -> Iterator[None]:
        """Hold ``compile.lock``; a holder that dies loses it at once. Raises LockTimeout (an OSError) or OSError."""
        self.make()
        waiting = f"{self.path.parent.name}: waiting for the process that tunes it ({self.path / LOCK})"
        with locked(self.path / LOCK, wait, waiting):
            yield

    def kernel_folder(self, key: str) -> Path:
        """Return the folder of a candidate's binary."""
        return self.path / STATIC / key

    # -- the winner

    def save_optimum(self, candidate: Candidate) -> None:
        """Write ``optimize_tiling``. Raises OSError."""
        publish(self.path / OPTIMUM, tiling_text(candidate).encode())

    def load_optimum(self) -> str | None:
        """Return the key of the winner, or None: there is none yet, or the file or its binary is not as recorded."""
        path = self.path / OPTIMUM
        try:
            text = _read_own(path)
            key = optimum_key(text, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            _say(f"{error}: it is ignored and written again")
            return None
        binary = self.binaries().get(key)
        if binary is None or binary.tiling.encode() != text:
            _say(f"{path} names the kernel {key}, which {WRAPPER} does not list: it is ignored and written again")
            return None
        return key if self._is_intact(key, binary) else None

    def _is_intact(self, key: str, binary: Binary) -> bool:
        try:
            binary.load(self.kernel_folder(key))
        except OSError as error:
            _say(f"{error}: the kernel is made again")
            return False
        return True

    # -- the wrapper: what each key stands for

    def binaries(self) -> dict[str, Binary]:
        """Return the recorded binaries by key; empty when there is no readable record."""
        try:
            return self._recorded()
        except _UNREADABLE as error:
            _say(f"{self.path / WRAPPER} cannot be read ({error}): it is written again")
            return {}

    def _recorded(self) -> dict[str, Binary]:
        try:
            content = json.loads(_read_own(self.path / WRAPPER))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return {key: Binary.of_json(item) for key, item in content["kernels"].items() if _KEY.fullmatch(key)}

    def record(self, made: Iterable[tuple[Candidate, Mapping[str, str], Any]]) -> None:
        """Add candidates to the record, which keeps those it has: each with the SHA-256 of the files in its folder by
        name, and what else is known.

        A key that the record lacks would make the winner unusable, so this runs before `save_optimum`. Raises OSError.
        """
        new = {candidate.key(): Binary(tiling_text(candidate), digests, about) for candidate, digests, about in made}
        items = {
            key: {"tiling": item.tiling, "files": dict(item.digests), "about": item.about}
            for key, item in (self.binaries() | new).items()
        }
        publish(self.path / WRAPPER, json.dumps({"kernels": items}, indent=1, sort_keys=True).encode())

    def save_source(self, text: str) -> None:
        """Write the tiling source unless it is there. Raises OSError."""
        path = self.path / SOURCE
        if not path.exists():
            publish(path, text.encode())

    def problems(self) -> list[str]:
        """Return what is wrong with the winner and the recorded binaries, in sentences."""
        try:
            binaries = self._recorded()
        except _UNREADABLE as error:
            return [f"{self.path / WRAPPER} cannot be read: {error}"]
        found: list[str] = []
        try:
            key = optimum_key(_read_own(self.path / OPTIMUM), self.path / OPTIMUM)
            if key not in binaries:
                found.append(f"{self.path / OPTIMUM} names the kernel {key}, which {WRAPPER} does not list")
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, ValueError) as error:
            found.append(str(error))
        for key, binary in binaries.items():
            try:
                binary.load(self.kernel_folder(key))
            except OSError as error:
                found.append(str(error))
        return found

    def remove(self) -> None:
        """Remove the folder unless somebody tunes into it. Raises OSError."""
        with self.tuning(wait=1.0):
            shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()


def tiling_text(candidate: Candidate) -> str:
    """Return ``tiling_repr|workspace|block_dim``, whose md5 is the candidate's key."""
    return f"{candidate.tiling_repr()}|{candidate.workspace}|{candidate.block_dim}"


def optimum_key(text: bytes, path: Path) -> str:
    """Return the key that the content of ``optimize_tiling`` stands for; raises ValueError for any other content."""
    parts = text.decode("utf-8", "replace").split("|")
    if len(parts) != 3 or not all(_INTEGER.fullmatch(part) for part in parts[1:]) or "\n" in parts[0] or not parts[0]:
        raise ValueError(f"Load optimize file format error, file path: {path}")
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def load_binary(path: Path, sha256: str) -> bytes:
    """Return the content of a binary that is safe to run, read once: what was checked is what is loaded.

    Raises Untrusted for a link, another owner's file, one that others may write to, or another content than recorded;
    OSError when it cannot be read.
    """
    content = _read_own(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise Untrusted(f"{path} is not the file that was made: its hash differs from the recorded one")
    return content


def _read_own(path: Path) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():
        raise Untrusted(f"{path} is a symbolic link")
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if hasattr(os, "geteuid"):
            _check_owner(path, status)
        return file.read()


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise Untrusted(f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Untrusted(f"{path} has mode {stat.S_IMODE(status.st_mode):04o}: others may write to it")
    if not stat.S_ISREG(status.st_mode):
        raise Untrusted(f"{path} is no regular file")


def publish(path: Path, content: bytes) -> None:
    """Write a file aside, synchronise it and rename it: a crash leaves the old file or the new one. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".writing-{os.getpid()}-{secrets.token_hex(6)}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
    _synchronise(path.parent)


def _synchronise(folder: Path) -> None:
    with contextlib.suppress(OSError):  # a folder that cannot be opened or synchronised, as on Windows
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _say(what: str) -> None:
    LOGGER.warning("%s", what)
    warn_once(what)


def folders(root: Path) -> Iterator[ArtefactFolder]:
    """Yield the artefact folders under `root`."""
    with contextlib.suppress(OSError):
        for lock in sorted(root.glob(f"*/*/{LOCK}")):
            yield ArtefactFolder(lock.parent)
