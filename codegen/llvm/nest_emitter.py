"""Emits the loop nest of a group: loops, invariant code outside, vector bodies, the masked rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pypto.codegen.llvm import affine, checking, control, rules
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.codegen.llvm.indices import Frames, Indices
from pypto.codegen.llvm.loop_plan import LoopPlan, shifted
from pypto.codegen.llvm.memory import Lanes, Memory
from pypto.codegen.llvm.program import Access, Axis, Node, NodeKind, Task
from pypto.ir.index import Symbol

Shifts = Mapping[Symbol, int]
NO_SHIFTS: Shifts = {}
Visit = Callable[[Lanes | None, Shifts, int], None]


@dataclass(slots=True)
class NestEmitter:
    """Emits one plan. `visit` of the walking functions is called once per vector of elements, inside the innermost
    loop.
    """

    builder: FunctionBuilder
    frames: Frames
    indices: Indices
    memory: Memory
    plan: LoopPlan
    ranges: affine.Ranges
    users: list[bool] = field(default_factory=list)
    """For each node: whether a node or task that differs between lanes needs it."""
    checks: dict[Symbol, int] = field(default_factory=dict)
    """The nodes that check what these symbols stand for."""

    def __post_init__(self) -> None:
        self.users = [False] * len(self.plan.nodes)
        for position, node in enumerate(self.plan.nodes):
            if node.symbol is not None:
                self.checks[node.symbol] = position
            if self.plan.is_varying(self.plan.symbols[position]):
                for operand in node.operands:
                    self.users[operand] = True

    # -- loops

    def elementwise(self) -> None:
        """Emit a nest without reductions."""
        with self.frames.inner():
            self.prepare(0)
            outer = self.plan.loops[:-1] if self.plan.vector is not None else self.plan.loops
            self.nested(outer, 1, self.innermost)

    def innermost(self) -> None:
        if self.plan.vector is None:
            self.visit(None, NO_SHIFTS)
            return
        axis = self.plan.vector
        start, stop = self.indices.scalar(axis.lower), self.indices.scalar(axis.upper)

        def turn(lanes: Lanes, copy: int, carried: list[Register]) -> list[Register]:
            self.visit(lanes, NO_SHIFTS)
            return carried

        self.vectors(start, stop, length_of(axis), self.plan.unroll, [], turn)

    def nested(self, axes: list[Axis], level: int, body: Callable[[], None]) -> None:
        """Emit scalar loops over `axes` around `body`; `level` counts the loops open inside the first one."""
        if not axes:
            body()
            return
        axis = axes[0]

        def turn(index: Register, carried: list[Register]) -> list[Register]:
            with self.frames.inner():
                self.indices.bind(axis.symbol, index)
                self.prepare(level)
                self.nested(axes[1:], level + 1, body)
            return carried

        control.loop(self.builder, self.indices.scalar(axis.lower), self.indices.scalar(axis.upper), 1, [], turn)

    def vectors(
        self,
        start: Register,
        stop: Register,
        length: int | None,
        unroll: int,
        carried: list[Register],
        turn: Callable[[Lanes, int, list[Register]], list[Register]],
    ) -> list[Register]:
        """Emit a loop over vectors from `start` below `stop`: unrolled whole ones, then single ones with a mask.

        `turn(lanes, copy, carried)` emits one vector and returns the carried registers after it. `length` is stop -
        start when that is a constant.
        """
        vector = self.plan.vector
        assert vector is not None
        lanes, step = self.plan.lanes, self.plan.lanes * unroll
        if length is not None and length < step:
            unroll, step = 1, lanes
        middle = self._middle(start, stop, length, step)

        def whole(index: Register, inside: list[Register]) -> list[Register]:
            with self.frames.inner():
                for copy in range(unroll):
                    inside = turn(Lanes(vector.symbol, lanes, index, None, copy * lanes), copy, inside)
            return inside

        def masked(index: Register, inside: list[Register]) -> list[Register]:
            with self.frames.inner():
                return turn(Lanes(vector.symbol, lanes, index, self.mask(index, stop)), 0, inside)

        carried = control.loop(self.builder, start, middle, step, carried, whole)
        if length is not None and length % step == 0:
            return carried
        return control.loop(self.builder, middle, stop, lanes, carried, masked)

    def _middle(self, start: Register, stop: Register, length: int | None, step: int) -> Register:
        """Return where the whole steps end."""
        if length is not None:
            if length % step == 0:
                return stop
            whole = constant(length // step * step, "i64")
            return whole if start.text == "0" else self.builder.binary("add", start, whole)
        size = self.builder.binary("sub", stop, start)
        rounded = self.builder.binary("and", size, constant(-step, "i64"))
        return self.builder.binary("add", start, rounded)

    def mask(self, index: Register, stop: Register) -> Register | None:
        """Return which lanes lie before `stop`."""
        lanes = self.plan.lanes
        if lanes == 1:
            return None
        left = self.builder.splat(self.builder.opaque(self.builder.binary("sub", stop, index)), lanes)
        steps = ", ".join(f"i64 {number}" for number in range(lanes))
        return self.builder.compare("icmp ult", Register(f"<{steps}>", "i64", lanes), left)

    # -- evaluation

    def prepare(self, level: int, shifts: Shifts = NO_SHIFTS) -> None:
        """Compute what is known once `level` loops are open and is the same in all lanes."""
        plan = self.plan
        for position, node in enumerate(plan.nodes):
            symbols = plan.symbols[position]
            if not plan.is_varying(symbols):
                if plan.level(symbols) == level:
                    register = self.value(position, None, shifts)
                    if self.users[position] and node.kind is not NodeKind.CONSTANT:
                        self.spread(position, register, shifts)
            elif node.access is not None:
                self.prepare_address(node.access, level, shifts)
        for task, _ in plan.outputs:
            if task.reduction is None:
                self.prepare_address(task.target, level, shifts)

    def prepare_address(self, access: Access, level: int, shifts: Shifts) -> None:
        """Compute the part of an address that does not depend on the vector axis."""
        vector = self.plan.vector
        if self.checks and any(not self.checks.keys().isdisjoint(affine.symbols(item)) for item in access.index):
            return
        found = self.memory.split(self.moved(access, shifts), vector.symbol) if vector is not None else None
        if found is not None and self.plan.level(affine.symbols(found[1])) == level:
            self.memory.base(access.array, Affine(0, found[1].terms))

    def moved(self, access: Access, shifts: Shifts) -> Access:
        if not shifts:
            return access
        index = tuple(shifted(item, shifts, self.ranges) for item in access.index)
        return Access(access.array, index, access.guarded, access.fill)

    def visit(self, lanes: Lanes | None, shifts: Shifts) -> None:
        """Evaluate every node for one vector (None: one element) and do the stores, in program order."""
        for step in self.plan.steps:
            if isinstance(step, Task):
                if step.reduction is None:
                    self.store(step, lanes, shifts)
            else:
                self.value(step, lanes, shifts)

    def store(self, task: Task, lanes: Lanes | None, shifts: Shifts) -> None:
        position = next(value for item, value in self.plan.outputs if item is task)
        register, target = self.value(position, lanes, shifts), self.moved(task.target, shifts)
        if lanes is None:
            self.memory.store_one(target, register)
        else:
            self.memory.store(target, register, lanes)

    def value(self, position: int, lanes: Lanes | None, shifts: Shifts) -> Register:
        """Return a node's register, emitting it unless an open loop has it; operands come before their users."""
        symbols = self.plan.symbols[position]
        varying = self.plan.is_varying(symbols)
        key = self._key(position, lanes if varying else None, shifts)
        known = self.frames.get(key)
        if known is None:
            known = self.emit(self.plan.nodes[position], lanes if varying else None, shifts)
            self.frames.set(key, known)
        return known

    def _key(self, position: int, lanes: Lanes | None, shifts: Shifts) -> object:
        symbols = self.plan.symbols[position]
        moved = tuple((symbol.name, amount) for symbol, amount in shifts.items() if symbol in symbols)
        return ("node", id(self.plan), position, lanes.shift if lanes is not None else None, moved)

    def spread(self, position: int, register: Register, shifts: Shifts) -> Register:
        """Return a register that is the same in all lanes as a vector."""
        if self.plan.lanes == 1:
            return register
        key = ("splat", self._key(position, None, shifts))
        known = self.frames.get(key)
        if known is None:
            known = self.builder.splat(register, self.plan.lanes)
            self.frames.set(key, known)
        return known

    def operand(self, position: int, lanes: Lanes | None, shifts: Shifts) -> Register:
        node, register = self.plan.nodes[position], self.value(position, lanes, shifts)
        if lanes is None or self.plan.is_varying(self.plan.symbols[position]):
            return register
        if node.kind is NodeKind.CONSTANT:
            assert not isinstance(node.value, Affine)
            return constant(node.value, register.element, lanes.count)
        return self.spread(position, register, shifts)

    def emit(self, node: Node, lanes: Lanes | None, shifts: Shifts) -> Register:
        if node.kind is NodeKind.CONSTANT:
            assert not isinstance(node.value, Affine)
            return constant(node.value, rules.element(node.dtype))
        if node.kind is NodeKind.INDEX:
            return checking.number(self, node, lanes, shifts)
        if node.kind is NodeKind.CHECKED:
            return checking.checked(self, node, lanes, shifts)
        if node.access is not None:
            access = checking.settled(self, self.moved(node.access, shifts), lanes, shifts)
            return self.memory.load_one(access) if lanes is None else self.memory.load(access, lanes)
        operands = tuple(self.operand(position, lanes, shifts) for position in node.operands)
        dtypes = tuple(self.plan.nodes[position].dtype for position in node.operands)
        return rules.elementwise(self.builder, node.name, operands, dtypes, node.dtype, dict(node.attributes))


def length_of(axis: Axis) -> int | None:
    """Return the number of elements of an axis when it is a constant."""
    length = affine.subtract(axis.upper, axis.lower)
    return max(0, length.constant) if length.is_constant else None
