"""Small mistakes in texts of real kernels: a UserError, or a kernel that can be lowered and checked; never a traceback."""

from __future__ import annotations

import functools
import random
import re
import time

import pytest

from damage import damage
from passes.corpus import CORPUS
from pypto.checking import check_module
from pypto.ir.base.errors import UserError
from pypto.ir.bounds import check_bounds
from pypto.ir.nodes import Level
from pypto.ir.operations.table import TABLE
from pypto.ir.parser import parse_module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.printer import print_module

KERNELS = ("chain", "softmax", "half", "choices", "masks", "casts", "accumulate", "nested", "spmd", "clipped", "views")
TOKENS = re.compile(r'"[^"]*"|[%@]?\w+(?:\.\d+)?|\s+|.', re.DOTALL)
WORDS = ("f32", "i32", "f16", "bf16", "i8", "u8", "i64", "bool", "true", "none", '"V"', '"S"', '"MTE2"', '"MTE3"')
STEPS = (-256, -8, -1, 1, 2, 8, 256, 10**6)


@functools.cache
def texts() -> tuple[str, ...]:
    """Each kernel at every level."""
    found = []
    for name in KERNELS:
        module = CORPUS[name]()
        found.append(print_module(module))
        for item in NPU_PASSES:
            level = module.level
            module, _ = run_passes(module, (item,))
            if module.level is not level or module.level is Level.PLANNED:
                found.append(print_module(module))
    return tuple(found)


def slip(text: str, source: random.Random) -> str:
    """A mistake that a person makes: a line lost or moved, another value, buffer, number, operation or word."""
    lines, kind = text.split("\n"), source.randrange(7)
    first, second = source.randrange(len(lines)), source.randrange(len(lines))
    if kind == 0:
        return "\n".join(lines[:first] + lines[first + 1 :])
    if kind == 1:
        lines[first], lines[second] = lines[second], lines[first]
        return "\n".join(lines)
    tokens = TOKENS.findall(text)
    fitting = (str.startswith, str.startswith, str.isdigit, TABLE.__contains__, WORDS.__contains__)[kind - 2]
    words = (("%",), ("@",), (), (), ())[kind - 2]
    places = [number for number, token in enumerate(tokens) if fitting(token, *words)]
    if not places:
        return text
    place = source.choice(places)
    if kind < 4:
        tokens[place] = tokens[source.choice(places)]
    elif kind == 4:
        tokens[place] = str(max(0, int(tokens[place]) + source.choice(STEPS)))
    else:
        tokens[place] = source.choice(sorted(TABLE) if kind == 5 else WORDS)
    return "".join(tokens)


def lowered(text: str) -> bool:
    """Read, lower and check a text; return whether it is a kernel."""
    try:
        module = parse_module(text)
        check_bounds(module)
        left = [item for item in NPU_PASSES if item.needs.rank >= module.level.rank]
        check_module("damaged", run_passes(module, left)[0])
    except UserError:
        return False
    return True


@pytest.mark.parametrize("start", range(0, 2000, 500))
def test_slips(start: int) -> None:
    kernels = 0
    for seed in range(start, start + 500):
        source = random.Random(seed)
        text = source.choice(texts())
        for _ in range(source.choice((1, 1, 2))):
            text = slip(text, source)
        begin = time.process_time()
        kernels += lowered(text)
        assert time.process_time() - begin < 10
    assert 30 < kernels < 300


@pytest.mark.parametrize("start", range(0, 1000, 500))
def test_damage(start: int) -> None:
    for seed in range(start, start + 500):
        source = random.Random(seed)
        lowered(damage(source.choice(texts()), source) or "pto 1")
