"""The tracer of eager mode: every operation is its NumPy meaning, at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.base.errors import UserError
from pypto.ir.builder import check_dtypes
from pypto.ir.dtypes import DType
from pypto.ir.index import IndexOperation, Symbol, evaluate
from pypto.ir.nodes import Attribute, Region, TileType, Value
from pypto.ir.operations.definition import IndexOutOfRange, RuleViolation
from pypto.ir.operations.mistakes import index_error
from pypto.ir.operations.table import TABLE
from pypto.tracing.context import Number, Tracer
from pypto.tracing.tiles import Tile

Array = NDArray[Any]


@dataclass(frozen=True)
class Computed(Value):
    """A value with its elements."""

    data: Any = None


def computed(data: Array, dtype: DType) -> Computed:
    return Computed("eager", TileType(dtype, tuple(data.shape)), None, data)


def data_of(value: Value) -> Array:
    assert isinstance(value, Computed)
    return value.data  # type: ignore[no-any-return]  # an array


class Executor(Tracer):
    """Computes on NumPy arrays; loads copy, stores write the caller's arrays."""

    eager = True

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        super().__init__()
        self.arrays = dict(arrays)

    def emit(self, name: str, operands: tuple[Value, ...], /, **attributes: Attribute) -> Value:
        types = tuple(operand.type for operand in operands)
        try:
            check_dtypes(name, types)
            (type_,) = TABLE[name].infer(types, attributes)
        except RuleViolation as violation:
            raise UserError(violation.name, self.location(), **violation.details) from None
        numbers = {key: _number(value) for key, value in attributes.items()}
        try:
            data = TABLE[name].meaning(*(data_of(operand) for operand in operands), **numbers)
        except IndexOutOfRange as mistake:
            raise index_error(name, bool(numbers["wrap"]), self.location(), mistake) from None
        return computed(np.asarray(data), type_.dtype)

    def load(self, source: str, dtype: DType, region: Region, fill: Number | None = None) -> Value:
        array = self.arrays[source]
        positions = _positions(region)
        if fill is None:
            return computed(np.array(array[_index(positions)]), dtype)
        data = np.full([len(item) for item in positions], np.asarray(fill).astype(dtype.numpy))
        inside = _inside(positions, array.shape)
        data[np.ix_(*inside)] = array[np.ix_(*(item[keep] for item, keep in zip(positions, inside, strict=True)))]
        return computed(data, dtype)

    def store(self, target: str, region: Region, value: Value, clip: bool = False) -> None:
        array, positions = self.arrays[target], _positions(region)
        if not clip:
            array[_index(positions)] = data_of(value)
            return
        inside = _inside(positions, array.shape)
        kept = data_of(value)[np.ix_(*inside)]
        array[np.ix_(*(item[keep] for item, keep in zip(positions, inside, strict=True)))] = kept


class EagerIndex(int):
    """A loop index or block id of eager mode: an int whose arithmetic with floats rounds as in a traced kernel."""

    def _operate(self, name: str, operate: Callable[[Any, Any], Any], other: Any, swap: bool = False) -> Any:
        if type(other) in (int, EagerIndex) and name != "div":
            return EagerIndex(operate(other, int(self)) if swap else operate(int(self), other))
        if not isinstance(other, (int, float)):
            return NotImplemented
        from pypto.tracing.elementwise import apply

        return apply(name, other, int(self)) if swap else apply(name, int(self), other)

    def __add__(self, other: Any) -> Any:
        return self._operate("add", operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._operate("add", operator.add, other, swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._operate("sub", operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._operate("sub", operator.sub, other, swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._operate("mul", operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._operate("mul", operator.mul, other, swap=True)

    def __truediv__(self, other: Any) -> Any:
        return self._operate("div", operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._operate("div", operator.truediv, other, swap=True)


def _number(value: Attribute) -> Any:
    if isinstance(value, tuple):
        return tuple(_number(item) for item in value)
    return evaluate(value, {}) if isinstance(value, Symbol | IndexOperation) else value


def _positions(region: Region) -> list[NDArray[np.int64]]:
    return [
        evaluate(item.offset, {}) + item.step * np.arange(evaluate(item.extent, {}), dtype=np.int64) for item in region
    ]


def _index(positions: list[NDArray[np.int64]]) -> Any:
    return np.ix_(*positions) if positions else ...


def _inside(positions: list[NDArray[np.int64]], shape: tuple[int, ...]) -> list[NDArray[np.bool_]]:
    return [(item >= 0) & (item < extent) for item, extent in zip(positions, shape, strict=True)]


def turns(numbers: range) -> Iterator[EagerIndex]:
    """Yield the turns of an eager loop."""
    return map(EagerIndex, numbers)


def shown_array(tile: Tile) -> str:
    """Return the elements of an eager tile as text, for ``print`` and debuggers."""
    try:
        data = data_of(tile.read())
    except UserError as error:
        return f"<tile: {error.message}>"
    return f"tile({np.array2string(data, separator=', ', prefix='tile(')}, {tile.dtype_.long_name})"


def number_of(tile: Tile) -> Any:
    """Return the element of an eager 0-d tile."""
    return data_of(tile.read()).item()
