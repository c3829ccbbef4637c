"""The page about the text format is true: its code runs, its kernels are right and printed as the printer prints them."""

from __future__ import annotations

import pytest

from documents import ROOT, Block, blocks, run_page
from pypto.ir.base.errors import UserError
from pypto.ir.bounds import check_bounds
from pypto.ir.nodes import Level
from pypto.ir.parser import parse_module
from pypto.ir.printer import print_module

PAGE = ROOT / "docs" / "ir.md"
KERNELS = [block for block in blocks(PAGE) if block.language == "pto"]


def test_code_runs() -> None:
    assert run_page(PAGE) == 2


@pytest.mark.parametrize("block", KERNELS, ids=lambda block: f"line {block.line}")
def test_kernel_is_right_and_printed_so(block: Block) -> None:
    module = parse_module(block.text, "docs/ir.md")
    check_bounds(module)
    assert print_module(module).strip() == block.text.strip()


def test_error_is_the_real_one() -> None:
    text = "pto 1\nkernel k(x: gm f32[1000]) level tile {\n  grid %b : 8\n  %0 = load x[%b * 128 : 128]\n}\n"
    with pytest.raises(UserError) as caught:
        check_bounds(parse_module(text, "kernel.pto"))
    assert str(caught.value) in PAGE.read_text(encoding="utf-8")


def test_levels_are_named() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for level in Level:
        assert f"| `{level.value}` |" in page
