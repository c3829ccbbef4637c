"""Operations of the cube core, from level *buffered* on: passes make them, no front end does.

A matrix comes from global memory into L1 (`load`), goes from there into L0A or L0B (`load_a`, `load_b`), is multiplied
into L0C (`mmad`) and leaves through the fixpipe: `fixpipe` says how a `store` of L0C converts on the way and is no
instruction of its own. The hardware keeps fractals of 16 rows by 32 bytes in L1, L0A and L0B and of 16 by 16 in L0C;
values here are matrices in logical order, in buffers that have the size of the padded fractals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import BF16, F16, F32, I8, I32, DType
from pypto.ir.nodes import Level, Pipe, TileType
from pypto.ir.operations.definition import (
    Attributes,
    Category,
    Cost,
    InferTypes,
    Meaning,
    OperationDefinition,
    RuleViolation,
)
from pypto.ir.operations.rules import show_shape

Array = NDArray[Any]
Types = tuple[TileType, ...]

MOVE = Cost(0, 1)
OPERANDS = (F16, BF16, F32, I8)
ACCUMULATORS = (F32, I32)
PRODUCT_BOUND = "k * eps * sum|x||y|; integers exact"


def accumulator(dtype: DType) -> DType:
    """Return the element type in which products of `dtype` add up in L0C."""
    return I32 if dtype == I8 else F32


def _part(types: Types, attributes: Attributes) -> Types:
    """The part that ``ranges`` says, a matrix of ``shape`` (rows, columns); `transposed`: columns come first in x."""
    (x,), ranges, shape = types, attributes["ranges"], attributes["shape"]
    assert isinstance(ranges, tuple) and isinstance(shape, tuple)
    long = [item[1] for item in ranges if isinstance(item, tuple) and item[1] != 1]
    matrix = shape[::-1] if attributes["transposed"] else shape
    if len(shape) != 2 or long != [extent for extent in matrix if extent != 1]:
        raise RuleViolation("cube-matrix", shape=show_shape(x.shape))
    return (TileType(x.dtype, shape),)  # type: ignore[arg-type]  # checked to be extents


def _part_meaning(
    x: Array, ranges: tuple[tuple[int, int, int], ...], shape: tuple[int, int], transposed: bool
) -> Array:
    part = x[tuple(slice(offset, offset + extent) for offset, extent, _ in ranges)]
    return np.ascontiguousarray(part.reshape(shape[::-1]).T if transposed else part.reshape(shape))


def _row(types: Types, attributes: Attributes) -> Types:
    (x,) = types
    long = tuple(extent for extent in x.shape if extent != 1)
    if len(long) > 1:
        raise RuleViolation("cube-matrix", shape=show_shape(x.shape))
    return (TileType(I32 if x.dtype == I32 else F32, long or (1,)),)


def _row_meaning(x: Array) -> Array:
    return x.reshape(-1).astype(np.int32 if x.dtype == np.int32 else np.float32)


def _product(types: Types, attributes: Attributes) -> Types:
    total, x, y, *bias = types
    fits = x.rank == y.rank == 2 and x.shape[1] == y.shape[0] and total.shape == (x.shape[0], y.shape[1])
    if not fits or x.dtype != y.dtype or x.dtype not in OPERANDS:
        raise RuleViolation("matmul-shapes", left=show_shape(x.shape), right=show_shape(y.shape))
    wanted = accumulator(x.dtype)
    for item in (total, *bias):
        if item.dtype != wanted:
            raise RuleViolation("dtype-mismatch", dtypes=f"{item.dtype} and {wanted}")
    if bias and bias[0].shape != y.shape[1:]:
        raise RuleViolation("matmul-shapes", left=show_shape(bias[0].shape), right=show_shape(y.shape))
    return (total,)


def _product_meaning(total: Array, x: Array, y: Array, turn: int) -> Array:
    """x times y, added to what is there from the second turn on; floats round once in each turn."""
    return _added(total if turn else np.zeros((), total.dtype), x, y)


def _bias_meaning(total: Array, x: Array, y: Array, bias: Array, turn: int) -> Array:
    return _added(total if turn else bias, x, y)


def _added(before: Array, x: Array, y: Array) -> Array:
    if before.dtype == np.int32:
        return np.asarray(before + np.matmul(x.astype(np.int64), y.astype(np.int64))).astype(np.int32)
    with np.errstate(all="ignore"):
        return np.asarray(before + np.matmul(x.astype(np.float64), y.astype(np.float64))).astype(np.float32)


def _converted(types: Types, attributes: Attributes) -> Types:
    (x,), dtype, shape = types, attributes["dtype"], attributes["shape"]
    assert isinstance(dtype, DType) and isinstance(shape, tuple)
    if tuple(extent for extent in shape if extent != 1) != tuple(extent for extent in x.shape if extent != 1):
        raise RuleViolation("cube-matrix", shape=show_shape(x.shape))
    if dtype != x.dtype and not (x.dtype == F32 and dtype in (F16, BF16)):
        raise RuleViolation("dtype-mismatch", dtypes=f"{x.dtype} and {dtype}")
    return (TileType(dtype, shape),)  # type: ignore[arg-type]  # checked to be extents


def _converted_meaning(x: Array, dtype: DType, relu: bool, shape: tuple[int, ...]) -> Array:
    with np.errstate(all="ignore"):
        return (np.maximum(x, x.dtype.type(0)) if relu else x).astype(dtype.numpy).reshape(shape)


def _record(
    name: str,
    operands: tuple[str, ...],
    infer: InferTypes,
    meaning: Meaning,
    pipe: Pipe,
    dtypes: tuple[DType, ...],
    text: str,
    *attributes: str,
    cost: Cost = MOVE,
    bound: str = "exact",
) -> OperationDefinition:
    return OperationDefinition(
        name,
        operands,
        Category.CUBE,
        infer,
        meaning,
        cost,
        text,
        dtypes,
        bound,
        attributes=attributes,
        pipe=pipe,
        level=Level.BUFFERED,
    )


MOVED = ("ranges", "shape", "transposed")
ALL_OF_MMAD = (*OPERANDS, I32)

RECORDS = (
    _record("load_a", ("x",), _part, _part_meaning, Pipe.MTE1, OPERANDS, "part of a matrix in L1, into L0A", *MOVED),
    _record("load_b", ("x",), _part, _part_meaning, Pipe.MTE1, OPERANDS, "part of a matrix in L1, into L0B", *MOVED),
    _record(
        "load_bias",
        ("x",),
        _row,
        _row_meaning,
        Pipe.MTE1,
        (F16, F32, I32),
        "a row in L1, into the bias table as f32 or i32",
    ),
    _record(
        "mmad",
        ("accumulator", "x", "y"),
        _product,
        _product_meaning,
        Pipe.M,
        ALL_OF_MMAD,
        "x times y, added to `accumulator` unless `turn` is 0, where that lies",
        "turn",
        cost=Cost(2, 2),
        bound=PRODUCT_BOUND,
    ),
    _record(
        "mmad_bias",
        ("accumulator", "x", "y", "bias"),
        _product,
        _bias_meaning,
        Pipe.M,
        ALL_OF_MMAD,
        "x times y, added to `accumulator`, or to each row of `bias` where `turn` is 0",
        "turn",
        cost=Cost(2, 2),
        bound=PRODUCT_BOUND,
    ),
    _record(
        "fixpipe",
        ("x",),
        _converted,
        _converted_meaning,
        Pipe.FIX,
        ACCUMULATORS,
        "how a store of L0C converts: negative elements become 0 with `relu`, then all become `dtype`",
        "dtype",
        "relu",
        "shape",
        bound="1 ulp of dtype",
    ),
)
