"""Records of the operations that choose elements by the numbers in a tile.

Index, operand and result have the same number of axes. An index below 0 counts from the end with attribute ``wrap``;
every other number that is no element of the axis is a mistake of the user, found when the kernel runs.
"""

from __future__ import annotations

from pypto.ir.dtypes import ALL, DType
from pypto.ir.operations import indexing_meanings, ordered_rules
from pypto.ir.operations.definition import Category, Cost, Meaning, OperationDefinition
from pypto.ir.operations.records import NUMBERS, VALUES


def _scatter(name: str, meaning: Meaning, dtypes: tuple[DType, ...], text: str) -> OperationDefinition:
    return OperationDefinition(
        name,
        ("x", "indices", "updates"),
        Category.INDEXING,
        ordered_rules.scatter,
        meaning,
        Cost(2, 16),
        text,
        dtypes,
        attributes=("axis", "wrap"),
    )


RECORDS = (
    OperationDefinition(
        "gather",
        ("x", "indices"),
        Category.INDEXING,
        ordered_rules.gather,
        indexing_meanings.gather,
        Cost(2, 16),
        "elements of x along an axis, chosen by indices; the other axes broadcast",
        ALL,
        attributes=("axis", "wrap"),
    ),
    _scatter(
        "scatter",
        indexing_meanings.scatter,
        VALUES,
        "x with elements along an axis replaced by updates where indices say; of several the last",
    ),
    _scatter(
        "scatter_add",
        indexing_meanings.scatter_add,
        NUMBERS,
        "x with updates added along an axis where indices say, in the order of the indices",
    ),
)
