"""NumPy's functions on tiles: ``np.exp(t)``, ``np.sum(t, axis=0)``, ``2.0 * t`` with NumPy scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pypto.tracing.context import Tracer
from pypto.tracing.contractions import dotted, multiplied
from pypto.tracing.elementwise import select
from pypto.tracing.functions import ARRAY_FUNCTIONS, UFUNCS, clipped
from pypto.tracing.numpy_functions import FUNCTIONS
from pypto.tracing.shaping import (
    a_tile,
    broadcasted,
    concatenated,
    padded,
    permuted,
    reduce_named,
    reshaped,
)
from pypto.tracing.tiles import Tile

_REDUCED = {"add": "pypto.sum", "maximum": "pypto.max", "minimum": "pypto.min"}


def call_ufunc(tracer: Tracer, function: Any, method: str, inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Apply a NumPy universal function; raises UserError ``numpy-function`` or ``numpy-keyword``."""
    name = function.__name__
    if method != "__call__":
        instead = _REDUCED.get(name, "a reduction such as pypto.sum")
        raise tracer.error("numpy-function", function=f"np.{name}.{method}", instead=f"use {instead}")
    for keyword in keywords:
        if keyword != "out":
            raise tracer.error("numpy-keyword", function=f"np.{name}", keyword=keyword)
    result = _ufunc_result(tracer, name, inputs)
    target = keywords.get("out")
    if target is None:
        return result
    (target,) = target if isinstance(target, tuple) else (target,)
    a_tile(target, f"np.{name}").assign(result)
    return target


def _ufunc_result(tracer: Tracer, name: str, inputs: tuple[Any, ...]) -> Tile:
    if name == "matmul":
        return multiplied(*inputs)
    if name not in UFUNCS:
        raise tracer.error("numpy-function", function=f"np.{name}", instead=_instead(name))
    return UFUNCS[name](*inputs)


def _instead(name: str) -> str:
    from pypto import language

    names = {"concatenate": "concat"}
    own = names.get(name, name)
    return f"use pypto.{own}" if own and hasattr(language, own) else "compute it from the functions of pypto"


def _clip(tile: Any, a_min: Any = None, a_max: Any = None, **others: Any) -> Tile:
    return clipped(tile, others.pop("min", a_min), others.pop("max", a_max))


def _reduction(name: str) -> Callable[..., Tile]:
    def reduce(tile: Any, axis: Any = None, *, keepdims: Any = False) -> Tile:
        return reduce_named(name, tile, axis, keepdims, {})

    return reduce


def _reshape(tile: Any, shape: Any) -> Tile:
    return reshaped(a_tile(tile, "np.reshape"), shape)


def _concatenate(tiles: Any, axis: int = 0) -> Tile:
    return concatenated(tiles, axis)


def _pad(tile: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tile:
    if mode != "constant":
        raise a_tile(tile, "np.pad").tracer.error("numpy-keyword", function="np.pad", keyword=f"mode={mode!r}")
    return padded(tile, pad_width, constant_values)


def _new_like(number: int | None) -> Callable[..., Tile]:
    def make(tile: Any, dtype: Any = None) -> Tile:
        from pypto.tracing.shaping import new_tile

        return new_tile("np.zeros_like", tile.shape, number, tile.dtype if dtype is None else dtype)

    return make


def _full_like(tile: Any, fill_value: Any, dtype: Any = None) -> Tile:
    from pypto.tracing.shaping import new_tile

    return new_tile("np.full_like", tile.shape, fill_value, tile.dtype if dtype is None else dtype)


def _where(*arguments: Any) -> Tile:
    if len(arguments) != 3:
        from pypto.tracing.context import require

        raise require("np.where").error(
            "numpy-function", function="np.where with one argument", instead="give all three"
        )
    return select(*arguments)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    **ARRAY_FUNCTIONS,
    "amax": _reduction("max"), "amin": _reduction("min"), "broadcast_to": broadcasted, "clip": _clip,
    "concatenate": _concatenate, "copy": lambda tile: tile.copy(), "dot": dotted, "empty_like": _new_like(None),
    "full_like": _full_like, "max": _reduction("max"), "mean": _reduction("mean"),
    "min": _reduction("min"), "ndim": lambda tile: tile.ndim, "ones_like": _new_like(1), "pad": _pad,
    "reshape": _reshape, "shape": lambda tile: tile.shape, "size": lambda tile: tile.size, "sum": _reduction("sum"),
    "transpose": lambda tile, axes=None: permuted(tile, axes), "where": _where,
    "zeros_like": _new_like(0),
}  # fmt: skip


def call_function(tracer: Tracer, function: Any, arguments: Any, keywords: Mapping[str, Any]) -> Any:
    """Apply a NumPy function that is no universal function; raises UserError ``numpy-function``."""
    name = function.__name__
    if name not in _FUNCTIONS:
        raise tracer.error("numpy-function", function=f"np.{name}", instead=_instead(name))
    try:
        return _FUNCTIONS[name](*arguments, **keywords)
    except TypeError as error:
        keyword = re_keyword(str(error))
        if keyword is None:
            raise
        raise tracer.error("numpy-keyword", function=f"np.{name}", keyword=keyword) from None


def re_keyword(message: str) -> str | None:
    """Return the keyword that a TypeError says is not expected."""
    marker = "unexpected keyword argument "
    return message.split(marker)[1].strip("'").split("'")[0] if marker in message else None
