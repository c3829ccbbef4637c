"""Records of the values without operands."""

from __future__ import annotations

from pypto.ir.dtypes import ALL, I64
from pypto.ir.operations import meanings, rules
from pypto.ir.operations.definition import Category, Cost, OperationDefinition
from pypto.ir.operations.records import INTEGERS

RECORDS = (
    # values without operands
    OperationDefinition(
        "constant",
        (),
        Category.CONSTANT,
        rules.constant,
        meanings.constant,
        Cost(0, 0),
        "a number, in every element of a shape (default: a scalar)",
        ALL,
        attributes=("dtype", "shape", "value"),
        optional=("shape",),
    ),
    OperationDefinition(
        "undefined",
        (),
        Category.CONSTANT,
        rules.constant,
        meanings.undefined,
        Cost(0, 0),
        "memory that nothing was written to yet",
        ALL,
        attributes=("dtype", "shape"),
    ),
    OperationDefinition(
        "index",
        (),
        Category.CONSTANT,
        rules.constant,
        meanings.index_value,
        Cost(0, 0),
        "the value of an index expression, as a scalar",
        (I64,),
        attributes=("dtype", "value"),
    ),
    OperationDefinition(
        "iota",
        (),
        Category.CONSTANT,
        rules.constant,
        meanings.iota,
        Cost(0, 1),
        "0, 1, 2, ... along an axis, wrapping; the same along the others",
        INTEGERS,
        attributes=("axis", "dtype", "shape"),
    ),
)
