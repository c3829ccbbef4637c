"""Phases of kernels that do not need each other as one parallel loop: no thread waits for a kernel it can do without.

A kernel starts as soon as those are done whose arrays it needs; its phases follow each other. Phases that can start at
one time become one phase whose items are the chunks of each, so that bits stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pypto.codegen.llvm.code import Phase
from pypto.ir.nodes import Kernel, Role
from pypto.ir.passes.fuse_kernels import stages_of
from pypto.ir.passes.merge_kernels import waits_for

SIGNATURE = "ptr %slots, ptr %workspace, ptr %scratch, ptr %stop, i64 %first, i64 %last"
INTRINSICS = ("declare i64 @llvm.smax.i64(i64, i64)", "declare i64 @llvm.smin.i64(i64, i64)")


@dataclass(slots=True)
class Part:
    """The phases of one kernel: the step that the first of them runs in, and where its workspace begins."""

    kernel: Kernel
    phases: Sequence[Phase]
    workspace: int
    start: int = 0
    offset: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.phases)


@dataclass(frozen=True, slots=True)
class Joint:
    """What is to be launched: phases in order, functions that run several, and the bytes of workspace."""

    phases: tuple[Phase, ...]
    functions: tuple[str, ...]
    workspace: int


def joined(parts: Sequence[Part], group: str) -> Joint:
    """Return the phases of all kernels in as few steps as their order allows; `group` is the functions' attributes."""
    for number, part in enumerate(parts):
        part.start = max((other.end for other in parts[:number] if _depend(other.kernel, part.kernel)), default=0)
    _place(parts)
    phases: list[Phase] = []
    functions: list[str] = []
    for step in range(max((part.end for part in parts), default=0)):
        members = [part for part in parts if part.start <= step < part.end]
        if len(members) == 1 and not members[0].offset:
            phases.append(members[0].phases[step - members[0].start])
            continue
        symbol = f"pypto_joint_{step}"
        functions.append(_function(symbol, group, members, step))
        chunks = sum(_chunks(part.phases[step - part.start]) for part in members)
        phases.append(Phase(symbol, chunks, 1))
    return Joint(tuple(phases), tuple(functions), max((part.offset + part.workspace for part in parts), default=0))


def _depend(first: Kernel, second: Kernel) -> bool:
    """Return whether `second` has to wait for `first`, which comes before it."""
    touched = [{item.name for item in kernel.parameters if not item.scalar} for kernel in (first, second)]
    written = [{item.name for item in kernel.parameters if item.role is not Role.IN} for kernel in (first, second)]
    if written[0] & touched[1] or written[1] & touched[0]:
        return True
    return not waits_for(second).keys().isdisjoint(stages_of(first))


def _place(parts: Sequence[Part]) -> None:
    """Give kernels that run at one time workspaces of their own."""
    for number, part in enumerate(parts):
        others = [item for item in parts[:number] if item.workspace and item.start < part.end and part.start < item.end]
        for other in sorted(others, key=lambda item: item.offset):
            if part.workspace and part.offset + part.workspace > other.offset:
                part.offset = max(part.offset, other.offset + other.workspace)


def _chunks(phase: Phase) -> int:
    return -(-phase.items // phase.grain)


def _function(symbol: str, group: str, members: Sequence[Part], step: int) -> str:
    lines = [f"define void @{symbol}({SIGNATURE}) {group} {{", "entry:"]
    before = 0
    for number, part in enumerate(members):
        phase = part.phases[step - part.start]
        lines += _call(number, phase, before, part.offset)
        before += _chunks(phase)
    return "\n".join([*lines, "  ret void", "}"])


def _call(number: int, phase: Phase, before: int, offset: int) -> Iterator[str]:
    """Yield the call of one phase for its part of the chunks ``first`` to ``last`` - 1, numbered from `before`."""
    yield f"  %a{number} = sub i64 %first, {before}"
    yield f"  %low{number} = call i64 @llvm.smax.i64(i64 %a{number}, i64 0)"
    yield f"  %b{number} = sub i64 %last, {before}"
    yield f"  %high{number} = call i64 @llvm.smin.i64(i64 %b{number}, i64 {_chunks(phase)})"
    yield f"  %any{number} = icmp slt i64 %low{number}, %high{number}"
    yield f"  br i1 %any{number}, label %run{number}, label %next{number}"
    yield f"run{number}:"
    yield f"  %first{number} = mul i64 %low{number}, {phase.grain}"
    yield f"  %end{number} = mul i64 %high{number}, {phase.grain}"
    yield f"  %last{number} = call i64 @llvm.smin.i64(i64 %end{number}, i64 {phase.items})"
    yield f"  %space{number} = getelementptr i8, ptr %workspace, i64 {offset}"
    arguments = f"ptr %slots, ptr %space{number}, ptr %scratch, ptr %stop, i64 %first{number}, i64 %last{number}"
    yield f"  call void @{phase.symbol}({arguments})"
    yield f"  br label %next{number}"
    yield f"next{number}:"
