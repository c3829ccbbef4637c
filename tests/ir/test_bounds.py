"""What can and cannot be proven about regions, against running all blocks and turns."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from ir_generators import make_module
from pypto.ir.affine import Facts, linear, number
from pypto.ir.base.errors import UserError
from pypto.ir.bounds import check_bounds
from pypto.ir.index import Index, IndexOperation, Symbol, add, evaluate, make, multiply, subtract
from pypto.ir.interpreter import run
from pypto.ir.nodes import Level
from pypto.ir.parser import parse_module


def check(parameters: str, *lines: str) -> None:
    text = f"pto 1\nkernel k({parameters}) level tile {{\n" + "\n".join(lines) + "\n}\n"
    check_bounds(parse_module(text))


PROVEN = [
    ("x: gm f32[1024]", "grid %b : 8", "%0 = load x[%b * 128 : 128]"),
    ("x: gm f32[1024]", "grid %b : 8, %c : 4", "%0 = load x[%b * 128 + %c * 32 : 32]"),
    ("x: gm f32[1000]", "grid %b : 8", "%0 = load x[min(%b * 128, 872) : 128]"),
    ("x: gm f32[1000]", "grid %b : 8", "%0 = load x[%b * 128 : 128] fill 0.0"),
    ("x: gm f32[10]", "%0 = load x[9 : 10 : -1]"),
    ("x: gm f32[10]", "%0 = load x[1 : 5 : 2]"),
    ("x: gm f32[0]", "%0 = load x[0 : 0]"),
    ("x: gm f32[10]", "for %i = 0 to 10 step 4 {", "%0 = load x[%i : 2]", "}"),
    ("x: gm f32[10]", "for %i = 3 to 3 {", "%0 = load x[%i + 100 : 2]", "}"),
    ("x: gm f32[10]", "for %i = 0 to 10 {", "for %j = %i to 10 {", "%0 = load x[%j - %i : 1]", "}", "}"),
    ("x: gm f32[10]", "for %i = 0 to 10 {", "for %j = 0 to 10 - %i {", "%0 = load x[%j + %i : 1]", "}", "}"),
    ("x: gm f32[10]", "for %i = 0 to 40 {", "%0 = load x[%i // 4 : 1]", "%1 = load x[%i % 10 : 1]", "}"),
    ("x: gm f32[%n]", "%0 = load x[0 : %n]"),
    ("x: gm f32[%n]", "for %i = 0 to %n {", "%0 = load x[%n - 1 - %i : 1]", "}"),
    ("x: gm f32[%n]", "for %i = 0 to %n {", "for %j = 0 to %i {", "%0 = load x[%i - %j : 1]", "}", "}"),
    ("x: gm f32[%n]", "grid %b : %n // 128", "%0 = load x[%b * 128 : 128]"),
    ("x: gm f32[%n * 4]", "grid %b : %n", "%0 = load x[%b * 4 : 4]"),
    ("x: gm f32[%n + 3]", "%0 = load x[%n : 3]"),
    ("x: gm f32[%n]", "grid %b : (%n + 127) // 128", "if %b * 128 + 127 < %n {", "%0 = load x[%b * 128 : 128]", "}"),
    (
        "x: gm f32[%n]",
        "grid %b : (%n + 127) // 128",
        "if %n < %b * 128 + 128 {",
        "} else {",
        "%0 = load x[%b * 128 : 128]",
        "}",
    ),
    ("x: gm f32[%n]", "if 4 <= %n {", "%0 = load x[%n - 4 : 4]", "}"),
    ("x: gm f32[%n]", "guard %n == 64", "%0 = load x[32 : 32]"),
    ("x: gm f32[10]", "grid %b : 12", "if %b < 10 {", "%0 = load x[%b : 1]", "}"),
    ("x: gm f32[10]", "grid %b : 12", "if %b == 3 {", "%0 = load x[%b * 3 : 1]", "}"),
    ("x: gm f32[10]", "grid %b : 12", "if %b != 3 {", "} else {", "%0 = load x[%b * 3 : 1]", "}"),
    ("x: gm f32[10]", "grid %b : 12", "if 9 < %b {", "if %b < 5 {", "%0 = load x[100 : 1] fill 0.0", "}", "}"),
    (
        "x: gm f32[%n]",
        "%0 = load x[0 : %n]",
        "%1 = slice %0 {ranges = [[0, %n, 1]]}",
        "%2 = reshape %1 {shape = [1, %n]}",
    ),
    ("x: gm f32[%n, %m]", "%0 = load x[0 : %n, 0 : %m]", "%1 = reshape %0 {shape = [%m, %n]}"),
]

REFUSED = [
    ("region-unproven", "x: gm f32[1000]", "grid %b : 8", "%0 = load x[%b * 128 : 128]"),
    ("region-unproven", "x: gm f32[1024]", "grid %b : 9", "%0 = load x[%b * 128 : 128]"),
    ("region-unproven", "x: gm f32[1024]", "grid %b : 8", "%0 = load x[%b * 128 - 1 : 128]"),
    ("region-unproven", "x: gm f32[10]", "for %i = 0 to 11 {", "%0 = load x[%i : 1]", "}"),
    ("region-unproven", "x: gm f32[10]", "for %i = -1 to 10 {", "%0 = load x[%i : 1]", "}"),
    ("region-unproven", "x: gm f32[10]", "for %i = 0 to 10 {", "%0 = load x[%i : 2 : -1]", "}"),
    (
        "region-unproven",
        "x: gm f32[10]",
        "for %i = 0 to 10 {",
        "for %j = 0 to 10 {",
        "%0 = load x[%j - %i : 1]",
        "}",
        "}",
    ),
    ("region-unproven", "x: gm f32[%n]", "%0 = load x[0 : 1]"),
    ("region-unproven", "x: gm f32[%n]", "%0 = load x[1 : %n]"),
    ("region-unproven", "x: gm f32[%n, %m]", "%0 = load x[0 : %m, 0 : %n]"),
    ("region-unproven", "x: gm f32[%n]", "grid %b : (%n + 127) // 128", "%0 = load x[%b * 128 : 128]"),
    ("region-unproven", "x: gm f32[%n]", "guard %n == 64", "%0 = load x[33 : 32]"),
    ("region-unproven", "x: gm f32[10]", "grid %b : 12", "if %b <= 10 {", "%0 = load x[%b : 1]", "}"),
    ("region-unproven", "x: gm f32[10]", "grid %b : 12", "if %b < 10 {", "} else {", "%0 = load x[%b : 1]", "}"),
    (
        "region-unproven",
        "x: gm f32[4]",
        "%0 = load x[0 : 4]",
        "for %i = 0 to 2 {",
        "%1 = slice %0 {ranges = [[%i, 4, 1]]}",
        "}",
    ),
    ("extent-unproven", "x: gm f32[%n]", "%0 = undefined {dtype = f32, shape = [%n - 1]}"),
    ("index-divisor", "x: gm f32[%n]", "%0 = index {dtype = i64, value = 1 // %n}"),
    ("index-divisor", "x: gm f32[8 % %n]"),
    ("reshape-size", "x: gm f32[%n]", "%0 = load x[0 : %n]", "%1 = reshape %0 {shape = [%n, 2]}"),
    ("reshape-size", "x: gm f32[%n]", "%0 = load x[0 : %n]", "%1 = reshape %0 {shape = [8]}"),
]


@pytest.mark.parametrize("case", PROVEN, ids=range(len(PROVEN)))
def test_proven(case: tuple[str, ...]) -> None:
    check(*case)


@pytest.mark.parametrize("case", REFUSED, ids=range(len(REFUSED)))
def test_refused(case: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as caught:
        check(*case[1:])
    assert caught.value.name == case[0], str(caught.value)


def test_store_and_insert_are_checked() -> None:
    check("y: out gm f32[8]", "%a = constant {dtype = f32, shape = [4], value = 0.0}", "store y[6 : 4], %a clip")
    with pytest.raises(UserError, match="region-unproven"):
        check(
            "y: out gm f32[8]",
            "%a = constant {dtype = f32, shape = [4], value = 0.0}",
            "for %i = 0 to 6 {",
            "store y[%i : 4], %a",
            "}",
        )
    with pytest.raises(UserError, match="region-unproven"):
        check(
            "y: out gm f32[8]",
            "%a = constant {dtype = f32, shape = [4], value = 0.0}",
            "%b = constant {dtype = f32, shape = [2], value = 0.0}",
            "for %i = 0 to 4 {",
            "%c = insert %a, %b {ranges = [[%i, 2, 1]]}",
            "}",
        )


def test_symbolic_value_in_a_buffer() -> None:
    text = """pto 1
kernel k(x: gm f32[%n]) level buffered {
  GUARD
  buffer @b : ub f32[64] depth 1
  %a @b = load x[0 : %n]
}
"""
    check_bounds(parse_module(text.replace("GUARD", "guard %n == 64")))
    with pytest.raises(UserError, match=r"takes .* bytes but a slot of buffer b has 256"):
        check_bounds(parse_module(text.replace("GUARD", "")))


def test_random_modules_stay_inside() -> None:
    """What the generator makes is right by construction, and running it agrees."""
    for seed in range(200):
        module = make_module(random.Random(seed), False, Level.TILE)
        check_bounds(module)
        run(module, {item.name: _array(item.type.dtype.numpy, item.type.shape) for item in module.parameters})


def _array(dtype: np.dtype[np.generic], shape: tuple[Index, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    return np.zeros([int(str(extent)) for extent in shape], dtype)


def _expression(source: random.Random, symbols: tuple[Symbol, ...], depth: int) -> Index:
    if depth == 0 or source.random() < 0.2:
        return source.choice((*symbols, source.randint(-4, 6)))
    operator = source.choice(("+", "-", "*", "//", "%", "min", "max"))
    left = _expression(source, symbols, depth - 1)
    if operator in ("//", "%"):
        return make(operator, left, source.randint(1, 5))
    return make(operator, left, _expression(source, symbols, depth - 1))


def test_proofs_are_sound_and_mostly_complete() -> None:
    """Whatever is proven holds for every value of the symbols; most of what holds is proven."""
    n, i, j = Symbol("n"), Symbol("i"), Symbol("j")
    proven = true = 0
    for seed in range(1500):
        source = random.Random(seed)
        facts = Facts()
        facts.introduce(n, (0,), (6,))
        facts.introduce(i, (0,), (subtract(n, 1),))
        facts.introduce(j, (i,), (add(i, 3),))
        condition = linear(_expression(source, (n, i, j), 1))
        facts.assume(condition)
        index = _expression(source, (n, i, j), 3)
        claim = facts.never_negative(linear(index))
        points = [
            {n: a, i: b, j: c}
            for a, b in itertools.product(range(7), repeat=2)
            for c in range(b, b + 4)
            if b < a and _value(condition, {n: a, i: b, j: c}) >= 0
        ]
        holds = all(evaluate(index, point) >= 0 for point in points)
        assert holds or not claim, (seed, index)
        true += holds and bool(points)
        proven += claim and bool(points)
    assert proven > 0.7 * true


def _value(form: object, values: dict[Symbol, int]) -> int:
    from pypto.ir.affine import Linear

    assert isinstance(form, Linear)
    return form.constant + sum(count * evaluate(atom, values) for atom, count in form.terms.items())


def test_linear_forms() -> None:
    n, i = Symbol("n"), Symbol("i")
    assert linear(subtract(add(multiply(n, 3), i), multiply(n, 3))).terms == {i: 1}
    assert linear(multiply(add(n, 2), 3)).plus(number(1)).constant == 7
    product = multiply(n, i)
    assert isinstance(product, IndexOperation)
    assert linear(product).terms == {product: 1}


def test_proof_ends_within_its_budget() -> None:
    facts = Facts()
    symbols = [Symbol(f"s{number}") for number in range(12)]
    for symbol in symbols:
        facts.introduce(symbol, (0, -1, -2), (5, 6, 7))
    total: Index = -1
    for symbol in symbols:
        total = add(total, make("min", make("max", symbol, 2), make("min", symbol, 3)))
    assert not facts.never_negative(linear(total))
