"""Structured control flow as basic blocks: counted loops with carried registers, branches."""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.llvm.builder import FunctionBuilder, Register

Body = Callable[[Register, list[Register]], list[Register]]


def _number(register: Register) -> int | None:
    text = register.text
    return int(text) if text.lstrip("-").isdigit() else None


def loop(
    builder: FunctionBuilder, start: Register, stop: Register, step: int, carried: list[Register], body: Body
) -> list[Register]:
    """Emit ``for index in range(start, stop, step)`` and return the carried registers after it.

    A loop that is known to take no turn or one is emitted as nothing or straight code.
    """
    first, last = _number(start), _number(stop)
    if first is not None and last is not None:
        if first >= last:
            return carried
        if first + step >= last:
            return body(start, carried)
    return _blocks(builder, start, stop, step, carried, body, guard=first is None or last is None)


def _blocks(
    builder: FunctionBuilder,
    start: Register,
    stop: Register,
    step: int,
    carried: list[Register],
    body: Body,
    guard: bool,
) -> list[Register]:
    head, done = builder.fresh("loop"), builder.fresh("done")
    before = builder.block
    if guard:
        builder.branch(builder.compare("icmp slt", start, stop), head, done)
    else:
        builder.jump(head)
    builder.label(head)
    index = Register(f"%{builder.fresh()}", "i64")
    inside = [Register(f"%{builder.fresh()}", item.element, item.lanes) for item in carried]
    place = len(builder.lines)
    after = body(index, inside)
    following = builder.emit(f"add i64 {index.text}, {step}", "i64")
    latch = builder.block
    phis = [_phi(index, start, before, following, latch)]
    phis += [_phi(now, old, before, new, latch) for now, old, new in zip(inside, carried, after, strict=True)]
    builder.lines[place:place] = phis
    builder.branch(builder.compare("icmp slt", following, stop), head, done)
    builder.label(done)
    if not guard:
        return after
    results = [Register(f"%{builder.fresh()}", item.element, item.lanes) for item in carried]
    for result, old, new in zip(results, carried, after, strict=True):
        builder.lines.append(_phi(result, old, before, new, latch))
    return results


def _phi(result: Register, old: Register, before: str, new: Register, latch: str) -> str:
    return f"  {result.text} = phi {result.type} [ {old.text}, %{before} ], [ {new.text}, %{latch} ]"


def branch(
    builder: FunctionBuilder, condition: Register, then: Callable[[], None], otherwise: Callable[[], None] | None = None
) -> None:
    """Emit one of two pieces of code."""
    first, second, done = builder.fresh("then"), builder.fresh("else"), builder.fresh("done")
    builder.branch(condition, first, second if otherwise is not None else done)
    builder.label(first)
    then()
    builder.jump(done)
    if otherwise is not None:
        builder.label(second)
        otherwise()
        builder.jump(done)
    builder.label(done)
