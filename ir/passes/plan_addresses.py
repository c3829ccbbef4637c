"""Give every buffer its byte address, so that buffers that are never in use together may lie over each other.

Buffers are placed first-fit, in several orders of which the smallest result is kept. Those that cross between global
memory and the chip share no bytes with others when there is room: sharing would make copies wait for computing. The two
sources of an instruction start in different bank groups (address // 32 % 16), so that they are read together.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import UNKNOWN, Location
from pypto.ir.liveness import Span, live_spans, meet
from pypto.ir.nodes import Buffer, For, Kernel, Level, Load, Operation, Space, Store, Value, results, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.footprint import capacity, whole_repeats
from pypto.ir.passes.manager import Pass
from pypto.ir.rename import rename_buffers

Spans = dict[str, list[Span]]
Partners = dict[str, set[str]]
BANK_GROUPS = 16


def plan_addresses(kernel: Kernel) -> Kernel:
    """Return `kernel` with addresses for its buffers; raises UserError ``unified-buffer-full`` when they do not fit."""
    placed = packed(kernel)
    if placed is None:
        raise too_large(kernel)
    return joined(replace(kernel, buffers=placed))


def packed(kernel: Kernel, spread: bool = True) -> tuple[Buffer, ...] | None:
    """Return the buffers of `kernel` with addresses, or None when no order of placing them fits.

    Without `spread` those that cross between global memory and the chip share bytes like all others.
    """
    spans = live_spans(kernel)
    placed: list[Buffer] = []
    for space in memories_of(kernel):
        used = [buffer for buffer in kernel.buffers if buffer.name in spans and buffer.space is space]
        own = {item.name: spans[item.name] for item in used}
        addresses = _packed(kernel, used, own, capacity(kernel, space), spread)
        if addresses is None:
            return None
        placed += (replace(item, address=addresses[item.name][0]) for item in used)
    order = {buffer.name: position for position, buffer in enumerate(kernel.buffers)}
    return tuple(sorted(placed, key=lambda item: order[item.name]))


def memories_of(kernel: Kernel) -> list[Space]:
    """Return the memories that `kernel` has buffers in."""
    return [space for space in Space if any(buffer.space is space for buffer in kernel.buffers)]


def _packed(kernel: Kernel, used: list[Buffer], spans: Spans, space: int, spread: bool) -> Addresses | None:
    """Return addresses for the buffers of one memory of `space` bytes, or None when they do not fit."""
    if _most_at_once(used, spans)[0] > space:
        return None
    partners = partners_of(kernel)
    whole = {name: [(items[0][0], items[-1][1])] for name, items in spans.items()}
    apart = crossing(kernel)
    lonely = {name: [(0, 10**9)] if name in apart else items for name, items in spans.items()}
    choices: list[tuple[Spans, Partners]] = [(lonely, partners)] if spread else []
    for kept, banks in (*choices, (spans, partners), (spans, {})):
        if _most_at_once(used, kept)[0] > space:
            continue
        together = meetings(kept)
        plans = [Plan(_ordered(used, whole, key), together, banks, space).placed() for key in ORDERS]
        fitting = [plan for plan in plans if plan is not None]
        if fitting:
            return min(fitting, key=highest)
    return None


def meetings(spans: Spans) -> Partners:
    """Return for each buffer those in use together with it: by a sweep over time, in steps of the pairs that it finds
    and not of all pairs, of which kernels of thousands of buffers have too many."""
    found: Partners = {name: set() for name in spans}
    live: list[tuple[int, str]] = []
    for start, end, name in sorted((start, end, name) for name, items in spans.items() for start, end in items):
        while live and live[0][0] < start:
            heapq.heappop(live)
        for _, other in live:
            found[name].add(other)
            found[other].add(name)
        heapq.heappush(live, (end, name))
    return found


def crossing(kernel: Kernel) -> set[str]:
    """Return the buffers that copies between global memory and the chip fill or empty."""
    found: set[str] = set()
    for item in walk(kernel.body):
        value = item.result if isinstance(item, Load) else item.value if isinstance(item, Store) else None
        if value is not None and value.buffer is not None:
            found.add(value.buffer)
    return found


def _ordered(buffers: list[Buffer], spans: Spans, key: Key) -> list[Buffer]:
    return sorted(buffers, key=lambda item: key(item, spans[item.name]))


Key = Callable[[Buffer, list[Span]], int]

ORDERS: tuple[Key, ...] = (
    lambda buffer, spans: -whole_repeats(buffer),
    lambda buffer, spans: -_duration(spans) * whole_repeats(buffer),
    lambda buffer, spans: -_duration(spans),
    lambda buffer, spans: spans[0][0],
)
"""In which orders to place buffers: by size, by size and time, by time, by when they are first used."""


def _duration(spans: list[Span]) -> int:
    return sum(end - start + 1 for start, end in spans)


Addresses = dict[str, tuple[int, int]]


def highest(placed: Addresses) -> int:
    return max((end for _, end in placed.values()), default=0)


@dataclass(slots=True)
class Plan:
    """First-fit placing of `buffers` in their order, in `space` bytes; `together` has those in use with each."""

    buffers: list[Buffer]
    together: Partners
    partners: Partners
    space: int

    def placed(self) -> Addresses | None:
        """Return the first byte of each buffer and the one behind its last, or None when one ends behind the space."""
        placed: Addresses = {}
        for buffer in self.buffers:
            size = whole_repeats(buffer)
            taken = sorted(placed[name] for name in self.together[buffer.name] if name in placed)
            address = _free(taken, size, self.groups(buffer, placed))
            if address + size > self.space:
                return None
            placed[buffer.name] = (address, address + size)
        return placed

    def groups(self, buffer: Buffer, placed: Addresses) -> set[int]:
        """Return the bank groups in which partners of `buffer` start."""
        return {placed[name][0] // 32 % BANK_GROUPS for name in self.partners.get(buffer.name, ()) if name in placed}


def _free(taken: list[tuple[int, int]], size: int, groups: set[int]) -> int:
    """Return the first address with `size` bytes free and in none of `groups`."""
    address = _aside(0, groups)
    for start, end in taken:
        if address + size <= start:
            break
        if end > address:
            address = _aside(end, groups)
    return address


def _aside(address: int, groups: set[int]) -> int:
    while address // 32 % BANK_GROUPS in groups and len(groups) < BANK_GROUPS:
        address += 32
    return address


def partners_of(kernel: Kernel) -> Partners:
    """Return for each buffer those that an instruction reads together with it."""
    found: Partners = defaultdict(set)
    for item in walk(kernel.body):
        if isinstance(item, Operation) and TABLE[item.name].category is Category.ELEMENTWISE:
            names = {value.buffer for value in item.operands if value.buffer is not None}
            for name in names:
                found[name] |= names - {name}
    return found


def joined(kernel: Kernel) -> Kernel:
    """Return `kernel` with one buffer for all those of one address, shape and element type."""
    first: dict[object, str] = {}
    names: dict[str, str] = {}
    for buffer in kernel.buffers:
        place = (buffer.address, buffer.space, buffer.dtype, buffer.shape)
        names[buffer.name] = first.setdefault(place if buffer.depth == 1 else buffer.name, buffer.name)
    kept = tuple(buffer for buffer in kernel.buffers if names[buffer.name] == buffer.name)
    short = {buffer.name: f"b{number}" for number, buffer in enumerate(kept)}
    buffers = tuple(replace(buffer, name=short[buffer.name]) for buffer in kept)
    mapping = {old: short[new] for old, new in names.items()}
    return replace(kernel, body=rename_buffers(kernel.body, mapping), buffers=buffers)


def peak(kernel: Kernel, space: Space = Space.UB) -> int:
    """Return the most bytes of a memory that are in use at one time, rounded up to whole repeats by buffer: no plan
    takes less."""
    return _peak(kernel, space)[0]


def _peak(kernel: Kernel, space: Space) -> tuple[int, list[Buffer]]:
    """Return the most bytes in use at one time, and the buffers in use then."""
    spans = live_spans(kernel)
    used = [buffer for buffer in kernel.buffers if buffer.name in spans and buffer.space is space]
    most, when = _most_at_once(used, spans)
    return most, [item for item in used if meet(spans[item.name], [(when, when)])]


def _most_at_once(used: list[Buffer], spans: Spans) -> tuple[int, int]:
    """Return the most bytes of the buffers `used` in use at one time, and the first position where they are."""
    changes: dict[int, int] = defaultdict(int)
    for buffer in used:
        size = whole_repeats(buffer)
        for start, end in spans[buffer.name]:
            changes[start] += size
            changes[end + 1] -= size
    most, when, now = 0, 0, 0
    for position in sorted(changes):
        now += changes[position]
        if now > most:
            most, when = now, position
    return most, when


def footprint(buffers: Iterable[Buffer]) -> int:
    """Return the bytes from the start of the unified buffer to the end of the last of `buffers`, with addresses."""
    return max(((buffer.address or 0) + whole_repeats(buffer) for buffer in buffers), default=0)


def too_large(kernel: Kernel) -> UserError:
    """Return the error that lists what `kernel` (level *buffered*) has in use at its peak, with source lines."""
    places = _places(kernel)
    needed, live = _peak(kernel, Space.UB)
    largest = sorted(live, key=whole_repeats, reverse=True)[:6]
    lines = [f"{whole_repeats(item)} bytes: {_shape(item)}, {places[item.name]}" for item in largest]
    if len(live) > len(largest):
        rest = sum(map(whole_repeats, live)) - sum(map(whole_repeats, largest))
        lines.append(f"{rest} bytes: {len(live) - len(largest)} smaller ones")
    details = {"kernel": kernel.name, "needed": needed, "capacity": capacity(kernel)}
    location = next((item.location for item in walk(kernel.body) if item.location != UNKNOWN), kernel.location)
    return UserError("unified-buffer-full", location, live="; ".join(lines), **details)


def _shape(buffer: Buffer) -> str:
    slots = f" in {buffer.depth} slots" if buffer.depth > 1 else ""
    return f"{buffer.dtype}[{', '.join(map(str, buffer.shape))}]{slots}"


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


PLAN_ADDRESSES = Pass("plan_addresses", Level.BUFFERED, Level.BUFFERED, plan_addresses)
