"""The rules by the operations' names."""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register
from pypto.codegen.llvm.rules import arithmetic, conversion, division, functions, integers
from pypto.codegen.llvm.rules.context import Context, Rule
from pypto.ir.dtypes import DType
from pypto.ir.operations.definition import Attributes

RULES: dict[str, Rule] = {
    **functions.RULES,
    "neg": arithmetic.negate,
    "abs": arithmetic.absolute,
    "not": arithmetic.complement,
    "add": arithmetic.floats_or_integers("fadd", "add"),
    "sub": arithmetic.floats_or_integers("fsub", "sub"),
    "mul": arithmetic.floats_or_integers("fmul", "mul"),
    "div": arithmetic.bits("fdiv"),
    "floor_div": division.floor_divide,
    "remainder": division.remainder,
    "fmod": division.truncated,
    "gcd": integers.greatest_common_divisor,
    "shift_left": integers.shift_left,
    "shift_right": integers.shift_right,
    "maximum": arithmetic.extremum("ogt", "gt", "or"),
    "minimum": arithmetic.extremum("olt", "lt", "and"),
    "and": arithmetic.bits("and"),
    "or": arithmetic.bits("or"),
    "xor": arithmetic.bits("xor"),
    "eq": arithmetic.comparison("oeq", "eq"),
    "ne": arithmetic.comparison("une", "ne"),
    "lt": arithmetic.comparison("olt", "lt"),
    "le": arithmetic.comparison("ole", "le"),
    "gt": arithmetic.comparison("ogt", "gt"),
    "ge": arithmetic.comparison("oge", "ge"),
    "where": arithmetic.where,
    "cast": conversion.cast,
}


def elementwise(
    builder: FunctionBuilder,
    operation: str,
    operands: tuple[Register, ...],
    operand_dtypes: tuple[DType, ...],
    result_dtype: DType,
    attributes: Attributes,
) -> Register:
    """Append the instructions of an elementwise operation and return its result.

    `operands` have equal lanes and the register form of `operand_dtypes` (`representation.element`); the result has
    those lanes and the form of `result_dtype`. Raises KeyError for a name that is no elementwise operation.
    """
    return RULES[operation](Context(builder, operands, operand_dtypes[-1], result_dtype, attributes))
