"""Loops, conditions, blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ir.nodes import GridAxis
from pypto.tracing.branches import choose
from pypto.tracing.context import require
from pypto.tracing.indices import IndexValue, as_index
from pypto.tracing.loops import Loop
from pypto.tracing.shaping import clipped_block
from pypto.tracing.tiles import Tile

Index = Any
"""A whole number, a block id or loop index, or + - * // % of them."""


def loop(start: Index, stop: Index = None, step: int = 1) -> Any:
    """``for i in pypto.loop(n)`` or ``pypto.loop(start, stop, step)``: a loop of the kernel (not unrolled).

    Bounds are whole numbers, block ids or outer indices; `step` is a positive number. It must stand directly in a
    ``for`` statement. Tiles made before it and changed in its body, in place or by re-binding their name, carry
    over from turn to turn; shape and dtype stay constant. `break`, `return`, and values first made in the body but
    used after it are errors. Raises UserError ``loop-bound`` or ``loop-step-value``.
    """
    tracer = require("pypto.loop")
    first, last = (0, start) if stop is None else (as_index(start), stop)
    last = as_index(last)
    if first is None or last is None:
        raise tracer.error("loop-bound", bound=start if first is None or stop is None else stop)
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise tracer.error("loop-step-value", step=step)
    return Loop(tracer, first, last, step)


def cond(predicate: Any, then: Callable[[], Any], otherwise: Callable[[], Any] | None = None) -> Any:
    """Run `then` where `predicate` holds, else `otherwise`; both change tiles in place.

    A comparison of block ids or loop indices runs one side only. A 0-d bool tile computes both sides and selects
    every changed element; what the two return (a tile or a tuple of them) is selected too. Raises UserError
    ``cond-predicate``, ``cond-function``, ``cond-rebinding``, ``cond-results`` or ``cond-index-result``.
    """
    return choose(predicate, then, otherwise)


def get_block_id() -> Any:
    """The number of this block, 0 .. tile_num - 1, in an explicit SPMD kernel. Raises UserError ``block-id``."""
    tracer = require("pypto.get_block_id")
    if tracer.block is None:
        raise tracer.error("block-id")
    return IndexValue(tracer, tracer.block.symbol) if isinstance(tracer.block, GridAxis) else tracer.block


def block(x: Tile, offset: Any, shape: Any, fill: bool | int | float = 0) -> Tile:
    """The block of `x` of `shape` at `offset` (one index per axis), clipped at the edge: a view.

    Elements outside read as `fill` and are not written. Raises UserError ``block-arguments``.
    """
    return clipped_block(x, offset, shape, fill)
