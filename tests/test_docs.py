"""The documentation is true: its code runs, its links lead somewhere, its lists are those of the code."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from documents import PAGES, ROOT, links, run_page
from pypto.ir.nodes import Level
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE


@pytest.mark.parametrize("name", ["operation_list", "function_list"])
def test_lists_are_those_of_the_code(name: str) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))
    page = script["PAGE"].read_text(encoding="utf-8")
    assert page == script["replaced"](page), "write it anew: make docs"


def test_operation_list_is_complete() -> None:
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    for record in TABLE.values():
        if record.category is not Category.SYNCHRONISATION and record.level is Level.TILE:
            assert f"| `{record.name}(" in page, record.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [target for target in links(page) if not (page.parent / target).exists()]
    assert not missing, missing


def test_code_of_the_language_page_runs() -> None:
    assert run_page(ROOT / "docs" / "language.md") >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_names_only_make_targets_that_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in page.read_text(encoding="utf-8").splitlines():
        words = line.strip().strip("`").split()
        if words[:1] == ["make"] and len(words) > 1 and words[1].replace("-", "").isalpha():
            assert f"\n{words[1].strip('`')}:" in makefile, line
