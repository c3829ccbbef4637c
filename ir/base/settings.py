"""The settings: one typed table, read from ``PYPTO_*`` variables, changed for a while by ``with settings(...)``."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pypto.ir.base.errors import UserError, nearest


def _default_cache() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(base) / "pypto")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Each field NAME is also the environment variable ``PYPTO_NAME`` in capitals."""

    debug: int = 0
    """0 silent, 1 notes on standard error, 2 also timings of every pass."""
    dump: str = ""
    """Folder that receives the numbered text of every stage; empty for none."""
    verify: bool = False
    """Run the verifier after every pass, not only once at level tile."""
    target: str = "cpu"
    """Target of `compile` when none is given."""
    cache: str = field(default_factory=_default_cache)
    """Folder of the object cache; ``off`` disables it."""
    num_threads: int = 0
    """Threads of the CPU target; 0 for one per core that this process may use."""
    vector_bits: int = 0
    """Vector width of generated CPU code in bits; 0 for the machine's own."""
    specializations: int = 64
    """Most specialisations that one compiled kernel keeps in memory."""


_NAMES = {item.name: item for item in dataclasses.fields(Settings)}


def _parse(name: str, text: str) -> int | bool | str:
    kind = type(getattr(Settings(), name))
    try:
        if kind is bool:
            return bool(int(text or "0"))
        return int(text) if kind is int else text
    except ValueError:
        raise UserError("setting-value", setting=f"PYPTO_{name.upper()}", value=text, kind=kind.__name__) from None


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Return the settings that `environment` gives; an unknown ``PYPTO_*`` name warns with the nearest one."""
    values: dict[str, int | bool | str] = {}
    for variable, text in environment.items():
        if not variable.startswith("PYPTO_"):
            continue
        name = variable[6:].lower()
        if name in _NAMES:
            values[name] = _parse(name, text)
        else:
            hint = nearest(variable, [f"PYPTO_{item.upper()}" for item in _NAMES])
            warnings.warn(f"unknown setting {variable}: {hint}", stacklevel=2)
    return Settings(**values)  # type: ignore[arg-type]  # _parse gives each field its own type


@functools.lru_cache(maxsize=1)
def _process_settings() -> Settings:
    return from_environment(os.environ)


_SCOPED: contextvars.ContextVar[Settings | None] = contextvars.ContextVar("pypto_settings", default=None)


def current() -> Settings:
    """Return the settings in force here: the innermost scope, else the environment's."""
    return _SCOPED.get() or _process_settings()


@contextlib.contextmanager
def settings(**changes: int | bool | str) -> Iterator[Settings]:
    """Change settings inside a ``with`` block: ``with pypto.settings(debug=2):``.

    Raises UserError for a name that is not a setting.
    """
    for name in changes:
        if name not in _NAMES:
            raise UserError("unknown-setting", None, setting=name, hint=nearest(name, _NAMES))
    token = _SCOPED.set(dataclasses.replace(current(), **changes))  # type: ignore[arg-type]  # names checked above
    try:
        yield current()
    finally:
        _SCOPED.reset(token)
