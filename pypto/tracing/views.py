"""How a tile function sees an argument: which axes are hidden, which visible, which cut into tiles.

A traced body may run for many tiles or batch items at once. Their axes come first in every traced value and are
*hidden*: `.shape`, axis numbers and indexing in the body count visible axes only. A value that does not depend on a
hidden axis has extent 1 there.
"""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.dtypes import DType
from pypto.ir.index import Extent


@dataclass(frozen=True, slots=True)
class ViewAxis:
    """One axis of an argument.

    * whole and visible: ``hidden=None, tiles=1, extent=n, visible=True``
    * batch: ``hidden=k, tiles=n, extent=1, visible=False`` — the axis is hidden axis k
    * item of a block: ``hidden=None, tiles=n, extent=1, visible=False`` — block number i sees element i of the axis
    * cut: ``hidden=k, tiles=t, extent=e, visible=True`` — t tiles (hidden axis k) of e visible elements, t * e = n
    """

    hidden: int | None
    tiles: Extent
    extent: Extent
    visible: bool = True


@dataclass(frozen=True, slots=True)
class ArrayView:
    """An array argument as a body sees it: one `ViewAxis` per axis of the array, in the array's order."""

    name: str
    dtype: DType
    axes: tuple[ViewAxis, ...]

    @property
    def visible_shape(self) -> tuple[Extent, ...]:
        return tuple(axis.extent for axis in self.axes if axis.visible)


@dataclass(frozen=True, slots=True)
class ScalarView:
    """A scalar argument: a traced 0-d value."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class ConstantView:
    """An argument that is a constant of the signature (annotated int, float, bool; or neither array nor number)."""

    name: str
    value: object


@dataclass(frozen=True, slots=True)
class FreshView:
    """An output of a call used as an expression: its dtype and visible shape are those of its first whole write."""

    name: str


View = ArrayView | ScalarView | ConstantView | FreshView
