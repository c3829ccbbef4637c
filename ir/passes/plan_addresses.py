"""Give every buffer its byte address: one after another, each at a multiple of 256 bytes.

What follows a buffer up to the next multiple belongs to it, so that instructions on whole repeats stay inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import UNKNOWN, Location
from pypto.ir.nodes import Buffer, For, Kernel, Level, Operation, Value, results, walk
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.passes.manager import Pass


def plan_addresses(kernel: Kernel) -> Kernel:
    """Return `kernel` at level *planned*; raises UserError ``unified-buffer-full`` when its buffers do not fit."""
    if footprint(kernel.buffers) > capacity(kernel):
        raise too_large(kernel)
    address, placed = 0, []
    for buffer in kernel.buffers:
        placed.append(replace(buffer, address=address))
        address += whole_repeats(buffer)
    return replace(kernel, level=Level.PLANNED, buffers=tuple(placed))


def whole_repeats(buffer: Buffer) -> int:
    """Return the bytes that `buffer` takes, rounded up to whole repeats."""
    repeat = ASCEND_910B1.repeat_bytes
    return -(-buffer.depth * buffer.slot_bytes // repeat) * repeat


def footprint(buffers: Iterable[Buffer]) -> int:
    """Return the bytes of the unified buffer that `buffers` take together."""
    return sum(map(whole_repeats, buffers))


def capacity(kernel: Kernel) -> int:
    """Return the bytes of the unified buffer that `kernel` may use: Select takes a part for itself."""
    selects = any(isinstance(item, Operation) and item.name == "where" for item in walk(kernel.body))
    return ASCEND_910B1.unified_buffer - (ASCEND_910B1.select_reserve if selects else 0)


def too_large(kernel: Kernel) -> UserError:
    """Return the error that lists the largest buffers of `kernel` (level *buffered*) with the lines that fill them."""
    places = _places(kernel)
    largest = sorted(kernel.buffers, key=whole_repeats, reverse=True)[:6]
    lines = [f"{whole_repeats(item)} bytes: {_shape(item)}, {places[item.name]}" for item in largest]
    details = {"kernel": kernel.name, "needed": footprint(kernel.buffers), "capacity": capacity(kernel)}
    location = next((item.location for item in walk(kernel.body) if item.location != UNKNOWN), kernel.location)
    return UserError("unified-buffer-full", location, live="; ".join(lines), **details)


def _shape(buffer: Buffer) -> str:
    return f"{buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def _places(kernel: Kernel) -> dict[str, str]:
    """Return for each buffer the source lines of the values in it, as text."""
    found: dict[str, list[Location]] = {buffer.name: [] for buffer in kernel.buffers}
    for statement in walk(kernel.body):
        for value in _held(statement):
            if value.buffer is not None and statement.location not in found[value.buffer]:
                found[value.buffer].append(statement.location)
    return {name: _lines(locations) for name, locations in found.items()}


def _held(statement: object) -> tuple[Value, ...]:
    return statement.carried if isinstance(statement, For) else results(statement)  # type: ignore[arg-type]


def _lines(locations: list[Location]) -> str:
    numbers = sorted({location.line for location in locations if location != UNKNOWN})
    if not numbers:
        return "made by the compiler"
    return ("line " if len(numbers) == 1 else "lines ") + ", ".join(map(str, numbers))


PLAN_ADDRESSES = Pass("plan_addresses", Level.SYNCHRONISED, Level.PLANNED, plan_addresses)
