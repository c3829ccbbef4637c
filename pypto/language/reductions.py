"""Reductions over any axes, with NumPy's keyword names (axis, keepdims) or torch's (dim, keepdim).

`axis` is a number (negative from the end), several, or None for all. Reduced axes vanish unless `keepdims`. Each
raises UserError ``axis-range``, ``axis-twice``, ``axis-kind``, ``both-keywords`` or ``function-keyword``.
"""

from __future__ import annotations

from typing import Any

from pypto.tracing.elementwise import apply
from pypto.tracing.ordered import log_sum_exp, settled, truth, variance
from pypto.tracing.shaping import a_tile, reduce_named
from pypto.tracing.tiles import Tile

Axis = Any
"""None, a whole number, or several of them."""


def sum(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Sum; of nothing 0. Integers and bools sum in i64; f16 and bf16 in f32, f32 in f32."""
    return reduce_named("sum", x, axis, keepdims, torch_names)


def mean(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Arithmetic mean; of nothing NaN. The mean of integers is f32."""
    return reduce_named("mean", x, axis, keepdims, torch_names)


def max(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Largest element; NaN if any is NaN. An empty axis raises UserError ``empty-reduction``."""
    return reduce_named("max", x, axis, keepdims, torch_names)


def min(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Smallest element; NaN if any is NaN. An empty axis raises UserError ``empty-reduction``."""
    return reduce_named("min", x, axis, keepdims, torch_names)


def prod(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Product; of nothing 1. Integers and bools multiply in i64; f16 and bf16 in f32, f32 in f32."""
    return reduce_named("prod", x, axis, keepdims, torch_names)


def any(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Whether any element is not 0 (NaN is not); of nothing false."""
    return reduce_named("any", truth(a_tile(x, "pypto.any")), axis, keepdims, torch_names)


def all(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """Whether all elements are not 0 (NaN is not); of nothing true."""
    return reduce_named("all", truth(a_tile(x, "pypto.all")), axis, keepdims, torch_names)


def count_nonzero(x: Tile, axis: Axis = None, keepdims: bool = False, **torch_names: Any) -> Tile:
    """How many elements are not 0 (NaN is not), as i64."""
    return reduce_named("sum", truth(a_tile(x, "pypto.count_nonzero")), axis, keepdims, torch_names)


def var(x: Tile, axis: Axis = None, correction: float = 0, keepdims: bool = False, **others: Any) -> Tile:
    """Variance: the sum of the squared distances from the mean, divided by the number of elements less `correction`.

    NumPy calls the correction `ddof`, torch takes `unbiased` (true: 1) as well; without one it is 0, as NumPy's. Where
    nothing is left to divide by, the result is NaN, or inf where the sum is not 0. Two passes: an offset costs no
    digits. Integers are taken as f32. Raises UserError ``correction-kind``.
    """
    return _statistic("pypto.var", x, axis, correction, keepdims, others)


def std(x: Tile, axis: Axis = None, correction: float = 0, keepdims: bool = False, **others: Any) -> Tile:
    """Standard deviation: the square root of `var`, with the same arguments."""
    return apply("sqrt", _statistic("pypto.std", x, axis, correction, keepdims, others))


def _statistic(what: str, x: Tile, axis: Axis, correction: float, keepdims: bool, others: dict[str, Any]) -> Tile:
    tile = a_tile(x, what)
    given = {"axis": axis, "correction": correction, "keepdims": keepdims}
    found = settled(tile.tracer, given, {"axis": None, "correction": 0, "keepdims": False}, others)
    return variance(tile, found["axis"], found["correction"], bool(found["keepdims"]))


def logsumexp(x: Tile, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tile:
    """``log(sum(exp(x)))`` without overflow; of nothing -inf. Integers are taken as f32."""
    tile = a_tile(x, "pypto.logsumexp")
    found = settled(tile.tracer, {"axis": axis, "keepdims": keepdims}, {"axis": None, "keepdims": False}, others)
    return log_sum_exp(tile, found["axis"], bool(found["keepdims"]))
