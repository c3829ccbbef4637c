"""Merging stages changes nothing but speed: random graphs merged, not merged, eager, and at addresses in any order."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from compile.random_graphs import RandomGraph
from pypto.ir.engine import clocks, values
from pypto.ir.engine.machine import ORDERS, Order
from pypto.ir.verifier import verify

COUNT = 500
SUBSET = range(0, COUNT, 10)
"""Without ``--all-orders``."""


def bits(graph, target, **config):
    config = {"dependency_graph": pypto.DependencyGraph(graph.links), **config}
    kernel = pypto.compile(graph.stages, config, target=target)
    arrays = graph.arrays(tuple(kernel._subject.signature.parameters))
    kernel.execute(**arrays)
    return {name: array.view(np.uint8) for name, array in arrays.items()}, kernel


def check_bits(graph, merged):
    for target, config in (("cpu", {"enable_fusion": False}), ("eager", {})):
        others, _ = bits(graph, target, **config)
        for name, array in merged.items():
            np.testing.assert_array_equal(array, others[name], err_msg=f"{name} on {target}")


def check_at_addresses(graph, merged, kernel, orders):
    planned = kernel.module_at("planned")
    verify(planned)
    assert [str(fault) for item in planned.kernels for fault in clocks.faults(item)] == []
    for order in orders:
        arrays = graph.arrays(tuple(merged))
        assert values.run(planned, arrays, {}, order) == []
        for name, array in merged.items():
            np.testing.assert_array_equal(array, arrays[name].view(np.uint8), err_msg=f"{name} in order {order}")


@pytest.mark.parametrize("start", range(0, COUNT, 50))
def test_merged_stages_give_the_bits_of_separate_ones(start, request):
    """On the CPU, eagerly, and lowered for the NPU at addresses; all 500 in all orders with ``--all-orders``."""
    every = request.config.getoption("--all-orders")
    for seed in range(start, start + 50):
        if not every and seed not in SUBSET:
            continue
        graph = RandomGraph(seed)
        merged, kernel = bits(graph, "cpu")
        check_bits(graph, merged)
        few = (ORDERS[1 + seed % (len(ORDERS) - 1)], Order("random", seed, reads_late=0.5))
        check_at_addresses(graph, merged, kernel, (*ORDERS, *few) if every else few)
