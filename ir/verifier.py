"""The verifier: what must hold for a module at its level, checked after tracing, after passes and after reading a file.

Each rule has an entry in the catalogue group `text`; docs/ir.md lists the rules of each level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pypto.ir.base.catalogue import CATALOGUE
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.ir.index import Symbol, symbols
from pypto.ir.nodes import (
    Buffer,
    For,
    GridAxis,
    Guard,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Parameter,
    Role,
    Space,
    Statement,
    Store,
    TileType,
    Value,
)
from pypto.ir.printer import print_statement, quote, type_text
from pypto.ir.verification.attributes import check_range
from pypto.ir.verification.barriers import check_barriers
from pypto.ir.verification.contents import check_contents
from pypto.ir.verification.cross_flags import check_cross_flags
from pypto.ir.verification.cube import check_cube
from pypto.ir.verification.levels import MEMORIES, Memory, check_addresses, check_buffers, check_flags
from pypto.ir.verification.operations import check_operation, check_region
from pypto.ir.verification.scope import Scope
from pypto.ir.verification.violation import Subject, Violation

COMPARISONS = ("<", "<=", "==", "!=")


class VerificationError(CompilerBug):
    """IR that breaks a rule: `rule` is its catalogue name; the message quotes the guilty statement."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__("verifier", what)
        self.rule = rule


def verify(module: Module, memories: dict[Space, Memory] | None = None) -> None:
    """Raise VerificationError unless `module` keeps every rule of its level. `memories` replaces dav-2201's sizes."""
    try:
        check(module, memories)
    except Violation as fault:
        message = CATALOGUE[fault.name].message.format(**fault.details)
        place = f" ({fault.location})" if fault.location.line else ""
        raise VerificationError(fault.name, f"{fault.name}: {message}{_quoted(fault.subject)}{place}") from None


def verify_text(module: Module, memories: dict[Space, Memory] | None = None) -> None:
    """Like `verify` for a module read from a file: raises UserError at the guilty line."""
    try:
        check(module, memories)
    except Violation as fault:
        raise UserError(fault.name, fault.location, **fault.details) from None


def _quoted(subject: Subject) -> str:
    if subject is None:
        return ""
    if isinstance(subject, Kernel | Parameter | Buffer):
        return f" in {type(subject).__name__.lower()} {quote(subject.name)}"
    if isinstance(subject, GridAxis | Guard):
        return f" at {subject.symbol}"
    try:
        return f" in `{print_statement(subject).splitlines()[0]}`"
    except (AttributeError, TypeError, ValueError):  # the statement is too wrong even to print
        return f" in {subject!r}"


def check(module: Module, memories: dict[Space, Memory] | None = None) -> None:
    """Raise Violation for the first rule that `module` breaks."""
    _check_distinct("duplicate-kernel", "kernel", module.kernels)
    arrays = module.parameters + module.intermediates
    _check_distinct("duplicate-parameter", "parameter", arrays)
    for item in arrays:
        _check_parameter(item)
    known = {item.name: item for item in arrays}
    free = extent_symbols(arrays)
    for kernel in module.kernels:
        _check_levels(module.kernels[0], kernel)
        _check_arguments(kernel, known)
        check_kernel(kernel, free, memories or MEMORIES)


def extent_symbols(parameters: Iterable[Parameter]) -> frozenset[Symbol]:
    """Return the symbols that occur in extents of parameters: known wherever the arrays are."""
    return frozenset(symbol for item in parameters for extent in item.type.shape for symbol in symbols(extent))


def _check_distinct(rule: str, word: str, subjects: Sequence[Kernel | Parameter]) -> None:
    counts = Counter(subject.name for subject in subjects)
    for subject in reversed(subjects):
        if counts[subject.name] > 1:
            raise Violation(rule, subject, **{word: subject.name})


def _check_levels(first: Kernel, kernel: Kernel) -> None:
    if kernel.level is not first.level:
        details = {"first": first.name, "second": kernel.name}
        details |= {"first_level": first.level.value, "second_level": kernel.level.value}
        raise Violation("mixed-levels", kernel, **details)


def _check_arguments(kernel: Kernel, known: dict[str, Parameter]) -> None:
    for item in kernel.parameters:
        outer = known.get(item.name)
        if outer is None:
            raise Violation("unknown-argument", item, kernel=kernel.name, parameter=item.name)
        if outer.type != item.type or outer.scalar != item.scalar:
            details = {"parameter": item.name, "inner": _describe(item), "outer": _describe(outer)}
            raise Violation("argument-type", item, kernel=kernel.name, **details)
        if outer.role is Role.IN and item.role is not Role.IN:
            details = {"parameter": item.name, "role": item.role.value}
            raise Violation("argument-role", item, kernel=kernel.name, **details)


def _describe(parameter: Parameter) -> str:
    return ("scalar " if parameter.scalar else "gm ") + type_text(parameter.type)


def _check_parameter(parameter: Parameter) -> None:
    if parameter.scalar and parameter.type.shape:
        what = f"of shape {type_text(parameter.type)}"
        raise Violation("scalar-parameter", parameter, parameter=parameter.name, what=what, dtype=parameter.type.dtype)
    if parameter.scalar and parameter.role is not Role.IN:
        what = f"an {parameter.role.value} parameter"
        raise Violation("scalar-parameter", parameter, parameter=parameter.name, what=what, dtype=parameter.type.dtype)


def check_kernel(kernel: Kernel, free: frozenset[Symbol], memories: dict[Space, Memory]) -> None:
    """Raise Violation for the first rule that `kernel` breaks; `free` are the symbols known outside it."""
    _check_distinct("duplicate-parameter", "parameter", kernel.parameters)
    buffers = check_buffers(kernel)
    indices = set(free | extent_symbols(kernel.parameters))
    scope = Scope(kernel, {item.name: item for item in kernel.parameters}, buffers, indices)
    for item in kernel.parameters:
        _check_parameter(item)
        scope.check_shape(item.type, item.name, item)
    for axis in kernel.grid:
        scope.check_extent(axis.extent, str(axis.symbol), axis)
        scope.check_new_symbol(axis.symbol, axis)
        scope.indices.add(axis.symbol)
    for guard in kernel.guards:
        scope.check_index(guard.symbol, guard)
        scope.check_index(guard.value, guard)
    _check_body(kernel.body, scope)
    if kernel.level.rank >= Level.BUFFERED.rank:
        check_cube(kernel, buffers)
        check_contents(kernel)
        check_barriers(kernel)
        check_flags(kernel)
        check_cross_flags(kernel)
    if kernel.level is Level.PLANNED:
        check_addresses(kernel, memories)


def _check_body(body: tuple[Statement, ...], scope: Scope) -> None:
    for statement in body:
        if isinstance(statement, Operation):
            check_operation(statement, scope)
        elif isinstance(statement, Load):
            _check_load(statement, scope)
        elif isinstance(statement, Store):
            _check_store(statement, scope)
        elif isinstance(statement, For):
            _check_loop(statement, scope)
        else:
            _check_branches(statement, scope)


def _check_load(load: Load, scope: Scope) -> None:
    source = scope.find_parameter(load.source, load)
    for item in load.region:
        scope.check_index(item.offset, load)
        scope.check_index(item.extent, load)
    check_region(load.region, source.type.shape, source.name, load, free=load.fill is not None)
    if load.fill is not None:
        check_range(load.fill, source.type.dtype, "fill", load)
    expected = TileType(source.type.dtype, tuple(item.extent for item in load.region))
    if load.result.type != expected:
        details = {"written": type_text(load.result.type), "inferred": type_text(expected)}
        raise Violation("result-type", load, **details)
    if source.role is Role.OUT and source.name not in scope.stored:
        raise Violation("load-from-output", load, parameter=source.name)
    scope.define(load.result, load)


def _check_store(store: Store, scope: Scope) -> None:
    target = scope.find_parameter(store.target, store)
    if target.role is Role.IN:
        raise Violation("store-to-input", store, parameter=target.name)
    scope.use(store.value, store)
    for item in store.region:
        scope.check_index(item.offset, store)
        scope.check_index(item.extent, store)
    check_region(store.region, target.type.shape, target.name, store, free=store.clip)
    expected = TileType(target.type.dtype, tuple(item.extent for item in store.region))
    if store.value.type != expected:
        details = {"type": type_text(store.value.type), "expected": type_text(expected)}
        raise Violation("stored-type", store, value=store.value, **details)
    scope.stored.add(target.name)


def _check_loop(loop: For, scope: Scope) -> None:
    if loop.step < 1:
        raise Violation("loop-step", loop, step=loop.step)
    scope.check_index(loop.start, loop)
    scope.check_index(loop.stop, loop)
    scope.check_new_symbol(loop.index, loop)
    for value in loop.initial:
        scope.use(value, loop)
    _check_carried(loop)
    with scope.body(index=loop.index):
        for value in loop.carried:
            scope.define(value, loop)
        _check_body(loop.body, scope)
        for value in loop.yielded:
            scope.use(value, loop)
    for value in loop.results:
        scope.define(value, loop)


def _check_carried(loop: For) -> None:
    counts = [len(item) for item in (loop.carried, loop.initial, loop.yielded, loop.results)]
    if len(set(counts)) > 1:
        names = ("carried", "initial", "yielded", "results")
        raise Violation("loop-carried", loop, **dict(zip(names, counts, strict=True)))
    for role, values in (("initial value", loop.initial), ("yielded value", loop.yielded), ("result", loop.results)):
        for carried, value in zip(loop.carried, values, strict=True):
            if value.type != carried.type:
                details = {
                    "role": role,
                    "value": value,
                    "type": type_text(carried.type),
                    "other": type_text(value.type),
                }
                raise Violation("loop-type", loop, carried=carried, **details)


def _check_branches(choice: If, scope: Scope) -> None:
    condition = choice.condition
    if condition.comparison not in COMPARISONS:
        raise Violation("unknown-comparison", choice, comparison=condition.comparison)
    scope.check_index(condition.left, choice)
    scope.check_index(condition.right, choice)
    before, after = set(scope.stored), []
    for name, body, yielded in (
        ("then", choice.then_body, choice.then_yielded),
        ("else", choice.else_body, choice.else_yielded),
    ):
        scope.stored = set(before)
        with scope.body():
            _check_body(body, scope)
            for value in yielded:
                scope.use(value, choice)
        _check_yielded(choice, name, yielded)
        after.append(scope.stored)
    scope.stored = after[0] | after[1]
    for value in choice.results:
        scope.define(value, choice)


def _check_yielded(choice: If, branch: str, yielded: tuple[Value, ...]) -> None:
    if len(yielded) != len(choice.results):
        counts = {"then_count": len(choice.then_yielded), "else_count": len(choice.else_yielded)}
        raise Violation("branch-count", choice, results=len(choice.results), **counts)
    for result, value in zip(choice.results, yielded, strict=True):
        if value.type != result.type:
            details = {"result": result, "type": type_text(result.type), "other": type_text(value.type)}
            raise Violation("branch-type", choice, branch=branch, **details)
