"""Two kernels as one: the second after the first, reading values instead of arrays that the first has stored."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from pypto.ir.base.locations import Location
from pypto.ir.dtypes import DType
from pypto.ir.index import Index, IndexOperation, Symbol, substitute
from pypto.ir.nodes import (
    Attribute,
    For,
    If,
    Kernel,
    Load,
    Operation,
    Parameter,
    Region,
    Role,
    Statement,
    Store,
    TileType,
    Value,
    walk,
    whole,
)
from pypto.ir.passes.rewriting import Rewriter, first_free_number
from pypto.ir.schedule import Schedule

LONGEST_NAME = 60
SCHEDULE = {item.name for item in fields(Schedule)}


def merge(first: Kernel, second: Kernel) -> Kernel | None:
    """Return one kernel (level tile) that does what `first` and then `second` do, or None where values cannot take the
    place of what `first` stores.

    Both have no grid, or grids of the same extents. Then blocks must keep to themselves: an array that one of the two
    writes is touched in one region by both.
    """
    if len(first.grid) != len(second.grid) or first.level is not second.level:
        return None
    if any(one.extent != other.extent for one, other in zip(first.grid, second.grid, strict=True)):
        return None
    second = kept_apart(second, first)
    stored = _stored(first, second)
    if stored is None or (first.grid and not _blocks_keep_apart(first, second)):
        return None
    return joined_parts(first, second, _Forwarder(first, second, stored).appended())


def joined_parts(first: Kernel, second: Kernel, body: tuple[Statement, ...]) -> Kernel:
    """Return a kernel that runs `body`, with the parameters, facts and schedule of two whose names are kept apart."""
    return replace(
        first,
        name=_joined_name(first.name, second.name),
        parameters=_parameters(first, second, body),
        body=body,
        guards=tuple(dict.fromkeys((*first.guards, *second.guards))),
        attributes=_attributes(first, second),
    )


def _joined_name(first: str, second: str) -> str:
    name = f"{first}_{second}"
    return name if len(name) <= LONGEST_NAME else f"{first[: LONGEST_NAME - 5].rstrip('_')}_more"


def _attributes(first: Kernel, second: Kernel) -> tuple[tuple[str, Attribute], ...]:
    one, other = dict(first.attributes), dict(second.attributes)
    schedule = _schedule(Schedule.of(first), Schedule.of(second))
    both = {name: value for name, value in {**other, **one}.items() if name not in SCHEDULE}
    if one.get("meaning") != other.get("meaning"):
        both["meaning"] = "whole"
    parts = [item.get("stages", (kernel.name,)) for item, kernel in ((one, first), (other, second))]
    both["stages"] = tuple(name for part in parts if isinstance(part, tuple) for name in part)
    waits = dict.fromkeys(item for attributes in (one, other) for item in _tuple(attributes.get("waits_for")))
    if waits:
        both["waits_for"] = tuple(waits)
    return tuple(sorted({**both, **schedule.attributes()}.items()))


def _tuple(value: Attribute) -> tuple[Attribute, ...]:
    return value if isinstance(value, tuple) else ()


def waits_for(kernel: Kernel) -> dict[str, bool]:
    """Return the stages that the user put a barrier behind, before `kernel`: by name, whether they wait there too."""
    found: dict[str, bool] = {}
    for item in _tuple(dict(kernel.attributes).get("waits_for")):
        if isinstance(item, tuple) and len(item) == 2:
            name, blocking = item
            found[str(name)] = found.get(str(name), False) or blocking is True
    return found


def _schedule(one: Schedule, other: Schedule) -> Schedule:
    """Return what two schedules agree on; where only one says anything, that counts."""
    agreed: dict[str, Any] = {}
    for name in SCHEDULE - {"declared"}:
        left, right = getattr(one, name), getattr(other, name)
        agreed[name] = left if right is None else right if left in (None, right) else None
    declared = dict.fromkeys((*(one.declared or ()), *(other.declared or ())))
    return Schedule(**agreed, declared=tuple(name for name in declared if agreed[name] is not None) or None)


# -- names


def kept_apart(kernel: Kernel, other: Kernel) -> Kernel:
    """Return `kernel` with the block ids of `other`, and no name of a value or loop that `other` has.

    The attribute ``independent`` names loops.
    """
    numbers = itertools.count(first_free_number(other))
    values = {value.name: str(next(numbers)) for value in _defined(kernel.body)}
    taken = {item.index.name for item in walk(other.body) if isinstance(item, For)}
    taken |= {axis.symbol.name for axis in other.grid}
    symbols: dict[Symbol, Symbol] = {
        own.symbol: theirs.symbol for own, theirs in zip(kernel.grid, other.grid, strict=True)
    }
    for item in walk(kernel.body):
        if isinstance(item, For):
            symbols[item.index] = _free(item.index.name, taken)
    renamer = Renamer(values, symbols)
    attributes = dict(kernel.attributes)
    loops = attributes.get("independent")
    if isinstance(loops, tuple):
        renamed = {old.name: new.name for old, new in symbols.items()}
        attributes["independent"] = tuple(renamed.get(str(name), name) for name in loops)
    body = renamer.of(kernel.body)
    return replace(kernel, grid=other.grid, body=body, attributes=tuple(sorted(attributes.items())))


def _free(name: str, taken: set[str]) -> Symbol:
    while name in taken:
        name += "_"
    taken.add(name)
    return Symbol(name)


def _defined(body: tuple[Statement, ...]) -> Iterator[Value]:
    for statement in walk(body):
        if isinstance(statement, Load):
            yield statement.result
        elif isinstance(statement, For):
            yield from statement.carried
            yield from statement.results
        elif isinstance(statement, (Operation, If)):
            yield from statement.results


@dataclass(frozen=True, slots=True)
class Renamer:
    """Gives values and symbols other names, wherever they stand."""

    values: Mapping[str, str]
    symbols: Mapping[Symbol, Index]

    def of(self, node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(self.of(item) for item in node)
        if isinstance(node, (Symbol, IndexOperation)):
            return substitute(node, self.symbols) if self.symbols else node
        if isinstance(node, Value):
            return Value(self.values[node.name], self.of(node.type), node.buffer)
        if isinstance(node, TileType):
            return TileType(node.dtype, self.of(node.shape))
        if isinstance(node, (Location, DType)) or not is_dataclass(node) or isinstance(node, type):
            return node
        return type(node)(*(self.of(getattr(node, field.name)) for field in fields(node)))


# -- what the second kernel may read as values


def accesses(body: Iterable[Statement]) -> Iterator[tuple[str, Load | Store]]:
    """Yield each array that is read or written, with the statement."""
    for statement in walk(tuple(body)):
        if isinstance(statement, Load):
            yield statement.source, statement
        elif isinstance(statement, Store):
            yield statement.target, statement


def _stored(first: Kernel, second: Kernel) -> dict[str, Store] | None:
    """Return the stores of `first` that the loads of `second` see the value of; None when one sees anything else.

    Such a store stands at the top of the body and is the only one to its array, and covers it, or the block's part.
    """
    stores: dict[str, list[Store]] = {}
    for name, statement in accesses(first.body):
        if isinstance(statement, Store):
            stores.setdefault(name, []).append(statement)
    top = {id(statement) for statement in first.body}
    shapes = {item.name: item.type for item in first.parameters}
    overwritten = _overwritten_before_loads(second)
    found: dict[str, Store] = {}
    for name, statement in accesses(second.body):
        if not isinstance(statement, Load) or name not in stores:
            continue
        store = stores[name][0]
        alone = len(stores[name]) == 1 and id(store) in top and not store.clip
        covers = bool(first.grid) or store.region == whole(shapes[name])
        if not alone or not covers or name in overwritten or not _can_forward(first, store, statement):
            return None
        found[name] = store
    return found


def _can_forward(first: Kernel, store: Store, load: Load) -> bool:
    if load.fill is not None:
        return False
    return store.region == load.region or not first.grid


def _overwritten_before_loads(kernel: Kernel) -> set[str]:
    """Return the arrays that some load reads after a store of the same kernel, or in a loop with one."""
    written: set[str] = set()
    found: set[str] = set()
    for statement in kernel.body:
        inner = list(accesses((statement,)))
        stored = {name for name, item in inner if isinstance(item, Store)}
        loaded = {name for name, item in inner if isinstance(item, Load)}
        found |= loaded & (written | stored)
        written |= stored
    return found


def _blocks_keep_apart(first: Kernel, second: Kernel) -> bool:
    """Return whether each array that one kernel writes and the other touches is touched in one region throughout."""
    regions: list[dict[str, set[Region]]] = []
    written: set[str] = set()
    for kernel in (first, second):
        own: dict[str, set[Region]] = {}
        for name, statement in accesses(kernel.body):
            own.setdefault(name, set()).add(statement.region)
            if isinstance(statement, Store):
                written.add(name)
        regions.append(own)
    shared = regions[0].keys() & regions[1].keys() & written
    return all(len(regions[0][name] | regions[1][name]) == 1 for name in shared)


class _Forwarder(Rewriter):
    """Copies the second kernel; loads of stored arrays become the values stored, or slices of them, and loads that the
    first kernel made too are not made again.
    """

    def __init__(self, first: Kernel, second: Kernel, stored: Mapping[str, Store]) -> None:
        super().__init__(second)
        self.first, self.stored = first, stored
        free = max(first_free_number(first), first_free_number(second))
        self.builder.numbers = itertools.count(free)
        written = {name for item in (first, second) for name, use in accesses(item.body) if isinstance(use, Store)}
        self.loaded = {
            (item.source, item.region, repr(item.fill)): item.result
            for item in first.body
            if isinstance(item, Load) and item.source not in written
        }

    def appended(self) -> tuple[Statement, ...]:
        return (*self.first.body, *self.run().body)

    def load(self, load: Load) -> None:
        known = self.loaded.get((load.source, load.region, repr(load.fill)))
        store = self.stored.get(load.source)
        if known is not None:
            self.values[load.result.name] = known
            return
        if store is None:
            self.builder.append(load)
            return
        value = store.value
        if store.region != load.region:
            ranges = tuple((item.offset, item.extent, item.step) for item in load.region)
            value = self.call("slice", value, ranges=ranges)
        self.values[load.result.name] = value


# -- parameters


def _parameters(first: Kernel, second: Kernel, body: Sequence[Statement]) -> tuple[Parameter, ...]:
    """Return the arrays and scalars of both; what is only written is no input any more."""
    read = {name for name, item in accesses(body) if isinstance(item, Load)}
    merged = {item.name: item for item in first.parameters}
    for item in second.parameters:
        before = merged.get(item.name)
        role = item.role if before is None else _role(before.role, item.role, item.name in read)
        merged[item.name] = replace(item if before is None else before, role=role)
    return tuple(merged.values())


def _role(first: Role, second: Role, is_read: bool) -> Role:
    if first is Role.IN and second is Role.IN:
        return Role.IN
    if Role.INOUT in (first, second):
        return Role.INOUT
    return Role.OUT if first is Role.OUT or not is_read else Role.INOUT
