"""Replacing symbolic extents of a module by numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pypto.ir.base.locations import Location
from pypto.ir.dtypes import DType
from pypto.ir.index import Index, IndexOperation, Symbol, substitute
from pypto.ir.nodes import Module


def specialise(module: Module, values: Mapping[Symbol, Index]) -> Module:
    """Return `module` with every symbol that `values` names replaced, in types, regions, attributes and loop bounds."""
    if not values:
        return module
    result = substituted(module, values)
    assert isinstance(result, Module)
    return result


def substituted(node: Any, values: Mapping[Symbol, Index]) -> Any:
    """Return a node, or a tuple of them, with the symbols of `values` replaced wherever they stand in it."""
    if isinstance(node, (Symbol, IndexOperation)):
        return substitute(node, values)
    if isinstance(node, tuple):
        return tuple(substituted(item, values) for item in node)
    if isinstance(node, (Location, DType)) or not is_dataclass(node) or isinstance(node, type):
        return node
    changed = {field.name: substituted(getattr(node, field.name), values) for field in fields(node)}
    return replace(node, **changed)
