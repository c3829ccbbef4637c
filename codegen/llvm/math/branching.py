"""Rare cases that the quick instructions of a function get wrong, and loops that some lanes leave before others."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.llvm.builder import FunctionBuilder, Register

Registers = tuple[Register, ...]


def every_lane(builder: FunctionBuilder, condition: Register) -> Register:
    """Return one bit: whether `condition` holds in all lanes."""
    return _reduced(builder, condition, "and")


def any_lane(builder: FunctionBuilder, condition: Register) -> Register:
    """Return one bit: whether `condition` holds in a lane."""
    return _reduced(builder, condition, "or")


def _reduced(builder: FunctionBuilder, condition: Register, operator: str) -> Register:
    if condition.lanes == 1:
        return condition
    return builder.call(f"llvm.vector.reduce.{operator}.v{condition.lanes}i1", (condition,), "i1")


def unless(builder: FunctionBuilder, simple: Register, quick: Registers, slow: Callable[[], Registers]) -> Registers:
    """Return `quick` where the bit `simple` holds, else what `slow` emits. Ends in another block than it began in."""
    before, rare, done = builder.block, builder.fresh("rare"), builder.fresh("decided")
    builder.branch(simple, done, rare)
    builder.label(rare)
    exact = slow()
    after = builder.block
    builder.jump(done)
    builder.label(done)
    return tuple(
        builder.emit(
            f"phi {left.type} [ {left.text}, %{before} ], [ {right.text}, %{after} ]", left.element, left.lanes
        )
        for left, right in zip(quick, exact, strict=True)
    )


def repeat(
    builder: FunctionBuilder, start: Registers, body: Callable[[Registers], tuple[Registers, Register]]
) -> Registers:
    """Emit ``do start = body(start) while (bit)`` and return the last values; ends in another block."""
    before, head, done = builder.block, builder.fresh("repeat"), builder.fresh("done")
    builder.jump(head)
    builder.label(head)
    place = len(builder.lines)
    inside = tuple(Register(f"%{builder.fresh()}", item.element, item.lanes) for item in start)
    after, again = body(inside)
    builder.lines[place:place] = [
        f"  {now.text} = phi {now.type} [ {first.text}, %{before} ], [ {later.text}, %{builder.block} ]"
        for now, first, later in zip(inside, start, after, strict=True)
    ]
    builder.branch(again, head, done)
    builder.label(done)
    return after
