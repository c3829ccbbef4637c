"""The setting `override`: a folder of texts that replace what stages make.

Files are named as a dump names them, ``NN-stage.pto`` and ``source.ll`` or ``source.cpp``; the number is for readers.
Of a folder as it was dumped only the edited files count, so that an edit is not undone by the later stages as they
were; when none was edited, all do.
"""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.files import is_as_written
from pypto.ir.base.locations import Location
from pypto.ir.base.settings import current
from pypto.ir.nodes import Module, Parameter

T = TypeVar("T")

_FILE = re.compile(r"(?:\d+-)?(?P<stage>\w+\.(?:pto|ll|cpp))")
_OTHERS = re.compile(r"explain\.txt|.*\.failed\.pto|\..*")
"""What stands beside the texts of stages in a folder that was dumped or saved."""


@dataclass(frozen=True, slots=True)
class Override:
    """The text that replaces what a stage makes."""

    path: Path
    text: str

    def at(self, line: int = 1, column: int = 0) -> Location:
        """Return a place in the text."""
        lines = self.text.split("\n")
        shown = lines[line - 1] if 0 < line <= len(lines) else None
        return Location(str(self.path), line, column, text=shown)

    def describe(self, stage: str) -> str:
        return f"stage {stage}: its text was taken from {self.path}"


@dataclass(frozen=True, slots=True)
class Overrides:
    """The texts of one folder, by stage and ending as ``fold_constants.pto``."""

    texts: Mapping[str, Override] = field(default_factory=dict)

    def replaced(self, stage: str, result: T, notes: list[str]) -> T:
        """Return what the folder has in place of a stage's `result`, else that; add to `notes` which it was.

        Raises UserError for a text that is wrong: whatever reading PTO IR raises, ``override-level``,
        ``override-parameters``, ``override-llvm``, ``override-symbol``.
        """
        if not self.texts:
            return result
        module = getattr(result, "module", result)
        if isinstance(module, Module):
            return self._module(stage, result, module, notes)
        if isinstance(result, str):
            return self._text(stage, result, notes)
        return self._code(stage, result, notes) if hasattr(result, "phases") else result

    def _module(self, stage: str, result: T, made: Module, notes: list[str]) -> T:
        override = self.texts.get(f"{stage}.pto")
        if override is None:
            return result
        module = _read_module(override)
        if module.name != made.name:
            _note(notes, f"stage {stage}: {override.path} is of module {module.name}, so it was not taken")
            return result
        _check_module(override, module, made)
        _note(notes, override.describe(stage))
        if isinstance(result, Module):
            return module  # type: ignore[return-value]  # T is Module
        assert is_dataclass(result) and not isinstance(result, type), "what carries a module is a record"
        return replace(result, module=module)

    def _text(self, stage: str, made: T, notes: list[str]) -> T:
        override = self.texts.get(f"{stage}.cpp")
        if override is None:
            return made
        missing = [name for name in _launchers(str(made)) if name not in _launchers(override.text)]
        if missing:
            raise UserError("override-symbol", override.at(), symbol=missing[0], file=override.path)
        _note(notes, override.describe(stage))
        return override.text  # type: ignore[return-value]  # T is str

    def _code(self, stage: str, made: Any, notes: list[str]) -> Any:
        override = self.texts.get(f"{stage}.ll")
        if override is None:
            return made
        _check_llvm(override, {phase.symbol for phase in made.phases})
        _note(notes, override.describe(stage))
        return replace(made, text=override.text)


def _note(notes: list[str], note: str) -> None:
    notes.append(note)
    if current().debug >= 1:
        print(f"pypto: {note}", file=sys.stderr)


def _read_module(override: Override) -> Module:
    from pypto.ir.bounds import check_bounds
    from pypto.ir.parser import parse_module

    module = parse_module(override.text, str(override.path))
    check_bounds(module, str(override.path))
    return module


def _check_module(override: Override, module: Module, made: Module) -> None:
    if module.level is not made.level:
        details = {"given": module.level.value, "wanted": made.level.value}
        raise UserError("override-level", override.at(), file=override.path, **details)
    if module.parameters != made.parameters:
        details = {"given": _signature(module.parameters), "wanted": _signature(made.parameters)}
        raise UserError("override-parameters", override.at(), file=override.path, **details)


def _signature(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(f"{item.name}: {item.role.value} {item.type}" for item in parameters)


def _launchers(text: str) -> tuple[str, ...]:
    """Return the names of the functions in AscendC source that launch kernels."""
    return tuple(re.findall(r'^extern "C" void (\w+)\(', text, re.MULTILINE))


def _check_llvm(override: Override, symbols: set[str]) -> None:
    from pypto.runtime.toolchain import functions_in

    try:
        defined = functions_in(override.text)
    except ValueError as error:
        why, line, column = error.args
        raise UserError("override-llvm", override.at(line, column), why=why) from None
    for symbol in sorted(symbols - defined):
        raise UserError("override-symbol", override.at(), symbol=symbol, file=override.path)


# -- reading the folder


def current_overrides() -> Overrides:
    """Return the texts of the folder settings.override; raises UserError ``override-folder`` or ``override-twice``.

    A file that no stage has the name of is warned about.
    """
    if not current().override:
        return Overrides()
    return _chosen(_read_folder(Path(current().override)))


def fingerprint() -> str:
    """Return a digest of the texts in force, for keys of caches; empty without any."""
    texts = current_overrides().texts
    if not texts:
        return ""
    parts = sorted(f"{stage}\0{override.text}" for stage, override in texts.items())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _read_folder(folder: Path) -> dict[str, Override]:
    if current().dump and Path(current().dump).resolve() == folder.resolve():
        raise UserError("override-dump", None, folder=str(folder))
    try:
        paths = sorted(path for path in folder.iterdir() if not _OTHERS.fullmatch(path.name))
    except OSError as error:
        raise UserError("override-folder", None, path=str(folder), why=error.strerror) from None
    found: dict[str, Override] = {}
    for path in paths:
        stage = _stage_of(path)
        if stage is None:
            continue
        if stage in found:
            raise UserError("override-twice", None, first=found[stage].path, second=path, stage=stage)
        found[stage] = Override(path, _read(path))
    return found


def _stage_of(path: Path) -> str | None:
    """Return the stage that a file is the text of, with its ending; warn when it is none's."""
    from pypto.compiler import module_stages

    names = {f"{name}.pto" for name in module_stages()} | {"source.ll", "source.cpp"}
    match = _FILE.fullmatch(path.name)
    if match is not None and match["stage"] in names:
        return match["stage"]
    hint = nearest(match["stage"] if match is not None else path.name, names)
    warnings.warn(f"PYPTO_OVERRIDE: {path} is the text of no stage: {hint}", stacklevel=2)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise UserError("override-folder", None, path=str(path), why=why) from None


def _chosen(found: Mapping[str, Override]) -> Overrides:
    """Return the edited texts; all when none was edited."""
    edited = {stage: override for stage, override in found.items() if not is_as_written(override.text)}
    return Overrides(edited or found)
