"""`TilingCache`: the tilings that tuning found, or that users store themselves, in one file."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pypto.caller import PLACED_AT_CALLER
from pypto.config import BufferConfig, BufferStrategy, TileConfig
from pypto.ir.base.errors import UserError
from pypto.ir.base.files import write_text
from pypto.ir.base.settings import current
from pypto.ir.schedule import Schedule
from pypto.runtime.tuning.artefacts import artefact_root, folders
from pypto.runtime.tuning.keys import digest
from pypto.runtime.tuning.store import FILE_NAME, Row, TuningStore, export_rows, import_rows
from pypto.tuning_result import TuningResult, result_from_json, result_to_json

BY_USER = "stored"
"""Name of what a user stored for a kernel, beside the names of searches."""
DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One choice in the cache. `subject` and `name` are its key; `written` seconds since 1970; `value` what `lookup`
    returns for it; `timings` candidates whose times are kept for its kernel and way of measuring.
    """

    subject: str
    name: str
    kernel: str
    target: str
    shapes: Mapping[str, Any]
    written: float
    value: Any
    timings: int


class TilingCache:
    """Tilings by kernel and input shapes, in one SQLite file that any number of processes may share.

    cache_path: the file; its folder is made. None: ``tuning-1.db`` in the folder of the setting `cache`. Binaries of
    candidates lie in folders beside it. A file that is damaged, of another version or something else is moved aside
    with a warning; where nothing can be written there is one warning, and nothing is kept.

    Raises UserError ``option-value`` for a path that is none.
    """

    def __init__(self, cache_path: str | os.PathLike[str] | None = None) -> None:
        if cache_path is None:
            folder = current().cache
            cache_path = Path(os.devnull if folder == "off" else folder) / FILE_NAME
        if not isinstance(cache_path, (str, os.PathLike)) or not os.fspath(cache_path):
            with PLACED_AT_CALLER:
                raise UserError(
                    "option-value", None, what="TilingCache", option="cache_path", value=cache_path, wants="a path"
                )
        self.path = Path(os.path.abspath(os.path.expanduser(os.fspath(cache_path))))

    def __repr__(self) -> str:
        return f"TilingCache(cache_path={str(self.path)!r})"

    @property
    def rows(self) -> TuningStore:
        """The rows of the file."""
        return TuningStore(self.path)

    # -- by kernel and shape

    def lookup(self, kernel: Any, input_shape: Any, *, target: str | None = None, dtypes: Any = None) -> Any:
        """Return the tiling kept for a kernel and input shapes, or None.

        kernel: a name that `store` was given, or a kernel as `pypto.compile` takes it. A kernel counts by what it
        computes: after a change of its code, its machine or its target there is nothing to find. What `auto_tune` found
        is found by kernel too; of several the latest. input_shape, target, dtypes: as in `auto_tune`.

        Returns what was stored: a `TuningResult`, a `TileConfig` or a dict. Raises UserError as `auto_tune` does.
        """
        with PLACED_AT_CALLER:
            found = self.rows.read("choices", self._key(kernel, input_shape, target, dtypes))
        for item in reversed(found.values()):
            try:
                return decoded(item)
            except (ValueError, KeyError, TypeError):
                continue
        return None

    def store(
        self, kernel: Any, input_shape: Any, config: Any, *, target: str | None = None, dtypes: Any = None
    ) -> None:
        """Keep a tiling for a kernel (or a name) and input shapes, in place of what was stored before.

        config: what `auto_tune` returned, a `TileConfig`, or a dict of numbers and texts. Raises UserError
        ``cache-value``, and as `auto_tune` does.
        """
        with PLACED_AT_CALLER:
            name = kernel if isinstance(kernel, str) else getattr(kernel, "name", type(kernel).__name__)
            value = encoded(str(name), config)
            key = self._key(kernel, input_shape, target, dtypes)
        about = {"kernel": str(name), "shapes": _plain_shape(input_shape), "target": target or current().target}
        self.rows.write([Row("choices", key, BY_USER, value), Row("subjects", key, BY_USER, {**about, "timings": ""})])

    def _key(self, kernel: Any, input_shape: Any, target: str | None, dtypes: Any) -> str:
        if isinstance(kernel, str) and not kernel.endswith(".pto"):
            return digest(
                ["by name", kernel, _plain_shape(input_shape), target or current().target, repr(dtypes or "")]
            )
        from pypto.tuning import read_case
        from pypto.tuning_case import generated_code

        case = read_case(kernel, None, input_shape, dtypes, None, target)
        return case.key(generated_code(case)).digest()

    # -- the file as a whole

    def entries(self) -> list[Entry]:
        """Return everything that was chosen or stored, oldest first."""
        store = self.rows
        about = {(row.key, row.name): row.value for row in store.rows("subjects")}
        counts: dict[str, int] = {}
        for row in store.rows("timings"):
            counts[row.key] = counts.get(row.key, 0) + 1
        return list(_entries(store.rows("choices"), about, counts))

    def export_json(self, path: str | os.PathLike[str]) -> int:
        """Write everything as JSON to `path`; returns the number of rows. Raises UserError ``cannot-write``."""
        rows = self.rows.rows()
        write_text(Path(path), export_rows(rows))
        return len(rows)

    def import_json(self, path: str | os.PathLike[str]) -> int:
        """Add what `export_json` wrote, in place of what has the same key; returns the number of rows stored.

        Raises UserError ``cache-file`` for anything else.
        """
        try:
            rows = import_rows(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UserError("cache-file", None, path=str(path), why=str(error)) from None
        return len(rows) if self.rows.write(rows) else 0

    def verify(self) -> list[str]:
        """Return what is wrong with the file, single rows and binaries, in sentences; nothing is changed."""
        found = self.rows.problems()
        for folder in folders(artefact_root(self.path)):
            found += folder.problems()
        return found

    def prune(self, *, days: float | None = None, kernel: str | None = None) -> int:
        """Remove choices, times and binaries; returns how many choices were removed.

        days: only what was written longer ago. kernel: only what belongs to kernels of that name. Neither: everything.
        """
        store, before = self.rows, time.time() - (days or 0.0) * DAY
        rows = [
            row
            for row in store.rows("subjects")
            if row.written <= before and (kernel is None or row.value.get("kernel") == kernel)
        ]
        gone = {(row.key, row.name) for row in rows}
        kept = [row.value.get("timings") for row in store.rows("subjects") if (row.key, row.name) not in gone]
        timings = {row.value.get("timings") for row in rows} - set(kept)
        choices = [row for row in store.rows("choices") if (row.key, row.name) in gone]
        store.remove([*rows, *choices, *(row for row in store.rows("timings") if row.key in timings)])
        store.compact()
        self._prune_folders({digest([key, name]) for key, name in gone}, before, kernel)
        return len(choices)

    def _prune_folders(self, hashes: set[str], before: float, kernel: str | None) -> None:
        for folder in folders(artefact_root(self.path)):
            old = folder.path.stat().st_mtime <= before and kernel is None
            if folder.path.name in hashes or old:
                with contextlib.suppress(OSError):  # somebody tunes into it now
                    folder.remove()


def _entries(
    choices: Iterable[Row], about: Mapping[tuple[str, str], Any], counts: Mapping[str, int]
) -> Iterable[Entry]:
    for row in choices:
        try:
            value = decoded(row.value)
        except (ValueError, KeyError, TypeError):
            continue
        known = about.get((row.key, row.name), {})
        yield Entry(
            row.key,
            row.name,
            str(known.get("kernel", "?")),
            str(known.get("target", "?")),
            known.get("shapes") or {},
            row.written,
            value,
            counts.get(str(known.get("timings")), 0),
        )


# -- values as JSON


def encoded(kernel: str, config: Any) -> dict[str, Any]:
    """Return a config as JSON-able data; raises UserError ``cache-value`` where that is not possible."""
    if isinstance(config, TuningResult):
        return {"kind": "result", "value": result_to_json(config)}
    if isinstance(config, TileConfig):
        given = {key: value for key, value in vars(config).items() if value is not None}
        return {"kind": "tile config", "value": _plain_values(kernel, given)}
    if isinstance(config, Mapping):
        return {"kind": "dict", "value": _plain_values(kernel, config)}
    raise UserError(
        "cache-value", None, kind=f"an object of type {type(config).__name__}", kernel=kernel, why="unknown"
    )


def decoded(item: Any) -> Any:
    """Return the config that a row of choices holds. Raises ValueError, KeyError or TypeError for anything else."""
    if "kind" not in item:
        return result_from_json(item)
    if item["kind"] == "result":
        return result_from_json(item["value"])
    values = {key: _restored(value) for key, value in item["value"].items()}
    return TileConfig(**values) if item["kind"] == "tile config" else values


def _plain_values(kernel: str, values: Mapping[str, Any]) -> Any:
    try:
        return _plain(kernel, dict(values))
    except RecursionError:
        kind = "a value that contains itself"
        raise UserError("cache-value", None, kind=kind, kernel=kernel, why="JSON has none") from None


def _plain(kernel: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError("cache-value", None, kind=f"the number {value}", kernel=kernel, why="JSON has none")
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(kernel, item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(kernel, item) for key, item in value.items()}
    if isinstance(value, Schedule):
        return {"__schedule__": _plain(kernel, value.attributes())}
    if isinstance(value, BufferStrategy):
        return {"__strategy__": value.value}
    if isinstance(value, BufferConfig):
        return {"__buffer__": _plain(kernel, vars(value))}
    raise UserError(
        "cache-value", None, kind=f"a value of type {type(value).__name__}", kernel=kernel, why="JSON has none"
    )


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_restored(item) for item in value)
    if not isinstance(value, dict):
        return value
    inner = {key: _restored(item) for key, item in value.items()}
    if "__schedule__" in value:
        return Schedule(**inner["__schedule__"])
    if "__strategy__" in value:
        return BufferStrategy(value["__strategy__"])
    return BufferConfig(**inner["__buffer__"]) if "__buffer__" in value else inner


def _plain_shape(shape: Any) -> Any:
    """Return a shape as JSON-able data; raises UserError ``option-value`` for what is none."""
    try:
        return _plain_extents(shape)
    except RecursionError:
        raise _no_shape(f"a {type(shape).__name__} that contains itself") from None


def _plain_extents(shape: Any) -> Any:
    if isinstance(shape, Mapping):
        return {str(name): _plain_extents(item) for name, item in shape.items()}
    if isinstance(shape, (tuple, list)):
        return [_plain_extents(item) for item in shape]
    if shape is None or isinstance(shape, str):
        return shape
    if isinstance(shape, np.integer) or (isinstance(shape, int) and not isinstance(shape, bool)):
        return int(shape)
    raise _no_shape(shape)


def _no_shape(value: Any) -> UserError:
    wants = "a shape, one for each parameter, or a dict by parameter"
    return UserError("option-value", None, what="TilingCache", option="input_shape", value=value, wants=wants)
