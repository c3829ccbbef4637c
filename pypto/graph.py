"""The tile graph: stages, the links between them, and which arrays a launch passes.

Users see a `networkx.MultiDiGraph` (`Graph.to_networkx`); the compiler works on the plain tuples here. Node order is
program order, so everything printed is deterministic.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pypto.dependencies import Dependency
from pypto.ir.base.errors import UserError, nearest
from pypto.tile_function import TileFunction

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True, slots=True)
class Link:
    """Stage number `source` writes its parameter `source_buffer`, which stage `destination` reads as
    `destination_buffer`.
    """

    source: int
    source_buffer: str
    destination: int
    destination_buffer: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Stages in program order, their links, and the array that each parameter stands for.

    `names[i]` maps the parameters of stage i to names of the module: a launch argument or an intermediate.
    `signature` is that of a launch: the unlinked parameters in order of first appearance.
    """

    stages: tuple[TileFunction, ...]
    links: tuple[Link, ...]
    names: tuple[dict[str, str], ...]
    signature: inspect.Signature

    @property
    def name(self) -> str:
        return self.stages[0].name if len(self.stages) == 1 else "_".join(stage.name for stage in self.stages)

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(self.signature.parameters)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The launch arguments that some stage writes."""
        written = {
            names[parameter]
            for stage, names in zip(self.stages, self.names, strict=True)
            for parameter in stage.outputs
            if parameter in names
        }
        return tuple(name for name in self.arguments if name in written)

    def describe(self, link: Link) -> str:
        """Return a link in words, for messages."""
        source, destination = self.stages[link.source].name, self.stages[link.destination].name
        return f"{source}.{link.source_buffer} -> {destination}.{link.destination_buffer}"

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return a graph with one node per stage (attribute ``stage``) and one edge per link (``src_buffer``,
        ``dst_buffer``).
        """
        import networkx

        graph: networkx.MultiDiGraph = networkx.MultiDiGraph(name=self.name)
        for stage in self.stages:
            graph.add_node(stage.name, stage=stage)
        for link in self.links:
            graph.add_edge(
                self.stages[link.source].name,
                self.stages[link.destination].name,
                src_buffer=link.source_buffer,
                dst_buffer=link.destination_buffer,
                mapping="tile_idx",
            )
        return graph


def from_networkx(graph: Any) -> tuple[tuple[TileFunction, ...], tuple[Dependency, ...]]:
    """Return the stages and dependencies of a networkx graph.

    A node is a tile function, or has one as its attribute ``stage``. Edges carry ``src_buffer`` and ``dst_buffer``.
    Raises UserError ``not-a-stage``.
    """
    stages: dict[object, TileFunction] = {}
    for node, attributes in graph.nodes(data=True):
        stage = node if isinstance(node, TileFunction) else attributes.get("stage")
        if not isinstance(stage, TileFunction):
            raise UserError("not-a-stage", None, node=str(node))
        stages[node] = stage
    dependencies = [
        Dependency(
            stages[source],
            stages[destination],
            src_buffer=attributes.get("src_buffer"),
            dst_buffer=attributes.get("dst_buffer"),
            mapping=attributes.get("mapping"),
        )
        for source, destination, attributes in graph.edges(data=True)
    ]
    return tuple(stages.values()), tuple(dependencies)


def link_stages(stages: Sequence[TileFunction], dependencies: Sequence[Dependency] = ()) -> Graph:
    """Return the graph of `stages`: linked as `dependencies` say, or by equal parameter names when there are none.

    Raises UserError of the catalogue's group `graph`.
    """
    if not stages:
        raise UserError("empty-graph", None)
    _check_names(stages)
    if dependencies:
        links = [_resolve(stages, dependency) for dependency in dependencies]
    else:
        links = [link for number in range(len(stages)) for link in _links_by_name(stages, number)]
    _check_inputs(stages, links)
    order = _order(stages, links)
    return _assemble(tuple(stages[number] for number in order), tuple(_renumber(link, order) for link in links))


def _renumber(link: Link, order: list[int]) -> Link:
    return Link(order.index(link.source), link.source_buffer, order.index(link.destination), link.destination_buffer)


def _check_names(stages: Sequence[TileFunction]) -> None:
    seen: set[str] = set()
    for stage in stages:
        if stage.name in seen:
            raise UserError("duplicate-stage", stage.location, stage=stage.name)
        seen.add(stage.name)


def launch_parameters(stage: TileFunction) -> tuple[inspect.Parameter, ...]:
    """Return the parameters that a launch passes: all but the block id that the grid provides."""
    return tuple(item for item in stage.parameters if not (stage.uses_block_id and item.name == "tile_id"))


def _parameter_names(stage: TileFunction) -> tuple[str, ...]:
    return tuple(item.name for item in launch_parameters(stage))


# -- explicit links


def _resolve(stages: Sequence[TileFunction], dependency: Dependency) -> Link:
    source = _find(stages, dependency.src_op, dependency)
    destination = _find(stages, dependency.dst_op, dependency)
    source_buffer = _source_buffer(stages[source], dependency)
    return Link(source, source_buffer, destination, _destination_buffer(stages[destination], source_buffer, dependency))


def _find(stages: Sequence[TileFunction], name: str, dependency: Dependency) -> int:
    for number, stage in enumerate(stages):
        if name == stage.name:
            return number
    by_function = [number for number, stage in enumerate(stages) if stage.original.__name__ == name]
    if len(by_function) == 1:
        return by_function[0]
    hint = nearest(name, [stage.name for stage in stages])
    raise UserError("unknown-stage", None, link=repr(dependency), stage=name, hint=hint)


def _source_buffer(stage: TileFunction, dependency: Dependency) -> str:
    name = dependency.src_buffer
    if name is None:
        if len(stage.outputs) == 1:
            return stage.outputs[0]
        why = f"{stage.name!r} writes {', '.join(stage.outputs) or 'nothing'}"
        raise _unclear(dependency, "src_buffer", why, stage)
    _check_parameter(stage, name)
    if name not in stage.outputs:
        hint = nearest(name, stage.outputs) if stage.outputs else f"assign to it: `{name}[:] = ...`"
        raise UserError("not-an-output", stage.location, stage=stage.name, parameter=name, hint=hint)
    return name


def _destination_buffer(stage: TileFunction, source_buffer: str, dependency: Dependency) -> str:
    if dependency.dst_buffer is not None:
        _check_parameter(stage, dependency.dst_buffer)
        return dependency.dst_buffer
    if source_buffer in _parameter_names(stage):
        return source_buffer
    inputs = [name for name in _parameter_names(stage) if name not in stage.outputs]
    if len(inputs) == 1:
        return inputs[0]
    raise _unclear(dependency, "dst_buffer", f"{stage.name!r} reads {', '.join(inputs) or 'nothing'}", stage)


def _unclear(dependency: Dependency, which: str, why: str, stage: TileFunction) -> UserError:
    return UserError(
        "link-needs-buffer",
        stage.location,
        source=dependency.src_op,
        destination=dependency.dst_op,
        which=which,
        why=why,
    )


def _check_parameter(stage: TileFunction, name: str) -> None:
    names = _parameter_names(stage)
    if name not in names:
        hint = nearest(name, names)
        raise UserError("unknown-stage-parameter", stage.location, stage=stage.name, parameter=name, hint=hint)


def _check_inputs(stages: Sequence[TileFunction], links: Sequence[Link]) -> None:
    """Raise UserError ``linked-twice`` when two links end in one parameter."""
    seen: dict[tuple[int, str], Link] = {}
    for link in links:
        key = (link.destination, link.destination_buffer)
        if key in seen:
            stage = stages[link.destination]
            first, second = (f"{stages[item.source].name}.{item.source_buffer}" for item in (seen[key], link))
            raise UserError(
                "linked-twice",
                stage.location,
                parameter=link.destination_buffer,
                stage=stage.name,
                first=first,
                second=second,
            )
        seen[key] = link


# -- links by name


def _links_by_name(stages: Sequence[TileFunction], number: int) -> list[Link]:
    """Return the links into stage `number` from earlier stages that write a parameter of the same name."""
    stage, links = stages[number], []
    for name in _parameter_names(stage):
        producers = [source for source in range(number) if name in stages[source].outputs]
        if name in stage.outputs or not producers:
            continue
        if len(producers) > 1:
            names = ", ".join(stages[source].name for source in producers)
            raise UserError("ambiguous-link", stage.location, stage=stage.name, parameter=name, producers=names)
        links.append(Link(producers[0], name, number, name))
    return links


# -- order, names, signature


def _order(stages: Sequence[TileFunction], links: Sequence[Link]) -> list[int]:
    """Return the stages so that producers come before consumers, else in the order given; a cycle is a UserError."""
    order: list[int] = []
    while len(order) < len(stages):
        ready = [
            number
            for number in range(len(stages))
            if number not in order and all(link.source in order for link in links if link.destination == number)
        ]
        if not ready:
            raise _cycle_error(stages, links, order)
        order.append(ready[0])
    return order


def _cycle_error(stages: Sequence[TileFunction], links: Sequence[Link], order: list[int]) -> UserError:
    before = {link.destination: link.source for link in links if link.source not in order}
    number = next(number for number in range(len(stages)) if number not in order)
    path: list[int] = []
    while number not in path:
        path.append(number)
        number = before[number]
    cycle = [*path[path.index(number) :], number][::-1]
    names = " -> ".join(stages[item].name for item in cycle)
    return UserError("dependency-cycle", stages[number].location, cycle=names)


def _assemble(stages: tuple[TileFunction, ...], links: tuple[Link, ...]) -> Graph:
    linked = {(link.destination, link.destination_buffer): (link.source, link.source_buffer) for link in links}
    produced = set(linked.values())
    launch = [
        (number, item)
        for number, stage in enumerate(stages)
        for item in launch_parameters(stage)
        if (number, item.name) not in linked and (number, item.name) not in produced
    ]
    _check_outputs(stages, launch)
    taken = {item.name for _, item in launch}
    intermediates = _intermediate_names(stages, linked, produced, taken)
    names = tuple(
        {item.name: intermediates.get((number, item.name), item.name) for item in launch_parameters(stage)}
        for number, stage in enumerate(stages)
    )
    _check_connected(stages, names)
    return Graph(stages, links, names, _signature([item for _, item in launch]))


def _check_outputs(stages: tuple[TileFunction, ...], launch: list[tuple[int, inspect.Parameter]]) -> None:
    """Raise UserError ``output-twice`` when two stages write unlinked parameters of one name."""
    writers: dict[str, int] = {}
    for number, item in launch:
        if item.name not in stages[number].outputs:
            continue
        if item.name in writers:
            first, second = stages[writers[item.name]].name, stages[number].name
            raise UserError("output-twice", stages[number].location, first=first, second=second, parameter=item.name)
        writers[item.name] = number


Port = tuple[int, str]


def _intermediate_names(
    stages: tuple[TileFunction, ...], linked: dict[Port, Port], produced: set[Port], taken: set[str]
) -> dict[Port, str]:
    """Return the module's array name of each linked parameter: the producer's name for it, made unique."""
    names: dict[Port, str] = {}
    used = set(taken)
    for number, buffer in sorted(produced - set(linked)):
        name = buffer if buffer not in used else f"{stages[number].name}_{buffer}"
        while name in used:
            name += "_"
        used.add(name)
        names[number, buffer] = name
    for destination, source in sorted(linked.items()):
        root = source
        while root in linked:
            root = linked[root]
        names[destination] = names[root]
    return names


def _check_connected(stages: tuple[TileFunction, ...], names: tuple[dict[str, str], ...]) -> None:
    """Raise UserError ``unlinked-stage`` for a stage that shares no array with any other."""
    for number, stage in enumerate(stages):
        others = {name for other, item in enumerate(names) if other != number for name in item.values()}
        if len(stages) > 1 and not others & set(names[number].values()):
            raise UserError("unlinked-stage", stage.location, stage=stage.name)


def _signature(parameters: list[inspect.Parameter]) -> inspect.Signature:
    """Return the launch signature: equal names once, those without a default first, keyword-only ones last."""
    unique: dict[str, inspect.Parameter] = {}
    for item in parameters:
        if item.name not in unique:
            unique[item.name] = item
    return inspect.Signature(sorted(unique.values(), key=_rank))


def _rank(parameter: inspect.Parameter) -> tuple[int, bool]:
    return parameter.kind, parameter.default is not inspect.Parameter.empty and parameter.kind != parameter.KEYWORD_ONLY
