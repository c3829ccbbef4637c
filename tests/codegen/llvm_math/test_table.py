"""Every elementwise operation has a rule for every dtype it allows, on every machine, with the same bits at any number of lanes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.rules import RULES, element, elementwise, memory_element
from pypto.codegen.llvm.rules.single import Application, Rules, object_code
from pypto.ir.dtypes import ALL, BOOL, F32, F64, DType
from pypto.ir.nodes import Level
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

# The CPU target branches off at level tile.
ELEMENTWISE = [
    record for record in TABLE.values() if record.category is Category.ELEMENTWISE and record.level is Level.TILE
]
APPLICATIONS = [
    Application.of(record.name, dtype) for record in ELEMENTWISE if record.name != "cast" for dtype in record.dtypes
]
CASTS = [Application.of("cast", source, target) for source, target in itertools.product(ALL, ALL)]
SSE2 = Machine("x86_64-unknown-linux-gnu", "x86-64", "+sse2", 128)
NEON = Machine("aarch64-unknown-linux-gnu", "generic", "+neon", 128)
DARWIN = Machine("arm64-apple-macosx", "apple-m1", "", 128)


def name(application: Application) -> str:
    target = f"-{application.target}" if application.target else ""
    return f"{application.operation}-{application.dtypes[-1]}{target}"


def any_values(dtype: DType, count: int, seed: int) -> np.ndarray:
    """Random bit patterns (so NaN, infinities and subnormals occur), and every special value."""
    generator = np.random.default_rng(seed)
    if dtype == BOOL:
        return generator.integers(0, 2, count).astype(bool)
    data = generator.integers(0, 256, count * dtype.bytes, np.uint8).view(dtype.numpy).copy()
    if dtype.is_float:
        with np.errstate(all="ignore"):
            data[::2] = (generator.normal(size=data[::2].size) * 4).astype(dtype.numpy)
        special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 2.0, -3.0]
    else:
        data[::2] = generator.integers(-9 if dtype.kind == "signed" else 0, 9, data[::2].size).astype(dtype.numpy)
        limits = np.iinfo(dtype.numpy)
        special = [0, 1, limits.min, limits.max, limits.min, 2, 3, 7, limits.max - 1, limits.min]
    data[1 : 1 + 2 * len(special) : 2] = generator.permutation(np.array(special, dtype.numpy))
    return data


def same_bits(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Equal bit patterns; any NaN for any NaN."""
    unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[left.itemsize]
    equal = left.view(unsigned) == right.view(unsigned)
    if left.dtype.kind in "iub":
        return equal
    return equal | (np.isnan(left) & np.isnan(right))


def test_every_record_has_a_rule_and_every_rule_a_record():
    assert set(RULES) == {record.name for record in ELEMENTWISE}


@pytest.mark.parametrize("application", APPLICATIONS + CASTS, ids=name)
def test_bits_do_not_depend_on_the_number_of_lanes(rules: Rules, application: Application):
    operands = [any_values(dtype, 320, seed) for seed, dtype in enumerate(application.dtypes)]
    scalar = rules.loop(application, 1)(*operands)
    for lanes in (4, 8, 16):
        vector = rules.loop(application, lanes)(*operands)
        assert same_bits(scalar, vector).all(), lanes


@pytest.mark.parametrize("application", APPLICATIONS + CASTS, ids=name)
def test_rules_that_are_exact_agree_with_the_meaning(rules: Rules, machines, application: Application):
    record = TABLE[application.operation]
    if record.error_bound not in ("exact", "0.5 ulp"):
        return
    operands = [any_values(dtype, 1000, seed) for seed, dtype in enumerate(application.dtypes)]
    expected = np.asarray(record.meaning(*operands, **application.attributes))
    for machine in machines.values():
        result = rules.loop(application, 4, machine)(*operands)
        assert result.dtype == expected.dtype
        wrong = ~same_bits(result, expected)
        assert not wrong.any(), [(x[wrong][0]) for x in (*operands, result, expected)]


@pytest.mark.parametrize("machine", [SSE2, NEON, DARWIN], ids=["sse2", "neon", "darwin"])
def test_every_rule_compiles_for_other_machines(machine: Machine):
    for application in APPLICATIONS + CASTS:
        assert object_code(application, 4, machine)


def test_rules_call_nothing_but_the_c_library():
    """Helpers of compilers' run-time libraries (for f16, above all) are not in a Python process."""
    for application in APPLICATIONS + CASTS:
        assert not [word for word in _names(application) if word.startswith(b"__")], application
    assert b"pow" in _names(Application.of("pow", F64))  # the names are where they are looked for


def _names(application: Application) -> set[bytes]:
    return set(object_code(application, 4, SSE2).split(b"\0"))


def test_flags_follow_the_machine():
    plain, full = FunctionBuilder.for_machine(SSE2), FunctionBuilder.for_machine(NEON)
    assert (plain.has_fma, plain.has_half, plain.has_scalef) == (False, False, False)
    assert (full.has_fma, full.has_half, full.has_scalef) == (True, True, False)
    wide = FunctionBuilder.for_machine(Machine("x86_64-pc-linux", "skylake-avx512", "+avx512f,+avx512vl,+fma", 512))
    assert wide.has_scalef


def test_elements():
    assert [element(dtype) for dtype in (BOOL, F32, F64)] == ["i1", "float", "double"]
    assert memory_element(BOOL) == "i8"


def test_an_unknown_operation_is_a_key_error():
    with pytest.raises(KeyError, match="sum"):
        elementwise(FunctionBuilder(), "sum", (Register("%x", "float"),), (F32,), F32, {})
