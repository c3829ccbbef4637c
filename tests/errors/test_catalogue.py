"""The catalogue as a whole: every entry has a test, every report has the same form."""

from __future__ import annotations

import pickle
import re
import string
from pathlib import Path

import pytest

from pypto import UserError
from pypto.ir.base.catalogue import CATALOGUE, Entry
from pypto.ir.base.locations import Location

FOLDER = Path(__file__).parent
TESTS = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.rglob("test_*.py") if path != Path(__file__)}
PACKAGE = Path(__import__("pypto").__file__).parent


def fields(template: str) -> set[str]:
    return {re.split(r"[.\[!:]", name)[0] for _, name, _, _ in string.Formatter().parse(template) if name}


def example(entry: Entry) -> dict[str, object]:
    """Return details that satisfy any format the templates ask for."""
    return dict.fromkeys(fields(entry.message) | fields(entry.help), 7)


def test_there_are_forty_entries() -> None:
    assert len(CATALOGUE) >= 40


@pytest.mark.parametrize("name", CATALOGUE)
def test_entry_has_a_test(name: str) -> None:
    """Some file in tests/errors/ quotes the name."""
    assert any(f'"{name}"' in text for text in TESTS.values()), f"no test in tests/errors/ names {name!r}"


@pytest.mark.parametrize("name", CATALOGUE)
def test_entry_is_raised_somewhere(name: str) -> None:
    folders = (PACKAGE, *(PACKAGE / linked for linked in ("ir", "codegen", "runtime")))
    sources = {path for folder in folders for path in folder.rglob("*.py") if "catalogue" not in path.parts}
    assert any(f'"{name}"' in path.read_text(encoding="utf-8") for path in sources), f"nothing raises {name!r}"


@pytest.mark.parametrize(("name", "entry"), CATALOGUE.items())
def test_entry_reads_well(name: str, entry: Entry) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert entry.message
    assert entry.help, "say what to write instead"
    for text in (entry.message, entry.help):
        assert text == text.strip()
        assert not text.endswith("."), "a phrase, not a sentence with a full stop"
        assert "\n" not in text


@pytest.mark.parametrize("name", CATALOGUE)
def test_report_has_place_source_caret_and_help(name: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("first\n\tout[:] = x + y\n", encoding="utf-8")
    error = UserError(name, Location(str(file), 2, 11, 16), **example(CATALOGUE[name]))
    first, source, caret, *rest = str(error).splitlines()
    assert first == f"{file}:2:11: error[{name}]: {error.message}"
    assert source == "    \tout[:] = x + y"
    assert caret == "    \t         ^^^^^"
    assert rest == [f"  help: {error.help}"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_report_without_a_place(name: str) -> None:
    error = UserError(name, None, **example(CATALOGUE[name]))
    assert str(error).startswith(f"error[{name}]: ")
    assert "^" not in str(error).splitlines()[-1]


def test_report_without_a_readable_source_keeps_the_place() -> None:
    error = UserError("reshape-size", Location("<string>", 3, 5, 9), before="(2,)", after="(3,)")
    assert str(error).splitlines()[0].startswith("<string>:3:5: error[reshape-size]: ")
    assert len(str(error).splitlines()) == 2


def test_report_survives_pickling() -> None:
    error = UserError("reshape-size", Location("a.py", 3), before="(2,)", after="(3,)")
    again = pickle.loads(pickle.dumps(error))
    assert (again.name, again.location, again.details, str(again)) == (
        error.name, error.location, error.details, str(error)
    )  # fmt: skip
