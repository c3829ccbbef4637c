"""From dependencies as users write them to links between numbered stages.

Every name and tile number is checked here; what is left are `Link` records, grouped by the parameter they end in.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from pypto.barriers import Barrier, Group
from pypto.caller import placed_at
from pypto.dependencies import AnyDependency, BroadcastDep, Dependency, GatherDep
from pypto.ir.base.errors import UserError, nearest
from pypto.schedule import declared
from pypto.tile_function import TileFunction
from pypto.tile_indices import TILE, TileRange, apply_mapping, show_range
from pypto.tile_indices import Mapping as TileMapping

Port = tuple[int, str]
"""A stage's number and one of its parameters."""

Pick = tuple[int, int]
"""A tile of the destination and the tile of the source that it reads."""


@dataclass(frozen=True, slots=True)
class Link:
    """Stage number `source` writes its parameter `source_buffer`, which stage `destination` reads as
    `destination_buffer`.

    `picks`: which tile of the source each tile of the destination reads; None when the array is handed on as it is.
    `reduction`: how a gather combines this link with the others that end in the same parameter.
    """

    source: int
    source_buffer: str
    destination: int
    destination_buffer: str
    picks: tuple[Pick, ...] | None = None
    reduction: str | None = None

    @property
    def source_port(self) -> Port:
        return self.source, self.source_buffer

    @property
    def destination_port(self) -> Port:
        return self.destination, self.destination_buffer


@dataclass(frozen=True, slots=True)
class Wait:
    """A resolved barrier: `before` and `after` are stage numbers with their tiles; `picks` pairs single tiles (tile of
    `after`, tile of the only stage in `before`), None when all of `after` wait for all of `before`.
    """

    before: tuple[tuple[int, range], ...]
    after: tuple[int, range]
    picks: tuple[Pick, ...] | None
    barrier: Barrier


def launch_parameters(stage: TileFunction) -> tuple[inspect.Parameter, ...]:
    """Return the parameters that a launch passes: all but the block id that the grid provides."""
    return tuple(item for item in stage.parameters if not (stage.uses_block_id and item.name == "tile_id"))


def tile_count(stage: TileFunction) -> int | None:
    """Return the number of tiles that a stage's decorator gives."""
    return declared(stage)[1]


def resolve(stages: Sequence[TileFunction], dependencies: Sequence[AnyDependency]) -> list[Link]:
    """Return the links that `dependencies` ask for, in their order.

    Raises UserError of the catalogue's group `graph`.
    """
    resolver = _Resolver(stages, {stage.name: number for number, stage in enumerate(stages)})
    links: list[Link] = []
    for dependency in dependencies:
        if isinstance(dependency, Barrier):
            continue
        found = resolver.links(dependency)
        _check_ends(stages, links, found, resolver)
        links += found
    _check_covered(stages, resolver.incoming)
    return links


def resolve_barriers(stages: Sequence[TileFunction], dependencies: Sequence[AnyDependency]) -> list[Wait]:
    """Return the barriers among `dependencies`, their stages and tiles checked."""
    resolver = _Resolver(stages, {stage.name: number for number, stage in enumerate(stages)})
    return [resolver.wait(item) for item in dependencies if isinstance(item, Barrier)]


@dataclass(slots=True)
class _Resolver:
    stages: Sequence[TileFunction]
    numbers: Mapping[str, int]
    incoming: dict[Port, list[Link]] = field(default_factory=dict)

    def links(self, dependency: AnyDependency) -> list[Link]:
        with placed_at(dependency.location):
            return self.found(dependency)

    def found(self, dependency: AnyDependency) -> list[Link]:
        if isinstance(dependency, Dependency):
            return [self.link(dependency)]
        if isinstance(dependency, GatherDep):
            return self.gather(dependency)
        assert isinstance(dependency, BroadcastDep)
        return [self.link(item) for item in dependency.expand()]

    def link(self, dependency: Dependency) -> Link:
        source, source_buffer, destination, destination_buffer = self.ends(dependency)
        picks = _picks(dependency, self.stages[source], self.stages[destination])
        return Link(source, source_buffer, destination, destination_buffer, picks)

    def gather(self, dependency: GatherDep) -> list[Link]:
        found = [self.ends(item) for item in dependency.expand()]
        if len({ends[:2] for ends in found}) < len(found):
            repeated = next(name for name in dependency.src_ops if dependency.src_ops.count(name) > 1)
            raise UserError("gather-repeats", None, link=repr(dependency), stage=repeated)
        counts = {tile_count(self.stages[ends[0]]) for ends in found}
        destination = self.stages[found[0][2]]
        if len(counts) > 1:
            shown = ", ".join(f"{self.stages[ends[0]].name} {tile_count(self.stages[ends[0]])}" for ends in found)
            raise UserError("gather-counts", destination.location, link=repr(dependency), counts=shown)
        source_count, count = counts.pop(), tile_count(destination)
        if source_count not in (1, None) and count not in (source_count, 1, None):
            raise _counts_error(dependency, self.stages[found[0][0]], destination, source_count, count)
        return [Link(*ends, reduction=dependency.reduction) for ends in found]

    def ends(self, dependency: Dependency) -> tuple[int, str, int, str]:
        source = self.find(dependency.src_op, dependency)
        destination = self.find(dependency.dst_op, dependency)
        source_buffer = _source_buffer(self.stages[source], dependency)
        return (
            source,
            source_buffer,
            destination,
            _destination_buffer(self.stages[destination], source_buffer, dependency),
        )

    def wait(self, barrier: Barrier) -> Wait:
        with placed_at(barrier.location):
            return self.waiting(barrier)

    def waiting(self, barrier: Barrier) -> Wait:
        before = tuple(self.group(group, barrier) for group in barrier.before)
        after = self.group(barrier.after, barrier)
        if barrier.mapping is None:
            return Wait(before, after, None, barrier)
        (number, sources), (destination, tiles) = before[0], after
        source, target = self.stages[number], self.stages[destination]
        counts = tile_count(source) or 1, tile_count(target) or 1
        picks = tuple(
            (tile, _mapped(barrier, barrier.mapping, tile, sources, counts, source, target)) for tile in tiles
        )
        return Wait(before, after, picks, barrier)

    def group(self, group: Group, barrier: Barrier) -> tuple[int, range]:
        number = self.find(group.stage, barrier)
        stage = self.stages[number]
        return number, _tiles(barrier, stage, group.tiles, tile_count(stage) or 1)

    def find(self, name: str, dependency: object) -> int:
        number = self.numbers.get(name)
        if number is not None:
            return number
        by_function = [number for number, stage in enumerate(self.stages) if stage.original.__name__ == name]
        if len(by_function) == 1:
            return by_function[0]
        hint = nearest(name, [stage.name for stage in self.stages])
        raise UserError("unknown-stage", None, link=repr(dependency), stage=name, hint=hint)


# -- buffers


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


def _parameter_names(stage: TileFunction) -> tuple[str, ...]:
    return tuple(item.name for item in launch_parameters(stage))


# -- tiles


def _picks(dependency: Dependency, source: TileFunction, destination: TileFunction) -> tuple[Pick, ...] | None:
    """Return which tiles a dependency joins; None when the whole array is handed on as it is."""
    counts = tile_count(source), tile_count(destination)
    everything = dependency.src_tile_idx is None and dependency.dst_tile_idx is None
    mapping = dependency.mapping
    if everything and mapping in (None, TILE) and (None in counts or counts[0] == counts[1]):
        return None
    if everything and mapping is None and counts[0] == 1:
        return None
    source_count, count = counts[0] or 1, counts[1] or 1
    sources = _tiles(dependency, source, dependency.src_tile_idx, source_count)
    tiles = _tiles(dependency, destination, dependency.dst_tile_idx, count)
    if mapping is None:
        if len(sources) not in (1, len(tiles)):
            raise _counts_error(dependency, source, destination, len(sources), len(tiles))
        chosen = list(sources) * len(tiles) if len(sources) == 1 else list(sources)
    else:
        counted = source_count, count
        chosen = [_mapped(dependency, mapping, tile, sources, counted, source, destination) for tile in tiles]
    picks = tuple(zip(tiles, chosen, strict=True))
    same = source_count in (1, count) and all(tile == read or source_count == 1 for tile, read in picks)
    return None if same and len(picks) == count else picks


def _tiles(dependency: object, stage: TileFunction, tiles: TileRange, count: int) -> range:
    first, last = tiles or (0, count - 1)
    if last >= count:
        raise UserError(
            "tile-outside",
            stage.location,
            link=repr(dependency),
            tiles=show_range(tiles),
            stage=stage.name,
            count=count,
            last=count - 1,
        )
    return range(first, last + 1)


def _mapped(
    dependency: Dependency | Barrier,
    mapping: TileMapping,
    tile: int,
    sources: range,
    counts: tuple[int, int],
    source: TileFunction,
    destination: TileFunction,
) -> int:
    with _CalledByLink(dependency, tile, destination.name, sources):
        value = apply_mapping(mapping, tile, *counts)
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # anything may come from a callable
    except TypeError:
        number = -1
    if isinstance(value, bool) or number not in sources:
        raise UserError(
            "mapping-value",
            destination.location,
            link=repr(dependency),
            value=value,
            tile=tile,
            destination=destination.name,
            source=source.name,
            first=sources[0],
            last=sources[-1],
        )
    return number


@dataclass(frozen=True, slots=True)
class _CalledByLink:
    """``with _CalledByLink(...):`` says of an exception from the user's mapping which link and tile it was called for.

    What stops the program (KeyboardInterrupt, SystemExit) passes. The place is given here, and not by `placed_at`, to
    keep the exception as the cause.
    """

    link: Dependency | Barrier
    tile: int
    destination: str
    sources: range

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            raise UserError(
                "mapping-raised",
                self.link.location,
                link=repr(self.link),
                error=repr(error),
                tile=self.tile,
                destination=self.destination,
                first=self.sources[0],
                last=self.sources[-1],
            ) from error


def _counts_error(
    dependency: object, source: TileFunction, destination: TileFunction, sources: int | None, tiles: int | None
) -> UserError:
    return UserError(
        "tile-counts",
        destination.location,
        link=repr(dependency),
        source=source.name,
        source_count=sources,
        destination=destination.name,
        count=tiles,
    )


# -- what ends in one parameter


def _check_ends(stages: Sequence[TileFunction], links: list[Link], found: list[Link], resolver: _Resolver) -> None:
    """Raise UserError ``linked-twice`` when new links fill what others fill already."""
    before = {link.destination_port: list(resolver.incoming.get(link.destination_port, ())) for link in found}
    for link in found:
        for other in before[link.destination_port]:
            if link.picks is None or other.picks is None or _overlap(link.picks, other.picks):
                raise _twice(stages, other, link)
        if link.reduction is None:
            before[link.destination_port].append(link)
        resolver.incoming.setdefault(link.destination_port, []).append(link)


def _overlap(first: tuple[Pick, ...], second: tuple[Pick, ...]) -> bool:
    return not {tile for tile, _ in first}.isdisjoint(tile for tile, _ in second)


def _twice(stages: Sequence[TileFunction], first: Link, second: Link) -> UserError:
    stage = stages[second.destination]
    names = [f"{stages[item.source].name}.{item.source_buffer}" for item in (first, second)]
    return UserError(
        "linked-twice",
        stage.location,
        parameter=second.destination_buffer,
        stage=stage.name,
        first=names[0],
        second=names[1],
    )


def _check_covered(stages: Sequence[TileFunction], incoming: Mapping[Port, list[Link]]) -> None:
    """Raise UserError ``tiles-uncovered`` when some tiles of a parameter are linked and others are not."""
    for (number, buffer), links in incoming.items():
        covered = {tile for link in links if link.picks is not None for tile, _ in link.picks}
        missing = sorted(set(range(tile_count(stages[number]) or 1)) - covered) if covered else []
        if missing:
            raise UserError(
                "tiles-uncovered",
                stages[number].location,
                stage=stages[number].name,
                parameter=buffer,
                tiles=_show_tiles(missing),
            )


def _show_tiles(tiles: list[int]) -> str:
    """Return tile numbers as text, runs of them as ``first..last``."""
    runs: list[list[int]] = []
    for tile in tiles:
        if runs and runs[-1][1] == tile - 1:
            runs[-1][1] = tile
        else:
            runs.append([tile, tile])
    return ", ".join(show_range((first, last)) for first, last in runs)


# -- links by name


def links_by_name(stages: Sequence[TileFunction]) -> list[Link]:
    """Return the links from stages to later ones that read a parameter of the same name.

    Raises UserError ``ambiguous-link`` when several earlier stages write it.
    """
    links: list[Link] = []
    producers: dict[str, list[int]] = {}
    for number, stage in enumerate(stages):
        for name in _parameter_names(stage):
            sources = producers.get(name, [])
            if name in stage.outputs or not sources:
                continue
            if len(sources) > 1:
                names = ", ".join(stages[source].name for source in sources)
                raise UserError("ambiguous-link", stage.location, stage=stage.name, parameter=name, producers=names)
            links.append(Link(sources[0], name, number, name))
        for name in stage.outputs:
            producers.setdefault(name, []).append(number)
    return links
