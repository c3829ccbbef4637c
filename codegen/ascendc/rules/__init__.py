"""Emission rules of AscendC: one for each operation that passes leave, under its name.

`DECOMPOSED` names the operations of the table that never reach the emitter.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.ascendc.emission import Emission
from pypto.codegen.ascendc.rules import constants, elementwise, indexing, moves, ordered, reductions, synchronisation
from pypto.ir.nodes import Operation
from pypto.ir.operations.cube import RECORDS as CUBE_RECORDS

Rule = Callable[[Emission, Operation], None]

RULES: dict[str, Rule] = {
    **constants.RULES,
    **elementwise.RULES,
    **indexing.RULES,
    **moves.RULES,
    **ordered.RULES,
    **reductions.RULES,
    **synchronisation.RULES,
}

DECOMPOSED = frozenset(
    (
        "acos",
        "acosh",
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "attention",
        "cbrt",
        "concat",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp2",
        "expm1",
        "fmod",
        "hypot",
        "log10",
        "log1p",
        "log2",
        "matmul",
        "mean",
        "pad",
        "reciprocal",
        "remainder",
        "rsqrt",
        "sigmoid",
        "signbit",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "xor",
    )
)
"""Made of other operations by `pypto.ir.passes.decompose` and `select_instructions`. What neither has a rule nor is
named here is refused: `pypto.ir.passes.refused`."""

PLANNED_ONLY = frozenset((*(record.name for record in CUBE_RECORDS), "set_cross_flag", "wait_cross_flag"))
"""Operations that kernels are planned with, and that no AscendC is generated for."""
