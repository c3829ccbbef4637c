"""Every rule of the verifier catches a kernel that breaks it, and quotes the guilty statement."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from ir_generators import make_module
from pypto.ir.base.errors import CompilerBug
from pypto.ir.dtypes import F16, F32, I32
from pypto.ir.index import Symbol, add
from pypto.ir.nodes import (
    Buffer,
    Condition,
    For,
    GridAxis,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Range,
    Role,
    Space,
    Statement,
    Store,
    TileType,
    Value,
    operands,
    results,
    walk,
)
from pypto.ir.parser import parse_kernel
from pypto.ir.verification.levels import Memory
from pypto.ir.verifier import VerificationError, verify

TILE = parse_kernel("""pto 1
kernel k(x: gm f32[4, 8], s: scalar f32, z: inout gm f32[8]) -> (y: gm f32[4, 8]) level tile {
  grid %block : 4
  %a = load x[%block : 1, 0 : 8]
  %s = load s[]
  %b = mul %a, %s
  %c = for %i = 0 to 8 step 2 carry (%d = %b) {
    %e = slice %d {ranges = [[0, 1, 1], [%i, 1, 1]]}
    %f = add %d, %e
    yield %f
  }
  %g = if %block < 2 {
    yield %c
  } else {
    %h = neg %c
    yield %h
  }
  %m = sum %g {axes = [0]}
  %n = reshape %m {shape = [8]}
  store z[0 : 8], %n
  store y[%block : 1, 0 : 8], %g
}
""")

PLANNED = parse_kernel("""pto 1
kernel k(x: gm f32[4, 8]) -> (y: gm f32[4, 8]) level planned {
  buffer @p : ub f32[4, 8] depth 2 address 0
  buffer @q : ub f32[4, 8] depth 1 address 512
  %a @p = load x[0 : 4, 0 : 8]
  set_flag {destination = "V", id = 0, source = "MTE2"}
  wait_flag {destination = "V", id = 0, source = "MTE2"}
  %b @q = exp %a
  set_flag {destination = "MTE3", id = 1, source = "V"}
  wait_flag {destination = "MTE3", id = 1, source = "V"}
  store y[0 : 4, 0 : 8], %b
}
""")


def module(kernel: Kernel) -> Module:
    return Module(kernel.name, kernel.parameters, (), (kernel,))


def refuse(kernel: Kernel, rule: str, quoted: str = "") -> None:
    with pytest.raises(VerificationError) as caught:
        verify(module(kernel))
    assert caught.value.rule == rule, str(caught.value)
    assert quoted in str(caught.value)


def at(kernel: Kernel, position: int, change: Callable[[Statement], Statement]) -> Kernel:
    body = list(kernel.body)
    body[position] = change(body[position])
    return replace(kernel, body=tuple(body))


def changed(position: int, **changes: object) -> Kernel:
    return at(TILE, position, lambda item: replace(item, **changes))  # type: ignore[arg-type]


def without(kernel: Kernel, position: int) -> Kernel:
    return replace(kernel, body=kernel.body[:position] + kernel.body[position + 1 :])


def test_good_kernels_pass() -> None:
    verify(module(TILE))
    verify(module(PLANNED))
    verify(Module("", (), (), ()))


A = Value("a", TileType(F32, (1, 8)))
B = Value("b", TileType(F32, (1, 8)))
LOOP, CHOICE = TILE.body[3], TILE.body[4]
assert isinstance(LOOP, For)
assert isinstance(CHOICE, If)
SCALAR = TileType(F32, ())
NUMBER = Operation("constant", (), (Value("new", SCALAR),), (("dtype", F32), ("value", 1.0)))

MUTATIONS: dict[str, tuple[str, Kernel, str]] = {
    "use before definition": ("undefined-value", without(TILE, 0), "`%b = mul %a, %s : f32[1, 8]`"),
    "use of a value of a loop after it": ("undefined-value", changed(5, operands=(Value("f", A.type),)), "sum %f"),
    "use of a value of a branch after it": ("undefined-value", changed(5, operands=(Value("h", A.type),)), "sum %h"),
    "use of its own result": ("undefined-value", changed(2, operands=(B, B)), "mul %b, %b"),
    "two definitions": ("value-redefined", changed(2, results=(A,)), "%a = mul"),
    "definition in a loop and after it": ("value-redefined", changed(5, results=(Value("f", A.type),)), "%f = sum"),
    "operand of another type": ("value-changed", changed(2, operands=(Value("a", SCALAR), Value("s", SCALAR))), "mul"),
    "operand with a buffer": ("value-changed", changed(5, operands=(replace(CHOICE.results[0], buffer="b"),)), "sum"),
    "wrong result shape": ("result-type", changed(2, results=(Value("b", TileType(F32, (1, 9))),)), "f32[1, 9]"),
    "wrong result dtype": ("result-type", changed(2, results=(Value("b", TileType(I32, (1, 8))),)), "i32[1, 8]"),
    "wrong load type": ("result-type", changed(0, result=Value("a", TileType(F16, (1, 8)))), "load x"),
    "unknown operation": ("unknown-operation", changed(2, name="mull"), "mull"),
    "unknown attribute": ("unknown-attribute", changed(2, attributes=(("fast", True),)), "fast = true"),
    "missing attribute": ("missing-attribute", changed(5, attributes=()), "sum %g :"),
    "axis out of range": ("attribute-value", changed(5, attributes=(("axes", (2,)),)), "axes = [2]"),
    "axis twice": ("attribute-value", changed(5, attributes=(("axes", (0, 0)),)), "axes = [0, 0]"),
    "negative axis": ("attribute-value", changed(5, attributes=(("axes", (-1,)),)), "axes = [-1]"),
    "axes that are bool": ("attribute-value", changed(5, attributes=(("axes", (False,)),)), "axes = [false]"),
    "axes that are no tuple": ("attribute-value", changed(5, attributes=(("axes", 0),)), "axes = 0"),
    "operand missing": ("operand-count", changed(2, operands=(A,)), "mul %a"),
    "result missing": ("result-count", changed(2, results=()), "`mul %a, %s`"),
    "wrong reshape": ("reshape-size", changed(6, attributes=(("shape", (9,)),)), "shape = [9]"),
    "region of wrong rank": ("region-rank", changed(0, region=(Range(0, 1),)), "load x[0 : 1]"),
    "region too long": ("region-bounds", changed(0, region=(Range(0, 1), Range(1, 8))), "1 : 8"),
    "region with negative offset": ("region-bounds", changed(0, region=(Range(0, 1), Range(-1, 8))), "-1 : 8"),
    "region with step 0": ("region-step", changed(0, region=(Range(0, 1), Range(0, 8, 0))), "0 : 8 : 0"),
    "region with unknown index": ("undefined-symbol", changed(0, region=(Range(Symbol("q"), 1), Range(0, 8))), "%q"),
    "region with the index of a loop after it": (
        "undefined-symbol",
        changed(8, region=(Range(Symbol("i"), 1), Range(0, 8))),
        "store y[%i : 1",
    ),
    "load of an unknown array": ("unknown-parameter", changed(0, source="w"), "load w"),
    "store to an unknown array": ("unknown-parameter", changed(8, target="w"), "store w"),
    "store to an input": ("store-to-input", changed(8, target="x"), "store x"),
    "store to a scalar": ("store-to-input", changed(8, target="s", region=()), "store s"),
    "store of another shape": (
        "stored-type",
        changed(8, value=LOOP.results[0], region=(Range(0, 2), Range(0, 8))),
        "store y",
    ),
    "load from an output": ("load-from-output", changed(0, source="y"), "load y"),
    "loop step 0": ("loop-step", changed(3, step=0), "step 0"),
    "loop step negative": ("loop-step", changed(3, step=-2), "step -2"),
    "loop yields nothing": ("loop-carried", changed(3, yielded=()), ""),
    "loop without result": ("loop-carried", changed(3, results=()), ""),
    "loop result of another type": ("loop-type", changed(3, results=(Value("c", SCALAR),)), "for %i"),
    "loop yields another type": ("loop-type", changed(3, yielded=(Value("s", SCALAR),)), "for %i"),
    "loop yields an unknown value": ("undefined-value", changed(3, yielded=(Value("q", A.type),)), "for %i"),
    "loop index is a grid axis": ("symbol-redefined", changed(3, index=Symbol("block")), "for %block"),
    "loop bound unknown": ("undefined-symbol", changed(3, stop=Symbol("q")), "to %q"),
    "loop bound is its own index": ("undefined-symbol", changed(3, stop=add(Symbol("i"), 1)), "to %i + 1"),
    "branch without else": ("branch-count", changed(4, else_yielded=()), "if %block < 2"),
    "branch yields another type": ("branch-type", changed(4, then_yielded=(Value("s", SCALAR),)), "if %block"),
    "branch yields the other's value": ("undefined-value", changed(4, then_yielded=(Value("h", A.type),)), "if %block"),
    "branch with a wild comparison": ("unknown-comparison", changed(4, condition=Condition(0, ">=", 1)), "if 0 >= 1"),
    "branch on an unknown index": ("undefined-symbol", changed(4, condition=Condition(Symbol("q"), "<", 1)), "%q"),
    "buffer at level tile": ("wrong-level", changed(0, result=replace(A, buffer="b")), "%a @b = load"),
    "buffers at level tile": ("wrong-level", replace(TILE, buffers=PLANNED.buffers), 'buffer "p"'),
    "flag at level tile": ("wrong-level", at(TILE, 8, lambda _: PLANNED.body[1]), "set_flag"),
    "no buffers at level buffered": ("missing-buffer", replace(TILE, level=Level.BUFFERED), "%a = load"),
    "two parameters of one name": ("duplicate-parameter", replace(TILE, parameters=TILE.parameters[:1] * 2), '"x"'),
    "scalar with a shape": (
        "scalar-parameter",
        replace(TILE, parameters=(replace(TILE.parameters[0], scalar=True), *TILE.parameters[1:])),
        '"x"',
    ),
    "scalar output": (
        "scalar-parameter",
        replace(
            TILE, parameters=(TILE.parameters[0], replace(TILE.parameters[1], role=Role.OUT), *TILE.parameters[2:])
        ),
        '"s"',
    ),
    "grid axis twice": ("symbol-redefined", replace(TILE, grid=TILE.grid * 2), "at %block"),
    "negative grid": ("bad-extent", replace(TILE, grid=(GridAxis(Symbol("block"), -1),)), "at %block"),
    "negative shape": ("attribute-value", changed(6, attributes=(("shape", (-8,)),)), "shape = [-8]"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_caught(name: str) -> None:
    rule, kernel, quoted = MUTATIONS[name]
    refuse(kernel, rule, quoted)


def planned(position: int, **changes: object) -> Kernel:
    return at(PLANNED, position, lambda item: replace(item, **changes))  # type: ignore[arg-type]


def buffers(**changes: object) -> Kernel:
    return replace(PLANNED, buffers=(PLANNED.buffers[0], replace(PLANNED.buffers[1], **changes)))  # type: ignore[arg-type]


def flag(**changes: object) -> tuple[tuple[str, object], ...]:
    return tuple(sorted({"destination": "V", "id": 0, "source": "MTE2", **changes}.items()))


LOWER_MUTATIONS: dict[str, tuple[str, Kernel]] = {
    "no buffer": ("missing-buffer", planned(0, result=Value("a", TileType(F32, (4, 8))))),
    "unknown buffer": ("unknown-buffer", planned(0, result=Value("a", TileType(F32, (4, 8)), "r"))),
    "buffer in gm": ("buffer-shape", buffers(space=Space.GM)),
    "buffer of depth 0": ("buffer-shape", buffers(depth=0)),
    "buffer too small": ("buffer-size", buffers(shape=(1, 8))),
    "buffer of a smaller type": ("buffer-size", buffers(dtype=F16)),
    "two buffers of one name": ("duplicate-buffer", buffers(name="p")),
    "address missing": ("missing-address", buffers(address=None)),
    "address not aligned": ("misaligned-address", buffers(address=257)),
    "address negative": ("misaligned-address", buffers(address=-32)),
    "address past the end": ("over-capacity", buffers(address=196608)),
    "depth past the end": ("over-capacity", buffers(address=196608 - 128, depth=2)),
    "second slot overlaps": ("buffer-overlap", buffers(address=128)),
    "set_flag deleted": ("flag-lowered", without(PLANNED, 1)),
    "wait_flag deleted": ("flag-leaked", without(PLANNED, 2)),
    "set twice": ("flag-raised", at(PLANNED, 2, lambda _: PLANNED.body[1])),
    "other id": ("flag-lowered", planned(2, attributes=flag(id=3))),
    "other pipe": ("flag-lowered", planned(2, attributes=flag(destination="MTE3"))),
    "reserved id": ("flag-id", planned(1, attributes=flag(id=6))),
    "one pipe": ("flag-pipes", planned(1, attributes=flag(source="V"))),
    "pipe that does not exist": ("attribute-value", planned(1, attributes=flag(source="V2"))),
    "id that is a bool": ("attribute-value", planned(1, attributes=flag(id=True))),
}


@pytest.mark.parametrize("name", LOWER_MUTATIONS)
def test_mutation_below_tile_is_caught(name: str) -> None:
    rule, kernel = LOWER_MUTATIONS[name]
    refuse(kernel, rule)


def test_flags_on_every_way() -> None:
    set_flag, wait_flag = PLANNED.body[1:3]
    loop = For(Symbol("i"), 0, 2, 1, (), (), (wait_flag, set_flag), (), ())
    verify(module(replace(PLANNED, body=(set_flag, loop, wait_flag))))
    refuse(replace(PLANNED, body=(set_flag, replace(loop, body=(wait_flag,)))), "flag-loop")
    refuse(replace(PLANNED, body=(replace(loop, body=(set_flag,)), wait_flag)), "flag-loop")
    choice = If(Condition(0, "<", 1), (wait_flag,), (), (wait_flag,), (), ())
    verify(module(replace(PLANNED, body=(set_flag, choice))))
    refuse(replace(PLANNED, body=(set_flag, replace(choice, else_body=()))), "flag-branch")


def test_buffers_may_share_addresses_when_never_in_use_together() -> None:
    third = Buffer("r", Space.UB, F32, (4, 8), 1, 0)
    c = Value("c", TileType(F32, (4, 8)), "r")
    more = (Operation("neg", (PLANNED.body[3].results[0],), (c,)), Store("y", (Range(0, 4), Range(0, 8)), c))  # type: ignore[union-attr]
    kernel = replace(PLANNED, buffers=(*PLANNED.buffers, third), body=PLANNED.body + more)
    verify(module(kernel))
    used_again = Operation("exp", (PLANNED.body[0].result,), (Value("d", TileType(F32, (4, 8)), "q"),))  # type: ignore[union-attr]
    refuse(replace(kernel, body=(*kernel.body, used_again)), "buffer-overlap")


def test_buffer_from_outside_a_loop_is_in_use_throughout_it() -> None:
    text = """pto 1
kernel k(x: gm f32[8]) -> (y: gm f32[8]) level planned {
  buffer @p : ub f32[8] depth 1 address 0
  buffer @q : ub f32[8] depth 1 address 32
  buffer @r : ub f32[8] depth 1 address ADDRESS
  %a @p = load x[0 : 8]
  for %i = 0 to 2 {
    %b @q = neg %a
    %c @r = neg %b
    store y[0 : 8], %c
  }
}
"""
    verify(module(parse_kernel(text.replace("ADDRESS", "64"))))
    refuse(parse_kernel(text.replace("ADDRESS", "0"), verified=False), "buffer-overlap")


def test_capacities_are_an_argument() -> None:
    memories = {Space.UB: Memory(capacity=512 + 127, alignment=32)}
    with pytest.raises(VerificationError) as caught:
        verify(module(PLANNED), memories)
    assert caught.value.rule == "over-capacity"
    verify(module(PLANNED), {Space.UB: Memory(capacity=512 + 128, alignment=256)})


def test_kernels_of_a_module_agree() -> None:
    other = replace(TILE, name="other")
    verify(Module("m", TILE.parameters, (), (TILE, other)))
    for modules, rule in (
        (Module("m", TILE.parameters, (), (TILE, TILE)), "duplicate-kernel"),
        (Module("m", TILE.parameters[1:], (), (TILE,)), "unknown-argument"),
        (Module("m", (replace(TILE.parameters[0], type=SCALAR), *TILE.parameters[1:]), (), (TILE,)), "argument-type"),
        (Module("m", tuple(replace(item, role=Role.IN) for item in TILE.parameters), (), (TILE,)), "argument-role"),
        (Module("m", TILE.parameters + PLANNED.parameters, (), (TILE,)), "duplicate-parameter"),
        (Module("m", TILE.parameters, (), (replace(TILE, body=()), replace(PLANNED, name="p"))), "mixed-levels"),
    ):
        with pytest.raises(VerificationError) as caught:
            verify(modules)
        assert caught.value.rule == rule


def test_error_is_a_compiler_bug_with_place() -> None:
    kernel = parse_kernel(
        "pto 1\nkernel k(x: gm f32[4]) level tile {\n  %a = load x[0 : 5]\n}\n", "f.pto", verified=False
    )
    with pytest.raises(CompilerBug) as caught:
        verify(module(kernel))
    assert str(caught.value).startswith("compiler bug in verifier: region-bounds: range 0 covers 0 to 4")
    assert "in `%a = load x[0 : 5] : f32[5]` (f.pto:3:3)" in str(caught.value)


@pytest.mark.parametrize("level", list(Level))
def test_deleting_a_definition_that_is_used_is_always_caught(level: Level) -> None:
    tried = 0
    for seed in range(150):
        for kernel in make_module(random.Random(seed), True, level).kernels:
            used = {value.name for statement in walk(kernel.body) for value in operands(statement)}
            for position, statement in enumerate(kernel.body):
                if any(value.name in used for value in results(statement)):
                    tried += 1
                    with pytest.raises(VerificationError):
                        verify(module(without(kernel, position)))
                    break
    assert tried > 30


@pytest.mark.parametrize("name", ["set_flag", "wait_flag"])
def test_deleting_a_flag_is_always_caught(name: str) -> None:
    tried = 0
    for seed in range(60):
        for kernel in make_module(random.Random(seed), True, Level.SYNCHRONISED).kernels:
            for position, statement in enumerate(kernel.body):
                if isinstance(statement, Operation) and statement.name == name:
                    tried += 1
                    with pytest.raises(VerificationError):
                        verify(module(without(kernel, position)))
    assert tried > 50


def test_load_and_store_are_checked_in_depth() -> None:
    inner = For(Symbol("j"), 0, 2, 1, (), (), (Load(Value("z0", SCALAR), "s", (Range(0, 1),)),), (), ())
    nested = For(Symbol("i"), 0, 2, 1, (), (), (inner,), (), ())
    refuse(replace(TILE, body=(nested,)), "region-rank", "`%z0 = load s[0 : 1] : f32`")


def contents(*lines: str) -> Kernel:
    head = "pto 1\nkernel k(x: gm f32[8]) -> (y: gm f32[8]) level buffered {\n"
    buffers = "".join(f"  buffer @{name} : ub f32[8] depth 1\n" for name in "pqr")
    return parse_kernel(head + buffers + "".join(f"  {line}\n" for line in lines) + "}\n", verified=False)


KEPT = {
    "in place": ("%a @p = load x[0 : 8]", "%b @p = neg %a", "store y[0 : 8], %b"),
    "view of the same memory": (
        "%a @p = load x[0 : 8]",
        "%b @p = reshape %a {shape = [2, 4]}",
        "%c @q = neg %b",
        "store y[0 : 8], %a",
    ),
    "carried through a loop": (
        "%a @p = load x[0 : 8]",
        "%b @p = for %i = 0 to 2 carry (%c @p = %a) {",
        "%d @p = neg %c",
        "yield %d",
        "}",
        "store y[0 : 8], %b",
    ),
    "out of both branches": (
        "%a @p = load x[0 : 8]",
        "%b @q = if 0 < 1 {",
        "%c @q = neg %a",
        "yield %c",
        "} else {",
        "%d @q = exp %a",
        "yield %d",
        "}",
        "%e @r = add %a, %b",
    ),
}

LOST = {
    "overwritten": ("%a @p = load x[0 : 8]", "%b @p = neg %a", "store y[0 : 8], %a"),
    "overwritten through a view": (
        "%a @p = load x[0 : 8]",
        "%b @p = reshape %a {shape = [2, 4]}",
        "%c @p = neg %b",
        "store y[0 : 8], %a",
    ),
    "overwritten by the turn before": (
        "%a @p = load x[0 : 8]",
        "for %i = 0 to 2 {",
        "%b @q = neg %a",
        "%c @p = neg %b",
        "}",
    ),
    "overwritten in a loop": (
        "%a @p = load x[0 : 8]",
        "for %i = 0 to 2 {",
        "%b @p = load x[0 : 8]",
        "}",
        "store y[0 : 8], %a",
    ),
    "overwritten in one branch": (
        "%a @p = load x[0 : 8]",
        "if 0 < 1 {",
        "%b @p = load x[0 : 8]",
        "}",
        "store y[0 : 8], %a",
    ),
    "start of a loop read after it": (
        "%a @p = load x[0 : 8]",
        "%b @p = for %i = 0 to 2 carry (%c @p = %a) {",
        "yield %c",
        "}",
        "store y[0 : 8], %a",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_value_is_still_in_its_buffer(name: str) -> None:
    verify(module(contents(*KEPT[name])))


@pytest.mark.parametrize("name", LOST)
def test_value_is_no_longer_in_its_buffer(name: str) -> None:
    refuse(contents(*LOST[name]), "buffer-overwritten")
