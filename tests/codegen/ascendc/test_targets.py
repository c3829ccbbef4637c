"""The chip's description agrees with what the passes and the verifier use."""

from __future__ import annotations

import pytest

from pypto.codegen.targets.target import load_target
from pypto.ir.nodes import Space
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.verification.levels import MEMORIES


def test_every_number_has_a_unit_and_a_source() -> None:
    target = load_target("ascend910b1")
    for group in target.groups.values():
        for quantity in group.values():
            assert quantity.value > 0
            assert quantity.unit
            assert quantity.source


def test_passes_use_the_same_numbers() -> None:
    target = load_target("ascend910b1")
    assert target.number("memory", "unified_buffer") == ASCEND_910B1.unified_buffer
    assert target.number("memory", "select_reserve") == ASCEND_910B1.select_reserve
    assert target.number("memory", "block") == ASCEND_910B1.block_bytes
    assert target.number("memory", "repeat") == ASCEND_910B1.repeat_bytes
    assert target.number("cores", "vector") == ASCEND_910B1.vector_cores
    assert target.number("cores", "cube") == ASCEND_910B1.cube_cores
    for name in ("l1", "l0a", "l0b", "l0c", "bias_table"):
        assert target.number("memory", name) == getattr(ASCEND_910B1, name)


def test_the_verifier_uses_the_same_capacities() -> None:
    target = load_target("ascend910b1")
    names = {Space.UB: "unified_buffer", Space.L1: "l1", Space.L0A: "l0a", Space.L0B: "l0b", Space.L0C: "l0c"}
    names[Space.BT] = "bias_table"
    for space, name in names.items():
        assert target.number("memory", name) == MEMORIES[space].capacity


def test_an_unknown_chip_is_not_found() -> None:
    with pytest.raises(FileNotFoundError):
        load_target("ascend000")
