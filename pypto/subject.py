"""What a compiled kernel is made from: a graph of tile functions, or a module read from a `.pto` file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto.barriers import Barrier
from pypto.config import Options
from pypto.dependencies import AnyDependency, BroadcastDep, DependencyGraph, GatherDep
from pypto.graph import Graph, from_networkx, link_stages
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.nodes import Kernel, Module, Role
from pypto.registry import find_stage
from pypto.tile_function import TileFunction

if TYPE_CHECKING:
    from pypto.program import Program
    from pypto.tracing.views import View


@dataclass(frozen=True, slots=True)
class TracedSubject:
    """A graph of tile functions; traced anew for every signature."""

    graph: Graph

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def location(self) -> Location:
        return self.graph.stages[0].location

    @property
    def signature(self) -> inspect.Signature:
        return self.graph.signature

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.graph.outputs

    @property
    def functions(self) -> tuple[TileFunction, ...]:
        return self.graph.stages

    def program(self, views: Mapping[str, View], options: Options) -> Program:
        """Return the traced graph.

        A body may write parameters that its code does not show as written, through an alias or a helper. Tracing finds
        them; what the body means is then decided again, as it depends on the outputs.
        """
        from pypto.program import trace_graph

        graph = self.graph
        while True:
            program = trace_graph(graph, views, options)
            known = _with_written(graph, views, program.stage_kernels)
            if known == graph:
                return program
            graph = known


def _with_written(graph: Graph, views: Mapping[str, View], kernels: Sequence[Kernel]) -> Graph:
    """Return `graph` with every parameter that its traced stages write as an output."""
    stages = tuple(
        _with_outputs(stage, {parameter: _array(name, views) for parameter, name in names.items()}, kernel)
        for stage, names, kernel in zip(graph.stages, graph.names, kernels, strict=True)
    )
    return graph if stages == graph.stages else replace(graph, stages=stages)


def _array(name: str, views: Mapping[str, View]) -> str:
    """Return what the module calls an array; launch arguments that are one memory share a name."""
    return views[name].name if name in views else name


def _with_outputs(stage: TileFunction, arrays: Mapping[str, str], kernel: Kernel) -> TileFunction:
    written = {item.name for item in kernel.parameters if item.role is not Role.IN}
    found = written - {arrays[name] for name in stage.outputs if name in arrays}
    return stage.writing(parameter for parameter, array in arrays.items() if array in found)


@dataclass(frozen=True, slots=True)
class ModuleSubject:
    """A module that exists already, at any level."""

    module: Module
    location: Location

    @property
    def name(self) -> str:
        return self.module.name

    @property
    def signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(item.name, kind) for item in self.module.parameters])

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.module.parameters if item.role is not Role.IN)

    @property
    def functions(self) -> tuple[TileFunction, ...]:
        return ()

    def program(self, views: Mapping[str, View], options: Options) -> Program:
        from pypto.program import adapt_module

        return adapt_module(self.module, views, self.location)


Subject = TracedSubject | ModuleSubject


def read_subject(what: Any, dependencies: Sequence[AnyDependency] = (), *, unordered: bool = False) -> Subject:
    """Return the subject of `compile`: a tile function, a list of them, a DependencyGraph, a networkx graph, a module
    or a `.pto` path.

    `unordered`: stages may write one launch argument in an order that nothing fixes.

    Raises UserError ``cannot-compile``, ``pto-file``, those of the catalogue's groups `graph` and `text`.
    """
    if isinstance(getattr(what, "function", None), TileFunction):  # an autotuned kernel stands for its tile function
        what = what.function
    if isinstance(what, TileFunction):
        return TracedSubject(link_stages((what,), dependencies))
    if isinstance(what, Module):
        return ModuleSubject(what, Location(what.name, 0))
    if isinstance(what, (str, Path)):
        return _read_file(Path(what))
    if isinstance(what, (list, tuple)):
        for stage in what:
            if not isinstance(stage, TileFunction):
                raise UserError("cannot-compile", None, what=_described(stage))
        return TracedSubject(link_stages(what, dependencies, unordered))
    if isinstance(what, DependencyGraph):
        return TracedSubject(link_stages(stages_of(what), (*what.dependencies, *dependencies), unordered))
    if hasattr(what, "nodes") and hasattr(what, "edges"):
        stages, own = from_networkx(what)
        return TracedSubject(link_stages(stages, (*own, *dependencies), unordered))
    raise UserError("cannot-compile", None, what=_described(what))


def stages_of(graph: DependencyGraph) -> tuple[TileFunction, ...]:
    """Return the stages of a graph: those it was given, else those that its links name, in the order of mention.

    Raises UserError ``unknown-stage`` or ``ambiguous-stage``.
    """
    if graph.stages is not None:
        return graph.stages
    stages: dict[TileFunction, None] = {}
    for dependency in graph.dependencies:
        for name in _mentioned(dependency):
            stages[dependency.functions.get(name) or find_stage(name, repr(dependency))] = None
    return tuple(stages)


def _mentioned(dependency: AnyDependency) -> tuple[str, ...]:
    if isinstance(dependency, Barrier):
        return (*(group.stage for group in dependency.before), dependency.after.stage)
    if isinstance(dependency, BroadcastDep):
        return dependency.src_op, *dependency.dst_ops
    if isinstance(dependency, GatherDep):
        return *dependency.src_ops, dependency.dst_op
    return dependency.src_op, dependency.dst_op


def _described(what: object) -> str:
    name = getattr(what, "__name__", None)
    return f"{type(what).__name__} {name!r}" if isinstance(name, str) else f"an object of type {type(what).__name__}"


def _read_file(path: Path) -> ModuleSubject:
    from pypto.ir.bounds import check_bounds
    from pypto.ir.parser import parse_module
    from pypto.ir.verifier import verify_text

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise UserError("pto-file", None, path=str(path), why=why) from None
    module = parse_module(text, str(path))
    verify_text(module)
    check_bounds(module, str(path))
    return ModuleSubject(module, Location(str(path), 1))
