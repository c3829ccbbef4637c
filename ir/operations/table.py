"""The operation table: every operation of the IR, one record each, from the modules beside this one.

To add one: a record in the module of its kind, its LLVM rule (`codegen/llvm/rules`), its AscendC rule
(`codegen/ascendc/rules`), its public function (`pypto/language`). `tests/ir/test_operations.py` fails until all are
there. docs/architecture.md walks through an example.
"""

from __future__ import annotations

from pypto.ir.operations import (
    constants,
    contractions,
    cube,
    elementwise,
    hardware,
    indexing,
    ordered,
    reductions,
    shapes,
    synchronisation,
)
from pypto.ir.operations.definition import OperationDefinition

_GROUPS = (elementwise, reductions, ordered, contractions, shapes, indexing, constants, synchronisation, hardware, cube)

TABLE: dict[str, OperationDefinition] = {record.name: record for group in _GROUPS for record in group.RECORDS}
