"""Rules of the levels below *tile*: buffers, flags and addresses."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.index import IndexOperation
from pypto.ir.liveness import live_spans, meet
from pypto.ir.nodes import Attribute, Buffer, For, If, Kernel, Level, Operation, Pipe, Space, Statement
from pypto.ir.passes.slots import as_one_core, sub_blocks
from pypto.ir.printer import attribute_text
from pypto.ir.verification.violation import Violation


@dataclass(frozen=True, slots=True)
class Memory:
    """One on-chip memory of dav-2201: bytes, and the alignment of an address in bytes."""

    capacity: int
    alignment: int


MEMORIES: dict[Space, Memory] = {
    Space.UB: Memory(192 * 1024, 32),
    Space.L1: Memory(512 * 1024, 32),
    Space.L0A: Memory(64 * 1024, 512),
    Space.L0B: Memory(64 * 1024, 512),
    Space.L0C: Memory(128 * 1024, 1024),
    Space.BT: Memory(1024, 64),
}
"""Sizes per core of dav-2201, with sources in codegen/targets/ascend910b1.toml. Mmad writes at multiples of 1024."""

LARGEST_FLAG = 5
"""Largest flag id: in static-tensor style the hardware's ids 6 and 7 are reserved."""

DEPTHS = (1, 2, 3)


def check_buffers(kernel: Kernel) -> dict[str, Buffer]:
    """Return the kernel's buffers by name; raises Violation for one that cannot be."""
    if kernel.buffers and kernel.level is Level.TILE:
        details = {"what": f"buffer {kernel.buffers[0].name}", "level": "tile", "needed": Level.BUFFERED.value}
        raise Violation("wrong-level", kernel.buffers[0], **details)
    buffers: dict[str, Buffer] = {}
    for buffer in kernel.buffers:
        if buffer.name in buffers:
            raise Violation("duplicate-buffer", buffer, buffer=buffer.name)
        if what := _fault(buffer):
            raise Violation("buffer-shape", buffer, buffer=buffer.name, what=what)
        buffers[buffer.name] = buffer
    return buffers


def _fault(buffer: Buffer) -> str:
    if buffer.space is Space.GM:
        return "in gm"
    if buffer.depth not in DEPTHS:
        return f"of depth {buffer.depth}"
    negative = [extent for extent in buffer.shape if extent < 0]
    return f"of extent {negative[0]}" if negative else ""


Flag = tuple[str, str, int]


def show_flag(flag: Flag) -> str:
    if flag[2] < 0:
        return f"barrier {-1 - flag[2]}"
    return f"flag {flag[0]} -> {flag[1]} {flag[2]}"


def check_flags(kernel: Kernel) -> None:
    """Raise Violation unless flags (binary) are set and waited for in turn on every way through the kernel."""
    raised = _flags_after(as_one_core(kernel.body, sub_blocks(kernel)), frozenset())
    for flag in sorted(raised):
        raise Violation("flag-leaked", kernel, flag=show_flag(flag))


def _flags_after(body: tuple[Statement, ...], raised: frozenset[Flag]) -> frozenset[Flag]:
    for statement in body:
        if isinstance(statement, Operation):
            raised = _flags_after_operation(statement, raised)
        elif isinstance(statement, For):
            _check_loop(statement, raised)
        elif isinstance(statement, If):
            raised = _flags_after_branches(statement, raised)
    return raised


def _flags_after_operation(operation: Operation, raised: frozenset[Flag]) -> frozenset[Flag]:
    """An id that rotates stands for all the ids it takes: turn after turn they are set and waited for alike."""
    sets = operation.name in ("set_flag", "set_barrier")
    if not sets and operation.name not in ("wait_flag", "wait_barrier"):
        return raised
    flags = _flags(operation) if operation.name.endswith("flag") else frozenset((barrier_flag(operation),))
    for flag in sorted(flags):
        if sets and flag in raised:
            raise Violation("flag-raised", operation, flag=show_flag(flag))
        if not sets and flag not in raised:
            raise Violation("flag-lowered", operation, flag=show_flag(flag))
    return raised | flags if sets else raised - flags


def barrier_flag(operation: Operation) -> Flag:
    """Return the flag that a block's own part of a barrier is: set by what stores, waited for by what issues."""
    number = operation.attribute("barrier_id")
    assert isinstance(number, int)
    return Pipe.MTE3.value, Pipe.S.value, -1 - number


def _flags(operation: Operation) -> frozenset[Flag]:
    source, destination, number = (operation.attribute(name) for name in ("source", "destination", "id"))
    ids = flag_ids(number)
    if ids is None:
        shown, expected = attribute_text(number), "a number, or `(index) % slots + number`"
        details = {"operation": operation.name, "attribute": "id", "value": shown, "expected": expected}
        raise Violation("attribute-value", operation, **details)
    for item in ids:
        if not 0 <= item <= LARGEST_FLAG:
            raise Violation("flag-id", operation, id=item, limit=LARGEST_FLAG)
    if source == destination:
        raise Violation("flag-pipes", operation, source=source, destination=destination)
    return frozenset((str(source), str(destination), item) for item in ids)


def flag_ids(number: Attribute) -> range | None:
    """Return the ids that an attribute ``id`` takes: a number, or an index modulo the number of slots plus a number;
    None for anything else."""
    if isinstance(number, int):
        return range(number, number + 1)
    if not isinstance(number, IndexOperation) or not isinstance(number.right, int):
        return None
    if number.operator == "%":
        return range(number.right)
    turning = flag_ids(number.left) if number.operator == "+" and isinstance(number.left, IndexOperation) else None
    return range(turning.start + number.right, turning.stop + number.right) if turning is not None else None


def _check_loop(loop: For, raised: frozenset[Flag]) -> None:
    after = _flags_after(loop.body, raised)
    for flag in sorted(after ^ raised):
        before, now = ("set", "not set") if flag in raised else ("not set", "set")
        raise Violation("flag-loop", loop, flag=show_flag(flag), before=before, after=now)


def _flags_after_branches(choice: If, raised: frozenset[Flag]) -> frozenset[Flag]:
    then, other = _flags_after(choice.then_body, raised), _flags_after(choice.else_body, raised)
    for flag in sorted(then ^ other):
        states = ("set", "not set") if flag in then else ("not set", "set")
        raise Violation("flag-branch", choice, flag=show_flag(flag), then=states[0], other=states[1])
    return then


def check_addresses(kernel: Kernel, memories: dict[Space, Memory]) -> None:
    """Raise Violation unless every buffer lies aligned inside its memory and overlaps no other while in use."""
    for buffer in kernel.buffers:
        _check_address(buffer, memories[buffer.space])
    spans = live_spans(kernel)
    used = sorted((item for item in kernel.buffers if item.name in spans), key=_start)
    for position, first in enumerate(used):
        for second in used[position + 1 :]:
            if _start(second) >= _end(first):
                break  # sorted by address: no later one overlaps either
            if first.space is second.space and _overlap(first, second) and meet(spans[first.name], spans[second.name]):
                details = {"first": first.name, "first_bytes": _bytes(first), "space": first.space.value}
                details |= {"second": second.name, "second_bytes": _bytes(second)}
                raise Violation("buffer-overlap", second, **details)


def _check_address(buffer: Buffer, memory: Memory) -> None:
    if buffer.address is None:
        raise Violation("missing-address", buffer, buffer=buffer.name)
    details = {"buffer": buffer.name, "space": buffer.space.value}
    if buffer.address < 0 or buffer.address % memory.alignment:
        raise Violation("misaligned-address", buffer, address=buffer.address, alignment=memory.alignment, **details)
    if _end(buffer) > memory.capacity:
        raise Violation("over-capacity", buffer, end=_end(buffer), capacity=memory.capacity, **details)


def _start(buffer: Buffer) -> int:
    return buffer.address or 0


def _end(buffer: Buffer) -> int:
    return _start(buffer) + buffer.depth * buffer.slot_bytes


def _bytes(buffer: Buffer) -> str:
    return f"bytes {_start(buffer)} to {_end(buffer) - 1}"


def _overlap(first: Buffer, second: Buffer) -> bool:
    return _start(first) < _end(second) and _start(second) < _end(first)
