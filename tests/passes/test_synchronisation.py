"""Every flag and barrier is needed, none is missing, and ids are never shared wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from passes.corpus import CORPUS
from passes.kernels import KernelBuilder, region
from pypto.ir.engine.clocks import faults
from pypto.ir.index import Symbol
from pypto.ir.nodes import Kernel, Load, Module, Operation, Role, Statement, Store, walk
from pypto.ir.passes.dependencies import Plan
from pypto.ir.passes.insert_synchronisation import IDS, Ids, insert_synchronisation, order, placed
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.remove_implied import without_barrier, without_flag
from pypto.ir.verification.levels import flag_ids

BUFFERED = NPU_PASSES[: [item.name for item in NPU_PASSES].index("insert_synchronisation")]


def buffered(module: Module) -> Kernel:
    (kernel,) = run_passes(module, BUFFERED)[0].kernels
    return kernel


SHORT_OF_IDS = (
    "many_inputs",
    "functions",
    "integers",
    "integers_i16",
    "integers_i8",
    "integers_u8",
    "casts",
    "hyperbolas",
)
"""Kernels with more copies in flight than there are ids."""

Fewer = tuple[str, Plan, list[Ids]]


def deletions(plan: Plan, ids: list[Ids]) -> Iterator[Fewer]:
    """Yield `plan` without each flag and each barrier in turn."""
    for number, flag in enumerate(plan.flags):
        yield f"{flag}", without_flag(plan, flag), [*ids[:number], *ids[number + 1 :]]
    for statement, pipes in plan.barriers.items():
        for pipe in pipes:
            yield f"barrier of {pipe} before {statement}", without_barrier(plan, statement, pipe), ids


@pytest.mark.parametrize("name", CORPUS)
def test_dropping_any_flag_or_barrier_is_reported(name: str) -> None:
    """A race comes back, but for flags that are there only so that six ids do for all: those are then set too early."""
    kernel = buffered(CORPUS[name]())
    plan, ids = order(kernel)
    assert faults(placed(kernel, plan, ids)) == []
    for what, fewer, fewer_ids in deletions(plan, ids):
        found = faults(placed(kernel, fewer, fewer_ids))
        assert found, what
        if name not in SHORT_OF_IDS:
            assert any("race" in fault.what for fault in found), what


@pytest.mark.parametrize("name", CORPUS)
def test_ids_and_barriers_are_those_of_the_chip(name: str) -> None:
    for kernel in run_passes(CORPUS[name](), NPU_PASSES)[0].kernels:
        for item in walk(kernel.body):
            if isinstance(item, Operation) and item.name.endswith("_flag"):
                ids = flag_ids(item.attribute("id"))
                assert ids is not None
                assert set(ids) <= set(range(IDS))
            elif isinstance(item, Operation) and item.name == "pipe_barrier":
                assert item.attribute("pipe") != "ALL"


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
    assert "MTE3" in {flag[0] for flag in flags_of(kernel)}
    assert faults(kernel) == []
    copies = [item for item in walk(kernel.body) if isinstance(item, Load | Store)]
    assert len(copies) == 4
