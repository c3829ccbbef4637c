"""The tile graph: stages, the links between them, and which arrays a launch passes.

Users see a `networkx.MultiDiGraph` (`Graph.to_networkx`); the compiler works on the plain tuples here. Node order is
program order, so everything printed is deterministic.
"""

from __future__ import annotations

import heapq
import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pypto.dependencies import AnyDependency, Dependency, GatherDep
from pypto.ir.base.errors import UserError
from pypto.links import Link, Pick, Port, Wait, launch_parameters, links_by_name, resolve, resolve_barriers
from pypto.never_read import never_read
from pypto.read_first import read_first
from pypto.tile_function import TileFunction

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True, slots=True)
class Join:
    """An array that is put together for one parameter: tiles of `sources`, or all of them combined.

    `name` is the array's name in the module. `reduction` combines the sources; without, destination tile t is
    ``picks[t]``: a position in `sources` and a tile of it. With neither, it is a copy of the only source.
    """

    destination: int
    buffer: str
    sources: tuple[Port, ...]
    name: str
    reduction: str | None = None
    picks: tuple[Pick, ...] | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Stages in program order, their links, and the array that each parameter stands for.

    `names[i]` maps the parameters of stage i to names of the module: a launch argument or an intermediate.
    `signature` is that of a launch: the unlinked parameters in order of first appearance. `joins` are the arrays that
    are put together before a stage runs; `dependencies` is what the user asked for, `waits` its barriers.
    """

    stages: tuple[TileFunction, ...]
    links: tuple[Link, ...]
    names: tuple[dict[str, str], ...]
    signature: inspect.Signature
    joins: tuple[Join, ...] = ()
    dependencies: tuple[AnyDependency, ...] = ()
    waits: tuple[Wait, ...] = ()

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
        ``dst_buffer``; ``mapping``: "tile_idx" or a dict from destination tile to source tile; ``reduction``).
        """
        import networkx

        graph: networkx.MultiDiGraph = networkx.MultiDiGraph(name=self.name)
        for stage in self.stages:
            graph.add_node(stage.name, stage=stage)
        for number, link in enumerate(self.links):
            graph.add_edge(
                self.stages[link.source].name,
                self.stages[link.destination].name,
                src_buffer=link.source_buffer,
                dst_buffer=link.destination_buffer,
                mapping="tile_idx" if link.picks is None else dict(link.picks),
                reduction=link.reduction,
                number=number,
            )
        return graph


def from_networkx(graph: Any) -> tuple[tuple[TileFunction, ...], tuple[AnyDependency, ...]]:
    """Return the stages and dependencies of a networkx graph.

    A node is a tile function, or has one as its attribute ``stage``. Edges carry ``src_buffer``, ``dst_buffer``,
    ``src_tile_idx``, ``dst_tile_idx``, ``mapping`` and ``reduction`` (edges into one parameter with a reduction are
    one gather). Raises UserError ``not-a-stage``.
    """
    stages: dict[object, TileFunction] = {}
    for node, attributes in graph.nodes(data=True):
        stage = node if isinstance(node, TileFunction) else attributes.get("stage")
        if not isinstance(stage, TileFunction):
            raise UserError("not-a-stage", None, node=str(node))
        stages[node] = stage
    edges = sorted(graph.edges(data=True), key=lambda edge: edge[2].get("number", len(graph.edges)))
    gathers: dict[tuple[object, object], list[tuple[TileFunction, dict[str, Any]]]] = {}
    dependencies: list[AnyDependency] = []
    for source, destination, attributes in edges:
        if attributes.get("reduction") is None:
            dependencies.append(_edge(stages[source], stages[destination], attributes))
        else:
            key = destination, attributes.get("dst_buffer")
            gathers.setdefault(key, []).append((stages[source], attributes))
    dependencies += [_gather(stages[key[0]], members) for key, members in gathers.items()]
    return tuple(stages.values()), tuple(dependencies)


def _edge(source: TileFunction, destination: TileFunction, attributes: Mapping[str, Any]) -> Dependency:
    mapping, tiles = attributes.get("mapping"), attributes.get("dst_tile_idx", "*")
    if isinstance(mapping, Mapping):
        tiles, mapping = (min(mapping), max(mapping)), mapping.get
    return Dependency(
        source,
        destination,
        attributes.get("src_tile_idx", "*"),
        tiles,
        src_buffer=attributes.get("src_buffer"),
        dst_buffer=attributes.get("dst_buffer"),
        mapping=mapping,
    )


def _gather(destination: TileFunction, members: Sequence[tuple[TileFunction, Mapping[str, Any]]]) -> GatherDep:
    names = {attributes.get("src_buffer") for _, attributes in members}
    name = names.pop() if len(names) == 1 else None
    return GatherDep([source for source, _ in members], destination, members[0][1]["reduction"], name)


def link_stages(
    stages: Sequence[TileFunction], dependencies: Sequence[AnyDependency] = (), unordered: bool = False
) -> Graph:
    """Return the graph of `stages`: linked as `dependencies` say, or by equal parameter names when there are none.

    With `unordered`, stages may write one launch argument without a barrier between them.

    Raises UserError of the catalogue's group `graph`.
    """
    if not stages:
        raise UserError("empty-graph", None)
    _check_names(stages)
    waits = resolve_barriers(stages, dependencies)
    links = resolve(stages, dependencies)
    if not links:
        links = links_by_name(stages)
    order = _order(stages, links, waits)
    place = {number: position for position, number in enumerate(order)}
    moved = [replace(link, source=place[link.source], destination=place[link.destination]) for link in links]
    graph = _assemble(
        tuple(stages[number] for number in order), tuple(moved), [_moved(wait, place) for wait in waits], unordered
    )
    _check_read(graph)
    return replace(graph, dependencies=tuple(dependencies))


def _check_read(graph: Graph) -> None:
    """Raise UserError ``consumer-overwrites`` for a link into a parameter that its stage surely never reads.

    Tracing finds the others.
    """
    for link in graph.links:
        stage = graph.stages[link.destination]
        parameter = link.destination_buffer
        if parameter in stage.outputs and parameter in never_read(stage.original):
            described = graph.describe(link)
            raise UserError(
                "consumer-overwrites", stage.location, link=described, parameter=parameter, stage=stage.name
            )


def _moved(wait: Wait, place: Mapping[int, int]) -> Wait:
    before = tuple((place[number], tiles) for number, tiles in wait.before)
    return replace(wait, before=before, after=(place[wait.after[0]], wait.after[1]))


def _check_names(stages: Sequence[TileFunction]) -> None:
    seen: set[str] = set()
    for stage in stages:
        if stage.name in seen:
            raise UserError("duplicate-stage", stage.location, stage=stage.name)
        seen.add(stage.name)


# -- order, names, signature


def _order(stages: Sequence[TileFunction], links: Sequence[Link], waits: Sequence[Wait]) -> list[int]:
    """Return the stages so that those waited for come before those that wait, else in the order given.

    Raises UserError ``dependency-cycle``, or ``barrier-deadlock`` when a barrier is part of the cycle.
    """
    edges = [(link.source, link.destination) for link in links]
    edges += [(number, wait.after[0]) for wait in waits for number, _ in wait.before]
    waiting = [0] * len(stages)
    consumers: dict[int, list[int]] = {}
    for source, destination in edges:
        waiting[destination] += 1
        consumers.setdefault(source, []).append(destination)
    ready = [number for number, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for consumer in consumers.get(number, ()):
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heapq.heappush(ready, consumer)
    if len(order) < len(stages):
        raise _cycle_error(stages, links, waits, set(order))
    return order


def _cycle_error(
    stages: Sequence[TileFunction], links: Sequence[Link], waits: Sequence[Wait], order: set[int]
) -> UserError:
    before: dict[int, tuple[int, str]] = {}
    for position, wait in enumerate(waits):
        for number, _ in wait.before:
            if number not in order:
                before[wait.after[0]] = number, f"barrier {position} -> "
    before.update({link.destination: (link.source, "") for link in links if link.source not in order})
    number = next(number for number in range(len(stages)) if number not in order)
    path: list[int] = []
    while number not in path:
        path.append(number)
        number = before[number][0]
    cycle = path[path.index(number) :][::-1]
    names = stages[cycle[-1]].name
    for item in cycle:
        names += f" -> {before[item][1]}{stages[item].name}"
    name = "barrier-deadlock" if any(before[item][1] for item in cycle) else "dependency-cycle"
    return UserError(name, stages[number].location, cycle=names)


def _assemble(
    stages: tuple[TileFunction, ...], links: tuple[Link, ...], waits: Sequence[Wait], unordered: bool
) -> Graph:
    produced = {link.source_port for link in links}
    linked = {link.destination_port for link in links}
    launch = [
        (number, item)
        for number, stage in enumerate(stages)
        for item in launch_parameters(stage)
        if (number, item.name) not in linked
        and ((number, item.name) not in produced or item.name in _in_and_out(stage))
    ]
    if not unordered:
        _check_outputs(stages, launch, _successors(links, waits))
    joined = _joined_ports(stages, links)
    arrays = _array_names(stages, links, joined, {(number, item.name) for number, item in launch})
    names = tuple(
        {item.name: arrays.get((number, item.name), item.name) for item in launch_parameters(stage)}
        for number, stage in enumerate(stages)
    )
    _check_connected(stages, names, links, waits)
    joins = tuple(_join(port, members, arrays[port]) for port, members in sorted(joined.items()))
    return Graph(stages, links, names, _signature([item for _, item in launch]), joins, waits=tuple(waits))


def _in_and_out(stage: TileFunction) -> frozenset[str]:
    """Return the outputs that a stage surely changes from what they held before: launch arguments even when linked."""
    return read_first(stage.original) & frozenset(stage.outputs)


def _joined_ports(stages: Sequence[TileFunction], links: Iterable[Link]) -> dict[Port, list[Link]]:
    """Return the links into each parameter that needs an array of its own.

    Besides tiles and gathers that is one that its stage changes in place while other stages read it as it was.
    """
    uses: dict[Port, int] = {}
    incoming: dict[Port, list[Link]] = {}
    for link in links:
        uses[link.source_port] = uses.get(link.source_port, 0) + 1
        incoming.setdefault(link.destination_port, []).append(link)
    return {
        port: members
        for port, members in incoming.items()
        if members[0].picks is not None
        or members[0].reduction is not None
        or (port[1] in stages[port[0]].outputs and uses[members[0].source_port] > 1)
    }


def _join(port: Port, members: Sequence[Link], name: str) -> Join:
    sources = tuple(link.source_port for link in members)
    picks: tuple[Pick, ...] | None = None
    if members[0].picks is not None:
        chosen = {tile: (position, read) for position, link in enumerate(members) for tile, read in link.picks or ()}
        picks = tuple(chosen[tile] for tile in sorted(chosen))
    return Join(*port, sources, name, members[0].reduction, picks)


def _successors(links: Iterable[Link], waits: Iterable[Wait]) -> dict[int, set[int]]:
    """Return the stages that wait for each stage."""
    after: dict[int, set[int]] = {}
    for link in links:
        after.setdefault(link.source, set()).add(link.destination)
    for wait in waits:
        for number, _ in wait.before:
            after.setdefault(number, set()).add(wait.after[0])
    return after


def _leads_to(after: Mapping[int, set[int]], first: int, second: int) -> bool:
    """Return whether stage `second` waits for `first`, directly or through others."""
    seen, pending = {first}, [first]
    while pending:
        following = {number for number in after.get(pending.pop(), ()) if number <= second} - seen
        seen |= following
        pending += following
    return second in seen


def _check_outputs(
    stages: tuple[TileFunction, ...], launch: list[tuple[int, inspect.Parameter]], after: Mapping[int, set[int]]
) -> None:
    """Raise UserError ``output-twice`` when two stages write unlinked parameters of one name and nothing orders
    them.
    """
    writers: dict[str, int] = {}
    for number, item in launch:
        if item.name not in stages[number].outputs:
            continue
        before = writers.get(item.name)
        if before is not None and not _leads_to(after, before, number):
            first, second = stages[before].name, stages[number].name
            raise UserError("output-twice", stages[number].location, first=first, second=second, parameter=item.name)
        writers[item.name] = number


def _array_names(
    stages: tuple[TileFunction, ...], links: Iterable[Link], joined: Mapping[Port, object], launch: set[Port]
) -> dict[Port, str]:
    """Return the module's array of each linked parameter: the producer's name for it, made unique.

    A parameter that is handed on as it is has its producer's array; one that is joined has an array of its own.
    """
    sources = {link.destination_port: link.source_port for link in links}
    names: dict[Port, str] = {}
    used = {name for _, name in launch}
    for port in sorted({link.source_port for link in links} - set(sources)):
        names[port] = port[1] if port in launch else _unused(port[1], stages[port[0]].name, used)
    for port in sorted(sources):
        names[port] = _unused(port[1], stages[port[0]].name, used) if port in joined else names[sources[port]]
    return names


def _unused(buffer: str, stage: str, used: set[str]) -> str:
    name = buffer if buffer not in used else f"{stage}_{buffer}"
    while name in used:
        name += "_"
    used.add(name)
    return name


def _check_connected(
    stages: tuple[TileFunction, ...], names: tuple[dict[str, str], ...], links: Iterable[Link], waits: Iterable[Wait]
) -> None:
    """Raise UserError ``unlinked-stage`` for a stage that shares no array with any other and has no barrier."""
    linked = {number for link in links for number in (link.source, link.destination)}
    linked |= {number for wait in waits for number, _ in (*wait.before, wait.after)}
    users = Counter(name for item in names for name in set(item.values()))
    for number, stage in enumerate(stages):
        alone = number not in linked and all(users[name] == 1 for name in names[number].values())
        if len(stages) > 1 and alone:
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
