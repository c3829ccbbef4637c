"""Options of the test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-kernels", type=int, default=500, help="number of random kernels (default: %(default)s)")
    parser.addoption("--fuzz-seed", type=int, default=20250, help="seed of the random kernels (default: %(default)s)")
