"""Elementwise functions: shapes broadcast as NumPy's, dtypes promote as torch's, Python numbers keep a tile's dtype.

f16 and bf16 tiles are computed in f32. Functions with real values (exp, sqrt, ...) take integers as f32. Every
function raises UserError ``outside-tile-function`` outside a tile function, ``operand-kind`` for an argument that
is neither tile nor number, and ``shape-mismatch`` for shapes that do not broadcast. Error bounds: docs/numerics.md.
"""

from __future__ import annotations

from typing import Any

from pypto.ir.index import make
from pypto.tracing.context import require
from pypto.tracing.elementwise import apply, power, select
from pypto.tracing.indices import IndexValue, as_index
from pypto.tracing.tiles import Tile

Operand = Any
"""A tile, a number, a block id or a loop index."""


def abs(x: Operand) -> Tile:
    """|x| of a tile of any number dtype; the smallest integer stays as it is (it has no positive counterpart)."""
    return apply("abs", x)


def neg(x: Operand) -> Tile:
    """-x, with the sign of zero; integers wrap."""
    return apply("neg", x)


def exp(x: Operand) -> Tile:
    """e to the power x."""
    return apply("exp", x)


def log(x: Operand) -> Tile:
    """Natural logarithm; NaN below 0, -inf at 0."""
    return apply("log", x)


def sqrt(x: Operand) -> Tile:
    """Square root, correctly rounded; NaN below 0, -0.0 at -0.0."""
    return apply("sqrt", x)


def rsqrt(x: Operand) -> Tile:
    """1 / sqrt(x)."""
    return apply("rsqrt", x)


def reciprocal(x: Operand) -> Tile:
    """1 / x; integers are taken as f32."""
    return apply("reciprocal", x)


def tanh(x: Operand) -> Tile:
    """Hyperbolic tangent."""
    return apply("tanh", x)


def erf(x: Operand) -> Tile:
    """Error function (NIST DLMF 7.2.1)."""
    return apply("erf", x)


def sigmoid(x: Operand) -> Tile:
    """1 / (1 + exp(-x)), without overflow."""
    return apply("sigmoid", x)


def pow(x: Operand, y: Operand) -> Tile:
    """x to the power y; an integer tile to a negative constant raises UserError ``integer-power``."""
    return power(x, y)


def maximum(x: Operand, y: Operand) -> Any:
    """The larger of each two elements; NaN if either is NaN. Of block ids, indices and numbers: an index."""
    return _extreme("maximum", "max", x, y)


def minimum(x: Operand, y: Operand) -> Any:
    """The smaller of each two elements; NaN if either is NaN. Of block ids, indices and numbers: an index."""
    return _extreme("minimum", "min", x, y)


def _extreme(name: str, operator: str, x: Operand, y: Operand) -> Any:
    tracer = require(f"pypto.{name}")
    left, right = as_index(x), as_index(y)
    if left is None or right is None:
        return apply(name, x, y)
    expression = make(operator, left, right)
    return expression if isinstance(expression, int) else IndexValue(tracer, expression)


def clip(x: Operand, low: Operand = None, high: Operand = None) -> Tile:
    """x, not below `low` and not above `high`; None is no bound. NaN stays. Where low > high the result is high.

    As numpy.clip: ``minimum(maximum(x, low), high)``.
    """
    result = x if low is None else apply("maximum", x, low)
    if high is not None:
        return apply("minimum", result, high)
    return result.copy() if result is x and isinstance(x, Tile) else result


def where(condition: Operand, x: Operand, y: Operand) -> Tile:
    """x where the bool tile `condition` holds, else y; all three broadcast. Both sides are computed.

    Raises UserError ``condition-dtype`` for a condition that is not bool.
    """
    return select(condition, x, y)
