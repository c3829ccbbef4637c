"""Pickling compiled kernels by source: the names of their tile functions, which the other process imports and
compiles.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

from pypto.dependencies import Dependency
from pypto.graph import link_stages
from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Module
from pypto.subject import ModuleSubject, Subject, TracedSubject
from pypto.tile_function import TileFunction

Place = tuple[str, str]


def describe_subject(subject: Subject) -> Any:
    """Return a picklable description of what a kernel is made from; raises UserError ``cannot-pickle``."""
    if isinstance(subject, ModuleSubject):
        return subject.module, subject.location
    graph = subject.graph
    places = tuple(place(stage, subject.name) for stage in graph.stages)
    links = tuple((link.source, link.source_buffer, link.destination, link.destination_buffer) for link in graph.links)
    return places, links


def place(stage: TileFunction, kernel: str) -> Place:
    """Return module and qualified name of a tile function that can be imported by them."""
    module, name = stage.original.__module__, stage.original.__qualname__
    try:
        found = find((module, name))
    except (ImportError, AttributeError):
        found = None
    if found is not stage:
        why = f"tile function {name} cannot be imported from module {module}"
        raise UserError("cannot-pickle", stage.location, kernel=kernel, why=why)
    return module, name


def find(place: Place) -> Any:
    """Return what `place` said, after an import of its module."""
    module, name = place
    home = sys.modules.get(module) or importlib.import_module(module)
    return functools.reduce(getattr, name.split("."), home)


def find_subject(description: Any) -> Subject:
    """Return the subject that `describe_subject` described."""
    first, second = description
    if isinstance(first, Module):
        return ModuleSubject(first, second)
    stages = tuple(find(place) for place in first)
    links = [Dependency(stages[a], stages[b], src_buffer=out, dst_buffer=into) for a, out, b, into in second]
    return TracedSubject(link_stages(stages, links))
