"""Giving the parameters of a kernel other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pypto.ir.nodes import For, If, Kernel, Load, Parameter, Role, Statement, Store


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
