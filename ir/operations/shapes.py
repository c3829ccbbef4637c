"""Records of the operations that only move elements: views, and assembly from regions."""

from __future__ import annotations

from pypto.ir.dtypes import ALL
from pypto.ir.operations import meanings, rules
from pypto.ir.operations.definition import Category, Cost, OperationDefinition
from pypto.ir.operations.records import view

RECORDS = (
    # views
    view("reshape", rules.reshape, meanings.reshape, "the same elements in row-major order in another shape", "shape"),
    view("transpose", rules.transpose, meanings.transpose, "axes in another order", "permutation"),
    view("broadcast_to", rules.broadcast_to, meanings.broadcast_to, "axes of extent 1 repeated", "shape"),
    view("slice", rules.slice_, meanings.slice_, "a region: (offset, extent, step) per axis", "ranges"),
    # assembly
    OperationDefinition(
        "insert",
        ("base", "piece"),
        Category.ASSEMBLY,
        rules.insert,
        meanings.insert,
        Cost(0, 1),
        "base with a region replaced by piece: (offset, extent, step) per axis",
        ALL,
        attributes=("ranges",),
    ),
    OperationDefinition(
        "pad",
        ("x",),
        Category.ASSEMBLY,
        rules.pad,
        meanings.pad,
        Cost(0, 1),
        "x with elements of a constant value before and after each axis",
        ALL,
        attributes=("high", "low", "value"),
    ),
    OperationDefinition(
        "concat",
        ("pieces",),
        Category.ASSEMBLY,
        rules.concat,
        meanings.concat,
        Cost(0, 1),
        "pieces one after another along an axis",
        ALL,
        attributes=("axis",),
        variadic=True,
    ),
)
