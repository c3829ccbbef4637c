"""Links between stages as users write them: `Dependency`, `BroadcastDep`, `GatherDep` and `DependencyGraph`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

from pypto.caller import PLACED_AT_CALLER, called_at
from pypto.ir.base.errors import UserError, nearest
from pypto.tile_indices import WANTS_RANGE, Mapping, TileRange, read_mapping, read_range, show_range

if TYPE_CHECKING:
    from pypto.barriers import Barrier

REDUCTIONS = ("sum", "max", "min", "prod", "mean", "concat")


class Dependency:
    """One link: what stage `src_op` writes to its parameter `src_buffer` is what `dst_op` reads as `dst_buffer`.

    Stages are named by ``tile(name=)`` or the function's name (a tile function is accepted too). `src_buffer` may be
    left out when the source has one output, `dst_buffer` when the destination has a parameter of that name or a
    single input.

    src_tile_idx, dst_tile_idx: the tiles that take part: ``"*"`` (all), a number, ``"first..last"`` or ``(first,
    last)``, both included. Of n tiles and n tiles, the k-th feeds the k-th; one tile feeds all. Otherwise `mapping`
    says which source tile each destination tile reads: ``"tile_idx"``, a text such as ``"tile_idx // 2"`` (numbers,
    ``tile_idx``, ``src_tile_num``, ``dst_tile_num``, ``+ - * // %``, ``min``, ``max``), or a callable from the
    destination's tile number to the source's. Several dependencies may fill different tiles of one parameter.

    Raises UserError ``unknown-option``, ``option-value`` or ``mapping-syntax``.
    """

    def __init__(
        self,
        src_op: object,
        dst_op: object,
        src_tile_idx: object = "*",
        dst_tile_idx: object = "*",
        src_buffer: str | None = None,
        dst_buffer: str | None = None,
        mapping: object = None,
        **unknown: object,
    ) -> None:
        with PLACED_AT_CALLER:
            check_unknown("Dependency", unknown, _DEPENDENCY_KEYS)
            self.location = called_at()
            self.functions = functions_among(src_op, dst_op)
            self.src_op = stage_name("Dependency", "src_op", src_op)
            self.dst_op = stage_name("Dependency", "dst_op", dst_op)
            self.src_buffer = _buffer("Dependency", "src_buffer", src_buffer)
            self.dst_buffer = _buffer("Dependency", "dst_buffer", dst_buffer)
            self.src_tile_idx = _range("src_tile_idx", src_tile_idx)
            self.dst_tile_idx = _range("dst_tile_idx", dst_tile_idx)
            self.mapping: Mapping | None = read_mapping(mapping)
            self.mapping_text = mapping if isinstance(mapping, str) else None

    def _key(self) -> tuple[object, ...]:
        tiles = self.src_tile_idx, self.dst_tile_idx, self.mapping
        return (self.src_op, self.dst_op, self.src_buffer, self.dst_buffer, *tiles)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dependency) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Dependency({_end(self.src_op, self.src_buffer, self.src_tile_idx)} -> " + (
            f"{_end(self.dst_op, self.dst_buffer, self.dst_tile_idx)})"
        )


_DEPENDENCY_KEYS = ("src_op", "dst_op", "src_tile_idx", "dst_tile_idx", "src_buffer", "dst_buffer", "mapping")


def _end(stage: str, buffer: str | None, tiles: TileRange) -> str:
    shown = f"[{show_range(tiles)}]" if tiles is not None else ""
    return f"{stage}.{buffer or '?'}{shown}"


class BroadcastDep:
    """One producer, several consumers: each of `dst_ops` reads what `src_op` writes to `buffer_name`.

    A consumer reads it as its parameter of that name, or as its only input. Tiles map as for `Dependency`.
    Raises UserError ``unknown-option`` or ``option-value``.
    """

    def __init__(
        self, src_op: object, dst_ops: Sequence[object], buffer_name: str | None = None, **unknown: object
    ) -> None:
        with PLACED_AT_CALLER:
            check_unknown("BroadcastDep", unknown, ("src_op", "dst_ops", "buffer_name"))
            self.location = called_at()
            self.functions = functions_among(src_op, dst_ops)
            self.src_op = stage_name("BroadcastDep", "src_op", src_op)
            self.dst_ops = _stage_names("BroadcastDep", "dst_ops", dst_ops)
            self.buffer_name = _buffer("BroadcastDep", "buffer_name", buffer_name)

    def expand(self) -> tuple[Dependency, ...]:
        """Return one `Dependency` per consumer."""
        return tuple(Dependency(self.src_op, name, src_buffer=self.buffer_name) for name in self.dst_ops)

    def __repr__(self) -> str:
        return f"BroadcastDep({self.src_op}.{self.buffer_name or '?'} -> {', '.join(self.dst_ops)})"


class GatherDep:
    """Several producers, one consumer: `dst_op` reads the outputs `buffer_name` of `src_ops` combined by `reduction`.

    reduction: ``"sum"``, ``"max"``, ``"min"``, ``"prod"``, ``"mean"`` or ``"concat"``. Tiles of equal index are
    combined, in the order listed; when the consumer has one tile, over all tiles as well. ``concat`` is along axis 0,
    in (producer, tile) order. Sums of f16 and bf16 are made in f32 and rounded once. Raises UserError
    ``unknown-option`` or ``option-value``.
    """

    def __init__(
        self,
        src_ops: Sequence[object],
        dst_op: object,
        reduction: str = "sum",
        buffer_name: str | None = None,
        **unknown: object,
    ) -> None:
        with PLACED_AT_CALLER:
            check_unknown("GatherDep", unknown, ("src_ops", "dst_op", "reduction", "buffer_name"))
            self.location = called_at()
            self.functions = functions_among(src_ops, dst_op)
            self.src_ops = _stage_names("GatherDep", "src_ops", src_ops)
            self.dst_op = stage_name("GatherDep", "dst_op", dst_op)
            self.buffer_name = _buffer("GatherDep", "buffer_name", buffer_name)
            if reduction not in REDUCTIONS:
                raise option_value("GatherDep", "reduction", reduction, f"one of {', '.join(REDUCTIONS)}")
            self.reduction = reduction

    def expand(self) -> tuple[Dependency, ...]:
        """Return one `Dependency` per producer; how their tiles map is the gather's own rule."""
        return tuple(Dependency(name, self.dst_op, src_buffer=self.buffer_name) for name in self.src_ops)

    def __repr__(self) -> str:
        sources = ", ".join(self.src_ops)
        return f"GatherDep({self.reduction} of {self.buffer_name or '?'} of {sources} -> {self.dst_op})"


AnyDependency = Union[Dependency, BroadcastDep, GatherDep, "Barrier"]


def check_unknown(what: str, unknown: dict[str, object], keys: tuple[str, ...]) -> None:
    """Raise UserError ``unknown-option`` for the first of `unknown`."""
    for option in unknown:
        raise UserError("unknown-option", None, what=what, option=option, hint=nearest(option, keys))


def option_value(what: str, option: str, value: object, wants: str) -> UserError:
    """Return the UserError for a wrong value of an option."""
    return UserError("option-value", None, what=what, option=option, value=value, wants=wants)


def stage_name(what: str, key: str, stage: object) -> str:
    """Return the name of a stage given by name or as a tile function; raises UserError ``option-value``."""
    name = stage if isinstance(stage, str) else getattr(stage, "name", None)
    if not isinstance(name, str) or not name:
        raise option_value(what, key, stage, "the name of a stage or a tile function")
    return name


def functions_among(*values: object) -> dict[str, Any]:
    """Return the tile functions among `values`, lists and dicts looked into, by their names."""
    found: dict[str, Any] = {}
    for value in values:
        if isinstance(value, (list, tuple)):
            found |= functions_among(*value)
        elif isinstance(value, dict):
            found |= functions_among(*value.values())
        elif isinstance(name := getattr(value, "name", None), str):
            found[name] = value
    return found


def _stage_names(what: str, key: str, stages: object) -> tuple[str, ...]:
    if not isinstance(stages, (list, tuple)) or not stages:
        raise option_value(what, key, stages, "a list of at least one stage")
    return tuple(stage_name(what, key, stage) for stage in stages)


def _buffer(what: str, key: str, name: str | None) -> str | None:
    if name is not None and not isinstance(name, str):
        raise option_value(what, key, name, "the name of a parameter")
    return name


def _range(key: str, value: object) -> TileRange:
    try:
        return read_range(value)
    except ValueError:
        raise option_value("Dependency", key, value, WANTS_RANGE) from None


class DependencyGraph:
    """The links of some stages, in the order they are added.

    stages: the tile functions that the links name, in program order. Without, names are looked up among all tile
    functions that exist, when the graph itself is compiled; a list given to `compile` wins.
    """

    def __init__(self, dependencies: Iterable[AnyDependency] = (), *, stages: Iterable[Any] | None = None) -> None:
        self.dependencies: list[AnyDependency] = []
        with PLACED_AT_CALLER:
            self.stages = None if stages is None else _listed("stages", stages, "a list of tile functions")
            _check_stages(self.stages or ())
            for dependency in _listed("dependencies", dependencies, "a list of links and barriers"):
                self.dependencies.append(_dependency(dependency))

    def add(self, dependency: AnyDependency) -> DependencyGraph:
        """Append a link or a barrier and return the graph; raises UserError ``option-value`` for anything else."""
        with PLACED_AT_CALLER:
            self.dependencies.append(_dependency(dependency))
        return self

    def __repr__(self) -> str:
        return f"DependencyGraph({self.dependencies!r})"


def _listed(key: str, values: object, wants: str) -> tuple[Any, ...]:
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise option_value("DependencyGraph", key, values, wants)
    return tuple(values)


def _check_stages(stages: tuple[Any, ...]) -> None:
    from pypto.tile_function import TileFunction

    for stage in stages:
        if not isinstance(stage, TileFunction):
            raise option_value("DependencyGraph", "stages", stage, "a list of tile functions")


def _dependency(value: object) -> AnyDependency:
    from pypto.barriers import Barrier

    if isinstance(value, (Dependency, BroadcastDep, GatherDep, Barrier)):
        return value
    wants = "a pypto.Dependency, BroadcastDep, GatherDep, Barrier or BarrierConfig"
    raise option_value("DependencyGraph.add", "dependency", value, wants)
