"""Links between stages as users write them: `Dependency` and `DependencyGraph`."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.caller import PLACED_AT_CALLER
from pypto.ir.base.errors import UserError, nearest

_KEYS = ("src_op", "dst_op", "src_tile_idx", "dst_tile_idx", "src_buffer", "dst_buffer", "mapping")


class Dependency:
    """One link: what stage `src_op` writes to its parameter `src_buffer` is what `dst_op` reads as `dst_buffer`.

    Stages are named by ``tile(name=)`` or the function's name (a tile function is accepted too). Tile i of the source
    feeds tile i of the destination: `src_tile_idx` and `dst_tile_idx` are ``"*"``, `mapping` is ``"tile_idx"`` or
    None. `src_buffer` may be left out when the source has one output, `dst_buffer` when the destination has a
    parameter of that name.

    Raises UserError ``unknown-option`` or ``option-value``.
    """

    def __init__(
        self,
        src_op: object,
        dst_op: object,
        src_tile_idx: str = "*",
        dst_tile_idx: str = "*",
        src_buffer: str | None = None,
        dst_buffer: str | None = None,
        mapping: str | None = None,
        **unknown: object,
    ) -> None:
        with PLACED_AT_CALLER:
            for option in unknown:
                raise UserError("unknown-option", None, what="Dependency", option=option, hint=nearest(option, _KEYS))
            self.src_op, self.dst_op = _stage_name("src_op", src_op), _stage_name("dst_op", dst_op)
            self.src_buffer, self.dst_buffer = _buffer("src_buffer", src_buffer), _buffer("dst_buffer", dst_buffer)
            self.src_tile_idx = _only("src_tile_idx", src_tile_idx, "*")
            self.dst_tile_idx = _only("dst_tile_idx", dst_tile_idx, "*")
            self.mapping = _only("mapping", mapping, "tile_idx") if mapping is not None else None

    def _key(self) -> tuple[str | None, ...]:
        return (self.src_op, self.dst_op, self.src_buffer, self.dst_buffer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dependency) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Dependency({self.src_op}.{self.src_buffer or '?'} -> {self.dst_op}.{self.dst_buffer or '?'})"


def _stage_name(key: str, stage: object) -> str:
    name = stage if isinstance(stage, str) else getattr(stage, "name", None)
    if not isinstance(name, str) or not name:
        raise UserError(
            "option-value",
            None,
            what="Dependency",
            option=key,
            value=stage,
            wants="the name of a stage or a tile function",
        )
    return name


def _buffer(key: str, name: str | None) -> str | None:
    if name is not None and not isinstance(name, str):
        raise UserError(
            "option-value", None, what="Dependency", option=key, value=name, wants="the name of a parameter"
        )
    return name


def _only(key: str, value: object, allowed: str) -> str:
    if value != allowed:
        raise UserError("later-option", None, what="Dependency", option=key, value=value)
    return allowed


class DependencyGraph:
    """The links of a list of stages, in the order they are added."""

    def __init__(self, dependencies: Iterable[Dependency] = ()) -> None:
        self.dependencies: list[Dependency] = []
        for dependency in dependencies:
            self.add(dependency)

    def add(self, dependency: Dependency) -> DependencyGraph:
        """Append a link and return the graph; raises UserError ``option-value`` for anything but a `Dependency`."""
        with PLACED_AT_CALLER:
            self.dependencies.append(_dependency(dependency))
        return self

    def __repr__(self) -> str:
        return f"DependencyGraph({self.dependencies!r})"


def _dependency(value: object) -> Dependency:
    if isinstance(value, Dependency):
        return value
    raise UserError(
        "option-value",
        None,
        what="DependencyGraph.add",
        option="dependency",
        value=value,
        wants="a pypto.Dependency",
    )
