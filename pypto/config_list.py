"""The search space of `pypto.autotune`: the configs that are given, and no other combinations of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pypto.ir.base.errors import UserError
from pypto.search_axes import plain
from pypto.search_space import Point, TilingSearchSpace

if TYPE_CHECKING:
    from pypto.runtime.tuning.candidate import Value


class ConfigList(TilingSearchSpace):
    """Configs, each a dict from names of axes to one value.

    Raises UserError ``option-value`` for what is no list of dicts, and those of `TilingSearchSpace`.
    """

    def __init__(self, configs: Sequence[Mapping[str, Any]]) -> None:
        if not isinstance(configs, (list, tuple)) or not configs or not all(isinstance(c, Mapping) for c in configs):
            wants = "a list of dicts from names of axes to values, such as [{'tile_m': 64}, {'tile_m': 128}]"
            raise UserError("option-value", None, what="autotune", option="configs", value=configs, wants=wants)
        names = list(dict.fromkeys(str(name) for config in configs for name in config))
        axes: dict[str, Any] = {name: [config[name] for config in configs if name in config] for name in names}
        super().__init__(**axes)
        self.configs: tuple[Point, ...] = tuple(
            tuple((name, cast("Value", plain(config[name]))) for name in names if name in config) for config in configs
        )

    @property
    def combinations(self) -> int:
        """The number of configs."""
        return len(self.configs)

    def points(self) -> Iterator[Point]:
        """Yield the configs, each once."""
        yield from dict.fromkeys(self.configs)
