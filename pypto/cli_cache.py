"""`pypto cache`: look at what tuning has kept, check it, remove it, take it elsewhere."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pypto.cli_kernels import Json
from pypto.cli_tune import Cache
from pypto.ir.base.errors import UserError

if TYPE_CHECKING:
    from pypto.tiling_cache import Entry, TilingCache

cache = typer.Typer(help="Look at what tuning has kept, check it, remove it.", no_args_is_help=True)


@cache.command("ls")
def list_entries(cache: Cache = None, as_json: Json = False) -> int:
    """List the tilings that are kept."""
    entries = _open(cache).entries()
    if as_json:
        print(json.dumps([_short(entry) for entry in entries], indent=2))
    for entry in () if as_json else entries:
        item = _short(entry)
        place = f"{item['kernel']} {item['shapes']} on {item['target']}"
        print(f"{item['key'][:12]}  {item['written']}  {place}: {item['best']}")
    return 0


@cache.command()
def show(key: str, cache: Cache = None, as_json: Json = False) -> int:
    """Show everything about the tilings whose key begins with KEY, or of the kernels of that name."""
    entries = [item for item in _open(cache).entries() if item.subject.startswith(key) or item.kernel == key]
    if not entries:
        raise UserError("cache-key", None, key=key, path=str(_open(cache).path))
    if as_json:
        print(json.dumps([{**_short(entry), "value": _whole(entry)} for entry in entries], indent=2))
    for entry in () if as_json else entries:
        item = _short(entry)
        print(f"{item['key']}\n  {item['kernel']} {item['shapes']} on {item['target']}, {item['written']}")
        print(entry.value.table() if hasattr(entry.value, "table") else f"  {entry.value}")
    return 0


@cache.command()
def prune(
    cache: Cache = None,
    days: float | None = typer.Option(None, "--days", min=0, help="only what was written longer ago"),
    kernel: str | None = typer.Option(None, "--kernel", help="only what belongs to kernels of this name"),
    everything: bool = typer.Option(False, "--all", help="everything"),
    as_json: Json = False,
) -> int:
    """Remove tilings, measured times and binaries."""
    if days is None and kernel is None and not everything:
        wants = "given, or --kernel, or --all"
        raise UserError("option-value", None, what="cache prune", option="--days", value=None, wants=wants)
    removed = _open(cache).prune(days=days, kernel=kernel)
    print(json.dumps({"removed": removed}) if as_json else f"{removed} tilings removed")
    return 0


@cache.command()
def verify(cache: Cache = None, as_json: Json = False) -> int:
    """Check the file, every row and every binary; exit code 1 when something is wrong."""
    problems = _open(cache).verify()
    if as_json:
        print(json.dumps({"problems": problems}, indent=2))
    else:
        print("\n".join(problems) or "nothing is wrong")
    return 1 if problems else 0


@cache.command("export")
def export_entries(path: Path, cache: Cache = None) -> int:
    """Write everything as JSON to PATH."""
    print(f"{_open(cache).export_json(path)} rows written to {path}")
    return 0


@cache.command("import")
def import_entries(path: Path, cache: Cache = None) -> int:
    """Add what an export wrote."""
    print(f"{_open(cache).import_json(path)} rows added")
    return 0


def _open(path: Path | None) -> TilingCache:
    from pypto.tiling_cache import TilingCache

    return TilingCache(path)


def _short(entry: Entry) -> dict[str, Any]:
    value = entry.value
    best = str(value) if not hasattr(value, "candidate") else value.candidate.describe()
    return {
        "key": entry.subject,
        "kernel": entry.kernel,
        "shapes": _plain(entry.shapes),
        "target": entry.target,
        "written": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.written)),
        "best": best,
        "seconds": getattr(value, "seconds", None),
        "timings": entry.timings,
    }


def _plain(shapes: Any) -> Any:
    return dict(shapes) if hasattr(shapes, "items") else shapes


def _whole(entry: Entry) -> Any:
    from pypto.tiling_cache import encoded

    return encoded(entry.kernel, entry.value)
