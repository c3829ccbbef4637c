"""Random loop bodies with aliases, views and re-binding: the traced kernel gives what Python gives, or refuses."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto
from tests.language.running import run

F32 = np.float32
NAMES = ("a", "b", "c")
REFUSALS = {"loop-alias", "loop-value", "loop-carried-type", "loop-difference"}


def statement(chance: random.Random, index: str, depth: int) -> list[str]:
    """Return one random statement; `index` is the innermost loop index."""
    n, m, k = (chance.choice(NAMES) for _ in range(3))
    forms = [
        f"{n} = {m} + {k}", f"{n} = {m} * 0.5 + x[{index}]", f"{n} += {m}", f"{n} += x[{index}]", f"{n}[:] = {m} - 1.0",
        f"{n}[1:] = {m}[:-1]", f"{n}[{index} % 2] = 3.0", f"{n}, {m} = {m}, {n}", f"{n}, {m} = {m} + 1.0, {n}",
        f"{n} = {m}", f"{n} = {m}[::-1]", f"t = {n} * 2.0; {m} = t + {k}", f"v = {n}[1:3]; v *= 2.0",
        f"choose({n}[0] > 0.0, lambda: {m}.__setitem__(slice(1, 3), {k}[1:3] + 1.0), lambda: add_half({k}))",
        f"choose({index} < 2, lambda: {m}.__setitem__(0, {k}[1] - 1.0), lambda: x.__setitem__({index}, {n}))",
        f"choose({index} == 1, lambda: {m}.__setitem__(slice(None), {k}))",
        f"x[{index}] = {n}", f"x[{index}, 1:] += {n}[1:]", f"{n} = x[{index}]", f"{n} = x[{index}] + 0.0",
    ]  # fmt: skip
    if depth and chance.random() < 0.2:
        inner = "j" if index == "i" else "k"
        body = [line for _ in range(chance.randint(1, 3)) for line in statement(chance, inner, depth - 1)]
        return [f"for {inner} in turns({chance.randint(0, 3)}):", *("    " + line for line in body)]
    return [chance.choice(forms)]


def choose(condition: Any, then: Any, other: Any = None) -> None:
    """What `pypto.cond` means."""
    if condition:
        then()
    elif other is not None:
        other()


def program(seed: int) -> str:
    chance = random.Random(seed)
    first = ["a = x[0] + 0.0", f"b = {chance.choice(['x[1] * 1.0', 'a', 'a[::-1]', 'x[1]'])}"]
    first.append(f"c = {chance.choice(['x[2] - 1.0', 'a', 'b', 'x[2]', 'b + a'])}")
    body = [line for _ in range(chance.randint(1, 4)) for line in statement(chance, "i", 1)]
    loop = [f"for i in turns({chance.randint(0, 4)}):", *("    " + line for line in body)]
    last = ["out[0] = a", "out[1] = b", "out[2] = c"]
    return "def add_half(tile):\n    tile += 0.5\n\n\ndef kernel(x, out):\n" + "".join(
        f"    {line}\n" for line in (*first, *loop, *last)
    )


def load(folder: Path, seed: int, turns: Any) -> Any:
    """Return the program as a function of a real file, so that its loops are rewritten."""
    file = folder / f"program_{seed}.py"
    file.write_text(program(seed), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"program_{seed}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.turns = turns  # type: ignore[attr-defined]  # globals of the program
    module.choose = pypto.cond if turns is pypto.loop else choose  # type: ignore[attr-defined]
    return module.kernel


def check(folder: Path, seed: int) -> bool:
    """Return whether the program ran; a refusal must be one of those that aliases and re-binding allow."""
    x = np.random.default_rng(seed).integers(-3, 4, (4, 5)).astype(F32)
    out, right_x, right = np.zeros((3, 5), F32), x.copy(), np.zeros((3, 5), F32)
    load(folder, seed, range)(right_x, right)
    refusal = None
    try:
        run(pypto.tile(load(folder, seed, pypto.loop)), x, out)
    except pypto.UserError as error:
        refusal = error.name
    if refusal is not None:
        assert refusal in REFUSALS, program(seed)
        return False
    np.testing.assert_array_equal(out, right, err_msg=program(seed))
    np.testing.assert_array_equal(x, right_x, err_msg=program(seed))
    return True


@pytest.mark.parametrize("block", range(10))
def test_random_loop_programs(tmp_path: Path, block: int) -> None:
    ran = sum(check(tmp_path, seed) for seed in range(block * 20, block * 20 + 20))
    assert ran >= 6, "most programs are not refused"
