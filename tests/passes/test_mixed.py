"""Kernels that cube and vector cores run together: flags between them, workspaces, shares of rows, and mistakes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from passes.cube_corpus import CUBE_CORPUS, asked, epilogue, softmax, whole_numbers, wide
from passes.kernels import KernelBuilder
from passes.test_cube import check, lowered
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import F16, F32
from pypto.ir.engine import values
from pypto.ir.engine.clocks import faults
from pypto.ir.engine.groups import Signals
from pypto.ir.engine.machine import ORDERS, Order
from pypto.ir.nodes import For, Kernel, Module, Operation, Statement, Store, Value, walk
from pypto.ir.parser import parse_module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.pipes import is_mixed
from pypto.ir.passes.plan_cores import choose_shares
from pypto.ir.verification.cross_flags import LARGEST_CROSS_FLAG
from pypto.ir.verifier import VerificationError, verify

MIXED = ("epilogue", "epilogue_many_rows", "prologue", "attention", "attention_batch", "attention_f32")
MIXED += ("attention_few_queries", "attention_many_rows", "exact_attention", "two_products", "in_place")
MIXED += ("layer_bfloat_bias", "product_i8_wraps")


def mixed(module: Module) -> Kernel:
    (kernel,) = [item for item in lowered(module).kernels if is_mixed(item)]
    return kernel


def operations(kernel: Kernel, name: str) -> list[Operation]:
    return [item for item in walk(kernel.body) if isinstance(item, Operation) and item.name == name]


@pytest.mark.parametrize("name", MIXED)
def test_both_kinds_of_cores_run_one_kernel(name: str) -> None:
    kernel = mixed(CUBE_CORPUS[name]())
    assert operations(kernel, "set_cross_flag")
    ids = {item.attribute("id") for item in operations(kernel, "set_cross_flag")}
    assert ids <= set(range(LARGEST_CROSS_FLAG + 1))


def test_what_is_no_more_than_a_product_keeps_to_the_cube_core() -> None:
    for name in ("product", "layer", "chain_of_products", "gram"):
        assert not any(map(is_mixed, lowered(CUBE_CORPUS[name]()).kernels))


def rewritten(body: tuple[Statement, ...], change: Callable[[Statement], Statement | None]) -> tuple[Statement, ...]:
    made = []
    for statement in body:
        kept = change(statement)
        if isinstance(kept, For):
            kept = replace(kept, body=rewritten(kept.body, change))
        if kept is not None:
            made.append(kept)
    return tuple(made)


def without(kernel: Kernel, *dropped: Statement) -> Kernel:
    ids = {id(item) for item in dropped}
    return replace(kernel, body=rewritten(kernel.body, lambda item: None if id(item) in ids else item))


@pytest.mark.parametrize("name", MIXED)
def test_dropping_a_half_or_the_whole_of_a_flag_between_cores_is_reported(name: str) -> None:
    kernel = mixed(CUBE_CORPUS[name]())
    assert faults(kernel) == []
    pairs = operations(kernel, "set_cross_flag") + operations(kernel, "wait_cross_flag")
    for flag in pairs:
        what = " ".join(item.what for item in faults(without(kernel, flag)))
        assert "deadlock" in what or "race" in what or "left" in what
    for number in {flag.attribute("id") for flag in pairs}:
        both = [flag for flag in pairs if flag.attribute("id") == number]
        assert any("race" in item.what for item in faults(without(kernel, *both)))


def test_a_missing_flag_between_cores_shows_as_wrong_numbers_in_some_order() -> None:
    module = CUBE_CORPUS["epilogue"]()
    made = lowered(module)
    (kernel,) = made.kernels
    flags = operations(kernel, "set_cross_flag") + operations(kernel, "wait_cross_flag")
    broken = replace(made, kernels=(without(kernel, *flags),))
    arrays, scalars = whole_numbers(module)
    right = {name: array.copy() for name, array in arrays.items()}
    assert values.run(made, right, scalars) == []
    differing = 0
    for chosen in (*ORDERS, *(Order("random", seed) for seed in range(4))):
        found = {name: array.copy() for name, array in arrays.items()}
        values.run(broken, found, scalars, replace(chosen))
        differing += bool((found["out"] != right["out"]).any())
    assert differing


def test_vector_cores_split_the_rows_and_workspaces_hold_one_share_of_each_core() -> None:
    module = lowered(CUBE_CORPUS["epilogue_many_rows"]())
    (kernel,) = module.kernels
    cores = kernel.grid[0].extent
    assert cores == 1
    halves = [item for item in walk(kernel.body) if isinstance(item, For) and item.index.name == "half"]
    assert len(halves) == 2, "one for each of the two shares of a turn"
    for array in module.intermediates:
        rows, _ = array.type.shape
        assert rows == 112, "400 rows in 4 shares"
    assert len(module.intermediates) == 2, "one for each share of a turn"


def test_the_vector_cores_work_while_the_cube_core_goes_on() -> None:
    """The cube core hands on a second share before it waits for anything of the vector cores but its own workspace."""
    kernel = mixed(CUBE_CORPUS["epilogue_many_rows"]())
    (turn,) = [item for item in kernel.body if isinstance(item, For)]
    order = []
    for item in turn.body:
        if isinstance(item, Operation) and item.name.endswith("cross_flag"):
            order.append((item.name, item.attribute("core")))
    assert order == [("wait_cross_flag", "cube"), ("set_cross_flag", "cube")] * 2
    before = [item for item in kernel.body if isinstance(item, Operation) and item.name == "set_cross_flag"]
    assert [item.attribute("core") for item in before] == ["vector"] * 2, "both workspaces are free at first"


@pytest.mark.parametrize(
    ("rows", "share", "copies"), [(20, 16, 1), (384, 16, 1), (1000, 48, 1), (4096, 96, 2), (100000, 96, 2)]
)
def test_shares_even_out_the_work(rows: int, share: int, copies: int) -> None:
    before = [item.name for item in NPU_PASSES].index("plan_cores")
    parts = run_passes(epilogue(rows, 64), NPU_PASSES[:before])[0].kernels
    found = choose_shares(parts)
    assert (found.share, found.copies) == (share, copies)
    assert found.count * found.share >= rows


# -- counters


def test_counters_of_the_cube_core_need_both_vector_cores() -> None:
    signals = Signals()
    signals.give(1, 0, [1])
    assert not signals.is_ready(0, 0)
    signals.give(2, 0, [2])
    assert signals.is_ready(0, 0)
    assert signals.take(0, 0) == [[1], [2]]
    assert not signals.is_ready(0, 0)
    signals.give(0, 3, [5])
    assert signals.is_ready(1, 3) and signals.is_ready(2, 3)
    assert sorted(signals.left()) == [(3, 1), (3, 2)]


TEXT = """pto 1

@fusion(sub_blocks = ["half"])
kernel handed(x: gm f16[16, 16], between: inout gm f32[16, 16]) -> (out: gm f32[16, 16]) level planned {{
  buffer @x : l1 f16[16, 16] depth 1 address 0
  buffer @a : l0a f16[16, 16] depth 1 address 0
  buffer @b : l0b f16[16, 16] depth 1 address 0
  buffer @c : l0c f32[16, 16] depth 1 address 0
  buffer @u : ub f32[8, 16] depth 1 address 0
  %start @c = undefined {{dtype = f32, shape = [16, 16]}}
  %x @x = load x[0 : 16, 0 : 16]
  set_flag {{core = "cube", destination = "MTE1", id = 0, source = "MTE2"}}
  wait_flag {{core = "cube", destination = "MTE1", id = 0, source = "MTE2"}}
  %a @a = load_a %x {{ranges = [[0, 16, 1], [0, 16, 1]], shape = [16, 16], transposed = false}}
  %b @b = load_b %x {{ranges = [[0, 16, 1], [0, 16, 1]], shape = [16, 16], transposed = true}}
  set_flag {{core = "cube", destination = "M", id = 0, source = "MTE1"}}
  wait_flag {{core = "cube", destination = "M", id = 0, source = "MTE1"}}
  %c @c = mmad %start, %a, %b {{turn = 0}}
  set_flag {{core = "cube", destination = "FIX", id = 0, source = "M"}}
  wait_flag {{core = "cube", destination = "FIX", id = 0, source = "M"}}
  %f @c = fixpipe %c {{dtype = f32, relu = false, shape = [16, 16]}}
  store between[0 : 16, 0 : 16], %f
{sets}
  for %half = 0 to {halves} {{
{waits}
    %u @u = load between[%half * 8 : 8, 0 : 16]
    set_flag {{core = "vector", destination = "MTE3", id = 0, source = "MTE2"}}
    wait_flag {{core = "vector", destination = "MTE3", id = 0, source = "MTE2"}}
    store out[%half * 8 : 8, 0 : 16], %u
  }}
}}
"""
SET = '  set_cross_flag {core = "cube", id = 4, pipe = "FIX"}'
WAIT = '    wait_cross_flag {core = "vector", id = 4}'


def written(sets: str = SET, waits: str = WAIT, halves: int = 2) -> Module:
    return parse_module(TEXT.format(sets=sets, waits=waits, halves=halves))


def test_a_kernel_written_by_hand_is_clean() -> None:
    assert [str(item) for kernel in written().kernels for item in faults(kernel)] == []


def rule(**parts: object) -> str:
    with pytest.raises((UserError, VerificationError)) as caught:
        verify(written(**parts))  # type: ignore[arg-type]
    return caught.value.name if isinstance(caught.value, UserError) else caught.value.rule


def test_flags_that_do_not_pair_are_refused() -> None:
    assert rule(waits="") == "cross-flag"
    assert rule(sets="") == "cross-flag"
    assert rule(sets=SET.replace("4", "11"), waits=WAIT.replace("4", "11")) == "cross-flag"
    assert rule(sets="\n".join([SET] * 16), waits="\n".join([WAIT] * 16)) == "cross-flag"
    assert rule(halves=3) == "sub-blocks"
    assert rule(sets=SET.replace("cube", "both")) == "attribute-value"


def test_the_pipe_that_a_flag_follows_matters() -> None:
    """M has finished before FIX has stored."""
    (kernel,) = written(sets=SET.replace("FIX", "M")).kernels
    assert any("FIX of cube and MTE2 of vector" in item.what for item in faults(kernel))


def test_deadlocks_between_cores_are_named() -> None:
    (kernel,) = written().kernels
    flag = operations(kernel, "set_cross_flag")
    found = [item.what for item in faults(without(kernel, *flag))]
    assert any("deadlock: the vector 0 core waits for flag 4" in what for what in found)


def test_two_vector_cores_that_write_the_same_rows_race() -> None:
    (kernel,) = written().kernels

    def all_rows(statement: Statement) -> Statement:
        if isinstance(statement, Store) and statement.target == "out":
            return replace(statement, region=(replace(statement.region[0], offset=0), statement.region[1]))
        return statement

    found = faults(replace(kernel, body=rewritten(kernel.body, all_rows)))
    assert any("MTE3 of vector 0 and MTE3 of vector 1 race on gm:out" in item.what for item in found)


# -- random kernels


def random_mixed(seed: int) -> Module:
    """A chain of products with elementwise work, reductions and softmax between them."""
    source = random.Random(seed)
    extents = [source.choice((5, 16, 20, 33, 48, 64)) for _ in range(4)]
    batch = source.choice(((), (), (2,)))
    k = KernelBuilder("random")
    x = wide(k, k.input("x", (*batch, extents[0], extents[1]), F16))
    for number, (rows, columns) in enumerate(list(itertools.pairwise(extents[1:]))[: source.choice((1, 2))]):
        y = wide(k, k.input(f"y{number}", (rows, columns), F16))
        x = k.op("matmul", x, y)
        x = random_work(k, x, source)
    k.output("out", x)
    schedule = {"aicore_num": source.choice((1, 2, 24)), "buffer_depth": source.choice((1, 2, 2, 3))}
    return asked(k.module(), schedule)


def random_work(k: KernelBuilder, x: Value, source: random.Random) -> Value:
    """Work of the vector cores whose results are exact for whole numbers, and fit f16."""
    kind = source.choice(("abs", "shift", "maximum", "row"))
    last = x.type.rank - 1
    if kind == "abs":
        x = k.op("abs", x)
    elif kind == "shift":
        x = k.op("add", x, k.number(1.0))
    elif kind == "maximum":
        x = k.op("maximum", k.op("neg", x), x)
    else:
        x = k.op("sub", x, k.op("max", x, axes=(last,)))
    small = k.op("minimum", k.op("maximum", x, k.number(-8.0)), k.number(8.0))
    return wide(k, k.op("cast", small, dtype=F16)) if source.random() < 0.5 else small


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_mixed_kernels(start: int) -> None:
    for seed in range(start, start + 10):
        check(random_mixed(seed), (ORDERS[1 + seed % (len(ORDERS) - 1)], Order("random", seed, reads_late=0.5)))


def test_softmax_alone_stays_on_the_vector_cores() -> None:
    k = KernelBuilder("softmax")
    k.output("out", softmax(k, k.input("x", (40, 50), F32)))
    (kernel,) = lowered(k.module()).kernels
    assert not is_mixed(kernel)
    assert not operations(kernel, "set_cross_flag")
