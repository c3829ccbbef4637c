"""What a rule is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.ir.dtypes import DType
from pypto.ir.operations.definition import Attributes


@dataclass(frozen=True, slots=True)
class Context:
    """One application of an operation: operands with equal lanes, the dtype they have and the dtype of the result.

    `dtype` is the last operand's: that of the values, also for ``where``, whose first operand is a bool.
    """

    builder: FunctionBuilder
    operands: tuple[Register, ...]
    dtype: DType
    result_dtype: DType
    attributes: Attributes

    @property
    def x(self) -> Register:
        return self.operands[0]

    @property
    def y(self) -> Register:
        return self.operands[1]

    def number(self, value: float | int | bool) -> Register:
        """A constant like the operands."""
        return constant(value, self.operands[-1].element, self.x.lanes)


Rule = Callable[[Context], Register]
