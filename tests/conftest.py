"""Options of the test suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-kernels", type=int, default=500, help="number of random kernels (default: %(default)s)")
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")
    parser.addoption("--all-orders", action="store_true", help="run all random vector kernels in all orders of pipes")
    parser.addoption("--fuzz-seed", type=int, default=20250, help="seed of the random kernels (default: %(default)s)")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file ``golden/NAME`` beside the test; ``--update-golden`` writes the file instead."""

    def compare(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; run pytest --update-golden if that is meant"

    return compare
