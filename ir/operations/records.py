"""Short ways to write a record of the operation table, and the groups of dtypes that operations take."""

from __future__ import annotations

from pypto.ir.dtypes import ALL, BOOL, F32, F64, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Level, Pipe
from pypto.ir.operations import meanings, rules
from pypto.ir.operations.definition import Category, Cost, InferTypes, Meaning, OperationDefinition

FLOATS = (F32, F64)
INTEGERS = (U8, I8, I16, I32, I64)
NUMBERS = FLOATS + INTEGERS
BITS = (*INTEGERS, BOOL)
VALUES = (*NUMBERS, BOOL)

ULP = "4 ulp"
SUM_BOUND = "c * eps * sum|x| * log2(n)"
PRODUCT_BOUND = "n * eps, relative"


def unary(
    name: str, meaning: Meaning, cost: Cost, text: str, dtypes: tuple[DType, ...] = FLOATS, bound: str = ULP
) -> OperationDefinition:
    """A function of one value."""
    return OperationDefinition(
        name, ("x",), Category.ELEMENTWISE, rules.elementwise(), meaning, cost, text, dtypes, bound
    )


def binary(
    name: str, meaning: Meaning, cost: Cost, text: str, dtypes: tuple[DType, ...] = NUMBERS, bound: str = "exact"
) -> OperationDefinition:
    """A function of two values."""
    return OperationDefinition(
        name, ("x", "y"), Category.ELEMENTWISE, rules.elementwise(), meaning, cost, text, dtypes, bound
    )


def comparison(name: str, meaning: Meaning, text: str) -> OperationDefinition:
    """A comparison of two values."""
    return OperationDefinition(
        name, ("x", "y"), Category.ELEMENTWISE, rules.comparison, meaning, Cost(1, 1), text, VALUES
    )


def reduction(
    name: str, infer: InferTypes, meaning: Meaning, text: str, dtypes: tuple[DType, ...], bound: str
) -> OperationDefinition:
    """A reduction over attribute ``axes``."""
    return OperationDefinition(
        name, ("x",), Category.REDUCTION, infer, meaning, Cost(1, 2), text, dtypes, bound, attributes=("axes",)
    )


def view(name: str, infer: InferTypes, meaning: Meaning, text: str, *attributes: str) -> OperationDefinition:
    """A view: each result element is one operand element."""
    return OperationDefinition(
        name, ("x",), Category.VIEW, infer, meaning, Cost(0, 1), text, ALL, attributes=attributes
    )


def synchronisation(
    name: str,
    text: str,
    pipe: Pipe,
    *attributes: str,
    level: Level = Level.SYNCHRONISED,
    optional: tuple[str, ...] = (),
) -> OperationDefinition:
    """An order between pipes or cores, from `level` on."""
    return OperationDefinition(
        name,
        (),
        Category.SYNCHRONISATION,
        rules.nothing,
        meanings.no_effect,
        Cost(0, 0),
        text,
        (),
        attributes=attributes,
        pipe=pipe,
        optional=optional,
        level=level,
    )
