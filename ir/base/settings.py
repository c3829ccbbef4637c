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
    override: str = ""
    """Folder of texts, named as in a dump, that replace what stages make; empty for none."""
    verify: bool = False
    """Run the verifier after every pass, not only once at level tile."""
    target: str = "cpu"
    """Target of `compile` when none is given."""
    cache: str = field(default_factory=_default_cache)
    """Folder of the object cache; ``off`` or an empty text disables it."""
    num_threads: int = 0
    """Threads of the CPU target; 0 for one per core that this process may use."""
    vector_bits: int = 0
    """Vector width of generated CPU code in bits; 0 for the machine's own."""
    specializations: int = 64
    """Most specialisations that one compiled kernel keeps in memory."""
    compile_threads: int = 0
    """Processes that compile candidates of tuning; 0 for one per core, 1 for none beside this one. Where it is not set,
    ``TORCHINDUCTOR_COMPILE_THREADS`` counts."""
    autotune_topn: int = 1
    """Candidates of tuning that are compiled and measured, at most 10; 1 takes the modelled best unmeasured. Where it
    is not set, ``TORCHINDUCTOR_ASCENDC_AUTOTUNE_TOPN`` counts."""
    bench_method: str = "event"
    """How candidates are measured: ``event`` or ``profiler``. Where it is not set, ``TRITON_BENCH_METHOD=npu`` means
    the profiler."""

    cube_limit: int = 0
    """Cube cores of a device that kernels may use; 0 for all. `set_device_limit` sets it."""
    vector_limit: int = 0
    """Vector cores of a device that kernels may use; 0 for all. `set_device_limit` sets it."""


_NAMES = {item.name: item for item in dataclasses.fields(Settings)}


_LEAST = {
    "debug": 0,
    "num_threads": 0,
    "vector_bits": 0,
    "specializations": 1,
    "compile_threads": 0,
    "autotune_topn": 1,
    "cube_limit": 0,
    "vector_limit": 0,
}
"""The smallest value of each number; a setting added without one here fails a test."""

_CHOICES = {"bench_method": ("event", "profiler")}
"""The values of settings that have a few."""


def _wanted(name: str) -> str:
    if name in _CHOICES:
        return " or ".join(_CHOICES[name])
    kind = type(getattr(Settings(), name))
    return {int: f"a whole number of at least {_LEAST.get(name, 0)}", bool: "0 or 1", str: "a text"}[kind]


MOST_TOPN = 10


def _mistake(name: str, shown: str, value: object) -> UserError:
    if name == "autotune_topn":
        kind = "topn-below-one" if type(value) is int else "topn-not-integer"
        return UserError(kind, None, setting=shown, value=value, most=MOST_TOPN)
    return UserError("setting-value", None, setting=shown, value=value, wanted=_wanted(name))


def _parse(name: str, variable: str, text: str) -> int | bool | str:
    kind = type(getattr(Settings(), name))
    if kind is str:
        return _checked(name, variable, text)
    try:
        number = int(text)
    except ValueError:
        raise _mistake(name, variable, text) from None
    return _checked(name, variable, bool(number) if kind is bool and number in (0, 1) else number)


def _checked(name: str, shown: str, value: object) -> int | bool | str:
    """Return `value` as the setting keeps it; raises UserError ``setting-value`` for one of another type or range."""
    kind = type(getattr(Settings(), name))
    if kind is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, (bool, int, str)) or type(value) is not kind:
        raise _mistake(name, shown, value)
    if kind is int and int(value) < _LEAST[name]:
        raise _mistake(name, shown, value)
    if name in _CHOICES and value not in _CHOICES[name]:
        raise _mistake(name, shown, value)
    if name == "cache" and not value:
        return "off"  # an empty path would be the current folder
    if name in ("cache", "dump", "override"):
        return os.path.expanduser(str(value))
    return value


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Return the settings that `environment` gives; an unknown ``PYPTO_*`` name warns with the nearest one.

    An empty variable is as good as none, as in most tools. Raises UserError ``setting-value``, ``topn-not-integer`` or
    ``topn-below-one``.
    """
    values: dict[str, int | bool | str] = {}
    for variable, text in environment.items():
        if not variable.startswith("PYPTO_") or not text:
            continue
        name = variable[6:].lower()
        if name in _NAMES:
            values[name] = _parse(name, variable, text)
        else:
            hint = nearest(variable, [f"PYPTO_{item.upper()}" for item in _NAMES])
            warnings.warn(f"unknown setting {variable}: {hint}", stacklevel=2)
    return Settings(**{**_from_others(environment), **values})  # type: ignore[arg-type]  # _parse gives each its type


def _from_others(environment: Mapping[str, str]) -> dict[str, int | bool | str]:
    """Return what the variables of torch and Triton say that stand in for ours; what they cannot say is not said."""
    values: dict[str, int | bool | str] = {}
    threads = environment.get("TORCHINDUCTOR_COMPILE_THREADS", "")
    if threads.isdecimal():
        values["compile_threads"] = max(1, int(threads))
    if environment.get("TRITON_BENCH_METHOD", "").lower() == "npu":
        values["bench_method"] = "profiler"
    variable = "TORCHINDUCTOR_ASCENDC_AUTOTUNE_TOPN"
    if environment.get(variable) and not environment.get("PYPTO_AUTOTUNE_TOPN"):
        values["autotune_topn"] = _parse("autotune_topn", variable, environment[variable])
    return values


@functools.lru_cache(maxsize=1)
def _process_settings() -> Settings:
    return from_environment(os.environ)


_SCOPED: contextvars.ContextVar[Settings | None] = contextvars.ContextVar("pypto_settings", default=None)


_LASTING: list[Settings] = []
"""What `set_for_process` put in place of the environment's settings; the last one counts."""


def current() -> Settings:
    """Return the settings in force here: the innermost scope, else the process's, else the environment's."""
    return _SCOPED.get() or (_LASTING[-1] if _LASTING else _process_settings())


def set_for_process(**changes: int) -> None:
    """Change settings for the whole process, and for the scope that this is called in, until they are set again."""
    process = _LASTING[-1] if _LASTING else _process_settings()
    _LASTING[:] = [dataclasses.replace(process, **changes)]  # type: ignore[arg-type]  # callers name fields
    scoped = _SCOPED.get()
    if scoped is not None:
        _SCOPED.set(dataclasses.replace(scoped, **changes))  # type: ignore[arg-type]


@contextlib.contextmanager
def settings(**changes: int | bool | str | os.PathLike[str]) -> Iterator[Settings]:
    """Change settings inside a ``with`` block: ``with pypto.settings(debug=2):``.

    Raises UserError ``unknown-setting`` for a name that is not a setting, ``setting-value`` for a wrong value.
    """
    for name in changes:
        if name not in _NAMES:
            raise UserError("unknown-setting", None, setting=name, hint=nearest(name, _NAMES))
    values = {name: _checked(name, name, value) for name, value in changes.items()}
    token = _SCOPED.set(dataclasses.replace(current(), **values))  # type: ignore[arg-type]  # names checked above
    try:
        yield current()
    finally:
        _SCOPED.reset(token)
