"""Emission rules of the CPU target: one for every elementwise operation of level tile, under its name.

A rule appends instructions for any number of lanes (1, or a power of two) and returns the result's register. They round
the same way at every number of lanes, so that a scalar tail has the bits of the vector body. A rule may end in another
block than it began in (`FunctionBuilder.block`).
"""

from pypto.codegen.llvm.rules.dispatch import RULES, elementwise
from pypto.codegen.llvm.rules.reduction import combine, reduction_identity
from pypto.codegen.llvm.rules.representation import element, from_memory, memory_element, memory_number, to_memory

__all__ = [
    "RULES",
    "combine",
    "element",
    "elementwise",
    "from_memory",
    "memory_element",
    "memory_number",
    "reduction_identity",
    "to_memory",
]
