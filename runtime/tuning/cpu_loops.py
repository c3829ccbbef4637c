"""Cycles of one loop nest on one core, as far as instructions go: what `pypto.codegen.llvm.loop_plan` plans."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.accumulation import is_compensated
from pypto.codegen.llvm.contraction_shape import step_of
from pypto.codegen.llvm.groups import Group
from pypto.codegen.llvm.loop_plan import LoopPlan
from pypto.codegen.llvm.memory_reduction import ROWS
from pypto.codegen.llvm.program import Access, Node, NodeKind
from pypto.ir.index import Symbol
from pypto.ir.operations.table import TABLE
from pypto.runtime.tuning.cpu_figures import Figures

CHECK_CYCLES = 2.0
"""Per index that is compared with its axis and counted from the end when negative."""
DIVISIONS = frozenset(("div", "sqrt", "reciprocal", "rsqrt"))
PREDICTED_TURNS = 24
"""Turns up to which the end of a loop is predicted, about."""
SEQUENTIAL_CYCLES = {"cumsum": 2.9, "cumprod": 4.1, "argsort": 22.0, "scatter": 4.0, "scatter_add": 6.0}
"""Per element, measured on 1024 x 1024 f32; no schedule changes them."""


@dataclass(slots=True)
class LoopCosts:
    """Costs the nests of one kernel."""

    figures: Figures

    def group(self, group: Group, plan: LoopPlan) -> float:
        """Return the cycles of one run of a nest."""
        first = group.tasks[0]
        if first.is_sequential:
            elements = math.prod(axis.extent for axis in first.axes)
            return elements * SEQUENTIAL_CYCLES[first.reduction or "cumsum"]
        around, length = 1, 1
        for axis in plan.loops:
            if axis is plan.vector:
                length = axis.extent
            else:
                around *= axis.extent
        reduced = group.reduced or frozenset()
        if plan.vector is not None and reduced and plan.vector.symbol not in reduced:
            return self.column_reduction(plan, around, length) + self.invariant(plan, around)
        return around * self.innermost(plan, length) + self.invariant(plan, around) + self.results(plan, reduced)

    def innermost(self, plan: LoopPlan, length: int) -> float:
        """Return the cycles of the innermost loop, its whole turns and the masked rest."""
        figures, step = self.figures, plan.lanes * plan.unroll
        unroll = plan.unroll if length >= step else 1
        step = plan.lanes * unroll
        turns, rest = divmod(length, step)
        vector = max(self.throughput(plan), self.chain(plan) / unroll)
        cycles = self.entry(turns) + turns * (unroll * vector + figures.turn)
        if rest:
            count = -(-rest // plan.lanes)
            cycles += self.entry(count) + count * (vector * figures.rest + figures.turn + self.chain(plan))
        return cycles

    def entry(self, turns: int) -> float:
        """Return the cycles of beginning and ending a loop; the end of a long one is predicted wrongly."""
        return self.figures.loop if turns > PREDICTED_TURNS else self.figures.turn

    def column_reduction(self, plan: LoopPlan, around: int, length: int) -> float:
        """Return the cycles of a reduction whose accumulators lie in memory: `ROWS` rows enter at a time."""
        vectors = -(-length // plan.lanes)
        entered = (2.0 * self.figures.vector_every + self.figures.add_latency) / ROWS * len(plan.reductions)
        blocks = -(-around // ROWS)
        return around * vectors * (self.throughput(plan) + entered) + blocks * (
            vectors * self.figures.turn + self.figures.loop
        )

    def throughput(self, plan: LoopPlan) -> float:
        """Return the cycles that one vector's instructions take when nothing waits for anything."""
        cycles = sum(
            self.node(node, plan)
            for node, symbols in zip(plan.nodes, plan.symbols, strict=True)
            if plan.is_varying(symbols)
        )
        for task, _ in plan.outputs:
            if task.reduction is None:
                cycles += self.access(task.target, plan, stores=True)
            else:
                cycles += self.figures.vector_every
        return cycles

    def chain(self, plan: LoopPlan) -> float:
        """Return the cycles after which an accumulator can take the next vector."""
        if not plan.reductions:
            return 0.0
        latency = self.figures.add_latency
        return max(6 * latency if task.reduction in ("argmax", "argmin") else latency for task, _ in plan.reductions)

    def node(self, node: Node, plan: LoopPlan) -> float:
        if node.kind in (NodeKind.CONSTANT, NodeKind.INDEX):
            return self.figures.vector_every
        if node.kind is NodeKind.CHECKED:
            return CHECK_CYCLES * plan.lanes
        if node.access is not None:
            return self.access(node.access, plan, stores=False)
        if node.name in DIVISIONS:
            return self.figures.division * plan.lanes * node.dtype.bits / 512
        return max(1.0, TABLE[node.name].cost.flops) * self.figures.vector_every

    def access(self, access: Access, plan: LoopPlan, stores: bool) -> float:
        """Return the cycles of one vector of an access that the first cache serves."""
        symbol = plan.vector.symbol if plan.vector is not None else None
        step = step_of(access, symbol) if symbol is not None else 0
        every = self.figures.vector_every * (2 if stores else 1)
        if not _is_linear(access, symbol) or abs(step) > 1:
            return self.figures.gather_lane * plan.lanes * (2 if stores else 1)
        narrow = 2 * self.figures.vector_every if access.array.dtype.is_narrow_float else 0.0
        return every + narrow + (every if step == -1 else 0.0)

    def invariant(self, plan: LoopPlan, around: int) -> float:
        """Return the cycles of what is the same in all lanes; what depends on no loop at all runs once."""
        cycles = 0.0
        for node, symbols in zip(plan.nodes, plan.symbols, strict=True):
            if plan.is_varying(symbols) or node.kind is NodeKind.CONSTANT:
                continue
            flops = 1.0 if node.kind is not NodeKind.OPERATION else max(1.0, TABLE[node.name].cost.flops)
            cycles += flops * self.figures.scalar * (around if symbols else 1)
        return cycles

    def results(self, plan: LoopPlan, reduced: frozenset[Symbol]) -> float:
        """Return the cycles of combining accumulators, once for each result of a reduction."""
        if not plan.reductions:
            return 0.0
        count = math.prod(axis.extent for axis in plan.loops if axis.symbol not in reduced)
        steps = math.log2(plan.lanes * plan.unroll) + 1 if plan.lanes > 1 else 1
        longest = plan.vector.extent if plan.vector is not None else 1
        additions = -(-longest // (plan.lanes * plan.unroll))
        compensated = any(is_compensated(task.reduction or "", task.dtype, additions) for task, _ in plan.reductions)
        blocks = -(-additions // 32) if compensated else 0
        cycles = steps * self.figures.across + blocks * (plan.unroll + 6) * self.figures.add_latency
        return count * cycles * len(plan.reductions)


def _is_linear(access: Access, symbol: Symbol | None) -> bool:
    """True when the address moves by a constant from lane to lane."""
    if symbol is None:
        return True
    return all(
        isinstance(atom, Symbol) or symbol not in affine.symbols(affine.Affine(0, ((atom, 1),)))
        for index in access.index
        for atom, _ in index.terms
    )
