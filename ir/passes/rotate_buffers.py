"""Give the buffers that copies fill or empty in a loop several slots, so that copies run ahead of computing.

The attribute ``buffer_depth`` asks for 1, 2 or 3 slots; without it a loop that can turn twice gets 2. Where they do not
fit, fewer are taken, and the kernel's attribute ``notes`` says so.
"""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.nodes import Attribute, Buffer, For, Kernel, Level, Load, Operation, Pipe, Space, Store, walk
from pypto.ir.passes.footprint import capacity
from pypto.ir.passes.layout import symbol_ranges
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.pipes import Pipes
from pypto.ir.passes.plan_addresses import memories_of, packed, peak
from pypto.ir.passes.slots import loops_around, most_turns

LARGEST_DEPTH = 3


def rotate_buffers(kernel: Kernel) -> Kernel:
    """Return `kernel` with as many slots in each memory as it asks for, or as fit."""
    for space in memories_of(kernel):
        kernel = _rotated(kernel, space)
    return kernel


def _rotated(kernel: Kernel, space: Space) -> Kernel:
    wanted = wanted_depth(kernel)
    do_not_fit = f"{wanted} slots per buffer do not fit" + ("" if space is Space.UB else f" {space.value}")
    for depth in range(wanted, 1, -1):
        made = with_depth(kernel, depth, space)
        if made.buffers == kernel.buffers:
            return kernel
        if peak(made, space) <= capacity(kernel, space) and packed(made) is not None:
            return made if depth == wanted else noted(made, f"{do_not_fit}: {depth} are used")
    return kernel if wanted == 1 else noted(kernel, f"{do_not_fit}: 1 is used")


def wanted_depth(kernel: Kernel) -> int:
    """Return the slots that ``buffer_depth`` asks for; 2 when it says nothing and the kernel is not kept from
    overlapping copies and computing."""
    attributes = dict(kernel.attributes)
    depth = attributes.get("buffer_depth")
    if isinstance(depth, int):
        return max(1, min(LARGEST_DEPTH, depth))
    return 1 if attributes.get("pipeline") is False else 2


def with_depth(kernel: Kernel, depth: int, space: Space = Space.UB) -> Kernel:
    """Return `kernel` with `depth` slots, or as many as the loop turns, for each buffer of a memory that a copy fills
    or empties in the loop around all that touches it."""
    ranges = symbol_ranges(kernel)
    crossing, kept, around = _crossing(kernel), _kept(kernel), loops_around(kernel)
    buffers: list[Buffer] = []
    for buffer in kernel.buffers:
        path = around.get(buffer.name, ()) if buffer.name in crossing else ()
        turns = most_turns(path[-1], ranges) if path and buffer.name not in kept else 1
        slots = depth if turns is None else max(1, min(depth, turns))
        buffers.append(replace(buffer, depth=slots) if buffer.space is space else buffer)
    return replace(kernel, buffers=tuple(buffers))


def _crossing(kernel: Kernel) -> set[str]:
    pipes = Pipes.of(kernel)
    found: set[str] = set()
    for item in walk(kernel.body):
        if isinstance(item, Load) and pipes.pipe(item) is Pipe.MTE2 and item.result.buffer is not None:
            found.add(item.result.buffer)
        elif isinstance(item, Store) and item.value.buffer is not None:
            found.add(item.value.buffer)
        elif isinstance(item, Operation) and pipes.pipe(item) is Pipe.MTE1:
            found.update(value.buffer for value in item.results if value.buffer is not None)
    return found


def _kept(kernel: Kernel) -> set[str]:
    """Return the buffers in the unified buffer that hold a value from one turn of a loop to the next."""
    vector = {buffer.name for buffer in kernel.buffers if buffer.space is Space.UB}
    loops = [item for item in walk(kernel.body) if isinstance(item, For)]
    return {value.buffer for loop in loops for value in loop.carried + loop.results if value.buffer in vector}


def noted(kernel: Kernel, note: str) -> Kernel:
    """Return `kernel` with one more of its ``notes``."""
    attributes: dict[str, Attribute] = dict(kernel.attributes)
    before = attributes.get("notes", ())
    assert isinstance(before, tuple)
    attributes["notes"] = (*(item for item in before if item != note), note)
    return replace(kernel, attributes=tuple(sorted(attributes.items())))


ROTATE_BUFFERS = Pass("rotate_buffers", Level.BUFFERED, Level.BUFFERED, rotate_buffers)
