"""The file that holds what tuning found: one SQLite database, shared by any number of processes.

Three tables of rows (key, name, value): `subjects` says what a key stands for, `timings` holds one trial per candidate
of a key, `choices` one winner per search of a key. Values are JSON. Each row carries a checksum over all that it says,
so that a damaged or mixed up row is a miss, never a wrong answer. The schema's version is in the default file name and
in the file; a file that is damaged, foreign, older or newer is moved aside with a warning and a new one begun.

The database is in WAL mode: a process killed at any moment loses nothing that was committed. A connection lives for one
operation only, so nothing is shared over a fork. Whatever is wrong with the disk costs one warning and the keeping.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pypto.runtime.tuning.locks import LockTimeout, locked

if TYPE_CHECKING:
    import sqlite3

SCHEMA = 1
FILE_NAME = f"tuning-{SCHEMA}.db"
APPLICATION = 0x7079_746E  # "pytn", in the file's header
TABLES = ("subjects", "timings", "choices")
BUSY_SECONDS = 20.0
COMPANIONS = ("-wal", "-shm", "")  # the log goes before its database: a log without one would be read into the next

# Held for one operation, and taken before a fork, so that a child never inherits SQLite's own locks from a thread that
# it does not have.
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)

Result = TypeVar("Result")


class Damaged(Exception):
    """The file is not a database of this schema, or no longer one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing known: `value` is JSON-able, `written` seconds since 1970."""

    table: str
    key: str
    name: str
    value: Any
    written: float = 0.0

    def checksum(self, text: str) -> str:
        """Return the checksum of this row with its value as `text`."""
        whole = "\0".join((self.table, self.key, self.name, repr(self.written), text))
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@functools.lru_cache(maxsize=256)
def warn_once(what: str) -> None:
    """Warn that tuning goes on without something, once a process."""
    warnings.warn(what, RuntimeWarning, stacklevel=4)


@functools.lru_cache(maxsize=256)
def _reasons(path: str) -> list[str]:
    """Return the list of reasons, at most one, for which the cache at `path` is not used in this process."""
    return []


def warn_unused(path: Path, error: Exception) -> None:
    """Warn that a cache is not used, once for each cache, whatever else goes wrong with its files."""
    if not _reasons(str(path)):
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        _reasons(str(path)).append(reason)
        warnings.warn(f"the tuning cache {path} is not used: {reason}", RuntimeWarning, stacklevel=4)


@dataclass(frozen=True, slots=True)
class TuningStore:
    """What is known, by key. Nothing here raises for what is wrong with the file or the disk."""

    path: Path

    def read(self, table: str, key: str) -> dict[str, Any]:
        """Return the values of `key` by name, oldest first; empty for an unknown key."""
        return {row.name: row.value for row in self.rows(table, key)}

    def rows(self, table: str | None = None, key: str | None = None) -> list[Row]:
        """Return the good rows of a table (None: of all) and key (None: of all), oldest first."""
        return [row for row in self.all_rows(table, key) if isinstance(row, Row)]

    def all_rows(self, table: str | None = None, key: str | None = None) -> list[Row | str]:
        """Return the same with a sentence for each row that does not fit its checksum."""
        if not self._is_there():
            return []
        found: list[Row | str] | None = self._attempt(functools.partial(_select, table=table, key=key), write=False)
        return found or []

    def write(self, rows: Iterable[Row]) -> bool:
        """Store rows, in place of those with the same table, key and name; all of them or none.

        Returns whether they were stored.
        """
        made = tuple(rows)
        return self._attempt(functools.partial(_insert, rows=made), write=True) is not None

    def remove(self, rows: Iterable[Row]) -> int:
        """Remove rows by table, key and name; returns how many there were."""
        if not self._is_there():
            return 0
        return self._attempt(functools.partial(_delete, rows=tuple(rows)), write=True) or 0

    def problems(self) -> list[str]:
        """Return what is wrong with the file and with single rows, in sentences; a damaged file is left alone."""
        if not self._is_there():
            return []
        with _LOCK:
            try:
                found = _diagnose(self.path)
            except _database_errors() as error:
                return [f"{self.path} cannot be read: {error}"]
        if found is not None:
            return [f"{self.path}: {found}"]
        return [row for row in self.all_rows() if isinstance(row, str)]

    def compact(self) -> None:
        """Give the space of removed rows back to the disk."""
        if self._is_there():
            self._attempt(lambda connection: connection.execute("VACUUM") and 1, write=True)

    def _is_there(self) -> bool:
        with contextlib.suppress(OSError):
            return self.path.exists()
        return False

    # -- doing something to the file, whatever its state

    def _attempt(self, action: Callable[[sqlite3.Connection], Result], *, write: bool) -> Result | None:
        """Return what `action` returns on the database; None, after one warning, when that cannot be had."""
        try:
            with _LOCK:
                if write:
                    self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                try:
                    return self._patiently(action)
                except _database_errors(Damaged):
                    self._move_aside_if_damaged()
                    return self._patiently(action) if write or self._is_there() else None
        except _database_errors(Damaged, OSError) as error:
            warn_unused(self.path, error)
            return None

    def _patiently(self, action: Callable[[sqlite3.Connection], Result]) -> Result:
        """Return what `action` returns; SQLite says "locked" at once where waiting might deadlock: try again."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with _connected(self.path) as connection:
                    return action(connection)
            except _database_errors() as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.01 + 0.04 * secrets.randbelow(100) / 100)

    def _move_aside_if_damaged(self) -> None:
        """Move a damaged file away, unless another process did so meanwhile."""
        with _guarded(self.path):
            found = _diagnose(self.path) if self._is_there() else None
            if found is None:
                return
            aside = f"{self.path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
            for end in COMPANIONS:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.path}{end}", f"{aside}{end}")
        warnings.warn(
            f"the tuning cache {self.path} could not be read ({found}): it is now {aside}, and a new one is begun",
            RuntimeWarning,
            stacklevel=5,
        )


@contextlib.contextmanager
def _guarded(path: Path) -> Iterator[None]:
    """Make or exchange the file alone among all processes."""
    with locked(Path(f"{path}.lock"), BUSY_SECONDS):
        yield


def _database_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return what SQLite raises, for a damaged file too, and `others`."""
    import sqlite3

    return sqlite3.Error, MemoryError, UnicodeDecodeError, *others


_NOT_THE_CONTENT = ("unable to open", "is full", "disk i/o", "readonly", "locked", "protocol", "interrupted")


def _diagnose(path: Path) -> str | None:
    """Return what is wrong with the content of the file, None for a good or empty one.

    Raises sqlite3.Error when that cannot be found out.
    """
    try:
        with _opened(path) as connection:
            if _is_empty(connection):
                return None
            _check_schema(connection)
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            for table in TABLES:
                connection.execute(f"SELECT key, name, value, written, checksum FROM {table} LIMIT 1")
            if found != b"ok":
                return str(found, errors="replace").replace("\n", " ")
            return _why_read_only(connection, path)
    except Damaged as error:
        return str(error)
    except _database_errors() as error:
        if any(text in str(error).lower() for text in _NOT_THE_CONTENT):
            raise
        return str(error) or type(error).__name__


def _why_read_only(connection: sqlite3.Connection, path: Path) -> str | None:
    """Return what is wrong when SQLite will not write a file that this process may write: its header says so."""
    import sqlite3

    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        return str(error) if "readonly" in str(error) and _may_write(path) else None
    return None


def _may_write(path: Path) -> bool:
    """Return whether this process may write the file and, beside it, the log that every change goes through."""
    by_effective_ids = os.access in os.supports_effective_ids
    return all(os.access(item, os.W_OK, effective_ids=by_effective_ids) for item in (path, path.parent))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    import sqlite3

    # SQLite begins a log even to read, which a read-only folder forbids. Where there is none, nobody is writing: the
    # file is all there is. A log without which the file would say what is outdated is left to SQLite.
    sealed = os.path.exists(path) and not _may_write(path) and not os.path.exists(f"{path}-wal")
    name = f"{path.absolute().as_uri()}?immutable=1" if sealed else path
    connection = sqlite3.connect(name, timeout=BUSY_SECONDS, isolation_level=None, uri=sealed)
    try:
        connection.text_factory = bytes  # a damaged text is no reason to fail
        connection.execute("PRAGMA trusted_schema=OFF")
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to the database, made when there is none. Raises Damaged or sqlite3.Error."""
    with _opened(path) as connection:
        if _is_empty(connection):
            with _guarded(path):
                _make_tables(connection)
        _check_schema(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        yield connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether nothing is in the file: it was just made, or its maker was killed before it wrote the schema."""
    count = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return bool(count == 0 and _number(connection, "application_id") == 0)


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _make_tables(connection: sqlite3.Connection) -> None:
    if not _is_empty(connection):  # another process was faster
        return
    connection.execute("PRAGMA journal_mode=WAL")
    with _transaction(connection):
        for table in TABLES:
            connection.execute(
                f"CREATE TABLE {table} (key TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, "
                "written REAL NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (key, name)) WITHOUT ROWID"
            )
        connection.execute(f"PRAGMA user_version={SCHEMA}")
        connection.execute(f"PRAGMA application_id={APPLICATION}")


def _check_schema(connection: sqlite3.Connection) -> None:
    application, version = _number(connection, "application_id"), _number(connection, "user_version")
    if application != APPLICATION:
        raise Damaged("it is a database of something else")
    if version != SCHEMA:
        raise Damaged(f"its schema has version {version}, this program's has version {SCHEMA}")


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _insert(connection: sqlite3.Connection, rows: tuple[Row, ...]) -> int:
    with _transaction(connection):
        for row in rows:
            assert row.table in TABLES, row.table
            text = json.dumps(row.value, sort_keys=True, allow_nan=False)
            dated = row if row.written else replace(row, written=time.time())
            connection.execute(
                f"INSERT OR REPLACE INTO {row.table} VALUES (?, ?, ?, ?, ?)",
                (row.key, row.name, text, dated.written, dated.checksum(text)),
            )
    return len(rows)


def _delete(connection: sqlite3.Connection, rows: tuple[Row, ...]) -> int:
    with _transaction(connection):
        return sum(
            connection.execute(f"DELETE FROM {row.table} WHERE key=? AND name=?", (row.key, row.name)).rowcount
            for row in rows
        )


def _select(connection: sqlite3.Connection, table: str | None, key: str | None) -> list[Row | str]:
    condition, values = ("", ()) if key is None else (" WHERE key=?", (key,))
    found: list[Row | str] = []
    for name in TABLES if table is None else (table,):
        assert name in TABLES, name
        rows = connection.execute(
            f"SELECT key, name, value, written, checksum FROM {name}{condition} ORDER BY written, key, name", values
        )
        found += [_checked(name, *row) for row in rows]
    return [row for row in found if key is None or isinstance(row, str) or row.key == key]


def _checked(table: str, key: Any, name: Any, value: Any, written: Any, checksum: Any) -> Row | str:
    try:
        text = value.decode()
        row = Row(table, key.decode(), name.decode(), None, float(written))
        if row.checksum(text) != checksum.decode():
            return f"row {row.name} of {table} {row.key[:16]} does not fit its checksum"
        return replace(row, value=json.loads(text))
    except (AttributeError, TypeError, ValueError) as error:
        return f"a row of {table} cannot be read: {error}"


# -- export and import


def export_rows(rows: Iterable[Row]) -> str:
    """Return rows as JSON text."""
    items = [{"table": r.table, "key": r.key, "name": r.name, "value": r.value, "written": r.written} for r in rows]
    return json.dumps({"format": "pypto tuning", "schema": SCHEMA, "rows": items}, indent=1, sort_keys=True)


def import_rows(text: str) -> tuple[Row, ...]:
    """Return the rows of exported text. Raises ValueError that says what is wrong with any other text."""
    content = json.loads(text, parse_constant=_no_number)
    if not isinstance(content, dict) or content.get("format") != "pypto tuning":
        raise ValueError("it is no export of a tuning cache")
    if content.get("schema") != SCHEMA:
        raise ValueError(f"its schema has version {content.get('schema')}, this program's has version {SCHEMA}")
    rows = content.get("rows", [])
    if not isinstance(rows, list):
        raise ValueError("its rows are no list")
    return tuple(_imported(item) for item in rows)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _imported(item: Any) -> Row:
    try:
        row = Row(str(item["table"]), str(item["key"]), str(item["name"]), item["value"], float(item["written"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"a row lacks {error}") from None
    if row.table not in TABLES:
        raise ValueError(f"there is no table {row.table!r}")
    if not math.isfinite(row.written):
        raise ValueError(f"a row was written at {row.written}")
    f"{row.key}{row.name}".encode()  # half a character is no text: UnicodeEncodeError is a ValueError
    return row


__all__ = ["Damaged", "LockTimeout", "Row", "TuningStore", "export_rows", "import_rows", "warn_once", "warn_unused"]
