"""Giving the parameters or buffers of a kernel other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pypto.ir.nodes import For, If, Kernel, Load, Operation, Parameter, Role, Statement, Store, Value


def rename_parameters(kernel: Kernel, names: Mapping[str, str]) -> Kernel:
    """Return `kernel` with each parameter that `names` has called by its new name.

    Parameters that get one name are one array from then on, read and written in program order.
    """
    merged: dict[str, Parameter] = {}
    for item in kernel.parameters:
        name = names.get(item.name, item.name)
        role = item.role if name not in merged else _both(merged[name].role, item.role)
        merged[name] = replace(merged.get(name, item), name=name, role=role)
    return replace(kernel, parameters=tuple(merged.values()), body=_rename_body(kernel.body, names))


def _both(first: Role, second: Role) -> Role:
    return first if first is second else Role.INOUT


def _rename_body(body: tuple[Statement, ...], names: Mapping[str, str]) -> tuple[Statement, ...]:
    return tuple(_rename_statement(statement, names) for statement in body)


def _rename_statement(statement: Statement, names: Mapping[str, str]) -> Statement:
    if isinstance(statement, Load):
        return replace(statement, source=names.get(statement.source, statement.source))
    if isinstance(statement, Store):
        return replace(statement, target=names.get(statement.target, statement.target))
    if isinstance(statement, For):
        return replace(statement, body=_rename_body(statement.body, names))
    if isinstance(statement, If):
        then_body, else_body = _rename_body(statement.then_body, names), _rename_body(statement.else_body, names)
        return replace(statement, then_body=then_body, else_body=else_body)
    return statement


def rename_buffers(body: tuple[Statement, ...], names: Mapping[str, str]) -> tuple[Statement, ...]:
    """Return `body` with every value in the buffer that `names` has for its own."""
    return tuple(_in_buffers(statement, names) for statement in body)


def _in_buffers(statement: Statement, names: Mapping[str, str]) -> Statement:
    def moved(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(item if item.buffer is None else replace(item, buffer=names[item.buffer]) for item in values)

    if isinstance(statement, Load):
        return replace(statement, result=moved((statement.result,))[0])
    if isinstance(statement, Store):
        return replace(statement, value=moved((statement.value,))[0])
    if isinstance(statement, Operation):
        return replace(statement, operands=moved(statement.operands), results=moved(statement.results))
    if isinstance(statement, For):
        initial, carried = moved(statement.initial), moved(statement.carried)
        made = replace(statement, initial=initial, carried=carried, yielded=moved(statement.yielded))
        return replace(made, body=rename_buffers(statement.body, names), results=moved(statement.results))
    then_yielded, else_yielded = moved(statement.then_yielded), moved(statement.else_yielded)
    made_if = replace(statement, then_yielded=then_yielded, else_yielded=else_yielded)
    then_body, else_body = rename_buffers(statement.then_body, names), rename_buffers(statement.else_body, names)
    return replace(made_if, then_body=then_body, else_body=else_body, results=moved(statement.results))
