"""Identities and combining of partial results."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.rules import combine, element, reduction_identity
from pypto.ir.dtypes import BOOL, F32, F64, I8, I16, I32, I64, U8
from pypto.ir.operations.table import TABLE

NUMPY = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("dtype", [F32, F64, I8, U8, I16, I32, I64, BOOL], ids=str)
@pytest.mark.parametrize("operation", NUMPY)
def test_the_identity_changes_nothing(operation, dtype):
    if dtype not in TABLE[operation].dtypes:
        return
    identity = np.asarray(reduction_identity(operation, dtype), dtype.numpy)
    special = [0.0, 1.5, -2.0, np.inf, -np.inf, np.nan] if dtype.is_float else [0, 1, *_limits(dtype)]
    x = np.array(special, dtype.numpy)
    np.testing.assert_array_equal(NUMPY[operation](identity, x), x)


def _limits(dtype):
    return (False, True) if dtype == BOOL else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)


@pytest.mark.parametrize(
    ("operation", "instruction"), [("sum", "fadd"), ("mean", "fadd"), ("max", "fcmp ogt"), ("min", "fcmp olt")]
)
def test_combine_uses_the_elementwise_rule(operation, instruction):
    builder = FunctionBuilder()
    left, right = (Register(name, element(F32), 8) for name in ("%a", "%b"))
    result = combine(builder, operation, F32, left, right)
    assert result.type == "<8 x float>"
    assert instruction in builder.lines[0]


def test_other_operations_have_no_identity():
    with pytest.raises(KeyError, match="exp"):
        reduction_identity("exp", F32)
