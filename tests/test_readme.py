"""The tour in README.md runs and prints exactly what it says."""

from documents import ROOT, blocks, run_page


def test_tour() -> None:
    assert run_page(ROOT / "README.md") >= 2


def test_tour_shows_output() -> None:
    assert sum(block.language == "text" for block in blocks(ROOT / "README.md")) >= 2
