"""Checking a planned kernel: races, deadlocks and misused flags by the clocks, and bank conflicts.

Capacities, alignment and overlaps are rules of level planned, which reading a text verifies before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.engine.clocks import faults
from pypto.ir.engine.machine import Fault
from pypto.ir.nodes import Buffer, Kernel, Module, Operation, Space, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.verification.levels import MEMORIES

WARNINGS = ("bank-conflict",)
"""What costs time and changes no result."""

BANK_BYTES = 32
BANK_GROUPS = 16
"""The unified buffer: a block of 32 bytes is in bank group address / 32 % 16; two reads of one group take turns."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a check found; `error` has its name, text and place, `other` is the second place in question."""

    error: UserError
    other: Location | None = None

    @property
    def is_warning(self) -> bool:
        return self.error.name in WARNINGS

    def __str__(self) -> str:
        text = str(self.error)
        if self.is_warning:
            text = text.replace("error[", "warning[", 1)
        return text + (f"\n  {self.other}: note: the other place" if self.other else "")

    def as_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        place, other = self.error.location, self.other
        return {
            "rule": self.error.name,
            "severity": "warning" if self.is_warning else "error",
            "message": self.error.message,
            "help": self.error.help,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "other_file": other.file if other else None,
            "other_line": other.line if other else None,
        }


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was found in the kernels of one module; `memory` says how much of each memory each of them uses."""

    name: str
    findings: tuple[Finding, ...]
    memory: tuple[str, ...] = ()

    @staticmethod
    def of(name: str, error: UserError) -> CheckReport:
        """Return the report of a kernel that could not be lowered or read: the mistake that was found first."""
        return CheckReport(name, (Finding(error),))

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(item for item in self.findings if not item.is_warning)

    def __str__(self) -> str:
        warnings = len(self.findings) - len(self.errors)
        counts = f"{len(self.findings)} finding{'' if len(self.findings) == 1 else 's'}"
        counts += f", {warnings} of them warnings" if warnings else ""
        lines = [*map(str, self.findings), f"{self.name}: {counts}", *(f"  {line}" for line in self.memory)]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "kernel": self.name,
            "findings": [item.as_json() for item in self.findings],
            "memory": list(self.memory),
        }


def check_module(name: str, module: Module) -> CheckReport:
    """Return what is wrong with a module at level planned, each thing once."""
    found: dict[tuple[str, Location | None, Location | None], Finding] = {}
    for kernel in module.kernels:
        for item in (*map(_of_fault, faults(kernel)), *_bank_conflicts(kernel)):
            found.setdefault((item.error.message, item.error.location, item.other), item)
    return CheckReport(name, tuple(found.values()), tuple(map(_memory, module.kernels)))


def _of_fault(fault: Fault) -> Finding:
    place = fault.statement.location if fault.statement is not None else None
    other = fault.other.location if fault.other is not None else None
    if fault.what.startswith("deadlock: block"):
        return Finding(UserError("blocks-wait", place, what=fault.what), other)
    if fault.what.startswith("blocks "):
        blocks, _, array = fault.what.partition(" race on gm:")
        return Finding(UserError("block-order", place, blocks=blocks, array=array), other)
    if " race on " not in fault.what:
        return Finding(UserError("flag-misuse", place, what=fault.what), other)
    pipes, _, resource = fault.what.partition(" race on ")
    earlier, _, later = pipes.partition(" and ")
    where = f"the array {resource[3:]}" if resource.startswith("gm:") else resource
    details = {"earlier": earlier, "later": later, "resource": where}
    if earlier == later:
        return Finding(UserError("race-in-pipe", place, **details), other)
    return Finding(UserError("race", place, **details), other)


def _memory(kernel: Kernel) -> str:
    ends: dict[Space, int] = {}
    for buffer in kernel.buffers:
        end = (buffer.address or 0) + buffer.depth * buffer.slot_bytes
        ends[buffer.space] = max(end, ends.get(buffer.space, 0))
    used = [f"{end} of {MEMORIES[space].capacity} bytes of {space.value}" for space, end in ends.items()]
    return f"kernel {kernel.name}: {', '.join(used) or 'no memory on chip'}"


# -- bank conflicts


def _bank_conflicts(kernel: Kernel) -> Iterator[Finding]:
    """Yield the vector instructions that read two buffers from one bank group at a time."""
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    for item in walk(kernel.body):
        if not isinstance(item, Operation) or TABLE[item.name].category is not Category.ELEMENTWISE:
            continue
        sources = [value for value in item.operands if value.buffer is not None and value.shape]
        for number, first in enumerate(sources):
            for second in sources[number + 1 :]:
                left, right = buffers[str(first.buffer)], buffers[str(second.buffer)]
                if left is not right and _group(left) is not None and _group(left) == _group(right):
                    details = {"first": first, "second": second, "operation": item.name, "group": _group(left)}
                    addresses = {"first_address": left.address, "second_address": right.address}
                    yield Finding(UserError("bank-conflict", item.location, **details, **addresses))


def _group(buffer: Buffer) -> int | None:
    if buffer.address is None or buffer.space is not Space.UB:
        return None
    return buffer.address // BANK_BYTES % BANK_GROUPS
