"""Powers of f32 with any exponent, from what the vector core has: exp(y log|x|) with more digits than f32 has.

The logarithm and its product with y are sums of two f32 (high and low): an error of e in the exponent is one of e in
the result, and exponents go up to 88. Products are made exact by Dekker's splitting, as there is no fused
multiplication.
"""

from __future__ import annotations

import math

from pypto.ir.passes.decompose_mathematics import LOG2_HIGH, LOG2_LOW, Term, sign_bit

SPLITTER = 4097.0
"""2^12 + 1: splits 24 bits into two halves whose products are exact."""

LARGEST_EXPONENT = 1e11
"""Beyond it, every power of a number that is not 1 is 0 or infinite."""

DIVISIONS = (64, 32, 16, 8, 4, 2, 1)
MULTIPLICATIONS = (64, 64, 32, 16, 8, 4, 2, 1)
"""Powers of two that bring any normal or subnormal number into [1, 2)."""

ATANH = tuple(2.0 / number for number in (3, 5, 7, 9, 11, 13))
"""(2 atanh(s) / s - 2) / s^2 in s^2; of |s| <= 0.172, error 1e-11 relative to 2 s."""


def power(x: Term, y: Term) -> Term:
    """x ** y with the special cases of C's pow; without them about 3 ulp where Exp is exact."""
    size = abs(x)
    proper = (size > 0.0) & (size < math.inf)
    finite = _exponential(*_product(y.at_least(-LARGEST_EXPONENT).at_most(LARGEST_EXPONENT), proper.then(size, 1.0)))
    grows = (size > 1.0).then(y, -y) > 0.0
    magnitude = proper.then(finite, grows.then(math.inf, 0.0))
    whole = y.floor().equals(y)
    half = y * 0.5
    odd = whole & half.floor().differs(half)
    result = (sign_bit(x) & odd).then(-magnitude, magnitude)
    result = ((x < 0.0) & proper & y.floor().differs(y)).then(math.nan, result)
    result = (x.differs(x) | y.differs(y)).then(math.nan, result)
    return (x.equals(1.0) | y.equals(0.0)).then(1.0, result)


def _halves(x: Term) -> tuple[Term, Term]:
    """Return two numbers of 12 bits whose sum is x."""
    scaled = x * SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _exact_product(x: Term, y: Term) -> tuple[Term, Term]:
    """Return the rounded product and what rounding took off (Dekker)."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _scaled(x: Term) -> tuple[Term, Term]:
    """Return m and k of x = m 2^k, m from 0.7 to 1.42."""
    m, k = x, x * 0.0
    for step in DIVISIONS:
        large = m >= 2.0**step
        m, k = large.then(m * 2.0**-step, m), large.then(k + float(step), k)
    for step in MULTIPLICATIONS:
        small = m < 2.0 ** (1 - step)
        m, k = small.then(m * 2.0**step, m), small.then(k - float(step), k)
    upper = m > math.sqrt(2.0)
    return upper.then(m * 0.5, m), upper.then(k + 1.0, k)


def _logarithm(x: Term) -> tuple[Term, Term]:
    """Return log(x) as a sum of two numbers: k log(2) + 2 atanh(s), s = (m - 1) / (m + 1)."""
    m, k = _scaled(x)
    above, below = m - 1.0, m + 1.0
    lost = m - (below - 1.0)
    s = above / below
    product, error = _exact_product(s, below)
    correction = (((above - product) - error) - s * lost) / below
    square = s * s
    tail = s * square * square.polynomial(ATANH) + correction * 2.0
    first, second = k * LOG2_HIGH, s * 2.0
    high = first + second
    low = (second - (high - first)) + (k * LOG2_LOW + tail)
    total = high + low
    return total, low - (total - high)


def _product(y: Term, x: Term) -> tuple[Term, Term]:
    """Return y log(x) as a sum of two numbers."""
    high, low = _logarithm(x)
    product, error = _exact_product(y, high)
    rest = error + y * low
    total = product + rest
    return total, rest - (total - product)


def _exponential(high: Term, low: Term) -> Term:
    """e^(high + low), in two factors so that nothing overflows before the result does."""
    root = (high * 0.5).at_least(-60.0).at_most(60.0).exp()
    rest = (abs(high) < 120.0).then(low, 0.0)
    return root * (rest + 1.0) * root
