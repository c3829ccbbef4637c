"""Arithmetic on the lanes of one float type: the vocabulary in which the functions of this folder are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """Bits of an IEEE 754 binary format; `integer` is LLVM's integer type of the same width."""

    integer: str
    width: int
    mantissa_bits: int
    exponent_bias: int

    @property
    def magic(self) -> float:
        """1.5 * 2^mantissa_bits: adding it rounds a small number to an integer (ties to even), left in the low bits."""
        return 1.5 * 2.0**self.mantissa_bits

    @property
    def magic_bits(self) -> int:
        exponent = self.exponent_bias + self.mantissa_bits
        return (exponent << self.mantissa_bits) | (1 << (self.mantissa_bits - 1))

    @property
    def one_bits(self) -> int:
        return self.exponent_bias << self.mantissa_bits

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.exponent_bias)


FORMATS = {"float": FloatFormat("i32", 32, 23, 127), "double": FloatFormat("i64", 64, 52, 1023)}


@dataclass(frozen=True, slots=True)
class Lanes:
    """Operations on values of one float type (``float`` or ``double``) and one number of lanes.

    No fast-math flags: NaN, infinities, signed zeros and subnormals mean what IEEE 754 says. Every operation rounds
    the same way at any number of lanes, so that a scalar tail has the bits of the vector body.
    """

    builder: FunctionBuilder
    element: str
    lanes: int

    @staticmethod
    def of(builder: FunctionBuilder, value: Register) -> Lanes:
        return Lanes(builder, value.element, value.lanes)

    @property
    def format(self) -> FloatFormat:
        return FORMATS[self.element]

    def number(self, value: float) -> Register:
        return constant(value, self.element, self.lanes)

    def integer(self, value: int) -> Register:
        return constant(value, self.format.integer, self.lanes)

    # -- arithmetic

    def add(self, left: Register, right: Register) -> Register:
        return self.builder.binary("fadd", left, right)

    def subtract(self, left: Register, right: Register) -> Register:
        return self.builder.binary("fsub", left, right)

    def multiply(self, left: Register, right: Register) -> Register:
        return self.builder.binary("fmul", left, right)

    def divide(self, left: Register, right: Register) -> Register:
        return self.builder.binary("fdiv", left, right)

    def multiply_add(self, left: Register, right: Register, addend: Register) -> Register:
        """left * right + addend, rounded once where the machine can, else twice."""
        if self.builder.has_fma:
            return self.builder.intrinsic("fma", (left, right, addend), self.element, self.lanes)
        return self.add(self.multiply(left, right), addend)

    def negate(self, value: Register) -> Register:
        return self.builder.emit(f"fneg {value.typed}", self.element, self.lanes)

    def absolute(self, value: Register) -> Register:
        return self.builder.intrinsic("fabs", (value,), self.element, self.lanes)

    def copy_sign(self, magnitude: Register, sign: Register) -> Register:
        return self.builder.intrinsic("copysign", (magnitude, sign), self.element, self.lanes)

    def copy_sign_by_bits(self, magnitude: Register, sign: Register) -> Register:
        """As `copy_sign`, for doubles that are narrowed afterwards.

        LLVM narrows a copysign together with the casts around it, and so makes a call of double to f16, which rounds
        once instead of twice and is in no library of a Python process.
        """
        top = 1 << (self.format.width - 1)
        kept = self.on_bits("and", self.to_bits(magnitude), top - 1)
        return self.from_bits(self.on_bits("or", kept, self.on_bits("and", self.to_bits(sign), top)))

    def polynomial(self, x: Register, coefficients: Sequence[float]) -> Register:
        """Horner's rule; constant term first."""
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.multiply_add(result, x, self.number(coefficient))
        return result

    # -- choice

    def compare(self, predicate: str, left: Register, right: Register) -> Register:
        return self.builder.compare(f"fcmp {predicate}", left, right)

    def select(self, condition: Register, left: Register, right: Register) -> Register:
        return self.builder.select(condition, left, right)

    def at_most(self, value: Register, bound: float) -> Register:
        """The smaller of the two; NaN stays NaN (one instruction on x86, whose min returns its second operand then)."""
        limit = self.number(bound)
        return self.select(self.compare("olt", limit, value), limit, value)

    def at_least(self, value: Register, bound: float) -> Register:
        """The larger of the two; NaN stays NaN."""
        limit = self.number(bound)
        return self.select(self.compare("ogt", limit, value), limit, value)

    # -- bits

    def to_bits(self, value: Register) -> Register:
        return self.builder.convert("bitcast", value, self.format.integer)

    def from_bits(self, value: Register) -> Register:
        return self.builder.convert("bitcast", value, self.element)

    def on_bits(self, operator: str, left: Register, right: Register | int) -> Register:
        """An integer instruction (``add``, ``shl``, ``ashr`` ...) on bit patterns."""
        return self.builder.binary(operator, left, self.integer(right) if isinstance(right, int) else right)
