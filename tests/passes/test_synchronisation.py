"""Every flag and barrier is needed, none is missing, and ids are never shared wrongly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from passes.corpus import CORPUS
from passes.kernels import KernelBuilder, region
from pypto.ir.index import Symbol
from pypto.ir.nodes import For, Kernel, Load, Module, Operation, Role, Statement, Store, walk
from pypto.ir.passes.clocks import faults
from pypto.ir.passes.dependencies import Plan, plan_of
from pypto.ir.passes.insert_synchronisation import IDS, insert_synchronisation, placed
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

BUFFERED = NPU_PASSES[: [item.name for item in NPU_PASSES].index("insert_synchronisation")]
MUTATED = (
    "chain", "softmax", "layer_norm", "choices", "masks", "accumulate", "copies_rows", "spmd_many_blocks",
    "spmd_large_blocks", "views", "in_place", "clipped", "columns_apart",
    "nested", "nested_loads",
)  # fmt: skip


def buffered(module: Module) -> Kernel:
    (kernel,) = run_passes(module, BUFFERED)[0].kernels
    return kernel


@pytest.mark.parametrize("name", MUTATED)
def test_dropping_any_flag_brings_a_race_back(name: str) -> None:
    kernel = buffered(CORPUS[name]())
    plan = plan_of(kernel, {})
    for number in range(len(plan.flags)):
        fewer = Plan([*plan.flags[:number], *plan.flags[number + 1 :]], plan.barriers)
        found = faults(placed(kernel, fewer, list(range(len(fewer.flags)))))
        assert any("race" in fault.what for fault in found), plan.flags[number]


@pytest.mark.parametrize("name", MUTATED)
def test_dropping_any_barrier_brings_a_race_back(name: str) -> None:
    kernel = buffered(CORPUS[name]())
    plan = plan_of(kernel, {})
    loops = [number for number, item in enumerate(walk(kernel.body)) if isinstance(item, For)]
    for statement in plan.barriers.keys() - loops:  # one before a loop may be doubled by one inside
        fewer = Plan(plan.flags, {key: pipes for key, pipes in plan.barriers.items() if key != statement})
        found = faults(placed(kernel, fewer, list(range(len(fewer.flags)))))
        assert any("race" in fault.what for fault in found), statement


@pytest.mark.parametrize("name", ["chain", "accumulate", "spmd_many_blocks"])
def test_dropping_half_of_a_flag_is_found(name: str) -> None:
    kernel = insert_synchronisation(buffered(CORPUS[name]()))
    flags = [item for item in walk(kernel.body) if isinstance(item, Operation) and item.name.endswith("_flag")]
    for flag in flags:
        assert faults(replace(kernel, body=without(kernel.body, flag))), flag


def without(body: tuple[Statement, ...], dropped: Statement) -> tuple[Statement, ...]:
    made = []
    for statement in body:
        if statement is dropped:
            continue
        inner = getattr(statement, "body", None)
        made.append(statement if inner is None else replace(statement, body=without(inner, dropped)))
    return tuple(made)


def flags_of(kernel: Kernel) -> list[tuple[str, str, int]]:
    found = []
    for item in walk(kernel.body):
        if isinstance(item, Operation) and item.name == "set_flag":
            found.append(tuple(item.attribute(name) for name in ("source", "destination", "id")))
    return found


def test_ids_are_shared_only_where_they_take_turns() -> None:
    """Nine loads and ten stores in flight: more flags than ids."""
    kernel = insert_synchronisation(buffered(CORPUS["many_inputs"]()))
    assert all(0 <= number < IDS for _, _, number in flags_of(kernel))
    assert faults(kernel) == []


def test_a_shared_id_that_may_be_set_too_early_is_found() -> None:
    kernel = insert_synchronisation(buffered(CORPUS["many_inputs"]()))

    def all_zero(statement: Statement) -> Statement:
        if isinstance(statement, Operation) and statement.name.endswith("_flag"):
            attributes = tuple((name, 0 if name == "id" else value) for name, value in statement.attributes)
            return replace(statement, attributes=attributes)
        return statement

    found = faults(replace(kernel, body=tuple(map(all_zero, kernel.body))))
    assert any("set twice" in fault.what or "before its last wait" in fault.what for fault in found)


def test_elementwise_kernel_has_one_flag_for_each_dependency() -> None:
    kernel = insert_synchronisation(buffered(CORPUS["chain"]()))
    assert sorted((source, destination) for source, destination, _ in flags_of(kernel)) == [
        ("MTE2", "V"),
        ("MTE2", "V"),
        ("V", "MTE3"),
    ]


def test_loop_flags_are_raised_before_and_lowered_after() -> None:
    kernel = insert_synchronisation(buffered(CORPUS["copies_rows"]()))
    position = next(k for k, item in enumerate(kernel.body) if hasattr(item, "index"))
    before = [item.name for item in kernel.body[:position] if isinstance(item, Operation)]
    after = [item.name for item in kernel.body[position + 1 :] if isinstance(item, Operation)]
    assert before.count("set_flag") == after.count("wait_flag") > 0


def test_reading_back_a_stored_array_waits_for_the_store() -> None:
    k = KernelBuilder("back")
    x, out = k.array("x", (64,)), k.array("out", (64,), role=Role.INOUT)
    k.store(out, k.load(x))

    def body(i: Symbol) -> tuple:
        part = region((i, 1))
        k.store(out, k.op("exp", k.load(out, part)), part)
        return ()

    k.loop("i", 0, 64, (), 1, body)
    kernel = insert_synchronisation(buffered(k.module()))
    assert ("MTE3", "MTE2") in {flag[:2] for flag in flags_of(kernel)}
    assert faults(kernel) == []
    copies = [item for item in walk(kernel.body) if isinstance(item, Load | Store)]
    assert len(copies) == 4
