"""Execution at real addresses, in every order that the hardware allows, gives what the interpreter does."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from passes.corpus import CORPUS
from passes.kernels import Arrays, arguments
from passes.random_kernels import random_kernel
from pypto.ir import interpreter
from pypto.ir.engine import values
from pypto.ir.engine.clocks import faults
from pypto.ir.engine.machine import ORDERS, Order
from pypto.ir.liveness import live_spans, meet
from pypto.ir.nodes import Kernel, Load, Module, Operation
from pypto.ir.passes.footprint import whole_repeats
from pypto.ir.passes.insert_synchronisation import order, placed
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.plan_addresses import footprint, meetings, packed, partners_of, peak
from pypto.ir.passes.remove_implied import without_barrier, without_flag
from pypto.ir.verifier import VerificationError, verify

ALL_ORDERS = (*ORDERS, Order("random", 1), Order("random", 2, reads_late=0.5))


def planned(module: Module) -> Module:
    return run_passes(module, NPU_PASSES)[0]


def same(left: np.ndarray, right: np.ndarray) -> bool:
    return np.array_equal(left.astype(np.float64), right.astype(np.float64), equal_nan=True)


def check(module: Module, orders: tuple[Order, ...]) -> None:
    """The planned kernel, run at addresses, agrees with the interpreter on the same text to the last bit."""
    lowered = planned(module)
    verify(lowered)
    assert [str(fault) for kernel in lowered.kernels for fault in faults(kernel)] == []
    arrays, scalars = arguments(module)
    expected = {name: array.copy() for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        interpreter.run(lowered, expected, scalars)
    for item in orders:
        found = {name: array.copy() for name, array in arrays.items()}
        assert values.run(lowered, found, scalars, replace(item)) == []
        assert [name for name in expected if not same(found[name], expected[name])] == [], item


@pytest.mark.parametrize("name", CORPUS)
def test_corpus_in_all_orders(name: str) -> None:
    check(CORPUS[name](), ALL_ORDERS)


@pytest.mark.parametrize("start", range(0, 500, 50))
def test_random_kernels(start: int, request: pytest.FixtureRequest) -> None:
    """Each of 500 kernels in two orders that its number chooses; all orders with ``--all-orders``."""
    every = request.config.getoption("--all-orders")
    for seed in range(start, start + 50):
        chosen = ALL_ORDERS if every else (ORDERS[1 + seed % (len(ORDERS) - 1)], Order("random", seed, reads_late=0.5))
        if every or seed % 5 == 0:
            check(random_kernel(seed), chosen)


def results(kernel: Kernel, module: Module, item: Order) -> tuple[Arrays, list[str]]:
    arrays, scalars = arguments(module)
    memory = arrays | {name: np.float32(number) for name, number in scalars.items()}
    with np.errstate(all="ignore"):
        found = values.execute(kernel, memory, replace(item), {})
    return arrays, [fault.what for fault in found]


@pytest.mark.parametrize("name", ["chain_7", "copies_rows", "accumulate", "softmax_1"])
def test_a_missing_flag_or_barrier_shows_as_a_wrong_number_in_some_order(name: str) -> None:
    module = CORPUS[name]()
    before = [item.name for item in NPU_PASSES].index("insert_synchronisation")
    (kernel,) = run_passes(module, NPU_PASSES[:before])[0].kernels
    found = order(kernel)
    assert found is not None
    plan, ids = found
    right, _ = results(placed(kernel, plan, ids), module, ORDERS[0])
    cases = [(without_flag(plan, flag), [*ids[:k], *ids[k + 1 :]]) for k, flag in enumerate(plan.flags)]
    cases += [(without_barrier(plan, number, pipe), ids) for number, pipes in plan.barriers.items() for pipe in pipes]
    many = (*ORDERS, *(Order("random", seed) for seed in range(20)))
    for fewer, fewer_ids in cases:
        runs = (results(placed(kernel, fewer, fewer_ids), module, item) for item in many)
        assert any(what or any(not same(array, right[key]) for key, array in made.items()) for made, what in runs)


def test_reading_what_nobody_wrote_is_reported() -> None:
    module = CORPUS["chain_7"]()
    (kernel,) = planned(module).kernels
    unloaded = tuple(item for item in kernel.body if not isinstance(item, Load))
    _, found = results(replace(kernel, body=unloaded), module, Order("early"))
    assert any("has bytes that nobody wrote" in what for what in found)


def test_a_wait_that_nobody_ends_is_a_deadlock() -> None:
    module = CORPUS["chain_7"]()
    (kernel,) = planned(module).kernels
    unset = tuple(item for item in kernel.body if not (isinstance(item, Operation) and item.name == "set_flag"))
    _, found = results(replace(kernel, body=unset), module, Order("early"))
    assert any("deadlock: V waits for flag MTE2 -> V 0" in what for what in found)


# -- plans of addresses


@pytest.mark.parametrize("name", CORPUS)
def test_any_overlap_of_buffers_in_use_together_is_reported(name: str) -> None:
    module = planned(CORPUS[name]())
    for kernel in module.kernels:
        spans = live_spans(kernel)
        for first in kernel.buffers:
            others = [
                item for item in kernel.buffers if item is not first and meet(spans[item.name], spans[first.name])
            ]
            for second in others[:4]:
                address = (second.address or 0) + whole_repeats(second) - 256
                moved = tuple(replace(item, address=address) if item is first else item for item in kernel.buffers)
                with pytest.raises(VerificationError) as caught:
                    verify(replace(module, kernels=(replace(kernel, buffers=moved),)))
                assert caught.value.rule in ("buffer-overlap", "over-capacity")


@pytest.mark.parametrize("seed", range(20))
def test_meetings_are_the_pairs_in_use_together(seed: int) -> None:
    random = Random(seed)
    spans: dict[str, list[tuple[int, int]]] = {}
    for number in range(30):
        ends = sorted(random.sample(range(60), 2 * random.randint(1, 3)))
        spans[f"b{number}"] = list(zip(ends[::2], ends[1::2], strict=True))
    spans |= {"moment": [(7, 7)], "always": [(0, 10**9)]}
    assert meetings(spans) == {
        name: {other for other in spans if other != name and meet(spans[other], spans[name])} for name in spans
    }


def test_plans_are_within_a_tenth_of_the_lower_bound() -> None:
    before = [item.name for item in NPU_PASSES].index("plan_addresses")
    for name, make in CORPUS.items():
        (kernel,) = run_passes(make(), NPU_PASSES[:before])[0].kernels
        least = peak(kernel)
        placed_ = packed(kernel, spread=False)
        assert placed_ is not None
        assert footprint(placed_) <= max(1.1 * least, least + 512), name  # 512: bank groups apart


def test_sources_of_an_instruction_start_in_different_bank_groups() -> None:
    pairs = clashes = 0
    for make in CORPUS.values():
        for kernel in planned(make()).kernels:
            groups = {item.name: (item.address or 0) // 32 % 16 for item in kernel.buffers}
            for name, others in partners_of(kernel).items():
                pairs += len(others)
                clashes += sum(groups[name] == groups[other] for other in others)
    assert pairs > 200
    assert clashes <= pairs // 100
