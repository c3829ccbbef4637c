"""Records of the operations along one axis: positions of extremes, scans, sorting."""

from __future__ import annotations

from pypto.ir.operations import ordered_meanings, ordered_rules
from pypto.ir.operations.definition import Category, Cost, InferTypes, Meaning, OperationDefinition
from pypto.ir.operations.records import NUMBERS, PRODUCT_BOUND, VALUES


def _position(name: str, meaning: Meaning, text: str) -> OperationDefinition:
    return OperationDefinition(
        name,
        ("x",),
        Category.ARGUMENT_REDUCTION,
        ordered_rules.position,
        meaning,
        Cost(4, 6),
        text,
        VALUES,
        attributes=("axis",),
    )


def _scan(name: str, infer: InferTypes, meaning: Meaning, text: str, bound: str) -> OperationDefinition:
    return OperationDefinition(
        name, ("x",), Category.SCAN, infer, meaning, Cost(2, 2), text, NUMBERS, bound, attributes=("axis",)
    )


RECORDS = (
    _position("argmax", ordered_meanings.argmax, "place of the largest along an axis: the first NaN, else the first"),
    _position("argmin", ordered_meanings.argmin, "place of the smallest along an axis: the first NaN, else the first"),
    _scan(
        "cumsum",
        ordered_rules.scan,
        ordered_meanings.cumsum,
        "sums of all elements up to each one along an axis; integers wrap",
        "2 * eps * sum|x|; f64: n * eps * sum|x|",
    ),
    _scan(
        "cumprod",
        ordered_rules.scan,
        ordered_meanings.cumprod,
        "products of all elements up to each one along an axis, from left to right; integers wrap",
        PRODUCT_BOUND,
    ),
    OperationDefinition(
        "argsort",
        ("x",),
        Category.SORT,
        ordered_rules.order,
        ordered_meanings.argsort,
        Cost(60, 40),
        "positions along an axis in the order of their elements, the first `count` of them; stable, NaN is the largest",
        VALUES,
        attributes=("axis", "count", "descending"),
    ),
)
