"""NumPy's functions on tiles that order, arrange or choose elements, in NumPy's meaning and with its arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from pypto.tracing import arranging, ordered
from pypto.tracing.shaping import a_tile
from pypto.tracing.tiles import Tile


def _plain(name: str) -> Callable[..., Any]:
    """Return the function of `pypto` of that name, which takes NumPy's arguments."""

    def function(*arguments: Any, **keywords: Any) -> Any:
        from pypto import language

        return getattr(language, name)(*arguments, **keywords)

    return function


def _reduction(name: str) -> Callable[..., Tile]:
    def reduce(tile: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        from pypto import language

        return getattr(language, name)(tile, axis, keepdims)

    return reduce


def _statistic(name: str) -> Callable[..., Tile]:
    def statistic(tile: Any, axis: Any = None, *, ddof: Any = 0, correction: Any = None, keepdims: Any = False) -> Any:
        from pypto import language

        return getattr(language, name)(tile, axis, ddof if correction is None else correction, keepdims)

    return statistic


def _sort(tile: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Tile:
    from pypto import language

    return language.sort(tile, axis).values


def _argsort(tile: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Tile:
    from pypto import language

    return language.argsort(tile, axis)


def _position(name: str) -> Callable[..., Tile]:
    def position(tile: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        from pypto import language

        return getattr(language, name)(tile, axis, keepdims)

    return position


def _split(tile: Any, indices_or_sections: Any, axis: Any = 0) -> list[Tile]:
    """Equal pieces, or pieces that begin at the numbers listed."""
    found = a_tile(tile, "np.split")
    tracer = found.tracer
    number = ordered.one_axis(tracer, axis, found.rank)
    extent = ordered.count_along(found, (number,))
    if isinstance(indices_or_sections, (tuple, list)):
        places = [0, *(ordered.whole_number(tracer, "sections", item) for item in indices_or_sections), extent]
        places = [min(place, extent) for place in places]
        sizes = [max(0, after - before) for before, after in itertools.pairwise(places)]
        return list(arranging.pieces_of(found, sizes, number))
    sections = ordered.whole_number(tracer, "sections", indices_or_sections)
    if sections == 0 or extent % sections:
        raise tracer.error("split-sizes", sizes=(f"{extent} / {sections}",), axis=number, extent=extent)
    return list(arranging.pieces_of(found, [extent // sections] * sections, number))


def _tile(tile: Any, reps: Any) -> Tile:
    return arranging.tiled(a_tile(tile, "np.tile"), reps)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _plain(name) for name in (
        "cumprod", "cumsum", "expand_dims", "flip", "moveaxis", "repeat", "roll", "squeeze", "stack", "swapaxes",
        "take", "take_along_axis", "tril", "triu",
    )},
    **{name: _reduction(name) for name in ("all", "any", "count_nonzero", "prod")},
    **{name: _position(name) for name in ("argmax", "argmin")},
    **{name: _statistic(name) for name in ("std", "var")},
    "argsort": _argsort, "ravel": lambda tile: tile.ravel(), "sort": _sort, "split": _split, "tile": _tile,
}  # fmt: skip
