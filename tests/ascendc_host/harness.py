"""Kernels kept as C++ beside the tests: many in one source, each with what it must give in comments on its lines."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pypto.runtime.ascendc_host.driver import Mode, Program, RunOptions, build, run
from pypto.runtime.ascendc_host.report import Report

FOLDER = Path(__file__).parent / "kernels"
HEAD = re.compile(r"__global__ __(?:vector|cube|mix)__.*?void (\w+)\([^)]*\)(?:\s*//(.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Expected:
    """Of one kernel: findings that must come up, those that may (which of two cores comes first is open), blocks, result."""

    name: str
    must: frozenset[tuple[str, int]]
    may: frozenset[tuple[str, int]]
    blocks: int
    result: str


@functools.cache
def program(file: str) -> Program:
    return build((FOLDER / file).read_text(), file=file, include=())


@functools.cache
def expectations(file: str) -> dict[str, Expected]:
    text = (FOLDER / file).read_text()
    heads = list(HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = {}
    for head, end in zip(heads, ends, strict=True):
        first = text.count("\n", 0, head.start()) + 1
        lines = text[head.start() : end].splitlines()
        rules = [
            (match[1], first + k) for k, line in enumerate(lines) if (match := re.search(r"// rule: ([\w?-]+)", line))
        ]
        must = frozenset((rule, line) for rule, line in rules if not rule.endswith("?"))
        may = frozenset((rule[:-1], line) for rule, line in rules if rule.endswith("?"))
        note = head[2] or ""
        blocks = re.search(r"blocks: (\d+)", note)
        result = re.search(r"z: (.*)", note)
        found[head[1]] = Expected(head[1], must, may, int(blocks[1]) if blocks else 1, result[1] if result else "")
    return found


def inputs() -> dict[str, NDArray[np.float32]]:
    x = np.arange(1024, dtype=np.float32)
    return {"x": x, "y": 1024 - x, "z": np.zeros(1024, np.float32)}


def execute(file: str, name: str, mode: Mode, seed: int = 0) -> Report:
    expected = expectations(file)[name]
    options = RunOptions(mode, seed, time_limit=20)
    return run(program(file), inputs(), kernel=name, blocks=expected.blocks, options=options)
