"""Elementwise operations on tiles and numbers: promotion as torch's, broadcasting as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.ir.dtypes import BOOL, F32, I64, DType, compute_type, promote
from pypto.ir.nodes import Value
from pypto.ir.operations.records import FLOATS
from pypto.ir.operations.table import TABLE
from pypto.tracing.context import Number, Tracer, require
from pypto.tracing.extents import SymbolicExtent
from pypto.tracing.indices import Condition, IndexValue
from pypto.tracing.storage import Scalar
from pypto.tracing.tiles import Tile
from pypto.tracing.values import cast, common_shape, constant, lift, visible_shape

FLOAT_FUNCTIONS = frozenset(record.name for record in TABLE.values() if record.dtypes == FLOATS)
"""Operations with real values, which take integers as f32."""
_KIND_ORDER = {"bool": 0, "unsigned": 1, "signed": 1, "float": 2}
Operand = Any
"""A tile, a Python or NumPy number, a block id, loop index or comparison of them."""

_LARGEST_EXPONENT = 1024  # of float64, which Python numbers pass through


def tracer_of(operands: tuple[Operand, ...], what: str) -> Tracer:
    """Return the running tracer; raises UserError ``outside-tile-function`` or ``not-a-tile``."""
    tracer = require(what)
    for operand in operands:
        if isinstance(operand, Tile):
            operand.check(tracer)
    return tracer


def normal(tracer: Tracer, operand: Operand) -> Operand:
    """Return `operand` as a tile, an index value or a plain Python number; raises UserError ``operand-kind``."""
    if isinstance(operand, (Tile, bool, int, float, IndexValue)):
        return operand
    if isinstance(operand, Condition):
        return operand.tile()
    if isinstance(operand, SymbolicExtent):
        return IndexValue(tracer, operand.extent)
    if isinstance(operand, np.generic) or (isinstance(operand, np.ndarray) and operand.ndim == 0):
        number = operand.item()
        if isinstance(number, (bool, int, float)):
            return number
        if isinstance(operand, np.generic) and operand.dtype.kind not in "cOSUMmV":  # ml_dtypes scalars
            return float(operand)
    if isinstance(operand, np.ndarray):
        raise tracer.error("captured-array", shape=operand.shape)
    raise tracer.error("operand-kind", kind=_kind_name(operand))


def _kind_name(operand: object) -> str:
    if isinstance(operand, complex):
        return "a complex number"
    name = type(operand).__name__
    return name if name == "NoneType" else f"a {name}"


def result_type(operands: tuple[Operand, ...]) -> DType:
    """Return the common dtype: tiles with axes first, then 0-d tiles, then numbers; a lower group only raises the kind.

    As torch.result_type: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    groups: list[DType | None] = [None, None, None]
    for operand in operands:
        dtype, group = _operand_type(operand)
        current = groups[group]
        groups[group] = dtype if current is None else promote(current, dtype)
    result: DType | None = None
    for group_type in groups:
        if group_type is not None:
            result = group_type if result is None else _raised(result, group_type)
    assert result is not None
    return result


def _raised(higher: DType, lower: DType) -> DType:
    return promote(higher, lower) if _KIND_ORDER[lower.kind] > _KIND_ORDER[higher.kind] else higher


def _operand_type(operand: Operand) -> tuple[DType, int]:
    if isinstance(operand, Tile):
        if isinstance(operand.storage, Scalar):
            return _number_type(operand.dtype_), 2
        return operand.dtype_, 0 if operand.rank else 1
    if isinstance(operand, bool):
        return BOOL, 2
    return (F32 if isinstance(operand, float) else I64), 2


def _number_type(dtype: DType) -> DType:
    return F32 if dtype.is_float else I64 if dtype.is_integer else BOOL


def as_value(tracer: Tracer, operand: Operand, dtype: DType) -> Value:
    """Return an operand as a value in the compute type of `dtype`."""
    dtype = compute_type(dtype)
    if isinstance(operand, Tile):
        return cast(tracer, operand.read(), dtype)
    if isinstance(operand, IndexValue):
        return cast(tracer, operand.value(), dtype)
    return constant(tracer, dtype, checked_number(tracer, operand, dtype))


def checked_number(tracer: Tracer, number: Number, dtype: DType) -> Number:
    """Return `number`, which must fit `dtype`; raises UserError ``number-range``."""
    if dtype.is_integer and isinstance(number, int):
        information = np.iinfo(dtype.numpy)
        if not information.min <= number <= information.max:
            raise tracer.error("number-range", number=_shown(number), dtype=dtype)
    if dtype.is_float and isinstance(number, int) and number.bit_length() > _LARGEST_EXPONENT:
        raise tracer.error("number-range", number=_shown(number), dtype=dtype)
    return number


def _shown(number: int) -> str:
    """Return a whole number as text, a very long one by its size."""
    return str(number) if number.bit_length() < 128 else f"a whole number of {number.bit_length()} bits"


def apply(name: str, *operands: Operand) -> Tile:
    """Apply an elementwise operation of the table and return the new tile."""
    tracer = tracer_of(operands, name)
    given = tuple(normal(tracer, operand) for operand in operands)
    dtype = result_type(given)
    if name in FLOAT_FUNCTIONS and not dtype.is_float:
        dtype = F32
    tracer.note(name, *(_fact(operand) for operand in given))
    value = combine(tracer, name, tuple(as_value(tracer, operand, dtype) for operand in given))
    return Tile.of_value(tracer, value, BOOL if value.dtype == BOOL else dtype)


def combine(tracer: Tracer, name: str, values: tuple[Value, ...]) -> Value:
    """Emit an elementwise operation on values of any visible ranks."""
    if len(values) == 1:
        return tracer.emit(name, values)
    shape = common_shape(tracer, tuple(visible_shape(tracer, value) for value in values))
    return tracer.emit(name, tuple(lift(tracer, value, len(shape)) for value in values))


def select(condition: Operand, then: Operand, other: Operand) -> Tile:
    """Return `then` where `condition` holds, else `other`."""
    tracer = tracer_of((condition, then, other), "pypto.where")
    given = tuple(normal(tracer, operand) for operand in (condition, then, other))
    tracer.note("where", *(_fact(operand) for operand in given))
    condition = given[0]
    found = condition.dtype_ if isinstance(condition, Tile) else BOOL if isinstance(condition, bool) else I64
    if found != BOOL:
        raise tracer.error("condition-dtype", dtype=found)
    dtype = result_type(given[1:])
    values = (as_value(tracer, condition, BOOL), *(as_value(tracer, operand, dtype) for operand in given[1:]))
    return Tile.of_value(tracer, combine(tracer, "where", values), dtype)


def convert(tile: Operand, dtype: DType) -> Tile:
    """Return a tile in another dtype, rounded to it."""
    tracer = tracer_of((tile,), "pypto.cast")
    given = normal(tracer, tile)
    tracer.note("cast", _fact(given), dtype.name)
    source = given.dtype_ if isinstance(given, Tile) else result_type((given,))
    value = as_value(tracer, given, source)
    value = cast(tracer, value, dtype)
    return Tile.of_value(tracer, cast(tracer, value, compute_type(dtype)), dtype)


def _fact(operand: Operand) -> object:
    """Return what identifies an operand in both runs of a loop's body."""
    if isinstance(operand, Tile):
        return operand.key
    if isinstance(operand, IndexValue):
        return operand.expression
    return type(operand).__name__, repr(operand)


def power(base: Operand, exponent: Operand) -> Tile:
    """Return base ** exponent; constant exponents 0, 1, 2, 3, -1, -2 and 0.5 need no `pow`.

    Raises UserError ``integer-power`` for an integer tile to a negative constant.
    """
    if isinstance(exponent, np.generic):
        exponent = exponent.item()
    if not isinstance(base, Tile) or isinstance(exponent, bool) or not isinstance(exponent, (int, float)):
        return apply("pow", base, exponent)
    if base.dtype_.is_integer and isinstance(exponent, int):
        if exponent < 0:
            raise base.tracer.error("integer-power", exponent=exponent)
        return _whole_power(base, exponent)
    if exponent == 0.5:
        return apply("sqrt", base)  # as NumPy and torch, whose 0.5 is sqrt also at -inf
    if exponent in (0, 1, 2, 3):
        return _whole_power(base, int(exponent))
    if exponent in (-1, -2) and base.dtype_.kind != "bool":
        inverse = apply("reciprocal", base)
        return inverse if exponent == -1 else inverse * inverse
    return apply("pow", base, exponent)


def _whole_power(base: Tile, exponent: int) -> Tile:
    """Multiply repeatedly, by squaring; anything to the power 0 is 1, NaN included."""
    if exponent == 0:
        return base.filled(1)
    result: Tile | None = None
    square = base
    while True:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if not exponent:
            break
        square = square * square
    assert result is not None
    return result.copy() if result is base else result
