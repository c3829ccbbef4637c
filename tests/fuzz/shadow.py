"""An oracle for random kernels: NumPy values in float64 that carry a bound of their own error.

A kernel's source runs unchanged on these values. Each operation computes the true result in float64 (integers and bools in their own
dtype) and, beside it, how far any correct implementation in the declared precision may be off: what the operands' errors become, plus
the operation's own bound from docs/numerics.md. An operation that is not continuous refuses operands that carry an error, because
implementations may then rightly differ by a whole step.

The bounds are first order; SAFETY covers the rest.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from scipy import special

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
STORAGE: dict[str, Any] = {
    name: np.dtype(getattr(np, "bool_" if name == "bool" else name))
    for name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
SAFETY = 1.25
LIMIT = 1e5
"""Largest finite magnitude a generated value may have: no overflow in any precision but float16, which checks its own."""


class Refused(Exception):
    """The statement is not one that all targets must agree on; the generator takes another."""


def is_float(dtype: str) -> bool:
    return "float" in dtype


def promote(left: str, right: str) -> str:
    """Return the dtype of two tiles together; f16 and bf16 compute in f32, so only these remain: f64, f32, integers, bool."""
    floats = [name for name in (left, right) if is_float(name)]
    if floats:
        return "float64" if "float64" in floats else "float32"
    return np.promote_types(STORAGE[left], STORAGE[right]).name


def kind(dtype: str) -> int:
    return 2 if is_float(dtype) else int(dtype != "bool")


def compute(dtype: str) -> str:
    return "float32" if dtype in ("float16", "bfloat16") else dtype


class Shadow:
    """A tile: float64 values (integers and bools: their own dtype), an error bound per element, and the dtype it stands for.

    `storage` is the dtype of a parameter, to which assignment rounds; None for a local tile.
    """

    __array_ufunc__ = None

    def __init__(self, value: Any, error: Any, dtype: str, storage: str | None = None) -> None:
        self.value = np.asarray(value)
        self.error = np.full(self.value.shape, error) if np.ndim(error) == 0 else np.asarray(error)
        self.dtype, self.storage, self.detached = dtype, storage, False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def exact(self) -> bool:
        return not self.error.any()

    @property
    def T(self) -> Shadow:
        return transpose(self)

    def reshape(self, *shape: Any) -> Shadow:
        return reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def __getitem__(self, key: Any) -> Shadow:
        part = Shadow(self.value[key], self.error[key], self.dtype, self.storage)
        part.detached = part.ndim == 0  # NumPy's element is not a view; what an update of it does is left open
        return part

    def __setitem__(self, key: Any, new: Any) -> None:
        new = lift(new, self.dtype)
        if is_float(new.dtype) != is_float(self.dtype):
            raise Refused("an assignment that converts")
        if not is_float(self.dtype) and new.dtype != self.dtype:
            raise Refused("an assignment that narrows")
        rounded = round_to(new, self.storage or self.dtype)
        # evaluated in full before anything is written, as a kernel does
        self.value[key], self.error[key] = rounded.value.copy(), rounded.error.copy()

    def __len__(self) -> int:
        raise Refused("len of a tile")

    def __bool__(self) -> bool:
        raise Refused("truth of a tile")

    def __neg__(self) -> Shadow:
        return neg(self)

    def __invert__(self) -> Shadow:
        if is_float(self.dtype):
            raise Refused("complement of a float")
        return Shadow(~self.value, 0.0, self.dtype)

    def __abs__(self) -> Shadow:
        return abs(self)


def lift(value: Any, dtype: str) -> Shadow:
    """Return a tile; a Python number becomes one of the dtype that it has beside a tile of `dtype`."""
    if isinstance(value, Shadow):
        return value
    if isinstance(value, bool):
        pass
    elif isinstance(value, int):
        dtype = "int64" if dtype == "bool" else dtype
    else:
        dtype = dtype if is_float(dtype) else "float32"
    held = np.float64 if is_float(dtype) else STORAGE[dtype]
    return Shadow(np.asarray(value, held), 0.0, dtype)


def pair(left: Any, right: Any) -> tuple[Shadow, Shadow, str]:
    base = left if isinstance(left, Shadow) else right
    left, right = lift(left, base.dtype), lift(right, base.dtype)
    dtype = promote(left.dtype, right.dtype)
    if bool(left.ndim) != bool(right.ndim):  # torch: a value of rank 0 changes only the kind
        tile, single = (left, right) if left.ndim else (right, left)
        dtype = tile.dtype if kind(single.dtype) <= kind(tile.dtype) else single.dtype
    return convert(left, dtype), convert(right, dtype), dtype


def convert(tile: Shadow, dtype: str) -> Shadow:
    """Convert to a dtype that a promotion gives."""
    if tile.dtype == dtype:
        return tile
    if is_float(dtype):
        return checked(tile.value.astype(np.float64), tile.error, dtype)
    return Shadow(tile.value.astype(STORAGE[dtype]), 0.0, dtype)


def representable(value: Any, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        if dtype == "float64":  # float64 cannot tell what float64 lost: dyadic numbers of 40 bits are surely kept
            scaled = value * 1024.0
            return (scaled == np.trunc(scaled)) & (np.abs(scaled) < 2.0**40)
        return value.astype(STORAGE[dtype]).astype(np.float64) == value


def ulp(value: Any, dtype: str) -> Any:
    """Return the unit in the last place, never less than the smallest subnormal."""
    with np.errstate(all="ignore"):
        return np.maximum(np.abs(value) * EPSILON[dtype], TINY[dtype])


def checked(value: Any, error: Any, dtype: str, units: float = 0.5) -> Shadow:
    """Return a float result: `error` from the operands, and `units` ulp of rounding where the result is not exact."""
    value = np.asarray(value, np.float64)
    finite = np.isfinite(value)
    if (np.abs(value[finite]) > LIMIT).any():
        raise Refused("too large")
    exact = representable(value, dtype) if units <= 0.5 else np.zeros(value.shape, bool)
    with np.errstate(all="ignore"):
        own = np.where(exact & (np.asarray(error) == 0), 0.0, units * ulp(value, dtype))
        total = np.where(finite, np.asarray(error) + own, 0.0)
    if (total[finite] > 0.02 * (1e-3 + np.abs(value[finite]))).any():
        raise Refused("too ill conditioned to compare")
    return Shadow(value, total, dtype)


def round_to(tile: Shadow, storage: str) -> Shadow:
    """Round to the dtype of a parameter."""
    if not is_float(storage):
        return Shadow(tile.value.astype(STORAGE[storage]), 0.0, storage)
    if storage == "float16" and (np.abs(tile.value[np.isfinite(tile.value)]) > 6e4).any():
        raise Refused("does not fit float16")
    if tile.exact:
        with np.errstate(all="ignore"):
            # a narrow float is reached through f32, as a kernel holds it
            narrowed = tile.value.astype(STORAGE[compute(storage)]).astype(STORAGE[storage])
        return Shadow(narrowed.astype(np.float64), 0.0, compute(storage))
    result = checked(tile.value, tile.error, storage, 0.5 if EPSILON[storage] > EPSILON[tile.dtype] else 0.0)
    return Shadow(result.value, result.error, compute(storage))


def require_exact(*tiles: Shadow) -> None:
    if not builtins.all(tile.exact for tile in tiles):
        raise Refused("a discontinuous operation on inexact values")


# ---------------------------------------------------------------- operations on two values


def arithmetic(function: Callable[..., Any], spread: Callable[..., Any]) -> Callable[..., Shadow]:
    """Make +, - or *: `spread(x, y, ex, ey)` is what the operands' errors become."""

    def apply(left: Any, right: Any) -> Shadow:
        x, y, dtype = pair(left, right)
        with np.errstate(all="ignore"):
            if dtype == "bool":
                raise Refused("arithmetic on bool")
            if not is_float(dtype):
                return Shadow(function(x.value, y.value), 0.0, dtype)
            value = function(x.value, y.value)
            if builtins.any((np.isinf(a.value) & (np.abs(b.value) < 8 * b.error)).any() for a, b in ((x, y), (y, x))):
                raise Refused("infinity times what may be 0")
            error = np.nan_to_num(spread(x.value, y.value, x.error, y.error), nan=0.0, posinf=0.0)
            return checked(value, np.where(np.isfinite(value), error, 0.0), dtype)

    return apply


add = arithmetic(np.add, lambda x, y, ex, ey: ex + ey)
sub = arithmetic(np.subtract, lambda x, y, ex, ey: ex + ey)
mul = arithmetic(np.multiply, lambda x, y, ex, ey: np.abs(x) * ey + np.abs(y) * ex + ex * ey)


def div(left: Any, right: Any) -> Shadow:
    x, y, dtype = pair(left, right)
    if not is_float(dtype):
        x, y, dtype = convert(x, "float32"), convert(y, "float32"), "float32"
    with np.errstate(all="ignore"):
        if (np.abs(y.value) < 4 * y.error).any():
            raise Refused("a divisor that may be 0")
        value = x.value / y.value
        error = np.nan_to_num((x.error + np.abs(value) * y.error) / np.abs(y.value) * 1.4, nan=0.0, posinf=0.0)
    return checked(value, error, dtype, 1.0)


def stepwise(function: Callable[..., Any]) -> Callable[..., Shadow]:
    """Make // or %, from exact values only."""

    def apply(left: Any, right: Any) -> Shadow:
        x, y, dtype = pair(left, right)
        require_exact(x, y)
        if dtype == "bool":
            raise Refused("division of bool")
        with np.errstate(all="ignore"):
            if is_float(dtype):
                narrow = STORAGE[dtype].type
                return checked(function(x.value.astype(narrow), y.value.astype(narrow)), 0.0, dtype)
            return Shadow(function(x.value, y.value), 0.0, dtype)

    return apply


def comparison(function: Callable[..., Any]) -> Callable[..., Shadow]:
    def apply(left: Any, right: Any) -> Shadow:
        x, y, _ = pair(left, right)
        require_exact(x, y)
        with np.errstate(all="ignore"):
            return Shadow(function(x.value, y.value), 0.0, "bool")

    return apply


def bitwise(function: Callable[..., Any]) -> Callable[..., Shadow]:
    def apply(left: Any, right: Any) -> Shadow:
        x, y, dtype = pair(left, right)
        if is_float(dtype):
            raise Refused("bits of a float")
        return Shadow(function(x.value, y.value), 0.0, dtype)

    return apply


def choice_of_two(function: Callable[..., Any]) -> Callable[..., Shadow]:
    """Make maximum or minimum: continuous, so the larger of the errors."""

    def apply(left: Any, right: Any) -> Shadow:
        x, y, dtype = pair(left, right)
        with np.errstate(all="ignore"):
            return Shadow(function(x.value, y.value), np.maximum(x.error, y.error), dtype)

    return apply


maximum, minimum = choice_of_two(np.maximum), choice_of_two(np.minimum)
floor_div, remainder = stepwise(np.floor_divide), stepwise(np.remainder)


def where(condition: Shadow, left: Any, right: Any) -> Shadow:
    if not isinstance(left, Shadow) and not isinstance(right, Shadow):
        raise Refused("two numbers have no dtype of their own")
    x, y, dtype = pair(left, right)
    if condition.dtype != "bool":
        raise Refused("a condition that is not bool")
    return Shadow(np.where(condition.value, x.value, y.value), np.where(condition.value, x.error, y.error), dtype)


def clip(x: Shadow, low: Any, high: Any) -> Shadow:
    return minimum(maximum(x, low), high)


# ---------------------------------------------------------------- operations on one value


def smooth(
    function: Callable[..., Any], slope: Callable[..., Any], units: float = 4.0, pole: bool = False
) -> Callable[[Shadow], Shadow]:
    """Make a function of floats; `slope(x, y)` bounds the derivative near x; `pole`: it has one, or an edge, at 0."""

    def apply(x: Shadow) -> Shadow:
        if not is_float(x.dtype):
            raise Refused("a function of floats on integers")
        if pole and (np.abs(x.value) < 8 * x.error).any():
            raise Refused("too near to a pole")
        with np.errstate(all="ignore"):
            value = np.asarray(function(x.value), np.float64)
            error = np.nan_to_num(slope(x.value, value) * x.error * 1.4, nan=0.0, posinf=1e9)
            return checked(value, np.where(x.error > 0, error, 0.0), x.dtype, units)

    return apply


exp = smooth(np.exp, lambda x, y: y)
log = smooth(np.log, lambda x, y: 1 / np.abs(x), pole=True)
sqrt = smooth(np.sqrt, lambda x, y: 0.5 / y, 1.0, pole=True)
rsqrt = smooth(lambda x: 1 / np.sqrt(x), lambda x, y: 0.5 * y / np.abs(x), pole=True)
reciprocal = smooth(lambda x: 1 / x, lambda x, y: y * y, 1.0, pole=True)
tanh = smooth(np.tanh, lambda x, y: 1.0)
erf = smooth(special.erf, lambda x, y: 1.13)
sigmoid = smooth(special.expit, lambda x, y: 0.25)
gelu_smooth = smooth(lambda x: 0.5 * x * special.erfc(-x / math.sqrt(2)), lambda x, y: 1.13, 8.0)
gelu_tanh_smooth = smooth(
    lambda x: x * special.expit(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)), lambda x, y: 1.13, 16.0
)


def power(x: Any, exponent: Any) -> Shadow:
    """x to a constant power."""
    if not isinstance(x, Shadow) or isinstance(exponent, Shadow):
        raise Refused("a power that is not constant")
    if not is_float(x.dtype):
        if not isinstance(exponent, int) or exponent < 0 or x.dtype == "bool":
            raise Refused("a power of integers that is not an integer")
        return Shadow(np.power(x.value, STORAGE[x.dtype].type(exponent)), 0.0, x.dtype)
    slope = smooth(
        lambda v: np.power(v, float(exponent)), lambda v, y: np.abs(exponent * np.power(v, float(exponent) - 1.0))
    )
    return slope(x)


def neg(x: Shadow) -> Shadow:
    if x.dtype == "bool":
        raise Refused("minus of bool")
    return Shadow(np.negative(x.value), x.error.copy(), x.dtype)


def abs(x: Shadow) -> Shadow:
    if x.dtype == "bool":
        raise Refused("abs of bool")
    return Shadow(np.abs(x.value), x.error.copy(), x.dtype)


def cast(x: Shadow, dtype: str) -> Shadow:
    if is_float(dtype):
        wide = Shadow(x.value.astype(np.float64), x.error, x.dtype if is_float(x.dtype) else "float64")
        return round_to(wide, dtype)
    require_exact(x)
    if dtype == "bool":
        return Shadow(x.value != 0, 0.0, "bool")
    if not is_float(x.dtype):
        return Shadow(x.value.astype(STORAGE[dtype]), 0.0, dtype)
    information = np.iinfo(STORAGE[dtype])
    clamped = np.clip(np.nan_to_num(np.trunc(x.value), nan=0.0), float(information.min), float(information.max))
    with np.errstate(all="ignore"):
        whole = clamped.astype(STORAGE[dtype])
    return Shadow(np.where(clamped >= float(information.max), information.max, whole), 0.0, dtype)


# ---------------------------------------------------------------- reductions


def normal_axes(x: Shadow, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple(item % x.ndim for item in axes)


def _count(x: Shadow, axes: Iterable[int]) -> int:
    return math.prod(x.shape[axis] for axis in axes)


def _sum_error(x: Shadow, axes: tuple[int, ...], keepdims: bool) -> Any:
    """c * eps * sum|x| * log2(n), and the operands' own errors; nothing where every partial sum is exact."""
    with np.errstate(all="ignore"):
        carried = np.sum(x.error, axis=axes, keepdims=keepdims)
        size = np.sum(np.abs(x.value), axis=axes, keepdims=keepdims)
        grid = x.value * 16.0
        dyadic = np.all((grid == np.trunc(grid)) | ~np.isfinite(grid), axis=axes, keepdims=keepdims)
        exact = dyadic & (carried == 0) & (size * 16.0 < 2.0**24)
        depth = 2.0 + 2.0 * math.log2(builtins.max(2, _count(x, axes)))
        return np.where(exact, 0.0, carried + depth * EPSILON[x.dtype] * size)


def sum(x: Shadow, axis: Any = None, keepdims: bool = False) -> Shadow:
    axes = normal_axes(x, axis)
    if not is_float(x.dtype):
        return Shadow(np.sum(x.value, axis=axes, keepdims=keepdims, dtype=np.int64), 0.0, "int64")
    with np.errstate(all="ignore"):
        value = np.sum(x.value, axis=axes, keepdims=keepdims)
    return checked(value, _sum_error(x, axes, keepdims), x.dtype)


def mean(x: Shadow, axis: Any = None, keepdims: bool = False) -> Shadow:
    if not is_float(x.dtype):
        raise Refused("mean of integers")
    axes = normal_axes(x, axis)
    count = _count(x, axes)
    with np.errstate(all="ignore"):
        value = np.asarray(np.true_divide(np.sum(x.value, axis=axes, keepdims=keepdims), count))
        error = _sum_error(x, axes, keepdims) / builtins.max(count, 1)
    return checked(value, error, x.dtype, 2.0)


def ordered(function: Callable[..., Any]) -> Callable[..., Shadow]:
    def apply(x: Shadow, axis: Any = None, keepdims: bool = False) -> Shadow:
        axes = normal_axes(x, axis)
        if not _count(x, axes):
            raise Refused("the largest of nothing")
        return Shadow(
            function(x.value, axis=axes, keepdims=keepdims), np.max(x.error, axis=axes, keepdims=keepdims), x.dtype
        )

    return apply


max, min = ordered(np.max), ordered(np.min)


# ---------------------------------------------------------------- views and assembly


def transpose(x: Shadow, axes: tuple[int, ...] | None = None) -> Shadow:
    return Shadow(x.value.transpose(axes), x.error.transpose(axes), x.dtype, x.storage)


def reshape(x: Shadow, shape: Any) -> Shadow:
    return Shadow(x.value.reshape(shape), x.error.reshape(shape), x.dtype, x.storage)


def broadcast_to(x: Shadow, shape: Any) -> Shadow:
    return Shadow(np.broadcast_to(x.value, shape), np.broadcast_to(x.error, shape), x.dtype)


def pad(x: Shadow, widths: Any, value: float = 0) -> Shadow:
    filled = np.pad(x.value, widths, constant_values=x.value.dtype.type(value))
    return Shadow(filled, np.pad(x.error, widths), x.dtype)


def full(shape: Any, value: float, dtype: str = "float32") -> Shadow:
    held = np.float64 if is_float(dtype) else STORAGE[dtype]
    return Shadow(np.full(shape, value, held), 0.0, compute(dtype))


def zeros(shape: Any, dtype: str = "float32") -> Shadow:
    return full(shape, 0, dtype)


def concat(pieces: list[Shadow], axis: int = 0) -> Shadow:
    if len({piece.dtype for piece in pieces}) > 1:
        raise Refused("concat of several dtypes")
    return Shadow(
        np.concatenate([piece.value for piece in pieces], axis),
        np.concatenate([piece.error for piece in pieces], axis),
        pieces[0].dtype,
    )


# ---------------------------------------------------------------- neural network functions, by their definitions


def relu(x: Shadow) -> Shadow:
    if x.dtype == "bool":
        raise Refused("relu of bool")
    return maximum(x, 0)


def gelu(x: Shadow, approximate: str = "none") -> Shadow:
    return gelu_tanh(x) if approximate == "tanh" else gelu_exact(x)


def gelu_exact(x: Shadow) -> Shadow:
    """x * (1 + erf(x / sqrt(2))) / 2: the sum cancels for negative x, so the error is relative to x, as torch's."""
    result = gelu_smooth(x)
    return Shadow(result.value, finite(x, result.error + 4 * ulp(x.value, x.dtype)), x.dtype)


def gelu_tanh(x: Shadow) -> Shadow:
    """x * sigmoid(2u): the rounding of u counts |2u| times in the tail."""
    result = gelu_tanh_smooth(x)
    inner = 2 * math.sqrt(2 / math.pi) * np.abs(x.value + 0.044715 * x.value**3)
    return Shadow(result.value, finite(x, result.error + 2 * inner * ulp(result.value, x.dtype)), x.dtype)


def finite(x: Shadow, error: Any) -> Any:
    return np.where(np.isfinite(x.value), error, 0.0)


def softmax(x: Shadow, axis: int = -1) -> Shadow:
    if not is_float(x.dtype):
        raise Refused("softmax of integers")
    powers = exp(sub(x, max(x, axis, keepdims=True)))
    return div(powers, sum(powers, axis, keepdims=True))


def layer_norm(x: Shadow, weight: Shadow | None = None, bias: Shadow | None = None, eps: float = 1e-5) -> Shadow:
    if not is_float(x.dtype):
        raise Refused("norm of integers")
    centred = sub(x, mean(x, -1, keepdims=True))
    variance = mean(mul(centred, centred), -1, keepdims=True)
    result = div(centred, sqrt(add(variance, eps)))
    result = mul(result, weight) if weight is not None else result
    return add(result, bias) if bias is not None else result


def rms_norm(x: Shadow, weight: Shadow | None = None, eps: float = 1e-5) -> Shadow:
    """The public function's `eps` is the dtype's own where none is given; kernels here give it."""
    if not is_float(x.dtype):
        raise Refused("norm of integers")
    result = div(x, sqrt(add(mean(mul(x, x), -1, keepdims=True), eps)))
    return mul(result, weight) if weight is not None else result


def matmul(left: Shadow, right: Shadow) -> Shadow:
    """numpy.matmul; bytes add up in i32. Nothing is lost where every partial sum is exact."""
    if {left.dtype, right.dtype} <= {"int8", "uint8"}:
        return Shadow(np.matmul(left.value.astype(np.int32), right.value.astype(np.int32)), 0.0, "int32")
    x, y, dtype = pair(left, right)
    if dtype == "bool":
        raise Refused("a product of bools")
    if not is_float(dtype):
        return Shadow(np.matmul(x.value, y.value), 0.0, dtype)
    if not (np.isfinite(x.value).all() and np.isfinite(y.value).all()) and not (x.exact and y.exact):
        raise Refused("infinity times what may be 0")
    errors = [np.broadcast_to(tile.error, tile.shape) for tile in (x, y)]
    with np.errstate(all="ignore"):
        value, sizes = np.matmul(x.value, y.value), [np.nan_to_num(np.abs(tile.value)) for tile in (x, y)]
        total = np.matmul(*sizes)
        carried = np.matmul(sizes[0], errors[1]) + np.matmul(errors[0], sizes[1] + errors[1])
        dyadic = builtins.all((tile.value * 16 == np.trunc(tile.value * 16)).all() for tile in (x, y))
        exact = dyadic & (carried == 0) & (total * 256.0 < 2.0**24)
        error = np.where(exact, 0.0, carried + (x.shape[-1] + 2) * EPSILON[dtype] * total)
    return checked(value, error, dtype)


# ---------------------------------------------------------------- operators, and the namespace a kernel sees


def _in_place(function: Callable[..., Shadow]) -> Callable[[Shadow, Any], Shadow]:
    def apply(self: Shadow, other: Any) -> Shadow:
        if self.detached:
            raise Refused("an update of one element by its alias")
        result = function(self, other)
        if result.dtype != self.dtype or result.shape != self.shape:
            raise Refused("an update in place that changes dtype or shape")
        self[...] = result
        return self

    return apply


def _reflected(function: Callable[..., Shadow]) -> Callable[[Shadow, Any], Shadow]:
    return lambda self, other: function(other, self)


_OPERATORS = {
    "matmul": matmul,
    "add": add, "sub": sub, "mul": mul, "truediv": div, "floordiv": floor_div, "mod": remainder,
    "pow": power, "and": bitwise(np.bitwise_and), "or": bitwise(np.bitwise_or), "xor": bitwise(np.bitwise_xor),
}  # fmt: skip
for _name, _function in _OPERATORS.items():
    setattr(Shadow, f"__{_name}__", _function)
    setattr(Shadow, f"__r{_name}__", _reflected(_function))
    setattr(Shadow, f"__i{_name}__", _in_place(_function))
_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal
}  # fmt: skip
for _name, _compare in _COMPARISONS.items():
    setattr(Shadow, f"__{_name}__", comparison(_compare))

PYPTO = SimpleNamespace(
    abs=abs, broadcast_to=broadcast_to, cast=cast, clip=clip, concat=concat, erf=erf, exp=exp, full=full, log=log, zeros=zeros, loop=range, max=max,
    matmul=matmul, maximum=maximum, mean=mean, min=min, minimum=minimum, neg=neg, reciprocal=reciprocal, reshape=reshape, rsqrt=rsqrt,
    sigmoid=sigmoid, sqrt=sqrt, sum=sum, tanh=tanh, transpose=transpose, where=where,
    nn=SimpleNamespace(relu=relu, gelu=gelu, softmax=softmax, layer_norm=layer_norm, rms_norm=rms_norm, pad=pad),
)  # fmt: skip
