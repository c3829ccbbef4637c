"""The passes that leave work out: what each makes of a text, what it must not touch, and that no bit changes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from passes.corpus import CORPUS
from passes.kernels import KernelBuilder, arguments, region
from passes.random_kernels import random_kernel
from passes.random_tiles import random_tiles
from pypto.ir import interpreter
from pypto.ir.dtypes import I32
from pypto.ir.index import Symbol, subtract
from pypto.ir.nodes import For, GridAxis, Load, Module, Role, Value, walk
from pypto.ir.operations.table import TABLE
from pypto.ir.parser import parse_module
from pypto.ir.passes.fold_constants import FOLD_CONSTANTS
from pypto.ir.passes.fold_identities import FOLD_IDENTITIES, RULES
from pypto.ir.passes.hoist_invariants import HOIST_INVARIANTS
from pypto.ir.passes.manager import Pass, run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.remove_common import REMOVE_COMMON
from pypto.ir.passes.remove_dead import REMOVE_DEAD
from pypto.ir.printer import print_module
from pypto.ir.verifier import verify

CLEANING = (FOLD_CONSTANTS, FOLD_IDENTITIES, REMOVE_COMMON, REMOVE_DEAD, HOIST_INVARIANTS)

BEFORE = NPU_PASSES[: NPU_PASSES.index(HOIST_INVARIANTS)]


def lines(text: str) -> list[str]:
    """Return the statements of a kernel's text, without the types that follow from them."""
    inner = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    return [re.sub(r" : \w+\[[\d, ]*\]$", "", line) for line in inner]


def after(statements: str, *passes: Pass, parameters: str = "x: gm f32[4, 8], y: gm f32[4, 8]") -> list[str]:
    """Return the statements left of a kernel's body after `passes` and the removal of what is dead."""
    head = f"pto 1\n\nkernel k({parameters}) -> (out: gm f32[4, 8]) level tile {{\n"
    module = parse_module(f"{head}  {statements.strip()}\n}}\n")
    verify(module)
    before, after_ = results(module), module
    after_, _ = run_passes(module, (*passes, REMOVE_DEAD))
    verify(after_)
    check_bits(before, results(after_), statements)
    return lines(print_module(after_))


def results(module: Module) -> dict[str, np.ndarray]:
    arrays, scalars = arguments(module)
    for array in arrays.values():
        if array.dtype.kind == "f" and array.size > 3:
            array.flat[:3] = (np.nan, -0.0, np.inf)
    with np.errstate(all="ignore"):
        interpreter.run(module, arrays, scalars)
    return arrays


def check_bits(expected: dict[str, np.ndarray], found: dict[str, np.ndarray], what: str) -> None:
    for name, array in expected.items():
        left, right = found[name].astype(np.float64), array.astype(np.float64)
        np.testing.assert_array_equal(left, right, err_msg=f"{name}: {what}")
        numbers = ~np.isnan(right)
        np.testing.assert_array_equal(np.signbit(left[numbers]), np.signbit(right[numbers]), err_msg=f"{name}: {what}")


@pytest.mark.parametrize("item", CLEANING, ids=lambda item: item.name)
def test_no_bit_changes_and_nothing_is_left_to_do(item: Pass) -> None:
    makers = [*CORPUS.values(), *(lambda s=seed: random_kernel(s) for seed in range(40))]
    for make in (*makers, *(lambda s=seed: random_tiles(s) for seed in range(40))):
        module, _ = run_passes(make(), BEFORE if item is HOIST_INVARIANTS else ())
        cleaned, _ = run_passes(module, (item,))
        verify(cleaned)
        check_bits(results(module), results(cleaned), item.name)
        assert run_passes(cleaned, (item,))[0] == cleaned


def test_each_is_in_the_list() -> None:
    names = {item.name for item in NPU_PASSES}
    assert {item.name for item in CLEANING} <= names
    assert len(names) == len(NPU_PASSES)


# identities

LOAD = "%x = load x[0 : 4, 0 : 8]\n  "
STORE = "\n  store out[0 : 4, 0 : 8], %r"

SAME = (
    "%n = constant {dtype = f32, value = 1.0}\n  %r = mul %x, %n",
    "%n = constant {dtype = f32, value = 1.0}\n  %r = mul %n, %x",
    "%n = constant {dtype = f32, value = 1.0}\n  %r = div %x, %n",
    "%n = constant {dtype = f32, value = 1.0}\n  %r = pow %x, %n",
    "%n = constant {dtype = f32, value = -0.0}\n  %r = add %x, %n",
    "%n = constant {dtype = f32, value = 0.0}\n  %r = sub %x, %n",
    "%n = constant {dtype = f32, shape = [1, 8], value = 1.0}\n  %r = mul %x, %n",
    "%r = maximum %x, %x",
    "%r = minimum %x, %x",
    "%c = lt %x, %x\n  %r = where %c, %x, %x",
    "%n = neg %x\n  %r = neg %n",
    "%r = cast %x {dtype = f32}",
    "%w = cast %x {dtype = f64}\n  %r = cast %w {dtype = f32}",
    "%w = reshape %x {shape = [32]}\n  %r = reshape %w {shape = [4, 8]}",
    "%r = reshape %x {shape = [4, 8]}",
    "%w = transpose %x {permutation = [1, 0]}\n  %r = transpose %w {permutation = [1, 0]}",
    "%r = transpose %x {permutation = [0, 1]}",
    "%r = slice %x {ranges = [[0, 4, 1], [0, 8, 1]]}",
    "%r = broadcast_to %x {shape = [4, 8]}",
    "%r = pad %x {high = [0, 0], low = [0, 0], value = 0.0}",
    "%r = concat %x {axis = 0}",
    "%n = constant {dtype = f32, shape = [4, 8], value = 1.0}\n  %r = insert %n, %x {ranges = [[0, 4, 1], [0, 8, 1]]}",
)


@pytest.mark.parametrize("text", SAME)
def test_identities_go(text: str) -> None:
    assert after(LOAD + text + STORE, FOLD_IDENTITIES) == [
        "%x = load x[0 : 4, 0 : 8]",
        "store out[0 : 4, 0 : 8], %x",
    ]


DIFFERENT = (
    "%n = constant {dtype = f32, value = 0.0}\n  %r = add %x, %n",
    "%n = constant {dtype = f32, value = -0.0}\n  %r = sub %x, %n",
    "%n = constant {dtype = f32, value = 0.0}\n  %r = mul %x, %n",
    "%n = constant {dtype = f32, value = 0.0}\n  %r = sub %n, %x",
    "%n = constant {dtype = f32, value = 1.0}\n  %r = div %n, %x",
    "%n = constant {dtype = f32, value = 1.0}\n  %r = pow %n, %x",
    "%n = constant {dtype = f32, value = 0.0}\n  %r = maximum %x, %n",
    "%r = sub %x, %x",
    "%r = div %x, %x",
    "%n = cast %x {dtype = f16}\n  %r = cast %n {dtype = f32}",
    "%n = reciprocal %x\n  %r = reciprocal %n",
    "%r = slice %x {ranges = [[3, 4, -1], [0, 8, 1]]}",
    "%w = transpose %x {permutation = [1, 0]}\n  %r = reshape %w {shape = [4, 8]}",
)


@pytest.mark.parametrize("text", DIFFERENT)
def test_what_is_no_identity_stays(text: str) -> None:
    """-0.0, NaN and infinities would come out otherwise, or digits would."""
    assert len(after(LOAD + text + STORE, FOLD_IDENTITIES)) == 2 + len(text.splitlines())


def test_numbers_that_broadcast_an_operand_stay() -> None:
    text = "%x = load x[0 : 1, 0 : 8]\n  %n = constant {dtype = f32, shape = [4, 1], value = 1.0}\n  %r = mul %x, %n"
    assert len(after(text + STORE, FOLD_IDENTITIES)) == 4


def test_zero_is_nothing_to_integers() -> None:
    k = KernelBuilder("integers")
    k.output("out", k.op("add", k.input("x", (8,), I32), k.number(0, I32)))
    (kernel,) = run_passes(k.module(), (FOLD_IDENTITIES, REMOVE_DEAD))[0].kernels
    assert len(kernel.body) == 2


def test_rules_are_for_operations_that_there_are() -> None:
    assert set(RULES) <= set(TABLE)


# common values


def test_the_same_is_computed_once() -> None:
    text = """%a = load x[0 : 4, 0 : 8]
  %b = load x[0 : 4, 0 : 8]
  %c = exp %a
  %d = exp %b
  %r = add %c, %d"""
    assert after(text + STORE, REMOVE_COMMON) == [
        "%a = load x[0 : 4, 0 : 8]",
        "%c = exp %a",
        "%r = add %c, %c",
        "store out[0 : 4, 0 : 8], %r",
    ]


@pytest.mark.parametrize(("first", "second"), [("0.0", "-0.0"), ("1.0", "2.0")])
def test_numbers_that_differ_in_any_bit_are_not_common(first: str, second: str) -> None:
    text = f"""%x = load x[0 : 4, 0 : 8]
  %m = constant {{dtype = f32, value = {first}}}
  %n = constant {{dtype = f32, value = {second}}}
  %a = div %x, %m
  %b = div %x, %n
  %r = maximum %a, %b"""
    assert len(after(text + STORE, REMOVE_COMMON)) == 7


def test_what_was_stored_between_two_loads_counts() -> None:
    k = KernelBuilder("between")
    x = k.array("x", (8,), role=Role.INOUT)
    first = k.load(x)
    k.store(x, k.op("exp", first))
    k.output("out", k.op("add", first, k.load(x)))
    module = k.module()
    cleaned, _ = run_passes(module, (REMOVE_COMMON,))
    assert sum(isinstance(item, Load) for item in cleaned.kernels[0].body) == 2
    check_bits(results(module), results(cleaned), "a store between loads")


LOOP = """%a = load x[0 : 4, 0 : 8]
  %t = for %i = 0 to 4 carry (%s = %a) {
    %b = load x[0 : 4, 0 : 8]
    %c = exp %b
    %n = add %s, %c
    yield %n
  }
  %d = exp %a
  %r = add %t, %d"""


def test_values_of_a_loop_serve_only_inside() -> None:
    assert sum("exp" in line for line in after(LOOP + STORE, REMOVE_COMMON)) == 2
    assert sum("load" in line for line in after(LOOP + STORE, REMOVE_COMMON)) == 1


# invariants


def test_invariants_leave_the_loop_and_serve_behind_it() -> None:
    assert after(LOOP + STORE, HOIST_INVARIANTS, REMOVE_COMMON) == [
        "%a = load x[0 : 4, 0 : 8]",
        "%c = exp %a",
        "%t = for %i = 0 to 4 carry (%s = %a) {",
        "%n = add %s, %c",
        "yield %n",
        "}",
        "%r = add %t, %c",
        "store out[0 : 4, 0 : 8], %r",
    ]


def loop_body(text: str) -> str:
    return f"%a = load x[0 : 4, 0 : 8]\n  %r = for %i = 0 to 3 carry (%s = %a) {{\n    {text}\n    yield %n\n  }}"


@pytest.mark.parametrize(
    "text",
    [
        "%b = load y[%i : 1, 0 : 8]\n    %n = add %s, %b",
        "%b = exp %s\n    %n = add %s, %b",
        "%b = index {dtype = i64, value = %i}\n    %f = cast %b {dtype = f32}\n    %n = add %s, %f",
        "%b = load out[0 : 4, 0 : 8]\n    %n = add %s, %b\n    store out[0 : 4, 0 : 8], %n",
        "%b = load y[0 : 1, 0 : 8]\n    %n = for %j = 0 to %i carry (%u = %s) {\n    %v = add %u, %b\n    yield %v\n    }",
    ],
)
def test_what_changes_stays_in_the_loop(text: str) -> None:
    """The last one is a loop that may have no turn: what it loads may leave it only as far as that loop."""
    parameters = "x: gm f32[4, 8], y: gm f32[4, 8]"
    source = loop_body(text)
    if "out[0" in source:
        head = f"pto 1\n\nkernel k({parameters}, out: inout gm f32[4, 8]) level tile {{\n  {source}\n}}\n"
    else:
        head = f"pto 1\n\nkernel k({parameters}) -> (out: gm f32[4, 8]) level tile {{\n  {source}{STORE}\n}}\n"
    module = parse_module(head)
    verify(module)
    (loop,) = (item for item in module.kernels[0].body if isinstance(item, For))
    (kernel,) = run_passes(module, (HOIST_INVARIANTS,))[0].kernels
    (kept,) = (item for item in kernel.body if isinstance(item, For))
    moved = len(list(walk(loop.body))) - len(list(walk(kept.body)))
    assert moved == (1 if "%j" in text else 0)


def test_a_load_stays_in_a_loop_that_may_not_turn() -> None:
    k = KernelBuilder("maybe")
    block = Symbol("block")
    k.grid = (GridAxis(block, 4),)
    x, out = k.array("x", (4, 8)), k.array("out", (4, 8), role=Role.OUT)
    start = k.load(x, region((block, 1), (0, 8)))

    def body(i: Symbol, total: Value) -> tuple[Value, ...]:
        return (k.op("add", total, k.load(x, region((subtract(block, 1), 1), (0, 8)))),)

    (total,) = k.loop("i", 0, block, (start,), 1, body)
    k.store(out, total, region((block, 1), (0, 8)))
    module = k.module()
    verify(module)
    assert run_passes(module, (HOIST_INVARIANTS,))[0] == module


def test_one_bias_is_loaded_once_for_all_tiles_of_a_core() -> None:
    k = KernelBuilder("bias")
    x, bias = k.input("x", (9600, 256)), k.input("bias", (1, 256))
    k.output("out", k.op("add", x, bias))
    (kernel,) = run_passes(k.module(), NPU_PASSES)[0].kernels
    assert sum(isinstance(item, For) for item in kernel.body) == 1
    assert [item.source for item in kernel.body if isinstance(item, Load)] == ["bias"]


def test_invariants_that_would_cost_slots_stay() -> None:
    """Half of the buffer for each tile: a second row for the whole loop would leave no room for two slots."""
    k = KernelBuilder("narrow")
    x, y = k.array("x", (9, 9_000)), k.array("y", (1, 9_000))
    out = k.array("out", (9, 9_000), role=Role.OUT)

    def body(i: Symbol) -> tuple[Value, ...]:
        row = region((i, 1), (0, 9_000))
        t = k.op("mul", k.load(x, row), k.op("max", k.op("exp", k.load(y)), axes=(1,)))
        k.store(out, t, row)
        return ()

    k.loop("i", 0, 9, (), 1, body)
    (kernel,) = run_passes(k.module(), NPU_PASSES)[0].kernels
    assert "slots" not in str(dict(kernel.attributes).get("notes", ""))


def test_a_loop_of_no_turns_leaves_what_it_was_given() -> None:
    text = """%a = load x[0 : 4, 0 : 8]
  %r = for %i = 3 to 3 carry (%s = %a) {
    %n = exp %s
    store out[0 : 4, 0 : 8], %n
    yield %n
  }"""
    assert after(text + STORE, FOLD_CONSTANTS) == ["%a = load x[0 : 4, 0 : 8]", "store out[0 : 4, 0 : 8], %a"]
