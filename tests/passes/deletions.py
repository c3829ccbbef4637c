"""Leaving out what orders a kernel, at the level of the IR: each flag, pipe barrier and barrier between blocks in turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from passes.corpus import CORPUS
from passes.cube_corpus import CUBE_CORPUS
from pypto.ir.engine.clocks import faults
from pypto.ir.nodes import Attribute, Kernel, Module, Operation, Statement, walk
from pypto.ir.passes.dependencies import FlagPlan
from pypto.ir.passes.insert_synchronisation import ordered, placed_plan
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.pipes import is_mixed
from pypto.ir.passes.remove_implied import Item
from pypto.ir.verification.barriers import is_barrier

KERNELS = {**CORPUS, **{f"cube {name}": make for name, make in CUBE_CORPUS.items()}}
BUFFERED = NPU_PASSES[: [item.name for item in NPU_PASSES].index("insert_synchronisation")]


@dataclass(frozen=True)
class Deletion:
    """What was left out of one kernel, and whether the clocks found a fault then."""

    kernel: str
    kind: str
    what: str
    is_reported: bool

    def __str__(self) -> str:
        return f"{self.kernel}: {self.what}"


def lowered(module: Module) -> tuple[Kernel, ...]:
    """Return the kernels of a module with memory and addresses, but in no order yet."""
    return run_passes(module, BUFFERED)[0].kernels


def deletions(name: str, kernel: Kernel) -> Iterator[Deletion]:
    """Yield what becomes of leaving out each flag and pipe barrier that `kernel` (from `lowered`) gets, and each barrier
    between blocks that it has; raises AssertionError when there is a fault before."""
    made = placed_plan(*ordered(kernel))
    assert faults(made.kernel) == [], name
    where = f"{name} {kernel.name}{' (mixed)' if is_mixed(kernel) else ''}"
    statements: dict[Item, set[int]] = defaultdict(set)
    for statement, item in made.items.items():
        statements[item].add(statement)
    for item, numbers in statements.items():
        yield Deletion(where, _kind(item), str(item), bool(faults(_without(made.kernel, numbers))))
    yield from block_barriers(where, made.kernel)


def block_barriers(where: str, kernel: Kernel) -> Iterator[Deletion]:
    """Yield what becomes of leaving out each barrier between blocks of a `kernel` in order."""
    numbers: dict[Attribute, set[int]] = defaultdict(set)
    for item in walk(kernel.body):
        if isinstance(item, Operation) and is_barrier(item):
            numbers[item.attribute("barrier_id")].add(id(item))
    for number, statements in numbers.items():
        found = faults(_without(kernel, statements))
        yield Deletion(where, "barrier between blocks", f"barrier {number}", bool(found))


def _kind(item: Item) -> str:
    if isinstance(item, FlagPlan):
        return "flag between cores" if item.crosses else "flag"
    return "pipe barrier"


def _without(kernel: Kernel, dropped: set[int]) -> Kernel:
    return replace(kernel, body=_body(kernel.body, dropped))


def _body(body: tuple[Statement, ...], dropped: set[int]) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for statement in body:
        inner = {
            name: _body(getattr(statement, name), dropped)
            for name in ("body", "then_body", "else_body")
            if hasattr(statement, name)
        }
        if id(statement) not in dropped:
            made.append(replace(statement, **inner) if inner else statement)  # type: ignore[arg-type]  # bodies
    return tuple(made)
