"""What the corpus of kernels covers, so that what is shown for all of it means something."""

from __future__ import annotations

import re

import pytest

from passes.corpus import CORPUS
from pypto.codegen.ascendc.emitter import emit
from pypto.ir.nodes import For, Module, Operation, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.insert_synchronisation import IDS
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.slots import turn_bounds

EVENT = re.compile(r"(?:Set|Wait)Flag<AscendC::HardEvent::\w+>\(EVENT_ID(\d+)\)")


def planned(name: str) -> Module:
    return run_passes(CORPUS[name](), NPU_PASSES)[0]


def operations(module: Module) -> list[Operation]:
    return [item for kernel in module.kernels for item in walk(kernel.body) if isinstance(item, Operation)]


def test_corpus_has_kernels_of_every_kind() -> None:
    assert len(CORPUS) >= 60
    named = {
        family: [name for name in CORPUS if name.startswith(family)] for family in ("softmax", "layer_norm", "chain")
    }
    assert all(len(names) >= 3 for names in named.values())
    categories = {TABLE[item.name].category for make in CORPUS.values() for item in operations(make())}
    assert {Category.ELEMENTWISE, Category.REDUCTION, Category.CONSTANT} <= categories


def test_corpus_has_loops_of_every_number_of_turns() -> None:
    loops = [item for make in CORPUS.values() for kernel in make().kernels for item in walk(kernel.body)]
    turns = {turn_bounds(item, {})[1] for item in loops if isinstance(item, For)}
    assert {0, 1, 2, 3} <= turns
    assert max(item for item in turns if item is not None) >= 7
    inner = [loop for item in loops if isinstance(item, For) for loop in walk(item.body) if isinstance(loop, For)]
    assert {turn_bounds(item, {})[1] for item in inner} >= {0, 3}


def test_corpus_has_buffers_of_one_two_and_three_slots() -> None:
    seen = set()
    for name in ("chain", "chain_single", "chain_triple", "copies_rows", "copies_single", "copies_triple"):
        seen |= {(name, buffer.depth) for kernel in planned(name).kernels for buffer in kernel.buffers}
    assert {("copies_single", 1), ("copies_rows", 2), ("copies_triple", 3), ("chain_triple", 3)} <= seen
    assert ("chain_single", 2) not in seen


@pytest.mark.parametrize("name", CORPUS)
def test_source_has_no_barrier_of_all_pipes_and_no_reserved_id(name: str) -> None:
    """PIPE_ALL may stand at the end of a kernel only; ids 6 and 7 belong to the system."""
    text = emit(planned(name))
    body = text[text.index("__global__") :]
    assert all(int(number) < IDS for number in EVENT.findall(body))
    for place in re.finditer("PIPE_ALL", text):
        assert re.match(r"PIPE_ALL>\(\);\s*\}\s", text[place.start() :]), name
