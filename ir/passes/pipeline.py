"""The passes of the NPU target, in order, from level *tile* to level *planned*."""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.passes.assign_buffers import ASSIGN_BUFFERS
from pypto.ir.passes.choose_tiles import CHOOSE_TILES
from pypto.ir.passes.decompose import DECOMPOSE
from pypto.ir.passes.expand_attention import EXPAND_ATTENTION
from pypto.ir.passes.finish_plan import FINISH_PLAN
from pypto.ir.passes.fold_constants import FOLD_CONSTANTS
from pypto.ir.passes.fold_identities import FOLD_IDENTITIES
from pypto.ir.passes.hoist_invariants import HOIST_INVARIANTS
from pypto.ir.passes.insert_synchronisation import INSERT_SYNCHRONISATION
from pypto.ir.passes.join_cores import JOIN_CORES
from pypto.ir.passes.join_phases import JOIN_PHASES
from pypto.ir.passes.manager import ModulePass, Pass
from pypto.ir.passes.merge_product_loops import MERGE_PRODUCT_LOOPS
from pypto.ir.passes.plan_addresses import PLAN_ADDRESSES
from pypto.ir.passes.plan_cores import PLAN_CORES
from pypto.ir.passes.remove_common import REMOVE_COMMON
from pypto.ir.passes.remove_dead import REMOVE_DEAD
from pypto.ir.passes.rotate_buffers import ROTATE_BUFFERS
from pypto.ir.passes.split_cores import SPLIT_CORES
from pypto.ir.passes.unroll_loops import UNROLL_LOOPS


def again(item: Pass) -> Pass:
    """Return a pass that runs a second time, on what a pass in between made, under a name of its own."""
    return replace(item, name=f"{item.name}_again")


NPU_PASSES: tuple[Pass | ModulePass, ...] = (
    MERGE_PRODUCT_LOOPS,
    UNROLL_LOOPS,
    FOLD_CONSTANTS,
    REMOVE_DEAD,
    EXPAND_ATTENTION,
    SPLIT_CORES,
    DECOMPOSE,
    again(FOLD_CONSTANTS),
    FOLD_IDENTITIES,
    REMOVE_COMMON,
    again(REMOVE_DEAD),
    PLAN_CORES,
    CHOOSE_TILES,
    HOIST_INVARIANTS,
    ASSIGN_BUFFERS,
    JOIN_CORES,
    JOIN_PHASES,
    ROTATE_BUFFERS,
    PLAN_ADDRESSES,
    INSERT_SYNCHRONISATION,
    FINISH_PLAN,
)
