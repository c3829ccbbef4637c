"""Pickling compiled kernels by source: the names of their tile functions, which the other process imports and
compiles.
"""

from __future__ import annotations

import functools
import importlib
import pickle
import sys
from typing import Any

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
    try:
        pickle.dumps(graph.dependencies)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UserError(
            "cannot-pickle", subject.location, kernel=subject.name, why=f"the mapping of a dependency: {error}"
        ) from None
    return places, graph.dependencies


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
    return TracedSubject(link_stages(stages, second))
