"""Tiles that no core can hold: what a loop uses of them is copied alone, and the kernel says so."""

from __future__ import annotations

import pytest

from passes.large_tiles import FUNCTIONS, module
from passes.test_tiles import attribute, check


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_tile_larger_than_a_core(name: str) -> None:
    kernel = check(module(name), 1)
    assert "a tile needs more than a core has" in str(attribute(kernel, "notes"))
