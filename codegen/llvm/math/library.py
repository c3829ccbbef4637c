"""Functions that the C library computes, called lane by lane."""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register


def by_library(builder: FunctionBuilder, symbol: str, *operands: Register) -> Register:
    """Call ``symbol`` (``pow`` ...) on each lane. The symbol has to be in the process: no other library is linked."""
    first = operands[0]
    if first.lanes == 1:
        return builder.call(symbol, operands, first.element)
    result = Register("poison", first.element, first.lanes)
    for lane in range(first.lanes):
        values = [builder.emit(f"extractelement {operand.typed}, i64 {lane}", operand.element) for operand in operands]
        value = builder.call(symbol, values, first.element)
        result = builder.emit(f"insertelement {result.typed}, {value.typed}, i64 {lane}", first.element, first.lanes)
    return result
