"""Operations of the vector core that exist below level *tile* only: passes make them, no front end does.

`copy` moves a tile inside the unified buffer. The row operations work along the last stored axis and need a
workspace, an `undefined` value beside their operand that holds partial results and means nothing afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import ALL, F32, I32
from pypto.ir.nodes import Level, TileType
from pypto.ir.operations import meanings, ordered_meanings, ordered_rules, rules
from pypto.ir.operations.definition import Attributes, Category, Cost, InferTypes, Meaning, OperationDefinition

Array = NDArray[Any]
Types = tuple[TileType, ...]


def _without_workspace(infer: InferTypes) -> InferTypes:
    return lambda types, attributes: infer(types[:1], attributes)


def _copy_type(types: Types, attributes: Attributes) -> Types:
    return types


def _reduce(meaning: Meaning) -> Meaning:
    return lambda x, workspace, axes: meaning(x, axes)


def _broadcast(x: Array, workspace: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(x, shape)


def _row_reduction(name: str, infer: InferTypes, meaning: Meaning, text: str, bound: str) -> OperationDefinition:
    return OperationDefinition(
        name,
        ("x", "workspace"),
        Category.REDUCTION,
        _without_workspace(infer),
        _reduce(meaning),
        Cost(1, 7),
        text,
        (F32,),
        bound,
        attributes=("axes",),
        level=Level.BUFFERED,
    )


def _order_type(types: Types, attributes: Attributes) -> Types:
    (order,) = ordered_rules.order(types[:1], attributes)
    return (TileType(I32, order.shape),)


def _order(x: Array, workspace: Array, axis: int, count: int, descending: bool) -> Array:
    return ordered_meanings.argsort(x, axis, count, descending).astype(np.int32)


RECORDS = (
    OperationDefinition(
        "copy",
        ("x",),
        Category.ELEMENTWISE,
        _copy_type,
        meanings.identity,
        Cost(0, 1),
        "the same elements in another buffer",
        ALL,
        level=Level.BUFFERED,
    ),
    OperationDefinition(
        "row_broadcast",
        ("x", "workspace"),
        Category.VIEW,
        _without_workspace(rules.broadcast_to),
        _broadcast,
        Cost(0, 1),
        "the last stored axis, of extent 1, repeated",
        ALL,
        attributes=("shape",),
        level=Level.BUFFERED,
    ),
    OperationDefinition(
        "row_order",
        ("x", "workspace"),
        Category.SORT,
        _order_type,
        _order,
        Cost(60, 40),
        "positions along an axis in the order of their elements, as i32",
        (F32, I32),
        attributes=("axis", "count", "descending"),
        level=Level.BUFFERED,
    ),
    _row_reduction("row_max", rules.ordered_reduction, meanings.max_, "largest along the last axis", "exact"),
    _row_reduction("row_min", rules.ordered_reduction, meanings.min_, "smallest along the last axis", "exact"),
    _row_reduction("row_sum", rules.reduction, meanings.sum_, "sum along the last axis", "c * eps * sum|x| * log2(n)"),
)
