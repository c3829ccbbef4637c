"""The passes of the NPU target, in order, from level *tile* to level *planned*."""

from __future__ import annotations

from pypto.ir.passes.assign_buffers import ASSIGN_BUFFERS
from pypto.ir.passes.choose_tiles import CHOOSE_TILES
from pypto.ir.passes.decompose import DECOMPOSE
from pypto.ir.passes.finish_plan import FINISH_PLAN
from pypto.ir.passes.insert_synchronisation import INSERT_SYNCHRONISATION
from pypto.ir.passes.manager import ModulePass, Pass
from pypto.ir.passes.plan_addresses import PLAN_ADDRESSES
from pypto.ir.passes.rotate_buffers import ROTATE_BUFFERS
from pypto.ir.passes.simplify import SIMPLIFY, SIMPLIFY_AGAIN
from pypto.ir.passes.split_cores import SPLIT_CORES

NPU_PASSES: tuple[Pass | ModulePass, ...] = (
    SIMPLIFY,
    SPLIT_CORES,
    DECOMPOSE,
    SIMPLIFY_AGAIN,
    CHOOSE_TILES,
    ASSIGN_BUFFERS,
    ROTATE_BUFFERS,
    PLAN_ADDRESSES,
    INSERT_SYNCHRONISATION,
    FINISH_PLAN,
)
