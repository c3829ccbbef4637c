"""docs/numerics.md says what the operation table says, and what was measured lies within it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pypto.ir.dtypes import F32
from pypto.ir.numerics import error_bound
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "numerics.md"


def rows() -> dict[str, list[str]]:
    lines = [line for line in DOCUMENT.read_text().splitlines() if re.match(r"\| \w+ \| [\d.]+ ulp \|", line)]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {cell[0]: cell[1:] for cell in cells}


def test_every_operation_that_rounds_is_listed_with_its_bound():
    rounded = {
        name: record.error_bound
        for name, record in TABLE.items()
        if record.category is Category.ELEMENTWISE and record.error_bound != "exact"
    }
    assert {name: cells[0] for name, cells in rows().items()} == rounded


@pytest.mark.parametrize("name", list(rows()))
def test_what_was_measured_lies_within_the_bound(name):
    bound = error_bound(name, F32)
    assert bound is not None
    assert all(float(cell) <= bound for cell in rows()[name][1:])
