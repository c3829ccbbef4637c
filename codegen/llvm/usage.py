"""What happens to each tile value of a kernel: where it is used last, and whether it is worth keeping in memory.

Positions number the statements in program order. A value is *lazy* when it is evaluated inside its consumers' loops;
its last use is then the last use of its consumers. A use inside a loop or branch counts, for a value defined outside,
at the end of that structure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import cast

from pypto.ir.nodes import For, If, Kernel, Load, Operation, Statement, Store, Value, operands, regions, results
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE

Scope = tuple[int, ...]
Key = tuple[Scope, int, tuple[int, ...]]

KEEP_COST = 8.0
"""Operations per element from which a value shared by several loops is stored instead of evaluated again."""
KEEP_COST_ACROSS_LOOPS = 3.0
"""The same for a value defined before a `For` and used in its body, which would be evaluated in each turn."""
SPREAD_ELEMENTS = 1 << 15
"""Elements of a loop from which a costly row used for all of its rows is stored first."""
_COST_LIMIT = 1e6


@dataclass(slots=True)
class Usage:
    """`last`: position of the last use (absent: never used). `kept`: names of lazy values to store in local arrays."""

    keeps_shared: bool = True
    positions: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    scopes: dict[str, Scope] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    stages: dict[str, int] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    keys: dict[str, set[Key]] = field(default_factory=dict)

    def position(self, statement: Statement) -> int:
        return self.positions[id(statement)]

    def end(self, statement: Statement) -> int:
        """Return the last position inside a loop or branch."""
        return self.ends[id(statement)]


def analyse(kernel: Kernel, keeps_shared: bool = True) -> Usage:
    """Return the usage of a kernel's values; without `keeps_shared` no value is worth keeping."""
    usage = Usage(keeps_shared)
    _number(kernel.body, (), usage, 0)
    _backward(kernel.body, (), usage)
    return usage


def is_lazy(statement: Statement) -> bool:
    """True for statements whose result is evaluated where it is used."""
    if isinstance(statement, Load):
        return True
    if not isinstance(statement, Operation):
        return False
    if statement.name == "gather":
        return True
    return TABLE[statement.name].category in (Category.ELEMENTWISE, Category.VIEW, Category.CONSTANT)


def elements(value: Value) -> int:
    return math.prod(_numbers(value))


def _numbers(value: Value) -> tuple[int, ...]:
    """Return a shape; kernels are specialised before code is made for them, so extents are numbers."""
    return cast("tuple[int, ...]", value.shape)


def _number(body: tuple[Statement, ...], scope: Scope, usage: Usage, position: int) -> int:
    for statement in body:
        usage.positions[id(statement)] = position
        if isinstance(statement, For):
            usage.scopes.update((value.name, (*scope, id(statement))) for value in statement.carried)
            usage.stages.update((value.name, 0) for value in statement.carried)
        _describe(statement, scope, usage)
        position += 1
        for number, region in enumerate(regions(statement)):
            inner = (*scope, id(statement) if number == 0 else -id(statement))
            position = _number(region, inner, usage, position)
        usage.ends[id(statement)] = position
        usage.ends[-id(statement)] = position
        position += 1
    return position


def _describe(statement: Statement, scope: Scope, usage: Usage) -> None:
    """Record scope, stage (reductions before it) and cost (operations per element when evaluated) of the results."""
    values = statement.operands if isinstance(statement, Operation) else ()
    stage = max((usage.stages.get(value.name, 0) for value in values), default=0)
    for value in results(statement):
        usage.scopes[value.name] = scope
        usage.stages[value.name] = stage if is_lazy(statement) else stage + 1
        usage.costs[value.name] = _cost(statement, value, values, usage) if is_lazy(statement) else 0.0


def _cost(statement: Statement, value: Value, values: tuple[Value, ...], usage: Usage) -> float:
    if not isinstance(statement, Operation):
        return 0.0
    total = TABLE[statement.name].cost.flops
    size = max(1, elements(value))
    for operand in values:
        total += usage.costs.get(operand.name, 0.0) * min(1.0, elements(operand) / size)
    return min(total, _COST_LIMIT)


def _backward(body: tuple[Statement, ...], scope: Scope, usage: Usage) -> None:
    for statement in reversed(body):
        if isinstance(statement, (For, If)):
            _backward_region(statement, scope, usage)
        elif not isinstance(statement, Store) and is_lazy(statement):
            _backward_lazy(statement, scope, usage)
        elif isinstance(statement, Store) or any(value.name in usage.last for value in results(statement)):
            for value in operands(statement):
                key = _key(statement, value, scope, usage)
                _use(value, usage.position(statement), key, scope, usage)
                if _walks_twice(statement):
                    _use(value, usage.position(statement), (key[0], key[1] + 1, key[2]), scope, usage)


def _walks_twice(statement: Statement) -> bool:
    """True for the position of an extreme: first the extreme is found, then its position."""
    return isinstance(statement, Operation) and TABLE[statement.name].category is Category.ARGUMENT_REDUCTION


def _backward_region(statement: For | If, scope: Scope, usage: Usage) -> None:
    yields = (statement.yielded,) if isinstance(statement, For) else (statement.then_yielded, statement.else_yielded)
    for number, (region, values) in enumerate(zip(regions(statement), yields, strict=True)):
        inner = (*scope, id(statement) if number == 0 else -id(statement))
        for value in values:
            key = (inner, usage.stages.get(value.name, 0), _shape(value))
            _use(value, usage.end(statement), key, inner, usage)
        _backward(region, inner, usage)
    if isinstance(statement, For):
        for value in statement.initial:
            _use(value, usage.position(statement), _key(statement, value, scope, usage), scope, usage)


def _backward_lazy(statement: Statement, scope: Scope, usage: Usage) -> None:
    (value,) = results(statement)
    if value.name not in usage.last:
        return
    keys = usage.keys[value.name]
    if usage.keeps_shared and _worth_keeping(value, keys, scope, usage):
        usage.kept.add(value.name)
        keys = {(scope, usage.stages[value.name], _shape(value))}
    last = usage.last[value.name]
    if isinstance(statement, Operation):
        for operand in statement.operands:
            for key in keys:
                _use(operand, last, key, scope, usage)


def _worth_keeping(value: Value, keys: set[Key], scope: Scope, usage: Usage) -> bool:
    cost = usage.costs[value.name]
    if cost >= KEEP_COST and (len(keys) > 1 or _is_spread(value, keys)):
        return True
    return cost >= KEEP_COST_ACROSS_LOOPS and any(key[0] != scope for key in keys)


def _is_spread(value: Value, keys: set[Key]) -> bool:
    """True when a row is used for many rows, which would compute it again for each; a column is computed once a row."""
    shape = _numbers(value)
    if not shape or shape[-1] == 1:
        return False
    most = max(math.prod(key[2]) for key in keys)
    return most >= max(SPREAD_ELEMENTS, 8 * elements(value))


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(extent for extent in _numbers(value) if extent != 1)


def _key(statement: Statement, value: Value, scope: Scope, usage: Usage) -> Key:
    """Return what tells the loop that `statement` becomes from others: same key, likely the same loop."""
    return scope, usage.stages.get(value.name, 0), _shape(value)


def _use(value: Value, position: int, key: Key, scope: Scope, usage: Usage) -> None:
    """Record a use at `position` in `scope`, seen from where `value` is defined."""
    home = usage.scopes.get(value.name, scope)
    common = 0
    while common < min(len(home), len(scope)) and home[common] == scope[common]:
        common += 1
    if common < len(scope):
        position = max(position, usage.ends[scope[common]])
    usage.last[value.name] = max(usage.last.get(value.name, -1), position)
    usage.keys.setdefault(value.name, set()).add(key)
