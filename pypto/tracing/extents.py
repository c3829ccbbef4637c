"""Extents that are not known yet, as a body sees them in `.shape`: usable as they are, or as numbers by
specialising.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from pypto.ir.index import Extent, Index, IndexOperation, Symbol, symbols
from pypto.tracing.context import Specialise, Tracer


def valid_numbers(count: Extent) -> str:
    """Return the help of an error about a number that is none of `count` places."""
    return f"use {-count} to {count - 1}" if isinstance(count, int) and count else "there is none to choose"


class SymbolicExtent:
    """An extent that tracing has no number for.

    Passing it on (``zeros(x.shape)``) keeps it symbolic. Looking at it as a Python number (arithmetic, comparison,
    ``range``) makes the kernel special for the extent of the example: tracing starts again with the number and the
    kernel records a guard. Raises UserError ``extent-unknown`` where there is no example.
    """

    __slots__ = ("_tracer", "extent")

    def __init__(self, tracer: Tracer, extent: Extent) -> None:
        self._tracer, self.extent = tracer, extent

    def _number(self) -> NoReturn:
        specialise(self._tracer, self.extent)

    __int__ = __index__ = __float__ = __bool__ = __hash__ = _number

    def _binary(self, other: object) -> NoReturn:
        self._number()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _binary
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _binary
    __lt__ = __le__ = __gt__ = __ge__ = _binary

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, SymbolicExtent) and other.extent == self.extent):
            self._number()
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return str(self.extent)


def specialise(tracer: Tracer, *extents: Index) -> NoReturn:
    """Start tracing again with the symbols of `extents` known; raises UserError ``extent-unknown`` without hints."""
    wanted = {symbol for extent in extents for symbol in symbols(extent)}
    for symbol in sorted(wanted, key=str):
        if symbol not in tracer.hints:
            raise tracer.error("extent-unknown", extent=symbol.name)
    raise Specialise({symbol: tracer.hints[symbol] for symbol in wanted})


def shown(tracer: Tracer, shape: tuple[Extent, ...]) -> tuple[Any, ...]:
    """Return a shape as the body sees it."""
    return tuple(item if isinstance(item, int) else SymbolicExtent(tracer, item) for item in shape)


def as_extent(value: Any) -> Extent | None:
    """Return the extent that a Python object stands for, or None when it is no whole number."""
    if isinstance(value, SymbolicExtent):
        return value.extent
    if isinstance(value, (Symbol, IndexOperation)):
        return value
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
