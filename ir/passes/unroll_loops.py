"""Loops of no turns and of one are no loops: there is nothing to carry, to rotate or to order from turn to turn."""

from __future__ import annotations

from pypto.ir.index import Index, Symbol
from pypto.ir.nodes import For, Kernel, Level, Value
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.rewriting import Rewriter
from pypto.ir.passes.slots import turn_bounds
from pypto.ir.specialise import substituted


def unroll_loops(kernel: Kernel) -> Kernel:
    """Return `kernel` with the bodies of loops that turn once in their place, and without loops that never turn."""
    return _Unroller(kernel).run()


class _Unroller(Rewriter):
    def loop(self, loop: For) -> None:
        turns = turn_bounds(loop, {})
        if turns == (0, 0):
            self.stand_for(loop.results, self.all(loop.initial))
        elif turns == (1, 1):
            self.stand_for(loop.carried, self.all(loop.initial))
            values: dict[Symbol, Index] = {loop.index: loop.start}
            for statement in substituted(loop.body, values):
                self.location = statement.location
                self.statement(statement)
            self.stand_for(loop.results, self.all(loop.yielded))
        else:
            super().loop(loop)

    def stand_for(self, old: tuple[Value, ...], new: tuple[Value, ...]) -> None:
        self.values.update((before.name, after) for before, after in zip(old, new, strict=True))


UNROLL_LOOPS = Pass("unroll_loops", Level.TILE, Level.TILE, unroll_loops)
