"""Which blocks of the parallel axes a schedule asks for, and in which order items walk them.

Only what was chosen counts, by a config or by the tuner; the decorator's wishes do not, since the blocks that the
emitter finds by itself are as a rule better. Tiles are numbered as the axes of the largest output (aligned from the
right); a loop nest that writes no array of that rank, and axes that cannot run in parallel, keep the emitter's blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.nests import Nest
from pypto.codegen.llvm.program import Array, Home, Program, tasks
from pypto.ir.index import Symbol
from pypto.ir.nodes import Kernel
from pypto.ir.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Wanted:
    """The lengths of blocks by axis, and the axes from the outermost to the innermost (both may be empty)."""

    blocks: Mapping[Symbol, int] = field(default_factory=dict)
    order: tuple[Symbol, ...] = ()


def chosen_schedule(kernel: Kernel) -> Schedule:
    """Return what was chosen for a kernel; where each tile or block is computed alone, its shape is no choice."""
    schedule = Schedule.of(kernel).choices()
    if kernel.grid or dict(kernel.attributes).get("meaning") in ("tiles", "blocks"):
        return schedule.choosing(tile_shape=None, loop_order=None, tile_num=None)
    return schedule


def largest_output(program: Program) -> Array | None:
    """Return the largest argument that the tasks write; of several the last."""
    found: Array | None = None
    for task in tasks(program.body):
        array = task.target.array
        if array.home is Home.ARGUMENT and (found is None or math.prod(array.shape) >= math.prod(found.shape)):
            found = array
    return found


def wanted_blocks(nest: Nest, schedule: Schedule, output: Array | None) -> Wanted:
    """Return what the schedule asks for in one nest."""
    if output is None or (schedule.tile_shape is None and schedule.loop_order is None):
        return Wanted()
    axes = _axes(nest, output)
    shape = schedule.tile_shape or ()
    tiles = (*(1,) * (len(axes) - len(shape)), *shape[max(0, len(shape) - len(axes)) :]) if shape else ()
    blocks: dict[Symbol, int] = {}
    for symbol, tile in zip(axes, tiles, strict=False):
        if symbol is not None:
            extent = nest.axes[symbol].extent
            blocks[symbol] = extent if tile is None else max(1, min(tile, extent))
    order = [axes[number] for number in schedule.loop_order or () if 0 <= number < len(axes)]
    return Wanted(blocks, tuple(symbol for symbol in order if symbol is not None))


def _axes(nest: Nest, output: Array) -> list[Symbol | None]:
    """Return the class that walks each axis of the largest output, by what the nest stores to it or to its like."""
    parallel = set(nest.parallel())
    ranked = [task.target for task, _ in nest.members if task.target.array.shape == output.shape]
    ranked.sort(key=lambda target: target.array.name != output.name)
    for target in ranked:
        found = [_walker(nest, index, parallel) for index in target.index]
        if any(symbol is not None for symbol in found):
            return found
    return []


def _walker(nest: Nest, index: Affine, parallel: set[Symbol]) -> Symbol | None:
    if len(index.terms) != 1 or index.terms[0][1] != 1:
        return None
    atom = index.terms[0][0]
    if not isinstance(atom, Symbol) or atom not in nest.axes:
        return None
    found = nest.find(atom)
    return found if found in parallel else None
