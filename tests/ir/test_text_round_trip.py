"""Reading what was printed gives the same module, at every level and for every kind of node."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from ir_generators import make_module, modules
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import F32
from pypto.ir.index import Index, Symbol, make
from pypto.ir.nodes import Kernel, Level, Module, Operation, Parameter, Role, TileType, Value, walk
from pypto.ir.operations.table import TABLE
from pypto.ir.parser import parse_kernel, parse_module
from pypto.ir.printer import print_kernel, print_module, same
from pypto.ir.verifier import verify

QUICK = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(modules())
def test_module_survives_text(module: Module) -> None:
    text = print_module(module)
    again = parse_module(text)
    assert again == module
    assert same(again, module)
    assert print_module(again) == text
    assert text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass") == text
    text.encode("utf-8")  # lone surrogates are escaped, so every text can be written to a file


@pytest.mark.parametrize("level", list(Level))
def test_many_seeds(level: Level) -> None:
    for seed in range(100):
        module = make_module(random.Random(seed), True, level)
        verify(module)
        assert same(parse_module(print_module(module)), module), seed


def test_generator_reaches_every_node_and_operation() -> None:
    seen: Counter[str] = Counter()
    for seed in range(600):
        module = make_module(random.Random(seed), True, Level.PLANNED)
        for kernel in module.kernels:
            seen.update(getattr(statement, "name", type(statement).__name__) for statement in walk(kernel.body))
    wanted = {name for name, record in TABLE.items() if record.level is Level.TILE} | {"Load", "Store", "For", "If"}
    assert wanted <= set(seen), wanted - set(seen)


def _with_attribute(value: object) -> Kernel:
    return Kernel("k", (), (), (), attributes=(("a", value),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        0.0,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        0.1,
        1e16,
        123456789.123456789,
        math.inf,
        -math.inf,
        2**64 - 1,
        -(2**63),
    ],
)
def test_number_is_exact(value: float) -> None:
    (_, found), *_ = parse_kernel(print_kernel(_with_attribute(value))).attributes
    assert repr(found) == repr(value)
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        '"',
        "\\",
        "a\nb\tc\r",
        "\x00\x7f",
        "\u2028\u2029\x85",
        "\ud83d\ude00",
        "😀",
        "\ud800",
        "%s {x}",
        "# no comment",
        "\\u{41}",
    ],
)
def test_string_is_exact(value: str) -> None:
    text = print_kernel(_with_attribute(value))
    assert parse_kernel(text).attributes == (("a", value),)
    assert len(text.splitlines()) == 5


def test_nan_is_one_object() -> None:
    kernel = _with_attribute((math.nan, (1, math.nan)))
    assert parse_kernel(print_kernel(kernel)) == kernel
    other = _with_attribute((float("nan"), (1, -float("nan"))))
    assert other != kernel
    assert same(other, kernel)


def test_same_tells_zeros_and_kinds_apart() -> None:
    assert _with_attribute(0.0) == _with_attribute(-0.0)
    assert not same(_with_attribute(0.0), _with_attribute(-0.0))
    assert not same(_with_attribute(1), _with_attribute(1.0))
    assert not same(_with_attribute(1), _with_attribute(True))


@pytest.mark.parametrize(
    "name", ["load", "out", "in", "gm", "α", "données", "℘", "for", "x y", "1st", "", 'q"', "%", "inf", "fusion"]
)
def test_any_name(name: str) -> None:
    type_ = TileType(F32, (Symbol(name), 4))
    parameter = Parameter(name, type_, Role.INOUT)
    value = Value(name, TileType(F32, ()))
    constant = Operation("constant", (), (value,), (("dtype", F32), ("value", 1.0)))
    kernel = Kernel(name, (parameter,), (), (constant,), attributes=((name, name),))
    module = Module(name, (parameter,), (Parameter(name + "2", type_, Role.OUT),), (kernel,))
    assert parse_module(print_module(module)) == module


def test_order_of_parameters_is_kept() -> None:
    type_ = TileType(F32, ())
    roles = (Role.OUT, Role.IN, Role.INOUT, Role.OUT, Role.OUT)
    parameters = tuple(Parameter(f"p{number}", type_, role) for number, role in enumerate(roles))
    kernel = Kernel("k", parameters, (), ())
    text = print_kernel(kernel)
    assert "(p0: out gm f32, p1: gm f32, p2: inout gm f32) -> (p3: gm f32, p4: gm f32)" in text
    assert parse_kernel(text) == kernel


def test_free_layout_means_the_same() -> None:
    text = (
        """# a comment first

    pto   1   # then the header
    kernel k(
        x: gm f32[4],   # an input
        s: scalar f32
    ) -> (y: gm f32[4]) level tile { %0=load x[0:4]
      # only a comment

      %1 = load s[] ; """.replace(";", "")
        + "\r\n\t%2 = mul %0,%1\r\nstore y[0:4],%2\r\n}"
    )
    kernel = parse_kernel(text)
    assert [getattr(item, "name", type(item).__name__) for item in kernel.body] == ["Load", "Load", "mul", "Store"]
    assert parse_kernel(print_kernel(kernel)) == kernel


def test_types_may_be_left_out() -> None:
    text = """pto 1
kernel k(x: gm f32[4, 8]) -> (y: gm f32[4, 1]) level tile {
  %a = load x[0 : 4, 0 : 8]
  %b = for %i = 0 to 3 carry (%c = %a) {
    %d = exp %c
    yield %d
  }
  %e = if 1 < 2 {
    yield %b
  } else {
    yield %a
  }
  %f = sum %e {axes = [1]}
  store y[0 : 4, 0 : 1], %f
}
"""
    kernel = parse_kernel(text)
    full = print_kernel(kernel)
    assert "} : f32[4, 8]" in full
    assert "%f = sum %e {axes = [1]} : f32[4, 1]" in full
    assert parse_kernel(full) == kernel


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("%n + 1 * 2", "%n + 2"),
        ("(%n - 1) - 2", "%n - 1 - 2"),
        ("%n - (1 - %n)", "%n - (1 - %n)"),
        ("%n-3", "%n - 3"),
        ("%n%3", "%n % 3"),
        ("%n * 2 // 4 % 3", "%n * 2 // 4 % 3"),
        ("%n * (2 // %n)", "%n * (2 // %n)"),
        ("(%n + 1) * 2 + %n", "(%n + 1) * 2 + %n"),
        ("%n - -3", "%n - -3"),
        ("min(%n, max(3, %n)) + 0", "min(%n, max(3, %n))"),
        ("7 // 2 * 2", "6"),
    ],
)
def test_index_expressions(text: str, shown: str) -> None:
    kernel = parse_kernel(f"pto 1\nkernel k(x: gm f32[{text}, %n]) level tile {{\n}}\n")
    assert f"f32[{shown}, %n]" in print_kernel(kernel)
    assert parse_kernel(print_kernel(kernel)) == kernel


def _expression(source: random.Random, depth: int) -> Index:
    if depth == 0 or source.random() < 0.2:
        return source.choice((Symbol("n"), Symbol("a b"), source.randint(-9, 9)))
    operator = source.choice(("+", "-", "*", "//", "%", "min", "max"))
    right = (
        source.randint(2, 9) if operator in ("//", "%") and source.random() < 0.5 else _expression(source, depth - 1)
    )
    if isinstance(right, int) and operator in ("//", "%"):
        right = abs(right) + 1
    return make(operator, _expression(source, depth - 1), right)


def test_random_index_expressions() -> None:
    for seed in range(300):
        index = _expression(random.Random(seed), 5)
        kernel = _with_attribute((index,))
        assert parse_kernel(print_kernel(kernel)) == kernel, index


def test_locations_point_into_the_text() -> None:
    kernel = parse_kernel(
        "pto 1\nkernel k(x: gm f32[4]) level tile {\n  %a = load x[0 : 4]\n    %b = neg %a\n}\n", "f.pto"
    )
    assert [str(item.location) for item in kernel.body] == ["f.pto:3:3", "f.pto:4:5"]
    assert str(kernel.parameters[0].location) == "f.pto:2:10"
    assert kernel.body[1].location.source_line() == "    %b = neg %a"


def test_long_chain_is_quick_and_flat() -> None:
    lines = ["pto 1", "kernel k(x: gm f32[4]) -> (y: gm f32[4]) level tile {", "  %0 = load x[0 : 4]"]
    lines += [f"  %{number} = neg %{number - 1}" for number in range(1, 4000)]
    kernel = parse_kernel("\n".join([*lines, "  store y[0 : 4], %3999", "}"]))
    assert len(kernel.body) == 4001
    assert parse_kernel(print_kernel(kernel)) == kernel


def test_parsing_executes_nothing() -> None:
    with pytest.raises(UserError):
        parse_module("pto 1\nkernel k() level tile {\n  %a = __import__('os').system('true')\n}\n")
