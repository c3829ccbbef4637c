"""A walk over the operation table: every record is complete, and its meaning has the type that its rule says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pypto.codegen.llvm import along
from pypto.codegen.llvm.emitter import emit
from pypto.codegen.llvm.rules import reduction_identity
from pypto.codegen.llvm.rules.dispatch import RULES
from pypto.ir.base.errors import UserError
from pypto.ir.builder import Builder
from pypto.ir.dtypes import ALL, BOOL, F16, F32, F64, I32, I64, DType
from pypto.ir.interpreter import run
from pypto.ir.nodes import (
    Attribute,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Parameter,
    Pipe,
    Role,
    Store,
    TileType,
    Value,
    whole,
)
from pypto.ir.operations.cube import OPERANDS, accumulator
from pypto.ir.operations.definition import Category, OperationDefinition
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.verification.attributes import check_attributes
from pypto.ir.verification.operations import infer_types
from pypto.runtime.toolchain import emit_object, host_machine

RECORDS = tuple(TABLE.values())
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (5,), (0, 3), (2, 3), (4, 1, 3))

ATTRIBUTES: dict[str, dict[str, Any]] = {
    "axes": {"axes": lambda shape: tuple(axis for axis, extent in enumerate(shape) if extent)[-1:]},
    "axis": {"axis": lambda shape: len(shape) - 1},
    "dtype": {"dtype": lambda shape: F32},
    "permutation": {"permutation": lambda shape: tuple(reversed(range(len(shape))))},
    "ranges": {"ranges": lambda shape: tuple((0, extent, 1) for extent in shape)},
    "low": {"low": lambda shape: (1,) * len(shape)},
    "causal": {"causal": lambda shape: True},
    "dilation": {"dilation": lambda shape: (1, 2)},
    "scale": {"scale": lambda shape: 0.5},
    "stride": {"stride": lambda shape: (2, 1)},
    "count": {"count": lambda shape: shape[-1] // 2},
    "descending": {"descending": lambda shape: True},
    "wrap": {"wrap": lambda shape: True},
    "high": {"high": lambda shape: (2,) * len(shape)},
}
"""How to make a value of each attribute for an operand of a shape."""


def sample_attributes(record: OperationDefinition, dtype: DType, shape: tuple[int, ...]) -> dict[str, Attribute]:
    chosen: dict[str, Attribute] = {}
    for name in record.attributes:
        if name == "shape":
            chosen[name] = (1, *shape) if record.name == "reshape" else shape
        elif name == "value":
            chosen[name] = 1
        elif name == "dtype" and record.category is Category.CONSTANT:
            chosen[name] = dtype
        elif name in ATTRIBUTES:
            chosen[name] = ATTRIBUTES[name][name](shape)
        else:
            pytest.fail(f"say in this test what attribute {name} of {record.name} may be")
    return chosen


def contracted_shapes(record: OperationDefinition, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return operand shapes that fit together, made from the extents of `shape`."""
    *batch, m, k = (2, 2, *shape)[-max(2, len(shape)) :]
    if record.name == "matmul":
        return (*batch, m, k), (k, 3)
    if record.name == "convolution":
        return (*batch, m, k + 4, 6), (3, m, 2, 2)
    return (*batch, m, k), (5, k), (*batch, 5, 3), (m, 1)


def sample_operands(record: OperationDefinition, dtype: DType, shape: tuple[int, ...]) -> list[np.ndarray]:
    """Small positive numbers, which every operation takes."""
    if record.category is Category.CONTRACTION:
        return [np.ones(item, dtype.numpy) for item in contracted_shapes(record, shape)]
    values = np.asarray(np.arange(math.prod(shape)).reshape(shape) % 3 + 1).astype(dtype.numpy)
    operands = [values.copy() for _ in record.operands]
    if record.name == "where":
        operands[0] = values.astype(np.bool_)
    if record.category is Category.INDEXING:
        operands[1] = np.full_like(values, -1, np.int64)
    return operands


def check_application(record: OperationDefinition, dtype: DType, shape: tuple[int, ...]) -> None:
    check_one(record, sample_operands(record, dtype, shape), sample_attributes(record, dtype, shape))


def check_one(record: OperationDefinition, arrays: list[np.ndarray], attributes: dict[str, Any]) -> None:
    values = tuple(Value(str(number), TileType(_dtype(array), array.shape)) for number, array in enumerate(arrays))
    operation = Operation(record.name, values, (), tuple(sorted(attributes.items())))
    check_attributes(operation, record)
    (type_,) = infer_types(operation, record)
    before = [array.copy() for array in arrays]
    result = np.asarray(record.meaning(*arrays, **attributes))
    assert result.shape == type_.shape, attributes
    assert result.dtype == type_.dtype.numpy, attributes
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_meaning_has_the_type_of_the_rule(record: OperationDefinition) -> None:
    if record.category is Category.SYNCHRONISATION:
        assert record.meaning(**dict.fromkeys(record.attributes)) is None
        return
    if record.category is Category.CUBE:
        check_cube_application(record)
        return
    for dtype in record.dtypes:
        for shape in SHAPES:
            if shape or "axis" not in record.attributes:  # a scalar has no axes
                check_application(record, dtype, shape)


def check_cube_application(record: OperationDefinition) -> None:
    """Matrices of 6 by 4 times 4 by 5, parts and rows of them, in every element type that the first operand has."""
    shapes = {"accumulator": (6, 5), "x": (6, 4) if record.pipe is Pipe.M else (1, 6, 4), "y": (4, 5), "bias": (5,)}
    if record.name == "load_bias":
        shapes["x"] = (1, 5)
    if record.name == "fixpipe":
        shapes["x"] = (6, 4)
    for dtype in OPERANDS if record.pipe is Pipe.M else record.dtypes:
        for attributes in CUBE_ATTRIBUTES[record.name]:
            types = {name: accumulator(dtype) if name in ("accumulator", "bias") else dtype for name in record.operands}
            arrays = [np.ones(shapes[name], types[name].numpy) for name in record.operands]
            check_one(record, arrays, {"dtype": dtype, **attributes} if record.name == "fixpipe" else dict(attributes))


CUBE_ATTRIBUTES: dict[str, tuple[dict[str, Any], ...]] = {
    "load_bias": ({},),
    "mmad": ({"turn": 0}, {"turn": 3}),
    "mmad_bias": ({"turn": 0}, {"turn": 3}),
    "fixpipe": ({"relu": True, "shape": (6, 1, 4)}, {"relu": False, "shape": (6, 4)}),
}
for _name in ("load_a", "load_b"):
    _ranges = ((0, 1, 1), (2, 3, 1), (1, 2, 1))
    CUBE_ATTRIBUTES[_name] = (
        {"ranges": _ranges, "shape": (3, 2), "transposed": False},
        {"ranges": _ranges, "shape": (2, 3), "transposed": True},
    )


def _dtype(array: np.ndarray) -> DType:
    return next(dtype for dtype in ALL if dtype.numpy == array.dtype)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_record_is_complete(record: OperationDefinition) -> None:
    assert TABLE[record.name] is record
    assert record.name.isidentifier()
    assert record.documentation.strip()
    assert not record.documentation.endswith(".")
    assert record.cost.flops >= 0
    assert record.cost.cycles_per_repeat >= 0
    assert math.isfinite(record.cost.flops + record.cost.cycles_per_repeat)
    assert record.error_bound
    assert list(record.attributes) == sorted(record.attributes)
    assert set(record.optional) <= set(record.attributes)
    assert len(set(record.operands)) == len(record.operands)
    if record.category in (Category.ELEMENTWISE, Category.REDUCTION, Category.VIEW, Category.ASSEMBLY):
        assert record.operands
        assert record.dtypes
    if record.category is Category.SYNCHRONISATION:
        assert not record.operands


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_elementwise_record_has_code_for_the_cpu(record: OperationDefinition) -> None:
    if record.category is Category.ELEMENTWISE and record.level is Level.TILE:
        assert record.name in RULES


LOWERED_ALONG = (Category.ARGUMENT_REDUCTION, Category.SCAN, Category.SORT, Category.INDEXING)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_record_along_axes_has_code_for_the_cpu(record: OperationDefinition) -> None:
    """Gathering is evaluated inside its consumers' loops (`evaluation.py`), other operations have tasks of their own."""
    if record.category in LOWERED_ALONG and record.name != "gather" and record.level is Level.TILE:
        assert record.name in along.RULES
    if record.category is Category.REDUCTION and record.level is Level.TILE:
        for dtype in record.dtypes:
            reduction_identity(record.name, dtype)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_contraction_runs_on_the_cpu_and_lowers_to_the_cube_core_or_says_why_not(record: OperationDefinition) -> None:
    """It has code of the CPU for each dtype, and a plan for the cube core or a clear error."""
    if record.category is not Category.CONTRACTION:
        return
    for dtype in record.dtypes:
        arrays = sample_operands(record, dtype, (3, 4))
        module, wanted = contraction_module(record, arrays)
        assert emit_object(emit(module, {}, host_machine()).text, host_machine())
        if record.name in ("matmul", "attention") and dtype in OPERANDS:
            assert run_passes(module, NPU_PASSES)[0].level is Level.PLANNED
        else:
            with pytest.raises(UserError) as caught:
                run_passes(module, NPU_PASSES)
            assert caught.value.name in ("npu-operation", "npu-dtype")
        assert wanted.shape == module.parameters[-1].type.shape


def contraction_module(record: OperationDefinition, arrays: list[np.ndarray]) -> tuple[Module, np.ndarray]:
    """Return a kernel of the one operation, and what it computes."""
    attributes = sample_attributes(record, _dtype(arrays[0]), (3, 4))
    builder, names = Builder(), [f"x{number}" for number in range(len(arrays))]
    values = [builder.value(TileType(_dtype(array), array.shape)) for array in arrays]
    for name, value in zip(names, values, strict=True):
        builder.append(Load(value, name, whole(value.type)))
    result = builder.operation(record.name, tuple(values), **attributes)
    builder.append(Store("out", whole(result.type), result))
    inputs = [Parameter(name, value.type, Role.IN) for name, value in zip(names, values, strict=True)]
    parameters = (*inputs, Parameter("out", result.type, Role.OUT))
    module = Module("m", parameters, (), (Kernel("m", parameters, (), tuple(builder.statements)),))
    memory = dict(zip(names, arrays, strict=True)) | {"out": np.zeros(result.shape, result.dtype.numpy)}
    run(module, memory)
    return module, memory["out"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_elementwise_meaning_broadcasts(record: OperationDefinition) -> None:
    if record.category is not Category.ELEMENTWISE or len(record.operands) < 2:
        return
    dtype = record.dtypes[0]
    wide, narrow = (sample_operands(record, dtype, shape) for shape in ((2, 3), (3,)))
    operands = [narrow[0], *wide[1:]]
    types = tuple(TileType(_dtype(item), item.shape) for item in operands)
    (type_,) = record.infer(types, {})
    assert type_.shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(record.meaning(*operands)).shape, (2, 3))


SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-45, 3.4028235e38], np.float32)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_propagate_nan(name: str) -> None:
    x, y = np.meshgrid(SPECIAL, SPECIAL)
    result = TABLE[name].meaning(x, y)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(x) | np.isnan(y))


@pytest.mark.parametrize("name", ["max", "min"])
def test_reduced_extremes_propagate_nan(name: str) -> None:
    x = np.array([[1, 2], [np.nan, 0]], np.float32)
    np.testing.assert_array_equal(np.isnan(TABLE[name].meaning(x, axes=(1,))), [[False], [True]])


def test_neg_of_zero_is_minus_zero() -> None:
    assert np.signbit(TABLE["neg"].meaning(np.float32(0.0)))


def test_functions_of_special_values_are_silent() -> None:
    with np.errstate(all="raise"):
        for record in RECORDS:
            if (
                record.category is Category.ELEMENTWISE
                and F32 in record.dtypes
                and record.name not in ("where", "cast")
            ):
                x, y = np.meshgrid(SPECIAL, SPECIAL)
                record.meaning(*(x, y)[: len(record.operands)])


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (np.nan, I32, 0),
        (np.inf, I32, 2**31 - 1),
        (-np.inf, I32, -(2**31)),
        (1e20, I64, 2**63 - 1),
        (-1e20, I64, -(2**63)),
        (2.0**63, I64, 2**63 - 1),
        (2147483647.5, I32, 2147483647),
        (-1.9, I32, -1),
        (-0.5, BOOL, True),
        (np.nan, BOOL, True),
        (65520.0, F16, np.inf),
    ],
)
def test_cast(value: float, dtype: DType, expected: float) -> None:
    for source in (F64, F32):
        if float(source.numpy.type(value)) == value or math.isnan(value):
            assert TABLE["cast"].meaning(source.numpy.type(value), dtype=dtype) == expected


def test_integers_by_zero_give_zero() -> None:
    x, zero = np.array([5, -5, 0], np.int32), np.zeros(3, np.int32)
    assert not TABLE["floor_div"].meaning(x, zero).any()
    assert not TABLE["remainder"].meaning(x, zero).any()


def test_integers_wrap() -> None:
    smallest = np.array([-(2**31)], np.int32)
    assert TABLE["neg"].meaning(smallest) == smallest
    assert TABLE["abs"].meaning(smallest) == smallest
    assert TABLE["sub"].meaning(smallest, np.array([1], np.int32)) == 2**31 - 1
