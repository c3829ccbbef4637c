"""Random tile graphs as AscendC on the host model, with barriers where blocks need each other."""

from __future__ import annotations

import pytest

import pypto
from compile.random_graphs import RandomGraph


@pytest.mark.parametrize("seed", [3, 27, 51, 75])
def test_a_random_graph_agrees_with_the_reference(seed):
    graph = RandomGraph(seed)
    config = {"dependency_graph": pypto.DependencyGraph(graph.links)}
    kernel = pypto.compile(graph.stages, config, target="ascendc")
    arrays = graph.arrays(tuple(kernel._subject.signature.parameters))
    result = kernel.execute(**arrays, verify=True)
    assert result.verification_passed, result.verification_error
