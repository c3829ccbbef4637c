"""Functions of f32 beyond those of `decompose_functions`: trigonometric, hyperbolic, powers and roots.

Written with a `Term`, a value with Python's operators. There is no fused multiplication, and f32 is all there is, so
that angles above 2^13 quarters of a turn lose digits (docs/numerics.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pypto.ir.dtypes import F32
from pypto.ir.nodes import Value
from pypto.ir.passes import function_coefficients as coefficients
from pypto.ir.passes.decompose_integers import number

if TYPE_CHECKING:
    from pypto.ir.passes.decompose import Decomposer

Rule = Callable[..., Value]


def _in_parts(value: float, bits: int, count: int) -> tuple[float, ...]:
    """Return numbers of `bits` bits whose sum is nearly `value`."""
    parts = []
    for _ in range(count):
        scale = 2.0 ** (bits - 1 - math.floor(math.log2(abs(value))))
        parts.append(math.floor(value * scale) / scale)
        value -= parts[-1]
    return tuple(parts)


HALF_PI_PARTS = _in_parts(math.pi / 2, 11, 4)
"""pi/2 as a sum of numbers of 11 bits, whose products with whole numbers below 2^13 are exact."""

LOG2_HIGH, LOG2_LOW = 0.693145751953125, 1.428606820309417e-06
"""log(2) in two terms; the first has 16 bits, so that its product with an exponent is exact."""


@dataclass(frozen=True, slots=True)
class Term:
    """A f32 or boolean value of the kernel being rewritten; operators append operations."""

    rewriter: Decomposer
    value: Value

    def _call(self, name: str, *others: Term | float) -> Term:
        values = (self._value(other) for other in others)
        return Term(self.rewriter, self.rewriter.call(name, self.value, *values))

    def _value(self, other: Term | float) -> Value:
        return other.value if isinstance(other, Term) else number(self.rewriter, F32, other)

    def of(self, value: float) -> Term:
        return Term(self.rewriter, number(self.rewriter, F32, value))

    def __add__(self, other: Term | float) -> Term:
        return self._call("add", other)

    def __sub__(self, other: Term | float) -> Term:
        return self._call("sub", other)

    def __rsub__(self, other: float) -> Term:
        return self.of(other) - self

    def __mul__(self, other: Term | float) -> Term:
        return self._call("mul", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self._call("div", other)

    def __rtruediv__(self, other: float) -> Term:
        return self.of(other) / self

    def __neg__(self) -> Term:
        return self * -1.0

    def __abs__(self) -> Term:
        return self._call("abs")

    def __and__(self, other: Term) -> Term:
        return self._call("and", other)

    def __or__(self, other: Term) -> Term:
        return self._call("or", other)

    def __lt__(self, other: Term | float) -> Term:
        return self._call("lt", other)

    def __le__(self, other: Term | float) -> Term:
        return self._call("le", other)

    def __gt__(self, other: Term | float) -> Term:
        return self._call("gt", other)

    def __ge__(self, other: Term | float) -> Term:
        return self._call("ge", other)

    def equals(self, other: Term | float) -> Term:
        return self._call("eq", other)

    def differs(self, other: Term | float) -> Term:
        return self._call("ne", other)

    def exp(self) -> Term:
        return self._call("exp")

    def log(self) -> Term:
        return self._call("log")

    def sqrt(self) -> Term:
        return self._call("sqrt")

    def floor(self) -> Term:
        return self._call("floor")

    def round(self) -> Term:
        return self._call("round")

    def trunc(self) -> Term:
        return self._call("trunc")

    def at_most(self, bound: Term | float) -> Term:
        return self._call("minimum", bound)

    def at_least(self, bound: Term | float) -> Term:
        return self._call("maximum", bound)

    def then(self, yes: Term | float, no: Term | float) -> Term:
        """`yes` where this condition holds, else `no`."""
        return self._call("where", yes, no)

    def polynomial(self, tail: tuple[float, ...]) -> Term:
        """Horner's scheme; constant first."""
        result = self * tail[-1] + tail[-2]
        for coefficient in tail[-3::-1]:
            result = result * self + coefficient
        return result


def as_rule(function: Callable[..., Term]) -> Rule:
    def rule(rewriter: Decomposer, *operands: Value) -> Value:
        return function(*(Term(rewriter, operand) for operand in operands)).value

    return rule


def _odd(t: Term, tail: tuple[float, ...]) -> Term:
    """t + t^3 P(t^2), as t (1 + t^2 P) where t may be a zero with a sign."""
    square = t * t
    return t * (square * square.polynomial(tail) + 1.0)


def sign_bit(x: Term) -> Term:
    """A reciprocal shows the sign of a zero; that of NaN is not defined."""
    return (x < 0.0) | (x.equals(0.0) & ((1.0 / x) < 0.0))


def _with_sign_of(magnitude: Term, x: Term) -> Term:
    return sign_bit(x).then(-magnitude, magnitude)


def _signed_unless_zero(magnitude: Term, x: Term) -> Term:
    """The magnitude with the sign of x; a zero is x itself."""
    return x.equals(0.0).then(x, (x < 0.0).then(-magnitude, magnitude))


# -- exponentials, logarithms, roots


def _exp2(x: Term) -> Term:
    """Two exponentials whose arguments are exact and small: 2^x = e^(n c1) e^(r log(2) + n c2)."""
    bounded = x.at_least(-160.0).at_most(130.0)
    n = bounded.round()
    rest = (bounded - n) * math.log(2.0) + n * LOG2_LOW
    return (n * LOG2_HIGH).exp() * rest.exp()


def _expm1(x: Term) -> Term:
    near = x + x * x * x.polynomial(coefficients.EXPM1)
    small = abs(x) <= 0.35
    return x.equals(0.0).then(x, small.then(near, x.exp() - 1.0))


def _log1p(x: Term) -> Term:
    """log(u) x / (u - 1) with u = 1 + x rounded (Kahan)."""
    u = x + 1.0
    precise = u.log() * (x / (u - 1.0))
    return u.equals(1.0).then(x, (u < math.inf).then(precise, u.log()))


def _cbrt(x: Term) -> Term:
    """e^(log|x| / 3), and a step of Newton's."""
    size = abs(x)
    root = (size.log() * (1.0 / 3.0)).exp()
    square = root * root
    better = root - (square * root - size) / (square * 3.0)
    plain = (size > 0.0) & (size < math.inf)
    return _signed_unless_zero(plain.then(better, root), x)


def _hypot(x: Term, y: Term) -> Term:
    """m sqrt(1 + (k / m)^2) with the larger m and the smaller k of the magnitudes."""
    left, right = abs(x), abs(y)
    large, small = left.at_least(right), left.at_most(right)
    ratio = large.equals(0.0).then(0.0, small / large)
    length = large * (ratio * ratio + 1.0).sqrt()
    infinite = left.equals(math.inf) | right.equals(math.inf)
    return infinite.then(math.inf, length)


def _fmod(x: Term, y: Term) -> Term:
    """|x| - trunc(|x| / |y|) |y| with the sign of x, one divisor back where rounding made the quotient too large."""
    size, divisor = abs(x), abs(y)
    rest = size - (size / divisor).trunc() * divisor
    rest = (rest < 0.0).then(rest + divisor, rest)
    return _with_sign_of((size < divisor).then(size, rest), x)


# -- angles


def _reduced(x: Term) -> tuple[Term, Term]:
    """Return n and r of x = n pi/2 + r, |r| <= pi/4; where n is too large for that, r is cut off there."""
    n = (x * (2.0 / math.pi)).round()
    rest = x
    for part in HALF_PI_PARTS:
        rest = rest - n * part
    return n, rest.at_most(0.79).at_least(-0.79)


def _cosine(r: Term) -> Term:
    square = r * r
    return (square * square) * square.polynomial(coefficients.COS) + (square * -0.5 + 1.0)


def _wave(n: Term, rest: Term) -> Term:
    """sin(n pi/2 + rest)."""
    odd = (n - (n * 0.5).floor() * 2.0).differs(0.0)
    back = (n - (n * 0.25).floor() * 4.0) >= 2.0
    size = odd.then(_cosine(rest), _odd(rest, coefficients.SIN))
    return back.then(-size, size)


def _sin(x: Term) -> Term:
    return x.equals(0.0).then(x, _wave(*_reduced(x)))


def _cos(x: Term) -> Term:
    n, rest = _reduced(x)
    return _wave(n + 1.0, rest)


def _tan(x: Term) -> Term:
    n, rest = _reduced(x)
    tangent = _odd(rest, coefficients.TAN)
    odd = (n - (n * 0.5).floor() * 2.0).differs(0.0)
    return x.equals(0.0).then(x, odd.then(-1.0 / tangent, tangent))


def _arc_sine(size: Term) -> tuple[Term, Term]:
    """Return p, and whether size is at most 1/2: then p is its arc sine, else pi/2 - 2 p is."""
    small = size <= 0.5
    return _odd(small.then(size, ((1.0 - size) * 0.5).sqrt()), coefficients.ASIN), small


def _asin(x: Term) -> Term:
    part, small = _arc_sine(abs(x))
    return _signed_unless_zero(small.then(part, math.pi / 2 - part * 2.0), x)


def _acos(x: Term) -> Term:
    part, small = _arc_sine(abs(x))
    negative, twice = x < 0.0, part * 2.0
    middle = math.pi / 2 - negative.then(-part, part)
    return small.then(middle, negative.then(math.pi - twice, twice))


def _atan(x: Term) -> Term:
    size = abs(x)
    large = size > 1.0
    part = _odd(large.then(1.0 / size, size), coefficients.ATAN)
    return _signed_unless_zero(large.then(math.pi / 2 - part, part), x)


def _atan2(y: Term, x: Term) -> Term:
    """As C's: signs of zeros count, infinities lie on axes and diagonals."""
    up, right = abs(y), abs(x)
    steep = up > right
    ratio = steep.then(right, up) / steep.then(up, right)
    ratio = up.equals(right).then((up > 0.0).then(up.of(1.0), up), ratio)
    part = _odd(ratio, coefficients.ATAN)
    angle = steep.then(math.pi / 2 - part, part)
    angle = sign_bit(x).then(math.pi - angle, angle)
    return _with_sign_of(angle, y)


# -- hyperbolic and error functions


def _half_exponential(size: Term) -> Term:
    """e^size / 2, finite as far as sinh and cosh are."""
    root = (size * 0.5).exp()
    return root * 0.5 * root


def _sinh(x: Term) -> Term:
    size = abs(x)
    half = _half_exponential(size)
    far = half - 0.25 / half
    near = _odd(x, coefficients.SINH)
    return (size < 1.0).then(near, (x < 0.0).then(-far, far))


def _cosh(x: Term) -> Term:
    half = _half_exponential(abs(x))
    return half + 0.25 / half


_FAR = 1e4
"""Above it the 1 beside x^2 is lost in f32."""


def _asinh(x: Term) -> Term:
    """log1p(a + a^2 / (1 + sqrt(1 + a^2))) with the sign of x; log(a) + log(2) far out."""
    size = abs(x)
    bounded = size.at_most(_FAR)
    square = bounded * bounded
    near = _log1p(bounded + square / ((square + 1.0).sqrt() + 1.0))
    far = size.log() + math.log(2.0)
    return _signed_unless_zero((size > _FAR).then(far, near), x)


def _acosh(x: Term) -> Term:
    """log1p(t + sqrt(2 t + t^2)) with t = x - 1; log(x) + log(2) far out; NaN below 1."""
    t = x.at_most(_FAR) - 1.0
    near = _log1p(t + (t * 2.0 + t * t).sqrt())
    far = (x > _FAR).then(x.log() + math.log(2.0), near)
    return (x < 1.0).then(math.nan, far)


def _atanh(x: Term) -> Term:
    """log1p(2 a / (1 - a)) / 2 with the sign of x."""
    size = abs(x)
    return _signed_unless_zero(_log1p(size * 2.0 / (1.0 - size)) * 0.5, x)


def _erfc(x: Term) -> Term:
    """t e^(P(t) - a^2), t = 2 / (2 + a), with a^2 = h^2 + (a - h)(a + h) for h in sixteenths, whose square is exact."""
    size = abs(x).at_most(10.1)
    t = 2.0 / (size + 2.0)
    coarse = (size * 16.0).round() * 0.0625
    rest = t.polynomial(coefficients.ERFC) - (size - coarse) * (size + coarse)
    small = t * (-(coarse * coarse)).exp() * rest.exp()
    return (x < 0.0).then(2.0 - small, small)


RULES: dict[str, Rule] = {
    "acos": as_rule(_acos),
    "acosh": as_rule(_acosh),
    "asin": as_rule(_asin),
    "asinh": as_rule(_asinh),
    "atan": as_rule(_atan),
    "atan2": as_rule(_atan2),
    "atanh": as_rule(_atanh),
    "cbrt": as_rule(_cbrt),
    "cos": as_rule(_cos),
    "cosh": as_rule(_cosh),
    "erfc": as_rule(_erfc),
    "exp2": as_rule(_exp2),
    "expm1": as_rule(_expm1),
    "fmod": as_rule(_fmod),
    "hypot": as_rule(_hypot),
    "log10": as_rule(lambda x: x.log() * (1.0 / math.log(10.0))),
    "log1p": as_rule(_log1p),
    "log2": as_rule(lambda x: x.log() * (1.0 / math.log(2.0))),
    "signbit": as_rule(sign_bit),
    "sin": as_rule(_sin),
    "sinh": as_rule(_sinh),
    "tan": as_rule(_tan),
}
