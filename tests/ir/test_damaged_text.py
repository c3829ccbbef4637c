"""Damaged files: a UserError, or a module that keeps the rules; never another exception, never a hang."""

from __future__ import annotations

import random
import time

import pytest

from damage import damage
from ir_generators import make_module
from pypto.ir.base.errors import UserError
from pypto.ir.bounds import check_bounds
from pypto.ir.nodes import Level, Module
from pypto.ir.parser import parse_module
from pypto.ir.printer import print_module
from pypto.ir.verifier import verify


def accept(text: str) -> Module | None:
    try:
        module = parse_module(text)
        verify(module)
        check_bounds(module)
    except UserError:
        return None
    return module


@pytest.mark.parametrize("level", list(Level))
def test_mutations(level: Level) -> None:
    start = time.monotonic()
    refused = 0
    for seed in range(300):
        source = random.Random(seed)
        text = print_module(make_module(random.Random(seed % 25), seed % 2 == 0, level))
        for _ in range(source.choice((1, 1, 1, 3))):
            text = damage(text, source) or "pto 1"
        module = accept(text)
        refused += module is None
        if module is not None:
            assert parse_module(print_module(module)) == module
    assert refused > 100
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    "text",
    [
        "pto 1\nkernel k() level tile {\n" + "for %i = 0 to 2 {\n" * 5000,
        "pto 1\nkernel k() level tile {\n" + "if 0 < 1 {\n" * 5000,
        "pto 1\n@fusion(a = " + "[" * 100000,
        "pto 1\n@fusion(a = " + "(" * 100000,
        "pto 1\n@fusion(a = " + "%n + " * 50000 + "1)",
        "pto 1\n@fusion(a = " + "min(" * 50000,
        "pto 1\n@fusion(a = " + "9" * 100000 + ")",
        "pto 1\n@fusion(a = 0." + "9" * 100000 + ")",
        "pto 1\n@fusion(a = 1e" + "9" * 100000 + ")\nkernel k() level tile {\n}\n",
        "pto " + "9" * 100000,
        "pto 1\n" + "#" * 100000,
        "\n" * 100000,
        "#" * 100000,
        "\n#" * 50000,
        "# #\r\n" * 20000 + "ptopto",
        " " * 100000,
        "pto 1\n" + "\r\n # \r" * 30000 + "x",
        "pto 1\nkernel k(" + "\n" * 50000,
        "pto 1\nkernel k() level tile {\n" + "%a" * 50000,
        "pto 1\nkernel k() level tile {\n  %a = neg " + "%a, " * 50000,
        "pto 1" + " \n" * 100000 + "#",
        '"' * 100000,
        "pto 1\n" + '"\\' * 50000,
        "\x00" * 1000,
        "\ufeffpto 1\n",
        "pto 1\nkernel k() level tile {\n}\n" * 2,
    ],
    ids=range(26),
)
def test_hostile_text(text: str) -> None:
    start = time.monotonic()
    accept(text)
    assert time.monotonic() - start < 5


def test_huge_extents_are_numbers_only() -> None:
    text = f"pto 1\nkernel k(x: gm f32[{2**62}, {2**62}]) level tile {{\n  %a = load x[{2**61} : 1, 0 : 1]\n}}\n"
    assert accept(text) is not None
